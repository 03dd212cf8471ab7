// What is on the page, and the address that says so. A side is one scheme:
//   { family, params, beta, alphas, betas, vary }
// where family "free" means alphas and betas, and `vary` the coefficient or root that moved last.

import { has, offline, stepOf } from "./offline.js";

export const MOST_STEPS = 8;
export const FREE = "free";

export const START = { family: "zerosnet", params: ["-9/5"] };
export const SECOND = { family: "euler", params: ["1"] };

// families as the page offers them: title, symbol, where the slider goes, and where it starts
export const CHOICES = {
  zerosnet: { title: "ZeroSNet", symbol: "λ", low: -4, high: 4, params: ["-9/5"] },
  euler: { title: "Euler (PreResNet)", symbol: "α", low: -2, high: 2, params: ["1"] },
  lm: { title: "LM-ResNet", symbol: "k", low: -2, high: 2, params: ["1/2"] },
  momentum: { title: "Momentum ResNet", symbol: "γ", low: -2, high: 2, params: ["0.9"] },
  leapfrog: { title: "Leap-frog", symbol: "", params: [] },
  "adams-bashforth": { title: "Adams-Bashforth", symbol: "k", low: 1, high: 8, step: 1, params: ["3"] },
  "from-roots": { title: "From roots", symbol: "r", low: -1.5, high: 1.5, params: ["-1/3", "-1/3"] },
  [FREE]: { title: "Free coefficients", symbol: "", low: -4, high: 4, params: [] },
};

// without a server: only what is held, in its steps
if (offline) {
  for (const name of Object.keys(CHOICES)) {
    if (name !== FREE && !has(name)) delete CHOICES[name];
    else if (CHOICES[name].low !== undefined) CHOICES[name].step = stepOf(name) ?? stepOf(`${name}-consistent`) ?? CHOICES[name].step;
  }
  CHOICES[FREE].title = "The paper's rows";
}

// the nearest number that a slider of this family has
export function nearest(family, x) {
  const { low, step } = CHOICES[family];
  return offline && step ? Number((low + step * Math.round((x - low) / step)).toFixed(6)) : Number(x.toFixed(2));
}

export function newSide(family, from = {}) {
  const choice = CHOICES[family];
  const side = { family, params: [...choice.params], beta: "consistent", alphas: ["1"], betas: ["1"], vary: "param" };
  if (family === FREE) Object.assign(side, { alphas: ["1/3", "5/9", "1/9"], betas: ["16/9"], vary: "alpha0" });
  if (family === "from-roots") side.vary = "root0";
  return Object.assign(side, from);
}

// the parameters that name a side to the server
export function queryOf(side) {
  if (side.family === FREE) return { alphas: side.alphas.join(","), betas: side.betas.join(",") };
  const query = { family: side.family };
  if (side.params.length) query.param = side.params.join(",");
  if (side.family === "lm") query.beta = side.beta;
  return query;
}

function sideFrom(search, prefix) {
  const value = (name) => search.get(prefix + name);
  const list = (name) => (value(name) ? value(name).split(",").slice(0, MOST_STEPS) : []);
  if (value("alphas") !== null || value("betas") !== null) {
    return varying(newSide(FREE, { alphas: list("alphas"), betas: list("betas") }), value("vary"));
  }
  const family = value("family");
  if (!(family in CHOICES) || family === FREE) return null;
  const side = newSide(family);
  if (value("param") !== null && CHOICES[family].params.length) {
    side.params = family === "from-roots" ? list("param") : [value("param")];
  }
  if (value("beta") !== null) side.beta = value("beta");
  return varying(side, value("vary"));
}

// the number whose locus is shown, where the side has it
function varying(side, vary) {
  const lists = side.family === FREE ? { alpha: side.alphas, beta: side.betas } : side.family === "from-roots" ? { root: side.params } : {};
  const [, kind, at] = /^(alpha|beta|root)([0-7])$/.exec(vary ?? "") ?? [];
  return at < (lists[kind]?.length ?? 0) ? { ...side, vary } : side;
}

// what names a side in the address: also which number moves, where that is not the first
function addressPart(side) {
  return side.vary === newSide(side.family).vary ? queryOf(side) : { ...queryOf(side), vary: side.vary };
}

export function readAddress() {
  const search = new URLSearchParams(location.search);
  const blocks = Number.parseInt(search.get("blocks"), 10);
  return {
    a: sideFrom(search, "") ?? newSide(START.family),
    b: sideFrom(search, "vs."),
    blocks: blocks >= 9 && blocks <= 432 ? blocks : 27,
  };
}

export function addressOf(state) {
  const search = new URLSearchParams(addressPart(state.a));
  if (state.b) for (const [name, value] of Object.entries(addressPart(state.b))) search.set(`vs.${name}`, value);
  search.set("blocks", state.blocks);
  return `${location.pathname}?${search.toString().replaceAll("%2F", "/").replaceAll("%2C", ",")}`;
}

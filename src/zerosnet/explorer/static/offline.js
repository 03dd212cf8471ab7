// The page without a server: answers that were computed beforehand, for families on a grid and for the paper's rows.
// Scripts put them into `zerosnetPage`; from a disk a page may load nothing else.

import { toFloat } from "./numbers.js";

const page = globalThis.zerosnetPage ?? null;
const loading = new Map();

export const offline = page !== null;
export const stepOf = (family) => page?.grids[family]?.step ?? null;
export const has = (family) => !offline || family in page.grids || Object.keys(page.grids).some((name) => name.startsWith(`${family}-`));

// an answer of the interface, or what is not held
export async function answerOf(path, query) {
  if (path in page.documents) return page.documents[path];
  const found = path === "view" ? await view(query) : path === "wiring" ? (await load("wirings"))[nameOf(query)] : path === "locus" ? page.loci[query.family] : null;
  if (!found) throw new Error("only a server has this: zerosnet explore");
  return found;
}

async function view({ blocks, ...named }) {
  const { family, param = "", beta } = named;
  if (!family) return whole(page.rows[`${named.alphas};${named.betas}`], blocks);
  const name = beta ? `${family}-${beta}` : family;
  const grid = page.grids[name];
  if (!grid) return null;
  const views = await load(name);
  if (param in grid.named) return whole(views[grid.named[param]], blocks);
  const at = (toFloat(param) - grid.low) / grid.step;
  if (!(Math.abs(at - Math.round(at)) < 1e-6)) throw new Error(`this page has steps of ${grid.step}; zerosnet explore has all numbers`);
  return whole(views[Math.round(at)], blocks);
}

const nameOf = (query) => Object.entries(query).map(([name, value]) => `${name}=${value}`).sort().join("&");

// the growth is held for the longest network; a shorter one has its beginning
function whole(held, blocks) {
  if (!held) return null;
  const log10 = held.envelope.slice(0, Number(blocks) + 1);
  const known = log10.filter((value) => value !== null);
  return { ...held, envelope: { blocks: Number(blocks), log10, log10_constant: Math.max(...known), log10_last: log10.at(-1) } };
}

function load(name) {
  if (!loading.has(name)) {
    loading.set(name, new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = `data/${name}.js`;
      script.onload = () => resolve(page.views[name]);
      script.onerror = () => reject(new Error(`${script.src} is missing`));
      document.head.append(script);
    }));
  }
  return loading.get(name);
}

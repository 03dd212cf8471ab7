// The verdict of a scheme, its recursion, and its facts, in words.

import { html, math } from "./dom.js";
import { exact, fold, pretty, short, toFloat } from "./numbers.js";
import { imaginaryReach, realReach } from "./region.js";

const SIGNS = { "strongly stable": "✓", "weakly stable": "✓", unstable: "✗", borderline: "≈" };
const WORDS = { true: "zero-stable", false: "not zero-stable", null: "undecided" };

export function drawVerdict(room, analysis) {
  const { zero_stable: stable, kind, reason } = analysis;
  const tone = { true: "yes", false: "no", null: "maybe" }[stable];
  room.replaceChildren(
    html("p", { class: `badge ${tone}` }, html("span", { "aria-hidden": "true" }, SIGNS[kind]),
      html("strong", {}, WORDS[stable]), html("span", { class: "kind" }, kind === WORDS[stable] ? "" : kind)),
    html("p", { class: "reason" }, `${sentence(reason)}.`));
}

export function drawFacts(room, analysis, { blocks, log10_constant: growth }) {
  const rows = [
    ["order", analysis.consistent ? String(analysis.order) : `none: not consistent (residuals ${analysis.consistency_residuals.map(plain).join(", ")})`],
    ["error constant", exact(analysis.error_constant)],
    ["error constant ÷ σ(1)", exact(analysis.normalised_error_constant)],
    ["moduli of the roots", analysis.moduli.map((modulus) => short(modulus)).join(", ")],
    ["margin to the circle", short(analysis.margin)],
    ["stable real hμ", realReach(analysis)],
    ["stable imaginary hμ", imaginaryReach(analysis)],
    [`growth in ${blocks} blocks`, growth > 1e-9 ? `at most ${fold(growth)}-fold` : "none"],
    ["decided", analysis.exact ? "exactly" : "numerically"],
  ];
  room.replaceChildren(...rows.map(([name, value]) => html("div", {}, html("dt", {}, name), html("dd", {}, value))));
}

const sentence = (text) => pretty(text[0].toUpperCase() + text.slice(1));
const plain = (value) => pretty(String(value));

// y_{n+1} = 1/3 y_n + ... as MathML, a piece for each term, so that long ones wrap
export function drawRecursion(room, { alphas, betas }) {
  const terms = [
    ...alphas.map((value, i) => [String(value), [lagged("y", i)]]),
    ...betas.map((value, j) => [String(value), [math("mi", "h"), math("mi", "f"), math("mo", "("), lagged("y", j), math("mo", ")")]]),
  ].filter(([value]) => toFloat(value) !== 0);
  const next = math("msub", math("mi", "y"), math("mrow", math("mi", "n"), math("mo", "+"), math("mn", "1")));
  room.replaceChildren(math("math", next, math("mo", "=")), ...terms.flatMap(([value, symbol], i) => {
    const negative = value.startsWith("-");
    const size = negative ? value.slice(1) : value;
    const sign = i || negative ? (negative ? "− " : "+ ") : "";
    return [` ${sign}`, math("math", size === "1" ? null : coefficient(size), symbol)];
  }), terms.length ? "" : "0");
}

function lagged(name, lag) {
  const below = lag ? math("mrow", math("mi", "n"), math("mo", "−"), math("mn", String(lag))) : math("mi", "n");
  return math("msub", math("mi", name), below);
}

function coefficient(size) {
  const [top, bottom] = size.split("/");
  if (size.length > 13) return math("mn", short(toFloat(size), 6));
  return bottom ? math("mfrac", math("mn", top), math("mn", bottom)) : math("mn", size);
}

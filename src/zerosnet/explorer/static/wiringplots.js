// Pictures of a wiring: gain and likeness of streams over depth, and the mixing matrices.

import { html, svg } from "./dom.js";
import { logTicks } from "./envelope.js";
import { fold, short, superscript } from "./numbers.js";
import { key, mark, plot, widthOf } from "./plot.js";

const LEAST = -6; // decimal logarithm of the smallest likeness that is drawn
const ALIKE = 0.01;
const MARKS = 27; // along a curve

export function drawGains(room, legend, { forward, backward }) {
  const blocks = forward.length - 1;
  const all = [...forward, ...backward].filter((value) => value !== null);
  const low = Math.min(-0.31, ...all), high = Math.max(0.6, ...all), pad = 0.06 * (high - low);
  const y = [low - pad, high + pad];
  const said = { a: `forward: ${fold(forward.at(-1))}-fold at the end`, b: `backward: ${fold(backward[0])}-fold at the first block` };
  const chart = plot(room, {
    label: `Largest gain of the mixing over ${blocks} blocks; ${said.a}; ${said.b}`, ratio: heightOf(room), x: [0, blocks], y,
    xlabel: "block", ylabel: "gain", yticks: logTicks(y), xticks: depths(blocks),
  });
  chart.line([[0, 0], [blocks, 0]], { class: "circle-line" });
  curve(chart, forward, "a", "circle", (k, value) => `from the first block to block ${k}: ${fold(value)}-fold`);
  curve(chart, backward, "b", "square", (k, value) => `from the end back to block ${k}: ${fold(value)}-fold`);
  chart.show();
  legend.replaceChildren(key("circle", { class: "dot a" }, said.a), key("square", { class: "dot b" }, said.b));
}

// what one stream keeps of the state and adds of the branch
export function drawSteps(room, legend, { keep, add }) {
  const blocks = keep.length;
  const all = [...keep, ...add];
  const low = Math.min(0, ...all), high = Math.max(1, ...all), pad = 0.08 * (high - low);
  const span = (values) => [...new Set([Math.min(...values), Math.max(...values)])].map((value) => short(value, 3)).join(" to ");
  const said = { a: `keeps ${span(keep)} of the state`, b: `adds ${span(add)} of the branch` };
  const chart = plot(room, {
    label: `Gains of ${blocks} blocks: every block ${said.a}, and ${said.b}`, ratio: heightOf(room), x: [0, blocks], y: [low - pad / 2, high + pad],
    xlabel: "block", ylabel: "gain", xticks: depths(blocks),
  });
  curve(chart, [null, ...keep], "a", "circle", (k, value) => `block ${k} keeps ${short(value, 3)}`);
  curve(chart, [null, ...add], "b", "square", (k, value) => `block ${k} adds ${short(value, 3)}`);
  chart.show();
  legend.replaceChildren(key("circle", { class: "dot a" }, said.a), key("square", { class: "dot b" }, said.b));
}

export function drawLikeness(room, legend, { second, alike_after: after, streams }) {
  const blocks = second.length - 1;
  const logs = second.map((value) => Math.max(LEAST, Math.log10(value)));
  const low = Math.max(LEAST, Math.min(-2.5, Math.floor(Math.min(...logs)))) - 0.15;
  const ends = after === null ? "the streams stay apart" : `alike after ${after} ${after === 1 ? "block" : "blocks"}`;
  const chart = plot(room, {
    label: `Second singular value of the product of ${blocks} mixings of ${streams} streams, relative to the first: ${short(second.at(-1), 2)} at the end; ${ends}`,
    ratio: heightOf(room), x: [0, blocks], y: [low, 0.15], xlabel: "block", ylabel: "second singular value ÷ first", xticks: depths(blocks),
    yticks: Array.from({ length: Math.floor(-low) + 1 }, (_, i) => [-i, i === 0 ? "1" : i === 1 ? "0.1" : i === 2 ? "0.01" : `10${superscript(-i)}`]),
  });
  chart.line([[0, Math.log10(ALIKE)], [blocks, Math.log10(ALIKE)]], { class: "half-line" });
  curve(chart, logs, "a", "circle", (k) => `after ${k} blocks: ${short(second[k], 3)}`);
  if (after !== null) chart.put(svg("line", { class: "circle-line", x1: chart.px(after), x2: chart.px(after), y1: chart.inner.top, y2: chart.inner.top + chart.inner.height }));
  chart.show();
  legend.replaceChildren(key("circle", { class: "dot a" }, ends), key("line", { class: "half-line" }, "alike: 1 %"));
}

function curve(chart, values, which, shape, title) {
  const every = Math.max(1, Math.round(values.length / MARKS));
  chart.line(values.map((value, k) => [k, value]), { class: `curve ${which}` });
  values.forEach((value, k) => {
    if (value !== null && k % every === 0) chart.put(mark(shape, chart.px(k), chart.py(value), 2.8, { class: `dot ${which}` }, title(k, value)));
  });
}

const heightOf = (room) => (widthOf(room) > 420 ? 0.5 : 0.8);
const depths = (blocks) => [...new Set([0, 1 / 3, 2 / 3, 1].map((part) => Math.round(part * blocks)))].map((n) => [n, String(n)]);

// the mixing of the first block and the product of all, a number in every square that has room for it
export function drawMatrices(room, legend, { first, product, counts }) {
  const blocks = counts.reduce((sum, count) => sum + count, 0);
  const power = product.log10 ? `, divided by ${fold(product.log10)}` : "";
  const pictures = [[first, "first block"], [product.rows, `all ${blocks} blocks together${power}`]];
  const side = Math.max(100, Math.min(200, Math.floor((widthOf(room) || 320) / 2) - 10));
  room.replaceChildren(html("div", { class: "pair" }, pictures.map(([rows, title]) =>
    html("figure", {}, matrix(rows, side, title), html("figcaption", {}, title)))));
  legend.replaceChildren(key("square", { class: "cell plus" }, "positive"), key("square", { class: "cell minus" }, "negative"),
    html("span", { class: "key" }, "rows alike: streams alike"));
}

function matrix(rows, side, title) {
  const size = side / rows.length;
  const largest = Math.max(1e-300, ...rows.flat().map(Math.abs));
  const digits = size > 40 ? 2 : 1;
  const cells = rows.flatMap((row, i) => row.map((value, j) => svg("g", {},
    svg("rect", { class: `cell ${value < 0 ? "minus" : "plus"}`, "fill-opacity": (0.55 * Math.abs(value) / largest).toFixed(3), x: (j * size).toFixed(1), y: (i * size).toFixed(1), width: size.toFixed(1), height: size.toFixed(1) }),
    (size > 21 || value < 0) && svg("text", { class: "entry", x: ((j + 0.5) * size).toFixed(1), y: ((i + 0.5) * size + 4).toFixed(1), "text-anchor": "middle" }, size > 21 ? decimal(value, digits) : "−"),
    svg("title", {}, `row ${i + 1}, column ${j + 1}: ${short(value, 3)}`))));
  const said = rows.map((row) => row.map((value) => short(value, 2)).join(" ")).join("; ");
  return svg("svg", { class: "plot", role: "img", "aria-label": `Mixing, ${title}: ${said}`, viewBox: `0 0 ${side} ${side}`, width: side, height: side }, cells);
}

// few characters, for a small square: ".33", "−1", "1e9"
function decimal(value, digits) {
  if (Math.abs(value) >= 100) return value.toExponential(0).replace("e+", "e").replace("-", "−");
  const text = String(Number(value.toFixed(digits)));
  return (Number(text) === 0 ? "0" : text.replace(/^(-?)0\./, "$1.")).replace("-", "−");
}

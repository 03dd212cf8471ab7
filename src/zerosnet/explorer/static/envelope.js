// How far a perturbation of the starting values can grow, block by block, on a logarithmic scale; both sides in one.

import { html } from "./dom.js";
import { fold, superscript } from "./numbers.js";
import { key, mark, plot, ticks, widthOf } from "./plot.js";

const SHAPES = { a: "circle", b: "square" };

export function drawEnvelope(room, legend, sides) {
  const all = sides.flatMap(({ envelope }) => envelope.log10.filter((value) => value !== null));
  const low = Math.min(-0.31, ...all), high = Math.max(0.6, ...all);
  const pad = 0.06 * (high - low);
  const y = [low - pad, high + pad];
  const blocks = sides[0]?.envelope.blocks ?? 27;
  const chart = plot(room, {
    label: `Largest perturbation after each of ${blocks} blocks: ${sides.map(describe).join("; ")}`,
    ratio: widthOf(room) > 800 ? 0.28 : widthOf(room) > 480 ? 0.55 : 0.75, x: [0, blocks], y, xlabel: "block",
    ylabel: "largest |y|, starting from 1", yticks: logTicks(y),
  });
  chart.line([[0, 0], [blocks, 0]], { class: "circle-line" });
  for (const { key: which, envelope } of sides) {
    const points = envelope.log10.map((value, k) => [k, value]);
    chart.line(points, { class: `curve ${which}` });
    const every = Math.max(1, Math.round(blocks / 27));
    points.filter(([k, value]) => k % every === 0 && value !== null).forEach(([k, value]) =>
      chart.put(mark(SHAPES[which], chart.px(k), chart.py(value), 2.8, { class: `dot ${which}` }, `after ${k} blocks: ${fold(value)}`)));
  }
  chart.show();
  legend.replaceChildren(...sides.map((side) => key(SHAPES[side.key], { class: `dot ${side.key}` }, describe(side))));
  if (sides.length) legend.append(html("span", { class: "key" }, "without f: the state alone"));
}

const describe = ({ name, envelope }) => `${name}: largest ${fold(envelope.log10_constant)}, at the end ${fold(envelope.log10_last)}`;

export function logTicks(y) {
  if (y[1] - y[0] > 2.4) {
    return ticks(y, 5).filter(([value]) => Number.isInteger(value)).map(([value]) => [value, value === 0 ? "1" : value === 1 ? "10" : `10${superscript(value)}`]);
  }
  return [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50].map((value) => [Math.log10(value), String(value)])
    .filter(([value]) => value >= y[0] && value <= y[1]);
}

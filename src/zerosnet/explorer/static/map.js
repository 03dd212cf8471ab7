// Predicted accuracy over one pair of parasitic roots, measured networks as dots, and where the schemes on the page lie.

import { svg } from "./dom.js";
import { short } from "./numbers.js";
import { key, labelled, mark, plot, widthOf } from "./plot.js";
import { movable } from "./rootdrag.js";

const LEVELS = [76, 78, 80, 82, 84, 86, 88, 90, 92, 93, 93.5];
const COLOURS = ["#440154", "#482173", "#433e85", "#38598c", "#2d708e", "#25858e", "#1e9b8a", "#2ab07f", "#52c569", "#86d549", "#c2df23", "#fde725"];
const NAMED = [80, 90, 93];
const LABELS = 0.37; // imaginary part of where they stand
const APART = 20; // pixels between two of them
const SHAPES = { a: "diamond", b: "square" };
const REAL = 1e-7; // imaginary parts of double roots are rounded to less

let drawn = { width: null, over: null };

// the map itself is drawn once for a width; what moves lies over it
export function drawMap(room, legend, map, sides) {
  const width = widthOf(room);
  if (drawn.width !== width) drawn = { width, ...ground(room, map) };
  const { chart, over } = drawn;
  const placed = sides.map((side) => ({ ...side, root: pairOf(side.analysis) }));
  over.replaceChildren(...placed.filter(({ root }) => root).map(({ key: which, name, root: [re, im], forecast }) =>
    mark(SHAPES[which], chart.px(re), chart.py(im), 7, { class: `here ${which}` },
      `${name}: ${short(re)} ± ${short(im)}i, predicted ${forecast.accuracy === null ? "nothing" : `${forecast.accuracy.toFixed(1)} %`}`)));
  legend.replaceChildren(
    key("circle", { class: "map-dot", fill: COLOURS[5] }, `measured, ${map.measured.length} schemes`),
    ...placed.map(({ key: which, name, root }) => key(SHAPES[which], { class: `here ${which}` }, root ? name : `${name}: no pair of roots, not on this map`)));
}

// the parasitic root with im >= 0 of a consistent three-step scheme with a pair or a double root
function pairOf(analysis) {
  if (!movable(analysis)) return null;
  const [, [re, im], [other]] = analysis.roots;
  return Math.abs(im) > REAL || Math.abs(re - other) < REAL ? [re, Math.abs(im)] : null;
}

function ground(room, { layers, re, im, accuracy, measured }) {
  const chart = plot(room, {
    label: `Predicted accuracy over a pair of parasitic roots, ${layers} layers: above 93 % in most of the left and middle of the unit disc, below 80 % near 1; measured: ${measured.map(({ root: [x, y], accuracy: found }) => `${short(x, 2)} ± ${short(y, 2)}i ${found.toFixed(1)} %`).join("; ")}`,
    ratio: 0.54, x: re, y: im, equal: true, xlabel: "real part of r", ylabel: "imaginary part of r",
  });
  const { px, py, inner } = chart;
  chart.put(svg("rect", { x: inner.left, y: inner.top, width: inner.width, height: inner.height, fill: COLOURS[0] }),
    ...LEVELS.map((level, i) => svg("path", { fill: COLOURS[i + 1], d: above(accuracy, level, re, im, px, py) })));
  chart.put(svg("path", { class: "map-circle", d: `M${px(-1)} ${py(0)}A${px(1) - px(0)} ${py(0) - py(1)} 0 0 1 ${px(1)} ${py(0)}` }));
  const row = accuracy[Math.round((LABELS / im[1]) * (accuracy.length - 1))], dx = (re[1] - re[0]) / (row.length - 1);
  let last = Infinity;
  for (const level of NAMED) { // where accuracy falls below it on the way to 1, unless it would cover the one before
    const at = row.findLastIndex((value, j) => value >= level && re[0] + j * dx < 1), x = px(re[0] + at * dx);
    if (at < 0 || last - x < APART) continue;
    last = x;
    chart.put(svg("text", { class: "map-note", x, y: py(LABELS) + 4, "text-anchor": "middle" }, String(level)));
  }
  for (const { root: [x, y], accuracy: found, scheme, runs, predicted, outlier } of measured) {
    const band = LEVELS.filter((level) => found >= level).length;
    const dot = mark("circle", px(x), py(y), 5, { class: "map-dot", fill: COLOURS[band] },
      `measured ${found.toFixed(1)} %, predicted ${predicted.toFixed(1)} % (${runs} ${runs === 1 ? "run" : "runs"}); scheme ${scheme}; r = ${short(x, 3)} ± ${short(y, 3)}i`);
    chart.over(labelled(chart, dot, px(x), py(y), `${found.toFixed(1)} %, predicted ${predicted.toFixed(1)}`, outlier));
  }
  const over = svg("g");
  chart.over(over);
  chart.show();
  return { chart, over };
}

// all points with at least that accuracy, as runs of columns in every row; their ends are interpolated
function above(accuracy, level, re, im, px, py) {
  const columns = accuracy[0].length - 1;
  const dx = (re[1] - re[0]) / columns, dy = (im[1] - im[0]) / (accuracy.length - 1);
  const tall = py(0) - py(dy) + 0.4;
  let d = "";
  accuracy.forEach((row, i) => {
    const crossing = (j) => j + (level - row[j]) / (row[j + 1] - row[j]);
    const top = py(im[0] + (i + 0.5) * dy).toFixed(1);
    let from = row[0] >= level ? 0 : null;
    for (let j = 0; j <= columns; j++) {
      const inside = row[j] >= level, next = j < columns && row[j + 1] >= level;
      if (!inside && next) from = crossing(j);
      if (inside && !next) {
        const to = j < columns ? crossing(j) : columns;
        const [left, right] = [from, to].map((at) => px(re[0] + at * dx).toFixed(1));
        d += `M${left} ${top}H${right}v${tall.toFixed(1)}H${left}z`;
      }
    }
  });
  return d;
}

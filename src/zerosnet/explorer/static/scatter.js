// Accuracies over the largest parasitic modulus or over effective depth: measured ones filled, the paper's printed ones
// hollow, this scheme marked.

import { html, svg } from "./dom.js";
import { short } from "./numbers.js";
import { boxOf, key, labelled, mark, plot, widthOf } from "./plot.js";

const NETWORKS = { zerosnet: ["circle", "three steps, 32 to 56 layers"], preresnet: ["triangle", "PreResNet-32"], lmresnet: ["diamond", "LM-ResNet-44"] };

// what the x-axis can be: where an entry and a side lie on it
const AXES = {
  modulus: {
    button: "largest parasitic modulus", title: "largest modulus of a parasitic root", range: [-0.12, 4.6],
    of: (entry) => entry.parasitic_modulus, side: (side) => side.modulus,
  },
  depth: {
    button: "effective depth", title: "effective depth, in blocks", range: [0, 27],
    of: (entry) => entry.effective_depth, side: (side) => side.forecast.effective_depth,
  },
};
let axis = "modulus";
const DOT = 4; // half the width of a dot

// buttons that choose the axis; changed() draws anew
export function axisChoice(changed) {
  const buttons = Object.entries(AXES).map(([name, { button }]) => html("button", {
    type: "button", class: "small", "data-axis": name, "aria-pressed": String(name === axis),
    onclick: () => {
      axis = name;
      buttons.forEach((one) => one.setAttribute("aria-pressed", String(one.dataset.axis === axis)));
      changed();
    },
  }, button));
  return html("div", { class: "axis-choice", role: "group", "aria-label": "horizontal axis" }, html("span", { class: "hint" }, "against "), buttons);
}

export function drawScatter(room, legend, { measured, printed }, sides) {
  const all = [...measured, ...printed];
  const { title, range, of, side: sideAt } = AXES[axis];
  const lowest = Math.min(...all.map(({ accuracy }) => accuracy));
  const y = [Math.floor(lowest - 1.5), 98];
  const chart = plot(room, {
    label: `Test accuracy over the ${title}: ${measured.length} measured, ${printed.length} printed; ${sides.map((side) => `${side.name} at ${short(sideAt(side), 3)}`).join("; ")}`,
    ratio: widthOf(room) > 480 ? 0.55 : 0.75, x: range, y, xlabel: title, ylabel: "test accuracy (%)",
  });
  const { px, py, inner } = chart;
  chart.taken.push(...all.map((entry) => dotBox(px(of(entry)), py(entry.accuracy))));
  if (axis === "modulus") {
    chart.put(
      svg("rect", { class: "stable-fill", x: px(range[0]), width: px(1) - px(range[0]), y: inner.top, height: inner.height }),
      svg("text", { class: "note", x: (px(0) + px(1)) / 2, y: inner.top + inner.height - 7, "text-anchor": "middle" }, "zero-stable"));
  }
  for (const entry of printed) point(chart, entry, of, `printed ${network(entry)}`, NETWORKS[network(entry)][0], 3.6, "printed in the paper");
  sides.forEach((side) => {
    const value = sideAt(side), at = Math.min(value, range[1]);
    chart.put(svg("line", { class: `current ${side.key}`, x1: px(at), x2: px(at), y1: inner.top, y2: inner.top + inner.height }));
    const left = px(at) > inner.left + inner.width * 0.6;
    const words = `${side.name}: ${short(value, 3)}${value > range[1] ? " →" : ""}`, x = px(at) + (left ? -6 : 6), y = inner.top + (side.key === "a" ? 12 : 26);
    chart.over(svg("text", { class: "note strong", x, y, "text-anchor": left ? "end" : "start" }, words));
    chart.taken.push(boxOf(words, x, y, left));
  });
  for (const entry of measured) {
    point(chart, entry, of, `measured ${entry.zero_stable ? "stable" : "unstable"}`, "star", 5, `measured, best epoch, ${entry.runs} runs, recipe ${entry.recipe}`);
  }
  chart.show();
  const kinds = [...new Set(printed.map(network))];
  legend.replaceChildren(
    key("star", { class: "measured" }, `measured here: ${models(measured)}`),
    ...kinds.map((kind) => key(NETWORKS[kind][0], { class: "printed" }, `printed in the paper: ${NETWORKS[kind][1]}`)),
    ...(chart.root.querySelector(".dot-label.always") ? [html("span", { class: "key" }, "labelled: measured outside of the predicted interval")] : []));
}

const dotBox = (x, y) => ({ x1: x - DOT, x2: x + DOT, y1: y - DOT, y2: y + DOT });
const network = ({ model }) => model.replace(/\d.*$/, "");
function models(entries) {
  const names = [...new Set(entries.map(({ model }) => model))];
  const depths = [...new Set(names.map((name) => parseInt(name.match(/\d+/), 10)))].sort((a, b) => a - b);
  return names.length > 3 ? `${depths.slice(0, -1).join(", ")} and ${depths.at(-1)} layers` : names.join(", ");
}

function point(chart, entry, of, style, shape, size, source) {
  const { px, py } = chart;
  const { accuracy, deviation, scheme, model, parasitic_modulus: modulus, effective_depth: depth } = entry;
  const x = px(of(entry)), y = py(accuracy);
  if (deviation) chart.put(svg("line", { class: `whisker ${style}`, x1: x, x2: x, y1: py(accuracy - deviation), y2: py(accuracy + deviation) }));
  const dot = mark(shape, x, y, size, { class: style },
    `${model}: ${accuracy} ${deviation ? `± ${deviation} ` : ""}% (${source}); scheme ${scheme}; largest parasitic modulus ${short(modulus, 3)}, effective depth ${short(depth, 3)}`);
  chart.put(labelled(chart, dot, x, y, `${entry.label}: ${accuracy.toFixed(1)} %`, Boolean(entry.outlier)));
}

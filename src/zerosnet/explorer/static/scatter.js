// Accuracies over the largest parasitic modulus: measured ones filled, the paper's printed ones hollow, this scheme marked.

import { svg } from "./dom.js";
import { short } from "./numbers.js";
import { key, mark, plot, widthOf } from "./plot.js";

const NEAREST = -0.12, FARTHEST = 4.6;
const NETWORKS = { zerosnet: ["circle", "three steps, 32 to 56 layers"], preresnet: ["triangle", "PreResNet-32"], lmresnet: ["diamond", "LM-ResNet-44"] };

export function drawScatter(room, legend, { measured, printed }, sides) {
  const all = [...measured, ...printed];
  const lowest = Math.min(...all.map(({ accuracy }) => accuracy));
  const y = [Math.floor(lowest - 1.5), 98];
  const chart = plot(room, {
    label: `Test accuracy over the largest parasitic modulus: ${measured.length} measured, ${printed.length} printed; ${sides.map(describe).join("; ")}`,
    ratio: widthOf(room) > 480 ? 0.55 : 0.75, x: [NEAREST, FARTHEST], y,
    xlabel: "largest modulus of a parasitic root", ylabel: "test accuracy (%)",
  });
  const { px, py, inner } = chart;
  chart.put(
    svg("rect", { class: "stable-fill", x: px(NEAREST), width: px(1) - px(NEAREST), y: inner.top, height: inner.height }),
    svg("text", { class: "note", x: (px(0) + px(1)) / 2, y: inner.top + inner.height - 7, "text-anchor": "middle" }, "zero-stable"));
  for (const entry of printed) point(chart, entry, `printed ${network(entry)}`, NETWORKS[network(entry)][0], 3.6, "printed in the paper");
  sides.forEach((side) => {
    const at = Math.min(side.modulus, FARTHEST);
    const beyond = side.modulus > FARTHEST;
    chart.put(svg("line", { class: `current ${side.key}`, x1: px(at), x2: px(at), y1: inner.top, y2: inner.top + inner.height }));
    const left = px(at) > inner.left + inner.width * 0.6;
    chart.over(svg("text", {
      class: "note strong", x: px(at) + (left ? -6 : 6), y: inner.top + (side.key === "a" ? 12 : 26), "text-anchor": left ? "end" : "start",
    }, beyond ? `${side.name}: ${short(side.modulus, 3)} →` : `${side.name}: ${short(side.modulus, 3)}`));
  });
  for (const entry of measured) {
    point(chart, entry, "measured", "star", 5, `measured, best epoch, ${entry.runs} runs, recipe ${entry.recipe}`);
  }
  chart.show();
  const kinds = [...new Set(printed.map(network))];
  legend.replaceChildren(
    key("star", { class: "measured" }, `measured here: ${models(measured)}`),
    ...kinds.map((kind) => key(NETWORKS[kind][0], { class: "printed" }, `printed in the paper: ${NETWORKS[kind][1]}`)));
}

const network = ({ model }) => model.replace(/\d.*$/, "");
function models(entries) {
  const names = [...new Set(entries.map(({ model }) => model))];
  const depths = [...new Set(names.map((name) => parseInt(name.match(/\d+/), 10)))].sort((a, b) => a - b);
  return names.length > 3 ? `${depths.join(" and ")} layers` : names.join(", ");
}
const describe = ({ name, modulus }) => `${name} at ${short(modulus, 3)}`;

function point(chart, entry, style, shape, size, source) {
  const { px, py } = chart;
  const { parasitic_modulus: x, accuracy, deviation } = entry;
  if (deviation) {
    chart.put(svg("line", { class: `whisker ${style}`, x1: px(x), x2: px(x), y1: py(accuracy - deviation), y2: py(accuracy + deviation) }));
  }
  chart.put(mark(shape, px(x), py(accuracy), size, { class: style },
    `${entry.model}: ${accuracy} ${deviation ? `± ${deviation} ` : ""}% (${source}); scheme ${entry.scheme}; largest parasitic modulus ${short(x, 3)}`));
}

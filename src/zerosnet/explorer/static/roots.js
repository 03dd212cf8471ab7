// The roots of rho about the unit circle, on the faint paths they take as the parameter moves. Those of a consistent
// three-step scheme can be moved.

import { html, svg } from "./dom.js";
import { short } from "./numbers.js";
import { offline } from "./offline.js";
import { key, mark, plot } from "./plot.js";
import { movable, notByHand, rootsByHand } from "./rootdrag.js";

const PLACES = {
  principal: ["square", "principal root 1"],
  inside: ["circle", "inside"],
  on: ["diamond", "on the circle"],
  outside: ["cross", "outside"],
};
const REACHES = [1.5, 2, 3, 5, 8, 12, 20, 50, 100];

export function drawRoots(room, legend, { analysis, places }, locus, hand) {
  const roots = analysis.roots.map(([re, im], i) => ({ re, im, modulus: analysis.moduli[i], place: places[i] }));
  const largest = Math.max(1, ...analysis.moduli);
  const reach = Number(room.dataset.held) || (REACHES.find((size) => size >= largest * 1.12) ?? largest * 1.2);
  const sides = [-reach, reach];
  const chart = plot(room, {
    label: `Roots: ${roots.map(({ re, im, place }) => `${complex(re, im)} ${PLACES[place][1]}`).join("; ")}`,
    ratio: 0.92, x: sides, y: sides, equal: true, xlabel: "real part", ylabel: "imaginary part",
  });
  const { px, py } = chart;
  const unit = px(1) - px(0);
  chart.put(
    svg("circle", { class: "disc", cx: px(0), cy: py(0), r: unit }),
    svg("path", { class: "cross-hair", d: `M${px(-reach)} ${py(0)}H${px(reach)}M${px(0)} ${py(-reach)}V${py(reach)}` }));
  if (locus) {
    const near = locus.roots.flat().filter((root) => root && Math.abs(root[0]) <= reach && Math.abs(root[1]) <= reach);
    const dots = new Set(near.map(([re, im]) => `M${px(re).toFixed(0)} ${py(im).toFixed(0)}h0`)); // one for each pixel
    chart.put(svg("path", { class: "path-dots", d: [...dots].join("") }));
  }
  const free = movable(analysis) && !offline;
  const seen = new Map();
  for (const { re, im, modulus, place } of roots) {
    const at = `${re} ${im}`;
    seen.set(at, (seen.get(at) ?? 0) + 1);
    if (seen.get(at) > 1) continue;
    const loose = free && place !== "principal";
    if (loose) chart.over(svg("circle", { class: "grip", cx: px(re), cy: py(im), r: 13 }));
    chart.over(mark(PLACES[place][0], px(re), py(im), 5.6, { class: `root ${place}${loose ? " loose" : ""}` },
      `${complex(re, im)}, modulus ${short(modulus, 6)}`));
  }
  for (const [at, times] of seen) {
    const [re, im] = at.split(" ").map(Number);
    if (times > 1) chart.over(svg("text", { class: "note", x: px(re) + 8, y: py(im) - 7 }, `×${times}`));
  }
  chart.show();
  if (free) rootsByHand(room, chart, analysis.roots, reach, hand);
  else notByHand(room);
  const used = new Set(roots.map(({ place }) => place));
  legend.replaceChildren(...Object.entries(PLACES).filter(([place]) => used.has(place))
    .map(([place, [shape, text]]) => key(shape, { class: `root ${place}` }, text)),
    ...(locus ? [html("span", { class: "key" }, "· paths")] : []),
    ...(free ? [html("span", { class: "key" }, "drag the ringed roots")] : []));
}

const complex = (re, im) => (im === 0 ? short(re) : `${short(re)} ${im < 0 ? "−" : "+"} ${short(Math.abs(im))}i`);

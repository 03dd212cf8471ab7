// The region of absolute stability in the plane of h times the slope's eigenvalue, with the boundary locus.

import { svg } from "./dom.js";
import { brief, toFloat } from "./numbers.js";
import { key, plot } from "./plot.js";

export function drawRegion(room, legend, region, analysis) {
  const { re, im, nx, ny, runs, boundary } = region;
  const chart = plot(room, {
    label: `Region of absolute stability; on the real axis ${realReach(analysis)}, on the imaginary axis ${imaginaryReach(analysis)}`,
    ratio: 0.92, x: re, y: im, equal: true, xlabel: "Re hμ", ylabel: "Im hμ",
  });
  const { px, py } = chart;
  const dx = (re[1] - re[0]) / (nx - 1), dy = (im[1] - im[0]) / (ny - 1);
  const tall = py(0) - py(dy);
  let d = "";
  runs.forEach((row, i) => {
    const y = py(im[0] + (i + 0.5) * dy);
    for (const [first, last] of row) {
      const x = px(re[0] + (first - 0.5) * dx);
      d += `M${x.toFixed(1)} ${y.toFixed(1)}H${px(re[0] + (last + 0.5) * dx).toFixed(1)}v${(tall + 0.3).toFixed(2)}H${x.toFixed(1)}z`;
    }
  });
  chart.put(
    svg("path", { class: "stable-fill", d }),
    svg("path", { class: "cross-hair", d: `M${px(re[0])} ${py(0)}H${px(re[1])}M${px(0)} ${py(im[0])}V${py(im[1])}` }));
  chart.line(boundary, { class: "boundary" });
  const left = toFloat(analysis.real_interval ?? "0"), up = toFloat(analysis.imaginary_interval ?? "0");
  if (left > 0) chart.line([[-left, 0], [0, 0]], { class: "interval" });
  if (up > 0) chart.line([[0, -up], [0, up]], { class: "interval" });
  chart.show();
  const any = runs.some((row) => row.length);
  legend.replaceChildren(
    key("square", { class: "stable-fill" }, any ? "absolutely stable" : "no stable area in this window"),
    key("line", { class: "boundary" }, "boundary locus"));
}

// where on an axis the scheme is absolutely stable
export const realReach = (analysis) => reach(analysis, analysis.real_interval, (size) => `[−${size}, 0]`);
export const imaginaryReach = (analysis) => reach(analysis, analysis.imaginary_interval, (size) => `[−${size} i, ${size} i]`);
const reach = ({ zero_stable: atZero }, end, interval) =>
  end === null ? "all of it" : toFloat(end) > 0 ? interval(brief(end)) : atZero === false ? "none" : "0 only";

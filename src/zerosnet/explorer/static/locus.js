// The moduli of the parasitic roots over the parameter, the zero-stable set shaded; the parameter can be dragged here.

import { svg } from "./dom.js";
import { pretty, short } from "./numbers.js";
import { key, mark, plot, widthOf } from "./plot.js";

const TOP = 2.2;

export function drawLocus(room, legend, locus, { value, symbol, drag }) {
  const { values, moduli, stable_set: set, discrete } = locus;
  const one = values.length === 1;
  const x = discrete ? [values[0] - 0.6, values.at(-1) + 0.6] : [values[0], values.at(-1)];
  const chart = plot(room, {
    label: `Moduli of the parasitic roots over ${symbol || "the only member"}; zero-stable: ${pretty(set.text)}`,
    ratio: widthOf(room) > 420 ? 0.5 : 0.92, x, y: [0, TOP], xlabel: one ? "its only member" : symbol, ylabel: "modulus of the parasitic roots",
    xticks: one ? [] : discrete ? values.map((k) => [k, String(k)]) : undefined,
  });
  const { px, py, inner } = chart;
  shade(chart, set, x, discrete, value);
  chart.line([[x[0], 1], [x[1], 1]], { class: "circle-line" });
  if (discrete) values.forEach((v, j) => moduli[j].forEach((m) => chart.over(mark("circle", px(v), py(m), 3.5, { class: "root inside" }))));
  else moduli[0]?.forEach((_, i) => chart.line(values.map((v, j) => [v, moduli[j][i]]), { class: `modulus m${i % 4}` }));
  if (!discrete) ends(chart, set, x);
  if (Number.isFinite(value) && !one) {
    const at = Math.max(inner.left, Math.min(inner.left + inner.width, px(value)));
    chart.over(
      svg("line", { class: "current", x1: at, x2: at, y1: inner.top, y2: inner.top + inner.height }),
      svg("path", { class: "handle", d: `M${at - 6} ${inner.top}h12v8l-6 7l-6 -7z` }));
  }
  chart.show();
  room.classList.remove("draggable");
  room.onpointerdown = null;
  if (drag && !discrete) draggable(room, chart, x, drag);
  legend.replaceChildren(
    key("square", { class: "stable-fill" }, one ? "zero-stable" : describe(set)),
    ...(set.intervals.some(({ kind }) => kind === "borderline") ? [key("square", { class: "borderline-fill" }, "on the circle, undecided in floats")] : []));
}

function describe({ exact, text, intervals }) {
  if (exact) return `zero-stable: ${pretty(text)}`;
  return intervals.length ? `zero-stable (${text})` : `nowhere zero-stable here (${text})`;
}

function shade(chart, set, x, discrete, value) {
  const { px, inner } = chart;
  for (const { from, to, kind } of set.intervals) {
    const low = discrete ? (from ?? x[0]) - 0.5 : Math.max(x[0], from ?? x[0]);
    const high = discrete ? (to ?? x[1]) + 0.5 : Math.min(x[1], to ?? x[1]);
    if (high < low) continue;
    chart.put(svg("rect", {
      class: kind === "borderline" ? "borderline-fill" : "stable-fill",
      x: px(low), width: Math.max(1, px(high) - px(low)), y: inner.top, height: inner.height,
    }));
    const [left, right] = widest(low, high, value).map(px);
    if (right - left > 66 && kind === "stable" && !discrete) {
      chart.over(svg("text", { class: "note", x: (left + right) / 2, y: inner.top + inner.height - 8, "text-anchor": "middle" }, "zero-stable"));
    }
  }
}

// the larger part of an interval that the current value splits
function widest(low, high, value) {
  if (!(value > low && value < high)) return [low, high];
  return value - low > high - value ? [low, value] : [value, high];
}

function ends(chart, set, x) {
  for (const interval of set.intervals) {
    for (const [end, closed] of [[interval.from, interval.low_closed], [interval.to, interval.high_closed]]) {
      if (end === null || end <= x[0] || end >= x[1] || closed === undefined) continue;
      chart.over(mark("circle", chart.px(end), chart.py(1), 4, { class: closed ? "end closed" : "end open" },
        `${short(end)} ${closed ? "belongs to the stable set" : "does not belong to the stable set"}`));
    }
  }
}

// the room stays while the plot in it is drawn anew, so it is what listens
function draggable(room, chart, [low, high], drag) {
  room.classList.add("draggable");
  room.onpointerdown = (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    const move = (moved) => {
      const x = chart.toX(moved.clientX - room.getBoundingClientRect().left);
      drag(Math.max(low, Math.min(high, x)));
    };
    const ending = new AbortController();
    addEventListener("pointermove", move, { signal: ending.signal });
    for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => ending.abort(), { signal: ending.signal });
    move(event);
  };
}

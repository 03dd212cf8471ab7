// A small plot in SVG: a frame with axes, and helpers to put lines, areas and marks into it.
//
// Our own rather than plotly's: five plotly panels took 60 to 90 ms to redraw on two cores where these take a few, and
// they need inline styles, which the content security policy of this page refuses. Colours come from the style sheet.

import { svg } from "./dom.js";
import { short } from "./numbers.js";

const MARGIN = { left: 46, right: 12, top: 10, bottom: 34 };
let clips = 0;

// The width of a room when it was last laid out. Asked for in the middle of drawing, the browser would lay out the page anew.
const widths = new WeakMap();
const watching = new ResizeObserver((rooms) => rooms.forEach(({ target, contentRect }) => widths.set(target, contentRect.width)));

export function widthOf(room) {
  if (!widths.has(room)) {
    widths.set(room, room.clientWidth);
    watching.observe(room);
  }
  return widths.get(room);
}

// room: an element to draw into; ratio: height over width; x, y: [low, high]; equal: the same scale on both axes
export function plot(room, { label, ratio, x, y, xlabel, ylabel, xticks, yticks, equal = false }) {
  const width = Math.max(220, Math.floor(widthOf(room)) || 320);
  const height = Math.round(width * ratio);
  const inner = { left: MARGIN.left, top: MARGIN.top, width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
  if (equal) {
    const unit = Math.min(inner.width / (x[1] - x[0]), inner.height / (y[1] - y[0]));
    const [wide, tall] = [unit * (x[1] - x[0]), unit * (y[1] - y[0])];
    inner.left += (inner.width - wide) / 2;
    Object.assign(inner, { width: wide, height: tall });
  }
  const px = (value) => inner.left + ((value - x[0]) / (x[1] - x[0])) * inner.width;
  const py = (value) => inner.top + ((y[1] - value) / (y[1] - y[0])) * inner.height;
  const right = inner.left + inner.width;
  const bottom = inner.top + inner.height;
  const clip = `clip-${++clips}`;
  const data = svg("g", { "clip-path": `url(#${clip})` });
  const over = svg("g");
  const labels = svg("g");
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, class: "plot" },
    svg("clipPath", { id: clip }, svg("rect", { x: inner.left, y: inner.top, width: inner.width, height: inner.height })),
    (xticks ?? ticks(x)).map(([value, text]) => [
      svg("line", { class: "grid", x1: px(value), x2: px(value), y1: inner.top, y2: bottom }),
      svg("text", { class: "tick", x: px(value), y: bottom + 14, "text-anchor": "middle" }, text)]),
    (yticks ?? ticks(y)).map(([value, text]) => [
      svg("line", { class: "grid", x1: inner.left, x2: right, y1: py(value), y2: py(value) }),
      svg("text", { class: "tick", x: inner.left - 6, y: py(value) + 3.5, "text-anchor": "end" }, text)]),
    data,
    svg("path", { class: "axis", d: `M${inner.left} ${inner.top}V${bottom}H${right}` }),
    over,
    labels,
    svg("text", { class: "axis-label", x: inner.left + inner.width / 2, y: height - 4, "text-anchor": "middle" }, xlabel),
    ylabel && svg("text", {
      class: "axis-label", transform: `translate(12 ${inner.top + inner.height / 2}) rotate(-90)`, "text-anchor": "middle",
    }, ylabel));
  root.setAttribute("width", width);
  root.setAttribute("height", height);
  return {
    root, inner, px, py,
    taken: [], // boxes that labels must not lie over
    toX: (pixel) => x[0] + ((pixel - inner.left) / inner.width) * (x[1] - x[0]),
    line: (points, attributes) => data.append(svg("path", { fill: "none", d: path(points, px, py), ...attributes })),
    put: (...elements) => data.append(...elements),
    over: (...elements) => over.append(...elements),
    label: (...elements) => labels.append(...elements),
    show: () => room.replaceChildren(root),
  };
}

// points [x, y] as path data; null lifts the pen
export function path(points, px, py) {
  let pen = "M";
  let d = "";
  for (const point of points) {
    if (point === null || point[1] === null) { pen = "M"; continue; }
    const x = Math.max(-1e5, Math.min(1e5, px(point[0]))), y = Math.max(-1e5, Math.min(1e5, py(point[1])));
    d += `${pen}${x.toFixed(1)} ${y.toFixed(1)}`;
    pen = "L";
  }
  return d;
}

export function ticks([low, high], count = 5) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((size) => size * power >= rough * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) {
    found.push([i * step, short(Number((i * step).toPrecision(6)))]);
  }
  return found;
}

// marks that differ in shape, so that colour is never needed
const SHAPES = {
  circle: (r) => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`,
  square: (r) => `M${-r} ${-r}h${2 * r}v${2 * r}h${-2 * r}z`,
  diamond: (r) => `M0 ${-1.35 * r}L${1.35 * r} 0L0 ${1.35 * r}L${-1.35 * r} 0z`,
  triangle: (r) => `M0 ${-1.2 * r}L${1.15 * r} ${0.9 * r}H${-1.15 * r}z`,
  cross: (r) => {
    const a = r * 0.45, b = r * 1.15;
    return `M0 ${-a}L${b - a} ${-b}L${b} ${a - b}L${a} 0L${b} ${b - a}L${b - a} ${b}L0 ${a}L${a - b} ${b}L${-b} ${b - a}L${-a} 0L${-b} ${a - b}L${a - b} ${-b}z`;
  },
  star: (r) => Array.from({ length: 10 }, (_, i) => {
    const size = (i % 2 ? 0.6 : 1.5) * r, turn = (Math.PI * i) / 5;
    return `${i ? "L" : "M"}${(size * Math.sin(turn)).toFixed(2)} ${(-size * Math.cos(turn)).toFixed(2)}`;
  }).join("") + "z",
};

export function mark(shape, x, y, size, attributes = {}, title = null) {
  return svg("path", { d: SHAPES[shape](size), transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`, ...attributes },
    title && svg("title", {}, title));
}

// A box about as large as words that begin at x, or end there; y is their base line.
const LETTER = 6.1, ABOVE = 10, BELOW = 4;
export const boxOf = (text, x, y, left) => ({ x1: left ? x - LETTER * text.length : x, x2: left ? x : x + LETTER * text.length, y1: y - ABOVE, y2: y + BELOW });
const meet = (a, b) => a.x1 < b.x2 && b.x1 < a.x2 && a.y1 < b.y2 && b.y1 < a.y2;

// a place beside a mark at which a label lies over nothing that is taken, or null
function freePlace({ inner, taken }, x, y, text, side) {
  for (const left of [side, !side]) {
    for (const down of [15, 4, -7]) {
      const box = boxOf(text, x + (left ? -9 : 9), y + down, left);
      const inside = box.x1 >= inner.left && box.x2 <= inner.left + inner.width && box.y1 >= inner.top && box.y2 <= inner.top + inner.height;
      if (!inside || taken.some((other) => meet(box, other))) continue;
      taken.push(box);
      return { left, down };
    }
  }
  return null;
}

// A mark with a label beside it: seen while the pointer or the focus is on the mark, or always, if it is wanted and there
// is room. Labels lie over all marks.
export function labelled(chart, glyph, x, y, text, wanted = false) {
  const { inner } = chart;
  const side = x > inner.left + 0.6 * inner.width;
  const place = wanted ? freePlace(chart, x, y, text, side) : null;
  const { left, down } = place ?? { left: side, down: 4 };
  const label = svg("text", {
    class: `dot-label${place ? " always" : ""}`, x: (x + (left ? -9 : 9)).toFixed(1), y: (y + down).toFixed(1),
    "text-anchor": left ? "end" : "start", "aria-hidden": "true",
  }, text);
  const seen = (yes) => () => label.classList.toggle("seen", yes);
  glyph.addEventListener("pointerenter", seen(true));
  glyph.addEventListener("pointerleave", seen(false));
  chart.label(label);
  return glyph;
}

// a mark and what it means, for a legend in HTML
export function key(shape, attributes, text) {
  const glyph = shape === "line"
    ? svg("path", { d: "M0 7H22", fill: "none", ...attributes })
    : mark(shape, 8, 7, 4.6, attributes);
  const size = { width: shape === "line" ? 24 : 16, height: 14, "aria-hidden": "true" };
  const item = document.createElement("span");
  item.className = "key";
  item.append(svg("svg", size, glyph), text);
  return item;
}

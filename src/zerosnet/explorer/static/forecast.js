// What a network of this scheme promises before it is trained: what every block adds, and what the head reads of it.

import { html, svg } from "./dom.js";
import { short, superscript } from "./numbers.js";
import { key, plot, widthOf } from "./plot.js";

const STAGES = ["first", "second", "third"];
const MANY = 120; // bars, which are drawn as one shape then
const LEAST = 1e-6; // smaller ones are drawn as this

export function drawForecast(rooms, legend, forecast) {
  const { shares, parts, survivors } = forecast;
  rooms.words.replaceChildren(...words(forecast));
  drawBlocks(rooms, legend, { shares, parts, counts: Array(3).fill(shares.length / 3), survivors, noted: "dies in training" });
}

// shares and parts, block by block; counts: blocks of every stage; line: a part of every block that is marked, or survivors: the
// blocks that are not drawn pale; noted: what that means
export function drawBlocks(rooms, legend, { shares, parts, counts, line, survivors, noted }) {
  const low = Math.max(Math.log10(LEAST), Math.floor(Math.log10(Math.max(LEAST, Math.min(0.001, ...shares, ...parts)))));
  bars(rooms.shares, shares, counts, low, "share of the new state", "share", { survivors });
  bars(rooms.parts, parts, counts, low, "part of what the head reads", "part", { line, survivors });
  legend.replaceChildren(...(counts.length > 1 ? STAGES : []).map((name, i) => key("square", { class: `stage s${i}` }, `${name} stage`)),
    ...(survivors?.every(Boolean) ? [] : [survivors ? key("square", { class: "stage s0 dies" }, noted) : key("line", { class: "half-line" }, noted)]));
}

function words({ shares, survivors, effective_depth: depth, accuracy, interval, calibration, layers, limit }) {
  const known = accuracy !== null;
  const predicted = known
    ? [html("strong", {}, `${accuracy.toFixed(1)} %`), ` on CIFAR-10 (90 % interval ${interval.map((end) => end.toFixed(1)).join(" to ")})`]
    : [`none: ${calibration.why_not}`];
  return [
    html("p", {}, `With ${layers} layers, effective depth `, html("strong", {}, depth.toFixed(1)), ` of ${shares.length} blocks${survivors ? `, of which ${survivors.filter(Boolean).length} survive training` : ""}; predicted accuracy `, predicted, "."),
    html("p", { class: "limit" }, limit)];
}

function bars(room, values, counts, low, title, noun, { line, survivors } = {}) {
  const blocks = values.length;
  const stages = counts.flatMap((count, i) => Array(count).fill(i));
  const lives = (n) => !survivors || survivors[n];
  const marked = counts.length > 1 ? counts.map((count, i) => count * (i + 1)) : [1 / 3, 2 / 3, 1].map((part) => Math.round(part * blocks));
  const chart = plot(room, {
    label: `${title}, block by block: from ${short(Math.min(...values), 2)} to ${short(Math.max(...values), 2)}`,
    ratio: widthOf(room) > 420 ? 0.42 : 0.62, x: [0.5, blocks + 0.5], y: [low, 0.12], xlabel: "block", ylabel: title,
    xticks: [...new Set([1, ...marked])].map((n) => [n, String(n)]),
    yticks: Array.from({ length: 1 - low }, (_, i) => [-i, i === 0 ? "1" : i === 1 ? "0.1" : `10${superscript(-i)}`]),
  });
  const { px, py } = chart;
  const floor = py(low), width = 0.76 * (px(1) - px(0));
  const topOf = (value) => py(Math.max(low + 0.02, Math.log10(value)));
  if (blocks > MANY) {
    const outline = (value, n) => `M${(px(n + 1) - width / 2).toFixed(2)} ${floor.toFixed(1)}V${topOf(value).toFixed(1)}h${width.toFixed(2)}V${floor.toFixed(1)}z`;
    const shape = (i, alive) => values.map((value, n) => (stages[n] === i && lives(n) === alive ? outline(value, n) : "")).join("");
    counts.forEach((_, i) => [true, false].forEach((alive) => chart.put(svg("path", { class: `stage s${i}${alive ? "" : " dies"}`, d: shape(i, alive) }))));
  } else values.forEach((value, n) => {
    const top = topOf(value);
    chart.put(svg("rect", { class: `stage s${stages[n]}${lives(n) ? "" : " dies"}`, x: (px(n + 1) - width / 2).toFixed(1), y: top.toFixed(1), width: width.toFixed(1), height: (floor - top).toFixed(1) },
      svg("title", {}, `block ${n + 1}: ${noun} ${short(value, 3)}${lives(n) ? "" : ", dies in training"}`)));
  });
  if (line) chart.line(line.flatMap((part, n) => [[n + 0.5, Math.log10(part)], [n + 1.5, Math.log10(part)]]), { class: "half-line" });
  chart.show();
}

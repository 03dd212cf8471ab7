// Numbers as text. Exact values stay text; floats are made of them only to place a slider or a mark.

const MINUS = "−";

export function toFloat(text) {
  const [top, bottom = "1", ...more] = String(text).split("/");
  if (more.length || !top.trim() || !bottom.trim()) return NaN;
  return Number(top) / Number(bottom);
}

export function short(value, digits = 4) {
  if (value === null || value === undefined) return "none";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = size >= 1e5 || size < 1e-3 ? scientific(value, digits) : String(Number(value.toPrecision(digits)));
  return text.replace("-", MINUS);
}

function scientific(value, digits) {
  const [mantissa, power] = value.toExponential(Math.min(2, digits - 1)).split("e");
  return `${Number(mantissa)}·10${superscript(Number(power))}`;
}

export const superscript = (n) => String(n).replace(/[-0-9]/g, (c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]));

// from low to high, and farther where x lies outside; what is no number changes nothing
export const around = (x, low, high) => [x < low ? Math.floor(x) : low, x > high ? Math.ceil(x) : high];

// a positive number in few characters: exact where that is short
export const brief = (value) => (typeof value === "string" && value.length <= 9 ? value : short(toFloat(value)));

// "11/27" as "11/27 ≈ 0.4074", "0.4" and "2" as they are
export function exact(value) {
  if (value === null) return "none";
  if (typeof value === "number") return `≈ ${short(value)}`;
  const shown = value.replace("-", MINUS);
  if (!value.includes("/")) return value.length <= 14 ? shown : `≈ ${short(toFloat(value))}`;
  const rounded = short(toFloat(value));
  const sign = Math.abs(toFloat(value) * 1e4) % 1 === 0 ? "=" : "≈";
  return value.length <= 14 ? `${shown} ${sign} ${rounded}` : `≈ ${rounded}`;
}

export const pretty = (text) => text.replace(/\boo\b/g, "∞").replaceAll(" U ", " ∪ ").replace(/-(?=[\d∞.(])/g, MINUS);

export function fold(log10) {
  if (log10 === null) return "0";
  return log10 < 5 ? short(10 ** log10, 3) : `10${superscript(Math.round(log10))}`;
}

// a sentence with "10^24" as "10²⁴"
export const powers = (text) => text.replace(/10\^(-?\d+)/g, (all, power) => `10${superscript(Number(power))}`);

// One number: a slider to drag and a text field for exact values; both say the same.

import { html } from "./dom.js";
import { around, toFloat } from "./numbers.js";

// what is worth asking the server about; it decides what is a number
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?(\/\d+\.?\d*)?$/i;
const FACTOR = /^z\^2.*[\dz]$/;
const PAUSE = 150; // ms without a key, so that half-typed numbers are not asked for

let count = 0;

// options: label, name, value, low, high, step, holes; changed(text) is called with what was chosen, remove() if it may go
export function numberField({ label, name, value, low, high, step = 0.01, holes = [], changed, remove = null }) {
  const id = `number-${++count}`;
  const slider = html("input", { type: "range", id, step, "aria-label": `${name}, slider`, class: "slide" });
  const text = html("input", {
    type: "text", class: "exact", value, "aria-label": `${name}, exact value`, spellcheck: "false",
    autocomplete: "off", autocapitalize: "off", maxlength: 120,
  });
  let last = toFloat(value);
  let typing = 0;

  function place(shown) {
    const x = toFloat(shown);
    slider.disabled = !Number.isFinite(x);
    if (slider.disabled) return;
    [slider.min, slider.max] = around(x, low, high);
    slider.value = x;
    slider.setAttribute("aria-valuetext", shown);
    last = x;
  }

  slider.addEventListener("input", () => {
    let x = Number(slider.value);
    if (holes.includes(x)) x += x >= last ? step : -step; // no scheme there: step over it
    const shown = String(Number(x.toFixed(4)));
    text.value = shown;
    text.removeAttribute("aria-invalid");
    place(shown);
    changed(shown);
  });
  text.addEventListener("input", () => {
    clearTimeout(typing);
    const shown = text.value.trim().replaceAll("−", "-");
    const complete = NUMBER.test(shown) || FACTOR.test(shown);
    if (complete) text.removeAttribute("aria-invalid");
    else text.setAttribute("aria-invalid", "true");
    place(shown);
    if (complete) typing = setTimeout(changed, PAUSE, shown);
  });
  place(value);
  const element = html("div", { class: "number" },
    html("label", { for: id, class: "symbol" }, label), slider, text,
    remove && html("button", { type: "button", class: "small", "aria-label": `remove ${name}`, onclick: remove }, "×"));
  return {
    element,
    set(shown) {
      if (document.activeElement !== text) text.value = shown;
      place(shown);
    },
    invalid(yes) {
      if (yes) text.setAttribute("aria-invalid", "true");
      else text.removeAttribute("aria-invalid");
    },
  };
}

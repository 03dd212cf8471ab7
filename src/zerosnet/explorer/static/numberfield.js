// One number: a slider to drag and a text field for exact values; both say the same.

import { html } from "./dom.js";
import { toFloat } from "./numbers.js";

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

  function place(shown) {
    const x = toFloat(shown);
    slider.disabled = !Number.isFinite(x);
    if (slider.disabled) return;
    slider.min = Math.min(low, Math.floor(x));
    slider.max = Math.max(high, Math.ceil(x));
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
    const shown = text.value.trim().replace("−", "-");
    place(shown);
    if (shown) changed(shown);
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

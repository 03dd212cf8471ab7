// The controls of a wiring: form, numbers, lists and matrices, depth, and wirings to start from.

import { html } from "./dom.js";
import { numberField } from "./numberfield.js";
import { offline } from "./offline.js";
import { changeForm, GROUPS, matches, MOST_BLOCKS, NUMBERS, numberOf } from "./wiringstate.js";

const PAUSE = 150; // ms without a key
const ENDS = { write: ["Writes", { all: "to all streams", turns: "to one by one" }], read: ["Reads", { turns: "one by one", mean: "the mean" }] };
const TYPED = "typed";

export class WiringControls {
  #fields = {};
  #presets = [];

  // known: forms, layers and presets of the interface; changed() is called after every change
  constructor(state, known, changed) {
    Object.assign(this, { state, known });
    this.changed = () => { this.#mark(); changed(); };
    this.element = html("div", { class: "controls" });
    this.build();
  }

  build() {
    this.#fields = {};
    this.element.replaceChildren(
      offline ? html("p", { class: "hint" }, "Other gains and matrices need a server: zerosnet explore") : this.#form(),
      offline ? "" : html("div", { class: "numbers" }, Object.keys(this.state.values).map((name) => this.#parameter(name))),
      this.#depth(),
      this.#starts());
    this.#mark();
  }

  refused(parameter) {
    for (const [name, field] of Object.entries(this.#fields)) field.invalid(name === parameter);
  }

  #form() {
    const { state, known } = this;
    const select = html("select", { id: "form", onchange: () => { changeForm(state, known.forms, select.value); this.#again("#form"); } },
      Object.entries(GROUPS).map(([title, forms]) => html("optgroup", { label: title }, forms.map((form) =>
        html("option", { value: form, selected: form === state.form }, known.forms[form].title)))));
    return html("label", { class: "family", for: "form" }, html("span", {}, "Wiring"), select);
  }

  #parameter(name) {
    if (name in ENDS) return this.#end(name);
    if (name === "matrix") return this.#matrix();
    if (name === "seed") return this.#seed();
    if (this.state.form === "lists") return this.#list(name);
    const { symbol, ...rest } = numberOf(this.state.form, name);
    return this.#number(name, { label: symbol, ...rest, value: this.state.values[name] }, (text) => { this.state.values[name] = text; });
  }

  #number(name, options, store) {
    const field = numberField({ ...options, changed: (text) => { store(text); this.changed(); } });
    this.#fields[name] = field;
    return field.element;
  }

  // a field for text, asked for once nobody types; read: what the interface is told
  #text(name, element, read = (text) => text.trim().replaceAll("−", "-")) {
    let typing = 0;
    element.addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(() => { this.state.values[name] = read(element.value); this.changed(); }, PAUSE);
    });
    this.#fields[name] = { invalid: (yes) => (yes ? element.setAttribute("aria-invalid", "true") : element.removeAttribute("aria-invalid")) };
    return element;
  }

  #input(name, label, value) {
    return this.#text(name, html("input", { type: "text", class: "exact", value, "aria-label": label, spellcheck: "false", autocomplete: "off", autocapitalize: "off" }));
  }

  #list(name) {
    const { symbol, name: said } = NUMBERS[name];
    return html("div", { class: "typed" }, html("span", { class: "symbol" }, symbol, html("sub", {}, "n")),
      this.#input(name, `${said}, block by block`, this.state.values[name]),
      name === "add" && html("p", { class: "hint" }, "One number per block, with commas; the last one goes on."));
  }

  #matrix() {
    const text = this.state.values.matrix.split(";").map((row) => row.split(",").join("  ")).join("\n");
    const area = html("textarea", { class: "exact", rows: Math.min(9, text.split("\n").length + 1), "aria-label": "A, the mixing of every block, a line per row", spellcheck: "false", autocapitalize: "off" });
    area.value = text;
    const rows = (value) => value.replaceAll("−", "-").trim().split(/\s*[;\n]\s*/).map((row) => row.trim().split(/[\s,]+/).join(",")).join(";");
    return html("div", { class: "typed" }, html("span", { class: "symbol" }, "A"), this.#text("matrix", area, rows),
      html("p", { class: "hint" }, "A line per row, up to 8: numbers such as 1/3 with spaces."));
  }

  #seed() {
    const input = this.#input("seed", "seed of the draw", this.state.values.seed);
    const next = () => {
      const seed = Number.parseInt(this.state.values.seed, 10);
      input.value = this.state.values.seed = String(seed >= 0 ? seed + 1 : 1);
      this.changed();
    };
    return html("div", { class: "seed" }, html("span", {}, "Seed"), input, html("button", { type: "button", class: "small", onclick: next }, "Draw again"));
  }

  #end(name) {
    const [title, words] = ENDS[name];
    const value = this.state.values[name];
    const typed = !(value in words);
    const select = html("select", {
      id: name,
      onchange: () => { this.state.values[name] = select.value === TYPED ? this.#startOf(name) : select.value; this.#again(`#${name}`); },
    }, Object.entries({ ...words, [TYPED]: "typed weights" }).map(([word, text]) => html("option", { value: word, selected: word === value || (typed && word === TYPED) }, text)));
    return html("div", { class: "end" }, html("label", { class: "family", for: name }, html("span", {}, title), select),
      typed && this.#input(name, `${title.toLowerCase()}, a number per stream`, value));
  }

  // weights to begin with: the first stream alone
  #startOf(name) {
    const { streams, matrix } = this.state.values;
    const count = matrix === undefined ? Math.max(1, Math.min(8, Number.parseInt(streams, 10) || 1)) : matrix.split(";").length;
    return ["1", ...Array(count - 1).fill("0")].join(",");
  }

  #depth() {
    const { state, known } = this;
    const select = html("select", {
      id: "depth",
      onchange: () => { state.layers = select.value === "" ? null : Number(select.value); this.#again("#depth"); },
    }, known.layers.map(({ layers, blocks }) => html("option", { value: layers, selected: layers === state.layers }, `${layers} layers (${blocks})`)),
    !offline && html("option", { value: "", selected: state.layers === null }, "a plain stack"));
    const stack = state.layers === null && this.#number("blocks",
      { label: "N", name: "N, the number of blocks", value: String(state.blocks), low: 1, high: MOST_BLOCKS, step: 1 }, (text) => { state.blocks = text; });
    return html("div", { class: "numbers" }, html("label", { class: "family", for: "depth" }, html("span", {}, "Depth"), select), stack);
  }

  #starts() {
    const wide = matchMedia("(min-width: 601px)").matches;
    this.#presets = this.known.presets.map((preset) => [preset, html("button", { type: "button", onclick: () => {
      const { form, ...values } = preset.query;
      Object.assign(this.state, { form, values });
      this.#again(`[data-preset="${preset.title}"]`);
    }, "data-preset": preset.title }, preset.title)]);
    return html("details", { open: wide || offline }, html("summary", {}, "Wirings to start from"), html("div", { class: "presets" }, this.#presets.map(([, button]) => button)));
  }

  // controls change with the form; the focus stays where it was, and what was folded stays folded
  #again(selector) {
    const open = this.element.querySelector("details").open;
    this.build();
    this.element.querySelector("details").open = open;
    this.element.querySelector(selector)?.focus();
    this.changed();
  }

  #mark() {
    for (const [preset, button] of this.#presets) button.setAttribute("aria-pressed", String(matches(this.state, preset)));
  }
}

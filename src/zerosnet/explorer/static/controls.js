// The controls of one side: family, parameters, presets. They change the side in place and say so.

import { html } from "./dom.js";
import { numberField } from "./numberfield.js";
import { pretty } from "./numbers.js";
import { offline } from "./offline.js";
import { CHOICES, FREE, MOST_STEPS, newSide } from "./state.js";

const BETAS = [["consistent", "1 + k, consistent"], ["paper", "2k + 1, as printed"], ["original", "1, LM-ResNet's own"]];
const SUBSCRIPTS = "₀₁₂₃₄₅₆₇";

export class Controls {
  #fields = [];

  constructor(key, side, { families, paper, changed }) {
    Object.assign(this, { key, side, families, paper, changed });
    this.element = html("div", { class: "controls" });
    this.build();
  }

  replace(side) {
    Object.assign(this.side, newSide(side.family), side);
    this.build();
    this.changed();
  }

  build() {
    this.#fields = [];
    const { side } = this;
    const select = html("select", { id: `family-${this.key}`, onchange: () => this.replace({ family: select.value }) },
      Object.entries(CHOICES).map(([name, { title }]) =>
        html("option", { value: name, selected: name === side.family }, title)));
    this.element.replaceChildren(
      html("label", { class: "family", for: `family-${this.key}` }, html("span", {}, "Family"), select),
      html("div", { class: "numbers" }, this.#numbers()),
      this.#presets());
  }

  refused(parameter) {
    const names = { param: ["param", "root"], alphas: ["alpha"], betas: ["beta"] }[parameter] ?? [];
    for (const { vary, field } of this.#fields) field.invalid(names.some((name) => vary.startsWith(name)));
  }

  // a value that came from elsewhere, such as a drag in the locus
  move(text) {
    const found = this.#fields.find(({ vary }) => vary === this.side.vary);
    if (!found) return;
    found.field.set(text);
    found.store(text);
    this.changed();
  }

  // the free scheme with these coefficients; the fields stay if they are as many
  scheme({ alphas, betas }) {
    const { side } = this;
    if (side.family !== FREE || side.alphas.length !== alphas.length || side.betas.length !== betas.length) {
      this.replace({ family: FREE, alphas, betas });
      return;
    }
    const { vary } = side;
    [...alphas, ...betas].forEach((text, i) => {
      this.#fields[i].field.set(text);
      this.#fields[i].store(text);
    });
    side.vary = vary;
    this.changed();
  }

  range() {
    const { low, high } = CHOICES[this.side.family];
    return { low, high };
  }

  #numbers() {
    const { side } = this;
    if (side.family === FREE && offline) return [html("p", { class: "hint" }, "Free coefficients and roots to drag need a server: zerosnet explore")];
    if (side.family === FREE) return [...this.#list("alphas", "alpha", "α"), ...this.#list("betas", "beta", "β")];
    if (side.family === "from-roots") return this.#list("params", "root", "r");
    if (!side.params.length) return [html("p", { class: "hint" }, "This family has one member.")];
    const parts = [this.#field(side.params, 0, "param", CHOICES[side.family].symbol, null), this.#landmarks()];
    if (side.family === "lm") parts.push(this.#betas());
    return parts;
  }

  #field(values, i, vary, label, remove) {
    const { side } = this;
    const choice = CHOICES[side.family];
    const store = (text) => { values[i] = text; side.vary = vary; };
    const field = numberField({
      label, name: label, value: values[i], low: choice.low, high: choice.high, step: choice.step,
      holes: this.families[side.family]?.holes, remove,
      changed: (text) => { store(text); this.changed(); },
    });
    this.#fields.push({ vary, field, store });
    return field.element;
  }

  #list(key, vary, symbol) {
    const values = this.side[key];
    const least = vary === "root" ? 0 : 1;
    const most = vary === "root" ? MOST_STEPS - 1 : MOST_STEPS;
    const again = () => { this.build(); this.changed(); };
    const fields = values.map((_, i) => this.#field(values, i, `${vary}${i}`, symbol + SUBSCRIPTS[i],
      values.length > least ? () => { values.splice(i, 1); this.side.vary = values.length ? `${vary}0` : "param"; again(); } : null));
    const add = html("button", {
      type: "button", class: "small add", disabled: values.length >= most,
      onclick: () => { values.push("0"); this.side.vary = `${vary}${values.length - 1}`; again(); },
    }, `+ ${symbol}${SUBSCRIPTS[values.length] ?? ""}`);
    const hint = vary === "root" ? html("span", { class: "hint" }, " a pair of complex roots: z^2 + 1/9") : null;
    return [...fields, html("div", {}, add, hint)];
  }

  #landmarks() {
    const set = this.families[this.side.family]?.stable_set;
    const ends = set ? set.intervals.flatMap(({ low, high }) => [low, high]).filter((end) => end !== null) : [];
    const unique = [...new Set(ends)].slice(0, 8);
    if (!unique.length || this.families[this.side.family].whole) return null;
    return html("div", { class: "landmarks" }, html("span", { class: "hint" }, "ends of the stable set: "),
      unique.map((end) => html("button", { type: "button", class: "small", onclick: () => this.move(end) }, pretty(end))));
  }

  #betas() {
    const { side } = this;
    const select = html("select", { onchange: () => { side.beta = select.value; this.changed(); } },
      BETAS.map(([name, title]) => html("option", { value: name, selected: name === side.beta }, title)));
    return html("label", { class: "family" }, html("span", {}, "β"), select);
  }

  #presets() {
    const wide = matchMedia("(min-width: 601px)").matches;
    return html("details", { open: wide }, html("summary", {}, "The paper's ten rows (moduli)"), html("div", { class: "presets" },
      this.paper.map((row) => html("button", {
        type: "button", "data-label": row.label, title: `${row.alphas.join(", ")}; ${row.betas.join(", ")}`,
        onclick: () => this.replace(row.lambda === null
          ? { family: FREE, alphas: [...row.alphas], betas: [...row.betas] }
          : { family: "zerosnet", params: [row.lambda] }),
      }, html("span", { class: row.zero_stable ? "yes" : "no", "aria-label": row.zero_stable ? "stable" : "unstable" },
        row.zero_stable ? "✓" : "✗"), ` ${row.label}`, row.lambda !== null && html("small", {}, ` λ = ${pretty(row.lambda)}`)))));
  }
}

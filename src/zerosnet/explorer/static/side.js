// One scheme on the page: its controls, verdict, facts and plots, kept up to date by the server.

import { get, Live, Refused } from "./api.js";
import { copyText } from "./copy.js";
import { Controls } from "./controls.js";
import { html } from "./dom.js";
import { drawForecast } from "./forecast.js";
import { drawLocus } from "./locus.js";
import { around, toFloat } from "./numbers.js";
import { drawRegion } from "./region.js";
import { drawRoots } from "./roots.js";
import { CHOICES, FREE, nearest, queryOf } from "./state.js";
import { drawFacts, drawRecursion, drawVerdict } from "./verdict.js";

const LOCUS_POINTS = 501;
const COPIES = [["python", "Python"], ["command", "Command"], ["latex", "LaTeX"]];

export class Side {
  view = null;
  #locus = null;
  #locusKey = "";
  #byHand = false; // a root is being moved: the locus waits until it is let go

  // shown(side) is called when there is something new to draw together with the other side
  constructor(key, state, page) {
    Object.assign(this, { key, state, page });
    this.controls = new Controls(key, state, { ...page, changed: () => { page.changed(); this.update(); } });
    this.live = new Live("view", {
      answered: (view, query, since) => this.#answered(view, since),
      refused: (error) => this.#refused(error),
    });
    this.#build();
    this.update();
  }

  get name() {
    return this.key.toUpperCase();
  }

  update() {
    this.live.ask({ ...queryOf(this.state), blocks: this.page.blocks() });
    this.#updateLocus();
  }

  draw() {
    if (!this.view) return;
    const { analysis, envelope, region } = this.view;
    drawVerdict(this.rooms.verdict, analysis);
    drawRecursion(this.rooms.recursion, analysis);
    drawFacts(this.rooms.facts, analysis, envelope);
    drawRoots(this.rooms.roots, this.legends.roots, this.view, this.#byHand ? null : this.#locus, {
      move: (scheme) => { this.#byHand = true; this.controls.scheme(scheme); },
      done: () => { this.#byHand = false; this.update(); },
    });
    drawForecast(this.rooms, this.legends.forecast, this.view.forecast);
    drawRegion(this.rooms.region, this.legends.region, region, analysis);
    this.rooms.locus.classList.toggle("waiting", this.#byHand);
    this.#drawLocus();
  }

  #build() {
    const id = (name) => `${name}-${this.key}`;
    this.rooms = {
      verdict: html("div", { class: "verdict", "aria-live": "polite" }),
      recursion: html("div", { class: "recursion" }),
      facts: html("dl", { class: "facts" }),
    };
    this.legends = {};
    this.problem = html("p", { class: "problem", role: "alert", hidden: true });
    const panels = [["roots", "Roots in the unit circle"], ["locus", "Root locus"], ["region", "Absolute stability"]];
    const drawn = panels.map(([name, title]) => {
      this.rooms[name] = html("div", { class: `room ${name}` });
      this.legends[name] = html("div", { class: "legend" });
      return html("section", { class: name === "locus" ? "panel wide" : "panel", "aria-labelledby": id(name) }, html("h3", { id: id(name) }, title), this.rooms[name], this.legends[name]);
    });
    Object.assign(this.rooms, { words: html("div", { class: "words" }), shares: html("div", { class: "room" }), parts: html("div", { class: "room" }) });
    this.legends.forecast = html("div", { class: "legend" });
    drawn.push(html("section", { class: "panel forecast", "aria-labelledby": id("forecast") }, html("h3", { id: id("forecast") }, "Before training: what every block adds"),
      this.rooms.words, html("div", { class: "bars" }, this.rooms.shares, this.rooms.parts), this.legends.forecast));
    const copies = COPIES.map(([name, title]) => html("button", {
      type: "button", class: "small", "data-copy": name, onclick: () => this.view && copyText(this.view.copy[name], title),
    }, title));
    this.element = html("section", { class: `side ${this.key}`, "aria-label": `Scheme ${this.name}` },
      html("h2", { class: "side-name" }, `Scheme ${this.name}`),
      this.controls.element,
      html("div", { class: "card" }, this.problem, this.rooms.verdict, this.rooms.recursion,
        html("p", { class: "copies" }, html("span", { class: "hint" }, "Copy as "), copies)),
      html("div", { class: "card more" }, this.rooms.facts),
      html("div", { class: "panels" }, drawn));
  }

  #answered(view, since) {
    this.view = view;
    this.problem.hidden = true;
    this.element.classList.remove("stale");
    this.controls.refused(null);
    this.draw();
    this.page.shown(this);
    this.#updateLocus();
    performance.measure("update", { start: since });
  }

  #refused(error) {
    this.problem.textContent = error.message;
    this.problem.hidden = false;
    this.element.classList.add("stale");
    this.controls.refused(error.parameter);
  }

  #value() {
    const { vary, params, alphas, betas } = this.state;
    const at = Number(vary.at(-1));
    const text = vary === "param" ? params[0] : { root: params, alpha: alphas, beta: betas }[vary.slice(0, -1)]?.[at];
    return toFloat(text ?? "");
  }

  #symbol() {
    const { vary, family } = this.state;
    const greek = { alpha: "α", beta: "β", root: "r" }[vary.slice(0, -1)];
    return vary === "param" ? CHOICES[family].symbol : `${greek}${"₀₁₂₃₄₅₆₇"[vary.at(-1)]}`;
  }

  // the locus does not depend on the value that moves: it is asked for when anything else changes
  async #updateLocus() {
    if (this.#byHand) return;
    const { low = -1, high = 1 } = this.controls.range();
    const [from, to] = around(this.#value(), low, high);
    const query = { ...queryOf(this.state), vary: this.state.vary, low: from, high: to, points: LOCUS_POINTS };
    const key = JSON.stringify({ ...query, [this.#moving()]: this.#others() });
    if (key === this.#locusKey) return;
    this.#locusKey = key;
    if (this.#locus?.of !== query.vary + this.state.family) this.#locus = null;
    try {
      const locus = await get("locus", query);
      if (key !== this.#locusKey) return;
      this.#locus = { ...locus, of: query.vary + this.state.family };
      this.draw();
    } catch (error) {
      // without a server the view waits for it, and then asks for the locus again
      if (!(error instanceof Refused) && key === this.#locusKey) this.#locusKey = "";
    }
  }

  #moving() {
    const { vary, family } = this.state;
    return family === FREE ? { alpha: "alphas", beta: "betas" }[vary.slice(0, -1)] : "param";
  }

  #others() {
    const { vary, params, alphas, betas } = this.state;
    const list = vary === "param" ? params : { root: params, alpha: alphas, beta: betas }[vary.slice(0, -1)];
    return list.filter((_, i) => i !== (vary === "param" ? 0 : Number(vary.at(-1))));
  }

  #drawLocus() {
    if (!this.#locus) return;
    const { family } = this.state;
    const drag = (x) => this.controls.move(String(nearest(family, x) || CHOICES[family].step || 0.01));
    drawLocus(this.rooms.locus, this.legends.locus, this.#locus, { value: this.#value(), symbol: this.#symbol(), drag });
  }
}

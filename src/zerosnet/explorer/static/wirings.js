// The view of wirings: what every block keeps, adds and reads, and what becomes of it over depth.

import { Live, persist } from "./api.js";
import { copyText } from "./copy.js";
import { html, math } from "./dom.js";
import { drawBlocks } from "./forecast.js";
import { fold, powers, short } from "./numbers.js";
import { WiringControls } from "./wiringcontrols.js";
import { drawGains, drawLikeness, drawMatrices, drawSteps } from "./wiringplots.js";
import { readWiring, wiringAddress, wiringQuery } from "./wiringstate.js";

// what limits a wiring, in two or three words, and how bad that is
const KINDS = {
  none: ["yes", "✓", "the depth is used"], alike: ["maybe", "≈", "streams become alike"], apart: ["maybe", "≈", "streams run apart"],
  stages: ["maybe", "≈", "stage changes cost depth"], stem: ["maybe", "≈", "the stem dominates"], forgets: ["maybe", "≈", "early blocks are forgotten"],
  grows: ["no", "✗", "the state outgrows the blocks"], fades: ["no", "✗", "late blocks fade"], silent: ["no", "✗", "the blocks are silent"], unread: ["no", "✗", "the head reads little"],
};
// panels: name, title, hint, how to draw, and whether one stream, several or both have it
const PANELS = [
  ["steps", "What blocks keep and add", "y is kept a times, and f added b times.", drawSteps, (streams) => streams === 1],
  ["gains", "Gain without the branches", "Forward, how far a disturbance can grow (largest row sum); backward, a gradient (column sum).", drawGains, () => true],
  ["likeness", "Do streams become alike?", "Second singular value of all mixings so far, relative to the first: at 0 the streams are multiples of one.", drawLikeness, (streams) => streams > 1],
  ["matrices", "The mixing matrices", "Rows are the streams after, columns those before.", drawMatrices, (streams) => streams > 1],
];

export class Wirings {
  #wiring = null;

  // changed() is called when the address has to say something new, drawn() when an answer is on the page
  constructor(room, { changed, drawn }) {
    Object.assign(this, { room, changed, drawn });
    this.live = new Live("wiring", { answered: (wiring, query, since) => this.#answered(wiring, since), refused: (error) => this.#refused(error) });
  }

  async start() {
    const known = await persist("wirings");
    this.state = readWiring(new URLSearchParams(location.search), known);
    this.controls = new WiringControls(this.state, known, () => { this.changed(); this.update(); });
    this.#build();
    this.update();
  }

  get address() {
    return this.state ? wiringAddress(this.state) : null;
  }

  update() {
    if (this.state) this.live.ask(wiringQuery(this.state));
  }

  draw() {
    if (!this.#wiring) return;
    const wiring = this.#wiring;
    const { rooms, legends } = this;
    const [tone, sign, words] = KINDS[wiring.limit.kind];
    rooms.verdict.replaceChildren(
      html("p", { class: `badge ${tone}` }, html("span", { "aria-hidden": "true" }, sign), html("strong", {}, words)),
      html("p", { class: "reason" }, powers(wiring.limit.sentence)));
    rooms.recursion.replaceChildren(...recursion(wiring));
    rooms.facts.replaceChildren(...facts(wiring).map(([name, value]) => html("div", {}, html("dt", {}, name), html("dd", {}, value))));
    drawBlocks(rooms, legends.blocks, { ...wiring, line: wiring.parts.map(() => wiring.heard_from), noted: `from a part of ${short(wiring.heard_from, 2)} a block reaches the head` });
    this.panels.hidden = this.more.hidden = false;
    this.panels.classList.toggle("two", wiring.streams === 1);
    for (const [name, , , drawPanel, wanted] of PANELS) {
      this.sections[name].hidden = !wanted(wiring.streams);
      if (wanted(wiring.streams)) drawPanel(rooms[name], legends[name], wiring);
    }
  }

  #build() {
    this.rooms = {
      verdict: html("div", { class: "verdict", "aria-live": "polite" }), recursion: html("div", { class: "recursion" }), facts: html("dl", { class: "facts" }),
      shares: html("div", { class: "room" }), parts: html("div", { class: "room" }),
    };
    this.legends = { blocks: html("div", { class: "legend" }) };
    this.problem = html("p", { class: "problem", role: "alert", hidden: true });
    this.sections = Object.fromEntries(PANELS.map(([name, title, hint]) => {
      this.rooms[name] = html("div", { class: `room ${name}` });
      this.legends[name] = html("div", { class: "legend" });
      return [name, html("section", { class: "panel", "aria-labelledby": `${name}-title` }, html("h3", { id: `${name}-title` }, title),
        html("p", { class: "hint" }, hint), this.rooms[name], this.legends[name])];
    }));
    this.panels = html("div", { class: "panels" },
      html("section", { class: "panel forecast", "aria-labelledby": "blocks-title" }, html("h3", { id: "blocks-title" }, "At initialisation: what every block adds"),
        html("div", { class: "bars" }, this.rooms.shares, this.rooms.parts), this.legends.blocks),
      Object.values(this.sections));
    this.more = html("div", { class: "card more" }, this.rooms.facts);
    const copy = html("button", { type: "button", class: "small", "data-copy": "wiring", onclick: () => this.#wiring && copyText(this.#wiring.copy.python, "Python") }, "Python");
    this.element = html("section", { class: "side", "aria-label": "Wiring" },
      this.controls.element,
      html("div", { class: "card" }, this.problem, this.rooms.verdict, this.rooms.recursion, html("p", { class: "copies" }, html("span", { class: "hint" }, "Copy as "), copy)),
      this.more,
      this.panels);
    this.room.replaceChildren(this.element);
  }

  #answered(wiring, since) {
    this.#wiring = wiring;
    this.problem.hidden = true;
    this.element.classList.remove("stale");
    this.controls.refused(null);
    this.draw();
    performance.measure("update", { start: since });
    this.drawn();
  }

  #refused(error) {
    this.problem.textContent = error.message;
    this.problem.hidden = false;
    this.element.classList.add("stale");
    this.controls.refused(error.parameter);
    this.panels.hidden = this.more.hidden = this.#wiring === null; // nothing to show beside the error
  }
}

function facts({ shares, effective_depth: depth, blocks_above: above, sources, stem_part: stem, forward, backward, second, alike_after: after, streams }) {
  const blocks = shares.length;
  return [
    ["effective depth", `${depth.toFixed(1)} of ${blocks} blocks`],
    ["blocks with a share ≥ 0.1", `${above} of ${blocks}`],
    ["sources that the head reads", `as if ${sources.toFixed(1)} of ${blocks + 1}`],
    ["the stem's part in them", `${short(100 * stem, 3)} %`],
    ["gain forward", `${fold(forward.at(-1))}-fold`],
    ["gain backward", `${fold(backward[0])}-fold`],
    ["streams", String(streams)],
    ...(second === null ? [] : [["alike after", after === null ? "never" : `${after} of ${blocks} blocks`], ["second singular value", short(second.at(-1), 2)]]),
  ];
}

// the rule of every block as MathML, a piece for each term, so that long ones wrap
function recursion({ form, parameters }) {
  const { keep, add, first, power } = parameters;
  const branch = (of) => [sub("f", "n"), math("mo", "("), ...of, math("mo", ")")];
  const y = sub("y", "n");
  const rules = {
    constant: () => ["y", [keep, [y]], [add, branch([sub("y", "n")])]],
    small: () => ["y", ["1", [y]], [add, branch([sub("y", "n")])]],
    scaled: () => ["y", ["1", [y]], [add, [math("msup", math("mi", "n"), math("mrow", math("mo", "−"), math("mn", power))), ...branch([sub("y", "n")])]]],
    "first-state": () => ["y", [keep, [y]], [first, [sub("y", "0")]], [add, branch([sub("y", "n")])]],
    lists: () => ["y", ["1", [sub("a", "n"), y]], ["1", [sub("b", "n"), ...branch([sub("y", "n")])]]],
  };
  const streams = () => ["X", ["1", [form === "matrix" ? math("mi", "A") : sub("A", "n"), sub("X", "n")]],
    ["1", [sub("b", "n"), ...branch([math("msubsup", math("mi", "c"), math("mi", "n"), math("mi", "T")), sub("X", "n")])]]];
  const [letter, ...terms] = (rules[form] ?? streams)();
  const next = math("msub", math("mi", letter), math("mrow", math("mi", "n"), math("mo", "+"), math("mn", "1")));
  return [math("math", next, math("mo", "=")), ...terms.flatMap(([value, symbols], i) => {
    const negative = value.trim().startsWith("-");
    const size = negative ? value.trim().slice(1) : value.trim();
    const sign = negative ? "− " : i ? "+ " : "";
    return [` ${sign}`, math("math", size === "1" ? null : math("mn", size), symbols)];
  })];
}

const sub = (letter, below) => math("msub", math("mi", letter), math(below === "0" ? "mn" : "mi", below));

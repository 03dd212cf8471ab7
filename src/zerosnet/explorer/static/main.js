// The page: two views, schemes and wirings. What they show is their state, and the address says the same.

import { persist, watch } from "./api.js";
import { copyText } from "./copy.js";
import { byId, html } from "./dom.js";
import { drawEnvelope } from "./envelope.js";
import { drawMap } from "./map.js";
import { short } from "./numbers.js";
import { axisChoice, drawScatter } from "./scatter.js";
import { Side } from "./side.js";
import { addressOf, newSide, readAddress, SECOND } from "./state.js";
import { themeButton } from "./theme.js";
import { Wirings } from "./wirings.js";

const state = readAddress();
const sides = {};
const SHARED = ["envelope", "map", "scatter"];
const legends = Object.fromEntries(SHARED.map((name) => [name, html("div", { class: "legend" })]));
let accuracies = null;
let map = null;
let saving = 0;
const started = new Set();
const wirings = new Wirings(byId("wirings"), { changed: remember, drawn: sayLatency });
let shown = null;

// the addresses of the views, with all that is set in them
const addresses = () => ({ schemes: addressOf(state), wirings: wirings.address ?? `${location.pathname}?view=wirings` });

function remember() {
  clearTimeout(saving); // browsers allow only so many changes of the address a second
  saving = setTimeout(() => {
    try { history.replaceState(null, "", addresses()[shown]); } catch { /* some browsers keep the address of a file */ }
    nameViews();
  }, 150);
}

function nameViews() {
  const known = addresses();
  for (const link of document.querySelectorAll("[data-to]")) {
    link.href = known[link.dataset.to];
    if (link.dataset.to === shown) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

const viewOf = (search) => (new URLSearchParams(search).get("view") === "wirings" ? "wirings" : "schemes");

function show(view) {
  shown = view;
  for (const element of document.querySelectorAll("[data-view]")) element.hidden = element.dataset.view !== view;
  document.querySelector(".skip").setAttribute("href", view === "schemes" ? "#main" : "#wirings");
  document.title = view === "schemes" ? "zerosnet explorer" : "zerosnet explorer: wirings";
  arrange();
  nameViews();
  if (started.has(view)) return;
  started.add(view);
  if (view === "schemes") startSchemes();
  else wirings.start().then(nameViews);
}

function drawShared() {
  const shown = Object.values(sides).filter(({ view }) => view)
    .map(({ key, name, view }) => ({ key, name: state.b ? name : "this scheme", ...view, modulus: view.parasitic_modulus }));
  if (!shown.length) return;
  drawEnvelope(byId("envelope"), legends.envelope, shown);
  if (map) drawMap(byId("map"), legends.map, map, shown);
  if (accuracies) drawScatter(byId("scatter"), legends.scatter, accuracies, shown);
  sayLatency();
}

function sayLatency() {
  const took = performance.getEntriesByName("update").at(-1);
  if (took) byId("latency").textContent = `Last update: ${short(took.duration, 2)} ms.`;
  if (performance.getEntriesByName("update").length > 500) performance.clearMeasures("update");
}

function addSide(key, page) {
  sides[key] = new Side(key, state[key], page);
  byId("schemes").append(sides[key].element);
}

function arrange() {
  document.body.classList.toggle("comparing", Boolean(state.b) && shown === "schemes");
  byId("compare").setAttribute("aria-pressed", String(Boolean(state.b)));
  byId("compare").textContent = state.b ? "Close B" : "Compare two";
}

function redraw() {
  Object.values(sides).forEach((side) => side.draw());
  drawShared();
}

async function startSchemes() {
  byId("blocks").value = state.blocks;
  byId("blocks-value").textContent = state.blocks;
  for (const name of SHARED) byId(name).after(legends[name]);
  byId("scatter").before(axisChoice(drawShared));
  const [families, paper] = await Promise.all([persist("families"), persist("paper")]);
  const page = {
    families: Object.fromEntries(families.map((family) => [family.name, family])),
    paper, blocks: () => state.blocks, changed: remember, shown: drawShared,
  };
  arrange();
  addSide("a", page);
  if (state.b) addSide("b", page);
  byId("compare").addEventListener("click", () => {
    if (state.b) {
      sides.b.element.remove();
      delete sides.b;
      state.b = null;
    } else {
      state.b = newSide(SECOND.family);
    }
    arrange();
    if (state.b) addSide("b", page);
    remember();
    redraw();
  });
  byId("blocks").addEventListener("input", () => {
    state.blocks = Number(byId("blocks").value);
    byId("blocks-value").textContent = state.blocks;
    remember();
    Object.values(sides).forEach((side) => side.update());
  });
  new ResizeObserver(() => byId("main").hidden || requestAnimationFrame(redraw)).observe(byId("main"));
  [accuracies, map] = await Promise.all([persist("accuracies"), persist("map")]);
  drawShared();
}

function start() {
  themeButton(byId("theme"));
  byId("share").addEventListener("click", () => copyText(new URL(addresses()[shown], location.href).href, "link"));
  for (const link of document.querySelectorAll("[data-to]")) {
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return; // a window of its own
      event.preventDefault();
      if (link.dataset.to === shown) return;
      try { history.pushState(null, "", link.href); } catch { /* some browsers keep the address of a file */ }
      show(link.dataset.to);
    });
  }
  addEventListener("popstate", () => { show(viewOf(location.search)); remember(); });
  new ResizeObserver(() => byId("wirings").hidden || requestAnimationFrame(() => wirings.draw())).observe(byId("wirings"));
  watch(() => {
    Object.values(sides).forEach((side) => side.update());
    wirings.update();
  });
  show(viewOf(location.search));
}

start();

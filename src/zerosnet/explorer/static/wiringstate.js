// The wiring on the page, and the address that says so:
//   { form, values, layers, blocks }
// where values are the parameters of the form, as text, and layers is null for a plain stack of so many blocks.

import { offline } from "./offline.js";

export const MOST_BLOCKS = 432;
const LAYERS = 56, BLOCKS = 24;

// forms as the page offers them, by how many streams they have; titles and defaults come from the interface
export const GROUPS = {
  "One stream": ["constant", "scaled", "small", "lists"],
  "Two streams": ["first-state"],
  "Streams, one matrix": ["matrix"],
  "Streams, matrices drawn": ["free", "row-stochastic", "doubly-stochastic"],
};

// numbers with a slider: symbol, what it is, where the slider goes
export const NUMBERS = {
  keep: { symbol: "a", name: "a, what is kept of the state", low: 0, high: 2 },
  first: { symbol: "g", name: "g, what is added of the first state", low: -1, high: 1 },
  add: { symbol: "b", name: "b, what is added of the branch", low: 0, high: 2 },
  power: { symbol: "p", name: "p, the power of n", low: 0, high: 2 },
  streams: { symbol: "m", name: "m, the number of streams", low: 1, high: 8, step: 1 },
  spread: { symbol: "s", name: "s, the spread of the mixing", low: 0, high: 1 },
};
const OF_FORM = { small: { add: { low: 0, high: 0.5, step: 0.005 } } };

export const numberOf = (form, name) => ({ ...NUMBERS[name], ...OF_FORM[form]?.[name] });
const isDrawn = (forms, form) => "seed" in forms[form].defaults;

// another form: numbers of what is drawn go along from one constraint to the next
export function changeForm(state, forms, form) {
  const kept = isDrawn(forms, state.form) && isDrawn(forms, form) ? state.values : {};
  Object.assign(state, { form, values: { ...forms[form].defaults, ...kept } });
}

// the parameters that name a wiring to the server
export function wiringQuery({ form, values, layers, blocks }) {
  return { form, ...values, ...(layers === null ? { blocks } : { layers }) };
}

export function readWiring(search, { forms, layers: known, presets }) {
  const asked = search.get("form");
  const form = asked in forms ? asked : presets[0].query.form;
  const values = { ...forms[form].defaults };
  for (const name of Object.keys(values)) if (search.get(name) !== null) values[name] = search.get(name);
  const number = (name) => Number.parseInt(search.get(name), 10);
  const blocks = number("blocks"), layers = number("layers");
  const stack = blocks >= 1 && blocks <= MOST_BLOCKS && !offline;
  return {
    form, values,
    layers: stack ? null : known.some((one) => one.layers === layers) ? layers : LAYERS,
    blocks: stack ? blocks : BLOCKS,
  };
}

export function wiringAddress(state) {
  const search = new URLSearchParams({ view: "wirings", ...wiringQuery(state) });
  return `${location.pathname}?${search.toString().replaceAll("%2F", "/").replaceAll("%2C", ",").replaceAll("%3B", ";")}`;
}

export const matches = (state, { query }) => Object.entries(query).every(([name, value]) => (name === "form" ? state.form : state.values[name]) === value);

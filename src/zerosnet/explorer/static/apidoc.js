// The interface as a page, made from its own OpenAPI description.

import { byId, html } from "./dom.js";

const EXAMPLES = {
  "/api/analyze": "family=zerosnet&param=-9/5", "/api/envelope": "family=lm&param=3/2&blocks=54",
  "/api/region": "family=adams-bashforth&param=3&nx=41&ny=41", "/api/copy": "family=leapfrog",
  "/api/view": "alphas=1/3,5/9,1/9&betas=16/9", "/api/locus": "family=zerosnet&param=1&low=-3&high=3&points=61",
  "/api/wiring": "form=doubly-stochastic&streams=4&spread=0.3&seed=1",
};

function limits({ schema = {} }) {
  const kinds = schema.anyOf ?? [schema];
  const kind = kinds.find(({ type }) => type !== "null") ?? {};
  const range = kind.minimum === undefined ? "" : ` from ${kind.minimum} to ${kind.maximum}`;
  return `${kind.type ?? ""}${range}${schema.default === undefined || schema.default === null ? "" : `, default ${schema.default}`}`;
}

// `like this` as code
const marked = (text) => text.split("`").map((part, i) => (i % 2 ? html("code", {}, part) : part));

function section(path, { description, parameters = [] }) {
  const link = `${path.slice(1)}${EXAMPLES[path] ? `?${EXAMPLES[path]}` : ""}`;
  return html("section", { class: "panel" }, html("h2", {}, html("code", {}, `GET ${path}`)), html("p", {}, marked(description)),
    html("p", {}, html("a", { href: link }, `/${link}`)),
    parameters.length > 0 && html("table", {}, parameters.map((parameter) => html("tr", {},
      html("th", { scope: "row" }, parameter.name), html("td", {}, limits(parameter)), html("td", {}, parameter.description ?? parameter.schema?.description ?? "")))));
}

const openapi = await (await fetch("api/openapi.json")).json();
byId("about").append(...marked(openapi.info.description));
byId("endpoints").append(...Object.entries(openapi.paths).map(([path, { get }]) => section(path, get)));

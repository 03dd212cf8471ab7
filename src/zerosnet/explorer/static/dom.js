// Elements in one line each. Text is always set as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";
const MATHML = "http://www.w3.org/1998/Math/MathML";

function make(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const html = (name, attributes = {}, ...children) => make(document.createElement(name), attributes, children);
export const svg = (name, attributes = {}, ...children) => make(document.createElementNS(SVG, name), attributes, children);
export const math = (name, ...children) => make(document.createElementNS(MATHML, name), {}, children);
export const byId = (id) => document.getElementById(id);

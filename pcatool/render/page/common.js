// What all parts of the page use. Text from the data is only ever set as text.
const facts = JSON.parse(document.getElementById("facts").textContent);
const find = (id) => document.getElementById(id);

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null) continue;
    node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

const make = (name, attributes = {}, ...children) => filled(document.createElement(name), attributes, children);
const draw = (name, attributes = {}, ...children) =>
  filled(document.createElementNS(document.querySelector("svg").namespaceURI, name), attributes, children);

const minus = (text) => text.replaceAll("-", "\u2212");

function number(value, digits = 4) {
  if (value === null) return "missing";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e7) return minus(value.toExponential(digits - 1).replace(/\.?0*e\+?/, "e"));
  return minus(String(Number(value.toPrecision(digits))));
}

// Near a whole, so many places that what is left over shows.
function percent(share) {
  const left = 100 - 100 * share;
  const places = left > 0 && left < 0.01 ? Math.min(10, Math.ceil(-Math.log10(left)) + 1) : 2;
  return `${(100 * share).toFixed(places)}%`;
}

// A command word by word, so that lines break between words.
const words = (text) => text.split(/( )/).map((word) => (word === " " ? word : make("span", {}, word)));

const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

// Round numbers between two ends, about so many of them.
function ticks(low, high, count) {
  const rough = (high - low) / Math.max(count, 1);
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(i * step);
  return found;
}

// Now, and whenever the width of a place changes.
function whenSized(place, redraw) {
  let width = 0;
  new ResizeObserver(() => {
    if (place.clientWidth < 100 || Math.abs(place.clientWidth - width) < 1) return; // nothing fits into what is hidden
    width = place.clientWidth;
    redraw();
  }).observe(place);
}

const color = (token) => getComputedStyle(document.documentElement).getPropertyValue(`--${token}`).trim();

for (const block of document.querySelectorAll(".needs-script")) block.hidden = false;

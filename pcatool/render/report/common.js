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
function percent(share, usual = 2) {
  if (share > 0 && 100 * share < 0.5 * 10 ** -usual) return `<${(10 ** -usual).toFixed(usual)} %`;
  const left = 100 - 100 * share;
  const places = left > 0 && left < 0.01 ? Math.min(10, Math.ceil(-Math.log10(left)) + 1) : usual;
  return `${(100 * share).toFixed(places)} %`;
}

// A command word by word, so that lines break between words.
const words = (text) => text.split(/( )/).map((word) => (word === " " ? word : make("span", {}, word)));

const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

// Round numbers between two ends, about so many of them, and three at least where steps of `finest` leave them.
function ticks(low, high, count, finest = 0) {
  let rough = (high - low) / Math.max(count, 1);
  if (!(rough > 0)) return [low];
  for (;;) {
    const power = 10 ** Math.floor(Math.log10(rough) + 1e-9);
    const step = Math.max([1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * (1 - 1e-9)), finest);
    const found = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(i * step);
    if (found.length >= 3 || step === finest) return found;
    rough = step / 2.5; // to the next smaller step
  }
}

// The same on a logarithmic scale: powers of ten, or where they are few, 1, 2 and 5 times them, or round numbers.
function powers(low, high, count) {
  const [first, last] = [low, high].map((one) => Math.log10(one));
  const step = Math.max(1, Math.ceil((last - first) / count));
  for (const factors of [[1], [1, 2, 5]]) {
    const found = [];
    for (let power = Math.floor(first); power <= last; power += factors.length > 1 ? 1 : step) {
      found.push(...factors.map((factor) => factor * 10 ** power).filter((one) => one >= low && one <= high));
    }
    if (found.length >= 3) return found;
  }
  return ticks(low, high, count).filter((one) => one > 0);
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

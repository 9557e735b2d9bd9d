// Functions that all scripts of the page share. Text from the data is set as text only, never as HTML.
const facts = JSON.parse(document.getElementById("facts").textContent);
const find = (id) => document.getElementById(id);

// Set attributes of a node and append children; return the node. true gives an attribute without a value; false and null
// give none.
function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null) continue;
    node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

// Return a new HTML element; `draw` returns a new SVG element.
const make = (name, attributes = {}, ...children) => filled(document.createElement(name), attributes, children);
const draw = (name, attributes = {}, ...children) =>
  filled(document.createElementNS(document.querySelector("svg").namespaceURI, name), attributes, children);

// Replace hyphens by minus signs.
const minus = (text) => text.replaceAll("-", "\u2212");

// Return a number with so many significant digits, as text.
function number(value, digits = 4) {
  if (value === null) return "missing";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e7) return minus(value.toExponential(digits - 1).replace(/\.?0*e\+?/, "e"));
  return minus(String(Number(value.toPrecision(digits))));
}

// Return a share in per cent. A share just below 100% gets more decimals, so that the rest can be seen.
function percent(share) {
  const usual = 2;
  if (share > 0 && 100 * share < 0.5 * 10 ** -usual) return `<${(10 ** -usual).toFixed(usual)}%`;
  const left = 100 - 100 * share;
  const places = left > 0 && left < 0.01 ? Math.min(10, Math.ceil(-Math.log10(left)) + 1) : usual;
  return `${(100 * share).toFixed(places)}%`;
}

// Return each word of a command in an element, so that lines break only between words.
const words = (text) => text.split(/( )/).map((word) => (word === " " ? word : make("span", {}, word)));

// Return a count with a comma between groups of three digits.
const grouped = (count) => count.toLocaleString("en");

const plural = (count, noun) => `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;

// Return about `count` round numbers from `low` to `high`: at least three, unless that needs steps below `finest`.
function ticks(low, high, count, finest = 0) {
  let rough = (high - low) / Math.max(count, 1);
  if (!(rough > 0)) return [low];
  for (;;) {
    const power = 10 ** Math.floor(Math.log10(rough) + 1e-9);
    const step = Math.max([1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * (1 - 1e-9)), finest);
    const found = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(i * step);
    if (found.length >= 3 || step === finest) return found;
    // The division leads to the next smaller step.
    rough = step / 2.5;
  }
}

// Like `ticks`, for a logarithmic scale: powers of ten; if these are too few, also 2 and 5 times them; or round numbers.
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

// Call `redraw` now, and whenever the width of the element `place` changes.
function whenSized(place, redraw) {
  let width = 0;
  new ResizeObserver(() => {
    // A hidden element has no width.
    if (place.clientWidth < 100 || Math.abs(place.clientWidth - width) < 1) return;
    width = place.clientWidth;
    redraw();
  }).observe(place);
}

// Return a colour of the style sheet by its name.
const color = (token) => getComputedStyle(document.documentElement).getPropertyValue(`--${token}`).trim();

for (const block of document.querySelectorAll(".needs-script")) block.hidden = false;

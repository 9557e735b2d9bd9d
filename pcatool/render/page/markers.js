// Colours of Okabe and Ito, and shapes, so that what one does not tell apart the other does; past eight they are hollow.
const HUES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#f0e442", "ink"];

function polygon(pen, x, y, size, corners, turn, inner = 1) {
  const count = inner === 1 ? corners : 2 * corners;
  for (let i = 0; i < count; i++) {
    const angle = turn + (2 * Math.PI * i) / count;
    const reach = i % 2 && inner !== 1 ? size * inner : size;
    pen[i ? "lineTo" : "moveTo"](x + reach * Math.sin(angle), y - reach * Math.cos(angle));
  }
  pen.closePath();
}

function cross(pen, x, y, size, turn) {
  const wide = size * 0.38;
  const corners = [[-wide, -size], [wide, -size], [wide, -wide], [size, -wide], [size, wide], [wide, wide], [wide, size], [-wide, size], [-wide, wide], [-size, wide], [-size, -wide], [-wide, -wide]];
  corners.forEach(([a, b], i) =>
    pen[i ? "lineTo" : "moveTo"](x + a * Math.cos(turn) - b * Math.sin(turn), y + a * Math.sin(turn) + b * Math.cos(turn)),
  );
  pen.closePath();
}

const SHAPES = [
  (pen, x, y, s) => pen.arc(x, y, 0.88 * s, 0, 2 * Math.PI),
  (pen, x, y, s) => polygon(pen, x, y, 1.15 * s, 4, Math.PI / 4),
  (pen, x, y, s) => polygon(pen, x, y + 0.15 * s, 1.25 * s, 3, 0),
  (pen, x, y, s) => polygon(pen, x, y, 1.2 * s, 4, 0),
  (pen, x, y, s) => polygon(pen, x, y - 0.15 * s, 1.25 * s, 3, Math.PI),
  (pen, x, y, s) => cross(pen, x, y, 1.1 * s, 0),
  (pen, x, y, s) => cross(pen, x, y, 1.1 * s, Math.PI / 4),
  (pen, x, y, s) => polygon(pen, x, y, 1.35 * s, 5, 0, 0.45),
];

// From dark to light in even steps, blue to yellow, which the colour-blind see much as others do (Nunez 2018).
const SHADES = [[0, 34, 78], [53, 69, 108], [102, 105, 112], [148, 143, 120], [200, 184, 102], [253, 231, 55]];

function shade(part) {
  const at = Math.min(Math.max(part, 0), 1) * (SHADES.length - 1);
  const i = Math.min(Math.floor(at), SHADES.length - 2);
  const mixed = SHADES[i].map((one, c) => Math.round(one + (at - i) * (SHADES[i + 1][c] - one)));
  return `rgb(${mixed.join(" ")})`;
}

// Of a category by its number; -1 is for those that have none of their own.
function markOf(code) {
  if (code < 0) return { hue: color("left"), shape: SHAPES[0], hollow: true };
  const hue = HUES[code % HUES.length];
  return { hue: hue === "ink" ? color("ink") : hue, shape: SHAPES[code % SHAPES.length], hollow: code >= HUES.length };
}

// One marker: filled with a thin edge, or only its outline.
function stamp(pen, x, y, size, { hue, shape, hollow }) {
  pen.beginPath();
  shape(pen, x, y, hollow ? 0.9 * size : size);
  pen.fillStyle = hollow ? color("paper") : hue;
  pen.fill();
  pen.lineWidth = hollow ? Math.max(1.5, 0.35 * size) : 0.6;
  pen.strokeStyle = hollow ? hue : color("edge");
  pen.stroke();
}

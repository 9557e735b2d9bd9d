// Colours and marks of classes, and colours of numbers; the same as in `pcatool plot`.
const { classes: HUES, markers: MARKERS, numbers: SHADES } = facts.palette;

// Add a polygon to the path of the pen; with `inner` below 1, a star.
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

const SHAPES = {
  o: (pen, x, y, s) => pen.arc(x, y, 0.88 * s, 0, 2 * Math.PI),
  s: (pen, x, y, s) => polygon(pen, x, y, 1.15 * s, 4, Math.PI / 4),
  "^": (pen, x, y, s) => polygon(pen, x, y + 0.15 * s, 1.25 * s, 3, 0),
  D: (pen, x, y, s) => polygon(pen, x, y, 1.2 * s, 4, 0),
  v: (pen, x, y, s) => polygon(pen, x, y - 0.15 * s, 1.25 * s, 3, Math.PI),
  P: (pen, x, y, s) => cross(pen, x, y, 1.1 * s, 0),
  X: (pen, x, y, s) => cross(pen, x, y, 1.1 * s, Math.PI / 4),
  "<": (pen, x, y, s) => polygon(pen, x + 0.15 * s, y, 1.25 * s, 3, -Math.PI / 2),
  "*": (pen, x, y, s) => polygon(pen, x, y, 1.35 * s, 5, 0, 0.45),
  ">": (pen, x, y, s) => polygon(pen, x - 0.15 * s, y, 1.25 * s, 3, Math.PI / 2),
};

// Return the colour of a number, given as a part from 0 to 1 of the colour scale.
function shade(part) {
  const at = Math.min(Math.max(part, 0), 1) * (SHADES.length - 1);
  const i = Math.min(Math.floor(at), SHADES.length - 2);
  const light = (hue, c) => parseInt(hue.slice(1 + 2 * c, 3 + 2 * c), 16);
  const mixed = [0, 1, 2].map((c) => Math.round(light(SHADES[i], c) + (at - i) * (light(SHADES[i + 1], c) - light(SHADES[i], c))));
  return `rgb(${mixed.join(" ")})`;
}

// Return the colour and shape of a class by its number; -1 stands for rows without a class, and for classes without a
// colour. Black is replaced, because it cannot be seen on a dark page.
function markOf(code) {
  if (code < 0) return { hue: color("rest"), shape: SHAPES.o };
  return { hue: HUES[code] === "#000000" ? color("ink") : HUES[code], shape: SHAPES[MARKERS[code]] };
}

// Draw one mark with a thin edge.
function stamp(pen, x, y, size, { hue, shape }) {
  pen.beginPath();
  shape(pen, x, y, size);
  pen.fillStyle = hue;
  pen.fill();
  pen.lineWidth = 0.6;
  pen.strokeStyle = color("edge");
  pen.stroke();
}

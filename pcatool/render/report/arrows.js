// Arrows of columns over the scores, as in `pcatool plot biplot`: their common scale, and places for their names that
// overlap nothing else.

// Pixels: side of a cell of the lattice on which names are placed; free space around a name; distance between an arrow
// and its name above which the name gets a leader line.
const CELL = 3;
const CLEARANCE = 4;
const LEADER_FROM = 10;

// Return the factor by which all arrows are multiplied. The longest arrow then reaches 95% of the farthest row along one
// axis, and stays within the rows along the other.
function arrowZoom(ends, farthest) {
  const longest = [0, 1].map((which) => Math.max(...ends.map((end) => Math.abs(end[which]))));
  const fits = [0, 1].filter((which) => longest[which] > 0).map((which) => farthest[which] / longest[which]);
  return fits.length && Math.min(...fits) > 0 ? Number((0.95 * Math.min(...fits)).toPrecision(2)) : 1;
}

// The parts of the drawing that are occupied by marks, lines and names.
class OccupiedArea {
  constructor(left, top, wide, high) {
    Object.assign(this, { left, top, wide, high, across: Math.ceil(wide / CELL), down: Math.ceil(high / CELL) });
    this.taken = new Uint8Array(this.across * this.down);
    this.lines = [];
    this.boxes = [];
  }

  fill(left, top, right, bottom) {
    const from = (one, least) => Math.max(Math.floor((one - least) / CELL), 0);
    const to = (one, least, most) => Math.min(Math.floor((one - least) / CELL), most - 1);
    for (let j = from(top, this.top); j <= to(bottom, this.top, this.down); j++) {
      this.taken.fill(1, j * this.across + from(left, this.left), j * this.across + to(right, this.left, this.across) + 1);
    }
  }

  addLine(from, to) {
    this.lines.push([from, to]);
    const count = Math.ceil(Math.hypot(to[0] - from[0], to[1] - from[1])) + 1;
    for (let i = 0; i <= count; i++) {
      const [x, y] = [0, 1].map((which) => from[which] + (i / count) * (to[which] - from[which]));
      if (x >= this.left && x < this.left + this.wide && y >= this.top && y < this.top + this.high) this.fill(x, y, x, y);
    }
  }

  // Return the number of occupied cells above and left of each corner of the lattice, for counts in any box.
  sums() {
    const wide = this.across + 1;
    const found = new Uint32Array(wide * (this.down + 1));
    for (let j = 0; j < this.down; j++) {
      let row = 0;
      for (let i = 0; i < this.across; i++) {
        row += this.taken[j * this.across + i];
        found[(j + 1) * wide + i + 1] = found[j * wide + i + 1] + row;
      }
    }
    return found;
  }

  // Return the free place of lowest cost for a name of this size at the end of an arrow from the origin; null if there is
  // none. A place costs more if it is far from the arrow's end, lies inward, or has a leader line that crosses other
  // lines. The place found is then occupied.
  place(origin, tip, wide, high) {
    const sums = this.sums();
    const clear = Math.ceil(CLEARANCE / CELL);
    const [across, down] = [Math.ceil(wide / CELL) + 1 + 2 * clear, Math.ceil(high / CELL) + 1 + 2 * clear];
    const [ux, uy] = [tip[0] - origin[0], tip[1] - origin[1]];
    const length = Math.hypot(ux, uy) || 1;
    const found = [];
    for (let j = 0; j + down <= this.down; j += 2) {
      for (let i = 0; i + across <= this.across; i += 2) {
        const [a, b] = [j * (this.across + 1) + i, (j + down) * (this.across + 1) + i];
        if (sums[b + across] - sums[b] - sums[a + across] + sums[a]) continue;
        const [left, top] = [this.left + (i + clear) * CELL, this.top + (j + clear) * CELL];
        const near = [Math.min(Math.max(tip[0], left), left + wide), Math.min(Math.max(tip[1], top), top + high)];
        const far = Math.hypot(near[0] - tip[0], near[1] - tip[1]);
        if (far > 0.45 * Math.max(this.wide, this.high)) continue;
        const [mx, my] = [left + wide / 2 - tip[0], top + high / 2 - tip[1]];
        const along = (mx * ux + my * uy) / length / (Math.hypot(mx, my) || 1);
        found.push({ left, top, near, far, cost: far * (1 + 0.6 * (1 - along)) + 4 * (1 - along) });
      }
    }
    found.sort((one, other) => one.cost - other.cost || one.top - other.top || one.left - other.left);
    let best = null;
    for (let at = 0; at < found.length && (!best || found[at].cost < best.total); at += at < 400 ? 1 : 12) {
      const one = found[at];
      const leader = one.far > LEADER_FROM ? [tip, one.near] : null;
      if (leader && this.boxes.some((box) => meets(leader, box))) continue;
      const crossed = leader ? this.lines.filter((line) => crosses(leader, line)).length : 0;
      const total = one.cost + 50 * crossed;
      if (!best || total < best.total) best = { ...one, leader, total };
    }
    if (!best) return null;
    this.boxes.push([best.left, best.top, best.left + wide, best.top + high]);
    this.fill(...this.boxes.at(-1));
    if (best.leader) this.addLine(...best.leader);
    return best;
  }
}

// Return whether two segments cross.
function crosses([a, b], [c, d]) {
  const side = (p, q, r) => (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]);
  return side(a, b, c) * side(a, b, d) < 0 && side(c, d, a) * side(c, d, b) < 0;
}

// Return whether a segment meets a box, clearance included (Liang and Barsky 1984).
function meets([from, to], [left, top, right, bottom]) {
  let [enters, leaves] = [0, 1];
  for (const [which, low, high] of [[0, left - CLEARANCE, right + CLEARANCE], [1, top - CLEARANCE, bottom + CLEARANCE]]) {
    const step = to[which] - from[which] || 1e-9;
    const both = [(low - from[which]) / step, (high - from[which]) / step];
    [enters, leaves] = [Math.max(enters, Math.min(...both)), Math.min(leaves, Math.max(...both))];
  }
  return enters <= leaves;
}

// Draw arrows into an SVG element; `arrows` are {name, tip} in pixels, the longest first. Return the number of names that
// have a place.
function drawArrows(svg, occupied, origin, arrows, measure) {
  arrows.forEach(({ tip }) => occupied.addLine(origin, tip));
  const high = 15;
  const places = arrows.map(({ name, tip }) => occupied.place(origin, tip, measure(name) + 2, high));
  const heads = arrows.map(({ tip }) => {
    const turn = Math.atan2(tip[1] - origin[1], tip[0] - origin[0]);
    const corner = (by) => [tip[0] - 8 * Math.cos(turn + by), tip[1] - 8 * Math.sin(turn + by)].join(" ");
    return `M${tip.join(" ")}L${corner(0.35)}L${corner(-0.35)}Z`;
  });
  const line = (kind, [from, to]) => draw("line", { class: kind, x1: from[0], y1: from[1], x2: to[0], y2: to[1] });
  svg.replaceChildren(
    ...arrows.map(({ tip }, j) => line(places[j] ? "shaft" : "shaft faint", [origin, tip])),
    ...heads.filter((_, j) => places[j]).map((d) => draw("path", { class: "head", d })),
    ...places.filter((one) => one && one.leader).map((one) => line("leader", one.leader)),
    ...places.flatMap((one, j) => (one ? [draw("text", { x: one.left + 1, y: one.top + 11.5 }, arrows[j].name)] : [])),
  );
  return places.filter(Boolean).length;
}

// The scatter plot of scores: with a choice of axes, details of each row, and a legend of colours.
if (facts.scores && find("scores-canvas")) {
  const { rows, names, shares, scores, more, kept, arrows, color: colored } = facts.scores;
  const canvas = find("scores-canvas");
  const tip = find("scores-tip");
  const place = find("scores-drawing");
  // Most cells of the row that the tip shows; more would fill the window.
  const MAX_CELLS = 10;
  // Classes that the reader has switched off.
  const off = new Set();
  const LETTERS = `12px ${color("text")}`;
  const options = [...names.map((name, j) => (shares.length ? `${name} (${percent(shares[j])})` : name)), "row number"];
  const selects = [find("scores-x"), find("scores-y")];
  const numbers = colored && colored.numbers ? colored.numbers.filter((value) => value !== null) : [];
  const range = numbers.length ? facts.scores.color.ends : null;
  const arrowsButton = find("scores-arrows");
  const area = {};
  // Position of each row in pixels; null for a row that is not drawn.
  let at = [];
  let picked = null;

  selects.forEach((select, which) => {
    select.append(...options.map((name, j) => make("option", { value: j }, name)));
    const axis = facts.scores.axes[which];
    select.value = axis >= 0 ? axis : options.length - 1;
    select.addEventListener("change", () => redraw());
  });
  const marks = (which, count) => (axis(which) < names.length ? ticks(...area.ends[which], count) : ticks(Math.max(area.ends[which][0], 0.5), area.ends[which][1], count, 1));
  const axis = (which) => Number(selects[which].value);
  const value = (row, j) => (j < names.length ? scores[j][row] : rows[row]);
  const narrow = () => place.clientWidth < 560;
  const code = (row) => (colored && colored.codes ? colored.codes[row] : 0);

  // Return the arrows {name, end} for the chosen axes, the longest first; empty if they are switched off or do not exist.
  function arrowsShown() {
    const at = [0, 1].map((which) => (arrows && axis(which) < names.length ? arrows.components[axis(which)] - 1 : -1));
    const there = arrows && facts.loadings && at.every((one) => one >= 0 && one < facts.loadings.loadings[0].length) && at[0] !== at[1];
    arrowsButton.disabled = !there;
    if (!there || arrowsButton.ariaPressed !== "true") return [];
    const found = facts.loadings.loadings.map((row, j) => ({
      name: facts.loadings.short[narrow() ? 1 : 0][j],
      end: [0, 1].map((which) => row[at[which]] * arrows.spreads[axis(which)]),
    }));
    const length = ({ end }) => Math.hypot(...end);
    return found.filter(length).sort((one, other) => length(other) - length(one)).slice(0, 60);
  }

  // Set the limits of both axes; both get the same scale if both show scores.
  function fit() {
    const shown = arrowsShown();
    area.farthest = [0, 1].map((which) => Math.max(0, ...rows.map((_, row) => Math.abs(value(row, axis(which)) || 0))));
    area.zoom = shown.length ? arrowZoom(shown.map(({ end }) => end), area.farthest) : 1;
    area.arrows = shown.map(({ name, end }) => ({ name, end: end.map((one) => one * area.zoom) }));
    area.ends = [0, 1].map((which) => {
      const there = rows.map((_, row) => value(row, axis(which))).filter((one) => one !== null);
      if (shown.length) there.push(0, ...area.arrows.map(({ end }) => end[which]));
      const [low, high] = there.length ? [Math.min(...there), Math.max(...there)] : [0, 1];
      const room = (high - low) * (shown.length ? 0.12 : 0.05) || Math.abs(high) * 0.1 || 1;
      return [low - room, high + room];
    });
    if (axis(0) === names.length || axis(1) === names.length) return;
    const unit = [0, 1].map((which) => (area.ends[which][1] - area.ends[which][0]) / area.size[which]);
    const widest = Math.max(...unit);
    area.ends = area.ends.map(([low, high], which) => {
      const spare = (widest * area.size[which] - (high - low)) / 2;
      return [low - spare, high + spare];
    });
  }

  const x = (one) => area.left + ((one - area.ends[0][0]) / (area.ends[0][1] - area.ends[0][0])) * area.size[0];
  const y = (one) => area.top + (1 - (one - area.ends[1][0]) / (area.ends[1][1] - area.ends[1][0])) * area.size[1];

  // Draw everything. With `same`, only the picked row has changed, so arrows and names stay.
  function redraw(same = false) {
    const width = place.clientWidth;
    const height = Math.round(Math.min(Math.max(width * 0.68, 320), 620));
    const dots = window.devicePixelRatio || 1;
    [canvas.width, canvas.height] = [Math.round(width * dots), Math.round(height * dots)];
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    pen.font = LETTERS;
    // Repeat until the numbers of the left axis have room beside its name: the numbers depend on the room, too.
    for (let left = 60; ; left = area.leftNeeded) {
      Object.assign(area, { left, top: 14, size: [width - left - 14, height - 14 - 46] });
      fit();
      const wide = marks(1, Math.floor(area.size[1] / 60)).map((one) => pen.measureText(number(one, 6)).width);
      area.leftNeeded = Math.ceil(Math.max(...wide)) + 30;
      if (area.leftNeeded <= left) break;
    }
    at = rows.map((_, row) => {
      const [a, b] = [value(row, axis(0)), value(row, axis(1))];
      return a === null || b === null || off.has(code(row)) ? null : [x(a), y(b)];
    });
    pen.setTransform(dots, 0, 0, dots, 0, 0);
    pen.clearRect(0, 0, width, height);
    frame(pen);
    const size = (rows.length > 2000 ? 3 : rows.length > 300 ? 4 : 5.5) * (narrow() ? 0.75 : 1);
    area.radius = size;
    rows.forEach((_, row) => at[row] && dot(pen, row, size));
    if (picked !== null && at[picked]) ring(pen);
    if (!same) over(pen, width, height);
  }

  function over(pen, width, height) {
    const svg = find("scores-over");
    const said = find("scores-arrows-said");
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("height", height);
    svg.replaceChildren();
    if (arrowsButton.disabled) said.textContent = "No arrows for these axes.";
    else said.textContent = "";
    if (!area.arrows.length) return;
    const occupied = new OccupiedArea(area.left, area.top, ...area.size);
    const reach = area.radius * 1.4 + 2;
    for (const point of at) if (point) occupied.fill(point[0] - reach, point[1] - reach, point[0] + reach, point[1] + reach);
    const [right, bottom] = [area.left + area.size[0], area.top + area.size[1]];
    if (x(0) > area.left && x(0) < right) occupied.fill(x(0), area.top, x(0), bottom);
    if (y(0) > area.top && y(0) < bottom) occupied.fill(area.left, y(0), right, y(0));
    pen.font = LETTERS;
    const drawn = area.arrows.map(({ name, end }) => ({ name, tip: [x(end[0]), y(end[1])] }));
    const named = drawArrows(svg, occupied, [x(0), y(0)], drawn, (text) => pen.measureText(text).width);
    const count = facts.loadings.of > drawn.length ? `, the ${drawn.length} longest of ${grouped(facts.loadings.of)}` : "";
    const without = named < drawn.length ? `; ${drawn.length - named} of ${drawn.length} arrows have no name` : "";
    said.textContent = `Arrows: ${arrows.said} x ${number(area.zoom, 2)}${count}${without}.`;
  }

  function frame(pen) {
    const [right, bottom] = [area.left + area.size[0], area.top + area.size[1]];
    pen.font = LETTERS;
    pen.lineWidth = 1;
    const line = (x1, y1, x2, y2, token) => {
      pen.strokeStyle = color(token);
      pen.beginPath();
      pen.moveTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
      pen.lineTo(Math.round(x2) + 0.5, Math.round(y2) + 0.5);
      pen.stroke();
    };
    pen.fillStyle = color("quiet");
    pen.textAlign = "center";
    for (const one of marks(0, Math.floor(area.size[0] / 90))) {
      line(x(one), area.top, x(one), bottom, one === 0 ? "left" : "line");
      pen.fillText(number(one, 6), x(one), bottom + 17);
    }
    pen.textAlign = "right";
    for (const one of marks(1, Math.floor(area.size[1] / 60))) {
      line(area.left, y(one), right, y(one), one === 0 ? "left" : "line");
      pen.fillText(number(one, 6), area.left - 7, y(one) + 4);
    }
    pen.fillStyle = color("ink");
    pen.textAlign = "center";
    pen.fillText(options[axis(0)], area.left + area.size[0] / 2, bottom + 37);
    pen.save();
    pen.translate(14, area.top + area.size[1] / 2);
    pen.rotate(-Math.PI / 2);
    pen.fillText(options[axis(1)], 0, 0);
    pen.restore();
  }

  // Return the colour and shape of a row.
  function look(row) {
    if (!colored) return { hue: color("kept"), shape: SHAPES.o };
    if (!range) return markOf(colored.codes[row]);
    const one = colored.numbers[row];
    return one === null ? markOf(-1) : { hue: shade((one - range[0]) / (range[1] - range[0] || 1)), shape: SHAPES.o };
  }

  function dot(pen, row, size) {
    pen.globalAlpha = colored ? 0.92 : 0.7;
    stamp(pen, ...at[row], size, look(row));
    pen.globalAlpha = 1;
  }

  function ring(pen) {
    dot(pen, picked, area.radius * 1.5);
    pen.beginPath();
    pen.arc(...at[picked], area.radius * 1.5 + 5, 0, 2 * Math.PI);
    pen.lineWidth = 2.5;
    pen.strokeStyle = color("ink");
    pen.stroke();
  }

  // Return the details of a row for the tip: its cells, its scores on both axes, and other results such as its error.
  function known(row) {
    const told = kept.filter(([name]) => colored && name === colored.name);
    const cells = [...told, ...kept.filter((one) => !told.includes(one))].map(([name, column]) => [name, column[row] === null ? "missing" : column[row]]);
    if (cells.length > MAX_CELLS) cells.splice(MAX_CELLS - 1, cells.length, ["and", plural(cells.length - MAX_CELLS + 1, "more column")]);
    const drawn = [...new Set([axis(0), axis(1)])].filter((j) => j < names.length);
    const others = names.map((_, j) => j).filter((j) => !drawn.includes(j)).slice(0, 3);
    return [
      ...cells,
      ...[...drawn, ...others].map((j) => [names[j], number(scores[j][row], 5)]),
      ...Object.entries(more).map(([name, column]) => [name, number(column[row], 5)]),
    ];
  }

  function pick(row, aloud = false) {
    if (row === picked) return;
    picked = row;
    redraw(true);
    tip.hidden = row === null || !at[row];
    if (tip.hidden) return;
    const said = known(row);
    tip.replaceChildren(
      make("strong", {}, `row ${rows[row]}`),
      make("dl", {}, ...said.flatMap(([name, one]) => [make("dt", {}, name), make("dd", {}, one)])),
    );
    const [left, top] = at[row];
    const [width, height] = [tip.offsetWidth, tip.offsetHeight];
    const beside = left + 16 + width < place.clientWidth ? left + 16 : Math.max(left - 16 - width, 0);
    tip.style.transform = `translate(${beside}px, ${Math.min(Math.max(top - height / 2, 4), Math.max(canvas.clientHeight - height - 4, 4))}px)`;
    if (aloud) find("scores-picked").textContent = `Row ${rows[row]}: ${said.map((pair) => pair.join(" ")).join(", ")}`;
  }

  // Return the row nearest to the pointer; null if none is near.
  function nearest(event) {
    const box = canvas.getBoundingClientRect();
    const [a, b] = [event.clientX - box.left, event.clientY - box.top];
    let [best, least] = [null, event.pointerType === "touch" ? 32 ** 2 : 20 ** 2];
    at.forEach((point, row) => {
      const far = point ? (point[0] - a) ** 2 + (point[1] - b) ** 2 : Infinity;
      if (far < least) [best, least] = [row, far];
    });
    return best;
  }

  canvas.addEventListener("pointermove", (event) => pick(nearest(event)));
  canvas.addEventListener("pointerdown", (event) => pick(nearest(event)));
  canvas.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && pick(null));
  canvas.addEventListener("blur", () => pick(null));
  canvas.addEventListener("keydown", (event) => {
    const moves = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowUp: [1, 1], ArrowDown: [1, -1], Home: [0, "first"], End: [0, "last"] };
    if (event.key === "Escape") return pick(null);
    if (!(event.key in moves)) return;
    event.preventDefault();
    const [which, by] = moves[event.key];
    const order = [...rows.keys()].filter((row) => at[row]);
    order.sort((a, b) => (which ? at[b][1] - at[a][1] : at[a][0] - at[b][0]) || a - b);
    const here = order.indexOf(picked);
    const next = by === "last" || (here < 0 && by === -1) ? order.length - 1 : by === "first" || here < 0 ? 0 : Math.min(Math.max(here + by, 0), order.length - 1);
    if (order.length) pick(order[next], true);
  });

  function entry(label, category) {
    const dots = window.devicePixelRatio || 1;
    const sign = make("canvas", { width: 18 * dots, height: 18 * dots, "aria-hidden": "true" });
    const pen = sign.getContext("2d");
    pen.scale(dots, dots);
    stamp(pen, 9, 9, 6, markOf(category));
    const button = make("button", { type: "button", "aria-pressed": "true" }, sign, label);
    button.addEventListener("click", () => {
      off[off.has(category) ? "delete" : "add"](category);
      button.setAttribute("aria-pressed", String(!off.has(category)));
      pick(null);
      redraw();
    });
    return make("li", {}, button);
  }

  function legend() {
    if (!colored) return;
    const parts = [make("h3", {}, `Colour: ${colored.name}`)];
    if (range) {
      const beyond = [numbers.some((one) => one < range[0]) ? "\u2264 " : "", numbers.some((one) => one > range[1]) ? "\u2265 " : ""];
      const bar = make("canvas", { class: "shades", width: 256, height: 1, "aria-hidden": "true" });
      const pen = bar.getContext("2d");
      for (let i = 0; i < 256; i++) {
        pen.fillStyle = shade(i / 255);
        pen.fillRect(i, 0, 1, 1);
      }
      parts.push(bar, make("div", { class: "ends" }, make("span", {}, beyond[0] + number(range[0], 6)), make("span", {}, beyond[1] + number(range[1], 6))));
    } else if (colored.labels) {
      const list = colored.labels.map((label, j) => entry(label, j));
      const rest = [colored.others && `${colored.others} other classes`, colored.codes.includes(-1) && !colored.others && "missing"].filter(Boolean);
      list.push(...rest.map((label) => entry(label, -1)));
      parts.push(make("ul", {}, ...list));
    }
    find("scores-legend").replaceChildren(...parts);
  }

  function paint() {
    legend();
    redraw();
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    off.clear();
    paint();
  });
  arrowsButton.addEventListener("click", () => {
    arrowsButton.ariaPressed = String(arrowsButton.ariaPressed !== "true");
    pick(null);
    redraw();
  });
  arrowsButton.hidden = find("scores-arrows-said").hidden = !arrows || !facts.loadings;
  legend();
  whenSized(place, () => redraw());
}

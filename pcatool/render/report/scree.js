// The scree chart: bars of eigenvalues, their cumulative share, and a threshold that can be dragged.
if (find("scree-drawing")) {
  const { eigenvalues, lost, total, slack, known, kept, again, what } = facts.scree;
  const m = eigenvalues.length;
  const place = find("scree-drawing");
  const leading = m <= 80 ? m : Math.min(m, Math.max(60, kept + 10, (smallest(0.95) || m) + 10));
  const svg = place.querySelector("svg");
  const handle = draw("g", { class: "handle", tabindex: 0, role: "slider", "aria-label": `Share of the ${what} to keep`, "aria-orientation": "vertical", "aria-valuemin": 1, "aria-valuemax": 100 });
  let share = 1 - lost[kept - 1];
  let area = {};

  // Return the smallest number of components that keeps a share; null if the eigenvalues in the page do not reach it.
  function smallest(wanted) {
    const at = lost.findIndex((left) => left <= 1 - wanted + slack);
    return at < 0 ? null : at + 1;
  }

  const chosen = (name) => document.querySelector(`input[name=${name}]:checked`).value;
  const y = (part) => area.bottom - part * (area.bottom - area.top);
  const x = (component) => area.left + ((component - 0.5) * (area.right - area.left)) / area.count;

  function measure() {
    const width = place.clientWidth;
    const height = width < 560 ? 300 : 380;
    area = { left: width < 560 ? 50 : 64, right: width - 60, top: 24, bottom: height - 44, count: chosen("range") === "all" ? m : leading };
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("height", height);
  }

  // Return the vertical scale: a function from an eigenvalue to its height from 0 to 1, and the ticks.
  function scaled() {
    const highest = Math.max(...eigenvalues);
    if (chosen("scale") === "linear") {
      return { part: (value) => value / highest, marks: ticks(0, highest, 5).map((value) => [value, value / highest]) };
    }
    const positive = eigenvalues.slice(0, area.count).filter((value) => value > highest * 1e-17);
    const low = Math.floor(Math.log10(Math.min(...positive)) - 0.05);
    const high = Math.log10(highest) + 0.04;
    const part = (value) => (value > 0 ? Math.max((Math.log10(value) - low) / (high - low), 0) : 0);
    return { part, marks: powers(10 ** low, 10 ** high, 6).map((value) => [value, part(value)]) };
  }

  // Return the outline of the bars `from` to `to` as one path.
  function steps(from, to, part) {
    const half = (area.right - area.left) / area.count / 2;
    let path = `M${x(from) - half} ${area.bottom}`;
    for (let j = from; j <= to; j++) path += `L${x(j) - half} ${y(part(eigenvalues[j - 1]))}h${2 * half}`;
    return `${path}V${area.bottom}Z`;
  }

  function redraw() {
    const focused = document.activeElement === handle;
    measure();
    const { part, marks } = scaled();
    const numbers = marks.map(([value]) => draw("text", { "text-anchor": "end" }, number(value, 3)));
    svg.replaceChildren(...numbers);
    area.left = Math.max(area.left, 12 + Math.max(...numbers.map((text) => text.getComputedTextLength())));
    marks.forEach(([, at], j) => {
      svg.insertBefore(draw("line", { class: "grid", x1: area.left, x2: area.right, y1: y(at), y2: y(at) }), numbers[j]);
      filled(numbers[j], { x: area.left - 8, y: y(at) + 4 }, []);
    });
    for (const at of [0, 0.25, 0.5, 0.75, 1]) {
      svg.append(draw("text", { x: area.right + 18, y: y(at) + 4 }, `${100 * at}%`));
    }
    const room = Math.max(3, Math.floor((area.right - area.left) / 70));
    for (const at of new Set([1, ...ticks(1, area.count, room, 1)])) {
      svg.append(draw("text", { x: x(at), y: area.bottom + 18, "text-anchor": "middle" }, String(at)));
    }
    svg.append(draw("text", { x: (area.left + area.right) / 2, y: area.bottom + 37, "text-anchor": "middle" }, "component"));
    const bars = draw("g", { id: "scree-bars" });
    area.bars = [];
    if (area.count <= 80) {
      const band = (area.right - area.left) / area.count;
      const width = Math.min(band * 0.78, 56);
      for (let j = 1; j <= area.count; j++) {
        const top = y(part(eigenvalues[j - 1]));
        const bar = draw("rect", { x: x(j) - width / 2, y: top, width, height: Math.max(area.bottom - top, eigenvalues[j - 1] > 0 ? 1 : 0) });
        bar.append(draw("title", {}, `PC${j}: ${number(eigenvalues[j - 1], 6)}`));
        area.bars.push(bar);
      }
    }
    area.part = part;
    bars.append(...area.bars);
    const sums = lost.slice(0, area.count).map((left, j) => [x(j + 1), y(1 - left)]);
    svg.append(bars, draw("path", { class: "sum", d: "M" + sums.map((point) => point.join(" ")).join("L") }));
    if (area.count <= 40) svg.append(...sums.map(([cx, cy]) => draw("circle", { class: "dot", cx, cy, r: 3.5 })));
    svg.append(draw("g", { id: "scree-mark" }), handle);
    if (focused) handle.focus({ preventScroll: true });
    update();
  }

  function update() {
    const k = smallest(share);
    const marked = k === null ? m : k;
    const edge = area.left + (Math.min(marked, area.count) * (area.right - area.left)) / area.count;
    area.bars.forEach((bar, j) => bar.setAttribute("class", j < marked ? "kept" : "left"));
    if (!area.bars.length) {
      const cut = Math.min(marked, area.count);
      const paths = [draw("path", { class: "kept", d: steps(1, cut, area.part) })];
      if (cut < area.count) paths.push(draw("path", { class: "left", d: steps(cut + 1, area.count, area.part) }));
      find("scree-bars").replaceChildren(...paths);
    }
    const at = y(share);
    const label = k === null ? "not reached" : `k = ${k}`;
    const wide = 16 + 7.2 * label.length;
    const middle = Math.min(Math.max(edge, area.left + wide / 2), area.right - 16 - wide / 2);
    find("scree-mark").replaceChildren(
      draw("line", { class: "threshold", x1: area.left, x2: area.right, y1: at, y2: at }),
      draw("line", { class: "threshold", x1: edge, x2: edge, y1: area.top, y2: area.bottom }),
      draw("rect", { class: "flag", x: middle - wide / 2, y: area.top - 22, width: wide, height: 20, rx: 4 }),
      draw("text", { class: "on-flag", x: middle, y: area.top - 8, "text-anchor": "middle" }, label),
    );
    handle.replaceChildren(
      draw("rect", { class: "near", x: area.left, y: at - 10, width: area.right - area.left, height: 20 }),
      draw("circle", { class: "near", cx: area.right, cy: at, r: 24 }),
      draw("circle", { class: "knob", cx: area.right, cy: at, r: 11 }),
      draw("path", { class: "grip", d: `M${area.right - 4} ${at - 2}h8M${area.right - 4} ${at + 2.5}h8` }),
    );
    tell(k);
  }

  // Write the sentence on the chosen share, and the command that keeps so many components.
  function tell(k) {
    const said = find("scree-said");
    const needs = k === null ? `more than the ${grouped(known)} eigenvalues that are known` : plural(k, "component");
    handle.setAttribute("aria-valuenow", (100 * share).toFixed(1));
    handle.setAttribute("aria-valuetext", `${percent(share)} needs ${needs}`);
    const strong = make("strong", {}, `${percent(share)} needs ${k === null && m < known ? `more than the ${grouped(m)} eigenvalues shown` : needs}`);
    if (k === null) {
      said.replaceChildren(strong, `, which keep ${percent(1 - lost[m - 1])}. A fit with a larger -k may reach ${percent(share)}.`);
    } else {
      const rest = lost[k - 1];
      said.replaceChildren(
        strong,
        `. ${k === 1 ? "It captures" : "They capture"} ${percent(1 - rest)} of the ${what} (${number((1 - rest) * total, 6)} of ${number(total, 6)}) and ${k === 1 ? "loses" : "lose"} ${percent(rest)} (${number(rest * total, 6)}). The model keeps ${k === kept ? "this number of components" : plural(kept, "component")}.`,
      );
    }
    find("scree-k").textContent = k === null ? "…" : `${k}`;
    find("scree-fewer").disabled = k === 1;
    find("scree-more").disabled = k === null || k >= m;
    find("scree-command").hidden = k === null || !again;
    if (again) find("scree-command").querySelector("code").replaceChildren(...words(again.join(String(k))));
  }

  function set(wanted) {
    share = Math.min(Math.max(wanted, 0.01), 1);
    update();
  }

  function step(by) {
    const k = (smallest(share) || m) + by;
    if (k >= 1 && k <= m) set(1 - lost[k - 1]);
  }

  handle.addEventListener("keydown", (event) => {
    const steps = event.shiftKey ? 1000 : 100;
    const moves = { ArrowUp: steps, ArrowRight: steps, ArrowDown: -steps, ArrowLeft: -steps, PageUp: 20, PageDown: -20, Home: -1, End: 1 };
    const to = moves[event.key];
    if (!to) return;
    event.preventDefault();
    // Move to the next round number.
    const at = share * Math.abs(to);
    set(to > 0 ? Math.floor(at + 1 + 1e-6) / to : Math.ceil(at - 1 - 1e-6) / -to);
  });
  handle.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    handle.setPointerCapture(event.pointerId);
    handle.focus({ preventScroll: true });
    event.preventDefault();
  });
  handle.addEventListener("pointermove", (event) => {
    if (!handle.hasPointerCapture(event.pointerId)) return;
    const box = svg.getBoundingClientRect();
    set(Math.round((1000 * (area.bottom - (event.clientY - box.top))) / (area.bottom - area.top)) / 1000);
  });
  find("scree-fewer").addEventListener("click", () => step(-1));
  find("scree-more").addEventListener("click", () => step(1));
  for (const input of document.querySelectorAll("input[name=scale], input[name=range]")) input.addEventListener("change", redraw);
  find("scree-range").hidden = leading >= m;
  find("scree-leading").textContent = `the first ${leading}`;
  find("scree-all").textContent = `all ${m}`;
  whenSized(place, redraw);
}

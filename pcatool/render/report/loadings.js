// The table of loadings, or of values computed from them. It can be sorted, searched and paged through.
if (facts.loadings && find("loadings-table")) {
  const { columns, places, loadings, eigenvalues, spread, values, said, of, lacks, shares } = facts.loadings;
  const k = loadings[0].length;
  const perPage = () => (find("loadings-table").clientWidth < 560 ? 3 : 6);
  const state = { value: values[0], first: 0, sort: 0, down: true, filter: "" };
  const makes = {
    loadings: (row, pc) => loadings[row][pc],
    contributions: (row, pc) => 100 * loadings[row][pc] ** 2,
    correlations: (row, pc) =>
      spread[row] > 0 ? Math.min(Math.max((loadings[row][pc] * Math.sqrt(eigenvalues[pc])) / spread[row], -1), 1) : 0,
    cos2: (row, pc) => makes.correlations(row, pc) ** 2,
  };
  const signed = () => state.value === "loadings" || state.value === "correlations";

  // Return the indices of the columns whose name contains the search text, in the order of the table.
  function rows() {
    const wanted = state.filter.trim().toLowerCase();
    const found = [...columns.keys()].filter((row) => columns[row].toLowerCase().includes(wanted));
    const by = document.querySelector("input[name=order]:checked").value === "size" ? Math.abs : (value) => value;
    const turn = state.down ? -1 : 1;
    if (state.sort === "column") {
      return found.sort((a, b) => -turn * columns[a].localeCompare(columns[b], "en", { numeric: true }));
    }
    const key = found.map((row) => [by(makes[state.value](row, state.sort)), row]);
    return key.sort((a, b) => turn * (a[0] - b[0]) || a[1] - b[1]).map((pair) => pair[1]);
  }

  function head(name, note, key) {
    const button = make("button", { type: "button" }, name, note ? " " : "", note ? make("small", {}, note) : "");
    button.addEventListener("click", () => {
      state.down = state.sort === key ? !state.down : true;
      state.sort = key;
      show();
      find("loadings-table").querySelector(`th[data-key="${key}"] button`).focus({ preventScroll: true });
    });
    const sorted = state.sort !== key ? "none" : (key === "column") !== state.down ? "descending" : "ascending";
    return make("th", { scope: "col", "aria-sort": sorted, "data-key": key }, button);
  }

  // Return a number with so many decimals; no minus sign if all digits are zero.
  const shortened = (value, digits) => minus(Number(value.toFixed(digits)) === 0 ? (0).toFixed(digits) : value.toFixed(digits));

  function cell(row, pc, most) {
    const value = makes[state.value](row, pc);
    const part = most > 0 ? Math.abs(value) / most : 0;
    const fill = make("i", { class: value < 0 ? "down" : "up" });
    const half = signed() ? 50 : 100;
    fill.style.width = `${half * part}%`;
    fill.style.left = signed() ? `${value < 0 ? 50 - 50 * part : 50}%` : "0";
    const digits = state.value === "contributions" ? 2 : most < 0.1 ? 5 : 3;
    const bar = make("span", { class: signed() ? "bar two" : "bar", "aria-hidden": "true" }, fill);
    return make("td", { class: "cell" }, make("span", {}, shortened(value, digits)), bar);
  }

  function show() {
    const pcs = Array.from({ length: Math.min(perPage(), k - state.first) }, (_, j) => state.first + j);
    const most = Math.max(...pcs.map((pc) => Math.max(...[...columns.keys()].map((row) => Math.abs(makes[state.value](row, pc))))));
    const found = rows();
    const top = make("tr", {}, head("column", "", "column"), ...pcs.map((pc) => head(`PC${pc + 1}`, shares[pc], pc)));
    const body = found.map((row) =>
      make("tr", {}, make("th", { scope: "row", title: `column ${places[row]} of ${grouped(of)}` }, columns[row]), ...pcs.map((pc) => cell(row, pc, most))),
    );
    if (!found.length) body.push(make("tr", {}, make("td", { colspan: pcs.length + 1 }, "No column name contains this text.")));
    const caption = `${said[state.value][0].toUpperCase()}${said[state.value].slice(1)}`;
    const table = make("table", {}, make("caption", {}, caption), make("thead", {}, top), make("tbody", {}, ...body));
    find("loadings-table").replaceChildren(table);
    const some = columns.length < of ? ` with the largest loadings, of ${grouped(of)} columns` : "";
    const counted = found.length < columns.length ? `${grouped(found.length)} of ${plural(columns.length, "column")}` : plural(columns.length, "column");
    find("loadings-said").textContent = `${counted}${some}. ${lacks ? `No correlations: ${lacks}.` : ""}`;
    find("loadings-shown").textContent = pcs.length === 1 ? `PC${pcs[0] + 1} of ${k}` : `${pcs[0] + 1}–${pcs.at(-1) + 1} of ${k}`;
    find("loadings-back").disabled = state.first === 0;
    find("loadings-on").disabled = state.first + pcs.length >= k;
  }

  function page(by) {
    state.first = Math.min(Math.max(state.first + by * perPage(), 0), k - 1);
    state.first -= state.first % perPage();
    if (state.sort !== "column") [state.sort, state.down] = [state.first, true];
    show();
  }

  values.forEach((name) => {
    const input = make("input", { type: "radio", name: "values", value: name, checked: name === state.value });
    input.addEventListener("change", () => {
      state.value = name;
      show();
    });
    find("loadings-values").append(make("label", {}, input, make("span", {}, name)));
  });
  find("loadings-back").addEventListener("click", () => page(-1));
  find("loadings-on").addEventListener("click", () => page(1));
  find("loadings-pages").hidden = k === 1;
  find("loadings-filter").addEventListener("input", (event) => {
    state.filter = event.target.value;
    show();
  });
  for (const input of document.querySelectorAll("input[name=order]")) input.addEventListener("change", show);
  let width = 0;
  new ResizeObserver(() => {
    if (width !== perPage()) {
      width = perPage();
      state.first -= state.first % width;
      if (state.sort !== "column") [state.sort, state.down] = [state.first, true];
      show();
    }
  }).observe(find("loadings-table"));
}

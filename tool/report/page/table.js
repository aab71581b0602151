// A table of many rows: sorted by a press on a heading, filtered by text, drawn a few hundred rows at a time.
const ROWS_AT_A_TIME = 200;

// By the kind of a column: how a value is shown, and the class of its cell.
const CELLS = {
  text: { node: (value) => value, style: (value) => (value.length > 40 ? "long" : "short") },
  code: { node: (value) => value, style: () => "code" },
  command: { node: (value) => element("code", {}, value), style: () => "command" },
  number: { node: (value) => String(+value.toPrecision(6)), style: () => "number" },
  ns: { node: (value) => inNanoseconds(value), style: () => "number" },
  ratio: { node: (value) => value.toFixed(4), style: () => "number" },
  verdict: { node: (value) => element("span", { class: `badge ${value.replace(/\W/g, "")}` }, value), style: () => "" },
};

function compareValues(a, b) {
  if (a === null || b === null) return (a === null) - (b === null); // nothing comes last
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

function tableCell(value, kind) {
  if (value === null) return element("td", { class: "count" }, "–");
  const numeric = ["number", "ns", "ratio"].includes(kind);
  const cell = CELLS[numeric && typeof value !== "number" ? "text" : kind];
  return element("td", { class: cell.style(value) || null }, cell.node(value));
}

function matching(rows, needle) {
  return rows.filter((row) => row.some((value) => String(value ?? "").toLowerCase().includes(needle)));
}

function sorted(rows, at, descending) {
  const sign = (a, b) => (descending && a !== null && b !== null ? -1 : 1);
  return at < 0 ? rows : [...rows].sort((a, b) => sign(a[at], b[at]) * compareValues(a[at], b[at]));
}

// Headings that call `onSort(column, descending)`; the pressed one says which way it sorts.
function sortHeadings(columns, onSort) {
  const headings = columns.map(({ title }, index) => {
    const button = element("button", { type: "button" }, title);
    const heading = element("th", { scope: "col" }, button);
    button.addEventListener("click", () => {
      const descending = heading.getAttribute("aria-sort") === "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
      onSort(index, descending);
    });
    return heading;
  });
  return headings;
}

function drawTable(place, { columns, rows }, label) {
  const state = { needle: "", column: -1, descending: false, limit: ROWS_AT_A_TIME };
  const body = element("tbody");
  const count = element("p", { class: "count", role: "status" });
  const more = element("button", { class: "more", type: "button" });

  function draw(change) {
    Object.assign(state, { limit: ROWS_AT_A_TIME }, change);
    const shown = sorted(matching(rows, state.needle), state.column, state.descending);
    body.replaceChildren(...shown.slice(0, state.limit).map(
      (row) => element("tr", {}, ...row.map((value, index) => tableCell(value, columns[index].kind)))));
    count.textContent = `${shown.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
    const left = shown.length - state.limit;
    more.hidden = left <= 0;
    more.textContent = `Show ${Math.min(left, ROWS_AT_A_TIME)} more`;
  }

  more.addEventListener("click", () => draw({ limit: state.limit + ROWS_AT_A_TIME }));
  const headings = sortHeadings(columns, (column, descending) => draw({ column, descending }));
  const filter = element("div", { class: "controls" }, textFilter("Filter rows", (needle) => draw({ needle })));
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...headings)), body);
  const scroll = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, table);
  place.append(...(rows.length > 10 ? [filter, scroll, count] : [scroll]), more);
  draw({});
}

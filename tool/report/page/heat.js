// Operators by situation. Each cell says its verdict in words too, so that no colour has to be told apart.
const MEANINGS = [
  ["fast", "the redispatch fast path"],
  ["full", "full dispatch, for the reason below it"],
  ["view", "works on metadata, never boxed"],
  ["composite", "made of other operators"],
  ["fallback", "the boxed fallback"],
  ["error", "the call threw"],
  ["n/a", "the situation makes no sense"],
  ["unknown", "no arguments are known"],
];

function verdictClass(verdict) {
  const known = MEANINGS.some(([name]) => name === verdict);
  return known ? `v-${verdict.replace("/", "")}` : "v-other";
}

function verdictCell([verdict, reason], situation) {
  const short = reason.replace(/^FP-/, "");
  const title = `${situation}: ${verdict} ${reason}`;
  const cell = element("td", { class: verdictClass(verdict), title }, verdict || "–");
  if (short) cell.append(element("small", {}, short));
  return cell;
}

function groupTitle(ops, total) {
  const count = ops.length === total ? `${total}` : `${ops.length} of ${total}`;
  return ops.length === 1 && total === 1 ? ops[0] : `${count}: ${ops[0]}${ops.length > 1 ? ", …" : ""}`;
}

function groupRows({ ops, total, cells }, situations) {
  const names = element("tr", { class: "names", hidden: "" },
    element("td", { colspan: situations.length + 1 }, element("div", { class: "code" }, ops.join(", "))));
  const button = element("button", { type: "button", "aria-expanded": "false" }, groupTitle(ops, total));
  button.addEventListener("click", () => {
    names.hidden = !names.hidden;
    button.setAttribute("aria-expanded", String(!names.hidden));
  });
  const shown = cells.map((cell, at) => verdictCell(cell, situations[at]));
  return [element("tr", {}, element("th", { scope: "row" }, button), ...shown), names];
}

function drawHeat(place, { situations, groups }, label) {
  const state = { needle: "", situation: "any", verdict: "any" };
  const body = element("tbody");
  const count = element("p", { class: "count", role: "status" });

  const isWanted = (op) => op.toLowerCase().includes(state.needle);

  function hasVerdict(cells) {
    return state.verdict === "any" || cells.some(([verdict], at) =>
      verdict === state.verdict && (state.situation === "any" || situations[at] === state.situation));
  }

  function draw() {
    const shown = groups.filter(([, cells]) => hasVerdict(cells))
      .map(([ops, cells]) => ({ ops: ops.filter(isWanted), total: ops.length, cells }))
      .filter(({ ops }) => ops.length !== 0);
    body.replaceChildren(...shown.flatMap((group) => groupRows(group, situations)));
    const operators = shown.reduce((sum, { ops }) => sum + ops.length, 0);
    count.textContent = `${operators.toLocaleString("en")} operators in ${shown.length} lines`;
  }

  const update = (name) => (value) => {
    state[name] = value;
    draw();
  };
  const present = distinct(groups.flatMap(([, cells]) => cells.map(([verdict]) => verdict)));
  const any = (names) => [["any", "any"], ...names.map((name) => [name, name])];
  const legend = MEANINGS.filter(([name]) => present.includes(name)).map(([name, meaning]) =>
    element("li", {}, element("b", { class: verdictClass(name) }, name), meaning));
  const head = element("tr", {}, ...["operators", ...situations].map((name) => element("th", { scope: "col" }, name)));
  place.append(
    element("ul", { class: "legend", "aria-label": "Legend" }, ...legend),
    element("div", { class: "controls" }, textFilter("Operator contains", update("needle")),
      choice("Verdict", any(present.filter(Boolean)), update("verdict")),
      choice("in situation", any(situations), update("situation"))),
    count,
    element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
      element("table", { class: "heat" }, element("thead", {}, head), body)));
  draw();
}

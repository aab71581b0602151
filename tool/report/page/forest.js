// Paired ratios, one line each, sorted: with names while they fit, else a curve of all to be narrowed by the filter.
const NAMED_AT_MOST = 60;
const VERDICTS = [
  ["FASTER", "faster", "triangle-left"],
  ["SLOWER", "slower", "triangle-right"],
  ["SAME", "same", "circle"],
  ["INCONCLUSIVE", "inconclusive", "circle-open"],
  ["", "muted", "x-thin-open"],
];

function forestTrace([verdict, colorName, symbol], rows) {
  const chosen = rows.map((row, place) => [row, place]).filter(([row]) => (verdictOf(row) === verdict));
  const x = chosen.map(([row]) => row[1]);
  const tint = color(colorName);
  return {
    type: "scatter", mode: "markers", name: `${verdict || "no verdict"} (${chosen.length})`, x,
    y: chosen.map(([, place]) => place),
    marker: { color: tint, symbol, size: rows.length > NAMED_AT_MOST ? 5 : 10, line: { color: tint, width: 1.5 } },
    error_x: {
      type: "data", symmetric: false, color: tint, thickness: rows.length > NAMED_AT_MOST ? 0.75 : 1.5, width: 0,
      array: chosen.map(([row]) => (row[3] ?? row[1]) - row[1]),
      arrayminus: chosen.map(([row]) => row[1] - (row[2] ?? row[1])),
    },
    customdata: chosen.map(([row]) => [axisLabel(row[0]), row[2]?.toFixed(4) ?? "?", row[3]?.toFixed(4) ?? "?"]),
    hovertemplate: "%{customdata[0]}<br>%{x:.4f} [%{customdata[1]}, %{customdata[2]}]<extra></extra>",
  };
}

function verdictOf(row) {
  return VERDICTS.some(([name]) => name === row[4]) ? row[4] : "";
}

function forestShapes(floor, same) {
  const line = (x, dash, name) => ({
    type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1, layer: "below",
    line: { color: color(name), width: 1.5, dash },
  });
  const band = {
    type: "rect", x0: 1 - same, x1: 1 + same, yref: "paper", y0: 0, y1: 1, layer: "below", line: { width: 0 },
    fillcolor: color("band"),
  };
  const noise = floor === null ? [] : [line(1 - Math.min(floor, 0.99), "dot", "text"), line(1 + floor, "dot", "text")];
  return [band, line(1, "solid", "muted"), ...noise];
}

function forestLayout(rows, name, { floor, same }) {
  const layout = baseLayout();
  const named = rows.length <= NAMED_AT_MOST;
  const reach = [1 - same * 2, 1 + same * 2, 1 - (floor ?? 0) * 1.2, 1 + (floor ?? 0) * 1.2];
  const ends = [...reach, ...rows.flatMap((row) => [row[1], row[2] ?? row[1], row[3] ?? row[1]])].filter((x) => x > 0);
  const [low, high] = [Math.min(...ends) / 1.005, Math.max(...ends) * 1.005];
  const ticks = ratioTicks(low, high);
  layout.shapes = forestShapes(floor, same);
  Object.assign(layout.xaxis, {
    type: "log", range: [Math.log10(low), Math.log10(high)], tickmode: "array", tickvals: ticks,
    ticktext: ticks.map(String), title: { text: `time of ${name} (left of 1: faster)` }, side: "top",
  });
  layout.legend = { orientation: "h", x: 0, y: 0, yanchor: "top" };
  const height = NARROW.matches ? 36 : 24;
  layout.height = named ? rows.length * height + 140 : 720;
  Object.assign(layout.yaxis, { range: [rows.length - 0.4, -0.8], showgrid: named, tickmode: "array",
    tickvals: named ? rows.map((_, place) => place) : [],
    ticktext: named ? rows.map((row) => axisLabel(row[0])) : [] });
  if (named && NARROW.matches) namesAboveLines(layout, rows);
  return layout;
}

// On a phone: beside the lines, names would leave no room for the plot.
function namesAboveLines(layout, rows) {
  layout.yaxis.ticktext = rows.map(() => "");
  layout.annotations = rows.map((row, place) => ({
    text: axisLabel(row[0]), xref: "paper", x: 0, xanchor: "left", y: place, yanchor: "bottom", yshift: 4,
    showarrow: false,
  }));
}

// Plotly takes tags in labels for markup.
function axisLabel(text) {
  const most = NARROW.matches ? 44 : 56;
  return (text.length > most ? `${text.slice(0, most - 1)}…` : text).replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

function drawForest(place, data, label) {
  const state = { comparison: data.comparisons[0], needle: "", verdict: "all" };
  const frame = plotFrame(label);
  const count = element("p", { class: "count", role: "status" });

  function draw() {
    const all = state.comparison.rows;
    const rows = all.filter((row) => row[0].toLowerCase().includes(state.needle) &&
      (state.verdict === "all" || row[4] === state.verdict));
    count.textContent = `${rows.length} of ${all.length} ratios` +
      (rows.length > NAMED_AT_MOST ? `; names are shown for up to ${NAMED_AT_MOST}` : "");
    const traces = VERDICTS.map((verdict) => forestTrace(verdict, rows)).filter((trace) => trace.x.length !== 0);
    const counts = traces.map((trace) => trace.name).join(", ");
    frame.setAttribute("aria-label", `${label}: ${state.comparison.name}; ${counts}`);
    showPlot(frame, traces, forestLayout(rows, state.comparison.name, data));
  }

  const update = (name) => (value) => {
    state[name] = name === "comparison" ? data.comparisons[value] : value;
    draw();
  };
  const verdicts = distinct(data.comparisons.flatMap(({ rows }) => rows.map((row) => row[4]))).filter(Boolean);
  place.append(
    element("div", { class: "controls" },
      choice("Comparison", data.comparisons.map(({ name }, index) => [index, name]), update("comparison")),
      choice("Verdict", [["all", "all"], ...verdicts.map((name) => [name, name])], update("verdict")),
      textFilter("Operator or case contains", update("needle"))),
    count, frame);
  keepDrawn(draw);
}

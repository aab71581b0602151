// Times of each arm: the spread over all cases, and one case by itself.
function armColor(arm, arms) {
  return color(`arm-${(arms.indexOf(arm) % 4) + 1}`);
}

function boxOf(arm, values, tint, points) {
  return {
    type: "box", name: arm, x: values, y: values.map(() => arm), orientation: "h", boxpoints: points, jitter: 0.6,
    pointpos: 0, marker: { color: tint, size: 4, opacity: 0.6 }, line: { color: tint }, hoveron: "boxes+points",
    showlegend: false, hovertemplate: "%{x:.4~s} ns<extra>" + arm.replaceAll("<", "&lt;") + "</extra>",
  };
}

function medianOf(arm, row, tint) {
  const [, , median, low, high] = row;
  return {
    type: "scatter", mode: "markers", name: arm, x: [median], y: [arm], showlegend: false,
    marker: { color: tint, size: 11, symbol: "diamond" },
    error_x: { type: "data", symmetric: false, color: tint, width: 6, array: [(high ?? median) - median],
      arrayminus: [median - (low ?? median)] },
    hovertemplate: `${inNanoseconds(median)}<extra></extra>`,
  };
}

function timesLayout(values, arms) {
  const layout = baseLayout();
  const [low, high] = [Math.min(...values) / 1.05, Math.max(...values) * 1.05];
  Object.assign(layout.xaxis, { type: "log", range: [Math.log10(low), Math.log10(high)], ...timeTicks(low, high),
    title: { text: "host time of a call" } });
  Object.assign(layout.yaxis, { type: "category", categoryorder: "array", categoryarray: [...arms].reverse() });
  layout.height = arms.length * 64 + 90;
  layout.boxgap = 0.35;
  return layout;
}

function drawAllTimes(frame, rows, arms) {
  const ofArm = (arm) => rows.filter((row) => row[1] === arm).map((row) => row[2]);
  const points = rows.length / arms.length > 300 ? "outliers" : "all";
  showPlot(frame, arms.map((arm) => boxOf(arm, ofArm(arm), armColor(arm, arms), points)),
    timesLayout(rows.map((row) => row[2]), arms));
}

function drawOneCase(frame, rows, arms) {
  const traces = rows.map((row) => (row[5] ? boxOf(row[1], row[5], armColor(row[1], arms), "all")
    : medianOf(row[1], row, armColor(row[1], arms))));
  const values = rows.flatMap((row) => [...(row[5] ?? []), row[2], row[3] ?? row[2], row[4] ?? row[2]]);
  const measured = arms.filter((arm) => rows.some((row) => row[1] === arm));
  showPlot(frame, traces, timesLayout(values.filter((ns) => ns > 0), measured));
}

// The case whose arms differ most is the first to be shown.
function widestCase(cases) {
  const spread = ([, rows]) => {
    const medians = rows.map((row) => row[2]);
    return Math.max(...medians) / Math.min(...medians);
  };
  return [...cases.entries()].reduce((best, each) => (spread(each) > spread(best) ? each : best))[0];
}

function drawTimes(place, rows, label) {
  const arms = distinct(rows.map((row) => row[1]));
  const cases = new Map();
  rows.forEach((row) => cases.set(row[0], [...(cases.get(row[0]) ?? []), row]));
  let chosen = widestCase(cases);
  const all = plotFrame(`${label}, all cases: ${arms.join(", ")}`);
  const one = plotFrame("");
  const id = `cases-${document.querySelectorAll("datalist").length}`;
  const list = element("datalist", { id }, ...[...cases.keys()].map((value) => element("option", { value })));
  const input = element("input", { list: id, value: chosen, autocomplete: "off", spellcheck: "false", size: 40 });
  const said = element("p", { class: "count", role: "status" });

  function drawOne() {
    const found = cases.get(chosen);
    const medians = found.map((row) => `${row[1]} ${inNanoseconds(row[2])}`).join(", ");
    one.setAttribute("aria-label", `${label}, ${chosen}: ${medians}`);
    const sampled = found.some((row) => row[5]);
    said.textContent = `${chosen}: ${sampled ? "samples of each block" : "median and 95% interval"}`;
    drawOneCase(one, found, arms);
  }

  input.addEventListener("input", () => {
    if (!cases.has(input.value)) return;
    chosen = input.value;
    drawOne();
  });
  const search = element("label", {}, "One case (type to search)", input, list);
  place.append(all, element("div", { class: "controls" }, search), said, one);
  keepDrawn(() => drawAllTimes(all, rows, arms));
  keepDrawn(drawOne);
}

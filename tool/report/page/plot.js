// What the plots share: colours of the page's scheme, and drawing again when the scheme or the width changes.
const NARROW = matchMedia("(max-width: 37.5rem)");
const DARK = matchMedia("(prefers-color-scheme: dark)");
const redraws = [];

function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function baseLayout() {
  const line = color("line");
  const axis = { gridcolor: line, linecolor: line, zeroline: false, automargin: true, fixedrange: true };
  return {
    paper_bgcolor: color("surface"),
    plot_bgcolor: color("surface"),
    font: { color: color("text"), family: "system-ui, 'DejaVu Sans', sans-serif", size: 12 },
    hoverlabel: { bgcolor: color("raised"), bordercolor: color("line"), font: { color: color("text") } },
    margin: { l: 8, r: 16, t: 8, b: 8 },
    xaxis: { ...axis },
    yaxis: { ...axis },
    legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom" },
  };
}

// A frame that plotly draws in. Its label says what is drawn; the numbers are in the tables.
function plotFrame(label) {
  return element("div", { class: "plot", role: "img", "aria-label": label });
}

function showPlot(frame, traces, layout) {
  Plotly.react(frame, traces, layout, { responsive: true, displayModeBar: false, displaylogo: false });
}

// Calls `draw` now, and again whenever what it drew would look wrong.
function keepDrawn(draw) {
  redraws.push(draw);
  draw();
}

for (const query of [NARROW, DARK]) {
  query.addEventListener("change", () => redraws.forEach((draw) => draw()));
}

// Of `candidates`, the roundest first, those between `low` and `high` that keep their distance on a logarithmic axis.
function spacedTicks(candidates, low, high) {
  const distance = Math.log(high / low) / (NARROW.matches ? 5 : 10);
  const chosen = [];
  for (const value of candidates) {
    const free = chosen.every((other) => Math.abs(Math.log(value / other)) >= distance);
    if (value >= low && value <= high && free) chosen.push(value);
  }
  return chosen.sort((a, b) => a - b);
}

function ratioTicks(low, high) {
  const away = [0.5, 0.1, 0.2, 0.25, 0.75, 0.05, 0.02, 0.01, 0.005].flatMap((step) =>
    Array.from({ length: 20 }, (_, count) => [1 + (count + 1) * step, 1 - (count + 1) * step]).flat());
  const round = [1, 0.5, 2, 0.1, 10, 0.01, 100, 0.2, 5, 0.02, 50, ...away];
  return spacedTicks(round.filter((value) => value > 0.001).map((value) => +value.toFixed(4)), low, high);
}

function timeTicks(low, high) {
  const powers = Array.from({ length: 16 }, (_, power) => 10 ** (power - 2));
  const digits = [1, 3, 2, 5, 1.5, 7, 4, 2.5, 6, 8, 9, 1.2, 1.1, 1.3, 1.4];
  const ticks = spacedTicks(digits.flatMap((digit) => powers.map((power) => digit * power)), low, high);
  return { tickmode: "array", tickvals: ticks, ticktext: ticks.map((ns) => inNanoseconds(ns).replace(/\.?0+ /, " ")) };
}

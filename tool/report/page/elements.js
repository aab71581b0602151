// Makes elements. Text from documents only ever becomes text nodes.
const PAGE = JSON.parse(document.getElementById("data").textContent);

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

function textFilter(label, onChange) {
  const input = element("input", { type: "search", autocomplete: "off", spellcheck: "false" });
  input.addEventListener("input", () => onChange(input.value.trim().toLowerCase()));
  return element("label", {}, label, input);
}

// `options` are [value, text] pairs.
function choice(label, options, onChange) {
  const select = element("select", {}, ...options.map(([value, text]) => element("option", { value }, text)));
  select.addEventListener("change", () => onChange(select.value));
  return element("label", {}, label, select);
}

function distinct(values) {
  return [...new Set(values)];
}

function inNanoseconds(ns) {
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) {
    if (ns >= size) return `${(ns / size).toPrecision(4)} ${unit}`;
  }
  return `${ns.toPrecision(4)} ns`;
}

// Fills every component; one that fails says so and leaves the others.
const DRAW = { forest: drawForest, heat: drawHeat, table: drawTable, times: drawTimes };

function fill(place) {
  const { component, key, label } = place.dataset;
  try {
    DRAW[component](place, PAGE[key], label);
  } catch (error) {
    place.append(element("p", { class: "absent" }, `This part could not be drawn: ${error.message}`));
    console.error(error);
  }
}

document.querySelectorAll(".component").forEach(fill);

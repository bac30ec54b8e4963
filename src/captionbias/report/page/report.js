"use strict";

// Plots are drawn when they are seen: one in a closed part of the page has no size yet.
const draw = (place) => {
  const colours = getComputedStyle(document.documentElement);
  const ink = colours.getPropertyValue("--text").trim();
  const line = colours.getPropertyValue("--line").trim();
  const figure = JSON.parse(place.dataset.figure);
  const layout = structuredClone(figure.layout);
  layout.font = { ...layout.font, color: ink };
  for (const axis of Object.keys(layout).filter((name) => /^[xy]axis/.test(name))) {
    Object.assign(layout[axis], { automargin: true, gridcolor: line, zerolinecolor: line, linecolor: line });
  }
  Plotly.react(place, figure.data, layout, { responsive: true, displaylogo: false, displayModeBar: false });
};
const seen = new IntersectionObserver((entries) => {
  for (const entry of entries.filter((entry) => entry.isIntersecting)) {
    seen.unobserve(entry.target);
    draw(entry.target);
  }
}, { rootMargin: "200px" });
const places = document.querySelectorAll(".plot");
places.forEach((place) => seen.observe(place));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
  places.forEach((place) => place.data && draw(place)));
addEventListener("beforeprint", () => places.forEach(draw));

const order = (header) => {
  const column = header.cellIndex;
  const down = header.getAttribute("aria-sort") !== "descending";
  header.parentNode.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
  header.setAttribute("aria-sort", down ? "descending" : "ascending");
  const body = header.closest("table").tBodies[0];
  const value = (row) => {
    const cell = row.cells[column];
    if (cell.dataset.value === undefined) return cell.textContent;
    return cell.dataset.value === "" ? -Infinity : Number(cell.dataset.value);
  };
  const compare = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b));
  const rows = [...body.rows].sort((a, b) => compare(value(a), value(b)) * (down ? -1 : 1));
  body.append(...rows);
};
document.querySelectorAll("th").forEach((header) => {
  header.addEventListener("click", () => order(header));
  header.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); order(header); }
  });
});

const files = {
  json: () => ["captionbias.json", "application/json", document.getElementById("audit-data").textContent],
  csv: () => ["captionbias.csv", "text/csv", JSON.parse(document.getElementById("scores-csv").textContent)],
};
document.querySelectorAll("[data-save]").forEach((button) => button.addEventListener("click", () => {
  const [name, type, content] = files[button.dataset.save]();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}));

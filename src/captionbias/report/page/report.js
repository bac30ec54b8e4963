"use strict";

const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const node = (name, content = [], attributes = {}) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...[content].flat());
  return made;
};

// In a frame: the page around it has the title, and makes room for all of it.
if (window.parent !== window) {
  document.documentElement.classList.add("framed");
  new ResizeObserver(() => {
    const height = Math.ceil(document.documentElement.getBoundingClientRect().height);
    window.parent.postMessage({ captionbias: { height } }, "*");
  }).observe(document.documentElement);
}

// The data: JSON, by gzip, in base64; unpacked once, when they are asked for.
const packed = document.getElementById("audit-data");
const unpacked = async () => {
  const bytes = Uint8Array.from(atob(packed.textContent), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
};
let reading;
const read = () => (reading ??= unpacked().then(JSON.parse));

const save = (name, type, content) => {
  const link = node("a", [], { href: URL.createObjectURL(new Blob([content], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
};
// No spreadsheet takes a text for a formula: what could be one gets a quote before it.
const cell = (value) => {
  const text = typeof value === "string" && /^([\t\r\n]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20])/.test(value) ? `'${value}` : `${value ?? ""}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
const csv = (rows) => rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
const files = JSON.parse(document.getElementById("files").textContent);
const drawing = async (scale) => {
  const picture = new Image();
  picture.src = `data:image/svg+xml,${encodeURIComponent(files["captionbias.svg"])}`;
  await picture.decode();
  const canvas = node("canvas", [], { width: scale * picture.width, height: scale * picture.height });
  const ink = canvas.getContext("2d");
  ink.fillStyle = "#ffffff";
  ink.fillRect(0, 0, canvas.width, canvas.height);
  ink.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return canvas;
};
const blob = (canvas, type) => new Promise((done) => canvas.toBlob(done, type, 0.95));
// One page as large as the picture, which is a JPEG in it.
const pdf = async () => {
  const canvas = await drawing(4);
  const [width, height] = [canvas.width / 4, canvas.height / 4];
  const image = new Uint8Array(await (await blob(canvas, "image/jpeg")).arrayBuffer());
  const drawn = `q ${width} 0 0 ${height} 0 0 cm /I Do Q`;
  const objects = [
    ["<</Type/Catalog/Pages 2 0 R>>"], ["<</Type/Pages/Kids[3 0 R]/Count 1>>"],
    [`<</Type/Page/Parent 2 0 R/MediaBox[0 0 ${width} ${height}]/Resources<</XObject<</I 4 0 R>>>>/Contents 5 0 R>>`],
    [`<</Type/XObject/Subtype/Image/Width ${canvas.width}/Height ${canvas.height}/ColorSpace/DeviceRGB/BitsPerComponent 8/Filter/DCTDecode/Length ${image.length}>>stream\n`, image, "\nendstream"],
    [`<</Length ${drawn.length}>>stream\n${drawn}\nendstream`],
  ];
  const parts = ["%PDF-1.4\n"];
  const places = [];
  const length = () => parts.reduce((sum, part) => sum + part.length, 0);
  objects.forEach((object, number) => { places.push(length()); parts.push(`${number + 1} 0 obj`, ...object, "endobj\n"); });
  const start = length();
  parts.push(`xref\n0 6\n0000000000 65535 f \n${places.map((at) => `${`${at}`.padStart(10, "0")} 00000 n \n`).join("")}trailer<</Size 6/Root 1 0 R>>\nstartxref\n${start}\n%%EOF`);
  return new Blob(parts);
};
const made = { json: unpacked, png: async () => blob(await drawing(3), "image/png"), pdf };
const types = { json: "application/json", csv: "text/csv", svg: "image/svg+xml" };
for (const button of all("[data-save]")) {
  const name = button.dataset.save;
  const ending = name.split(".").pop();
  button.addEventListener("click", async () => save(name, types[ending] ?? "text/plain", files[name] ?? (await made[ending]())));
}
document.getElementById("copy").addEventListener("click", async ({ target }) => {
  const link = location.href.replace(/\/report\b.*$/, "");
  try {
    await navigator.clipboard.writeText(link);
  } catch {
    const field = node("input", [], { value: link });
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  target.textContent = "Copied";
});

// The rows are sorted by a click on a head, the other way round by another.
for (const head of all("[data-by]")) {
  head.addEventListener("click", () => {
    const by = head.dataset.by;
    const up = head.getAttribute("aria-pressed") === "true" ? !head.classList.contains("up") : by === "name" || by === "order";
    const table = head.closest(".rows");
    for (const other of all("[data-by]", table)) other.setAttribute("aria-pressed", other === head);
    head.classList.toggle("up", up);
    const value = (row) => {
      if (by === "name") return row.querySelector(".name").title;
      return Number(by === "order" ? row.dataset.order : all(".cell", row)[by].dataset.value || -Infinity);
    };
    const compare = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true }));
    const rows = all("details.row", table);
    const after = rows.at(-1).nextElementSibling;
    for (const row of rows.sort((a, b) => compare(value(a), value(b)) * (up ? 1 : -1))) after ? after.before(row) : table.append(row);
  });
}
for (const button of all(".show-more")) {
  button.addEventListener("click", () => {
    for (const rows of all("tbody.more", button.parentNode)) rows.hidden = false;
    button.remove();
  });
}

// Tables are sorted by a click on the head of a column.
const order = (header) => {
  const table = header.closest("table");
  all(".opener[aria-expanded=true]", table).forEach(close);
  const down = header.getAttribute("aria-sort") !== "descending";
  all("th", table).forEach((other) => other.removeAttribute("aria-sort"));
  header.setAttribute("aria-sort", down ? "descending" : "ascending");
  all("tbody.more", table).forEach((part) => { part.hidden = false; });
  table.parentNode.querySelector(".show-more")?.remove();
  const value = (row) => {
    const found = row.cells[header.cellIndex];
    const { value } = found.dataset;
    if (value === undefined) return found.textContent;
    return value === "" ? -Infinity : Number.isNaN(Number(value)) ? value : Number(value);
  };
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : `${a}`.localeCompare(`${b}`));
  const rows = [...table.tBodies].flatMap((part) => [...part.rows]);
  table.tBodies[0].append(...rows.sort((a, b) => compare(value(a), value(b)) * (down ? -1 : 1)));
};
for (const header of all(".sortable thead th")) {
  const button = node("button", [...header.childNodes], { type: "button" });
  header.append(button);
  button.addEventListener("click", () => order(header));
}
for (const part of all(".scroll:not(:has(.words))")) {  // what is scrolled can be scrolled by keyboard
  part.tabIndex = 0;
  part.setAttribute("role", "group");
  part.setAttribute("aria-label", part.querySelector("caption, title").textContent);
}

// The captions behind a word or a group of images, below its row.
const marked = (text, spans) => {
  const parts = [];
  let done = 0;
  for (const [start, end, first] of spans.sort((a, b) => a[0] - b[0])) {
    if (start < done) continue;
    parts.push(text.slice(done, start), node("mark", text.slice(start, end), first ? { class: "first" } : {}));
    done = end;
  }
  return [...parts, text.slice(done)];
};
const inWords = (found, number, { word, forms, counted }) => {
  const text = found.texts[number];
  if (word !== undefined) {
    const literal = (forms ?? [word]).map((form) => form.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
    const places = text.matchAll(new RegExp(`(?<![\\p{L}\\p{N}_])(?:${literal})(?![\\p{L}\\p{N}_])`, "giu"));
    return marked(text, [...places].map((place) => [place.index, place.index + place[0].length, false]));
  }
  const flat = found.marks[number];
  const spans = [];
  for (let at = 0; at < flat.length; at += 3) {
    if (counted.has(found.labels[flat[at + 2]])) spans.push([flat[at], flat[at + 1], true]);
  }
  return marked(text, spans);
};
const percent = (share) => `${Math.round(100 * share)}%`;
const count = (number) => number.toLocaleString("en");
const told = (kind, item, name) => {
  const listed = item.rows.length < item.images ? `${item.rows.length} of ${count(item.images)} images` : `all ${count(item.images)} images`;
  if (kind === "words") {
    const labels = Object.entries(item.labels).map(([label, number]) => `${count(number)} ${label}`).join(", ");
    const people = item.people === null ? "" : `; people's captions of ${count(item.people)} images have it`;
    return `${name} writes “${item.word}” for ${count(item.images)} images (${labels})${people}. Here: ${item.rows.length} of them.`;
  }
  if (kind === "tied") {
    return `${name} writes “${item.word.replaceAll("|", " or ")}” for ${count(item.images)} images of ${item.attribute}; one person or more does for ${count(item.people)}. Here: ${listed}.`;
  }
  return `Of ${count(item.shown)} images of ${item.attribute} beside what goes with ${item.suggested}, ${name} names another value for ${count(item.captioner)}; for ${count(item.people)} of these one person or more does so too. Here: ${listed}.`;
};
const itemOf = (found, row, number, item, kind) => {
  const image = found.images[row.row];
  const what = kind === "cells" ? "another value" : "it";
  const named = row.captioner ? `captioner names ${what}` : "captioner does not";
  const people = row.people === null ? "" : `${percent(row.people)} of people do`;
  const difference = row.difference === null ? "" : `difference ${row.difference > 0 ? "+" : ""}${Math.round(100 * row.difference)} points`;
  const head = [node("b", image.id === null ? `row ${row.row}` : `image ${image.id}`), image.label, named, people, difference];
  const texts = node("dl", [], { class: "texts" });
  if (number !== undefined) texts.append(node("dt", "captioner"), node("dd", inWords(found, number, item)));
  image.people.forEach((one, place) => texts.append(node("dt", place ? "" : "people"), node("dd", inWords(found, one, item))));
  return node("li", [node("div", head.filter((part) => part !== "").map((part) => (part instanceof Node ? part : node("span", part))), { class: "head" }), texts]);
};
const panelOf = (audit, button) => {
  const found = audit.evidence;
  const { kind, group, index } = button.dataset;
  const number = Number(button.closest("[data-captioner]").dataset.captioner);
  const name = Object.keys(found.captioners)[number];
  const own = found.captioners[name];
  const item = kind === "tied" ? own.tied[index] : own[kind][group][index];
  // What put these captions here: who is named, and what goes with the value that is suggested.
  const leans = kind === "cells" ? audit.comparisons.sway.results[name].details.leans : [];
  item.counted = new Set([...Object.keys(audit.attribute_counts), ...leans.filter((row) => row.goes_with === item.suggested).map((row) => row.task)]);
  const rows = item.rows.map((row) => {
    const image = found.images[row.row];
    const text = own.captions[row.row];
    const words = [image.id, row.row, image.label, found.texts[text], ...image.people.map((one) => found.texts[one])];
    return { ...row, id: image.id ?? row.row, label: image.label, words: words.join(" ").toLowerCase(), text, item: itemOf(found, row, text, item, kind) };
  });
  const options = (pairs) => pairs.map(([value, label]) => node("option", label, { value }));
  const filter = node("input", [], { type: "search", placeholder: "word, image, label" });
  const who = node("select", options([["all", "everyone"], ["captioner", "the captioner"], ["people", "people"], ["only", "the captioner alone"]]));
  const sort = node("select", options([["most", "captioner more than people"], ["least", "people more than captioner"], ["id", "image"], ["label", "label"]]));
  const list = node("ol", [], { tabindex: "0", "aria-label": "Captions" });
  const status = node("p", "", { class: "meaning", role: "status" });
  const chosen = () => {
    const wanted = filter.value.toLowerCase().trim();
    const named = {
      all: () => true, captioner: (row) => row.captioner, people: (row) => row.people > 0,
      only: (row) => row.captioner && row.people === 0,
    }[who.value];
    const by = {
      most: (a, b) => b.difference - a.difference, least: (a, b) => a.difference - b.difference,
      id: (a, b) => `${a.id}`.localeCompare(`${b.id}`, "en", { numeric: true }), label: (a, b) => a.label.localeCompare(b.label),
    }[sort.value];
    return rows.filter((row) => named(row) && row.words.includes(wanted)).sort(by);
  };
  const show = () => {
    const found = chosen();
    list.replaceChildren(...found.map((row) => row.item));
    status.textContent = found.length === rows.length ? "" : `${found.length} of ${rows.length} shown`;
  };
  for (const control of [filter, who, sort]) control.addEventListener("input", show);
  show();
  const saved = node("button", "Save as CSV", { type: "button" });
  saved.addEventListener("click", () => save("captions.csv", "text/csv", csv([
    ["captioner", "image", "row", "label", "captioner names it", "share of people", "difference", "caption", "people's captions"],
    ...chosen().map((row) => [name, row.id, row.row, row.label, row.captioner, row.people, row.difference, found.texts[row.text],
      found.images[row.row].people.map((one) => found.texts[one]).join(" | ")]),
  ])));
  const closed = node("button", "Close", { type: "button" });
  closed.addEventListener("click", () => { close(button); button.focus(); });
  const tools = [node("label", ["find", filter]), node("label", ["named by", who]), node("label", ["sort by", sort]), saved, closed];
  const behind = [node("p", told(kind, item, name), { class: "told" }), node("div", tools, { class: "tools" }), status, list];
  const row = button.closest("tr");
  const panel = row
    ? node("tr", node("td", behind, { colspan: row.cells.length, class: "behind" }), { class: "panel" })
    : node("div", behind, { class: "panel behind" });
  panel.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { close(button); button.focus(); }
  });
  return panel;
};
function close(button) {
  button.setAttribute("aria-expanded", "false");
  (button.closest("tr") ?? button).nextElementSibling.remove();
}
const open = async (button) => {
  if (button.getAttribute("aria-expanded") === "true") return close(button);
  all(".opener[aria-expanded=true]").forEach(close);
  button.setAttribute("aria-expanded", "true");
  const found = await read();
  if (button.getAttribute("aria-expanded") === "true") (button.closest("tr") ?? button).after(panelOf(found, button));
};
for (const button of all(".opener")) button.addEventListener("click", () => open(button));

// Paper shows what is folded away.
let folded = [];
addEventListener("beforeprint", () => {
  folded = all("details:not([open])");
  for (const part of folded) part.open = true;
});
addEventListener("afterprint", () => {
  for (const part of folded) part.open = false;
  document.documentElement.classList.remove("whole");
});
for (const button of all("[data-print]")) {
  button.addEventListener("click", () => {
    document.documentElement.classList.toggle("whole", button.dataset.print === "whole");
    window.print();
  });
}

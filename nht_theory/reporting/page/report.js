"use strict";
// One run is one key: on every mark that belongs to it and on its row of the runs table.
const marks = new Map();
for (const mark of document.querySelectorAll("figure [data-key]")) {
  const key = mark.dataset.key;
  if (!marks.has(key)) marks.set(key, []);
  marks.get(key).push(mark);
}
const rows = new Map();
for (const row of document.querySelectorAll("#runs tbody tr")) rows.set(row.dataset.key, row);
const drawings = document.querySelectorAll("figure .drawing > svg");
const tip = document.getElementById("tip");
let pinned = null;
let shown = null;

function pick(key) {
  if (key === shown) return;
  for (const old of [...(marks.get(shown) || []), rows.get(shown)]) old?.classList.remove("on");
  for (const now of [...(marks.get(key) || []), rows.get(key)]) now?.classList.add("on");
  for (const drawing of drawings) {
    const has = key !== null && drawing.querySelector(".on") !== null;
    drawing.classList.toggle("picked", has);
  }
  shown = key;
}

function describe(key) {
  const title = document.createElement("strong");
  title.textContent = key;
  tip.replaceChildren(title);
  const row = rows.get(key);
  if (!row) return;
  const list = document.createElement("dl");
  const heads = row.closest("table").querySelectorAll("thead th");
  row.querySelectorAll("td").forEach((cell, place) => {
    if (!heads[place].dataset.tip || cell.textContent.trim() === "–") return;
    const term = document.createElement("dt");
    const value = document.createElement("dd");
    term.textContent = heads[place].textContent.trim();
    value.textContent = cell.textContent.trim();
    list.append(term, value);
  });
  tip.append(list);
}

// A line is two pixels wide and a hand is not: look a little around the pointer.
const REACH = [[0, 0], [0, -3], [0, 3], [-3, 0], [3, 0], [0, -6], [0, 6], [-6, 0], [6, 0]];

function markNear(x, y) {
  for (const [dx, dy] of REACH) {
    const mark = document.elementFromPoint(x + dx, y + dy)?.closest("figure [data-key]");
    if (mark) return mark;
  }
  return null;
}

for (const drawing of drawings) {
  drawing.addEventListener("pointermove", (event) => {
    const mark = markNear(event.clientX, event.clientY);
    if (!mark) {
      tip.hidden = true;
      pick(pinned);
      return;
    }
    pick(mark.dataset.key);
    describe(mark.dataset.key);
    tip.hidden = false;
    const right = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    const below = Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8);
    tip.style.left = `${right}px`;
    tip.style.top = `${below}px`;
  });
  drawing.addEventListener("pointerleave", () => {
    tip.hidden = true;
    pick(pinned);
  });
}

for (const button of document.querySelectorAll("#runs td button")) {
  button.addEventListener("click", () => {
    const key = button.closest("tr").dataset.key;
    pinned = pinned === key ? null : key;
    for (const other of document.querySelectorAll("#runs td button")) {
      const on = other.closest("tr").dataset.key === pinned;
      other.setAttribute("aria-pressed", String(on));
    }
    pick(pinned);
  });
}

// Sorting: numbers by value, text by the reader's language, empty cells last.
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const head = button.closest("th");
    const body = head.closest("table").tBodies[0];
    const place = head.cellIndex;
    const up = head.getAttribute("aria-sort") !== "ascending";
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const value = (row) => row.cells[place].dataset.value ?? row.cells[place].textContent.trim();
    const compare = (a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === "" || y === "") return (x === "") - (y === "");
      const order = head.classList.contains("n") ? x - y : x.localeCompare(y);
      return up ? order : -order;
    };
    body.append(...[...body.rows].sort(compare));
  });
}

const filter = document.getElementById("filter");
filter?.addEventListener("input", () => {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  let kept = 0;
  for (const [key, row] of rows) {
    const text = row.textContent.toLowerCase();
    const match = words.every((word) => text.includes(word));
    kept += match;
    for (const part of [row, ...(marks.get(key) || [])]) part.classList.toggle("off", !match);
  }
  document.getElementById("kept").textContent = `${kept} of ${rows.size} runs shown`;
});

document.querySelector(".theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});

addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});

"use strict";
// Tables sort by a click on a heading, and show the rows that have all words of a search.
const UNITS = { us: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, PB: 1e15 };

// The number at the start of a cell: `12,345`, `1.25 ms`, `2 h 05 m`, `34 kB`, `5 of 12`.
const numberOf = (text) => {
  const parts = [...text.matchAll(/(\d[\d,.]*)\s*([a-zA-Z]*)/g)].map(([, digits, unit]) => ({
    unit, value: Number(digits.replaceAll(",", "")) * (UNITS[unit] ?? 1),
  }));
  if (!parts.length) return -1;
  return parts[0].value + (parts[0].unit === "h" && parts.length > 1 ? parts[1].value : 0);
};

const makeSortable = (table, rows) => {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, at) => {
    const isNumber = head.classList.contains("number");
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const order = head.getAttribute("aria-sort");
      const falls = order ? order === "ascending" : isNumber;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", falls ? "descending" : "ascending");
      const texts = new Map(rows.map((row) => [row, row.cells[at].textContent]));
      rows.sort((one, other) => {
        const [a, b] = [texts.get(one), texts.get(other)];
        const way = isNumber ? numberOf(a) - numberOf(b) : a.localeCompare(b, "en", { numeric: true });
        return falls ? -way : way;
      });
      table.tBodies[0].append(...rows);
    });
  });
};

const makeFiltered = (table, rows) => {
  const box = document.createElement("input");
  box.type = "search";
  box.placeholder = "filter";
  box.autocomplete = "off";
  box.setAttribute("aria-label", `Filter: ${table.caption.textContent}`);
  const count = document.createElement("span");
  count.setAttribute("role", "status");
  const tools = document.createElement("div");
  tools.className = "tools";
  tools.append(box, count);
  table.parentElement.before(tools);
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    count.textContent = words.length ? `${shown} of ${rows.length}` : "";
  });
};

for (const table of document.querySelectorAll("table.sortable")) {
  const rows = [...table.tBodies[0].rows];
  if (rows.length > 1) {
    makeSortable(table, rows);
    makeFiltered(table, rows);
  }
}

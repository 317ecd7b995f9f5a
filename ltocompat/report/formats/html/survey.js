"use strict";
(() => {
  // Tables are sorted by their heads and filtered by words; without a script they are as written.
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  const keyOf = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.sort ?? cell.textContent;
  };

  function sortable(table) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...table.tBodies[0].rows];
        const keys = new Map(rows.map((row) => [row, keyOf(row, column)]));
        rows.sort((left, right) => compare(keys.get(left), keys.get(right)) * (down ? -1 : 1));
        table.tBodies[0].append(...rows);
      });
    });
  }

  function filterable(card, table, number) {
    const rows = [...table.tBodies[0].rows];
    const bar = document.createElement("div");
    bar.className = "words";
    const label = document.createElement("label");
    label.textContent = "Rows with";
    label.htmlFor = `words-${number}`;
    const input = document.createElement("input");
    input.type = "search";
    input.id = label.htmlFor;
    const shown = document.createElement("output");
    bar.append(label, input, shown);
    card.querySelector(".scroll").before(bar);
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let left = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        left += !row.hidden;
      }
      shown.value = words.length ? `${left} of ${rows.length}` : "";
    });
  }

  [...document.querySelectorAll(".rows")].forEach((table, number) => {
    sortable(table);
    filterable(table.closest("details"), table, number);
  });
  addEventListener("beforeprint", () => {
    for (const card of document.querySelectorAll("details")) card.open = true;
  });
})();

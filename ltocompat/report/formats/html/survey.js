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
    const rows = [...table.tBodies[0].rows]; // as written: links count by this order
    let counted = null; // the rows that a sentence counts; null: all
    const bar = document.createElement("div");
    bar.className = "words";
    const label = document.createElement("label");
    label.textContent = "Rows with";
    label.htmlFor = `words-${number}`;
    const input = document.createElement("input");
    input.type = "search";
    input.id = label.htmlFor;
    const shown = document.createElement("output");
    const all = document.createElement("button");
    all.type = "button";
    all.textContent = "All rows";
    all.hidden = true;
    bar.append(label, input, shown, all);
    card.querySelector(".scroll").before(bar);

    function apply() {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let left = 0;
      rows.forEach((row, place) => {
        const text = words.length ? row.textContent.toLowerCase() : "";
        const some = counted === null || counted.has(place);
        row.hidden = !(some && words.every((word) => text.includes(word)));
        left += !row.hidden;
      });
      all.hidden = !words.length && counted === null;
      shown.value = all.hidden ? "" : `${left} of ${rows.length}`;
    }
    input.addEventListener("input", apply);
    all.addEventListener("click", () => {
      counted = null;
      input.value = "";
      apply();
      input.focus();
    });
    for (const link of document.querySelectorAll(`.counted[href="#${card.id}"]`)) {
      link.addEventListener("click", (event) => {
        event.preventDefault(); // a jump would take the focus away again
        counted = new Set(link.dataset.rows.split(" ").map(Number));
        input.value = "";
        apply();
        card.open = true;
        card.querySelector("summary").focus({ preventScroll: true });
        card.scrollIntoView({ block: "start" });
      });
    }
  }

  [...document.querySelectorAll(".rows")].forEach((table, number) => {
    sortable(table);
    filterable(table.closest("details"), table, number);
  });
  // On paper nothing unfolds: print all of it, and fold again what was.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const card of opened) card.open = true;
  });
  addEventListener("afterprint", () => {
    for (const card of opened) card.open = false;
  });
})();

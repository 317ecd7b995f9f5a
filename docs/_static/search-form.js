// On every page: the search field leads to the search page with its text behind #, which is sent to no server.
"use strict";

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.classList.contains("sidebar-search-container")) return;
  event.preventDefault();
  location.href = `${form.action}#q=${encodeURIComponent(form.q.value)}`;
});

// A table that is wider than the window is moved by keys, too.
addEventListener("load", () => {
  for (const table of document.querySelectorAll(".table-wrapper")) {
    if (table.scrollWidth > table.clientWidth) table.tabIndex = 0;
  }
});

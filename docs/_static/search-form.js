// The search field of every page leads to the search page with its text behind #, which is sent to no server.
"use strict";

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.classList.contains("sidebar-search-container")) return;
  event.preventDefault();
  location.href = `${form.action}#q=${encodeURIComponent(form.q.value)}`;
});

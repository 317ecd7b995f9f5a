"use strict";
(() => {
  const findings = [...document.querySelectorAll(".finding")];
  const rules = [...document.querySelectorAll(".rule")];
  const filter = document.getElementById("filter");
  let clear = () => {};

  // A link may lead into something folded: unfold all that is around it.
  function reveal() {
    const id = decodeURIComponent(location.hash.slice(1));
    const goal = id && document.getElementById(id);
    if (!goal) return;
    if (goal.classList.contains("finding") && goal.hidden) clear();
    for (let one = goal; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
    if (goal.tagName === "DETAILS") {
      goal.querySelector("summary").focus({ preventScroll: true });
      goal.scrollIntoView({ block: "start" });
    }
  }
  addEventListener("hashchange", reveal);
  // A click on the link that one is at already changes no hash.
  addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#"]');
    if (link && link.hash === location.hash) setTimeout(reveal);
  });

  // On paper nothing unfolds: print what is shown, unfolded, and fold it again.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")].filter((one) => !one.hidden);
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
  });

  if (filter) {
    const shown = document.getElementById("shown");
    const boxes = [...filter.elements].filter((one) => one.name === "level");
    const texts = new Map();
    const textOf = (one) => {
      if (!texts.has(one)) {
        const rule = one.closest(".rule").querySelector("h3").textContent;
        texts.set(one, (rule + " " + one.textContent).toLowerCase());
      }
      return texts.get(one);
    };
    const number = (count) => count.toLocaleString("en-US");
    const counted = (left, all) =>
      (left === all ? "" : `${number(left)} of `) + number(all) + (all === 1 ? " finding" : " findings");

    function apply() {
      const words = filter.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
      const levels = new Set(boxes.filter((one) => one.checked).map((one) => one.value));
      let left = 0;
      for (const one of findings) {
        const text = words.length ? textOf(one) : "";
        one.hidden = !(levels.has(one.dataset.level) && words.every((word) => text.includes(word)));
        left += !one.hidden;
      }
      for (const rule of rules) {
        const inside = rule.querySelectorAll(".finding:not([hidden])").length;
        const all = rule.querySelectorAll(".finding").length;
        rule.hidden = !inside;
        rule.querySelector(".number").textContent = counted(inside, all);
        if (inside && words.length) rule.open = true;
      }
      shown.value = counted(left, findings.length);
    }
    clear = () => {
      filter.reset();
      apply();
    };
    filter.addEventListener("input", apply);
    filter.addEventListener("submit", (event) => event.preventDefault());
    const fold = (open) => () => {
      for (const one of [...rules, ...findings]) if (!one.hidden) one.open = open || one.matches(".rule");
    };
    document.getElementById("unfold").addEventListener("click", fold(true));
    document.getElementById("fold").addEventListener("click", fold(false));
    filter.hidden = false;
    apply(); // a browser may have kept what was typed
  }
  reveal();
})();

// The search of this site: what stands in search-index.js, without a server.
"use strict";

const WORTH_OF_FREQUENCY = 1.2;
const WORTH_OF_LENGTH = 0.6;
const MOST_RESULTS = 20;
const MOST_CAUSES = 3;
const LONGEST_ADDRESS = 2000;
const MOST_PREFIXES = 40;

const stem = (word) =>
  word.length > 3 && word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word;

// The words of a text as they stand in the index (extension/error_search.py has the same).
function wordsOf(text) {
  const found = [];
  for (const word of text.match(/[0-9]+(?:\.[0-9]+)+|[A-Za-z0-9_]+/g) || []) {
    if (word.includes(".")) {
      found.push(word); // a version
      continue;
    }
    const parts = word.match(/[A-Z]?[a-z0-9]+|[A-Z0-9]+/g) || [];
    const name = parts.join("").toLowerCase().replace(/^cudaerror/, "");
    found.push(...(parts.length > 1 ? [name, ...parts] : parts));
    if (/^R[0-9]{3}$/.test(word)) found.push(word.slice(1)); // a branch of drivers
  }
  return found.map((word) => stem(word.toLowerCase()));
}

function idsIn(text) {
  return (text.match(/[A-Za-z]{2,5}-[0-9A-Za-z]{2,9}/g) || []).map((id) => id.toUpperCase());
}

// What the words of a text are worth on each page; the last one may be unfinished.
function scores(text) {
  const pages = searchIndex.pages;
  const average = pages.reduce((sum, page) => sum + page[4], 0) / pages.length;
  const total = new Map();
  const covered = new Map();
  const rarities = new Map();
  let wanted = 0;
  const words = new Map();
  for (const word of wordsOf(text)) words.set(word, searchIndex.words[word]);
  const last = wordsOf(text).at(-1);
  if (last && last.length > 2 && !words.get(last)) {
    const longer = Object.keys(searchIndex.words).filter((word) => word.startsWith(last));
    for (const word of longer.slice(0, MOST_PREFIXES)) words.set(word, searchIndex.words[word]);
  }
  for (const [word, postings] of words) {
    if (!postings) continue;
    const rarity = Math.log(1 + (pages.length - postings.length + 0.5) / (postings.length + 0.5));
    rarities.set(word, rarity);
    wanted += rarity;
    for (const [page, number] of postings) {
      const length = 1 - WORTH_OF_LENGTH + (WORTH_OF_LENGTH * pages[page][4]) / average;
      const worth = (rarity * number * 2.2) / (number + WORTH_OF_FREQUENCY * length);
      total.set(page, (total.get(page) || 0) + worth * pages[page][5]);
      covered.set(page, (covered.get(page) || 0) + rarity);
    }
  }
  for (const [page, worth] of total) {
    const title = new Set(wordsOf(pages[page][1]));
    const named = [...rarities].filter(([word]) => title.has(word));
    const share = named.reduce((sum, [, rarity]) => sum + rarity, 0) / wanted;
    const fit = 1 + share * (1 + named.length / title.size);
    total.set(page, worth * (covered.get(page) / wanted) * fit);
  }
  return total;
}

// The pages that fit a text, best first, each with whether its rule is one of those that explain the text.
function search(text, rules) {
  const pages = searchIndex.pages;
  const byRule = new Map(pages.map((page, number) => [page[3]?.toUpperCase(), number]));
  const known = [...idsIn(text), ...rules].map((id) => byRule.get(id.toUpperCase()));
  const first = [...new Set(known.filter((number) => number !== undefined))];
  const total = scores(text);
  const others = [...total.keys()]
    .filter((page) => !first.includes(page))
    .sort((a, b) => total.get(b) - total.get(a) || a - b);
  return [
    ...first.map((page) => ({ page: pages[page], known: true })),
    ...others.map((page) => ({ page: pages[page], known: false })),
  ].slice(0, MOST_RESULTS);
}

const OPTION = /((?<=[\s(]|^)--?[A-Za-z][\w-]{0,40})/;

// An option is not parted from its dashes.
function element(name, text, parent) {
  const made = document.createElement(name);
  for (const [index, piece] of text.split(OPTION).entries()) {
    if (index % 2) element("span", "", made).className = "long-option";
    (index % 2 ? made.lastChild : made).append(piece);
  }
  parent.append(made);
  return made;
}

// The cause of a text, as the command tells it.
function answer(cause) {
  const section = element("section", "", document.getElementById("answer"));
  element("blockquote", cause.line, section);
  const list = element("dl", "", section);
  for (const part of ["cause", "fix", "check"]) {
    element("dt", part[0].toUpperCase() + part.slice(1), list);
    element(part === "check" ? "code" : "span", cause[part], element("dd", "", list));
  }
  element("dt", "Rule", list);
  element("a", cause.rule, element("dd", "", list)).href = `rules/${cause.rule.toLowerCase()}.html`;
}

function show(text) {
  const list = document.getElementById("results");
  const status = document.getElementById("found");
  list.replaceChildren();
  document.getElementById("answer").replaceChildren();
  if (!text.trim()) return;
  const causes = explain(text);
  causes.slice(0, MOST_CAUSES).forEach(answer);
  const results = search(text.slice(0, LONGEST), causes.map((cause) => cause.rule));
  const number = results.filter((result) => result.known).length;
  status.textContent = !results.length
    ? "No page has any of these words."
    : number
      ? `${number === 1 ? "A rule knows" : `${number} rules know`} this text; then come pages with its words.`
      : "Pages with these words, the best first.";
  for (const result of results) {
    const [address, title, summary] = result.page;
    const item = element("li", "", list);
    if (result.known) item.className = "known";
    element("a", title, item).href = address;
    element("p", summary, item);
  }
}

// The text stands behind # in the address, which browsers send to no server; a long one nowhere.
function textOfAddress() {
  const behind = new URLSearchParams(location.hash.slice(1)).get("q");
  return behind ?? new URLSearchParams(location.search).get("q") ?? "";
}

if (typeof document !== "undefined") {
  const form = document.getElementById("search-form");
  const look = () => {
    const text = form.q.value;
    const behind = text.length <= LONGEST_ADDRESS ? `#q=${encodeURIComponent(text)}` : "";
    history.replaceState(null, "", location.pathname + behind);
    show(text);
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    look();
  });
  form.q.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    look();
  });
  form.q.addEventListener("paste", () => setTimeout(look));
  const open = () => {
    form.q.value = textOfAddress();
    look();
  };
  addEventListener("hashchange", open);
  open();
}

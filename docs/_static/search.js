// The search of this site: what stands in search-index.js, without a server.
"use strict";

const WORTH_OF_FREQUENCY = 1.2;
const WORTH_OF_LENGTH = 0.6;
const MOST_RESULTS = 20;
const MOST_PREFIXES = 40;

const stem = (word) =>
  word.length > 3 && word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word;

// The words of a text as they stand in the index (extension/error_search.py has the same).
function wordsOf(text) {
  const found = [];
  for (const word of text.match(/[A-Za-z0-9_]+/g) || []) {
    const parts = word.match(/[A-Z]?[a-z0-9]+|[A-Z0-9]+/g) || [];
    const name = parts.join("").toLowerCase().replace(/^cudaerror/, "");
    found.push(...(parts.length > 1 ? [name, ...parts] : parts));
  }
  return found.map((word) => stem(word.toLowerCase()));
}

// The rules of messages that a text holds, as `ltocompat explain` finds them: a place that one row
// has explained is none for the rows below it. Some rows hold for certain versions only, which are
// not looked up here: they are taken, and explain nothing.
function rulesOfMessages(text) {
  const lines = text.split("\n").map((line) => line.replace(/^[> \t]+/, ""));
  const flat = lines.join(" ").split(/\s+/).filter(Boolean).join(" ");
  const explained = new Uint8Array(flat.length);
  const causes = [];
  const shared = [];
  for (const row of searchIndex.messages) {
    if (!row.find.some((fixed) => flat.includes(fixed))) continue;
    if (row.beside && !new RegExp(row.beside).test(flat)) continue;
    if (row.unless && new RegExp(row.unless).test(flat)) continue;
    const places = [...flat.matchAll(new RegExp(row.pattern, "g"))].filter(
      (place) => !explained.subarray(place.index, place.index + place[0].length).includes(1),
    );
    if (!places.length) continue;
    causes.push(row.rule);
    shared.push(...(row.also || []));
    if (!row.sure) continue;
    for (const place of places) explained.fill(1, place.index, place.index + place[0].length);
  }
  return [...causes, ...shared];
}

function idsIn(text) {
  return (text.match(/[A-Za-z]{2,5}-[0-9A-Za-z]{2,9}/g) || []).map((id) => id.toUpperCase());
}

// What the words of a text are worth on each page; the last one may be unfinished.
function scores(text) {
  const pages = searchIndex.pages;
  const average = pages.reduce((sum, page) => sum + page[4], 0) / pages.length;
  const total = new Map();
  const words = new Map();
  for (const word of wordsOf(text)) words.set(word, searchIndex.words[word]);
  const last = wordsOf(text).at(-1);
  if (last && last.length > 2 && !words.get(last)) {
    const longer = Object.keys(searchIndex.words).filter((word) => word.startsWith(last));
    for (const word of longer.slice(0, MOST_PREFIXES)) words.set(word, searchIndex.words[word]);
  }
  for (const postings of words.values()) {
    if (!postings) continue;
    const rarity = Math.log(1 + (pages.length - postings.length + 0.5) / (postings.length + 0.5));
    for (const [page, number] of postings) {
      const length = 1 - WORTH_OF_LENGTH + (WORTH_OF_LENGTH * pages[page][4]) / average;
      const worth = (rarity * number * 2.2) / (number + WORTH_OF_FREQUENCY * length);
      total.set(page, (total.get(page) || 0) + worth);
    }
  }
  return total;
}

// The pages that fit a text, best first, each with whether its rule explains a message of the text.
function search(text) {
  const pages = searchIndex.pages;
  const byRule = new Map(pages.map((page, number) => [page[3]?.toUpperCase(), number]));
  const known = [...idsIn(text), ...rulesOfMessages(text)].map((id) => byRule.get(id.toUpperCase()));
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

function element(name, text, parent) {
  const made = document.createElement(name);
  made.textContent = text;
  parent.append(made);
  return made;
}

function show(text) {
  const list = document.getElementById("results");
  const status = document.getElementById("found");
  list.replaceChildren();
  if (!text.trim()) return;
  const results = search(text);
  const number = results.filter((result) => result.known).length;
  status.textContent = !results.length
    ? "Nothing here has one of these words."
    : number
      ? `${number === 1 ? "A rule knows" : `${number} rules know`} this text; then come pages with its words.`
      : "Pages with these words, the best first.";
  for (const result of results) {
    const [name, title, summary] = result.page;
    const item = element("li", "", list);
    if (result.known) item.className = "known";
    element("a", title, item).href = `${name}.html`;
    element("p", summary, item);
  }
}

if (typeof document !== "undefined") {
  const query = new URLSearchParams(location.search).get("q") || "";
  const form = document.getElementById("search-form");
  form.q.value = query;
  form.q.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    form.requestSubmit();
  });
  show(query);
}

// Search the site for the texts of a JSON file: node site_search.js FOLDER_OF_STATIC_FILES texts.json
"use strict";

const { readFileSync } = require("node:fs");
const { runInNewContext } = require("node:vm");

const [folder, texts] = process.argv.slice(2);
const scripts = ["search-index.js", "explain.js", "search.js"].map((name) => readFileSync(`${folder}/${name}`, "utf-8"));
const first = (text) => `search(${JSON.stringify(text)}, explain(${JSON.stringify(text)}).map((cause) => cause.rule))[0]?.page[0]`;
const asked = JSON.parse(readFileSync(texts, "utf-8"));
const found = `[${asked.map(first).join()}]`;
process.stdout.write(JSON.stringify(runInNewContext([...scripts, found].join("\n"), { module: {} })));

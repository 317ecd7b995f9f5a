// Answer the texts of a JSON file by docs/_static/explain.js: node site_explain.js explain.js tables.json texts.json
"use strict";

const { readFileSync } = require("node:fs");

const [script, tables, texts] = process.argv.slice(2);
globalThis.searchIndex = JSON.parse(readFileSync(tables, "utf-8"));
const { explain } = require(script);
process.stdout.write(JSON.stringify(JSON.parse(readFileSync(texts, "utf-8")).map(explain)));

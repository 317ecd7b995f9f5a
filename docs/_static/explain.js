// What `ltocompat explain` says of a text, in the browser, by the tables in search-index.js: those of the program
// (extension/error_search.py). Functions are named as in ltocompat/model/paste.py, rules/evidence.py, message_values.py,
// clients.py and messages.py; tests/test_site_explain.py holds both to the same answers.
"use strict";

const LONGEST = 200000;
const LONGEST_PATH = 300;
const TRIES = 16;
const BLANKS = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const BLANK = new RegExp(BLANKS);
const LINE_ENDS = /\r\n|[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]/;

const stripped = (text) => text.replace(new RegExp(`^${BLANKS}+|${BLANKS}+$`, "g"), "");
const words = (text) => text.split(new RegExp(`${BLANKS}+`)).filter(Boolean);
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\xa0", ndash: "–", hellip: "…" };

const regexes = new Map();
function regex(source, flags = "") {
  const key = `${flags}/${source}`;
  if (!regexes.has(key)) {
    const inline = source.startsWith("(?i)");
    regexes.set(key, new RegExp(inline ? source.slice(4) : source, inline && !flags.includes("i") ? `${flags}i` : flags));
  }
  return regexes.get(key);
}

// ---- A paste as programs wrote it (model/paste.py)

function unescapedHtml(text) {
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-z]{2,6}));?/g, (all, number, hex, name) => {
    if (name) return ENTITIES[name] ?? all;
    return String.fromCodePoint(Math.min(number ? Number(number) : parseInt(hex, 16), 0x10ffff));
  });
}

function undone(line) {
  const { paste } = searchIndex.explain;
  if (line.includes("\x1b")) line = line.replace(regex(paste.ansi, "g"), "");
  if (line.includes("&") || line.includes("<")) line = unescapedHtml(line.replace(regex(paste.tag, "g"), " "));
  line = line.replace(/[\u2018\u2019\u201a\u2032]/g, "'").replace(/[\u201c\u201d\u201e\u2033]/g, '"');
  line = line.replace(/\xa0/g, " ").replace(/[\uff01-\uff5e]/g, (wide) => String.fromCharCode(wide.charCodeAt(0) - 0xfee0));
  if (line.includes("\\")) {
    if (regex(`^(?:${paste.json})`).test(line)) {
      line = line.replace(regex(paste.escaped, "g"), (_, blank, number, letter) => {
        if (blank) return blank === "t" ? " " : "\n";
        return number ? String.fromCharCode(parseInt(number, 16)) : letter;
      });
    } else if (!regex(paste.unescaped).test(line)) {
      line = line.replace(regex(paste.markdown, "g"), "$1");
    }
  }
  return line.includes("**") ? line.replace(regex(paste.bullet, "g"), "") : line;
}

function withoutEdges(line) {
  const { paste } = searchIndex.explain;
  const left = line.match(regex(`^(?:${paste.leftEdge})`));
  const start = left ? left[0].length : 0;
  let end = line.replace(/[ \t]+$/, "").length;
  if (end > start && paste.edges.includes(line[end - 1])) end = line.slice(0, end - 1).replace(/[ \t]+$/, "").length;
  return line.slice(start, Math.max(start, end));
}

function pieces(lines) {
  const { paste } = searchIndex.explain;
  const found = [];
  lines.forEach((line, number) => {
    for (const part of undone(line).split("\n")) {
      const inside = withoutEdges(part);
      const text = inside.replace(regex(paste.logged.replace("\\A", "^")), "");
      if (stripped(text) && !regex(`^(?:${paste.rule})$`).test(text)) found.push({ text, line: number, width: inside.length });
    }
  });
  return found;
}

class Reading {
  constructor(parts) {
    this.starts = [];
    this.lines = [];
    const texts = [];
    let length = 0;
    for (const [text, line] of parts) {
      this.starts.push(length);
      this.lines.push(line);
      texts.push(text);
      length += text.length;
    }
    this.flat = texts.join("");
    this.lower = this.flat.toLowerCase();
    this.letters = new Uint32Array(this.flat.length + 1);
    for (let place = 0; place < this.flat.length; place++) {
      this.letters[place + 1] = this.letters[place] + (this.flat[place] !== " ");
    }
  }

  lineOf(place) {
    let number = this.starts.length - 1;
    while (number > 0 && this.starts[number] > place) number--;
    return this.lines[number];
  }
}

function joined(parts, width) {
  let cut = true;
  return parts.map((piece) => {
    const blank = cut && !BLANK.test(piece.text[0]) ? "" : " ";
    cut = Boolean(width) && piece.width >= width;
    return [blank + words(piece.text).join(" "), piece.line];
  });
}

function readings(lines) {
  const { paste } = searchIndex.explain;
  const parts = pieces(lines);
  const widest = parts.reduce((most, piece) => Math.max(most, piece.width), 0);
  const broken = new Reading(joined(parts, 0));
  const wrapped = new Reading(joined(parts, widest >= paste.narrowest ? widest : 0));
  return wrapped.flat === broken.flat ? [broken] : [broken, wrapped];
}

// ---- The machine that a text names (rules/evidence.py)

function valuesOf(name, text) {
  const found = [];
  for (const match of text.slice(0, LONGEST).matchAll(regex(searchIndex.explain.evidence[name], "g"))) {
    found.push(match.slice(1).find(Boolean));
  }
  return found;
}

function release(value) {
  if (value.includes(".")) return value;
  if (value.length > 3) return `${Math.floor(value / 1000)}.${Math.floor((value % 1000) / 10)}`;
  return `${value.slice(0, -1)}.${value.slice(-1)}`;
}

function wordsOfGpu(text) {
  const { gpus } = searchIndex.explain;
  const plain = stripped(text).replace(regex(gpus.vgpu, "i"), "").toLowerCase().replace(/\b([0-9]{3,4}) ?([gr]tx)\b/g, "$2 $1");
  const spaced = plain.replace(/[^0-9a-z]+|(?<=rtx)(?=a[0-9])/g, " ");
  return spaced.replace(regex(gpus.noise, "g"), " ").match(/[a-z]+|[0-9]+/g) || [];
}

function leftOut(said, full) {
  const missing = new Set();
  let kept = 0;
  for (let number = 0; number < full.length; number++) {
    const word = full[number];
    if (kept < said.length && said[kept] === word) {
      const before = number ? full[number - 1] : "";
      if (/^\d+$/.test(word) && before.length === 1 && missing.has(before)) return null;
      kept++;
    } else missing.add(word);
  }
  return kept === said.length ? missing : null;
}

function modelsNamed(text) {
  const { models, vendors, optional } = searchIndex.explain.gpus;
  if (text.length > 80) return [];
  let said = wordsOfGpu(text);
  for (const model of models) model.words ??= wordsOfGpu(model.name);
  const exact = models.filter((model) => model.words.join(" ") === said.join(" "));
  if (exact.length) return exact;
  said = said.filter((word) => !vendors.includes(word));
  if (!said.length) return [];
  const found = models.map((model) => [model, leftOut(said, model.words)]).filter(([, missing]) => missing);
  if (said.length > 1 || /^\d+$/.test(said[0])) {
    const usual = found.filter(([, missing]) => [...missing].every((word) => optional.includes(word)));
    if (usual.length) return usual.map(([model]) => model);
  }
  return found.map(([model]) => model);
}

function gpusOf(text) {
  return valuesOf("gpu", text)
    .map(modelsNamed)
    .filter((models) => new Set(models.map((model) => model.number)).size === 1)
    .map((models) => models[0].name);
}

const FERMI = ["20", "21"];

function evidence(text) {
  const { sms } = searchIndex.explain;
  const drivers = new Set(valuesOf("driver", text));
  const full = [...drivers].filter((value) => value.includes("."));
  const numbers = valuesOf("capability", text).map((value) => value.match(/\d+/g).join(""));
  const gpus = new Set(gpusOf(text));
  const read = {
    driver: [...drivers].filter((value) => !full.some((other) => other.startsWith(`${value}.`))),
    gpu: [...gpus],
    gpu_sm: [
      ...numbers.filter((number) => Number(number) in sms || FERMI.includes(number)),
      ...[...gpus].map((name) => String(modelsNamed(name)[0].number)),
      ...FERMI.filter((number) => valuesOf(`fermi${number}`, text).length),
    ],
  };
  for (const name of ["optix", "cmake", "family", "package", "building", "torch_release", "jax", "nvjitlink"]) read[name] = valuesOf(name, text);
  for (const name of ["module", "jetpack", "blender", "torch_major", "python", "tensorflow"]) read[name] = valuesOf(name, text);
  for (const name of ["nvcc", "toolkit", "torch", "said", "smi"]) read[name] = valuesOf(name, text).map(release);
  const once = {};
  for (const [name, values] of Object.entries(read)) if (new Set(values).size === 1) once[name] = values[0];
  if (read.gpu_sm.length && !("gpu_sm" in once)) {
    delete once.gpu;
    once.gpu_sms = [...new Set(read.gpu_sm)].sort((one, other) => one - other).join(";");
  }
  return once;
}

function ofAnotherVendor(text) {
  const { evidence: patterns } = searchIndex.explain;
  const other = regex(patterns.otherVendor).test(text) && !regex(patterns.nvidia).test(text);
  return other || regex(patterns.surelyOther).test(text);
}

// ---- What the tables make of a value (rules/message_values.py)

const parsed = (cuda) => cuda.split(".").slice(0, 2).map(Number);
const order = (one, other) => {
  const [a, b] = [parsed(one), parsed(other)];
  return a[0] - b[0] || a[1] - b[1];
};
const older = (one, other) => (order(one, other) <= 0 ? one : other);
const LAST_OF_OLD = "12.6";
const majorOf = (cuda) => String(parsed(cuda)[0]);
const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`);
const known = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value));

function branchOf(cuda) {
  const row = searchIndex.explain.branches.find(([, of]) => of === parsed(cuda).join("."));
  return row ? String(row[0]) : searchIndex.explain.earlier[parsed(cuda).join(".")] || "";
}

function index(cuda, first) {
  const same = searchIndex.explain.indexes.filter((row) => first || majorOf(row) === majorOf(cuda));
  const least = order(cuda, "11.8") < 0 ? "11.8" : cuda;
  const fit = same.filter((row) => (first ? order(row, least) >= 0 : order(row, cuda) <= 0));
  const row = first ? fit[0] : fit.at(-1);
  return row ? `cu${row.replace(".", "")}` : "";
}

function nextMajor(major) {
  const { floors } = searchIndex.explain;
  return floors[major] ? { next: String(floors[major]), next_major: String(major) } : {};
}

const ofCuda = (text) => known({
  major: majorOf(text),
  branch: branchOf(text),
  feature: `cuda-${parsed(text).join("0")}0`,
  index: index(text, false),
  gcc: searchIndex.explain.hosts.find(([cuda]) => cuda === text)?.[1],
  digits: parsed(text).join(""),
  dashed: parsed(text).join("-"),
  ...nextMajor(Number(majorOf(text)) + 1),
  ...searchIndex.explain.old[text],
});

function ofPtx(isa) {
  const cuda = searchIndex.explain.ptx[isa];
  return cuda ? { cuda, branch: branchOf(cuda) } : {};
}

function ofDriver(text) {
  const { branches, floors, optix } = searchIndex.explain;
  const table = new Map(branches);
  const named = Number(text.split(".")[0]);
  const branch = table.has(named - (named % 5)) ? named - (named % 5) : named;
  const cuda = table.get(branch);
  const releases = optix.filter(([, first]) => first <= branch);
  const own = { own_branch: String(branch), optix: releases.length ? releases.at(-1)[0] : "" };
  if (!cuda) return own;
  return { ...own, ...ofCuda(cuda), cuda, branch: String(branch) };
}

function ofSm(text) {
  const match = text.match(/^(\d{2,3})([af]?)$/);
  const row = match && searchIndex.explain.sms[Number(match[1])];
  if (!row) return searchIndex.explain.fermi[text] || {};
  let { first } = row;
  if (match[2] === "f" && order(first, "12.9") < 0) first = "12.9";
  else if (text === "90a") first = "12.0";
  const number = String(Number(match[1]));
  const cc = `${number.slice(0, -1)}.${number.slice(-1)}`;
  return { name: row.name, cc, kokkos: `${row.name.toUpperCase()}${number}`, first, last: row.last, branch: row.branch, index: row.jetson ? "" : row.last ? (row.last === "12.9" ? "cu126" : "") : index(first, true), jetson: row.jetson };
}

const DERIVED = {
  ptx: ofPtx,
  reads: ofPtx,
  linker_reads: ofPtx,
  cuda: ofCuda,
  newer: (text) => ({ cuda: release(text) }),
  tool: (text) => ({ cuda: release(text) }),
  driver: ofDriver,
  sm: ofSm,
  gpu_sm: ofSm,
  build: ofCuda,
  nvcc: ofCuda,
  said: ofCuda,
  toolkit: ofCuda,
  torch: ofCuda,
  symbol: (text) => searchIndex.explain.symbols[text] || {},
  optix: (text) => ({ branch: String(searchIndex.explain.optix.find(([name]) => name === text)?.[1] || "") }),
};

function madeWith(values) {
  for (const name of ["nvcc", "toolkit", "torch", "said"]) {
    const made = values[name];
    if (made && (!values.driver_cuda || order(made, values.driver_cuda) > 0)) {
      return known({ made, made_branch: branchOf(made), made_major: majorOf(made) });
    }
  }
  return {};
}

function visualStudio(values) {
  const { hosts, studio } = searchIndex.explain;
  let newest = 0;
  for (const [cuda, , , msvc] of hosts) {
    if (values.build === cuda) newest = msvc;
    else if (newest && msvc > newest) {
      return { host_is: studio[newest], host_next: cuda, host_next_is: studio[msvc] };
    }
  }
  return {};
}

function hostCompiler(values) {
  if ((values.compiler || "").startsWith("Microsoft")) return visualStudio(values);
  const host = values.host || values.build_gcc;
  if (!host) return {};
  const clang = "host" in values && values.compiler === "clang";
  const [name, command] = clang ? ["clang", "clang++"] : ["gcc", "g++"];
  const newest = Math.floor(host) - clang;
  const said = newest === 4 ? host : newest;
  const found = { host_is: `${name} ${said}`, host_command: `${command}-${said}`, [`host_${name}`]: String(said) };
  const row = searchIndex.explain.hosts.find(([, gcc, other]) => (clang ? other : gcc) > newest);
  if (!row) return found;
  return { ...found, host_next: row[0], host_next_is: `${name} ${clang ? row[2] : row[1]}` };
}

function packageOf(values) {
  const { files, last_of, of_a_cuda, of_package } = searchIndex.explain;
  const file = (values.file || "").split(/[\\/]/).at(-1);
  const found = {};
  const numbered = file.match(regex(`^${of_a_cuda}`));
  const cuda = numbered && (last_of[numbered[1]] ?? numbered.slice(1, 3).filter(Boolean).join("."));
  if (cuda?.includes(".")) found.file_cuda = cuda;
  const known = files[file.toLowerCase().endsWith(".dll") ? file.toLowerCase() : file];
  if (!known) return found;
  const major = values.torch_major || values.made_major;
  const fit = known.packages.filter(([name]) => name.endsWith(`-cu${major || 12}`));
  const rows = fit.length ? fit : known.packages;
  if (rows.length !== 1) return found;
  const [[name, version]] = rows;
  const others = major ? [] : known.packages.filter(([other]) => other !== name).map(([other]) => other);
  const part = name.match(/nvidia-(.+)-cu\d/);
  const folder = part ? part[1].replaceAll("-", "_") : `cu${known.major}`;
  Object.assign(found, { file_package: quoted(name + version), package_folder: of_package.replace("%s", folder) });
  return others.length ? { ...found, package_note: `for another CUDA: ${others.join(", ")}` } : found;
}

function endOf(path) {
  if (path.length <= 48) return path;
  const tail = path.slice(-48);
  return `...${tail.slice(Math.max(tail.indexOf("/"), 0))}`;
}

function derived(values) {
  let found = {};
  for (const [name, value] of Object.entries(values)) found[name.replace(/_+$/, "")] = value.replace(/\.+$/, "");
  if ("cc" in found) found.sm = found.cc.replaceAll(".", "");
  const ofBuild = found.nvcc ?? found.toolkit ?? found.said;
  if (ofBuild) found.build = ofBuild;
  for (const [name, derive] of Object.entries(DERIVED)) {
    if (!(name in found)) continue;
    for (const [part, value] of Object.entries(known(derive(found[name])))) found[`${name}_${part}`] = value;
  }
  for (const [name, table] of Object.entries(searchIndex.explain.known)) {
    for (const [part, value] of Object.entries(table[found[name]] || {})) found[`${name}_${part}`] = value;
  }
  if ("building" in found) found.package = found.building;
  if ("code" in found) found.smi = `${Math.floor(found.code / 1000)}.${Math.floor((found.code % 1000) / 10)}`;
  if ("smi" in found) {
    const of = Object.entries(ofCuda(found.smi)).map(([part, value]) => [`driver_${part}`, value]);
    found = { driver_cuda: found.smi, ...Object.fromEntries(of), ...found };
  }
  if (found.driver_major === "11") found.driver_index = index(searchIndex.explain.last_of["11"]);
  if ("over" in found) found.host = String((Number(found.over[0]) * 10 + Number(found.over[2]) - 1) / 10);
  Object.assign(found, madeWith(found));
  Object.assign(found, hostCompiler(found), packageOf(found));
  if ((found.symbol || "").length > 60) found.symbol = `${found.symbol.slice(0, 60)}...`;
  if ("gpu_sm" in found && found.gpu_sm === (found.sm || "").replace(/[af]+$/, "")) found.same_gpu = "";
  const torch = found.torch || "0.0";
  const tooNew = found.gpu_sm_last && order(torch, "12.6") > 0;
  if (found.gpu_sm_first && order(torch, found.gpu_sm_first) >= 0 && !tooNew) delete found.gpu_sm_index;
  const { build } = found;
  const native = build && !("no_native" in found) && order(build, "11.6") >= 0 && order(found.cmake || "3.24", "3.24") >= 0;
  found.gpu_arch = found.gpu_sm || (native ? "native" : "XY");
  found.gencode = found.gpu_arch === "native" ? "-arch=native" : `-gencode arch=compute_${found.gpu_arch === "21" ? "20" : found.gpu_arch},code=sm_${found.gpu_arch}`;
  found.gpu_note = found.gpu_arch === "XY" ? " (XY stands for the compute capability without the dot)" : "";
  const gpus = (found.gpu_sms ?? found.gpu_sm ?? "").split(";").map(ofSm);
  found.gpu_ccs = gpus.map(({ cc }) => cc).filter(Boolean).join(",");
  const first = gpus.reduce((least, of) => (order(of.first || "0.0", least) > 0 ? of.first : least), "0.0");
  const last = gpus.reduce((most, of) => older(of.last || "99.9", most), "99.9");
  if (build && order(first, last) <= 0) {
    if (order(build, first) < 0) {
      const fit = Object.entries(searchIndex.explain.sms).filter(([, row]) => order(row.first, build) <= 0 && !row.tegra);
      found.gpu_ptx = String(Math.max(...fit.map(([number]) => Number(number))));
      found.gpu_needs = first;
    } else if (order(build, last) > 0) found.gpu_needs = last;
  }
  const major = found.major || (found.builtins ?? found.ptx_cuda ?? "").split(".")[0];
  found.cu_suffix = major === "12" ? "-cu12" : major === "11" ? "-cu11" : "";
  if ("needs_file" in found) {
    found.needs_path = endOf(found.needs_file);
    found.needs_argument = quoted(found.needs_file);
  }
  const place = found.file || found.needs_file;
  found.file_argument = place ? quoted(place) : "FILE";
  return found;
}

// The same values: no CUDA that dropped the GPU, no index without wheels for the Python.
function fittingValues(values) {
  const last = values.gpu_sm_last || "99.9";
  let newest = searchIndex.explain.last_index[values.python] || "99.9";
  if (values.gpu_sm_last) newest = older(older(newest, last), LAST_OF_OLD);
  const found = { ...values };
  if (order(values.driver_cuda || "0.0", last) > 0) {
    found.driver_cuda = last;
    for (const [part, value] of Object.entries(ofCuda(last))) found[`driver_${part}`] = value;
  }
  for (const name of ["driver_index", "gpu_sm_index"]) {
    if (!(name in found) || order(release(found[name].slice(2)), newest) <= 0) continue;
    found[name] = index(newest, false) || found[name];
  }
  return found;
}

const dropped = (values) => "sm_last" in values && (!values.build || order(values.build, values.sm_first) >= 0);
const neededBranch = (cuda) => Number(searchIndex.explain.floors[majorOf(cuda)] || branchOf(cuda) || 0);
const CONDITIONS = {
  "": () => true,
  "no such architecture": (values) => !("sm_first" in values),
  dropped,
  "newer than the tool": (values) => "sm_first" in values && !dropped(values),
  "no driver for the GPU": (values) => {
    const needed = neededBranch(values.cuda || values.made || "9.2");
    return Number(values.gpu_sm_branch || needed) < needed;
  },
  "GPU is too old": ({ gpu_sm_cc, sm_cc }) => order(gpu_sm_cc || "99.9", sm_cc || "6.0") < 0,
  "GPU is newer than the build": ({ build, gpu_sm_first }) => order(build || "99.9", gpu_sm_first || "0.0") < 0,
  removed: (values) => "symbol_last" in values,
  "another nvcc is used": ({ build, sm_first, sm_last }) =>
    order(sm_first || "99.9", build || "0.0") <= 0 && order(build || "0.0", sm_last || "99.9") <= 0,
  "driver is older than PyTorch": ({ driver_own_branch, torch }) =>
    Number(driver_own_branch || 999) < neededBranch(torch || "0.0"),
  "file is newer than the driver": ({ major, driver_major }) => Number(major) > Number(driver_major || 99),
  "names no driver": (values) => !("driver" in values) && !("driver_cuda" in values),
  "driver reads Zstandard": (values) => "driver" in values && order(`${values.driver}.0`, "550.54") >= 0,
  "may be Zstandard": (values) =>
    ["nvcc", "toolkit", "torch"].every((name) => !values[name] || order(values[name], "12.8") >= 0),
  "driver is new enough": (values) => {
    const majors = ["nvcc", "toolkit", "torch"].filter((name) => name in values).map((name) => `${name}_major`);
    const needed = majors.length ? Math.max(...majors.map((name) => Number(values[name]))) : 13;
    if (values.made_branch && values.made !== values.said) return Number(values.driver_own_branch || 0) >= Number(values.made_branch);
    return !("made" in values) && Number(values.driver_major || 0) >= needed;
  },
};

// ---- Who speaks in a text, and what it shows of libraries (rules/clients.py)

const systemOf = (whole) => searchIndex.explain.speakers.system.find((row) => regex(row.find).test(whole));

function told(template, { values, alien, forms }, unfit) {
  let sentence = filled(template, values, alien, unfit);
  for (const [pattern, words] of forms) sentence = sentence.replace(regex(pattern, "g"), words);
  return sentence;
}

function said(whole, flat, place, values, sentences) {
  const { client, ecosystem, source } = searchIndex.explain.speakers;
  const start = Math.max(place - 4000, 0);
  const near = flat.slice(start, place + 4000);
  let nearest = null;
  for (const row of client) {
    for (const match of near.matchAll(regex(row.find, "g"))) {
      const away = values.package?.includes(match[0]) ? -1 : Math.floor(Math.abs(start + match.index - place) / 200);
      if (!nearest || away < nearest.away) nearest = { away, row };
    }
  }
  const built = nearest?.row.says.source && source[0];
  const ofText = systemOf(whole);
  const around = ecosystem.filter((row) => regex(row.find).test(near));
  const alien = alienTo([ofText, ...(nearest ? [nearest.row] : []), ...around], nearest?.row);
  const foreign = [ofText, ...around].some((row) => row.alien.includes("clients"));
  const isOwn = !foreign || !regex(alien).test(Object.values(nearest?.row.says ?? {}).join(" "));
  const rows = [ofText, isOwn ? nearest?.row : null, built, ...around];
  const cuda = values.driver_major || values.made_major || values.file_cuda;
  const majors = [cuda, values.gpu_sm_last].filter(Boolean).map(majorOf);
  const major = majors.length ? String(Math.min(...majors.map(Number))) : "";
  const sentence = (name, known) => {
    for (const row of rows) {
      const text = row?.says[`${name}-${major}`] ?? row?.says[name];
      const words = text && filled(text, known, alien);
      if (words) return words;
    }
    return "";
  };
  const all = built ? { ...values, source: nearest.row.says.source } : { ...values };
  for (const [name, asked, says] of searchIndex.explain.releases) {
    if (!(name in values)) continue;
    const known = { release: values[name], underscored: values[name].replaceAll(".", "_") };
    if (order(values[name], "11.3") >= 0) Object.assign(known, { packaged: values[name], dashed: values[name].replaceAll(".", "-") });
    all[asked] = sentence(says, known);
  }
  const asked = [...sentences.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  if (alien) asked.push("elsewhere");
  const names = asked.filter((name) => !(name in values));
  return [known(Object.fromEntries(names.map((name) => [name, all[name] || sentence(name, all)]))), alien, [ofText, ...around].flatMap((row) => row.typed)];
}

// The pattern of lines that are of no use where all of these speak.
function alienTo(rows, nearest) {
  const names = new Set(rows.flatMap((row) => row.alien));
  const table = Object.values(searchIndex.explain.speakers).flat().filter((row) => row.lines);
  if (!names.has("clients")) {
    const text = Object.values(nearest?.says ?? {}).join(" ");
    for (const row of table) if (row.find !== "(?!)" && regex(row.lines).test(text)) names.delete(row.name);
  }
  for (const name of rows.flatMap((row) => [row.name, ...row.along])) names.delete(name);
  return table.filter((row) => names.has(row.name)).map((row) => row.lines).join("|");
}

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

function shown(flat, values) {
  const { wheel, listed } = searchIndex.explain.evidence;
  const file = values.file || "";
  const [stem] = file.split(".so.");
  const numbered = file.includes(".so.");
  const named = (values.file_package || "").match(/nvidia-([a-z-]+)-cu\d/);
  const part = named ? named[1] : (values.library ?? stem.replace(/^lib/, "")).toLowerCase();
  const packages = new Map();
  for (const hit of flat.matchAll(regex(wheel.replace("%s", escaped(part)), "g"))) packages.set(hit[2], hit);
  const found = {};
  if (packages.size > 1) {
    found.twice = [...packages.values()].map((hit) => hit[1]).join(" ");
    found.kept = (packages.get(values.torch_major) || packages.get([...packages.keys()].sort().at(-1)))[1];
  }
  const here = new Map();
  if (numbered) {
    for (const [, folder, name] of flat.matchAll(regex(listed, "g"))) {
      if (name.startsWith(`${stem}.so.`) || name.startsWith(`${stem}-`)) here.set(name, folder);
    }
    if (named) for (const hit of packages.values()) here.set(`${stem}.so.${hit[3]}`, values.package_folder);
  }
  for (const [name, folder] of here) {
    if (`${name}.`.startsWith(`${file}.`)) return { ...found, there: folder };
    if (name.replace(/-[0-9a-f]{8}(?=\.so\.)/, "") === file) return { ...found, renamed: name, renamed_folder: folder };
  }
  const others = [...here.keys()].filter((name) => name.startsWith(`${stem}.so.`)).sort();
  return others.length ? { ...found, other_file: others[0] } : found;
}

// ---- Fixes that ask for nothing that the machine of a text rules out (rules/fitting.py)

const ANY = 99;
const ASIDE = /(?<!newer) \((?:[^()]|\([^()]*\))*\)/g;

function fitting(template, of) {
  const values = fittingValues(of.values);
  const match = { ...of, values };
  const fix = told(template, match);
  if (!reasonsOf(fix, values).length) return fix;
  const { asked } = searchIndex.explain;
  const fit = told(template, match, (part) => reasonsOf(part, values).length > 0);
  const reasons = Object.fromEntries(reasonsOf(fix.replace(ASIDE, ""), values).reverse());
  if (!Object.keys(reasons).length || askedOf(fit).length || regex(asked.there.keep_driver[1]).test(fit)) return fit;
  const known = { ...values, ...values.system.says, ...reasons, branch: String(neededBranch(reasons.newer_cuda || "0.0")) };
  const cured = { ...values };
  const cures = "keep_driver" in values.system.says ? {} : asked.cures;
  for (const [by, [of, to]] of Object.entries(cures)) if (by in reasons) cured[of] = to;
  if (typeof cured.system === "string") cured.system = searchIndex.explain.speakers.system.find((row) => row.name === cured.system);
  const why = Object.entries(asked.because).filter(([kind]) => kind in reasons).map(([, text]) => told(text, { ...match, values: known }));
  const rest = told(template, match, (part) => reasonsOf(part, cured).length > 0);
  return stripped([...why, rest].join(" "));
}

function reasonsOf(text, values) {
  const { asked, sms } = searchIndex.explain;
  const { says } = values.system;
  const python = values.python || "99.9";
  const wheels = Object.entries(asked.python).filter(([of, it]) => order(python, of) < 0 && regex(it).test(text));
  const there = Object.entries(asked.there).filter(([name, [, it]]) => name in says && regex(it).test(text));
  const found = [...wheels.map(([of]) => ["needs", of]), ...there.map(([, [kind]]) => [kind, ""])];
  if (!("gpu_sm" in values || "driver_cuda" in values)) return found;
  const last = values.gpu_sm_last || "99.9";
  const own = values.driver_cuda || "99.9";
  const runs = majorOf(own) > 10 ? `${majorOf(own)}.${ANY}` : own;
  const alike = Object.keys(sms).filter((number) => Math.floor(number / 10) === Math.floor((values.gpu_sm || 0) / 10));
  const first = alike.map((number) => sms[number].first).reduce(older, "99.9");
  for (const [words, least, most] of askedOf(text)) {
    const ofBuild = /^cu\d{3}/.test(words) && values.gpu_sm_last;
    if (order(least, ofBuild ? older(last, LAST_OF_OLD) : last) > 0) found.push(["code", least]);
    else if (alike.length && order(most, first) < 0) found.push(["older_code", least]);
    else if (order(least, runs) > 0 && !words.startsWith("to R")) found.push(["newer_cuda", least]);
  }
  for (const [, branch] of text.matchAll(regex(asked.branch, "g"))) {
    if (branch > (values.gpu_sm_branch || branch)) found.push(["gpu_branch", branch]);
  }
  return found;
}

function askedOf(text) {
  const { not, cuda } = searchIndex.explain.asked;
  return [...text.replace(regex(not, "g"), "").matchAll(regex(cuda.join("|"), "g"))].map((hit) => {
    const [major, minor] = [...hit.slice(1).filter(Boolean), ...(hit.slice(1).some(Boolean) ? [] : ["12"])];
    const most = hit[0].endsWith("newer") ? `${ANY}.0` : `${major}.${minor || ANY}`;
    return [hit[0], `${major}.${minor || 0}`, most];
  });
}

// ---- Commands that a text shows as run, for which its fix doesn't ask again (rules/tried.py)

function untried(fix, text) {
  const { tried } = searchIndex.explain;
  const ran = [...text.matchAll(regex(tried.ran, "g"))].map(([, command]) => wordsOfCommand(command));
  if (!ran.length || !fix) return fix;
  for (const { 0: part, index: start } of fix.matchAll(regex(tried.part, "g"))) {
    const commands = part.replace(/ \((?:[^()]|\([^()]*\))*\)/g, "").match(regex(tried.command, "g")) || [];
    const asked = commands.map(wordsOfCommand);
    const done = asked.length && asked.every((it) => it.size > 1 && ran.some((of) => [...it].every((word) => of.has(word))));
    if (done || (start && regex(`^(?:${tried.goes_on})`).test(part))) continue;
    const left = fix.slice(start).replace(regex(tried.leads), "");
    const begins = start && !regex(`^(?:${tried.command})`).test(left);
    return begins ? left.slice(0, 1).toUpperCase() + left.slice(1) : left;
  }
  return tried.enough + fix;
}

function wordsOfCommand(command) {
  const { word, alike } = searchIndex.explain.tried;
  return new Set((command.match(regex(word, "g")) || []).map((of) => alike[of] ?? of));
}

// ---- Causes that a text names (rules/messages.py)

function places(message, reading, explained, flags) {
  const { flat, lower, letters } = reading;
  const there = flags
    ? message.find.some((fixed) => lower.includes(fixed.toLowerCase()))
    : message.find.some((fixed) => flat.includes(fixed));
  if (!there) return [];
  if (message.beside && !regex(message.beside, flags).test(flat)) return [];
  if (message.unless && regex(message.unless, flags).test(flat)) return [];
  return [...flat.matchAll(regex(message.pattern, `g${flags}`))].filter((place) => {
    const [start, end] = [letters[place.index], letters[place.index + place[0].length]];
    return !explained.subarray(start, end).includes(1);
  });
}

function firstThatHolds(message, found, lines, reading, machine, whole) {
  const unknown = (place) => place.slice(1).filter((value) => value === undefined).length;
  for (const place of found.slice(0, TRIES).sort((one, other) => unknown(one) - unknown(other))) {
    const groups = known(place.groups || {});
    const before = reading.flat.slice(Math.max(0, place.index - LONGEST_PATH), place.index);
    const user = before.match(regex(searchIndex.explain.evidence.user));
    if (user) groups.needs_file ??= user[1] || user[2];
    const values = derived({ ...machine, ...groups });
    if (CONDITIONS[message.when || ""](values)) {
      Object.assign(values, { system: systemOf(whole) }, shown(whole, values));
      const sentences = message.cause + message.fix + message.check;
      const [words, alien, forms] = said(whole, reading.flat, place.index, fittingValues(values), sentences);
      return { message, values: { ...values, ...words }, alien, forms, found: place[0], line: stripped(lines[reading.lineOf(place.index)]) };
    }
  }
  return null;
}

function matchesWith(lines, read, flags) {
  const found = [];
  const explained = new Uint8Array(read[0].flat.length + 1);
  let machine = null;
  for (const message of searchIndex.messages) {
    for (const reading of read) {
      const there = places(message, reading, explained, flags);
      if (!there.length) continue;
      machine ??= evidence(read[0].flat);
      const match = firstThatHolds(message, there, lines, reading, machine, read[0].flat);
      if (!match) continue;
      found.push(match);
      for (const place of there) {
        explained.fill(1, reading.letters[place.index], reading.letters[place.index + place[0].length]);
      }
      break;
    }
  }
  return found;
}

function filled(template, values, alien = "", unfit = () => false) {
  const lost = "\0";
  const isAlien = (part) => part.includes(lost) || (alien && regex(alien).test(part)) || unfit(part);
  const fill = (text) => text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "?");
  let sentence = "";
  let end = 0;
  for (const optional of template.matchAll(/\[\[(.*?)\]\]/g)) {
    sentence += fill(template.slice(end, optional.index));
    const whole = (part) => [...part.matchAll(/\{(\w+)\}/g)].every(([, name]) => name in values);
    const told = optional[1].split("|").filter(whole).map(fill);
    const left = told.some((part) => /^[\p{L}\p{N}]/u.test(part)) ? lost : "";
    sentence += told.map((part) => own(part, isAlien)).find(Boolean) ?? left;
    end = optional.index + optional[0].length;
  }
  return own(sentence + fill(template.slice(end)), isAlien).replace(/^[;, ]+/, "");
}

// The clauses of a text that are told to its reader, who is in one ecosystem, on one machine.
function own(text, isAlien) {
  if (!isAlien(text)) return text;
  const { aside, clause: parts, leads } = searchIndex.explain.clauses;
  const left = text.replace(regex(aside, "g"), (_, inner) => {
    const words = own(inner, isAlien);
    return words && ` (${words})`;
  });
  let [kept, before, goesOn] = ["", "", false];
  for (const [, clause, after] of left.matchAll(regex(parts, "g"))) {
    goesOn = Boolean(isAlien(clause)) || (goesOn && before === ", and ");
    if (!goesOn) kept += kept ? before + clause : clause.replace(regex(leads), "");
    before = after;
  }
  if (/^\p{Lu}/u.test(text)) kept = kept.slice(0, 1).toUpperCase() + kept.slice(1);
  return kept && text.endsWith(".") && !kept.endsWith(".") ? `${kept}.` : kept;
}

function shortened(text) {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST / 2)}\n${text.slice(-LONGEST / 2)}`;
}

function matches(text) {
  const lines = text.split(LINE_ENDS);
  const read = readings(lines);
  let found = matchesWith(lines, read, "");
  if (!found.length) found = matchesWith(lines, read, "i");
  return found.length && ofAnotherVendor(`${read[0].flat} ${text}`) ? [] : found;
}

// Causes of a text, the one that decides first: its rule, the line, and what to say of it.
function explain(text) {
  const whole = shortened(text);
  let found = matches(whole);
  if (!found.length) {
    found = named(stripped(text)).flatMap(([word, said]) => {
      const line = stripped(whole.split(LINE_ENDS).find((row) => row.includes(word)));
      return matches(whole.replaceAll(word, () => said)).map((match) => ({ ...match, line }));
    });
  }
  const causes = new Map();
  const shared = new Set();
  for (const match of found) {
    const { message, values, line } = match;
    const { rule } = message;
    if (shared.has(rule) || causes.has(rule)) continue;
    const cause = filled(message.cause, values);
    const fix = untried(fitting(message.fix, match) || fitting("{elsewhere}", match), whole);
    const check = told(message.check, match) || "nvidia-smi";
    causes.set(rule, { rule, line, cause, fix, check });
    for (const other of message.also || []) shared.add(other);
  }
  return [...causes.values()];
}

// An error by its name or number alone, or as Rust prints it (commands/explain.py).
function named(text) {
  const { bare, evidence: patterns, spelled, errors } = searchIndex.explain;
  const alone = text.match(regex(`^(?:${bare})$`));
  const names = alone ? [alone.groups.word] : text.slice(0, LONGEST).match(regex(patterns.rustError, "g")) || [];
  return [...new Set(names)].flatMap((name) => {
    const key = /^\d+$/.test(name) ? String(Number(name)) : name.replace(regex(spelled, "gi"), "").toLowerCase();
    return (errors[key] || []).map((said) => [name, said]);
  });
}

if (typeof module !== "undefined") module.exports = { explain };

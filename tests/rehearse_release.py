"""Rehearses the next CUDA release: ``python tests/rehearse_release.py [--driver] [WORDS ...]``.

A copy of the checkout gets the rows that ``draft_release.py`` would write for a release that nobody
has made yet, with all blanks filled; its pages are renewed, and its quick tests run there, with
WORDS for pytest. A test that is red names the newest release where it should ask the tables.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from draft_release import RENEWED
from facts_release.dated import today
from facts_release.draft import BLANKS, ROOT
from facts_release.table_text import Row, Tables

from ltocompat.facts import drivers, nvjitlink_minors

OLD = nvjitlink_minors()[-1]
NEW = f"{OLD.major}.{OLD.minor + 1}"
NEW_BRANCH = drivers.driver_branches()[-1] + 5
SOURCE = "forged: a rehearsal of the next release"
TODAY = today()
NVVM_IR_MINOR = 7
"""The place of the byte in a header of LTO-IR (``measure_headers.py``)."""


def always(_: Row) -> bool:
    return True


def renumbered(value: Any) -> Any:  # noqa: ANN401 - any value of a row
    return value.replace(str(OLD), NEW) if isinstance(value, str) else value


def forge(checkout: Path, *, driver: bool) -> None:
    """Put the next release into the tables, samples and recorded links of a checkout."""
    samples = checkout / "sample_artifacts"
    tables = Tables(checkout / "ltocompat" / "facts", samples)
    for table in ("nvjitlink", "nvlink"):
        for row in [r for r in tables.rows(table, "release") if r["cuda"] == str(OLD)]:
            forged = {key: renumbered(value) for key, value in row.items()}
            forged |= {key: forged_sum(row[key]) for key in row if key.endswith("sha256")}
            tables.insert(table, "release", forged, same_platform(row["platform"]))
    for row in [r for r in tables.rows("toolkit_pins", "pin") if r["toolkit"].startswith(str(OLD))]:
        pin = {key: renumbered(value) for key, value in row.items()}
        tables.insert("toolkit_pins", "pin", pin, always)
    newest = tables.rows("ltoir", "release")[-1]
    versions = {"nvvm_ir": next_minor(newest["nvvm_ir"]), "source": SOURCE, "date": TODAY}
    tables.insert("ltoir", "release", {**newest, "cuda": NEW, **versions}, always)
    isa = next_minor(tables.rows("ptx", "isa")[-1]["isa"])
    about = {"source": SOURCE, "date": TODAY}
    tables.insert("ptx", "isa", {"isa": isa, "cuda": NEW, **about}, always)
    tables.substitute("nvjitlink_results", rf'(?<= \.\. ){OLD}(?=")', NEW)
    compiler = {key: renumbered(v) for key, v in tables.rows("compilers", "compiler")[-1].items()}
    tables.insert("compilers", "compiler", {**compiler, "ptx_isa": isa}, always)
    toolkit = {"cuda": NEW, "update": "GA", **about}
    if driver:
        toolkit = {"cuda": NEW, "update": "GA", "linux": f"{NEW_BRANCH}.10.01", **about}
        tables.insert("drivers", "branch", {"branch": NEW_BRANCH, "cuda": NEW, **about}, always)
        forge_compat(tables, about)
    tables.insert("drivers", "toolkit", toolkit, always)
    for table, fact in BLANKS.items():
        named = driver and not table.startswith("gpus")
        said = "CUDA Compatibility guide, forged edition" if named else f"none: {SOURCE}"
        row = {"cuda": NEW, "table": table, "fact": fact, "source": said, "date": TODAY}
        tables.insert("blanks", "blank", row, always)
    tables.save()
    forge_sample(samples, "ltoir/nvrtc-{0}-lto_80.ltoir", known=True)
    # Scrambled LTO-IR shows its container alone, which the new release writes, too.
    forge_sample(samples, "fatbin-ltoir/nvfatbin-{0}-of-{0}-lto_80.fatbin", known=False)
    forge_links(checkout / "tests" / "data" / "ltoir_links.json")


def forge_compat(tables: Tables, about: Row) -> None:
    """A cuda-compat package that is built from the new branch, over every base that is known."""
    packages = tables.rows("compat", "package")
    for row in packages:
        tables.change("compat", "package", row, {**row, "none": [*row["none"], NEW_BRANCH]})
    newest = packages[0]
    lists = {"usable": newest["usable"] + newest["native"], "native": [NEW_BRANCH], "none": []}
    tables.insert("compat", "package", {"package": NEW, **lists, **about}, lambda _: False)


def forged_sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def same_platform(platform: str) -> Callable[[Row], bool]:
    return lambda row: row["platform"] == platform


def next_minor(version: str) -> str:
    major, minor = version.split(".")
    return f"{major}.{int(minor) + 1}"


def forge_sample(samples: Path, name: str, *, known: bool) -> None:
    """LTO-IR of the new release: the newest; where it is known, its header says so."""
    old, new = (name.format(release) for release in (OLD, NEW))
    data = bytearray((samples / old).read_bytes())
    data[NVVM_IR_MINOR] += known
    (samples / new).write_bytes(data)
    manifest = samples / "MANIFEST.toml"
    text = manifest.read_text("utf-8")
    (block,) = (b for b in text.split("\n[[artifact]]\n") if b.startswith(f'path = "{old}"'))
    forged = block.replace(str(OLD), NEW)
    before = hashlib.sha256((samples / old).read_bytes()).hexdigest()
    forged = forged.replace(before, hashlib.sha256(data).hexdigest())
    manifest.write_text(text.replace(block, f"{block}\n[[artifact]]\n{forged}"), "utf-8")


def forge_links(path: Path) -> None:
    """A row and a column: the newest linker takes all, and none before it takes the newest."""
    document = json.loads(path.read_text("utf-8"))
    for table in document["tables"].values():
        for outcomes in table.values():
            outcomes[NEW] = outcomes[str(OLD)]
        table[NEW] = dict.fromkeys(table[str(OLD)], "refused") | {NEW: "linked"}
    path.write_text(json.dumps(document, indent=1) + "\n", "utf-8")


def copy_of_checkout(folder: Path) -> None:
    """The files that git knows, or would know, as they are now."""
    listed = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = subprocess.run(listed, check=True, stdout=subprocess.PIPE, cwd=ROOT, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--driver", action="store_true", help="it has a driver branch of its own")
    parser.add_argument("words", nargs="*", help="for pytest, behind --")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rehearsal-") as folder:
        copy_of_checkout(Path(folder))
        forge(Path(folder), driver=options.driver)
        environment = {**os.environ, "PYTHONPATH": folder}
        for script in RENEWED:
            words = [script, "--no-trials"] if script == "tests/readme.py" else [script]
            subprocess.run([sys.executable, *words], cwd=folder, env=environment, check=True)
        command = [sys.executable, "-m", "pytest", *options.words]
        sys.exit(subprocess.run(command, cwd=folder, env=environment, check=False).returncode)


if __name__ == "__main__":
    main()

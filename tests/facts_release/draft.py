"""The rows of one CUDA release, measured and written into the tables of facts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.version import Version

from facts_release import published
from facts_release.dated import today
from facts_release.published import LINUX, PLATFORMS, Index, Pin
from facts_release.table_text import Row, Tables
from ltocompat.files.images import ltoir
from ltocompat.model.image import LtoIrVersions

ROOT = Path(__file__).parent.parent.parent
SAMPLES = ROOT / "sample_artifacts"
FACTS = ROOT / "ltocompat" / "facts"
# What no package tells: the table and its array, and the fact with NVIDIA's page for it.
BLANKS = {
    "drivers.toml, branch": "the driver branch; CUDA Compatibility guide, its newest edition",
    "compat.toml, package": "the bases of its cuda-compat package; CUDA Compatibility guide",
    "gpus.toml, gpu": "GPUs that are new with it; CUDA GPU compute capability, NVIDIA's list",
}


class DraftError(Exception):
    """The release can't be drafted; the message says what a maintainer has to do."""


@dataclass(frozen=True)
class Compiler:
    """What one NVRTC says and writes."""

    package: str
    version: str
    architectures: frozenset[int]
    ptx_isa: str
    ltoir: LtoIrVersions
    llvm: str


def draft(release: str, index: Index, tables: Tables) -> None:
    """Measure a release (``13.6``) and put its rows into the tables; nothing is written to disk.

    Of one that stands there, rows that lack are added (those of an update, 12.9.2, say), and what
    says something else now is written anew; all else stays, with its date.

    Raises:
        DraftError: the index lacks the release, or it renames something.
    """
    toolkits = index.versions("cuda-toolkit", release)
    pins = [
        pin
        for version in toolkits
        for pin in published.pins(index.wheel(f"cuda-toolkit=={version}"))
    ]
    if not pins:
        raise DraftError(f"the package index has no cuda-toolkit {release}")
    is_new = all(row["cuda"] != release for row in tables.rows("ltoir", "release"))
    packages = {pin.part: pin.package for pin in pins}
    compiler = ask_nvrtc(release, packages["nvrtc"], index)
    before = _release_before(release, tables)
    _pins(pins, tables)
    _linkers(release, packages["nvjitlink"], index, tables)
    _result_names(release, before, packages["nvjitlink"], index, tables)
    _ptx(release, compiler, tables)
    if is_new:  # an update drops no architecture, and older releases lack newer ones
        architectures(release, before, compiler, tables)
    _ltoir(release, compiler, tables)
    _sample_compilers(release, compiler, index, tables)
    toolkit_rows(release, toolkits, tables)
    if is_new:
        _blanks(release, tables)


def ask_nvrtc(release: str, package: str, index: Index) -> Compiler:
    """What the newest NVRTC of a release targets and writes, in a process of its own."""
    version = index.versions(package, release)[-1]
    library = next(index.unpacked(f"{package}=={version}").rglob("libnvrtc.so.*"))
    child = Path(__file__).with_name("ask_nvrtc.py")
    done = subprocess.run(
        [sys.executable, str(child), str(library), "saxpy.cu"],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=SAMPLES / "src",
        env={**os.environ, "PYTHONPATH": str(SAMPLES), "LD_LIBRARY_PATH": str(library.parent)},
    )
    answer = json.loads(done.stdout)
    if answer["release"] != release:
        raise DraftError(f"{package} {version} says that it is NVRTC {answer['release']}")
    return Compiler(
        package=package,
        version=version,
        architectures=frozenset(answer["architectures"]),
        ptx_isa=answer["ptx_isa"],
        ltoir=ltoir.parse(bytes.fromhex(answer["ltoir_head"])).versions,
        llvm=ltoir.parse(bytes.fromhex(answer["newest_ltoir_head"])).versions.llvm or "",
    )


def _pins(pins: list[Pin], tables: Tables) -> None:
    for pin in pins:
        row = {
            "toolkit": pin.toolkit,
            "part": pin.part,
            "package": pin.package,
            "specifier": pin.specifier,
            "extras": list(pin.extras),
            "source": f"metadata of the wheel cuda-toolkit {pin.toolkit}",
            "date": today(),
        }
        keys = "toolkit part package specifier"
        tables.put("toolkit_pins", "pin", row, keys, _not_newer(pin.toolkit, "toolkit"))
    newest = tables.rows("toolkit_pins", "pin")[-1]["toolkit"]
    tables.substitute("toolkit_pins", r"(?<=every version up to\n# )[\d.]+(?=\. Read)", newest)


def _linkers(release: str, nvjitlink: str, index: Index, tables: Tables) -> None:
    """The sums of nvJitLink, whose package is ``nvjitlink``, and of nvlink."""
    for platform in PLATFORMS:
        _wheels("nvjitlink", (release, nvjitlink, platform), published.NVJITLINK, index, tables)
    for platform in LINUX:
        for package, kept in published.NVLINK.items():
            _wheels("nvlink", (release, package, platform), kept, index, tables)


def _wheels(
    table: str,
    wanted: tuple[str, str, str],
    kept: re.Pattern[str],
    index: Index,
    tables: Tables,
) -> None:
    """A row for each version of a package that belongs to a release, on one platform."""
    release, package, platform = wanted
    for version in index.versions(package, release, platform):
        row = {
            "cuda": release,
            "version": version,
            "package": package,
            "platform": platform,
            **published.linker_row(index.wheel(f"{package}=={version}", platform), kept),
            "date": today(),
        }
        keys = "package version platform"
        tables.put(table, "release", row, keys, _older_of(platform, version))


def _older_of(platform: str, version: str) -> Callable[[Row], bool]:
    return lambda row: row["platform"] == platform and Version(row["version"]) <= Version(version)


def _result_names(release: str, before: str, package: str, index: Index, tables: Tables) -> None:
    """Names that go on, in the release's nvJitLink.h, and new ones; none may have changed."""
    version = index.versions(package, release)[-1]
    header = next(index.unpacked(f"{package}=={version}").rglob("nvJitLink.h"))
    names = published.result_names(header.read_text("utf-8"))
    known = {
        row["code"]: row["name"]
        for row in tables.rows("nvjitlink_results", "result")
        if Version(row["first"]) <= Version(release) <= Version(row.get("last", release))
    }
    for code, name in known.items():
        if names.get(code) != name:
            raise DraftError(
                f"nvJitLink.h {version} calls result {code} {names.get(code)}, which was {name}: "
                f'give the row of {name} in nvjitlink_results.toml `last = "{before}"`'
            )
    text = tables.text("nvjitlink_results")
    if f' .. {before}"' in text:  # it is the newest
        tables.substitute("nvjitlink_results", rf'(?<= \.\. ){before}(?=")', release)
    if not re.search(rf" {re.escape(version)}(?!\.?\d)", text):
        # The list of the packages of CUDA 12 goes on to that of the others.
        end = r" and nvidia-nvjitlink " if package.endswith("-cu12") else r"\.\n\n\[\["
        tables.substitute("nvjitlink_results", rf"(?<=\d)(?={end})", f", {version}")
    for code in sorted(names.keys() - known.keys()):
        row = {"code": code, "name": names[code], "first": release}
        row |= {"source": f"nvJitLink.h {release} .. {release}", "date": today()}
        tables.insert("nvjitlink_results", "result", row, lambda _: True)


def _ptx(release: str, compiler: Compiler, tables: Tables) -> None:
    if any(row["isa"] == compiler.ptx_isa for row in tables.rows("ptx", "isa")):
        return  # a release may bring none, as 12.6 did
    row = {
        "isa": compiler.ptx_isa,
        "cuda": release,
        "source": f"measured: NVRTC {compiler.version} writes it by default",
        "date": today(),
    }
    tables.insert("ptx", "isa", row, _not_newer(release))


def architectures(release: str, before: str, compiler: Compiler, tables: Tables) -> None:
    """New ones, with a blank for the name, and the end of those that the release lacks."""
    measured = f"measured: nvrtcGetSupportedArchs of NVRTC {compiler.version}"
    rows = tables.rows("sm", "sm")
    for row in rows:
        if "last_toolkit" not in row and row["number"] not in compiler.architectures:
            tables.change("sm", "sm", row, _ended(row, before, measured))
    for number in sorted(compiler.architectures - {row["number"] for row in rows}):
        new = {"number": number, "name": "", "first_toolkit": release}
        new |= {"first_ptx": compiler.ptx_isa, "tegra": False}
        new |= {"source": measured, "date": today()}
        tables.insert("sm", "sm", new, _lower(number))


def _lower(number: int) -> Callable[[Row], bool]:
    return lambda row: bool(row["number"] < number)


def _ended(row: Row, last: str, measured: str) -> Row:
    """The row of an architecture whose last toolkit is ``last``."""
    changed: dict[str, Any] = {}
    for key, value in row.items():
        changed[key] = f"{value}; last toolkit: {measured}" if key == "source" else value
        if key == "first_toolkit":
            changed["last_toolkit"] = last
    return {**changed, "date": today()}


def _ltoir(release: str, compiler: Compiler, tables: Tables) -> None:
    row = {
        "cuda": release,
        "container": compiler.ltoir.container,
        "nvvm_ir": compiler.ltoir.nvvm_ir,
        "debug": compiler.ltoir.debug,
        "llvm": compiler.llvm,
        "source": f"header of NVRTC {release} output",
        "date": today(),
    }
    tables.put("ltoir", "release", row, "cuda", _not_newer(release))


def _sample_compilers(release: str, compiler: Compiler, index: Index, tables: Tables) -> None:
    """So that ``sample_artifacts/build.py`` makes its LTO-IR, which the trial links take."""
    if any(row["release"] == release for row in tables.rows("compilers", "compiler")):
        return
    nvfatbin = compiler.package.replace("cuda-nvrtc", "nvfatbin")
    row = {
        "release": release,
        "nvrtc": f"{compiler.package}=={compiler.version}",
        "nvfatbin": f"{nvfatbin}=={index.versions(nvfatbin, release)[-1]}",
        "ptx_isa": compiler.ptx_isa,
    }
    tables.insert("compilers", "compiler", row, _not_newer(release, "release"))


def toolkit_rows(release: str, toolkits: Sequence[str], tables: Tables) -> None:
    """The driver of each update: a blank, since no package tells it.

    Args:
        release: 12.9.
        toolkits: the versions of cuda-toolkit, oldest first: 12.9.0, 12.9.1, 12.9.2.0.
        tables: where they go.
    """
    known = [row["update"] for row in tables.rows("drivers", "toolkit") if row["cuda"] == release]
    levels = [_patch_level(update) for update in known]
    for level in (int(version.split(".")[2]) for version in toolkits):
        if level > max(levels, default=-1):
            number = len(levels)
            name = f"U{number}" if number else "GA"
            update = name if level == number else f"{name}({release}.{level})"
            row = {"cuda": release, "update": update, "source": "", "date": today()}
            tables.insert("drivers", "toolkit", row, _not_newer(release))
            levels.append(level)


def _patch_level(update: str) -> int:
    """0 of ``GA``, 2 of ``U2``, 3 of ``U1(11.0.3)``."""
    return int((re.findall(r"\d+", update) or ["0"])[-1])


def _blanks(release: str, tables: Tables) -> None:
    """An empty source is a blank."""
    for table, fact in BLANKS.items():
        row = {"cuda": release, "table": table, "fact": fact, "source": "", "date": today()}
        tables.insert("blanks", "blank", row, _not_newer(release))


def _release_before(release: str, tables: Tables) -> str:
    """The newest release in the tables that is older than this one."""
    known: set[str] = {row["cuda"] for row in tables.rows("nvjitlink", "release")}
    return max((r for r in known if Version(r) < Version(release)), key=Version)


def _not_newer(release: str, key: str = "cuda") -> Callable[[Row], bool]:
    return lambda row: Version(row[key]) <= Version(release)

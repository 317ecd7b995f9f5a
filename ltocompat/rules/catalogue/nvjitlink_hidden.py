"""NJL-02: LD_LIBRARY_PATH or a cache hides the nvJitLink that was installed for a library."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.verdict import Verdict
from ltocompat.rules import linker_imports
from ltocompat.rules.rule import Problem, Rule
from ltocompat.targets.machine.environment import Environment
from ltocompat.targets.machine.library import Library

_REMEDY = (
    "take the folder of the other copy out of the loader's way (LD_LIBRARY_PATH, ld.so.conf.d), or "
    "load the right one first"
)


def of_library(library: Library) -> Iterator[Problem]:
    """One where it gets another release than the one that was meant."""
    got, meant = library.nvjitlink, library.declared
    if got is None or meant is None or got.release == meant.release:
        return
    older = got.release < meant.release
    yield Problem(
        RULE.id,
        Verdict.UNKNOWN if older else Verdict.OK,
        f"{linker_imports.short(library.path)} gets nvJitLink {got.version} by {got.found_via}, "
        f"which hides {meant.version} by {meant.found_via}",
        _REMEDY,
        f"{got.path} instead of {meant.path}",
    )


def of_machine(environment: Environment) -> Iterator[Problem]:
    """One for each soname under which ways of loading get different releases."""
    ways = [pick for pick in environment.picks if pick.library == "nvJitLink" and pick.version]
    for name in sorted({way.asked for way in ways}):
        found = {
            library_pick.way: library_pick for library_pick in ways if library_pick.asked == name
        }
        if len({each_library_pick.version for each_library_pick in found.values()}) < 2:
            continue
        text = ", ".join(
            f"{one.way} takes {one.version} ({one.found_by})" for one in found.values()
        )
        files = "; ".join(f"{one.path}" for one in found.values())
        yield Problem(RULE.id, Verdict.UNKNOWN, f"two copies of {name}: {text}", _REMEDY, files)


RULE = Rule(
    id="NJL-02",
    title="nvJitLink hidden by another copy",
    statement="ld.so looks into RPATH, then LD_LIBRARY_PATH, then RUNPATH, then its cache, and a "
    "soname that is loaded already wins over all of them. NVIDIA's wheels find each other by "
    "RUNPATH, so a folder in LD_LIBRARY_PATH comes before them. cuda-pathfinder looks into "
    "site-packages first, so that one process can be meant to have two.",
    condition="A library gets another release of nvJitLink than the one that its RUNPATH or its "
    "package means, or ways of loading get different releases under one name.",
    evidence="The search of the loader, without loading anything; which rule finds which file.",
    verdict="unknown where the copy that is taken is older (NJL-01 and LTO-01 say what fails), "
    "else ok, with a note",
    messages=(
        *linker_imports.MESSAGES,
        "Unable to load cuSPARSE. Is it installed?",
    ),
    remedy="Unset LD_LIBRARY_PATH, or load the wheel's copy first; RPATH (--disable-new-dtags) "
    "comes before LD_LIBRARY_PATH.",
    source="ld.so(8); measured with LD_DEBUG=libs; ragflow issue 4466; jax issues 28929, 17497",
    of_library=of_library,
    of_machine=of_machine,
)

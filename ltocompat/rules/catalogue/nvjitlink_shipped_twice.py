"""PKG-08: two packages bring the same libnvJitLink."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from itertools import combinations

from ltocompat.model.library_name import library_name
from ltocompat.model.verdict import Verdict
from ltocompat.packages.values import Package, Shipped
from ltocompat.rules.engine.shipped_needs import LIBRARIES
from ltocompat.rules.rule import Problem, Rule


def of_package(shipped: Shipped) -> Iterator[Problem]:
    """One for each pair of packages that have a file of one name."""
    for package, other in combinations((shipped.package, *shipped.others), 2):
        files, others = _copies(package), _copies(other)
        for name in sorted(files.keys() & others.keys()):
            same = files[name] == others[name]
            what = "write over each other's" if same else "both bring"
            yield Problem(
                RULE.id,
                Verdict.UNKNOWN,
                f"{package} and {other} {what} {name}: which one a process gets depends on what is "
                f"{'installed' if same else 'loaded'} first",
                "let one of them depend on the package that has it, and leave its own copy out",
                f"{files[name]}; {others[name]}",
            )


def _copies(package: Package) -> dict[str, str]:
    """Its copies of nvJitLink by the names that a loader knows them by."""
    found: dict[str, str] = {}
    for file in package.files:
        name = posixpath.basename(file)
        shared = not name.endswith(".a")
        if shared and library_name(name) == LIBRARIES["nvjitlink"]:
            found.setdefault(name, file)
    return found


RULE = Rule(
    id="PKG-08",
    title="The same nvJitLink in two packages",
    statement="A process has one library of a name: the one that is loaded first serves all that "
    "ask for it, whatever they bring themselves. Two packages that put a file at one path "
    "overwrite each other.",
    condition="Two of the packages that are judged together have a libnvJitLink of one file name. "
    "A copy that was renamed (by a hash in its name) is a library of its own.",
    evidence="The files of the packages.",
    verdict="unknown: it depends on the order",
    messages=(
        "undefined symbol: __nvJitLinkAddData_12_1",
        "undefined symbol: __nvJitLinkComplete_12_4",
    ),
    remedy="Depend on nvidia-nvjitlink instead of bringing a copy, or give the copy a name of its "
    "own.",
    source="ld.so(8); pytorch issue 111469",
    of_package=of_package,
)

"""NJL-01: a library that imports ``_12_4`` needs an nvJitLink 12.x from 12.4 on."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.image import Host
from ltocompat.model.verdict import Verdict
from ltocompat.rules import linker_imports
from ltocompat.rules.constraints_loader import LinkerExporting
from ltocompat.rules.rule import Component, Problem, Requirement, Rule
from ltocompat.targets.machine.library import Library

_REMEDY = "give it an nvJitLink >= {},<{}"


def of_host(host: Host) -> Iterator[Requirement]:
    """One for the highest version among the imported symbols of each major."""
    named = bool(linker_imports.sonames(host, "needed"))
    versions = {name: linker_imports.version_of(name) for name in host.nvjitlink_imports}
    for major in sorted({version.major for version in versions.values() if version}):
        floor = max(version for version in versions.values() if version and version.major == major)
        name = next(name for name, version in versions.items() if version == floor)
        yield Requirement(
            Component.LINKER,
            LinkerExporting(floor, by_name=named),
            RULE.id,
            f"the imported {name}",
            linker_imports.said(host, name),
            _REMEDY.format(floor, major + 1),
            f"undefined symbol {name}",
        )


def of_library(library: Library) -> Iterator[Problem]:
    """One where the first symbol that fails to bind is a versioned one."""
    name = linker_imports.lacking(library)
    version = linker_imports.version_of(name) if name else None
    if name is None or version is None or linker_imports.wants_ltoir(name):
        return
    yield lacks(library, name, RULE.id, _REMEDY.format(version, version.major + 1))


def lacks(library: Library, name: str, rule_id: str, remedy: str) -> Problem:
    """The problem of a library whose nvJitLink has no such symbol."""
    linker = library.nvjitlink
    got = f"nvJitLink {linker.version} by {linker.found_via}" if linker else "no nvJitLink"
    return Problem(
        rule_id,
        Verdict.FAIL,
        f"{linker_imports.short(library.path)} gets {got}, where the loader says: "
        f"{library.path}: {linker_imports.said(library.host, name)}",
        remedy,
        f"undefined symbol {name}; {linker.path if linker else library.path}",
    )


RULE = Rule(
    id="NJL-01",
    title="nvJitLink lacks an imported symbol",
    statement="nvJitLink.h gives every function the name of its release, __nvJitLinkCreate_12_4. A "
    "library of 12.4 exports those of 12.0 to 12.4, and none of another major. What was built with "
    "12.4 doesn't load with 12.3, whatever it calls.",
    condition="The nvJitLink is of an older minor than a symbol that a library or program imports, "
    "or of another major.",
    evidence="Undefined symbols of the host file; on a machine, the file that the loader gives it.",
    verdict="fail",
    messages=linker_imports.MESSAGES,
    remedy="Require an nvJitLink of that minor or a newer one of its major; where several are "
    "installed, see NJL-02 for which one is taken.",
    source="measured: dynamic symbols of 16 nvJitLink wheels, and loads of libraries against them; "
    "pytorch issues 111469, 131312, 134929",
    of_host=of_host,
    of_library=of_library,
)

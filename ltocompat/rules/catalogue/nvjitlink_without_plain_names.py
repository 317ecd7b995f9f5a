"""NJL-04: names without a version exist from nvJitLink 12.3 on."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.image import Host
from ltocompat.rules import floors, linker_imports
from ltocompat.rules.catalogue import nvjitlink_symbol_missing
from ltocompat.rules.constraints import LinkerFrom
from ltocompat.rules.rule import Component, Problem, Requirement, Rule
from ltocompat.targets.machine.library import Library


def of_host(host: Host) -> Iterator[Requirement]:
    """One where a host file imports such a name."""
    floor = floors.linker("unversioned-symbols")
    for name in filter(linker_imports.is_plain, host.nvjitlink_imports):
        if linker_imports.wants_ltoir(name):
            continue
        yield Requirement(
            Component.LINKER,
            LinkerFrom(floor),
            RULE.id,
            f"the imported {name}",
            linker_imports.said(host, name),
            f"use an nvJitLink from {floor} on",
            f"undefined symbol {name}",
        )
        return


def of_library(library: Library) -> Iterator[Problem]:
    """One where the first symbol that fails to bind has no version."""
    name = linker_imports.lacking(library)
    if name and linker_imports.is_plain(name) and not linker_imports.wants_ltoir(name):
        floor = floors.linker("unversioned-symbols")
        remedy = f"give it an nvJitLink from {floor} on"
        yield nvjitlink_symbol_missing.lacks(library, name, RULE.id, remedy)


RULE = Rule(
    id="NJL-04",
    title="nvJitLink before names without a version",
    statement="nvJitLink 12.0 to 12.2 export only names with a version. cuda.bindings, cuda.core "
    "and numba-cuda ask for nvJitLinkVersion and the other plain names, which exist from 12.3 on; "
    "cuda.core then falls back to the driver's linker, which takes no LTO-IR.",
    condition="A host file imports a plain name, and the nvJitLink is older than 12.3.",
    evidence="Undefined symbols of the host file.",
    verdict="fail",
    messages=(
        "undefined symbol: nvJitLinkVersion",
        "undefined symbol: nvJitLinkCreate",
        "function nvJitLinkCreate is not found",
    ),
    remedy="Require nvidia-nvjitlink-cu12>=12.3,<13.",
    source="measured: dynamic symbols of 16 nvJitLink wheels; cuda-python issues 98, 362",
    of_host=of_host,
    of_library=of_library,
)

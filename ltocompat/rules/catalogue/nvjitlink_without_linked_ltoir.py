"""NJL-05: linked LTO-IR comes from nvJitLink 13.2 on."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.image import Host
from ltocompat.rules import floors, linker_imports
from ltocompat.rules.catalogue import nvjitlink_symbol_missing
from ltocompat.rules.constraints import LinkerFrom
from ltocompat.rules.rule import Component, Problem, Requirement, Rule
from ltocompat.targets.machine.library import Library


def of_host(host: Host) -> Iterator[Requirement]:
    """One where a host file imports one of the two functions."""
    floor = floors.linker("linked-ltoir")
    name = next(filter(linker_imports.wants_ltoir, host.nvjitlink_imports), None)
    if name is not None:
        yield Requirement(
            Component.LINKER,
            LinkerFrom(floor),
            RULE.id,
            f"the imported {name}",
            linker_imports.said(host, name),
            f"use an nvJitLink from {floor} on",
            f"undefined symbol {name}",
        )


def of_library(library: Library) -> Iterator[Problem]:
    """One where the first symbol that fails to bind is one of the two."""
    name = linker_imports.lacking(library)
    if name and linker_imports.wants_ltoir(name):
        remedy = f"give it an nvJitLink from {floors.linker('linked-ltoir')} on"
        yield nvjitlink_symbol_missing.lacks(library, name, RULE.id, remedy)


RULE = Rule(
    id="NJL-05",
    title="nvJitLink before linked LTO-IR",
    statement="nvJitLinkGetLinkedLTOIR and the incremental links of option -r exist from 13.2 on; "
    "such a library exports the function under the names of 13.0 and 13.1, too.",
    condition="A host file imports nvJitLinkGetLinkedLTOIR or nvJitLinkGetLinkedLTOIRSize, and the "
    "nvJitLink is older than 13.2.",
    evidence="Undefined symbols of the host file.",
    verdict="fail",
    messages=(
        "undefined symbol: nvJitLinkGetLinkedLTOIR",
        "undefined symbol: nvJitLinkGetLinkedLTOIRSize",
        "undefined symbol: __nvJitLinkGetLinkedLTOIR_13_2",
        "undefined symbol: __nvJitLinkGetLinkedLTOIRSize_13_2",
    ),
    remedy="Require nvidia-nvjitlink>=13.2,<14 (cuda.core wants 13.3 for link('ltoir')).",
    source="measured: dynamic symbols of 16 nvJitLink wheels; cuda-python pull request 2867",
    of_host=of_host,
    of_library=of_library,
)

"""NJL-09: a static nvJitLink stays what it was when the file was built."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.image import Host
from ltocompat.rules import linker_imports
from ltocompat.rules.constraints import Remark
from ltocompat.rules.rule import Component, Requirement, Rule


def of_host(host: Host) -> Iterator[Requirement]:
    """One for a copy inside."""
    for library in host.libraries:
        if library.name == linker_imports.NVJITLINK and library.how == "static":
            version = f" {library.version}" if library.version else " of an unknown version"
            yield Requirement(
                Component.NONE,
                Remark(),
                RULE.id,
                f"nvJitLink{version} inside",
                "it links what this file links, and no nvJitLink of the target changes that",
                "rebuild the file to get another nvJitLink",
                library.evidence,
            )


RULE = Rule(
    id="NJL-09",
    title="Static nvJitLink inside",
    statement="A file that was linked with libnvJitLink_static.a has its linker inside. What it "
    "links is judged by that version; an nvJitLink that is installed or updated has no effect.",
    condition="A host file has a copy of nvJitLink inside.",
    evidence="Strings and symbols that only nvJitLink has; the compiler banner for its version.",
    verdict="ok, with a note",
    messages=(),
    remedy="Rebuild the file with a newer toolkit, or link it to the shared nvJitLink.",
    source="nvJitLink guide 6.3",
    of_host=of_host,
)

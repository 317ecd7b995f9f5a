"""NJL-08: who links to libnvrtc-builtins runs with one minor only."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ltocompat.model.arch import Release
from ltocompat.model.image import Host
from ltocompat.model.verdict import Verdict
from ltocompat.rules import linker_imports
from ltocompat.rules.constraints_loader import NvrtcOfMinor
from ltocompat.rules.rule import Component, Problem, Requirement, Rule
from ltocompat.targets.machine.library import Library

# A name with a hash in it (libnvrtc-builtins-1a2b3c4d.so.12.4) is a copy that a package brings.
_FILE = re.compile(r"libnvrtc-builtins\.so\.(\d+)\.(\d+)|nvrtc-builtins64_(\d+)(\d)\.dll")
_REMEDY = "link with libnvrtc alone, which opens the builtins beside itself"


def of_host(host: Host) -> Iterator[Requirement]:
    """One for a needed libnvrtc-builtins."""
    for file, release in _needed(host):
        yield Requirement(
            Component.NVRTC,
            NvrtcOfMinor(release),
            RULE.id,
            f"the needed {file}",
            linker_imports.opened_text(host, file),
            _REMEDY,
            "DT_NEEDED" if host.format == "ELF" else "import table",
        )


def of_library(library: Library) -> Iterator[Problem]:
    """One for each that the loader looks for in vain, and a note on each that it finds."""
    for resolved in linker_imports.missing(library.resolved):
        if _FILE.fullmatch(resolved.asked):
            yield Problem(
                RULE.id,
                Verdict.FAIL,
                f"{linker_imports.short(resolved.needed_by or library.path)} needs "
                f"{resolved.asked} of exactly that minor: {resolved.problem}",
                _REMEDY,
                f"DT_NEEDED of {resolved.needed_by}",
            )
    found = {each_resolved.asked for each_resolved in library.resolved if each_resolved.loaded}
    for file, release in _needed(library.host):
        if file in found:
            yield Problem(
                RULE.id,
                Verdict.OK,
                f"{linker_imports.short(library.path)} needs {file}, which NVRTC {release} alone "
                "brings",
                _REMEDY,
                f"DT_NEEDED of {library.path}",
            )


def _needed(host: Host) -> Iterator[tuple[str, Release]]:
    for library in host.libraries:
        match = _FILE.fullmatch(library.file or "")
        if match and library.how == "needed":
            major, minor = match[1] or match[3], match[2] or match[4]
            yield match[0], Release(int(major), int(minor))


RULE = Rule(
    id="NJL-08",
    title="Linked to libnvrtc-builtins",
    statement="libnvrtc.so.12 is one soname for every 12.x; the libnvrtc-builtins.so.12.4 that it "
    "opens while it compiles carries the minor. Who links to the builtins, needs exactly that "
    "minor for no gain.",
    condition="A host file needs libnvrtc-builtins, and NVRTC is of another minor.",
    evidence="DT_NEEDED.",
    verdict="fail",
    messages=(
        "error while loading shared libraries: libnvrtc-builtins.so.12.6",
        "libnvrtc-builtins.so.12.6: cannot open shared object file: No such file or directory",
    ),
    remedy="Link with libnvrtc alone (of CMake, CUDA::nvrtc without CUDA::nvrtc_builtins).",
    source="CMake discourse 12723; layout of NVRTC wheels 12.0 to 13.5",
    of_host=of_host,
    of_library=of_library,
)

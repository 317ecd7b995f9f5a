"""NJL-10: a needed library that the loader doesn't find ends the load."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ltocompat.model.verdict import Verdict
from ltocompat.rules import linker_imports
from ltocompat.rules.rule import Problem, Rule
from ltocompat.targets.machine.library import Library
from ltocompat.targets.machine.loaded import Resolved

_OF_DRIVER = ("libcuda.so", "libnvidia-")
_OF_CUDA = ("libcu", "libnv", "libnccl")


def of_library(library: Library) -> Iterator[Problem]:
    """One for the first that is missing: the loader stops there."""
    found = linker_imports.missing(library.resolved)
    if not library.resolved or library.resolved[0].loaded is None or not found:
        return
    first = next((resolved for resolved in found if not _said_elsewhere(resolved, library)), None)
    if first is None:
        return
    of_driver = first.asked.startswith(_OF_DRIVER) and library.environment.user_driver is None
    program = library.resolved[0].loaded.file.program
    sure = program and not of_driver
    # Packages bring most of their own libraries into the process themselves, CUDA's often not.
    own = not program and not first.asked.startswith(_OF_CUDA)
    if of_driver:
        why = " (it comes with the driver, which containers get when they start)"
    else:
        why = "" if program else ", unless the program has loaded it before"
    yield Problem(
        RULE.id,
        Verdict.FAIL if sure else Verdict.OK if own else Verdict.UNKNOWN,
        f"{linker_imports.short(first.needed_by or library.path)} needs {first.asked}, and the "
        f"loader says: {first.problem}{why}",
        "install the driver"
        if of_driver
        else f"install what brings {first.asked}, or put its folder on the loader's way",
        f"DT_NEEDED of {first.needed_by}",
    )


def _said_elsewhere(resolved: Resolved, library: Library) -> bool:
    """The rules on nvJitLink and on the builtins of NVRTC have more to say."""
    name = os.path.basename(resolved.asked)
    if name.startswith("libnvrtc-builtins."):
        return True
    majors = {copy.release.major for copy in library.environment.nvjitlinks}
    words = linker_imports.sonames(library.host, "needed")
    return name in words and bool(majors) and linker_imports.major_of(name) not in majors


RULE = Rule(
    id="NJL-10",
    title="Needed library not found",
    statement="Before a library or program loads, everything that it needs has to be found, in the "
    "order of ld.so(8). Packages of Python often load their libraries one by one before that, so "
    "that one which can't be found alone is found by its name in the process.",
    condition="A name in DT_NEEDED of a host file, or of what it needs, leads to no file.",
    evidence="The search of the loader, without loading anything.",
    verdict="fail for a program; for a library unknown where one of CUDA's is missing, else a note",
    messages=(
        "libcusparse.so.12: cannot open shared object file: No such file or directory",
        "error while loading shared libraries: libcudart.so.12",
        "wrong ELF class: ELFCLASS32",
    ),
    remedy="Install what brings the library, or put its folder on the loader's way.",
    source="ld.so(8); measured with LD_DEBUG=libs",
    of_library=of_library,
)

"""NJL-03: a file that asks for libnvJitLink.so.12 isn't served by libnvJitLink.so.13."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.image import Host
from ltocompat.model.verdict import Verdict
from ltocompat.rules import linker_imports
from ltocompat.rules.constraints_loader import LinkerNamed
from ltocompat.rules.rule import Component, Problem, Requirement, Rule
from ltocompat.targets.machine.library import Library


def of_host(host: Host) -> Iterator[Requirement]:
    """One for the file names that the loader needs, else one for those that code opens."""
    for how in ("needed", "opened"):
        files = [
            soname
            for soname in linker_imports.sonames(host, how)
            if linker_imports.major_of(soname)
        ]
        majors = sorted({linker_imports.major_of(file) or 0 for file in files})
        if not majors:
            continue
        certain = how == "needed"
        text = linker_imports.opened_text(host, files[0])
        yield Requirement(
            Component.LINKER,
            LinkerNamed(tuple(majors), certain=certain),
            RULE.id,
            f"{'the needed' if certain else 'the opened'} {' or '.join(files)}",
            text,
            f"install an nvJitLink of major {' or '.join(map(str, majors))} beside the other",
            "DT_NEEDED" if certain else "a file name in its data",
            f"where it is opened, the answer is: {text}",
        )
        return


def of_library(library: Library) -> Iterator[Problem]:
    """One where no nvJitLink of the right name is found, and one of another major is there."""
    others = sorted({nvjitlink.release.major for nvjitlink in library.environment.nvjitlinks})
    if library.nvjitlink is not None or not others:
        return
    needed = linker_imports.sonames(library.host, "needed")
    opened = linker_imports.sonames(library.host, "opened")
    for file in (needed or opened)[:1]:
        if linker_imports.major_of(file) in others:
            continue
        yield Problem(
            RULE.id,
            Verdict.FAIL if needed else Verdict.UNKNOWN,
            f"{linker_imports.short(library.path)} {'needs' if needed else 'opens'} {file}, and "
            f"nvJitLink {' and '.join(map(str, others))} is what there is: "
            f"{linker_imports.opened_text(library.host, file)}",
            f"install the nvJitLink that is called {file}",
            "DT_NEEDED" if needed else "a file name in its data",
        )


RULE = Rule(
    id="NJL-03",
    title="nvJitLink of another major",
    statement="The soname of nvJitLink carries its major: libnvJitLink.so.12, libnvJitLink.so.13. "
    "Neither stands in for the other; both can be in one process.",
    condition="A host file needs or opens the file name of one major, and the nvJitLink is of "
    "another.",
    evidence="DT_NEEDED, and file names in the data of the host file.",
    verdict="fail; unknown where code opens the file while it runs, and may do without",
    messages=(
        "libnvJitLink.so.12: cannot open shared object file: No such file or directory",
        "error while loading shared libraries: libnvJitLink.so.13",
    ),
    remedy="Install the nvJitLink of that major (nvidia-nvjitlink-cu12, nvidia-nvjitlink).",
    source="measured: sonames of 16 nvJitLink wheels",
    of_host=of_host,
    of_library=of_library,
)

"""BLD-02: a linker takes SASS that is no newer than itself."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.image import ImageKind
from ltocompat.rules import image_helpers, makers
from ltocompat.rules.catalogue import sass_of_13_below_580
from ltocompat.rules.constraints_linker import LinkerOfCubin
from ltocompat.rules.rule import Component, Requirement, Rule, Subject


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One for SASS that is linked and whose writer is known."""
    for image in image_helpers.linked(subject, ImageKind.SASS):
        cuda = makers.writer(image)
        if cuda is None:
            continue
        yield Requirement(
            Component.LINKER,
            LinkerOfCubin(cuda, tolerated=sass_of_13_below_580.speaks_of(image)),
            RULE.id,
            f"SASS of CUDA {cuda}",
            "a linker takes SASS only up to its own release (12.5 to 12.9 were seen to take that "
            "of 13.x, against the documents)",
            "link with the toolkit that compiled the SASS or a newer one, or compile with the "
            "linker's toolkit",
            makers.evidence(image),
        )


RULE = Rule(
    id="BLD-02",
    title="SASS newer than the linker",
    statement="nvlink and nvJitLink take SASS of their own release and of older ones, across "
    "majors, too. Measured, 12.5 to 12.9 also take cubins of 13.x for architectures before "
    "sm_100, and the results are right; the documents don't allow that.",
    condition="Relocatable SASS, such as that of an archive, was written by a newer release than "
    "the linker.",
    evidence="The tool that wrote the cubin: e_version, tkinfo and cuinfo notes.",
    verdict="fail; undocumented for what 12.5 to 12.9 take",
    messages=(
        "nvlink fatal : Input file 'a.o' newer than toolkit (129 vs 120)",
        "newer than toolkit (129 vs 120)",
        "binary format mismatch",
        "ERROR 4: bad input",
    ),
    remedy="Use one toolkit for nvcc, its libraries and the linker: at least the newest that "
    "compiled any of the objects.",
    source="nvcc guide 6.6.1; measured: cubins of 5 compilers with nvJitLink 12.0 to 13.5; runs on "
    "an H200 with driver 580.159.04",
    requirements=requirements,
)

"""A deploy target, a verdict and its findings in JSON."""

from __future__ import annotations

from operator import itemgetter
from typing import Annotated

from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import Count, Record, described, one_of, or_none
from ltocompat.model.verdict import MOST_KERNELS
from ltocompat.model.version import rule_url


class System(Record):
    """Operating system and processor."""

    name: Annotated[str, one_of("linux", "windows", "wsl2")]
    machine: str


class VersionSet(Record):
    """What a target says of one of its parts."""

    text: Annotated[str, described("As it was written.")]
    values: Annotated[tuple[str, ...], described("What that can be, oldest first.")]
    every: Annotated[
        bool, described("Each of the values must work (a range); else it is one of them.")
    ]
    source: Annotated[str, described("Who said so: given, a file, stock 12.4.")]


class Gpu(Record):
    """A GPU that code is deployed to."""

    name: str
    arch: str
    data_center: bool | None
    tegra: bool


class Target(Record):
    """Where device code is going."""

    name: str
    system: System
    driver: VersionSet | None
    compat: VersionSet | None
    nvjitlink: VersionSet | None
    nvrtc: VersionSet | None
    nvlink: VersionSet | None
    gpus: tuple[Gpu, ...]
    sources: dict[str, str]


VerdictWord = Annotated[
    str,
    one_of("ok", "jit", "undocumented", "unknown", "fail"),
    described(
        "From the best to the worst. ok: documented to work; jit: the driver compiles PTX at load; "
        "undocumented: measured to work, not promised; unknown: a fact is missing, and named; "
        "fail: will not link or load."
    ),
]


class Coverage(Record):
    """How many modules serve the GPU, have no kernels, or have nothing for it."""

    modules: Count
    served: Count
    sass: Annotated[Count, described("Served by SASS.")]
    ptx: Annotated[Count, described("Served by PTX.")]
    link: Annotated[Count, described("Linked for it.")]
    without_kernels: Count
    none: Count


class Extent(Record):
    """How many of the modules have the verdict of the result."""

    modules: Annotated[Count, described("0: it is the artifact's as a whole.")]
    judged: Annotated[Count, described("Modules that are for the GPU and were judged.")]


class Finding(Record):
    """What a rule says of modules of the artifact."""

    rule: str
    verdict: VerdictWord
    level: Annotated[str, one_of("error", "warning", "note")]
    message: str
    remedy: Annotated[str, described("Empty when there is nothing to do.")]
    evidence: Annotated[str, described("The bytes that say so.")]
    source: Annotated[str, described("Where the rule comes from.")]
    url: Annotated[str, From("rule", rule_url), described("The page of the rule.")]
    module_count: Annotated[Count, described("0: it is about the target.")]
    example: Annotated[str | None, described("Place of the first of them: libx.a::m.o@0x1f40.3")]
    kernels: Annotated[
        tuple[str, ...],
        From(through=itemgetter(slice(MOST_KERNELS))),
        described("The first kernels of its modules, mangled; empty where they were not read."),
    ]
    kernel_count: Annotated[
        Count,
        From("kernels", len),
        described("How many there are in kernel_modules; 0 where they were not read."),
    ]
    kernel_modules: Annotated[Count, described("In how many of its modules kernels were read.")]


class Variant(Record):
    """What became of one of several variants, of which the artifact's loader opens one."""

    name: Annotated[str, described("Its file or folder in the artifact.")]
    version: Annotated[str, described("What tells it from the others: 11.8, 13.")]
    verdict: VerdictWord
    rules: Annotated[tuple[str, ...], described("Those that make it worse than jit.")]
    serves: Annotated[bool, described("It has something for the GPU itself, or none has.")]
    decides: Annotated[bool, described("It fits best, and its verdict is the artifact's.")]


class Result(Record):
    """The verdict on one artifact, target and GPU."""

    path: str
    target: Annotated[str, From("target.name"), described("Name of one of the targets.")]
    gpu: Annotated[str | None, described("Name of the GPU; null where the target names none.")]
    route: Annotated[
        Annotated[str, one_of("load", "link")] | None,
        described("How its modules get there; null where each has only one way."),
    ]
    verdict: VerdictWord
    coverage: Coverage
    not_judged: Annotated[
        tuple[Annotated[str, one_of("load", "link", "symbols")], ...],
        described(
            "Halves that the target says too little for; symbols: names that LTO-IR calls and "
            "defines, in one link that no linker was asked about."
        ),
    ]
    findings: tuple[Finding, ...]
    why: Annotated[tuple[str, ...], described("The reasoning, a sentence each.")]
    extent: Extent
    distribution: Annotated[
        str | None,
        From(through=or_none),
        described("The package that it is, or is a file of: cupy-cuda12x 14.2.0; null: not known."),
    ]
    variants: Annotated[
        tuple[Variant, ...],
        described("Variants of which its loader opens one, oldest first; the best decides."),
    ]

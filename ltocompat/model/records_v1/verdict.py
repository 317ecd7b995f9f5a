"""A deploy target, a verdict and its findings in JSON."""

from __future__ import annotations

from operator import itemgetter
from typing import Annotated

from ltocompat.model import target as targets
from ltocompat.model import verdict as verdicts
from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import Count, Record, VerdictWord, one_of, published
from ltocompat.model.verdict import MOST_KERNELS
from ltocompat.model.version import rule_url


@published(targets.System)
class System(Record):
    """Operating system and processor."""

    name: Annotated[str, one_of("linux", "windows", "wsl2")]


@published(targets.VersionSet, "quantifier")
class VersionSet(Record):
    """Versions of one part of a target.

    Attributes:
        text: As it was written.
        values: What that can be, oldest first.
        every: Each of the values must work (a range); else it is one of them.
        source: Who said so: given, a file, stock 12.4.
    """

    values: tuple[str, ...]
    every: bool


@published(targets.Gpu)
class Gpu(Record):
    """A GPU that code is deployed to."""

    arch: str


@published(targets.Target, "lto", "by_files", "windows_driver", "untold")
class Target(Record):
    """Where device code is going.

    Attributes:
        nodes: Names of the machines of a fleet that are such a target.
    """

    sources: dict[str, str]


OrNull = Annotated[str | None, From(through=lambda text: text or None)]


@published(verdicts.Coverage)
class Coverage(Record):
    """How many modules serve the GPU, have no kernels, or have nothing for it.

    Attributes:
        sass: Served by SASS.
        ptx: Served by PTX.
        link: Linked for it.
        kernels: Of best_kernels, those that have code for this GPU.
        best_kernels: Kernels of the GPU that is served best; 0: this one loses none.
    """

    modules: Count
    served: Count


@published(verdicts.Extent)
class Extent(Record):
    """How many of the modules have the verdict of the result.

    Attributes:
        modules: 0: it is the artifact's as a whole.
        judged: Modules with code for the GPU that were checked.
    """


class Origin(Record):
    """The way in which a file came into a container image.

    Attributes:
        path: In the image.
        distribution: What installed it: torch 2.4.0 (pip); null for none.
        layer: The line that made its layer: RUN pip install torch; null: not known.
    """

    path: str
    distribution: OrNull
    layer: OrNull


class Finding(Record):
    """Finding of a rule on modules of the artifact.

    Attributes:
        remedy: Empty when there is nothing to do.
        evidence: The bytes that say so.
        source: Where the rule comes from.
        url: The page of the rule.
        module_count: 0: it is about the target.
        example: Place of the first of them: libx.a::m.o@0x1f40.3
        kernels: The first kernels of its modules, mangled; empty where they were not read.
        kernel_count: How many there are in kernel_modules; 0 where they were not read.
        kernel_modules: In how many of its modules kernels were read.
        origins: Of a container image, how the files of its modules came there.
    """

    rule: str
    verdict: VerdictWord
    level: Annotated[str, one_of("error", "warning", "note")]
    message: str
    remedy: str
    evidence: str
    source: str
    url: Annotated[str, From("rule", rule_url)]
    module_count: Count
    example: str | None
    kernels: Annotated[tuple[str, ...], From(through=itemgetter(slice(MOST_KERNELS)))]
    kernel_count: Annotated[Count, From("kernels", len)]
    kernel_modules: Count
    origins: tuple[Origin, ...]


@published(verdicts.VariantVerdict)
class Variant(Record):
    """Outcome of one of several variants, of which the artifact's loader opens one.

    Attributes:
        name: Its file or folder in the artifact.
        version: What tells it from the others: 11.8, 13.
        rules: Those that make it worse than jit.
        serves: It has something for the GPU itself, or none has.
        decides: It fits best, and its verdict is the artifact's.
    """


@published(verdicts.Result, "forgiven", "known_as")
class Result(Record):
    """The verdict on one artifact, target and GPU.

    Attributes:
        target: Name of one of the targets.
        gpu: Name of the GPU; null where the target names none.
        route: How its modules get there; null where each has only one way.
        not_judged: Halves that the target says too little for; symbols: names that LTO-IR calls and
            defines, in one link that no linker was asked about.
        why: The reasoning, a sentence each.
        distribution: The package that it is, or is a file of: cupy-cuda12x 14.2.0; null: not known.
        variants: Variants of which its loader opens one, oldest first; the best decides.
    """

    target: Annotated[str, From("target.name")]
    gpu: str | None
    not_judged: tuple[Annotated[str, one_of("load", "link")], ...]
    findings: tuple[Finding, ...]
    distribution: OrNull

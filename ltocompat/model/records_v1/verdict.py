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
        text: The versions as the user wrote them.
        values: All versions that the text can mean, oldest first.
        every: True for a range: the code must work with every value. False if the target has only
            one of the values, but it isn't known which.
        source: Where the versions come from: "given", a file name, or "stock 12.4" (the version in
            CUDA 12.4).
    """

    values: tuple[str, ...]
    every: bool


@published(targets.Gpu, "arm")
class Gpu(Record):
    """A GPU of a deploy target."""

    arch: str


@published(targets.Target, "lto", "by_files", "windows_driver", "untold")
class Target(Record):
    """A deploy target: where the device code will run.

    Attributes:
        nodes: Names of the machines that this target stands for, if the target comes from a node
            file; else empty.
    """

    sources: dict[str, str]


OrNull = Annotated[str | None, From(through=lambda text: text or None)]


@published(verdicts.Coverage)
class Coverage(Record):
    """How many modules have code for the GPU, and how many have none.

    Attributes:
        sass: Number of modules whose SASS runs on the GPU.
        ptx: Number of modules whose PTX the driver compiles for the GPU.
        link: Number of modules that are linked for the GPU.
        kernels: How many of the kernels that best_kernels counts have code for this GPU.
        best_kernels: Number of kernels with code for the best-covered GPU. Both numbers are 0 if
            this GPU lacks none of these kernels.
    """

    modules: Count
    served: Count


@published(verdicts.Extent)
class Extent(Record):
    """How many modules have the same verdict as the whole result.

    Attributes:
        modules: Number of modules with this verdict; 0 if the verdict is about the artifact as a
            whole.
        judged: Number of checked modules with code for the GPU.
    """


class Origin(Record):
    """The origin of a file in a container image.

    Attributes:
        path: Path in the image.
        distribution: The package that installed the file, such as torch 2.4.0 (pip); null if no
            package installed it.
        layer: The Dockerfile line that made the layer, such as RUN pip install torch; null if
            unknown.
    """

    path: str
    distribution: OrNull
    layer: OrNull


class Finding(Record):
    """A problem that a rule found in an artifact or in some of its modules.

    Attributes:
        remedy: The fix; empty if there is nothing to do.
        evidence: The bytes that prove the finding.
        source: The document or measurement behind the rule.
        url: The page of the rule.
        module_count: Number of affected modules; 0 if the finding is about the target.
        example: Place of the first affected module, such as libx.a::m.o@0x1f40.3
        kernels: The mangled names of the first kernels in the affected modules; empty if kernels
            were not read.
        kernel_count: Number of kernels in the affected modules; 0 if kernels were not read.
        kernel_modules: Number of affected modules whose kernels were read.
        origins: The origins of the files with the affected modules, if the files are in a container
            image.
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
    """The verdict on one of several variants; at run time, the artifact loads one variant.

    Attributes:
        name: File or folder of the variant in the artifact.
        version: The version that distinguishes the variant, such as 11.8 or 13.
        rules: Rules that make the verdict worse than "jit".
        serves: True if the variant has code for the GPU, or if none of the variants has.
        decides: True if this variant fits best; the artifact then has the variant's verdict.
    """


@published(verdicts.Result, "forgiven", "known_as")
class Result(Record):
    """The verdict on one artifact, target and GPU.

    Attributes:
        target: Name of one of the targets.
        gpu: Name of the GPU; null if the target names none.
        route: The route that the verdict is about: "load" or "link". Null if no module has both
            routes; the verdict is then about all modules.
        not_judged: Routes that were not checked, since the target names no driver or no linker.
            "symbols" means that names in LTO-IR were not checked; only a trial link can check them.
        why: The reasoning, one sentence per entry.
        distribution: The package that contains the artifact, such as cupy-cuda12x 14.2.0; null if
            unknown.
        variants: The variants in the artifact, oldest first. The variant that decides sets the
            verdict.
    """

    target: Annotated[str, From("target.name")]
    gpu: str | None
    not_judged: tuple[Annotated[str, one_of("load", "link")], ...]
    findings: tuple[Finding, ...]
    distribution: OrNull

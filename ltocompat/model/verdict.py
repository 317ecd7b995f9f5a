"""Verdicts and findings as values, and how verdicts fold."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence

from msgspec import Struct

from ltocompat.model.place import Place
from ltocompat.model.row import Row, text_or_none
from ltocompat.model.target import Gpu, Target
from ltocompat.model.words import count


class Verdict(enum.IntEnum):
    """What is said of device code on a target, from the best to the worst.

    ``ok``: documented to work. ``jit``: works, the driver compiles PTX at load. ``undocumented``:
    measured to work, outside of what NVIDIA promises. ``unknown``: a fact is missing, and named.
    ``fail``: it will not link or load.
    """

    OK = 0
    JIT = 1
    UNDOCUMENTED = 2
    UNKNOWN = 3
    FAIL = 4

    def __str__(self) -> str:
        return self.name.lower()


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst of these; ``ok`` when there are none."""
    return max(verdicts, default=Verdict.OK)


class Level(enum.StrEnum):
    """How loud a finding is."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


LEVELS = {
    Verdict.OK: Level.NOTE,
    Verdict.JIT: Level.NOTE,
    Verdict.UNDOCUMENTED: Level.WARNING,
    Verdict.UNKNOWN: Level.WARNING,
    Verdict.FAIL: Level.ERROR,
}


class Route(enum.StrEnum):
    """How a module gets onto a GPU."""

    LOAD = "load"
    LINK = "link"


OTHER_VARIANT = "another variant decides"
"""Why the verdict on an installed file does not count: its package's loader opens another one."""

THE_TARGET_HAS = "the target has"
"""How a headline leads to the value there; who names the target puts its name there."""


class Finding(Struct, frozen=True, gc=False):
    """What a rule finds in modules of an artifact on a target.

    Attributes:
        rule: ID of the rule.
        verdict: what it makes of them.
        level: how loud it is.
        message: one sentence: what is wrong, with the values.
        remedy: what to do; empty when there is nothing to do.
        evidence: the bytes that say so.
        source: where the rule comes from.
        module_count: number of modules that it holds for; 0 for a finding about the target.
        example: the first of them, None for a finding about the target.
        about_loading: it is about what a driver does later, of which a trial link says nothing.
        decided_by_trial: a trial link would settle it.
        promised_after_trial: a trial link that ends well shows that it is promised to work.
        left_to_chance: what happens differs from run to run: one that ends well settles nothing.
        places: its modules; not all of them where there are very many.
        kernels: names of the kernels of its modules, each once, where they were read.
        kernel_modules: of how many of its modules they were read.
        all_kernels: each of its modules has kernels, and no name of them is missing.
        headline: what is wrong in a few words, with the values; empty where the first clause of
            the message says it.
        forgiven: why it does not count, ``known`` or ``ignored``; empty where it does.
    """

    rule: str
    verdict: Verdict
    level: Level
    message: str
    remedy: str
    evidence: str
    source: str
    module_count: int = 0
    example: Place | None = None
    about_loading: bool = False
    decided_by_trial: bool = False
    promised_after_trial: bool = False
    left_to_chance: bool = False
    places: tuple[Place, ...] = ()
    kernels: tuple[str, ...] = ()
    kernel_modules: int = 0
    all_kernels: bool = False
    headline: str = ""
    forgiven: str = ""

    def to_row(self) -> Row:
        """A row of a table; ``modules`` is their number, ``place`` the first."""
        return {
            "rule": self.rule,
            "verdict": str(self.verdict),
            "level": str(self.level),
            "headline": self.headline,
            "message": self.message,
            "remedy": self.remedy,
            "evidence": self.evidence,
            "source": self.source,
            "modules": self.module_count,
            "place": text_or_none(self.example),
        }

    def __str__(self) -> str:
        """What is wrong, where, and what to do: up to three lines, as reports show it."""
        word = self.level if self.level is Level.NOTE else self.verdict
        where = [str(self.example)] if self.example else []
        where += [count(self.module_count, "module")] if self.module_count else []
        lines = [f"{word}[{self.rule}] {self.headline or self.message}"]
        lines += [f"  --> {'   '.join(where)}"] if where else []
        lines += [f"  fix: {self.remedy}"] if self.remedy else []
        return "\n".join(lines)


class Coverage(Struct, frozen=True, gc=False):
    """How many modules of an artifact serve a GPU.

    Attributes:
        modules: all of them.
        sass: served by SASS.
        ptx: served by PTX.
        link: linked for it.
        without_kernels: an image would be picked, but has no kernels, as far as they were counted.
        none: have nothing for this GPU.
    """

    modules: int
    sass: int = 0
    ptx: int = 0
    link: int = 0
    without_kernels: int = 0
    none: int = 0

    @property
    def served(self) -> int:
        """Modules whose kernels get onto the GPU."""
        return self.sass + self.ptx + self.link


class Extent(Struct, frozen=True, gc=False):
    """How much of an artifact has its verdict.

    Attributes:
        modules: number of modules that have it; 0 where it is the artifact's as a whole.
        judged: number of modules that are for the GPU and were judged.
    """

    modules: int = 0
    judged: int = 0

    @property
    def partial(self) -> bool:
        """Some of the modules have the verdict, and others fare better."""
        return 0 < self.modules < self.judged

    def __str__(self) -> str:
        return f"{self.modules:,} of {self.judged:,} modules"


WHOLE = Extent()


class VariantVerdict(Struct, frozen=True):
    """What became of one of several variants, of which the artifact's loader opens one.

    Attributes:
        name: its file or folder in the artifact.
        version: what tells it from the others: ``11.8``, ``13``.
        verdict: of it and all that is in no variant.
        rules: those that make it worse than ``jit``.
        serves: it has something for the GPU itself, or none of them has.
        decides: it fits best, and its verdict is the artifact's.
    """

    name: str
    version: str
    verdict: Verdict
    rules: tuple[str, ...] = ()
    serves: bool = True
    decides: bool = False

    @property
    def outcome(self) -> str:
        """``ok``, ``fail (DRV-01)``, ``ok, not for this GPU``."""
        rules = f" ({', '.join(self.rules)})" if self.rules else ""
        return f"{self.verdict}{rules}" + ("" if self.serves else ", not for this GPU")


class Result(Struct, frozen=True, gc=False):
    """The verdict on one artifact, target and GPU.

    Attributes:
        path: the artifact.
        target: where it is going.
        gpu: the GPU; None where the target names none.
        route: how its modules get there, None where each has only one way.
        verdict: the fold of all that was judged.
        coverage: how many modules serve.
        not_judged: halves that the target says too little for: ``load``, ``link``; and ``symbols``,
            where LTO-IR, which shows no names, is in one link that no linker was asked about.
        findings: worst first.
        why: the reasoning, a sentence a line; put into words when it is read.
        extent: how many of the modules have the verdict.
        forgiven: why its verdict, bad as it is, does not count: ``known``, ``ignored`` or
            ``OTHER_VARIANT``; empty where it counts or is good enough.
        distribution: the package that the artifact is, or is a file of: ``cupy-cuda12x 14.2.0``;
            empty where none is known or nobody asked.
        variants: what became of each variant, oldest first; empty where there is no choice.
    """

    path: str
    target: Target
    gpu: Gpu | None
    route: Route | None
    verdict: Verdict
    coverage: Coverage
    not_judged: tuple[str, ...]
    findings: tuple[Finding, ...]
    why: Sequence[str]
    extent: Extent = WHOLE
    forgiven: str = ""
    distribution: str = ""
    variants: tuple[VariantVerdict, ...] = ()

    def to_row(self) -> Row:
        """A row of a table; the columns from ``modules`` on are those of ``coverage``."""
        return {
            "path": self.path,
            "distribution": self.distribution,
            "target": self.target.name,
            "gpu": None if self.gpu is None else self.gpu.name,
            "route": text_or_none(self.route),
            "verdict": str(self.verdict),
            "not_judged": list(self.not_judged),
            "rules": [finding.rule for finding in self.findings],
            "modules": self.coverage.modules,
            "sass": self.coverage.sass,
            "ptx": self.coverage.ptx,
            "link": self.coverage.link,
            "without_kernels": self.coverage.without_kernels,
            "none": self.coverage.none,
        }

    @property
    def without_device_code(self) -> bool:
        """There is no device code, and nothing that hides some; a sound machine is no such file."""
        notes = all(finding.level is Level.NOTE for finding in self.findings)
        nothing = not self.coverage.modules and notes
        return nothing and self.verdict is Verdict.UNKNOWN

    @property
    def holds_nothing(self) -> bool:
        """There is no device code, whatever else is known of the file, package or machine."""
        known = self.without_device_code or self.verdict is not Verdict.UNKNOWN
        return known and not self.coverage.modules

    @property
    def judged(self) -> bool:
        """There is device code of which something is known."""
        return bool(self.coverage.modules) and self.verdict is not Verdict.UNKNOWN

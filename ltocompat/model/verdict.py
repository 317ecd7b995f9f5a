"""Verdicts and findings as values, and how verdicts fold."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from typing import ClassVar, NoReturn

from msgspec import Struct

from ltocompat.model.errors import UsageError
from ltocompat.model.image import Origin
from ltocompat.model.location import Location
from ltocompat.model.row import Tabular
from ltocompat.model.target import Gpu, Target
from ltocompat.model.words import count


class Verdict(enum.IntEnum):
    """A verdict on device code for a target; the values are ordered from best to worst.

    ``ok``: documented to work. ``jit``: works; the driver compiles PTX at load. ``undocumented``:
    works in tests, but NVIDIA doesn't promise it. ``unknown``: a fact is missing, and the finding
    names the fact. ``fail``: the code will not link or load. Only a module can be ``not for this
    GPU``, which means that none of its code is for the GPU. Any other verdict of a module outweighs
    ``not for this GPU``.
    """

    NOT_FOR_GPU = -1
    OK = 0
    JIT = 1
    UNDOCUMENTED = 2
    UNKNOWN = 3
    FAIL = 4

    def __str__(self) -> str:
        return "not for this GPU" if self is Verdict.NOT_FOR_GPU else self.name.lower()


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst of several verdicts; without any, ``NOT_FOR_GPU``."""
    return max(verdicts, default=Verdict.NOT_FOR_GPU)


def one_of(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict on which all alternatives agree; else ``unknown``."""
    found = set(verdicts)
    return found.pop() if len(found) == 1 else Verdict.UNKNOWN


class Outcome(enum.StrEnum):
    """The aggregate of all verdicts of a check or an audit."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"


def outcome(verdict: Verdict, fail_on: Verdict, *, allow_empty: bool) -> Outcome:
    """Return the outcome for all verdicts.

    Args:
        verdict: the worst of all files, targets and GPUs.
        fail_on: the best verdict that fails.
        allow_empty: True if it passes without device code.
    """
    if verdict is Verdict.NOT_FOR_GPU:
        return Outcome.PASSED if allow_empty else Outcome.UNDECIDED
    if verdict >= fail_on:
        return Outcome.FAILED
    return Outcome.UNDECIDED if verdict is Verdict.UNKNOWN else Outcome.PASSED


class Level(enum.StrEnum):
    """The severity of a finding."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


LEVELS = {
    **dict.fromkeys((Verdict.NOT_FOR_GPU, Verdict.OK, Verdict.JIT), Level.NOTE),
    **dict.fromkeys((Verdict.UNDOCUMENTED, Verdict.UNKNOWN), Level.WARNING),
    Verdict.FAIL: Level.ERROR,
}


class Prose(Struct, frozen=True, repr_omit_defaults=True):
    """The prose of a rule.

    Attributes:
        id: its ID, ``PTX-01``.
        title: the problem in a few words.
        statement: the rule, in full sentences.
        condition: the condition of the finding.
        evidence: the bytes or facts that the rule uses.
        verdict: the verdict of the rule, or a sentence for each case.
        messages: the exact error texts that users see, without variable parts.
        remedy: the fix.
        source: the document or measurement behind the rule.
    """

    id: str
    title: str
    statement: str
    condition: str = ""
    evidence: str = ""
    verdict: str = ""
    messages: tuple[str, ...] = ()
    remedy: str = ""
    source: str = ""

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts that its text names, the usual one first; empty if no verdict uses it."""
        named = {self.verdict.find(f"`{verdict}`"): verdict for verdict in Verdict}
        return tuple(named[start] for start in sorted(named) if start >= 0)


class Route(enum.StrEnum):
    """How a module gets onto a GPU."""

    LOAD = "load"
    LINK = "link"

    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        raise UsageError(f"{value!r} is not a route; write load or link")


# The reason why a verdict on an installed file does not count: its package opens another file.
OTHER_VARIANT = "another variant decides"

# Number of names that a finding lists at most.
MOST_KERNELS = 20

# The words between a headline and a value; reports that name the target put its name there.
THE_TARGET_HAS = "the target has"


# The subject of a finding about a whole artifact, not about a file in it.
WHOLE_ARTIFACT = "all of it"


# Number of characters up to which a message is its own headline.
LONGEST_HEADLINE = 110


class BaseFinding(Tabular, frozen=True, gc=False):
    """The fields of a finding that every rule fills.

    Attributes:
        verdict: the verdict of the finding.
        message: one sentence: what is wrong, with the values.
        remedy: the fix; empty if there is nothing to do.
        evidence: the proof: bytes, a file, a variable, a symbol.
        decided_by_trial: True if a trial link would settle it.
        headline: the problem in a few words, with the values; empty if the message's first clause
            says it.
        module_count: number of affected modules; 0 if it is about no module.
        example: the first affected module; None if it is about no module.
        subject: its subject, in words that don't change with a rebuild of the artifact.
        asked: required versions and names, each with its kind: ``driver 525.60.13``, ``sm_90``;
            empty if no version changes it.
        rule: ID of the rule.
    """

    verdict: Verdict
    message: str
    remedy: str = ""
    evidence: str = ""
    decided_by_trial: bool = False
    headline: str = ""
    module_count: int = 0
    example: Location | None = None
    subject: str = ""
    asked: tuple[str, ...] = ()
    rule: str = ""


class Finding(BaseFinding, frozen=True, gc=False, kw_only=True):
    """A problem that a rule found in modules of an artifact, for one target.

    Attributes:
        level: its severity.
        source: the document or measurement behind the rule.
        about_loading: True if the finding is about loading, so that a trial link can't confirm or
            refute it.
        promised_after_trial: True if NVIDIA promises that the code works once a trial link
            succeeds.
        nondeterministic: True if the result differs from run to run, so that one success proves
            nothing.
        places: the affected modules; the list is incomplete if there are very many modules.
        kernels: names of the kernels in the affected modules, each name once; empty if no kernels
            were read.
        kernel_modules: number of affected modules whose kernels were read.
        all_kernels: True if each affected module has kernels, and the names of all kernels are
            known.
        forgiven: the reason why the finding does not make the audit fail: ``known``, ``ignored`` or
            ``allowed``. Empty if there is no such reason.
        origins: the origins of the files with the affected modules, if the files are in a container
            image.
    """

    row_columns: ClassVar[str] = (
        "rule verdict level headline message remedy evidence source "
        "modules=module_count place=example"
    )

    level: Level
    source: str
    about_loading: bool = False
    promised_after_trial: bool = False
    nondeterministic: bool = False
    places: tuple[Location, ...] = ()
    kernels: tuple[str, ...] = ()
    kernel_modules: int = 0
    all_kernels: bool = False
    forgiven: str = ""
    origins: tuple[Origin, ...] = ()

    @property
    def is_condition(self) -> bool:
        """Return whether this warns about code that is ``ok``, and a trial link can settle it."""
        return self.verdict is Verdict.OK and self.decided_by_trial

    def counts_from(self, threshold: Verdict) -> bool:
        """Return whether the finding is as bad as this threshold, or worse.

        If the verdict is ``ok``, a warning counts as ``undocumented``, and a note counts as ``ok``.
        """
        beside_ok = self.verdict is Verdict.OK and self.level is Level.WARNING
        counted = Verdict.UNDOCUMENTED if beside_ok else self.verdict
        return counted >= threshold

    def __str__(self) -> str:
        """Return the problem, its place and the remedy: up to three lines, as reports show it."""
        word = self.level if self.level is Level.NOTE else self.verdict
        where = [str(self.example)] if self.example else []
        where += [count(self.module_count, "module")] if self.module_count else []
        lines = [f"{word}[{self.rule}] {self.headline or self.message}"]
        lines += [f"  --> {'   '.join(where)}"] if where else []
        lines += [f"  fix: {self.remedy}"] if self.remedy else []
        return "\n".join(lines)


class Coverage(Struct, frozen=True, gc=False, repr_omit_defaults=True):
    """How many modules of an artifact have code for a GPU, and how many have none.

    Attributes:
        modules: number of all modules.
        sass: number of modules whose SASS runs on the GPU.
        ptx: number of modules whose PTX the driver compiles for the GPU.
        link: number of modules that are linked for the GPU.
        without_kernels: number of modules without kernels, among the modules whose kernels were
            counted.
        none: number of modules with kernels but without code for this GPU.
        kernels: how many of the ``best_kernels`` kernels have code for this GPU.
        best_kernels: number of kernels with code for the best-covered GPU. Both numbers are 0 if
            this GPU lacks none of these kernels.
    """

    modules: int
    sass: int = 0
    ptx: int = 0
    link: int = 0
    without_kernels: int = 0
    none: int = 0
    kernels: int = 0
    best_kernels: int = 0

    @property
    def served(self) -> int:
        """The number of modules with code for the GPU."""
        return self.sass + self.ptx + self.link

    @property
    def idle(self) -> bool:
        """Return whether there are modules, and none has kernels."""
        return 0 < self.modules == self.without_kernels


class Extent(Struct, frozen=True, gc=False):
    """The part of an artifact that has the verdict.

    Attributes:
        modules: number of modules with the verdict; 0 if the verdict is about the whole artifact.
        judged: number of checked modules with code for the GPU.
    """

    modules: int = 0
    judged: int = 0

    @property
    def partial(self) -> bool:
        """Return whether some modules have the verdict, and all others have a better one."""
        return 0 < self.modules < self.judged

    def __str__(self) -> str:
        return f"{self.modules:,} of {self.judged:,} modules"


WHOLE = Extent()


class VariantVerdict(Struct, frozen=True, repr_omit_defaults=True):
    """The verdict on one of several variants; at run time, the artifact loads one variant.

    Attributes:
        name: file or folder of the variant in the artifact.
        version: the version that distinguishes the variant: ``11.8``, ``13``.
        verdict: the verdict on the files of the variant and the files that belong to no variant.
        rules: rules that make the verdict worse than ``jit``.
        serves: True if the variant has code for the GPU, or if none of the variants has.
        decides: True if this variant fits best; the artifact then has the variant's verdict.
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


class Result(Tabular, frozen=True, gc=False):
    """The verdict on one artifact, target and GPU.

    Attributes:
        path: the artifact.
        target: the deploy target.
        gpu: the GPU; None if the target names none.
        route: the route that the verdict is about: ``load`` or ``link``. None if no module has both
            routes; the verdict is then about all modules.
        verdict: the worst verdict of the checked modules and of the artifact as a whole. If the
            artifact has variants, the variant that decides sets the verdict.
        coverage: how many modules have code for the GPU, and how many have none.
        not_judged: routes that were not checked (``load``, ``link``), since the target names no
            driver or no linker.
        findings: the findings, the worst first.
        why: the reasoning, one sentence per line; it is computed on first access.
        extent: number of modules with the verdict.
        forgiven: the reason why a bad verdict does not make the audit fail: ``known``, ``ignored``,
            ``allowed`` or ``OTHER_VARIANT``. Empty if there is no such reason.
        distribution: the package that contains the artifact: ``cupy-cuda12x 14.2.0``; empty if
            unknown or not requested.
        variants: the verdict on each variant, oldest first; empty if there are no variants.
        known_as: for a file outside a package, the path of the file in the project; this path
            doesn't depend on the current folder. Empty if not requested.
    """

    row_columns: ClassVar[str] = (
        "path distribution target=target.name gpu=gpu.name route verdict not_judged "
        "rules modules=coverage.modules sass=coverage.sass ptx=coverage.ptx "
        "link=coverage.link without_kernels=coverage.without_kernels "
        "none=coverage.none"
    )

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
    known_as: str = ""

    @property
    def rules(self) -> tuple[str, ...]:
        """The IDs of the rules behind the findings."""
        return tuple(finding.rule for finding in self.findings)

    @property
    def without_device_code(self) -> bool:
        """Return whether it is certain that the artifact has no device code."""
        notes = all(finding.level is Level.NOTE for finding in self.findings)
        return notes and not self.coverage.modules and self.verdict is Verdict.UNKNOWN

    @property
    def holds_nothing(self) -> bool:
        """Return whether the artifact has no device code, even if there are other problems."""
        known = self.without_device_code or self.verdict is not Verdict.UNKNOWN
        return known and not self.coverage.modules

    @property
    def counted(self) -> Verdict:
        """The verdict to combine with other verdicts.

        For a sound file without device code, this is ``not for this GPU``.
        """
        empty = self.holds_nothing and self.verdict in (Verdict.OK, Verdict.UNKNOWN)
        return Verdict.NOT_FOR_GPU if empty else self.verdict


class Loss(Struct, frozen=True):
    """Packages of an environment or container image that fail, or may fail, on a target.

    Attributes:
        target: the target of the packages.
        verdict: ``fail``; ``unknown`` if they may fail; ``ok`` if none does.
        packages: their names, or paths of files of no package.
        asked: the newest versions that they require (``driver 580.65.06``); empty if none fixes
            all.
        gpus: the target's GPUs on which they fail; empty if they fail on all of them.
    """

    target: Target
    verdict: Verdict
    packages: tuple[str, ...]
    asked: tuple[str, ...]
    gpus: tuple[str, ...] = ()

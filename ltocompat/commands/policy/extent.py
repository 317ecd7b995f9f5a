"""The extent of findings: how bad they are, of how many modules, and what they ask for.

Baselines and exceptions store extents; ``no_worse`` alone decides what they forgive.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from ltocompat.model.file_name import unversioned
from ltocompat.model.policy import ANY
from ltocompat.model.target import Gpu
from ltocompat.model.verdict import Finding, Verdict
from ltocompat.model.words import count
from ltocompat.rules.builtin_rules import BYTES_UNREAD
from ltocompat.targets.versions.comparisons import trimmed

# Stands for the GPU if a finding is the same on every GPU.
ANY_GPU = "any"

_VERSIONED = re.compile(r"(.*\S) ([0-9]{1,9}(?:\.[0-9]{1,9})*)", re.DOTALL)


class ExtentPart(Struct, frozen=True, order=True):
    """Modules with the same verdict and the same requirement.

    Attributes:
        verdict: their verdict.
        modules: number of modules; 0 stands for the artifact as a whole, None for any number.
        asked: the version or name that the modules require: ``driver 525.60.13``, ``sm_90``. Empty
            if the modules require nothing; ``*`` matches any requirement.
    """

    verdict: Verdict
    modules: int | None = 0
    asked: str = ""

    def __str__(self) -> str:
        number = f" of {count(self.modules, 'module')}" if self.modules else ""
        asks = f" asking for {self.asked}" if self.asked not in ("", ANY) else ""
        return f"{self.verdict}{number}{asks}"

    def is_covered(self, known: ExtentPart) -> bool:
        """Return whether the verdict and the required version of ``known`` are at least as bad.

        A part about modules never covers a part about the whole artifact, nor the other way round.
        """
        alike = known.modules is None or bool(known.modules) == bool(self.modules)
        return alike and self.verdict <= known.verdict and _asks_no_more(self.asked, known.asked)


# The findings of one key on one GPU, added up; empty if there are none.
FindingExtent = tuple[ExtentPart, ...]


def no_worse(now: FindingExtent, then: FindingExtent) -> bool:
    """Return whether a known extent covers another one.

    Each module of today is matched with a separate known module with at least as bad a verdict and
    as high a required version. The worst are matched first, each with the smallest requirement that
    fits, which leaves the most for the others.
    """
    left: dict[ExtentPart, int | None] = {}
    for known in then:  # of equal ones in a baseline that was edited all count
        before = left.get(known, 0)
        more = known.modules
        left[known] = None if before is None or more is None else before + more
    for part in sorted(now, reverse=True):
        covering = sorted(filter(part.is_covered, left), key=_generosity)
        if not covering:
            return False
        missing = part.modules or 0
        for known in covering:
            there = left[known]
            taken = missing if there is None else min(missing, there)
            left[known] = None if there is None else there - taken
            missing -= taken
        if missing:
            return False
    return True


def _generosity(part: ExtentPart) -> tuple[bool, tuple[int, ...]]:
    versioned = _VERSIONED.fullmatch(part.asked)
    return part.asked == ANY, trimmed(versioned[2]) if versioned else ()


def _asks_no_more(now: str, then: str) -> bool:
    """Return whether what is asked is the same, or an older version of it."""
    if then in (now, ANY):
        return True
    versions = _VERSIONED.fullmatch(now), _VERSIONED.fullmatch(then)
    if versions[0] is None or versions[1] is None or versions[0][1] != versions[1][1]:
        return False
    return trimmed(versions[0][2]) <= trimmed(versions[1][2])


def extent_of(findings: Iterable[Finding]) -> FindingExtent:
    """Return the extent of findings of one key on one GPU."""
    modules: Counter[tuple[Verdict, bool, str]] = Counter()
    for finding in findings:
        for asked in _asked(finding) or ("",):
            modules[finding.verdict, bool(finding.module_count), asked] += finding.module_count
    parts = (ExtentPart(verdict, number, asked) for (verdict, _, asked), number in modules.items())
    return tuple(sorted(parts))


def _asked(finding: Finding) -> Iterable[str]:
    """Demands of a finding; places that could not be read ask each for itself."""
    if finding.rule != BYTES_UNREAD:
        return finding.asked
    return dict.fromkeys(unversioned("::".join(place.members)) for place in finding.places)


def gpu_key(gpu: Gpu | None) -> str:
    """Return a GPU as extents name it: ``h100`` for ``H100``, ``sm_90`` for ``90`` and ``9.0``."""
    if gpu is None:
        return ANY_GPU
    name = gpu.name.strip().lower()
    if re.fullmatch(r"(?:sm_?)?[0-9]{2,3}[af]?|[0-9]{1,2}\.[0-9][af]?", name) is None:
        return re.sub(r"[\s_-]+", "-", name)
    return str(gpu.arch)

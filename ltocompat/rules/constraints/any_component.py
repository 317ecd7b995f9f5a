"""Constraints that fit several components of a target."""

from __future__ import annotations

from typing import Any, ClassVar

from ltocompat.facts import drivers
from ltocompat.model.arch import Release
from ltocompat.model.target import DriverVersion
from ltocompat.model.verdict import LEVELS, Level, Verdict
from ltocompat.rules.rule import Component, Constraint, Floor, Unbounded

FIRST_NVJITLINK = Release(12, 0)


class Remark(Constraint, frozen=True):
    """Nothing that has to be so; something that is worth a note on any target.

    Attributes:
        warns: it is worth a warning.
    """

    component: ClassVar = Component.NONE
    weighs_values: ClassVar = False
    warns: bool = False

    def __str__(self) -> str:
        return "noted"

    def judge(self, value: object) -> Verdict:
        """``ok``."""
        del value
        return Verdict.OK

    def noted(self, value: object) -> bool:
        """True."""
        del value
        return True

    def level(self, verdict: Verdict) -> Level:
        """A note, or a warning."""
        return Level.WARNING if self.warns else LEVELS[verdict]

    def floor(self) -> Unbounded:
        """None: every value is ``ok``."""
        return Unbounded.ANY


class Always(Constraint, frozen=True):
    """Nothing that a target has changes this verdict.

    Attributes:
        verdict: the verdict.
        component: the part of a target that it is about.
        trial_decides: a trial link would replace it.
        promised: what it then links is promised to; the bytes just don't show that it is such code.
    """

    weighs_values: ClassVar = False
    verdict: Verdict
    component: Component = Component.NONE
    trial_decides: bool = False
    promised: bool = False

    def __str__(self) -> str:
        return "anything"

    def judge(self, value: object) -> Verdict:
        """The verdict."""
        del value
        return self.verdict

    def floor(self) -> Unbounded:
        """None: no value changes the verdict."""
        return Unbounded.NONE_KNOWN if self.verdict is Verdict.FAIL else Unbounded.ANY

    def decided_by_trial(self, verdict: Verdict) -> bool:
        """As the rule says."""
        del verdict
        return self.trial_decides

    def promised_after_trial(self, verdict: Verdict) -> bool:
        """As the rule says."""
        del verdict
        return self.promised


class Untold(Constraint, frozen=True):
    """A version that the tables don't tell."""

    component: Component

    def __str__(self) -> str:
        return "of a release that the tables don't tell"

    def judge(self, value: object) -> Verdict:
        """``unknown``."""
        del value
        return Verdict.UNKNOWN

    def floor(self) -> Unbounded:
        """None that the tables tell."""
        return Unbounded.NOT_KNOWN


class Threshold(Constraint, frozen=True):
    """A driver, or a linker, of this version or a newer one.

    Attributes:
        least: it and newer ones surely do.
        open_below: whether an older one does is not known; else it fails.
        left_to_chance: as ``Finding.left_to_chance`` says.
    """

    least: Release | DriverVersion
    open_below: bool = False
    left_to_chance: bool = False

    @property
    def component(self) -> Component:
        """The part of a target that has such versions."""
        return Component.LINKER if isinstance(self.least, Release) else Component.DRIVER

    def __str__(self) -> str:
        open_driver = self.open_below and self.component is Component.DRIVER
        return f">= {self.least}{', to be sure' if open_driver else ''}"

    def judge(self, value: Any) -> Verdict:  # noqa: ANN401 - a version of the component
        """``fail`` below it, or ``unknown``."""
        if value >= self.least:
            return Verdict.OK
        return Verdict.UNKNOWN if self.open_below else Verdict.FAIL

    def floor(self) -> Floor[Any]:
        """That version surely does; where it is open below, any that is known may."""
        if not self.open_below:
            return Floor(self.least, self.least)
        if isinstance(self.least, Release):
            return Floor(FIRST_NVJITLINK, self.least)
        first = drivers.first_production(drivers.driver_branches()[0])
        return Floor(min(first, self.least), self.least)

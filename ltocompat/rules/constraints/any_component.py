"""Constraints that fit several components of a target."""

from __future__ import annotations

from typing import Any, ClassVar

from ltocompat.facts import drivers
from ltocompat.model.arch import Release
from ltocompat.model.target import DriverVersion
from ltocompat.model.verdict import Verdict
from ltocompat.rules.rule import Component, Constraint, Floor, Unbounded

FIRST_NVJITLINK = Release(12, 0)


class AlwaysMet(Constraint, frozen=True):
    """A demand that every value meets, of which some are worth a note."""

    def judge(self, value: object) -> Verdict:
        """``ok``."""
        del value
        return Verdict.OK

    def floor(self) -> Unbounded:
        """None: every value is ``ok``."""
        return Unbounded.ANY


class Informational(AlwaysMet, frozen=True):
    """Something that is worth a note on any target."""

    component: ClassVar = Component.NONE
    weighs_values: ClassVar = False

    def __str__(self) -> str:
        return "noted"

    def noted(self, value: object) -> bool:
        """True."""
        del value
        return True


class FixedVerdict(Constraint, frozen=True):
    """Nothing that a target has changes this verdict.

    Attributes:
        verdict: the verdict.
        component: the part of a target that it is about.
    """

    weighs_values: ClassVar = False
    verdict: Verdict
    component: Component = Component.NONE

    def __str__(self) -> str:
        return "anything"

    def judge(self, value: object) -> Verdict:
        """The verdict."""
        del value
        return self.verdict

    def floor(self) -> Unbounded:
        """None: no value changes the verdict."""
        return Unbounded.NONE_KNOWN if self.verdict is Verdict.FAIL else Unbounded.ANY


class UnknownConstraint(Constraint, frozen=True):
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
    """

    least: Release | DriverVersion
    open_below: bool = False

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

"""What a module of the catalogue adds its rules to, by decorators."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from msgspec.structs import replace

from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.image import Host
from ltocompat.model.signature import ImageSignature
from ltocompat.model.target import Gpu
from ltocompat.model.verdict import Level, Route
from ltocompat.rules.rule import Link, Problem, Requirement, Rule, Subject

if TYPE_CHECKING:
    from ltocompat.packages.values import Shipped
    from ltocompat.targets.machine.environment import Environment
    from ltocompat.targets.machine.loaded import Library

OfModule: TypeAlias = Callable[[Subject], Iterable[Requirement]]
Excludes: TypeAlias = Callable[[ImageSignature, Gpu, Route], str | None]
OfLink: TypeAlias = Callable[[Link], Iterable[Requirement]]
OfHost: TypeAlias = Callable[[Host], Iterable[Requirement]]
OfMachine: TypeAlias = "Callable[[Environment], Iterable[Problem]]"
OfLibrary: TypeAlias = "Callable[[Library], Iterable[Problem]]"
OfPackage: TypeAlias = "Callable[[Shipped], Iterable[Problem]]"
OfArtifact: TypeAlias = Callable[[ArtifactSummary], Iterable[Problem]]
Function = TypeVar("Function")


class Family:
    """The rules of one module of the catalogue.

    Each decorator says by its name what the function looks at (see ``Rule``), and takes the ID and
    the level of the rule. A rule with a second function names its level at the first one alone.

    Args:
        name: the name of the module, and of its table in ``prose``.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._rules: dict[str, Rule] = {}

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, in the order in which they stand in the module."""
        return tuple(self._rules.values())

    def declare(self, rule_id: str, level: Level) -> None:
        """Add a rule without a function: another room finds what it speaks of."""
        if rule_id in self._rules:
            raise ValueError(f"{rule_id} is declared twice in {self.name}")
        self._rules[rule_id] = Rule(rule_id, level, self.name)

    def rule(self, rule_id: str, level: Level | None = None) -> Callable[[OfModule], OfModule]:
        """A function that finds what a module on its way to a GPU requires."""
        return self._adding("requirements", rule_id, level)

    def excludes(self, rule_id: str, level: Level | None = None) -> Callable[[Excludes], Excludes]:
        """A function that says why an image is not picked for a GPU."""
        return self._adding("excludes", rule_id, level)

    def of_link(self, rule_id: str, level: Level | None = None) -> Callable[[OfLink], OfLink]:
        """A function that finds what a link of several modules requires."""
        return self._adding("of_link", rule_id, level)

    def of_host(self, rule_id: str, level: Level | None = None) -> Callable[[OfHost], OfHost]:
        """A function that finds what a host file requires."""
        return self._adding("of_host", rule_id, level)

    def of_machine(
        self, rule_id: str, level: Level | None = None
    ) -> Callable[[OfMachine], OfMachine]:
        """A function that finds the problems of a machine."""
        return self._adding("of_machine", rule_id, level)

    def of_library(
        self, rule_id: str, level: Level | None = None
    ) -> Callable[[OfLibrary], OfLibrary]:
        """A function that finds the problems of a library on a machine."""
        return self._adding("of_library", rule_id, level)

    def of_artifact(
        self, rule_id: str, level: Level | None = None
    ) -> Callable[[OfArtifact], OfArtifact]:
        """A function that finds what is missing from an artifact as a whole, or left over in it."""
        return self._adding("of_artifact", rule_id, level)

    def of_package(
        self, rule_id: str, level: Level | None = None
    ) -> Callable[[OfPackage], OfPackage]:
        """A function that finds the problems of a package."""
        return self._adding("of_package", rule_id, level)

    def _adding(
        self, kind: str, rule_id: str, level: Level | None
    ) -> Callable[[Function], Function]:
        def add(function: Function) -> Function:
            if level is not None:
                self.declare(rule_id, level)
            added: dict[str, Any] = {kind: function}
            self._rules[rule_id] = replace(self._rules[rule_id], **added)
            return function

        return add

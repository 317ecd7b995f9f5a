"""Families of rules, to which modules of the catalogue add theirs by decorators."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.image import HostBinary
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
OfHost: TypeAlias = Callable[[HostBinary], Iterable[Requirement]]
OfMachine: TypeAlias = "Callable[[Environment], Iterable[Problem]]"
OfLibrary: TypeAlias = "Callable[[Library], Iterable[Problem]]"
OfPackage: TypeAlias = "Callable[[Shipped], Iterable[Problem]]"
OfArtifact: TypeAlias = Callable[[ArtifactSummary], Iterable[Problem]]
Function = TypeVar("Function", bound=Callable[..., Any])


class _Adds(Generic[Function]):
    """A decorator of rules that look at one kind of thing.

    Args:
        kind: the word by which those are looked up.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def __get__(
        self, family: Family, _: type[Family]
    ) -> Callable[..., Callable[[Function], Function]]:
        return lambda rule_id, level=None: partial(family.add, self._kind, rule_id, level)


class Family:
    """The rules of one module of the catalogue.

    Each decorator says by its name what the function looks at and takes the ID and
    the level of the rule. A rule with a second function names its level at the first one alone.

    Args:
        name: the name of the module, and of its table in ``prose``.
    """

    rule = _Adds[OfModule]("requirements")
    excludes = _Adds[Excludes]("excludes")
    of_link = _Adds[OfLink]("of_link")
    of_host = _Adds[OfHost]("of_host")
    of_machine = _Adds[OfMachine]("of_machine")
    of_library = _Adds[OfLibrary]("of_library")
    of_artifact = _Adds[OfArtifact]("of_artifact")
    of_package = _Adds[OfPackage]("of_package")
    of_installed = _Adds[OfPackage]("of_installed")

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

    def add(self, kind: str, rule_id: str, level: Level | None, function: Function) -> Function:
        """Add a function to a rule, which is a new one where a level is given."""
        if level is not None:
            self.declare(rule_id, level)
        self._rules[rule_id].functions[kind] = function
        return function

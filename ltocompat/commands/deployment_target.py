"""Somewhere that artifacts go, as the verbs that judge take it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.failure import Failure
from ltocompat.model.target import Target
from ltocompat.model.verdict import Result, Route
from ltocompat.rules.engine.engine import Engine
from ltocompat.rules.engine.judge_artifact import Artifact

if TYPE_CHECKING:
    from ltocompat.targets.machine.python_environment import Installation


class DeploymentTarget(Protocol):
    """Somewhere that artifacts go: a target that was described, or a machine that was looked at."""

    @property
    def target(self) -> Target:
        """The target, as far as it is known."""

    @property
    def installation(self) -> Installation | None:
        """The packages that are installed there; None where nobody looked."""

    @property
    def here(self) -> bool:
        """Return whether it is this machine, whose driver can be asked."""

    def results(self, summary: ArtifactSummary, route: Route | None) -> Iterator[Result | Failure]:
        """The verdicts on an artifact there: by GPU, then by route (None: both)."""

    def own_result(self) -> Result | None:
        """Problems of that place, whatever goes there; None where nobody looked."""


class DescribedTarget(Struct, frozen=True):
    """A target that was described; nobody looked at it.

    Attributes:
        target: the target.
        engine: what is known already of modules that go there, or to targets beside it.
        here: it is this machine.
    """

    target: Target
    engine: Engine = field(default_factory=Engine)
    here: bool = False

    @property
    def installation(self) -> Installation | None:
        """None: nobody looked."""
        return None

    def results(self, summary: ArtifactSummary, route: Route | None) -> Iterator[Result | Failure]:
        """The verdicts on an artifact."""
        return Artifact(summary, self.engine).results(self.target, route)

    def own_result(self) -> Result | None:
        """None: nobody looked."""
        return None

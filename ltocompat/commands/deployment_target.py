"""What ``check`` judges for: a target that was described, or a machine that was looked at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.failure import Failure
from ltocompat.model.target import Target
from ltocompat.model.verdict import Result, Route
from ltocompat.rules.engine.judge_artifact import results

if TYPE_CHECKING:
    from ltocompat.targets.machine.python_environment import Installation


class DeploymentTarget(Protocol):
    """Somewhere that artifacts go."""

    @property
    def target(self) -> Target:
        """What is known of it."""

    @property
    def installation(self) -> Installation | None:
        """The packages that are installed there; None where nobody looked."""

    @property
    def here(self) -> bool:
        """Whether it is this machine, whose driver can be asked."""

    def results(self, summary: ArtifactSummary, route: Route | None) -> Iterator[Result | Failure]:
        """The verdicts on an artifact there: by GPU, then by route (None: both)."""

    def own_result(self) -> Result | None:
        """What is wrong there, whatever goes there; None where nobody looked."""


class PlainTarget(Struct, frozen=True):
    """A target that was described.

    Attributes:
        target: the description.
        installation: nobody looked.
        here: no.
    """

    target: Target
    installation: None = None
    here: bool = False

    def results(self, summary: ArtifactSummary, route: Route | None) -> Iterator[Result]:
        """The verdicts on an artifact."""
        return results(summary, self.target, route)

    def own_result(self) -> None:
        """Nothing: nobody looked."""

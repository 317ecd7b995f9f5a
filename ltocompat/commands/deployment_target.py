"""Somewhere that artifacts go, as the verbs that judge take it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.failure import Failure
from ltocompat.model.target import Target
from ltocompat.model.verdict import Result, Route
from ltocompat.rules.engine.judge_artifact import Artifact

if TYPE_CHECKING:
    from ltocompat.targets.machine.python_environment import Installation


class DeploymentTarget(Struct, frozen=True):
    """A target that was described; its subclasses are machines that were looked at.

    Attributes:
        target: what is known of it.
        installation: the packages that are installed there; None where nobody looked.
        here: it is this machine, whose driver can be asked.
    """

    target: Target
    installation: Installation | None = None
    here: bool = False

    def results(self, summary: ArtifactSummary, route: Route | None) -> Iterator[Result | Failure]:
        """The verdicts on an artifact there: by GPU, then by route (None: both)."""
        return Artifact(summary).results(self.target, route)

    def own_result(self) -> Result | None:
        """What is wrong there, whatever goes there; None where nobody looked."""
        return None

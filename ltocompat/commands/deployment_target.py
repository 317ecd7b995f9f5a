"""Deploy targets as the verbs that judge take them: described, or an examined machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct, field

from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.failure import Failure
from ltocompat.model.target import Target
from ltocompat.model.verdict import Result, Route
from ltocompat.rules.engine.engine import Engine
from ltocompat.rules.engine.judge_artifact import ArtifactJudge

if TYPE_CHECKING:
    from ltocompat.targets.machine.python_environment import Installation


class DeploymentTarget(Struct, frozen=True):
    """A target on which artifacts will run: a description, or a machine that was examined.

    Attributes:
        target: the target, as far as it is known.
        engine: the engine, which caches results; all targets of a run share it.
        here: True for this machine, whose driver can be queried.
    """

    target: Target
    engine: Engine = field(default_factory=Engine)
    here: bool = False

    @property
    def installation(self) -> Installation | None:
        """The packages that are installed on this target; None if unknown."""
        return None

    def results(self, summary: ArtifactSummary, route: Route | None) -> Iterator[Result | Failure]:
        """The verdicts on an artifact for this target, by GPU, then by route."""
        return ArtifactJudge(summary, self.engine).results(self.target, route)

    def brought(self, summary: ArtifactSummary) -> frozenset[str]:  # noqa: ARG002
        """The CUDA libraries that the target's loader finds for a file; empty if unknown."""
        return frozenset()

    def own_result(self) -> Result | None:
        """Problems of the target itself, independent of the artifact; None if unknown."""
        return None


# A target, or its spelling: what ``--deploy-target`` accepts, or the path of such a file.
TargetLike = Target | DeploymentTarget | str | os.PathLike[str]

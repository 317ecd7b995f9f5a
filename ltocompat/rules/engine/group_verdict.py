"""What is said of equal modules of an artifact, and how a note on them is made."""

from __future__ import annotations

from msgspec import Struct

from ltocompat.model.artifact_summary import ModuleGroup
from ltocompat.model.place import Place
from ltocompat.model.verdict import Finding, Level, Route, Verdict
from ltocompat.rules.engine.findings import finding_by_engine
from ltocompat.rules.engine.module_verdict import ModuleVerdict


class GroupVerdict(Struct, frozen=True, gc=False):
    """Equal modules, what is said of each, and the way that they go.

    Attributes:
        neutral: they have no kernels, and what the rules say of them by themselves counts for
            nothing.
        by_itself: the worst of what they say, else None.
    """

    group: ModuleGroup
    module_verdict: ModuleVerdict
    way: Route
    neutral: bool = False
    by_itself: Finding | None = None

    @property
    def for_gpu(self) -> bool:
        """Whether they are for the GPU, or may be: something was judged or left open."""
        judged = self.module_verdict.verdict is not Verdict.NOT_FOR_GPU or bool(
            self.module_verdict.not_judged
        )
        return judged or self.module_verdict.serves_elsewhere


def note(
    rule_id: str,
    message: str,
    count: int,
    example: Place | None,
    evidence: str,
    *,
    level: Level = Level.NOTE,
) -> Finding:
    """A finding that changes no verdict."""
    return finding_by_engine(
        rule_id,
        Verdict.OK,
        message,
        evidence,
        count=count,
        example=example,
        subject="modules",
        level=level,
    )

"""`ltocompat/check/v1`."""

from __future__ import annotations

from typing import Annotated

from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import Count, Document, Failure, Positive, Record, VerdictWord
from ltocompat.model.records_v1.verdict import Result, Target


class Summary(Record):
    """The number of results for each verdict, and the worst verdict.

    Attributes:
        without_device_code: Number of files without device code.
    """

    artifacts: Annotated[Count, From("artifacts", len)]
    without_device_code: Annotated[Count, From("empty", len)]
    verdict: Annotated[VerdictWord | None, From("worst")]
    verdicts: dict[str, Positive]
    errors: tuple[Failure, ...]


class Check(Document, tag="ltocompat/check/v1"):
    """A verdict for each artifact, deploy target and GPU."""

    targets: tuple[Target, ...]
    results: tuple[Result, ...]
    summary: Summary

"""`ltocompat/targets/v1`."""

from __future__ import annotations

from typing import Annotated

from ltocompat.model.records_v1.base import Document, Record, RunSummary, one_of


class Word(Record):
    """A value that --deploy-target accepts.

    Attributes:
        key: The key of the value.
        value: The value, such as 12.4, R550, hopper or sm_90.
        meaning: The GPU, driver or release that the value stands for.
    """

    key: Annotated[str, one_of("cuda", "driver", "gpu")]
    value: str
    meaning: str


class Summary(RunSummary):
    """The errors of the run."""


class Targets(Document, tag="ltocompat/targets/v1"):
    """The values that a deploy target can have."""

    words: tuple[Word, ...]
    summary: Summary

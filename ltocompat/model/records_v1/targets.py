"""`ltocompat/targets/v1`."""

from __future__ import annotations

from typing import Annotated

from ltocompat.model.records_v1.base import Document, Failure, Record, one_of


class Word(Record):
    """Something that --deploy-target takes.

    Attributes:
        key: What it is a value of.
        value: 12.4, R550, hopper, sm_90
        meaning: What is judged for it.
    """

    key: Annotated[str, one_of("cuda", "driver", "gpu")]
    value: str
    meaning: str


class Summary(Record):
    """Errors."""

    errors: tuple[Failure, ...]


class Targets(Document, tag="ltocompat/targets/v1"):
    """The words that a deploy target can be made of."""

    words: tuple[Word, ...]
    summary: Summary

"""`ltocompat/targets/v1`."""

from __future__ import annotations

from typing import Annotated

from ltocompat.model.records_v1.base import Document, Failure, Record, described, one_of


class Word(Record):
    """Something that --deploy-target takes."""

    key: Annotated[str, one_of("cuda", "driver", "gpu"), described("What it is a value of.")]
    value: Annotated[str, described("12.4, R550, hopper, sm_90")]
    meaning: Annotated[str, described("What is judged for it.")]


class Summary(Record):
    """What went wrong."""

    errors: tuple[Failure, ...]


class Targets(Document, tag="ltocompat/targets/v1"):
    """The words that a deploy target can be made of."""

    words: tuple[Word, ...]
    summary: Summary

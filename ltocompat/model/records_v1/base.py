"""Records that every verb has, and `ltocompat/error/v1`: nothing but errors."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct


class Record(Struct, gc=False):
    """A JSON object of which every member is always written; it lives for one line of output.

    The docstrings of its subclasses are published: they are the descriptions in the JSON Schemas.
    """


class TablesEnd(Record):
    """The end of the tables of facts that an answer rests on.

    Attributes:
        cuda: The newest CUDA release in them.
        driver: The newest driver branch.
        date: The day of their newest row on either.
    """

    cuda: str
    driver: int
    date: str


class Document(Record, tag_field="schema", kw_only=True):
    """A whole answer; its tag is its schema's name.

    Attributes:
        facts: Where the tables end that the answer rests on; null of an error.
    """

    facts: TablesEnd | None = None


def one_of(*words: str) -> Meta:
    """The words that a text can be; readers take others, which may be added later."""
    return Meta(extra_json_schema={"enum": list(words)})


Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(ge=0)]
PlaceText = Annotated[str, Meta(description="Shell-safe: libx.a::m.o@0x1f40.3")]
ArchText = Annotated[str, Meta(pattern="^(sm|compute|lto)_[0-9]+[af]?$")]
ReleaseText = Annotated[str, Meta(pattern=r"^[0-9]+\.[0-9]+$")]


class Failure(Record):
    """An error in one sentence."""

    kind: Annotated[
        str, one_of("usage", "unreadable", "malformed", "limit", "missing", "failed", "internal")
    ]
    message: str


class Skipped(Record):
    """A place that was not read.

    Attributes:
        limit: Name of the limit that was hit.
    """

    place: PlaceText
    reason: str
    size: Count | None
    limit: str | None


class Error(Document, tag="ltocompat/error/v1"):
    """Written when there is nothing but errors."""

    error: Failure
    others: tuple[Failure, ...]

"""`ltocompat/repair/v1`."""

from __future__ import annotations

from ltocompat.model import mend
from ltocompat.model.records_v1.base import Count, Document, Failure, Record, published


@published(mend.Mended, "subject")
class Finding(Record):
    """A finding for which a change of the wheel is known.

    Attributes:
        rule: ID of its rule.
        message: What is wrong, in one sentence.
        reason: Why the change was not made; empty where it was.
    """


@published(mend.Repaired)
class Wheel(Record):
    """A wheel, and what was changed of it.

    Attributes:
        path: The wheel, as it was named.
        output: The new one; null where none was written.
        findings: Those for which a change is known.
        diff: The changes, as lines of a unified diff; each element of a RUNPATH is a line.
        void: Signatures of the wheel, which the new one does not have.
    """


class Summary(Record):
    """Counts.

    Attributes:
        written: Number of new wheels.
        mended: Number of findings that are gone.
    """

    written: Count
    mended: Count
    errors: tuple[Failure, ...]


class Repair(Document, tag="ltocompat/repair/v1"):
    """The wheels in the order in which they were named."""

    wheels: tuple[Wheel, ...]
    summary: Summary

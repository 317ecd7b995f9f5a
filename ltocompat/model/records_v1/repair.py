"""`ltocompat/repair/v1`."""

from __future__ import annotations

from ltocompat.model import mend
from ltocompat.model.records_v1.base import Count, Document, Record, RunSummary, published


@published(mend.Mended, "subject")
class Finding(Record):
    """A finding that a change to the wheel can fix.

    Attributes:
        rule: ID of the rule.
        message: The problem, in one sentence.
        reason: The reason why the change was not made; empty if it was made.
    """


@published(mend.Repaired)
class Wheel(Record):
    """A wheel and its changes.

    Attributes:
        path: The wheel, as the user named it.
        output: The new wheel; null if none was written.
        findings: The findings that a change can fix.
        diff: The changes, as lines of a unified diff; each element of a RUNPATH is a line.
        void: Signatures in the old wheel that the new wheel leaves out, since they are no longer
            valid.
        before: The worst verdict of the findings on the old wheel's libraries and metadata.
        after: The same of the new wheel, which was read again; null without a new wheel, or
            for a copy.
    """


class Summary(RunSummary):
    """Numbers of wheels and fixes, and the errors.

    Attributes:
        written: Number of new wheels.
        mended: Number of findings that were fixed.
    """

    written: Count
    mended: Count


class Repair(Document, tag="ltocompat/repair/v1"):
    """The wheels in the order in which they were named."""

    wheels: tuple[Wheel, ...]
    summary: Summary

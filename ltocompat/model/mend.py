"""Changes of a wheel that cure a problem and need no compiler."""

from __future__ import annotations

from typing import Self

from msgspec import Struct

from ltocompat.model.verdict import Verdict


class Mend(Struct, frozen=True):
    """A change to a wheel's metadata, RUNPATHs or tags.

    Attributes:
        requires: requirements to add to Requires-Dist: ``nvidia-nvjitlink-cu12>=12.4,<13``.
        instead: names of packages; the wheel's requirements on these packages are replaced.
        looked_into: pairs of a member and a folder that is added to the RUNPATH of this member.
        not_looked_into: pairs of a member and a folder that is removed from the RUNPATH of this
            member.
        tag: the new tag in the file name and in WHEEL, such as ``py3-none-linux_x86_64``; empty if
            the tags don't change.
    """

    requires: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    looked_into: tuple[tuple[str, str], ...] = ()
    not_looked_into: tuple[tuple[str, str], ...] = ()
    tag: str = ""

    @classmethod
    def requiring(cls, requirement: str, instead: str = "", extra: str | None = None) -> Self:
        """Return the change that adds a requirement, for an extra or unconditionally."""
        marker = f' ; extra == "{extra}"' if extra else ""
        return cls((requirement + marker,), (instead,) if instead else ())


class Mended(Struct, frozen=True):
    """A problem, and the known change that fixes it.

    Attributes:
        rule: ID of its rule.
        subject: the subject of the finding.
        message: the problem, in one sentence.
        reason: the reason why the change is not made; empty if it is made.
    """

    rule: str
    subject: str
    message: str
    reason: str = ""


class Repaired(Struct, frozen=True):
    """A wheel and its changes.

    Attributes:
        path: the wheel.
        output: the new wheel; None if no wheel was written.
        findings: the findings that a change can fix.
        diff: the changes, as lines of a unified diff.
        void: signatures in the old wheel that the new wheel leaves out, since they are no longer
            valid.
        before: the worst verdict of the findings on the old wheel's libraries and metadata.
        after: the same of the new wheel, which was read again; None without a new wheel, or
            for a copy.
    """

    path: str
    output: str | None
    findings: tuple[Mended, ...]
    diff: tuple[str, ...]
    void: tuple[str, ...]
    before: Verdict
    after: Verdict | None = None

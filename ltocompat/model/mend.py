"""Changes of a wheel that cure a problem and need no compiler."""

from __future__ import annotations

from typing import Self

from msgspec import Struct


class Mend(Struct, frozen=True):
    """A change of a wheel's metadata, of RUNPATHs inside, or of its tags.

    Attributes:
        requires: requirements that Requires-Dist is to have: ``nvidia-nvjitlink-cu12>=12.4,<13``.
            A line about the same package is narrowed to them.
        instead: names of the packages whose lines they take the place of.
        looked_into: members, each with an element that its RUNPATH is to have.
        not_looked_into: members, each with an element that its RUNPATH is to lose.
        tag: the tag of its file name, which WHEEL is to have, too: ``py3-none-linux_x86_64``; empty
            where the tags stay.
    """

    requires: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    looked_into: tuple[tuple[str, str], ...] = ()
    not_looked_into: tuple[tuple[str, str], ...] = ()
    tag: str = ""

    @classmethod
    def requiring(cls, requirement: str, instead: str = "", extra: str | None = None) -> Self:
        """Return the change that brings a requirement, where an extra is asked for or always."""
        marker = f' ; extra == "{extra}"' if extra else ""
        return cls((requirement + marker,), (instead,) if instead else ())


class Mended(Struct, frozen=True):
    """A problem for which a change is known.

    Attributes:
        rule: ID of its rule.
        subject: what it is about, as that of a finding.
        message: what is wrong, in one sentence.
        reason: why the change is not made, so that it stays; empty where it is made.
    """

    rule: str
    subject: str
    message: str
    reason: str = ""


class Repaired(Struct, frozen=True):
    """A wheel, and what was changed of it.

    Attributes:
        path: the wheel.
        output: the new one; None where none was written.
        findings: those for which a change is known.
        diff: the changes, as lines of a unified diff.
        void: signatures of the wheel, which the new one does not have.
    """

    path: str
    output: str | None
    findings: tuple[Mended, ...]
    diff: tuple[str, ...]
    void: tuple[str, ...]

"""A rule and what it explains of a text, as a value."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from ltocompat.model.verdict import Prose


class AtFault(Struct, frozen=True):
    """A file that causes an error.

    Attributes:
        place: the file, or a place in it.
        reason: the problem with the file, and the version that was found in the file.
    """

    place: str
    reason: str


class Explained(Prose, frozen=True):
    """A rule, and the part of a text that it explains.

    Attributes:
        id: the ID of the rule (``PTX-01``), or the word for a topic (``lto-ir``).
        title: the problem in a few words.
        statement: the rule, in full sentences, or the reason why ltocompat doesn't check it. For a
            topic, this is the explanation, one sentence per line.
        condition: the condition of the finding.
        evidence: the bytes or facts that the rule uses.
        verdict: the verdict of the rule.
        messages: the exact messages that users see.
        remedy: the fix.
        source: the document or measurement behind the rule.
        built: True if ltocompat checks this rule. If False, ``condition``, ``evidence``,
            ``verdict``, ``messages`` and ``remedy`` are empty.
        matched: the part of the text that matches a message of the rule; None if the text is an ID.
        score: the fraction of the text that matches the rule, from 0 to 1; 1 if the rule's ID was
            given.
        line: the line of the text where the message begins, copied exactly; None if an ID was
            given.
        cause: the cause, with versions and names from the text. None if an ID was given, or if the
            message is the same as for the previous rule.
        fix: the fix for that cause.
        check: a command that shows the cause.
        values: values in the text, and values that follow from them by the tables: ``ptx`` and
            ``ptx_cuda``.
        here: this machine's driver, GPU and nvJitLink, if requested.
        also: IDs of other rules that have the same message or cover the same topic.
        at_fault: those of the given files that cause the error, each with the reason.
    """

    built: bool = True
    matched: str | None = None
    score: float = 1.0
    line: str | None = None
    cause: str | None = None
    fix: str | None = None
    check: str | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    here: str | None = None
    also: tuple[str, ...] = ()
    at_fault: tuple[AtFault, ...] = ()

    def __hash__(self) -> int:
        return hash((self.id, self.matched, self.line))

"""A rule and what it explains of a text, as a value."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from ltocompat.model.verdict import Prose


class AtFault(Struct, frozen=True):
    """A file that causes an error.

    Attributes:
        place: the file, or what in it.
        reason: what is wrong with it, with its version.
    """

    place: str
    reason: str


class Explained(Prose, frozen=True):
    """A rule, and what of a text it accounts for.

    Attributes:
        id: its ID, ``PTX-01``; of a topic its word, ``lto-ir``.
        title: what is wrong, in a few words.
        statement: what holds, in full sentences; of a rule that is not built: why it isn't; of a
            topic what it is, a sentence a line.
        condition: when the rule speaks.
        evidence: which bytes or facts it goes by.
        verdict: what it says then.
        messages: the exact texts that users see.
        remedy: what to do.
        source: where the rule comes from.
        built: whether this tool judges by it; else condition and the rest are empty.
        matched: the part of the text that is the message; None where an ID was given.
        score: 0 to 1, how much of the text speaks for the rule; 1 where its ID was given.
        line: the line of the text that the message begins on; None where an ID was given.
        cause: why it happens, with the values of the text; None where an ID was given, and for
            rules that share the message of the one before them.
        fix: what to do about that cause.
        check: a command that shows it.
        values: what the text says, with what the tables make of it: ``ptx`` and ``ptx_cuda``.
        here: this machine, where it was asked for: its driver, GPU and nvJitLink.
        also: IDs of further rules with the same message, or about the topic.
        at_fault: files at the given places that the rule speaks of, each with what it says.
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

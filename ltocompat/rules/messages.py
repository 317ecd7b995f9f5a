"""Messages of programs when device code doesn't fit, and the causes that a pasted text names.

The rows are data, ``catalogue/messages.toml``. The work grows with the length of the text and
no faster: a pattern is tried only around its fixed strings, every repetition in it is bounded, and
it is tried a bounded number of times.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct, convert

from ltocompat.model.paste import Paste, Reading
from ltocompat.rules.clients import said, shown, system_of
from ltocompat.rules.evidence import evidence, of_another_vendor, patterns
from ltocompat.rules.literals import Index, compiled, likely_in, places, small
from ltocompat.rules.message_values import CONDITIONS, NEVER, Unfit, derived, filled, fitting_values
from ltocompat.rules.prose import rows

_TRIES = 16  # places of one text whose values are looked at: the same error repeats itself

_NUMBERS = re.compile(r"<<(!?)(\d+)>>")
_LONGEST_PATH = 300


class Message(Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the table: a text, and its meaning.

    Attributes:
        name: the name of the cause.
        rule: ID of the rule of the message.
        find: strings, one of which must be in the text.
        pattern: the pattern of the text, with single blanks; its groups are values.
        cause: the cause, with the values; of the alternatives in ``[[ | ]]``, the first with known
            values is used, or none.
        fix: the fix.
        check: a command that shows the cause.
        source: the source of the text.
        also: IDs of other rules with the same text.
        beside: a pattern that has to be in the text, too.
        unless: a pattern that must not be in the text.
        when: a condition on the values.
        reach: number of characters around these strings that can belong to it.
    """

    name: str
    rule: str
    find: tuple[str, ...]
    pattern: str
    cause: str
    fix: str
    check: str
    source: str
    also: tuple[str, ...] = ()
    beside: str = ""
    unless: str = ""
    when: str = ""
    reach: int = 200


class Match(Struct, frozen=True):
    """A message that is in a text.

    Attributes:
        message: its row.
        line: the line of the text on which it begins, without blanks around it.
        found: the part of the text that is the message, with single blanks.
        values: its values, with values from the tables.
        alien: a pattern of sentences that are of no use to its readers.
        forms: patterns of commands, and how its readers type them.
    """

    message: Message
    line: str
    found: str
    values: Mapping[str, str]
    alien: str = ""
    forms: Sequence[tuple[str, str]] = ()

    def told(self, template: str, unfit: Unfit = NEVER) -> str:
        """Return a sentence with the values, and its commands as the reader types them."""
        sentence = filled(template, self.values, self.alien, unfit)
        for pattern, words in self.forms:
            sentence = compiled(pattern).sub(words, sentence)
        return sentence


def messages() -> tuple[Message, ...]:
    """Return all rows in order of priority."""
    return tuple(map(_message, range(len(rows("messages")))))


@functools.cache
def _message(number: int) -> Message:
    return convert(rows("messages")[number].values(), Message)


def matches(text: str, machine: Mapping[str, str] = MappingProxyType({})) -> Iterator[Match]:
    """Yield the causes in a text, the decisive one first; each once.

    Args:
        text: a log, or a part of one, as copied.
        machine: other facts about the machine, by the names of ``evidence``; the text takes
            precedence.
    """
    paste = Paste(text)
    # A word in another case is the same word, but a sure text goes first.
    found = [*_matches(paste, machine, 0)] or [*_matches(paste, machine, re.IGNORECASE)]
    if found and not of_another_vendor(f"{paste.readings[0].flat} {text}"):
        yield from found


def _matches(paste: Paste, known: Mapping[str, str], flags: int) -> Iterator[Match]:
    """Matches in a paste, with flags for the patterns of the rows."""
    machine: Mapping[str, str] | None = None
    # A byte for each letter: 1 where a message stands that a row above has explained.
    explained = bytearray(len(paste.readings[0].flat))
    near = (small(reading.own) if flags else reading.own for reading in paste.readings)
    for number in sorted(set[int]().union(*map(_index(flags).numbers, near))):
        message = _message(number)
        for reading in paste.readings:
            found = _places(message, reading, explained, flags)
            if not found:
                continue
            if machine is None:
                machine = {**known, **evidence(paste.readings[0].flat)}
            match = _first_that_holds(message, found, paste, reading, machine)
            if match is not None:
                yield match
                for place in found:
                    start, end = map(reading.letters_before, place.span())
                    explained[start:end] = b"\1" * (end - start)
                break


@functools.cache
def _index(flags: int) -> Index:
    """The numbers of the rows by their fixed strings; with flags, in small letters."""
    finds = (row.line("find") for row in rows("messages"))
    return Index(map(str.lower, find) if flags else find for find in finds)


_Matches = list[re.Match[str]]


def _places(message: Message, reading: Reading, explained: bytearray, flags: int) -> _Matches:
    """Where the text of a row stands, apart from what is explained."""
    flat = reading.flat
    found = [
        place
        for likely in filter(None, [likely_in(flat, pattern_of(message.pattern, flags))])
        for part in _parts(message, reading, flags)
        for place in likely.finditer(flat, *part)
        if explained.find(1, *map(reading.letters_before, place.span())) < 0
    ]
    keeps = found and any(places(pattern_of(message.beside, flags), flat))
    parted = keeps and message.unless and any(places(pattern_of(message.unless, flags), flat))
    return found if keeps and not parted else []


def _parts(message: Message, reading: Reading, flags: int) -> list[tuple[int, int]]:
    """The parts of a text around a row's fixed strings, apart from each other."""
    parts = [(0, 0)]
    flat = small(reading.flat) if flags else reading.flat
    for hit in _any_of(message.find, flags).finditer(flat):
        start = max(hit.start() - message.reach, 0)
        if start <= parts[-1][1]:
            start = parts.pop()[0]
        parts.append((start, hit.end() + message.reach))
    return parts


@functools.cache
def _any_of(find: tuple[str, ...], flags: int) -> re.Pattern[str]:
    """The pattern of fixed strings."""
    return re.compile("|".join(map(re.escape, find)), flags | re.ASCII)


def _first_that_holds(
    message: Message, found: _Matches, paste: Paste, reading: Reading, machine: Mapping[str, str]
) -> Match | None:
    """The place that says most, the first of these, whose values meet the row's condition."""
    for place in sorted(found[:_TRIES], key=lambda place: place.groups().count(None)):
        groups = {name: value for name, value in place.groupdict().items() if value}
        before = reading.flat[max(0, place.start() - _LONGEST_PATH) : place.start()]
        if user := next(places(patterns()["user"], before), None):
            groups.setdefault("needs_file", next(filter(None, user.groups())))
        values = derived({**machine, **groups})
        if CONDITIONS[message.when](values):
            whole = paste.readings[0].flat
            values |= {"system": system_of(whole).name, **shown(whole, values)}
            sentences = message.cause + message.fix + message.check
            fit = fitting_values(values)
            words, alien, forms = said(whole, reading.flat, place.start(), fit, sentences)
            line = paste.line(reading.line_of(place.start()))
            return Match(message, line, place[0], values | words, alien, forms)
    return None


@functools.cache
def pattern_of(text: str, flags: int = 0) -> str:
    """Return the pattern of a row, with its numbers in the forms of printed error codes."""
    return ("(?i)" if flags else "") + _NUMBERS.sub(_error_code, text)


def _error_code(match: re.Match[str]) -> str:
    return patterns()["cudaCode" if match[1] else "code"].replace("NUMBER", match[2])

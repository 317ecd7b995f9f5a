"""Messages of programs when device code doesn't fit, and the causes that a pasted text names.

The rows are data, ``catalogue/messages.toml``. The work grows with the length of the text and
no faster: a pattern is tried only around its fixed strings, every repetition in it is bounded, and
it is tried a bounded number of times.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from msgspec import Struct, convert
from msgspec.json import decode

from ltocompat.rules.clients import said, shown, system_of
from ltocompat.rules.evidence import evidence, of_another_vendor, patterns
from ltocompat.rules.literals import Index
from ltocompat.rules.message_values import CONDITIONS, derived
from ltocompat.rules.prose import catalogue_file
from ltocompat.targets.paste import Paste, Reading

_TRIES = 16  # places of one text whose values are looked at: the same error repeats itself

_FIND = re.compile(r"^find = (\[.*\])$", re.MULTILINE)
_NUMBERS = re.compile(r"<<(!?)(\d+)>>")
_LONGEST_PATH = 300


class Message(Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the table: a text, and what it means.

    Attributes:
        name: of the cause.
        rule: ID of the rule that judges it.
        find: one of these must be in the text.
        pattern: of the text, with single blanks; its groups are values.
        cause: why it happens, with the values; of the parts in ``[[ | ]]`` the first whose values
            are known stands, or none.
        fix: what to do about it.
        check: a command that shows the cause.
        source: where the text was seen.
        also: IDs of other rules with the same text.
        beside: a pattern that has to be in the text, too.
        unless: a pattern that must not be in the text.
        when: a condition on the values.
        reach: how many characters around those strings can belong to it.
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
        line: the line of the text that it begins on, as it stands there, without blanks around it.
        found: the part of the text that is the message, with single blanks.
        values: what it says, with what the tables make of it.
        alien: a pattern of what no sentence may say to its readers.
    """

    message: Message
    line: str
    found: str
    values: Mapping[str, str]
    alien: str = ""


@functools.cache
def messages() -> tuple[Message, ...]:
    """All rows, in the order in which they count."""
    return tuple(_row(text) for _, text in _rows())


@functools.cache
def _rows() -> list[tuple[tuple[str, ...], str]]:
    """The fixed strings and the text of every row: TOML reads slowly, and few are of a paste."""
    table = catalogue_file("messages.toml")
    finds = [decode(find, type=tuple[str, ...]) for find in _FIND.findall(table)]
    return list(zip(finds, table.split("\n[[message]]\n")[1:], strict=True))


@functools.cache
def _row(text: str) -> Message:
    return convert(tomllib.loads(text), Message)


def matches(text: str, machine: Mapping[str, str] = MappingProxyType({})) -> Iterator[Match]:
    """Causes that a text names, the one that decides first; each once.

    Args:
        text: a log, or a part of one, as it was copied.
        machine: what is known of the machine beside it, by the names of ``evidence``; the text
            goes first.
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
    index = _index(flags)
    near = [(r, index.users(r.lower if flags else r.flat)) for r in paste.readings]
    for number in sorted(set[int]().union(*(numbers for _, numbers in near))):
        message = _row(_rows()[number][1])
        for reading, numbers in near:
            if number not in numbers:
                continue
            places = _places(message, reading, explained, flags)
            if not places:
                continue
            if machine is None:
                machine = {**known, **evidence(paste.readings[0].flat)}
            match = _first_that_holds(message, places, paste, reading, machine)
            if match is not None:
                yield match
                for place in places:
                    start, end = map(reading.letters_before, place.span())
                    explained[start:end] = b"\1" * (end - start)
                break


@functools.cache
def _index(flags: int) -> Index[int]:
    """The numbers of the rows by their fixed strings."""
    rows = enumerate(_rows())
    return Index(
        (fixed.lower() if flags else fixed, number) for number, (find, _) in rows for fixed in find
    )


def _places(
    message: Message, reading: Reading, explained: bytearray, flags: int
) -> list[re.Match[str]]:
    """Where the text of a row stands, apart from what is explained."""
    flat = reading.flat
    pattern = pattern_of(message.pattern, flags)
    found = [
        place
        for part in _parts(message, reading, flags)
        for place in pattern.finditer(flat, *part)
        if explained.find(1, *map(reading.letters_before, place.span())) < 0
    ]
    if not found or (message.beside and not pattern_of(message.beside, flags).search(flat)):
        return []
    return [] if message.unless and pattern_of(message.unless, flags).search(flat) else found


def _parts(message: Message, reading: Reading, flags: int) -> list[tuple[int, int]]:
    """The parts of a text around a row's fixed strings, apart from each other."""
    parts = [(0, 0)]
    for hit in _any_of(message.find, flags).finditer(reading.lower if flags else reading.flat):
        start = max(hit.start() - message.reach, 0)
        if start <= parts[-1][1]:
            start = parts.pop()[0]
        parts.append((start, hit.end() + message.reach))
    return parts


@functools.cache
def _any_of(find: tuple[str, ...], flags: int) -> re.Pattern[str]:
    """The pattern of fixed strings; with flags, in small letters."""
    pattern = "|".join(map(re.escape, find))
    return re.compile(pattern.lower() if flags else pattern)


def _first_that_holds(
    message: Message,
    places: list[re.Match[str]],
    paste: Paste,
    reading: Reading,
    machine: Mapping[str, str],
) -> Match | None:
    """The place that says most, the first of these, whose values meet the row's condition."""
    for place in sorted(places[:_TRIES], key=lambda place: place.groups().count(None)):
        groups = {name: value for name, value in place.groupdict().items() if value}
        before = reading.flat[max(0, place.start() - _LONGEST_PATH) : place.start()]
        if user := re.search(patterns()["user"], before, re.ASCII):
            groups.setdefault("needs_file", user[1] or user[2])
        values = derived({**machine, **groups})
        if CONDITIONS[message.when](values):
            whole = paste.readings[0].flat
            values |= {"system": system_of(whole).name, **shown(whole, values)}
            sentences = message.cause + message.fix + message.check
            words, alien = said(whole, reading.flat, place.start(), values, sentences)
            line = paste.line(reading.line_of(place.start()))
            return Match(message, line, place[0], values | words, alien)
    return None


@functools.cache
def pattern_of(text: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern of a row, with its numbers as programs print error codes."""
    # Letters of other scripts end a word: users write their GPU right before them.
    return re.compile(_NUMBERS.sub(_error_code, text), flags | re.ASCII)


def _error_code(match: re.Match[str]) -> str:
    return patterns()["cudaCode" if match[1] else "code"].replace("NUMBER", match[2])

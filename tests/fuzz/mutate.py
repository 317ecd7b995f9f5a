"""Changes to bytes that know structure: fields, parts, containers, lines, words, other inputs."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fuzz.json_values import looks_like_json
from fuzz.structure import WRAPPERS, Form, fields_of, forms_of

_EDGES = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 1 << 31, (1 << 32) - 1, (1 << 63) - 1, -1)
_MOST = 1 << 20
# What something inside grows to, bytes: mostly little, seldom to just below the bounds that readers
# here are given (``LIMITS``), where a claim is true and yet too much.
_GROWN = (*(1 << 14,) * 4, 1 << 16, 1 << 18, 1 << 20, 7 << 20, 15 << 20, 60 << 20)
_MOST_TEXT = 100_000
# Most texts stay short, of which hundreds are read in the time of a long one.
_LONG_TEXTS, _MORE_TEXT = 0.03, 8_000
# Texts that readers of text stumble over: other digits, marks of direction, surrogates, controls.
_ODD = (
    "٣", "²", "Ⅷ", "\u202e", "\ud800", "\0", "\x1b[31m", "\r", "\u2028", "::error::", "##[group]",
    "é", "ß", "İ", "{", "}", "{0}", "%s", "$(x)", "\\", "'", '"', "[", "]", "(", ")", "!=", "===",
    "1e999", "nan", "-0", "0x", "1_000", "..", "/", "~", "*", "**", "\t", ",,", "==", "~=",
)  # fmt: skip
_NESTED = (
    (b"(", b")"), (b"[", b"]"), (b"{", b"}"), (b'{"a":', b"}"), (b"{a=", b"}"), (b"- ", b""),
    (b"a.", b""), (b"not ", b""), (b"-", b""),
)  # fmt: skip
_NESTED_JSON = (_NESTED[1], _NESTED[3])
_DEPTHS = (3, 100, 3000, 90_000)
# What a key of TOML may be given in place of its value.
_VALUES = (
    *(b"[]", b'""', b"1", b"true", b"12.10", b"2020-01-01", b'"x"', b'[""]', b"[1]", b"{a = 1}"),
    *(b'["sm_80", "x"]', b'"2020-01-01"', b'"' + b"9" * 90 + b'"', b"[[]]", b"[{a = 1}]"),
)
_KEY = re.compile(rb"^([\w.-]+\s*=\s*)(.*)$", re.MULTILINE)
_WORD = re.compile(rb"[\w.+-]+")
_NUMBER = re.compile(rb"[0-9]+")
_NUMBERS = (b"9" * 5000, b"0", b"-1", b"99999999999999999999", b"1.2", b"4294967296")
# Arabic, Devanagari, of full width, mathematical: all of them are digits to Python.
_ZEROS = ("\u0660", "\u0966", "\uff10", "\U0001d7ce")
_PATH = re.compile(rb"(?<![\w.+-])[\w.+-]*/[\w.+/-]+")


@dataclass(frozen=True, slots=True)
class Material:
    """What changes are made of.

    Attributes:
        others: other inputs of the reader.
        words: what its inputs are made of.
        text: whether they are lines of words.
        wraps: whether they may be put into containers.
        form: theirs, where no bytes of them tell it.
    """

    others: Sequence[bytes]
    words: Sequence[bytes] = ()
    text: bool = False
    wraps: bool = False
    form: Form | None = None


Change = Callable[[bytearray, Material, random.Random], None]


def mutated(data: bytes, material: Material, dice: random.Random, depth: int = 0) -> bytes:
    """A copy with one to eight changes."""
    if material.text:
        changed = _changed(data, material, dice, _TEXT)
        if dice.random() >= _LONG_TEXTS:
            return changed[: len(data) + _MORE_TEXT]
        copy = bytearray(changed)
        _grow(copy, material, dice)
        return bytes(copy[:_MOST_TEXT])
    forms = [material.form] if material.form and not depth else forms_of(data)
    if forms and dice.random() < 0.8:
        data = _structured(data, dice.choice(forms), material, dice, depth)
    else:
        looks_like_text = b"\0" not in data[:200] and dice.random() < 0.8
        data = _changed(data, material, dice, _TEXT if looks_like_text else _BYTES)
    if material.wraps and depth < 4 and dice.random() < 0.05:
        data = dice.choice(WRAPPERS)(data)
    if forms and dice.random() < 0.9:
        copy = bytearray(data)
        for form in forms:
            form.finish(copy)
        data = bytes(copy)
    return data[:_MOST]


def _changed(
    data: bytes, material: Material, dice: random.Random, changes: Sequence[Change]
) -> bytes:
    copy = bytearray(data)
    for _ in range(dice.choice((1, 1, 1, 2, 3, 8))):
        dice.choice(changes)(copy, material, dice)
    return bytes(copy[:_MOST])


def _structured(
    data: bytes, form: Form, material: Material, dice: random.Random, depth: int
) -> bytes:
    """Something that lies inside changed, members among each other, or fields of the format."""
    what = dice.random()
    if depth < 5 and what < 0.65:
        parts = list(form.parts(data, dice))
        if parts:
            part = dice.choice(parts)
            return part.put(_inside(part.data, material, dice, depth))[:_MOST]
    if what < 0.75:
        changed = form.rearrange(data, dice)
        if changed:
            return changed[:_MOST]
    fields = fields_of(data, form)
    copy = bytearray(data)
    for _ in range(dice.choice((1, 1, 1, 2, 3)) if fields else 0):
        at, size = dice.choice(fields)
        _set_number(copy, at, size, dice, dice.choice(fields))
    return bytes(copy)


def _inside(data: bytes, material: Material, dice: random.Random, depth: int) -> bytes:
    """Another part: changed, another input, nested, far larger, or nothing."""
    what = dice.random()
    if what < 0.83:
        return mutated(data, material, dice, depth + 1)
    if what < 0.90:
        return dice.choice(material.others)
    if what < 0.92:
        return b""
    if what < 0.96:
        return _nested(data, dice)
    return _larger(data, dice)


def _nested(data: bytes, dice: random.Random) -> bytes:
    """In brackets in brackets, as deep as no reader goes."""
    pairs = _NESTED_JSON if looks_like_json(data) else _NESTED
    (opening, closing), depth = dice.choice(pairs), dice.choice(_DEPTHS)
    return opening * depth + data + closing * depth


def _larger(data: bytes, dice: random.Random) -> bytes:
    """The same again and again, or filled up, to what packs into a thousandth."""
    size = dice.choice(_GROWN)
    filling = dice.choice((data or b"a", b"\0", b"a", b"\n"))
    return data + filling * (size // len(filling))


def _position(copy: bytearray, dice: random.Random) -> int:
    """Half of them where structure is dense: the first bytes, or the last."""
    if not copy:
        return 0
    where = dice.random()
    if where < 0.35:
        return dice.randrange(min(len(copy), 256))
    if where < 0.45:
        return len(copy) - 1 - dice.randrange(min(len(copy), 128))
    return dice.randrange(len(copy))


def _set_number(
    copy: bytearray, at: int, size: int, dice: random.Random, other: tuple[int, int]
) -> None:
    """A field becomes an edge, the size or place of something, or a little more or less."""
    before = int.from_bytes(copy[at : at + size], "little")
    place, width = other
    value = dice.choice(
        (
            dice.choice(_EDGES),
            before + dice.randint(-16, 16),
            before ^ 1 << dice.randrange(8 * size),
            dice.choice((len(copy), len(copy) - at, at, place)) + dice.randint(-8, 8),
            int.from_bytes(copy[place : place + width], "little"),
            before * dice.choice((2, 3, 256)),
        )
    )
    copy[at : at + size] = (value % (1 << 8 * size)).to_bytes(size, "little")


def _number(copy: bytearray, _: Material, dice: random.Random) -> None:
    """Any aligned bytes, taken for a field."""
    size = dice.choice((1, 2, 4, 8))
    at = _position(copy, dice) // size * size
    _set_number(copy, at, size, dice, (_position(copy, dice), size))


def _bit(copy: bytearray, _: Material, dice: random.Random) -> None:
    if copy:
        copy[_position(copy, dice)] ^= 1 << dice.randrange(8)


def _piece(copy: bytearray, _: Material, dice: random.Random) -> None:
    """A piece goes, comes twice, or changes places."""
    start, at = _position(copy, dice), _position(copy, dice)
    piece = copy[start : start + dice.choice((1, 4, 16, 64, 300))]
    if dice.random() < 0.5:
        del copy[start : start + len(piece)]
    if dice.random() < 0.6:
        copy[at:at] = piece * dice.choice((1, 1, 2, 20))


def _splice(copy: bytearray, material: Material, dice: random.Random) -> None:
    other = dice.choice(material.others)
    if other:
        start, at = dice.randrange(len(other)), _position(copy, dice)
        piece = other[start : start + dice.choice((8, 64, 1000))]
        copy[at : at + dice.choice((0, len(piece)))] = piece


def _some_word(material: Material, dice: random.Random) -> bytes:
    if material.words and dice.random() < 0.7:
        return dice.choice(material.words)
    return dice.choice(_ODD).encode("utf-8", "surrogatepass")


def _word(copy: bytearray, material: Material, dice: random.Random) -> None:
    at = _position(copy, dice)
    copy[at:at] = _some_word(material, dice) * dice.choice((1, 1, 1, 1, 3, 1000))


def _digits(copy: bytearray, _: Material, dice: random.Random) -> None:
    """A number in a text becomes an endless one, another, or the same in digits of a script."""
    numbers = list(_NUMBER.finditer(bytes(copy[:_MOST_TEXT])))
    if not numbers:
        return
    start, end = dice.choice(numbers).span()
    if dice.random() < 0.5:
        start = dice.randrange(start, end)
        end = start + 1
    if dice.random() < 0.3:
        copy[start:end] = _of_script(bytes(copy[start:end]), dice.choice(_ZEROS))
    else:
        copy[start:end] = dice.choice(_NUMBERS)


def _of_script(digits: bytes, zero: str) -> bytes:
    return "".join(chr(ord(zero) + digit - ord("0")) for digit in digits).encode()


def _cut(copy: bytearray, _: Material, dice: random.Random) -> None:
    del copy[_position(copy, dice) :]


def _tokens(copy: bytearray, dice: random.Random) -> list[re.Match[bytes]]:
    """Words of a text that lie near each other."""
    start = dice.randrange(max(1, len(copy) - 2000))
    return list(_WORD.finditer(bytes(copy[: start + 2000]), start))


def _token(copy: bytearray, material: Material, dice: random.Random) -> None:
    """A word becomes another one: of the text, of the dictionary, of another input."""
    tokens = _tokens(copy, dice)
    if tokens:
        token = dice.choice(tokens)
        others = _WORD.findall(dice.choice(material.others)[:5000]) or [b""]
        new = dice.choice(
            (dice.choice(tokens)[0], _some_word(material, dice), dice.choice(others), b"")
        )
        copy[token.start() : token.end()] = new


def _lines(copy: bytearray, _: Material, dice: random.Random) -> None:
    """A line goes, moves, or comes many times, each with a number of its own."""
    lines = bytes(copy[:200_000]).split(b"\n")
    at = dice.randrange(len(lines))
    match dice.randrange(4):
        case 0:
            del lines[at]
        case 1:
            lines.insert(dice.randrange(len(lines)), lines[at])
        case 2:
            lines[at:at] = [lines[at]] * dice.choice((10, 300))
        case _:
            lines[at : at + 1] = _series(lines[at], dice.choice((10, 100, 400)), dice)
    copy[:] = b"\n".join(lines)


def _series(line: bytes, many: int, dice: random.Random) -> list[bytes]:
    """A line so many times, with a number in one of its words."""
    tokens = list(_WORD.finditer(line[:2000]))
    if not tokens:
        return [line]
    token = dice.choice(tokens)
    head, tail = line[: token.end()], line[token.end() :]
    return [b"%s%d%s" % (head, n, tail) for n in range(many)]


def _nest(copy: bytearray, _: Material, dice: random.Random) -> None:
    """Brackets in brackets, anywhere or around a word."""
    tokens = _tokens(copy, dice) if dice.random() < 0.7 else []
    if tokens:
        start, end = dice.choice(tokens).span()
        copy[start:end] = _nested(bytes(copy[start:end]), dice)
    else:
        at = _position(copy, dice)
        copy[at:at] = _nested(b"x", dice)


def _grow(copy: bytearray, _: Material, dice: random.Random) -> None:
    """Several lines come many times together, each with a number of its own.

    What costs a little for each pair of them costs too much then. Mostly they are those
    that share a name, which the number is put behind.
    """
    lines = bytes(copy[:_MOST_TEXT]).split(b"\n")
    word = _shared_word(lines, dice) if dice.random() < 0.7 else None
    share = dice.choice((0.1, 0.5, 0.5, 1.0))
    chosen = {
        number
        for number, line in enumerate(lines)
        if (word.search(line) if word else dice.random() < share)
    }
    size = sum(len(lines[number]) + 4 for number in chosen) or 1
    many = min(dice.choice((30, 300, _MOST_TEXT, _MOST_TEXT)), _MOST_TEXT // size)
    grown: list[bytes] = []
    for number, line in enumerate(lines):
        if number not in chosen:
            grown.append(line)
        elif word:
            grown += [word.sub(b"\\g<0>%d" % n, line) for n in range(many)]
        else:
            grown += _series(line, many, dice)
    copy[:] = b"\n".join(grown)


def _shared_word(lines: Sequence[bytes], dice: random.Random) -> re.Pattern[bytes] | None:
    """What finds a word of lines that begin otherwise: a name, and its uses; None for none."""
    begins: dict[bytes, set[bytes]] = {}
    for words in (_WORD.findall(line[:2000]) for line in lines[:500]):
        for word in words[1:]:
            begins.setdefault(word, set()).add(words[0])
    shared = sorted(word for word, first in begins.items() if len(first) > 1)
    if not shared:
        return None
    return re.compile(rb"(?<![\w.+-])%b(?![\w.+-])" % re.escape(dice.choice(shared)))


def _path(copy: bytearray, _: Material, dice: random.Random) -> None:
    """A path becomes another of the text, leads up, comes from the top, or has no end."""
    paths = list(_PATH.finditer(bytes(copy[:_MOST_TEXT])))
    if paths:
        path = dice.choice(paths)
        before, other = path[0], dice.choice(paths)[0]
        ways = (other, before + b"/" + other, b"../" * dice.choice((1, 50)) + before)
        odd = (b"/" + before, before.rpartition(b"/")[0], b"a/" * 3000 + before)
        copy[path.start() : path.end()] = dice.choice((*ways, *odd))


def _value(copy: bytearray, _: Material, dice: random.Random) -> None:
    """What stands behind a key becomes a value of another kind, or that of another key."""
    keys = list(_KEY.finditer(bytes(copy[:_MOST_TEXT])))
    if keys:
        key = dice.choice(keys)
        copy[key.start(2) : key.end(2)] = dice.choice((dice.choice(_VALUES), dice.choice(keys)[2]))


_BYTES: tuple[Change, ...] = (
    _bit, _bit, _number, _number, _number, _piece, _splice, _word, _digits, _cut,
)  # fmt: skip
_TEXT: tuple[Change, ...] = (
    _bit, _piece, _splice, _word, _word, _digits, _cut, _token, _token, _token, _lines, _lines,
    _nest, _grow, _path, _value, _value,
)  # fmt: skip

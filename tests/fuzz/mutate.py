"""Changes to bytes that know a little of structure: numbers, pieces, words, other inputs."""

from __future__ import annotations

import random
from collections.abc import Sequence

_EDGES = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 1 << 31, (1 << 32) - 1, (1 << 63) - 1, -1)


def mutated(
    data: bytes, others: Sequence[bytes], words: Sequence[bytes], dice: random.Random
) -> bytes:
    """A copy with one to eight changes."""
    copy = bytearray(data)
    for _ in range(dice.choice((1, 1, 1, 2, 3, 8))):
        dice.choice(_CHANGES)(copy, others, words, dice)
    return bytes(copy[: 1 << 20])


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


def _bit(copy: bytearray, _: Sequence[bytes], __: Sequence[bytes], dice: random.Random) -> None:
    if copy:
        copy[_position(copy, dice)] ^= 1 << dice.randrange(8)


def _number(copy: bytearray, _: Sequence[bytes], __: Sequence[bytes], dice: random.Random) -> None:
    """A field becomes an edge, the size of something, or a little more or less than it was."""
    size = dice.choice((1, 2, 4, 8))
    at = _position(copy, dice) // size * size
    order = dice.choice(("little", "little", "little", "big"))
    before = int.from_bytes(copy[at : at + size], order)  # type: ignore[arg-type]
    value = dice.choice(
        (dice.choice(_EDGES), before + dice.randint(-16, 16), len(copy), len(copy) - at)
    )
    copy[at : at + size] = (value % (1 << 8 * size)).to_bytes(size, order)  # type: ignore[arg-type]


def _piece(copy: bytearray, _: Sequence[bytes], __: Sequence[bytes], dice: random.Random) -> None:
    """A piece goes, comes twice, or changes places."""
    start, at = _position(copy, dice), _position(copy, dice)
    piece = copy[start : start + dice.choice((1, 4, 16, 64, 300))]
    if dice.random() < 0.5:
        del copy[start : start + len(piece)]
    if dice.random() < 0.6:
        copy[at:at] = piece * dice.choice((1, 1, 2, 20))


def _splice(
    copy: bytearray, others: Sequence[bytes], _: Sequence[bytes], dice: random.Random
) -> None:
    other = dice.choice(others)
    if other:
        start, at = dice.randrange(len(other)), _position(copy, dice)
        piece = other[start : start + dice.choice((8, 64, 1000))]
        copy[at : at + dice.choice((0, len(piece)))] = piece


def _word(copy: bytearray, _: Sequence[bytes], words: Sequence[bytes], dice: random.Random) -> None:
    at = _position(copy, dice)
    word = dice.choice(words) if words else bytes(dice.randrange(256) for _ in range(4))
    copy[at:at] = word * dice.choice((1, 1, 1, 3, 1000))


def _digits(copy: bytearray, _: Sequence[bytes], __: Sequence[bytes], dice: random.Random) -> None:
    """A number in a text becomes an endless one, or another."""
    places = [n for n, byte in enumerate(copy[:20_000]) if 0x30 <= byte <= 0x39]
    if places:
        at = dice.choice(places)
        copy[at : at + 1] = dice.choice(
            (b"9" * 5000, b"0", b"-1", b"99999999999999999999", b"\xd9\xa3")
        )


def _cut(copy: bytearray, _: Sequence[bytes], __: Sequence[bytes], dice: random.Random) -> None:
    del copy[_position(copy, dice) :]


_CHANGES = (_bit, _bit, _number, _number, _number, _piece, _splice, _word, _digits, _cut)

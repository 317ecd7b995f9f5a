"""Members of folders and archives: links among them, chains, the same name twice, very many.

A form that has members names them and is built of them again; what happens among them is the same
for a tar, a zip and a machine's files.
"""

from __future__ import annotations

import posixpath
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

_MANY = (3, 41, 300)  # 41: Linux follows 40 links
_DEEP = (b"../", b"./", b"a/", b"//")


@dataclass(frozen=True, slots=True)
class Entry:
    """A member.

    Attributes:
        name: its path.
        data: what it holds; of a link, where that leads.
        link: whether it is a symbolic link.
    """

    name: bytes
    data: bytes
    link: bool = False


Entries = list[Entry]
Change = Callable[[Entries, random.Random], None]


def rearranged(entries: Sequence[Entry], dice: random.Random) -> Entries:
    """The members with one to three changes among them."""
    changed = list(entries)
    for _ in range(dice.choice((1, 1, 2, 3)) if changed else 0):
        dice.choice(_CHANGES)(changed, dice)
    return changed


def _way(start: bytes, end: bytes, dice: random.Random) -> bytes:
    """How one member may name another."""
    folder = posixpath.dirname(start) or b"."
    ways = (end, posixpath.basename(end), b"/" + end, posixpath.dirname(end) or b".")
    if b"\0" in start + end:
        return end
    return dice.choice((*ways, posixpath.relpath(b"/" + end, b"/" + folder)))


def _link(entries: Entries, dice: random.Random) -> None:
    """A member becomes a link to another, to itself, or to a folder."""
    at = dice.randrange(len(entries))
    end = dice.choice((entries[at], dice.choice(entries), dice.choice(entries))).name
    entries[at] = replace(entries[at], data=_way(entries[at].name, end, dice), link=True)


def _chain(entries: Entries, dice: random.Random) -> None:
    """Each leads to the next; the last to the first, to a member, or out."""
    many = dice.randrange(1, len(entries) + 1)
    names = [entry.name for entry in entries[:many]]
    last = dice.choice((names[0], entries[-1].name, b"../" * 20 + b"etc/passwd"))
    for at, end in enumerate((*names[1:], last)):
        entries[at] = replace(entries[at], data=_way(names[at], end, dice), link=True)


def _long_chain(entries: Entries, dice: random.Random) -> None:
    """More links in a row than a system follows."""
    first, many = dice.choice(entries).name, dice.choice(_MANY)
    entries += [Entry(first + b"%d" % n, first + b"%d" % (n + 1), link=True) for n in range(many)]


def _exchange(entries: Entries, dice: random.Random) -> None:
    """Two have each other's content."""
    a, b = dice.randrange(len(entries)), dice.randrange(len(entries))
    first, second = entries[a], entries[b]
    entries[a] = replace(first, data=second.data, link=second.link)
    entries[b] = replace(second, data=first.data, link=first.link)


def _same_name(entries: Entries, dice: random.Random) -> None:
    """A name comes twice, or lies below another file or link."""
    at, other = dice.randrange(len(entries)), dice.choice(entries)
    name = dice.choice((other.name, other.name + b"/" + posixpath.basename(entries[at].name)))
    entries[at] = replace(entries[at], name=name)


def _many(entries: Entries, dice: random.Random) -> None:
    """A member comes many times, with the same name or others."""
    entry, numbered = dice.choice(entries), dice.random() < 0.7
    for number in range(dice.choice(_MANY)):
        name = entry.name + b"%d" % number if numbered else entry.name
        entries.append(replace(entry, name=name))


def _odd_name(entries: Entries, dice: random.Random) -> None:
    """A name that leads up, is deep, or has no end."""
    at = dice.randrange(len(entries))
    name = dice.choice(_DEEP) * dice.choice((1, 20, 2000)) + entries[at].name
    entries[at] = replace(entries[at], name=name)


def _fewer(entries: Entries, dice: random.Random) -> None:
    """One is missing, or all stand in another order."""
    if dice.random() < 0.5 and len(entries) > 1:
        del entries[dice.randrange(len(entries))]
    else:
        dice.shuffle(entries)


_CHANGES: tuple[Change, ...] = (
    _link, _link, _link, _chain, _long_chain, _exchange, _same_name, _many, _odd_name, _fewer,
)  # fmt: skip

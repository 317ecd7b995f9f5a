"""Commands that a pasted text shows as run, for which its fix doesn't ask again."""

from __future__ import annotations

import functools
import re

from ltocompat.rules.literals import compiled
from ltocompat.rules.message_values import values_known

_ASIDE = re.compile(r" \((?:[^()]|\([^()]*\))*\)")


def untried(fix: str, text: str) -> str:
    """Return a fix from its first part that was not done yet; without one, a sentence about it."""
    known = values_known()["tried"]
    ran = _ran(text)
    for part in compiled(known["part"]).finditer(fix) if ran else ():
        asked = [*map(_words, compiled(known["command"]).findall(_ASIDE.sub("", part[0])))]
        done = asked and all(len(it) > 1 and any(map(it.issubset, ran)) for it in asked)
        if not done and not (part.start() and compiled(known["goes_on"]).match(part[0])):
            left = compiled(known["leads"]).sub("", fix[part.start() :])
            begins = part.start() and not compiled(known["command"]).match(left)
            return left[:1].upper() + left[1:] if begins else left
    return known["enough"] + fix if ran and fix else fix


@functools.lru_cache(maxsize=1)
def _ran(text: str) -> list[frozenset[str]]:
    """The words of each command that a text shows as run; the text is searched once."""
    return [_words(hit[1]) for hit in compiled(values_known()["tried"]["ran"]).finditer(text)]


def _words(command: str) -> frozenset[str]:
    """The words of a command that tell what it does, each in one spelling."""
    known = values_known()["tried"]
    return frozenset(known["alike"].get(of, of) for of in compiled(known["word"]).findall(command))

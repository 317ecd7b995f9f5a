"""Values inside a text of JSON, each of which becomes any other text, or comes many times."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

_MARK = "\ue000"  # of no text that is changed here
_LONGEST = 50_000
_MANY = (30, 300, 3000)

Spot = tuple[Any, Any]
"""A list or an object, and the number or the key of a value in it."""


_DEEPEST = 100  # what is nested deeper is not written again: that goes down by recursion


def looks_like_json(data: bytes) -> bool:
    """Whether it begins and ends as a list or an object does."""
    ends = data[:1], data[-20:].rstrip()[-1:]
    return len(data) < _LONGEST and ends in ((b"{", b"}"), (b"[", b"]"))


def values_in(data: bytes, dice: random.Random) -> Iterator[tuple[bytes, Callable[[bytes], bytes]]]:
    """Values in an order of chance, each with what writes another text in its place."""
    try:
        whole = [json.loads(data)]
        spots = list(_spots(whole))
    except (ValueError, RecursionError):
        return
    dice.shuffle(spots)
    for spot in spots:
        container, key = spot
        yield json.dumps(container[key]).encode(), _putter(whole, spot, dice)


def _spots(container: Any, depth: int = 0) -> Iterator[Spot]:  # noqa: ANN401 - JSON
    if depth > _DEEPEST:
        raise RecursionError
    for key in range(len(container)) if isinstance(container, list) else container:
        yield container, key
        if isinstance(container[key], list | dict):
            yield from _spots(container[key], depth + 1)


def _putter(whole: list[Any], spot: Spot, dice: random.Random) -> Callable[[bytes], bytes]:
    container, key = spot

    def put(new: bytes) -> bytes:
        before = container[key]
        container[key] = _MARK
        text = json.dumps(whole[0]).encode()
        container[key] = before
        grows = container is not whole and len(new) < 200 and dice.random() < 0.1
        many = dice.choice(_MANY) if grows else 1
        if isinstance(container, dict):
            name = json.dumps(key)[1:-1]
            more = (b'"%s%d": %s' % (name.encode(), n, new) for n in range(1, many))
        else:
            more = (new for _ in range(1, many))
        return text.replace(json.dumps(_MARK).encode(), b", ".join((new, *more)))

    return put

"""Numbers and lists of names as every message writes them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ltocompat.model.errors import UsageError
from ltocompat.model.generic import T


def count(number: int, noun: str) -> str:
    """``1 image``, ``6,374 images``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def truncate_list(names: Sequence[str], most: int, *, link: str = "and") -> str:
    """Return the first names and the number of others: ``f, g and 4 more``.

    Args:
        names: the names, in the order in which they are shown.
        most: number of names that are shown.
        link: the word before the number.
    """
    shown, rest = ", ".join(names[:most]), len(names) - most
    return f"{shown} {link} {rest:,} more" if rest > 0 else shown


_MANGLED = re.compile(r"_Z(N[rVK]*)?(St)?(?=L?[1-9])")
_NAME = re.compile(r"L?([1-9][0-9]{0,4})")  # L: not seen by other objects
_UNSPOKEN = ("_GLOBAL__N_", "_V_")  # namespaces that no source names, the second of CUB and Thrust


def source_parts(symbol: str) -> tuple[list[str], str]:
    """Return the namespaces and the name in a C++ symbol, and what follows; none of any other.

    CUDA mangles kernels on every system as the Itanium C++ ABI says (5.1). What follows, the first
    template arguments and the parameters, would need all of its grammar.
    """
    start = _MANGLED.match(symbol)
    if start is None:
        return [], symbol
    parts, position = ["std"] if start[2] else [], start.end()
    while found := _NAME.match(symbol, position):
        position = found.end() + int(found[1])
        if position > len(symbol):
            return [], symbol
        parts.append(symbol[found.end() : position])
        if start[1] is None:
            break
    return parts, symbol[position:]


def function_name(symbol: str, width: int) -> str:
    """Return the name in a C++ symbol, ``cutlass::Kernel<..>``; any other symbol unchanged.

    A long name loses its outer namespaces first, since kernels of one library share them.
    """
    parts, rest = source_parts(symbol)
    words = [part for part in parts if not part.startswith(_UNSPOKEN)]
    arguments = "<..>" if rest.startswith("I") else ""
    while len(words) > 1 and len("::".join(words) + arguments) > width:
        del words[0]
    name = "::".join(words) + arguments if words else symbol
    return name if len(name) <= width else name[: width - 2] + ".."


_CUT_WHOLE = 24  # characters of a word that is left out whole where a line is cut
_BEFORE = 30  # characters before what a cut line is quoted for


def excerpt(line: str, position: int, most: int) -> str:
    """Quote the part of a long line around a position: ``... in whole words ...``.

    Only a word of more than 24 characters is cut.
    """
    if len(line) <= most:
        return line
    rest = len(line) - most + len("... ")  # from there on, the line fits whole
    start = max(0, position - min(_BEFORE, most // 4), rest * (rest <= position))
    end = len(line) if start >= rest else start + most - len("... ") * 2
    if start:
        start = line.find(" ", start - 1, min(start + _CUT_WHOLE, position)) + 1 or start
    if end < len(line):
        blank = line.rfind(" ", end - _CUT_WHOLE, end + 1)
        end = blank if blank > start else end
    return f"{'... ' * (start > 0)}{line[start:end]}{' ...' * (end < len(line))}"


_SIZE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,3})?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)


def json_object(text: str | bytes | None) -> dict[str, Any]:
    """Return the JSON object in a text; an empty one if the text is not an object."""
    import json  # here: the help needs none

    try:
        value = json.loads(text or "")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def items_of(value: object, kind: type[T]) -> list[T]:
    """Return the items of a type in a list of JSON or TOML; none if the value is no list."""
    return [item for item in value if isinstance(item, kind)] if isinstance(value, list) else []


def bytes_of(text: str) -> int:
    """Read a number of bytes: 104857600, 100MB (powers of 1000) or 1GiB (powers of 1024).

    Raises:
        UsageError: it is none.
    """
    size = _SIZE.fullmatch(text.strip())
    if size is None or (size[3] and not size[2]) or not float(size[1]):
        raise UsageError(f"{text[:40]!r} is not a size; write it like 100MB, 1GiB or 104857600")
    power = " kmgt".index(size[2].lower() or " ")
    return round(float(size[1]) * float(1024 if size[3] else 1000) ** power)

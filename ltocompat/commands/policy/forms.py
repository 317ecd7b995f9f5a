"""Values of the keys, as JSON Schema says them: as far as editors can know.

That a target, a file, a GPU or a release exists is for the reader to see.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Form = Mapping[str, Any]
"""A JSON Schema."""

WORD: Form = {"type": "string", "pattern": r"\S"}
WORDS: Form = {"type": "array", "items": WORD}

_NUMBERS = r"[0-9]{1,6}(\.[0-9]{1,6}){0,3}"
_RELEASE = r"[0-9]{1,6}(\.[0-9]{1,6}){1,3}"
_DRIVER = r"[0-9]{3,6}(\.[0-9]{1,6}){0,3}"  # below 100 it is a CUDA release


def _text(pattern: str) -> Form:
    """A text that is this, with or without blanks around it."""
    return {"type": "string", "pattern": rf"^\s*{pattern}\s*$"}


def _any_case(text: str) -> str:
    """A pattern for small and capital letters: patterns of JSON Schema have no option for it."""
    return "".join(f"[{c.lower()}{c.upper()}]" if c.isalpha() else c for c in text)


def _or_number(form: Form, least: int, most: int) -> Form:
    """The same, or an integer; one with a point is none: 12.10 would be read as 12.1."""
    return {**form, "type": ["string", "integer"], "minimum": least, "maximum": most}


def _versions(number: str, alone: str, least: int) -> Form:
    """Versions; ``alone``: one that is compared with nothing, or several, one or all of them."""
    clause = rf"((>=|<=|>|<|==|!=)\s*{number}|(==|!=)\s*{number}\.\*|~=\s*{number}\.[0-9]{{1,6}})"
    several = "|".join(rf"{alone}(\s*{mark}\s*{alone})*" for mark in (r"\+", r"\|"))
    return _or_number(_text(rf"({several}|{clause}(\s*,\s*{clause})*)"), least, 999_999)


VERSIONS = _versions(_NUMBERS, _NUMBERS, 0)
COMPAT_VERSIONS = _versions(_NUMBERS, _NUMBERS.replace(r"\.", "[.-]"), 0)  # also as packages: 13-0
DRIVERS = _versions(_DRIVER, f"[rR]?{_DRIVER}", 100)
DRIVER = _or_number(_text(f"[rR]?{_DRIVER}"), 100, 999_999)
# Spaces part alternatives, commas part what holds together.
_NUMBERED = rf"({'|'.join(map(_any_case, ('cuda', 'driver', 'arch')))})(!=|<=|>=|=|<|>)"
_NUMBERED += r"[0-9]{1,9}(\.[0-9]{1,9}){0,3}"
_BRANDED = rf"{_any_case('brand')}!?=[A-Za-z]+"
_CONDITION = rf"({_NUMBERED}|{_BRANDED})"
CONTAINER = _text(rf"{_CONDITION}([ ,]{_CONDITION})*")
RELEASE = _text(_RELEASE)
RELEASES: Form = {"type": "array", "items": RELEASE, "minItems": 1}
PYTHON = _text(r"3\.[0-9]{1,3}(\.[0-9]{1,3})?")
SYSTEM = _text(
    f"({'|'.join(map(_any_case, ('linux', 'windows', 'wsl2')))})"
    f"(-({'|'.join(map(_any_case, ('x86_64', 'aarch64')))})?)?"
)
# Nothing that begins as a comparison.
NAME: Form = {"type": ["string", "integer"], "pattern": r"^\s*[^\s<>=!~]"}
_GPU = r"[^\s<>=!~+][^+]*"
_GPUS = _text(rf"{_GPU}(\+\s*{_GPU})*")
ANY_GPUS: Form = {
    **_or_number(_GPUS, 0, 9999),
    "type": ["string", "integer", "array"],
    "items": _GPUS,
}
GPUS: Form = {**ANY_GPUS, "minItems": 1}
DAY: Form = {
    "type": "string",
    "format": "date",
    "pattern": r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$",
}


ARCHS: Form = {"type": ["string", "array"], "pattern": r"[0-9A-Za-z]", "items": WORD}
PERCENT = {"type": "integer", "minimum": 1, "maximum": 100}
SIZE = _or_number(_text(r"[0-9]{1,12}(\.[0-9]{1,3})?\s*([kKmMgGtT][iI]?)?[bB]?"), 1, 10**12)


def archs(prefix: str) -> Form:
    """Architectures with a prefix or none; integers, too."""
    item = _text(f"(({_any_case(prefix)})_?)?[0-9]{{1,10}}[afAF]?")
    return {"type": "array", "items": _or_number(item, 0, 9_999_999_999)}


def rule_ids(ids: Iterable[str]) -> Form:
    """One of these, in small or capital letters."""
    listed = sorted(ids)
    return {"anyOf": [{"enum": listed}, _text(f"({'|'.join(map(_any_case, listed))})")]}


def one_of(*words: str) -> Form:
    """One of these words."""
    return {"enum": list(words)}


VERDICT = one_of("fail", "unknown", "undocumented", "jit")

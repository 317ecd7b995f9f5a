"""Values of the keys: their types, and the look of texts as far as editors can know it.

The look stands in the JSON Schema alone: the reader parses texts, and says more of a wrong one.
That a target, a file, a GPU or a release exists is for it to see, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta

# Keywords of a JSON Schema besides the type.
Form = Mapping[str, Any]

Word = Annotated[str, Meta(pattern=r"\S")]
Words = tuple[Word, ...]
# Text or an integer; a number with a point is refused, since 12.10 would be read as 12.1.
Text = str | int
WorseThanOk = Literal["fail", "unknown", "undocumented", "jit"]

_NUMBERS = r"[0-9]{1,6}(\.[0-9]{1,6}){0,3}"
_RELEASE = r"[0-9]{1,6}(\.[0-9]{1,6}){1,3}"
_DRIVER = r"[0-9]{3,6}(\.[0-9]{1,6}){0,3}"  # below 100 it is a CUDA release


def _text(pattern: str) -> Form:
    """A text that is this, with or without blanks around it."""
    return {"pattern": rf"^\s*{pattern}\s*$"}


def _any_case(text: str) -> str:
    """A pattern for small and capital letters: patterns of JSON Schema have no option for it."""
    return "".join(f"[{c.lower()}{c.upper()}]" if c.isalpha() else c for c in text)


def _or_number(form: Form, least: int, most: int) -> Form:
    return {**form, "minimum": least, "maximum": most}


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
_CONDITION = rf"({_NUMBERED}|{_any_case('brand')}!?=[A-Za-z]+)"
CONTAINER = _text(rf"{_CONDITION}([ ,]{_CONDITION})*")
RELEASE = _text(_RELEASE)
ReleaseName = Annotated[str, Meta(extra_json_schema=dict(RELEASE))]
PYTHON = _text(r"3\.[0-9]{1,3}(\.[0-9]{1,3})?")
SYSTEM = _text(
    f"({'|'.join(map(_any_case, ('linux', 'windows', 'wsl2')))})"
    f"(-({'|'.join(map(_any_case, ('x86_64', 'aarch64')))})?)?"
)
# Nothing that begins as a comparison.
NAME: Form = {"pattern": r"^\s*[^\s<>=!~]"}
_GPU = r"[^\s<>=!~+][^+]*"
_GPUS = _text(rf"{_GPU}(\+\s*{_GPU})*")
GPUS = _or_number(_GPUS, 0, 9999)
GpuNames = Annotated[str, Meta(extra_json_schema=dict(_GPUS))]
DAY: Form = {"pattern": r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"}
ARCHS: Form = {"pattern": r"[0-9A-Za-z]"}
SIZE = _or_number(_text(r"[0-9]{1,12}(\.[0-9]{1,3})?\s*([kKmMgGtT][iI]?)?[bB]?"), 1, 10**12)


def _arch(prefix: str) -> Meta:
    """Architectures with a prefix or none; integers, too."""
    pattern = _text(f"(({_any_case(prefix)})_?)?[0-9]{{1,10}}[afAF]?")
    return Meta(extra_json_schema=dict(_or_number(pattern, 0, 9_999_999_999)))


Sass = Annotated[Text, _arch("sm")]
Ptx = Annotated[Text, _arch("compute")]


def rule_ids(ids: Iterable[str]) -> Form:
    """Return a pattern for any of these words in lower or upper case."""
    listed = sorted(ids)
    return {"anyOf": [{"enum": listed}, _text(f"({'|'.join(map(_any_case, listed))})")]}

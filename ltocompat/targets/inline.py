"""The inline form: ``driver=550.54.15,nvjitlink>=12.4,<13,gpu=h100+sm_80`` -> keys and values."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from ltocompat.model.errors import UsageError

KEYS = (
    "name",
    "os",
    "driver",
    "compat",
    "nvjitlink",
    "nvrtc",
    "nvlink",
    "gpu",
    "stock",
    "lock",
    "python",
)
# What versions can be compared with; elsewhere a comparison has no meaning.
COMPARED = ("driver", "compat", "nvjitlink", "nvrtc", "nvlink")
EXAMPLE = "driver=550.54.15,nvjitlink=12.4,gpu=h100"

_PIECE = re.compile(r"\s*([A-Za-z][\w-]*)\s*(>=|<=|==|~=|!=|=|<|>)(.*)", re.DOTALL)
_CONTINUES = ("<", ">", "=", "!", "~")


def is_inline(text: str) -> bool:
    """Whether ``text`` is written as keys and values, known ones or not."""
    return _PIECE.match(text) is not None


def split(text: str) -> dict[str, str]:
    """The keys of an inline target with their values; of a range the operators are kept.

    ``nvjitlink>=12.4,<13`` is ``{"nvjitlink": ">=12.4,<13"}``: a piece that starts with an operator
    goes on with the key before.

    Raises:
        UsageError: a piece has no key, an unknown one, one for the second time, or no value.
    """
    found: dict[str, str] = {}
    key = ""
    for piece in text.split(","):
        if key and piece.lstrip().startswith(_CONTINUES):
            found[key] += f",{piece.strip()}"
            continue
        match = _PIECE.fullmatch(piece)
        if match is None:
            raise UsageError(
                f"{piece!r} in {text!r} has no key; write {EXAMPLE}, with + between several GPUs"
            )
        key = known_key(match[1].lower())
        if key in found:
            raise UsageError(f"{key} is given twice in {text!r}; give it once")
        found[key] = match[3].strip() if match[2] == "=" else match[2] + match[3].strip()
    for key, value in found.items():
        check(key, value)
    return found


def known_key(key: str) -> str:
    """``key``, if it is one.

    Raises:
        UsageError: it isn't; the sentence names those that are.
    """
    if key in KEYS:
        return key
    raise UsageError(
        f"{key!r} is not a key of a deploy target{did_you_mean(key, KEYS)}; the keys are "
        f"{', '.join(KEYS)}"
    )


def check(key: str, value: str) -> None:
    """See that there is a value, and a comparison only where versions are compared.

    Raises:
        UsageError: it isn't so.
    """
    if not value:
        raise UsageError(f"{key} has no value; write {key}=..., as in {EXAMPLE}")
    if key not in COMPARED and value.startswith(_CONTINUES):
        raise UsageError(
            f"{key} can't be compared, as in {key}{value}; write {key}=..., and use <, > and the "
            f"like with {', '.join(COMPARED)}"
        )


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``; did you mean driver?``, or nothing where no name is near."""
    near = difflib.get_close_matches(name, list(known), n=2, cutoff=0.6)
    return f" (did you mean {' or '.join(near)}?)" if near else ""

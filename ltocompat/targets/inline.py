"""The inline form: ``driver=550.54.15,nvjitlink>=12.4,<13,gpu=h100+sm_80`` -> keys and values."""

from __future__ import annotations

import re

from ltocompat.facts.drivers import driver_branches
from ltocompat.model.errors import UsageError, did_you_mean
from ltocompat.model.limits import DEFAULT_LIMITS
from ltocompat.targets.gpu_groups import is_gpu
from ltocompat.targets.versions.comparisons import is_range

# Keys whose value is a file about machines; for ``image``, it may be an image's name.
FILE_KEYS = ("nodes", "smi", "slurm", "image")
_PARTS = ("driver", "container", "compat", "nvjitlink", "nvrtc", "nvlink")
KEYS = ("name", "os", *_PARTS, "lto", "gpu", "stock", "lock", "python", *FILE_KEYS)
# Other names of keys.
SPELLINGS = {"cuda": "stock"}
# Keys whose versions can be compared; elsewhere a comparison has no meaning.
COMPARED = ("driver", "compat", "nvjitlink", "nvrtc", "nvlink")
EXAMPLE = "driver=550.54.15,nvjitlink=12.4,gpu=h100"

_PIECE = re.compile(r"\s*([A-Za-z][\w-]*)\s*(>=|<=|==|~=|!=|=|<|>)(.*)", re.DOTALL)
_CONTAINER = re.compile(r"(?:^|,)\s*container\s*=(.*)", re.DOTALL | re.IGNORECASE)
# 12.4 is a CUDA release; the compute capabilities 12.0 and 12.1 are written gpu=12.0.
_RELEASE = re.compile(r"1[1-9]\.[0-9]{1,2}(?:\.[0-9]{1,3})?")
_DRIVER = re.compile(r"[Rr]?([0-9]{3})((?:\.[0-9]{1,4}){0,2})")


def is_inline(text: str) -> bool:
    """Return whether ``text`` has the form of keys and values, even unknown ones."""
    return _PIECE.match(text) is not None


def is_word(text: str) -> bool:
    """Return whether ``text`` is a value that needs no key: a CUDA release, a driver, GPUs."""
    return _key_of(text) is not None


def split(text: str) -> dict[str, str]:
    """Return the keys of an inline target with their values; a range keeps its operators.

    ``nvjitlink>=12.4,<13`` is ``{"nvjitlink": ">=12.4,<13"}``: a piece that starts with an operator
    belongs to the key before.

    The requirement of an image (``container=cuda>=12.4 brand=tesla,driver>=535``) may contain
    commas, and runs to the end of the text.

    Raises:
        UsageError: a piece has no key, an unknown key, a repeated key, or no value.
    """
    found: dict[str, str] = {}
    written: dict[str, str] = {}
    key = ""
    text, container = _with_container(text)
    for piece in text.split(",") if text else ():
        if key and is_range(piece):
            found[key] += f",{piece.strip()}"
            continue
        match = _PIECE.fullmatch(piece)
        if match is None:
            key, value = _without_key(piece.strip(), text)
        else:
            key = known_key(match[1].lower())
            written[key] = match[1]
            value = match[3].strip() if match[2] == "=" else match[2] + match[3].strip()
        if key == "gpu" and key in found:
            value = f"{found[key]}+{value}"
        elif key in found:
            raise UsageError(f"{key} is given twice in {text!r}; join values with +")
        found[key] = value
    if container is not None:
        found["container"] = container
    for key, value in found.items():
        check(written.get(key, key), value)
    return found


def _with_container(text: str) -> tuple[str, str | None]:
    """Split a text at the key ``container``: what stands before it, and its value.

    Raises:
        UsageError: the text is longer than any that has a meaning.
    """
    if len(text) > DEFAULT_LIMITS.line_bytes:
        raise UsageError(f"{text[:60]!r} ... is too long for a target; write {EXAMPLE}")
    match = _CONTAINER.search(text)
    return (text, None) if match is None else (text[: match.start()], match[1].strip())


def with_keys(keys: dict[str, str]) -> str:
    """Return the inline form of keys and values: ``cuda=12.4,gpu=h100``."""
    names = {known: spelled for spelled, known in SPELLINGS.items()}
    keys = dict(sorted(keys.items(), key=lambda item: item[0] == "container"))  # which is last
    return ",".join(
        f"{names.get(key, key)}{'' if is_range(value) else '='}{value}"
        for key, value in keys.items()
    )


def _without_key(piece: str, text: str) -> tuple[str, str]:
    """The key that a word by itself stands for: ``12.4``, ``R550``, ``h100``, ``hopper``.

    Raises:
        UsageError: it is not a CUDA release, no driver and no GPU.
    """
    key = _key_of(piece)
    if key is None:
        if piece == text:
            raise UsageError(f"{text!r} is not a deploy target; write {EXAMPLE}")
        raise UsageError(
            f"{piece!r} in {text!r} has no key; write {EXAMPLE}, gpu=A+B, or a file with its key: "
            "nodes=FILE, smi=FILE or lock=FILE"
        )
    return key, piece


def _key_of(word: str) -> str | None:
    driver = _DRIVER.fullmatch(word)
    if _RELEASE.fullmatch(word):
        return "stock"
    if driver and (driver[2] or not word[0].isdigit() or int(driver[1]) in driver_branches()):
        return "driver"
    return "gpu" if all(map(is_gpu, word.split("+"))) else None


def known_key(key: str) -> str:
    """Return ``key`` if it is valid; ``stock`` for ``cuda``.

    Raises:
        UsageError: it is invalid; the sentence names the valid keys.
    """
    key = SPELLINGS.get(key, key)
    if key in KEYS:
        return key
    raise UsageError(
        f"{key!r} is not a key of a deploy target{did_you_mean(key, (*KEYS, *SPELLINGS))}; the "
        f"keys are cuda, {', '.join(KEYS)}"
    )


def check(key: str, value: str) -> None:
    """Check that there is a value, and a comparison only for keys with versions.

    Raises:
        UsageError: it isn't so.
    """
    if len(value) > DEFAULT_LIMITS.line_bytes:
        raise UsageError(f"{key} = {value[:60]!r} ... is too long; write fewer values")
    if not value:
        raise UsageError(f"{key} has no value; write {key}=..., as in {EXAMPLE}")
    if key == "lto" and value not in ("on", "off"):
        raise UsageError(f"lto={value} is not a setting; write lto=on or lto=off")
    if key not in COMPARED and is_range(value):
        raise UsageError(
            f"{key} can't be compared ({key}{value}); write {key}=... (only {', '.join(COMPARED)} "
            "accept <, > and the like)"
        )

"""Names of GPUs as users and nvidia-smi spell them."""

from __future__ import annotations

import difflib
import functools
import re

# What nvidia-smi and the kernel driver write around a name, and words that make no other GPU of it.
# (A GRID RTX is a Turing; without that word, Ada and Blackwell have the same numbers.)
_NOISE = re.compile(
    r"\b(?:mig(?: [0-9]+c)? [0-9]+g [0-9]+gb(?: (?:me|gfx|all))*|[0-9]+ ?gb?|"
    r"nvidia|nvgpu|grid(?! rtx)|[dh]gx|station|hbm[0-9a-z]*|3e|sxm[0-9]*|pcie|nvl[0-9]*|ac|lc|ls|"
    r"active|laptop|mobile|notebook|embedded|oem|gpu|graphics|max q|with|design|generation|edition|"
    r"engineering|reference|developer|kit|devkit)\b"
)
# A vGPU: the size of its frame buffer and its kind, behind the name; on MIG the slices before that.
_VGPU = re.compile(r"-(?:[0-9]-)?[0-9]{1,3}(?:[ABCQ]|CME)$", re.IGNORECASE)
_VENDOR = frozenset({"geforce", "tesla", "quadro"})
# Words that users leave out.
_OPTIONAL = _VENDOR | {
    "jetson", "agx", "rtx", "gtx", "gt", "mx", "pro", "ada", "blackwell", "pascal", "workstation",
}  # fmt: skip
_Words = tuple[str, ...]


@functools.lru_cache(maxsize=1024)
def _words(text: str) -> _Words:
    """``RTX A4000-8GB`` as (``rtx``, ``a``, ``4000``)."""
    spaced = re.sub(r"[^0-9a-z]+|(?<=rtx)(?=a[0-9])", " ", _VGPU.sub("", text.strip()).lower())
    return tuple(re.findall(r"[a-z]+|[0-9]+", _NOISE.sub(" ", spaced)))


def _left_out(words: _Words, full: _Words) -> set[str] | None:
    """The words of ``full`` that ``said`` leaves out; None where it isn't a short form of it."""
    missing: set[str] = set()
    kept = 0
    for number, word in enumerate(full):
        if kept < len(words) and words[kept] == word:
            before = full[number - 1] if number else ""
            # The A of A4000 belongs to its number, the RTX of RTX 4000 doesn't.
            if word.isdecimal() and len(before) == 1 and before in missing:
                return None
            kept += 1
        else:
            missing.add(word)
    return missing if kept == len(words) else None


def meant(text: str, names: tuple[str, ...]) -> list[str]:
    """The names that a text can mean, by the strictest reading that finds any.

    That is: word by word; else without words that users leave out (``RTX 4000`` is Quadro RTX 4000,
    RTX 4000 Ada and RTX PRO 4000 Blackwell); else as any part of a name, in order (``titan``).
    """
    words = _words(text)
    exact = [name for name in names if _words(name) == words]
    if exact:
        return exact
    words = tuple(word for word in words if word not in _VENDOR)
    if not words:
        return []
    found = {}
    for name in names:
        missing = _left_out(words, _words(name))
        if missing is not None:
            found[name] = missing
    # One word without a number (titan, orin) is a range of models, never the plainest of them.
    if len(words) > 1 or words[0].isdecimal():
        usual = [name for name, missing in found.items() if missing <= _OPTIONAL]
        if usual:
            return usual
    return list(found)


def near(text: str, names: tuple[str, ...]) -> list[str]:
    """Up to three names that look like a text, the nearest first."""
    spelled: dict[str, str] = {}
    for name in names:
        words = _words(name)
        spelled.setdefault("".join(words), name)
        spelled.setdefault("".join(word for word in words if word not in _VENDOR), name)
    keys = difflib.get_close_matches("".join(_words(text)), spelled, n=3)
    return list(dict.fromkeys(spelled[key] for key in keys))

"""Rules of the catalogue that are not built, and why."""

from __future__ import annotations

from typing import NamedTuple


class LeftOut(NamedTuple):
    """A rule that is not built.

    Attributes:
        id: its ID.
        title: what is wrong, in a few words.
        why: why it is not built, as a sentence.
    """

    id: str
    title: str
    why: str


LEFT_OUT: tuple[LeftOut, ...] = (
    LeftOut(
        "LTO-13",
        "LTO-IR in a newer dialect of LLVM than the linker's",
        "LTO-01 says the same: the dialect is newer only where the compiler is newer, too.",
    ),
    LeftOut(
        "LTO-16",
        "LTO callback of cuFFT newer than nvJitLink",
        "It is LTO-01 of the library and the callback together: check both with --together.",
    ),
    LeftOut(
        "BLD-05b",
        "-dlto at the device link, and no LTO-IR in the objects",
        "An object without LTO-IR looks the same whether -dlto was forgotten, dropped for its "
        "architectures, or never wanted; the log of nvlink says it.",
    ),
)
"""All of them, in the order of the catalogue."""

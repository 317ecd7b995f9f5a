"""FB-02: linkers before 12.4 can't read what newer tools compress."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.image import Compression
from ltocompat.model.signature import ImageSignature
from ltocompat.model.verdict import Route
from ltocompat.rules import floors
from ltocompat.rules.constraints import LinkerFrom
from ltocompat.rules.rule import Component, Requirement, Rule, Subject


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One for an entry that a linker has to unpack."""
    if subject.route is not Route.LINK:
        return
    for image in subject.picked:
        floor = _floor(image)
        if floor is None:
            continue
        yield Requirement(
            Component.LINKER,
            LinkerFrom(floors.linker(floor)),
            RULE.id,
            "LTO-IR compressed as newer tools do" if image.scrambled else "a Zstandard entry",
            "the linker can't unpack it, and 12.0 crashes",
            "raise the linker, or compile with --compress-mode=none",
            "flags 0x8000 and 0x10000 of the fatbin entry",
        )


def _floor(image: ImageSignature) -> str | None:
    if not image.in_fatbin:
        return None
    if image.compression is Compression.ZSTD:
        return "zstd-linker"
    return "new-lto-entry-linker" if image.scrambled else None


RULE = Rule(
    id="FB-02",
    title="Compressed fatbin and an old linker",
    statement="nvJitLink and nvlink before 12.4 can't unpack fatbin entries with Zstandard, nor "
    "compressed LTO-IR as newer tools store it, even with LZ4 and even when the LTO-IR itself is "
    "old enough. nvJitLink 12.0 crashes on them.",
    condition="The entry that the linker picks is compressed that way, and the linker is older "
    "than 12.4.",
    evidence="Flags of the fatbin entry: 0x8000 (Zstandard), 0x10000 (compressed LTO-IR).",
    verdict="fail",
    messages=(
        "nvlink error : Uncompress failed (target: sm_50)",
        "Uncompress failed",
        "nvlink fatal : elfLink fatbinary error",
        "elfLink fatbinary error",
        "bad input: does not match type NVJITLINK_INPUT_PTX",
    ),
    remedy="Require a linker from 12.4 on, or compile with --compress-mode=none.",
    source="measured: fatbins of CUDA 13 with nvJitLink 12.0 to 13.5; pytorch pull request 157791",
    requirements=requirements,
)

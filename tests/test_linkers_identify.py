"""What the bytes of a library prove of its version; real ones are read in tests/wild."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from linker_trees import library, program, put

from ltocompat.model.errors import Malformed
from ltocompat.model.limits import Budget
from ltocompat.targets.linkers import Linker, Machine, Tool
from ltocompat.targets.linkers.identify import identify

CLAIM = [("12.4.99", "dist-info")]


def identified(
    path: Path, claims: Iterable[tuple[str, str]] = (), tool: Tool = Tool.NVJITLINK
) -> Linker:
    with Machine().viewed(str(path)) as view:
        return identify(view, Budget(), claims, tool)


def test_without_a_banner_a_package_is_believed_where_the_names_agree(tmp_path: Path) -> None:
    path = put(tmp_path, "x", library(minors=["12.0", "12.4"]))
    assert identified(path, CLAIM).version == "12.4.99"
    assert identified(path, CLAIM).evidence == "dist-info"
    other = identified(path, [("12.5.40", "dist-info")])
    assert (other.version, other.evidence) == ("12.4", "exported symbols")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not a library"),
        (b"INPUT(libnvJitLink.so.12)\n", "not a library"),
        (b"\x7fELF", "not a library"),
        (b"MZ", "not a library"),
        (library("12.4.127", soname="libnvrtc.so.12"), "calls itself 'libnvrtc.so.12'"),
        (library(), "doesn.t contain the version"),
    ],
    ids=["empty", "script", "cut-elf", "cut-pe", "another", "mute"],
)
def test_what_is_no_nvjitlink_says_why(data: bytes, reason: str, tmp_path: Path) -> None:
    with pytest.raises(Malformed, match=reason):
        identified(put(tmp_path, "x", data))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"#!/bin/sh\nexec nvlink\n", "not a binary"),
        (program("13.5.37", "Ptx optimizing assembler"), "it is not nvlink"),
        (program("13.5"), "doesn.t contain the version"),
        (library("13.5.37"), "it is not nvlink"),
    ],
    ids=["script", "ptxas", "mute", "library"],
)
def test_what_is_no_nvlink_says_why(data: bytes, reason: str, tmp_path: Path) -> None:
    with pytest.raises(Malformed, match=reason):
        identified(put(tmp_path, "x", data), tool=Tool.NVLINK)

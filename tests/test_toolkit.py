"""Who made an image: exact where bytes prove it, else a set or a bound, and never a guess."""

from __future__ import annotations

from pathlib import Path

import pytest
from newest import NEWEST

import ltocompat
from ltocompat import LtoIrVersions, Role
from ltocompat.files.images import ltoir
from ltocompat.files.images.cubin_notes import ToolNote
from ltocompat.model.arch import Release
from ltocompat.model.errors import Malformed
from ltocompat.model.requirement import Required
from ltocompat.model.verdict import Verdict
from ltocompat.scan.makers import cubin_makers, ltoir_makers


def made_by(
    *tools: ToolNote, apis: tuple[int, ...] = (), header: int | None = None, info: int | None = None
) -> list[str]:
    makers = cubin_makers(tools, info, frozenset(apis), header_toolkit=header)
    return [f"{maker.role}: {maker} ({maker.evidence})" for maker in makers]


@pytest.mark.parametrize(
    ("container", "text"),
    [
        ("1.61", "{12.4, 12.5}"),
        ("1.65", "13.0"),
        ("1.255", f"newer than {NEWEST}"),
        ("1.10", "older than 11.7"),
        ("1.58", "between 12.1 and 12.2"),
        ("0.9", "older than 11.7"),
        ("3.1", f"newer than {NEWEST}"),
        *((text, "unknown release") for text in ("unknown", "3", "3.1 beta")),
    ],
)
def test_a_container_is_a_set_or_a_bound(container: str, text: str) -> None:
    (maker,) = ltoir_makers(LtoIrVersions(container))
    assert str(maker) == text


def test_an_unknown_nvvm_ir_is_bounded_by_its_neighbours() -> None:
    (maker,) = ltoir_makers(LtoIrVersions("1.66", "2.110", "7.0"))
    assert (str(maker), maker.releases) == ("between 13.1 and 13.2", ())


def keyless(container: bytes, ir: bytes = b"\x02\x2a") -> bytes:
    """The header of an LTO-IR image for sm_70 as cuSPARSE 11.7.5.86 has it, and some bytes."""
    versions = container + ir + b"\x03\x00\x07\x00"
    offsets = b"\x18\x00\x01\x00" + b"\x24\x00\x00\x00" * 2
    tags = b"\x01\x00\xbc\x02" + b"\x00" * 8
    return b"\xed\x43\x4e\x7f" + versions + offsets + tags + b"body"


def test_ltoir_without_a_key_word_is_older_than_11_7() -> None:
    header = ltoir.parse(keyless(b"\x01\x32"))
    (maker,) = ltoir_makers(header.versions, linked=header.linked, keyless=header.keyless)
    assert (str(header.arch), str(maker)) == ("lto_70", "older than 11.7")
    assert {release.major for release in maker.releases} == {11}
    # From 11.7 on every compiler writes one: such a header is damaged.
    with pytest.raises(Malformed, match="has unknown fields"):
        ltoir.parse(keyless(b"\x01\x36"))


@pytest.mark.parametrize("linker", ["12.0", "12.9", "13.5"])
def test_no_nvjitlink_links_it(tmp_path: Path, linker: str) -> None:
    path = tmp_path / "old.ltoir"
    path.write_bytes(keyless(b"\x01\x32"))
    (result,) = ltocompat.check(path, f"nvjitlink={linker},gpu=sm_75", route="link")
    assert [finding.rule for finding in result.findings if finding.verdict is Verdict.FAIL] == [
        "LTO-02"
    ]
    (needs,) = ltocompat.require(path)
    assert isinstance(needs, Required)
    assert needs.nvjitlink_beyond


def test_linked_ltoir_names_the_linker() -> None:
    (maker,) = ltoir_makers(LtoIrVersions("1.67", "2.131", "7.0"), linked=True)
    assert (maker.role, maker.releases) == (Role.LINKER, (Release(13, 5),))


@pytest.mark.parametrize("apis", [(), (129,)])
def test_kernels_of_one_release_with_the_file_were_compiled_to_it(apis: tuple[int, ...]) -> None:
    assert made_by(apis=apis, header=129) == ["compiler: 12.9 (e_version 0x81)"]


def test_without_notes_of_tools_that_of_the_compiler_says_it() -> None:
    assert made_by(info=130, apis=(130,)) == ["compiler: 13.0 (cuinfo note)"]
    assert made_by(apis=(124, 120)) == [
        "compiler: 12.0 (CUDA_API_VERSION 0x78)",
        "compiler: 12.4 (CUDA_API_VERSION 0x7c)",
    ]


def test_kernels_of_other_releases_were_linked_in() -> None:
    assert made_by(apis=(129, 124), header=129) == [
        "compiler: 12.4 (CUDA_API_VERSION 0x7c)",
        "compiler: 12.9 (CUDA_API_VERSION 0x81)",
        "linker: linker 12.9 (e_version 0x81)",
    ]
    assert made_by(apis=(120, 124), header=129) == [
        "compiler: 12.0 (CUDA_API_VERSION 0x78)",
        "compiler: 12.4 (CUDA_API_VERSION 0x7c)",
        "linker: linker 12.9 (e_version 0x81)",
    ]

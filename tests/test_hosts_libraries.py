"""CUDA libraries around device code: needed, opened by name, copied in."""

from __future__ import annotations

import io
import itertools
import json
import pickle
import re
import zipfile
from pathlib import Path

import pytest
from elf_writer import (
    BASE,
    DT_NEEDED,
    DT_SONAME,
    DT_STRTAB,
    Part,
    elf,
    offsets,
    tags,
)
from every_case import every
from fatbin_writer import KINDS, EntrySpec, entry, region
from hypothesis import given
from hypothesis.strategies import builds, from_regex, integers
from libraries_made import build, needs_gcc
from package_writer import zip_of
from test_hosts_elf import read

import ltocompat
from ltocompat.cli import run
from ltocompat.model.errors import UsageError
from ltocompat.model.image import CudaLibrary, HostBinary, PtxText
from ltocompat.model.library_name import library_name
from ltocompat.model.location import Location

BANNER = b"Cuda compilation tools, release 12.4, V12.4.131\0"


def described(
    rodata: bytes, needed: bytes = b"libm.so.6", own: bytes = b""
) -> tuple[CudaLibrary, ...]:
    """The libraries of a shared library with this read-only data."""
    strings = b"\0" + needed + b"\0" + own + b"\0"
    names = {DT_NEEDED: 1, DT_STRTAB: 0, 10: len(strings)}
    if own:
        names[DT_SONAME] = len(needed) + 2
    parts = [
        Part(".rodata", rodata),
        Part(".dynstr", strings, 3),
        Part(".dynamic", tags(names), 6),
    ]
    names[DT_STRTAB] = BASE + offsets(parts)[".dynstr"]
    parts[2].data = tags(names)
    return read(elf(parts, dynamic=".dynamic")).describe(Location("x.so")).libraries


@every(
    "file, name",
    [
        ("libcuda.so.1", "libcuda"),
        ("libcudart.so.12", "libcudart"),
        ("libcudart-d0da41ae.so.11.0", "libcudart"),
        ("libnvrtc.alt.so.13", "libnvrtc"),
        ("libnvrtc-builtins.so.12.4", "libnvrtc-builtins"),
        ("libnvJitLink.so", "libnvJitLink"),
        ("libcudadevrt.a", "libcudadevrt"),
        ("nvcuda.dll", "libcuda"),
        ("cudart64_110.dll", "libcudart"),
        ("nvrtc64_130_0.alt.dll", "libnvrtc"),
        ("nvrtc-builtins64_124.dll", "libnvrtc-builtins"),
        ("nvJitLink_120_0.dll", "libnvJitLink"),
        ("libcudnn.so.9", "libcudnn"),
        ("libcuda", None),
        ("libnvrtc.so.%d", None),
        ("libcuda.so.1 not found", None),
    ],
)
def test_file_names_of_cuda_libraries(file: str, name: str | None) -> None:
    assert library_name(file) == name


def test_a_file_name_in_the_data_is_opened() -> None:
    found = described(b"text\0libcuda.so.1\0/opt/libnvrtc.so.12\0libnvrtc.so.%d\0libcudart.so.1")
    assert found == (
        CudaLibrary("libcuda", "opened", "libcuda.so.1", None, 'string "libcuda.so.1" at 0x205'),
        CudaLibrary("libnvrtc", "opened", "libnvrtc.so", None, 'string "libnvrtc.so" at 0x226'),
    )


def test_a_name_shared_with_the_tail_of_a_message_is_opened_and_says_so() -> None:
    found = described(b"Failed to load libcuda.so.1\0")
    assert [(library.how, library.evidence) for library in found] == [
        ("opened", "end of a string at 0x20f")
    ]


def test_device_code_is_not_searched() -> None:
    fatbin = [Part(".nv_fatbin", b"\0libcuda.so.1\0")]
    assert read(elf(fatbin)).describe(Location("x.so")).libraries == ()


@pytest.mark.parametrize(
    ("marks", "version"),
    [
        (b"is using CUDA Dynamic Parallelism, but the current configuration, like MPS", "12"),
        (b'Duplicate entry kernels named "%s" detected. The Runtime will use', "13"),
    ],
)
def test_a_static_runtime_tells_its_major_since_12(marks: bytes, version: str) -> None:
    """The messages are in any order. On Linux they are texts that others may have, too."""
    older = b"" if version == "12" else b"is using CUDA Dynamic Parallelism, but the current"
    parts = (b"/cudart.shm.%x.%x.%llx", marks, older)
    for strings in itertools.permutations(parts):
        (found,) = described(b"\0" + b"\0".join(strings) + b"\0")
        assert (found.name, found.how, found.version) == ("libcudart", "static", version)
        assert marks[:30].decode() in found.evidence
    assert described(b"\0" + marks + b"\0" + older + b"\0") == ()
    assert described(b"\0the program " + b"\0the program ".join(parts) + b"\0") == ()


def test_a_static_runtime_before_12_has_no_version() -> None:
    (found,) = described(b"\0/cudart.shm.%x.%x.%llx\0" + BANNER)
    assert (found.name, found.how, found.version) == ("libcudart", "static", None)
    assert "/cudart.shm.%x.%x.%llx" in found.evidence


def test_a_static_linker_has_the_version_of_its_banner() -> None:
    (found,) = described(b"\0NVJITLINK_TRACE_MESSAGES\0" + BANNER)
    assert (found.name, found.version) == ("libnvJitLink", "12.4.131")
    assert 'compiler banner "V12.4.131"' in found.evidence


def test_a_library_is_no_copy_of_itself() -> None:
    assert described(b"\0NVJITLINK_TRACE_MESSAGES\0" + BANNER, own=b"libnvJitLink.so.12") == ()


@needs_gcc
def test_ptx_that_lies_as_text_in_data_is_listed_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As programs of OptiX do; a format of it is none."""
    source = r"""
    const char a[] = "//\n.version 7.0\n.target sm_50\n.address_size 64\n";
    const char b[] = ".version 8.4 // of 12.4\n// a comment\n.target sm_90a, debug\n";
    const char c[] = ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry g() {ret;}";
    const char none[] = ".version %d.%d\n.target sm_%d\n", *more = ".version 1.2.3 of the program";
    """
    path = build(tmp_path / "libx.so", source=source)
    at = [match.start() for match in re.finditer(rb"\.version [78]", path.read_bytes())]
    (host,) = (record for record in ltocompat.inspect(path) if isinstance(record, HostBinary))
    assert tuple(map(str, host.ptx_texts)) == (
        f"2 texts of PTX 7.0 for sm_50, the first at {at[0]:#x}",
        f"1 text of PTX 8.4 for sm_90a, the first at {at[1]:#x}",
    )
    assert run(["inspect", str(path)]) == 0
    assert f"in its data, not checked: {host.ptx_texts[1]}" in capsys.readouterr().out
    assert run(["inspect", str(path), "--format", "json"]) == 0
    assert str(host.ptx_texts[0]) in capsys.readouterr().out


@pytest.mark.parametrize("compression", ["none", "lz4"])
@pytest.mark.parametrize("options", ["", "-maxrregcount=40 " * 20])
def test_ptx_of_a_fatbin_in_data_is_no_text(compression: str, options: str) -> None:
    """As in cuTENSOR 2.2.0 for Windows, whose modules no wrapper registers."""
    text = (
        b".version 7.8\r\n.target sm_90\r\n.address_size 64\r\n"
        + b".visible .entry k() {ret;}\n" * 9
    )
    spec = EntrySpec(KINDS["ptx"], text, sm=90, compression=compression, options=options)
    for data, texts in ((region([entry(spec)] * 2), 0), (b"\0" * 80 + text, 1)):
        host = read(elf([Part(".rodata", data)])).describe(Location("x.so"))
        assert len(host.ptx_texts) == texts, data


@given(
    builds(
        PtxText,
        from_regex(r"\d{1,2}\.\d{1,2}", fullmatch=True, alphabet="0123456789."),
        from_regex(r"sm_\d{2,3}[af]?", fullmatch=True, alphabet="sm_0123456789af"),
        integers(0, 1 << 40),
        integers(1, 1 << 40),
    )
)
def test_a_sentence_about_ptx_text_is_read_back(text: PtxText) -> None:
    """A saved inspection has the sentence."""
    assert PtxText.parse(str(text)) == text


@pytest.mark.parametrize("text", ["", "2 texts of PTX 7.0", "PTX 7.0 for sm_50"])
def test_what_is_no_sentence_about_ptx_text_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="describes no PTX texts; write 1 text of PTX"):
        PtxText.parse(text)


PTX_TEXT = "//\n.version 7.0\n.target sm_50\n.address_size 64\n"
DATA = {
    "a.py": f"K = '''{PTX_TEXT}'''\n".encode(),
    "b.py": f"K = {PTX_TEXT!r}\n".encode(),
    "c.json": json.dumps({"k": PTX_TEXT}).encode(),
    "d.pkl": pickle.dumps({"k": PTX_TEXT, "rest": b"\0\1"}),
    "e.npz": zip_of(("k.npy", b"\x93NUMPY\1\0v\0{'descr': '|u1'}" + PTX_TEXT.encode())),
    "f.h5": b"\x89HDF\r\n\x1a\n" + bytes(500) + PTX_TEXT.encode() + bytes(99),
}


def test_ptx_is_found_wherever_it_is_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "data.zip"
    path.write_bytes(zip_of(*DATA.items(), ("no.py", b"'.version 1.2.3 .target %s'")))
    found = [record for record in ltocompat.inspect(path) if isinstance(record, HostBinary)]
    assert [record.place.members[0] for record in found] == [*DATA]
    for record in found:
        plain = zipfile.ZipFile(path).read(record.place.members[0])
        if record.place.innermost.endswith(".npy"):
            plain = zipfile.ZipFile(io.BytesIO(plain)).read("k.npy")
        at = plain.index(b".version ")
        assert record.ptx_texts == (PtxText("7.0", "sm_50", at),)
    assert run(["inspect", str(path)]) == 0
    assert f"in its data, not checked: d.pkl: {found[3].ptx_texts[0]}" in capsys.readouterr().out
    assert run(["check", str(path), "--deploy-target", "driver=550,gpu=a100"]) == 3

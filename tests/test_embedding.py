"""Functions for programs that embed the package: thin, and each the same answer as its verb."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from libraries_made import GCC
from samples import FOLDER

import ltocompat
from ltocompat import SmArch, UsageError, Verdict
from ltocompat.facts import rows
from ltocompat.facts.coherence import PartPair

OLD = (FOLDER / "ltoir" / "nvrtc-12.4-lto_80.ltoir").read_bytes()
OLDER_PTX = (FOLDER / "ptx" / "nvrtc-12.4-compute_80.ptx").read_bytes()
PTX = FOLDER / "ptx" / "nvcc-13.5-compute_80.ptx"
AR = shutil.which("ar") or ""
FATBIN = FOLDER / "fatbin" / "nvcc-13.5-many-arches.fatbin"


def test_nothing_of_the_command_line_is_imported() -> None:
    """What a program calls for verdicts loads no package that only words and tables need."""
    code = f"""
import sys, ltocompat
data = open({str(FATBIN)!r}, "rb").read()
for name in dir(ltocompat):
    getattr(ltocompat, name)
list(ltocompat.check(data, "driver=580.65.06,gpu=h100"))
ltocompat.linkable(data, linker="13.5", arch="sm_90", driver="580.65.06")
ltocompat.producer(data), ltocompat.needs(data), ltocompat.serves(data, "9.0")
heavy = "typer click rich jinja2 packaging elftools cuda numpy".split()
print([name for name in heavy if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_needs_are_of_one_file(tmp_path: Path) -> None:
    shutil.copy(FATBIN, tmp_path / "a.fatbin")
    assert ltocompat.needs(tmp_path).modules == 1
    shutil.copy(FATBIN, tmp_path / "b.fatbin")
    with pytest.raises(UsageError, match="has 2 files"):
        ltocompat.needs(tmp_path)


def test_needs_are_what_require_says() -> None:
    (required,) = ltocompat.require(OLD)
    assert ltocompat.needs(OLD) == required
    assert str(required.nvjitlink and required.nvjitlink.at_least) == "12.4"
    with pytest.raises(UsageError, match=r"has \d+ files"):
        ltocompat.needs(FOLDER / "ptx")


def test_what_cannot_be_read_is_told() -> None:
    assert ltocompat.architectures(FATBIN.read_bytes()[:-100]).skipped


def test_what_is_linked_serves_as_well() -> None:
    assert ltocompat.serves(OLD, "sm_90")[SmArch(90)].link == 1


@pytest.mark.parametrize(
    ("where", "arch", "answer"),
    [
        ("570.124.06", "sm_120", True),
        ("R565", "sm_120", False),
        ("12.8", "sm_120", True),
        ("12.6.85", "rtx 5090", False),
        ("13.0", "sm_70", False),
        ("580.65.06", "sm_70", True),
        ("615", "v100", False),
        ("14.0", "sm_90", None),  # a new major may drop it
        ("580.65.06", "sm_199", None),
    ],
)
def test_support_is_known_or_it_is_none(where: str, arch: str, answer: bool | None) -> None:
    assert ltocompat.supports(where, arch) is answer


@pytest.mark.parametrize("text", ["x", ">=570", ""])
def test_what_is_no_driver_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        ltocompat.driver_cuda(text)


@pytest.mark.parametrize("version", ["x", "", "8", ">=8.0", 8.7])
def test_what_is_no_version_of_ptx_is_refused(version: str) -> None:
    with pytest.raises(UsageError, match=r"write it like '8\.7'"):
        ltocompat.ptx_toolkit(version)


def test_an_evaluator_checks_one_source_after_the_other() -> None:
    evaluator = ltocompat.Evaluator(["driver=535,gpu=a100", "cuda=12.8,gpu=h100"], route="load")
    for source in (FATBIN, PTX.read_bytes(), io.BytesIO(OLD)):
        once = ltocompat.check(source, ["driver=535,gpu=a100", "cuda=12.8,gpu=h100"], route="load")
        assert evaluator.check(source) == list(once)
    with pytest.raises(UsageError, match="nothing to check; give bytes"):
        evaluator.check()


def test_parts_of_one_release_go_together_and_the_worst_pair_is_first() -> None:
    same = ltocompat.coherent(dict.fromkeys(("nvcc", "nvrtc", "headers", "libdevice"), "13.0.88"))
    assert {pair.verdict for pair in same} == {Verdict.OK}
    mixed = ltocompat.coherent({"nvrtc": "12.9", "headers": "13.0", "driver": "550.54.15"})
    assert [(pair.parts, str(pair.verdict)) for pair in mixed] == [
        (("nvrtc", "headers"), "unknown"),  # tried: tests/wild/test_coherent.py
        (("nvrtc", "driver"), "unknown"),
    ]
    assert "NVRTC 12 can't compile cuda_fp8.h of CUDA 13" in mixed[0].breaks
    assert [str(release) for release in mixed[1].releases] == ["12.9", "12.4"]
    assert all(pair.source for pair in mixed)


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"nvjitlnk": "13.0"}, "did you mean nvjitlink"),
        ({"nvcc": "x"}, "not a CUDA release"),
        ({"driver": "999.1"}, "not in the tables"),
    ],
)
def test_what_is_no_part_or_no_version_is_refused(parts: dict[str, str], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        ltocompat.coherent(parts)


def test_the_page_has_the_table_of_parts() -> None:
    page = (Path(__file__).parents[1] / "docs" / "embed.md").read_text("utf-8")
    ages = ("newer_minor", "older_minor", "newer_major", "older_major")
    for pair in rows(PartPair):
        assert set(pair.verdicts) <= set(ages)
        cells = [pair.verdicts.get(age, "ok") for age in ages]
        assert (
            "| ".join(["", *(f"{c} " for c in (pair.first, pair.second, *cells, pair.breaks))])
            in page
        )


@pytest.mark.parametrize("data", [b"", b"a text", bytes(64)])
def test_what_no_linker_reads_is_never_linkable(data: bytes) -> None:
    """nvJitLink 12.9 and 13.5 refuse each of them, as whatever kind of input it is added."""
    told = ltocompat.linkable([OLDER_PTX, data], linker="12.9", arch="sm_80")
    assert told.verdict is Verdict.UNKNOWN
    assert "a linker refuses it" in told.reasons[0]
    assert told.fragments == (1,)


def test_an_object_without_device_code_is_linked_with_the_rest(tmp_path: Path) -> None:
    """nvJitLink 12.9 and 13.5 link it, and an archive of it."""
    source = tmp_path / "h.c"
    source.write_text("int f(void) { return 1; }\n")
    subprocess.run([GCC, "-c", source, "-o", tmp_path / "h.o"], check=True)
    subprocess.run([AR, "rcs", tmp_path / "libh.a", tmp_path / "h.o"], check=True)
    for name in ("h.o", "libh.a"):
        told = ltocompat.linkable([OLDER_PTX, tmp_path / name], linker="12.9", arch="sm_80")
        assert told.verdict < Verdict.UNKNOWN

"""Verdicts on NVIDIA's and others' own libraries: no false alarm, and the real hits."""

from __future__ import annotations

from pathlib import Path

import pytest
import wheels

import ltocompat
from ltocompat.model.verdict import Result, Verdict

pytestmark = pytest.mark.wild

LIBRARIES = (
    ("nvidia-cublas==13.10.0.20", "nvidia/cu13/lib/libcublas.so.13"),
    ("nvidia-cublas==13.10.0.20", "nvidia/cu13/lib/libcublasLt.so.13"),
    ("nvidia-cusolver==12.4.1.2", "nvidia/cu13/lib/libcusolver.so.12"),
    ("nvidia-cusolver==12.4.1.2", "nvidia/cu13/lib/libcusolverMg.so.12"),
    ("nvidia-curand==10.4.5.25", "nvidia/cu13/lib/libcurand.so.10"),
    ("nvidia-nccl-cu13==2.32.3", "nvidia/nccl/lib/libnccl.so.2"),
    ("nvidia-cufft==12.5.0.14", "nvidia/cu13/lib/libcufft.so.12"),
    ("libraft-cu13==26.10.0", "libraft/lib64/libraft.so"),
    ("nvidia-cusparselt-cu13==0.10.0", "nvidia/cu13/lib/libcusparseLt.so.0"),
)
CUVS = ("libcuvs-cu13==26.10.0", "libcuvs/lib64/libcuvs.so")


def library(requirement: str, name: str) -> Path:
    return wheels.member(requirement, name)


def check(path: Path, target: str, **options: object) -> list[Result]:
    return list(ltocompat.check(path, targets=[target], **options))  # type: ignore[arg-type]


@pytest.mark.parametrize(("requirement", "name"), LIBRARIES, ids=lambda value: value.split("/")[-1])
@pytest.mark.parametrize("driver", ["580.95.05", "615"])
def test_a_library_that_is_sound_raises_no_alarm(requirement: str, name: str, driver: str) -> None:
    found = check(library(requirement, name), f"driver={driver},gpu=h100+rtx4090")
    # The one kernel that cuSPARSELt 0.10 has for the H100 only as PTX 9.2, which driver 580 doesn't
    # know, is a note: the library chooses its kernels by the GPU.
    for result in found:
        assert result.verdict in (Verdict.OK, Verdict.JIT), result.findings


def test_cublaslt_is_ok_on_an_h100_and_on_a_b200_but_for_one_empty_kernel() -> None:
    path = library("nvidia-cublas==13.10.0.20", "nvidia/cu13/lib/libcublasLt.so.13")
    hopper, blackwell = check(path, "driver=580.95.05,gpu=h100+b200")
    assert hopper.verdict is blackwell.verdict is Verdict.OK
    assert hopper.coverage.without_kernels >= 5  # PTX that is newer than the driver, and empty
    (note,) = (finding for finding in blackwell.findings if finding.rule == "IMG-03")
    assert (note.verdict, note.module_count) == (Verdict.OK, 1)
    assert "PTX 9.3 needs driver >= 610" in note.message


def test_ptx_9_4_of_cusolver_that_is_for_other_gpus_is_a_note_on_sm_120() -> None:
    """Eight modules hold geqr4 and getf5 for one GPU each; PTX makes them fit sm_120, too."""
    path = library("nvidia-cusolver==12.4.1.2", "nvidia/cu13/lib/libcusolver.so.12")
    (result,) = check(path, "driver=580.95.05,gpu=sm_120")
    (finding,) = (each for each in result.findings if each.rule == "PTX-01")
    assert (result.verdict, finding.verdict) == (Verdict.OK, Verdict.OK)
    assert (finding.module_count, finding.message.split(" needs ")[0]) == (8, "PTX 9.4")


@pytest.mark.parametrize(
    ("linker", "trial_link", "verdict"),
    [
        ("13.2", False, Verdict.FAIL),
        ("13.3", False, Verdict.UNKNOWN),
        ("13.3", True, Verdict.OK),
        ("13.5", False, Verdict.OK),
    ],
)
def test_cuvs_needs_nvjitlink_13_3_as_a_trial_shows(
    linker: str, trial_link: bool, verdict: Verdict
) -> None:
    target = f"driver=580.95.05,gpu=h100,nvjitlink={linker}"
    (result,) = check(library(*CUVS), target, trial_link=trial_link, install_linkers=trial_link)
    assert result.verdict is verdict
    loud = [finding for finding in result.findings if finding.level != "note"]
    # It also imports the functions of 13.3, which older ones don't have.
    # A release newer than the tables may have made it: a trial rules that out.
    table = {
        Verdict.FAIL: [("LTO-01", 1549), ("NJL-01", 0)],
        Verdict.UNKNOWN: [("LTO-01", 1549)],
        Verdict.OK: [] if trial_link else [("LTO-18", 1549)],
    }
    assert [(each.rule, each.module_count) for each in loud] == table[verdict]


def test_require_prints_both_floors_and_after_a_trial_the_one_that_is_proved() -> None:
    (bytes_alone,) = ltocompat.require(library(*CUVS))
    (tried,) = ltocompat.require(library(*CUVS), trial_link=True, install_linkers=True)
    assert bytes_alone.nvjitlink is not None
    assert tried.nvjitlink is not None
    assert (str(bytes_alone.nvjitlink.possible), str(bytes_alone.nvjitlink.sure)) == (
        "13.3",
        "13.5",
    )
    assert tried.nvjitlink.exact
    assert "nvidia-nvjitlink>=13.3,<14" in [line.text for line in tried.lines]

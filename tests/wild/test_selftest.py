"""``selftest`` with NVIDIA's compilers and linkers; a stand-in takes the driver's part."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import wheels
from libraries_made import build_libcuda, needs_gcc

from ltocompat.commands.selftest import SelfTestResult, SelfTestStep, selftest

pytestmark = [pytest.mark.wild, needs_gcc]

NVJITLINKS = {
    "12.4": ("nvidia-nvjitlink-cu12==12.4.127", "nvidia/nvjitlink/lib/libnvJitLink.so.12"),
    "13.0": ("nvidia-nvjitlink==13.0.88", "nvidia/cu13/lib/libnvJitLink.so.13"),
    "13.5": ("nvidia-nvjitlink==13.5.37", "nvidia/cu13/lib/libnvJitLink.so.13"),
}
NVRTCS = {
    "12.4": ("nvidia-cuda-nvrtc-cu12==12.4.127", "nvidia/cuda_nvrtc/lib", "12"),
    "13.0": ("nvidia-cuda-nvrtc==13.0.88", "nvidia/cu13/lib", "13"),
}


@pytest.fixture
def libcuda(tmp_path: Path) -> Path:
    return build_libcuda(tmp_path)


def steps_of(
    monkeypatch: pytest.MonkeyPatch, nvrtc: str, nvjitlink: str, libcuda: Path | None
) -> list[SelfTestStep]:
    requirement, folder, major = NVRTCS[nvrtc]
    wheels.member(requirement, f"{folder}/libnvrtc-builtins.so.{nvrtc}")
    library = wheels.member(requirement, f"{folder}/libnvrtc.so.{major}")
    folders = [str(library.parent), *([str(libcuda)] if libcuda else [])]
    monkeypatch.setenv("LD_LIBRARY_PATH", os.pathsep.join(folders))
    return list(selftest(nvjitlink=str(wheels.member(*NVJITLINKS[nvjitlink]))))


@pytest.mark.parametrize(
    ("nvrtc", "nvjitlink"), [("12.4", "12.4"), ("12.4", "13.5"), ("13.0", "13.0")]
)
def test_a_sound_machine_passes_every_way(
    nvrtc: str, nvjitlink: str, libcuda: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = steps_of(monkeypatch, nvrtc, nvjitlink, libcuda)
    assert [step.name for step in steps if step.result is not SelfTestResult.PASSED] == []
    runs = [step.way for step in steps if step.name == "run"]
    assert runs == ["PTX", "LTO", "LTO to PTX"]


def test_a_linker_older_than_the_compiler_fails_and_says_so(
    libcuda: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = steps_of(monkeypatch, "13.0", "12.4", libcuda)
    failed = [step for step in steps if step.result is SelfTestResult.FAILED]
    assert {step.name for step in failed} == {"link"}
    assert all("nvJitLink 12.4 is older than NVRTC 13.0" in step.detail for step in failed)


def test_wrong_numbers_fail(libcuda: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_FAKE", "wrong=1")
    steps = steps_of(monkeypatch, "13.0", "13.0", libcuda)
    assert {step.name for step in steps if step.result is SelfTestResult.FAILED} == {"run"}


@pytest.mark.skipif(os.path.exists("/proc/driver/nvidia/version"), reason="there is a driver")
def test_without_a_driver_it_ends_after_linking(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = steps_of(monkeypatch, "13.0", "13.0", None)
    assert [step.name for step in steps if step.result is not SelfTestResult.PASSED] == ["driver"]
    assert steps[-1].name == "link"

"""GPUs: what users write, and what architecture it is."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from every_case import every
from hypothesis import given
from hypothesis import strategies as st

from ltocompat.facts import gpus, toolkits
from ltocompat.facts.gpus import find_gpu
from ltocompat.model.arch import Release, SmArch
from ltocompat.model.errors import UsageError


@every(
    "text, number",
    [
        # As nvidia-smi prints them.
        ("Tesla V100-SXM2-16GB", 70),
        ("NVIDIA A100-SXM4-80GB", 80),
        ("NVIDIA RTX 6000 Ada Generation", 89),
        ("NVIDIA TITAN X (Pascal)", 61),
        ("GeForce GTX TITAN X", 52),
        ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", 120),
        ("Quadro RTX 6000", 75),
        # As people write them.
        ("a4000", 86),
        ("a6000", 86),
        ("l40s", 89),
        ("l40", 89),
        ("t4", 75),
        ("tesla t4", 75),
        ("gtx 750", 50),
        ("1080ti", 61),
        ("rtx5090", 120),
        ("b200", 100),
        ("gb300", 103),
        ("gh200", 90),
        ("dgx spark", 121),
        ("jetson nano", 53),
        ("orin nano", 87),
        ("orin", 87),  # several modules, one architecture
        ("thor", 110),
        ("tx2", 62),
    ],
)
def test_the_architecture_of_a_gpu(text: str, number: int) -> None:
    assert find_gpu(text).arch == SmArch(number)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rtx 6000", ["Quadro RTX 6000 (sm_75)", "RTX 6000 Ada (sm_89)", "(sm_120)"]),
        ("6000", ["Quadro RTX 6000 (sm_75)", "RTX 6000 Ada (sm_89)", "(sm_120)"]),
        ("titan x", ["GeForce GTX TITAN X (sm_52)", "TITAN X (Pascal) (sm_61)"]),
        ("titan", ["(sm_35)", "(sm_52)", "(sm_61)", "TITAN V (sm_70)", "TITAN RTX (sm_75)"]),
        ("jetson", ["(sm_53)", "(sm_62)", "(sm_72)", "(sm_87)", "(sm_110)"]),
        ("nano", ["Jetson Nano (sm_53)", "Jetson Orin Nano (sm_87)"]),
    ],
)
def test_a_name_of_several_architectures_is_refused_with_each(text: str, words: list[str]) -> None:
    with pytest.raises(UsageError) as error:
        find_gpu(text)
    assert all(each_text in str(error.value) for each_text in [repr(text), *words])


@every(
    "text, said",
    [
        ("h1000", "H100"),
        ("4090ti", "sm_90"),
        ("rtx 5099", "GeForce RTX 5090"),
        ("", "sm_90"),
        ("geforce", "sm_90"),
        ("warp9", "sm_90"),
        ("sm_", "sm_90"),
        ("\u0669\u0660", "sm_90"),  # digits, but not ours
        ("x" * 100_000, "sm_90"),
        ("compute_90", "write sm_90"),
        ("lto_80", "write sm_80"),
        ("sm_91", "sm_88, sm_89, sm_90"),
        ("sm_1", "sm_30, sm_32, sm_35"),
        ("sm_9999", f"sm_{gpus.newest_sm()}"),
        ("9999", f"sm_{gpus.newest_sm()}"),
        ("sm_80a", "sm_90a"),
        ("sm_90f", "sm_100f"),
    ],
)
def test_an_unknown_gpu_is_refused_with_what_to_write(text: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        find_gpu(text)
    assert said in str(error.value)
    assert len(str(error.value)) < 300
    assert "\n" not in str(error.value)


@given(st.text())
def test_any_text_is_a_gpu_or_an_error(text: str) -> None:
    try:
        assert find_gpu(text).arch.number > 0
    except UsageError as error:
        assert str(error)  # noqa: PT017 - either end is right


@every(
    "number, first, last",
    [
        (35, None, 470),
        (52, None, 580),
        (70, None, 580),
        (75, None, None),
        (80, 450, None),
        (90, 520, None),
        (100, 570, None),
        (103, 575, None),
        (107, 615, None),
        (110, 580, None),
        (120, 570, None),
    ],
)
def test_the_drivers_of_an_architecture(number: int, first: int | None, last: int | None) -> None:
    sm = gpus.sm(number)
    assert sm is not None
    assert (sm.first_branch, sm.last_branch) == (first, last)


def test_the_first_ptx_of_an_architecture_is_not_newer_than_its_first_toolkit() -> None:
    for sm in gpus.sms():
        cuda = toolkits.ptx_cuda(gpus.first_ptx(SmArch(sm.number), ()) or "")
        assert cuda is not None
        assert cuda <= sm.first_toolkit


@pytest.mark.parametrize(
    ("cuda", "yes", "no"),
    [
        ("11.8", {35, 37, 50, 90}, {30, 32, 100}),
        ("12.0", {50, 70, 89, 90}, {37, 100, 101}),
        ("12.6", {50, 90}, {100, 120}),
        ("12.8", {50, 100, 101, 120}, {103, 110, 121}),
        ("12.9", {50, 101, 103, 121}, {88, 110}),
        ("13.0", {75, 88, 110}, {70, 72, 101, 107}),
        ("13.4", {75, 107}, {70}),
        ("99.0", {gpus.newest_sm()}, {70}),  # newer than the table
    ],
)
def test_what_a_linker_can_target(cuda: str, yes: set[int], no: set[int]) -> None:
    targets = gpus.linker_targets(Release.parse(cuda))
    assert yes <= targets
    assert not no & targets


NAMES = tomllib.loads((Path(__file__).parent / "data" / "gpu_names.toml").read_text())


@pytest.mark.parametrize("arch", NAMES)
def test_every_name_of_the_kernel_driver_is_known(arch: str) -> None:
    found = {name: str(find_gpu(name).arch) for name in NAMES[arch]}
    assert found == dict.fromkeys(NAMES[arch], arch)


@every(
    "text, number",
    [
        # MIG, as CUDA and nvidia-smi name an instance.
        ("NVIDIA A100-SXM4-80GB MIG 1g.10gb", 80),
        ("NVIDIA H100 80GB HBM3 MIG 3g.40gb", 90),
        ("A100 MIG 1g.5gb+me", 80),
        ("NVIDIA H200 MIG 1c.3g.71gb", 90),
        ("h100-mig-1g.10gb", 90),
        # vGPU types: the board, the size, the kind; on MIG with the slices.
        ("GRID A100D-80C", 80),
        ("NVIDIA A100-1-5CME", 80),
        ("GRID V100DX-32C", 70),
        ("GRID RTX6000-24Q", 75),
        ("GRID RTX8000P-48Q", 75),
        ("NVIDIA RTX6000-Ada-48Q", 89),
        ("NVIDIA RTXA6000-48Q", 86),
        ("NVIDIA L40S-48Q", 89),
        ("H100XM-80C", 90),
        ("A16-16Q", 86),
        ("GRID T4-16Q", 75),
        ("GRID P40-24Q", 61),
        ("NVIDIA RTX Pro 6000 Blackwell DC-1-24Q", 120),
        # Boards and systems.
        ("B100", 100),
        ("GB300 NVL72", 103),
        ("DGX H100", 90),
        ("NVIDIA DGX Station A100", 80),
        ("Jetson AGX Orin Developer Kit", 87),
        ("NVIDIA Jetson Orin Nano Engineering Reference Developer Kit Super", 87),
        ("Orin (nvgpu)", 87),
        ("NVIDIA Thor", 110),
    ],
)
def test_a_board_a_slice_and_a_virtual_gpu_have_the_architecture_of_the_chip(
    text: str, number: int
) -> None:
    assert find_gpu(text).arch == SmArch(number)


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("h101", "H100"),
        ("v10", "V100 or Quadro GV100 or Tesla K10"),
        ("a110", "A10 or A100"),
        ("8.0+9.0", ""),
        ("9", ""),
    ],
)
def test_a_gpu_that_everybody_knows_is_proposed(text: str, near: str) -> None:
    """Models for one country and boards of vGPUs are found by name, but never proposed."""
    with pytest.raises(UsageError) as raised:
        find_gpu(text)
    proposed = re.findall(r"is it (.+)\? write", str(raised.value))
    assert proposed == ([near] if near else [])

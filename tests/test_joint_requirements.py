"""What a machine needs for several artifacts: ``check`` passes for each of them there."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from libraries_made import build, needs_gcc
from msgspec.structs import replace
from newest import NEWEST
from report_values import written
from samples import FOLDER

import ltocompat
from ltocompat import Required, Verdict
from ltocompat.cli import run
from ltocompat.model.requirement import NEXT, GpuSupport, RouteFloor
from ltocompat.model.verdict import Coverage
from ltocompat.report.verbs.require import REPORT
from ltocompat.rules.engine.joint_requirements import joint
from ltocompat.rules.services import least_driver, runs_anywhere

NAMES = (
    "objects/nvcc-13.0-plain-sass+ptx",
    "cubin/nvrtc-12.4-sm_80.cubin",
    "cubin/nvrtc-12.9-sm_70.cubin",
    "cubin/nvrtc-13.0-sm_90.cubin",
    "ptx/nvrtc-12.9-compute_80.ptx",
    "ptx/nvcc-13.0-compute_80.ptx",
    "ltoir/nvrtc-12.4-lto_80.ltoir",
    "ltoir/nvrtc-12.8-lto_80.ltoir",
    "ltoir/nvrtc-13.0-lto_80.ltoir",
    f"ltoir/nvrtc-{NEWEST}-lto_80.ltoir",
)
READ = {name: next(iter(ltocompat.read(FOLDER / name))) for name in NAMES}


def needs(*names: str) -> list[Required]:
    return [READ[name].require() for name in names]


@pytest.mark.parametrize("names", [*combinations(NAMES, 2)])
def test_every_artifact_passes_on_the_machine_that_all_need(names: tuple[str, ...]) -> None:
    several = needs(*names)
    for service in joint(several).services:
        alone = [each for one in several for each in one.services if each.number == service.number]
        if service.driver is None or service.name == NEXT:
            assert any(each.driver is None for each in alone) or len({*alone}) > 1
            continue
        for name, own in zip(names, alone, strict=True):
            linker = f",nvjitlink={own.nvjitlink and service.nvjitlink}" if own.nvjitlink else ""
            target = f"driver={service.driver},gpu=sm_{service.number}{linker}"
            found = [result.verdict for result in READ[name].check([target])]
            majors = {each.nvjitlink.major for each in alone if each.nvjitlink}
            assert len(majors) > 1 or min(found) <= Verdict.UNDOCUMENTED, (name, target)
        assert service.driver == max(each.driver for each in alone if each.driver)


def test_the_answer_for_several_files_begins_with_what_all_of_them_need(
    capsys: pytest.CaptureFixture[str],
) -> None:
    paths = [str(FOLDER / NAMES[n]) for n in (1, 4, 6)]
    assert run(["require", *paths]) == 0
    first = capsys.readouterr().out.split("\n\n")[0].splitlines()
    runs = "Runs with driver >= 575.51.03 on sm_80, 86, 89"
    assert first[0] == "all 3 artifacts: 3 modules"
    assert first[1] == f"{runs}; links need nvidia-nvjitlink-cu12>=12.9,<13"
    of_image = first.index("to paste into a Dockerfile:") + 1
    assert first[of_image] == "  # driver 575.51.03 or newer"
    assert first[of_image + 1] == '  ENV NVIDIA_REQUIRE_CUDA="cuda>=12.9"'
    assert run(["require", paths[0]]) == 0
    assert "all " not in capsys.readouterr().out


def test_what_one_machine_cannot_have_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(FOLDER / NAMES[n]) for n in (2, 6, 8)]
    assert run(["require", *paths]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "It serves no known GPU; links: some need nvidia-nvjitlink-cu12>=12.4,<13" in text
    assert ", others nvidia-nvjitlink>=13.0,<14" in text
    assert "to paste into a Dockerfile: # no known GPU and driver run all artifacts" in text


@pytest.mark.parametrize(
    ("names", "left"),
    [
        (["x_cu12-1.0-py3-none-any.whl", "x_cu13-1.0-py3-none-any.whl"], [0]),
        (["x_cu13-1.0-py3-none-any.whl", "x_cu12-2.0-py3-none-any.whl"], [0]),
        (["x-1.0+cu124-py3-none-any.whl", "x-1.0+cu130-py3-none-any.whl"], [0]),
        (["nvidia_x_cu12-1.0-py3-none-any.whl", "nvidia_x-2.0-py3-none-any.whl"], [0]),
        (["cupy_cuda12x-1.0-cp311-cp311-any.whl", "cupy_cuda13x-1.0-cp311-cp311-any.whl"], [0]),
        (["lib/cu12/libx.so", "lib/cu13/libx.so"], [0]),
        (["lib/libx_cuda124.so", "lib/libx_cuda130.so"], [0]),
        # what one environment has together
        (["x_cu12-1.0-py3-none-any.whl", "y_cu13-1.0-py3-none-any.whl"], [0, 1]),
        (["x-1.0-cp310-cp310-any.whl", "x-1.0-cp311-cp311-any.whl"], [0, 1]),
        (["x_cu12-1.0-cp310-cp310-any.whl", "x_cu12-1.0-cp311-cp311-any.whl"], [0, 1]),
        (["libx.so", "libx_cuda130.so"], [0, 1]),
        (["lib/cu12/libx.so", "lib/cu13/liby.so"], [0, 1]),
    ],
)
def test_variants_of_one_package_are_no_conflict(names: list[str], left: list[int]) -> None:
    """An environment has one of them, of which the least demanding one is in the answer."""
    floors = sorted(
        needs(NAMES[2], NAMES[8]), key=lambda each: str(least_driver(each, each.services))
    )
    for order in (1, -1):
        several = [
            replace(each, path=name) for each, name in zip(floors, names[::order], strict=True)
        ]
        whole = joint(several)
        parts = [several[n] for n in left]
        expected = parts[0] if len(parts) == 1 else joint([*parts])
        assert [s.driver for s in whole.services] == [s.driver for s in expected.services]
        assert ("of other CUDA releases" in whole.path) is (len(left) == 1)


def test_code_without_kernels_asks_no_machine_for_anything() -> None:
    """As NVIDIA's libcudss_commlayer_nccl.so.0 0.7.1.6: ``check`` is ok with it everywhere."""
    (one,) = needs(NAMES[1])
    nothing = RouteFloor(None, Coverage(1, without_kernels=1), None, None, None, None, Verdict.OK)
    services = [
        GpuSupport(each.number, each.name, "none", 0, 0, 0, 0, None, routes=(nothing,))
        for each in one.services
    ]
    empty = Required(
        path="libempty.so", modules=1, nvjitlink=None, services=tuple(services), asked=()
    )
    whole = joint([one, empty])
    assert [service.driver for service in whole.services] == [s.driver for s in one.services]
    assert {line.text for line in whole.lines} == {line.text for line in one.lines}
    assert written("table", REPORT, [empty]).splitlines()[1:] == [
        "It has no kernels, so any GPU and driver will do"
    ]
    unlike = replace(nothing, coverage=Coverage(2, without_kernels=1, none=1))
    refused = replace(empty, services=tuple(replace(s, routes=(unlike,)) for s in services))
    assert {service.driver for service in joint([one, refused]).services} == {None}


@needs_gcc
@pytest.mark.parametrize("runtime", [False, True])
def test_a_library_without_kernels_runs_anywhere_unless_it_needs_a_cuda_runtime(
    runtime: bool, tmp_path: Path
) -> None:
    cubin = FOLDER / "cubin" / "nvcc-13.0-sm_80-without-kernels.cubin"
    code = f'__asm__(".section .nv_fatbin,\\"a\\"\\n.incbin \\"{cubin}\\"\\n.previous");'
    stubs = [build(tmp_path / "libcudart.so.12")] if runtime else []
    library = build(tmp_path / "libx.so", source=f"{code}\nvoid run(void) {{}}", needs=stubs)
    (empty,) = ltocompat.require(library)
    assert runs_anywhere(empty) is not runtime
    targets = ("driver=450.51.05,gpu=a100", "driver=525.60.13,gpu=v100", "R615,b200")
    found = [result.verdict for result in ltocompat.check(library, targets)]
    assert found == [Verdict.FAIL if runtime else Verdict.OK, Verdict.OK, Verdict.OK]


@pytest.mark.parametrize("name", ["objects/nvcc-13.5-lto+sass.o", "objects/libaxpy.a"])
def test_objects_that_a_build_links_ask_no_machine_for_nvjitlink(name: str) -> None:
    (found,) = ltocompat.require(FOLDER / name)
    assert found.nvjitlink is not None
    assert not any("nvjitlink" in line.text for line in found.lines)
    assert joint([found, *needs(NAMES[0])]).nvjitlink is None
    (pip,) = (line for line in found.lines if line.where == "pip")
    assert pip.note == f"if nvJitLink links this at run time: {found.nvjitlink.wheel}"

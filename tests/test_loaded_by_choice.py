"""Modules that nothing registers: what the driver refuses of them is weighed by their own file.

The shape of cuTENSOR 2.8.1: SASS for one architecture with PTX beside it, unregistered, in a
library that has SASS for other GPUs in other modules. PTX 9.0 needs a driver of CUDA 13.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from generated_artifacts import IMAGES
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from packages_made import wheel
from samples import FOLDER

from ltocompat.cli import run
from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup
from ltocompat.model.image import ImageKind, Skipped
from ltocompat.model.location import Location
from ltocompat.model.signature import ImageSignature, ModuleSignature
from ltocompat.model.verdict import Level, Result, Route, Verdict
from ltocompat.rules.engine.judge_artifact import results
from ltocompat.targets import parse

(ON_550,) = parse(["driver=550.163.01,gpu=h100"])


def image(kind: ImageKind, arch: str, isa: str | None = None) -> ImageSignature:
    found = next(i for i in IMAGES if i.kind is kind and str(i.arch) == arch and i.isa == isa)
    return replace(found, in_fatbin=True, prelinked=False, has_kernels=True, empty_kernels=False)


SASS_80 = image(ImageKind.SASS, "sm_80")
NEW_PTX = image(ImageKind.PTX, "compute_80", "9.0")
OLD_PTX = image(ImageKind.PTX, "compute_80", "8.4")
SASS_90 = replace(
    next(
        i
        for i in IMAGES
        if i.kind is ImageKind.SASS
        and str(i.arch) == "sm_90"
        and str(i.made_by[0]).startswith("12")
    ),
    in_fatbin=True,
    prelinked=False,
    has_kernels=True,
)


def group(
    *images: ImageSignature, registered: bool, file: str = "libx.so", count: int = 1
) -> ModuleGroup:
    places = [Location("x.whl", (file,)).at(64 * n) for n in range(count)]
    signature = ModuleSignature(images, registered, False)
    return ModuleGroup(signature, {}, count, places[0], inner=True, places=places)


def loose(*images: ImageSignature, file: str = "x/k.ptx") -> ModuleGroup:
    """Each in a file of its own in the package."""
    place = Location("x.whl", (file,))
    bare = tuple(replace(each, in_fatbin=False) for each in images)
    return ModuleGroup(ModuleSignature(bare, None), {}, 1, place, inner=True, places=[place])


CHOICE = group(SASS_80, NEW_PTX, registered=False, count=3)


def judged(*groups: ModuleGroup) -> Result:
    (result,) = by_route(*groups)
    return result


def loaded(*groups: ModuleGroup) -> Result:
    (result,) = results(ArtifactSummary("x.whl", list(groups)), ON_550, Route.LOAD)
    return result


def by_route(*groups: ModuleGroup) -> list[Result]:
    return list(results(ArtifactSummary("x.whl", [replace(each) for each in groups]), ON_550))


def test_sass_for_the_gpu_in_the_same_file_makes_it_a_note() -> None:
    result = judged(CHOICE, group(SASS_90, registered=True))
    assert result.verdict is Verdict.OK
    (note,) = [finding for finding in result.findings if finding.rule == "PTX-01"]
    assert (note.level, note.module_count) == (Level.NOTE, 3)
    assert "no wrapper registers it, and its library has other SASS for this GPU" in note.message
    assert (result.coverage.sass, result.coverage.none) == (1, 3)


def test_other_ptx_for_the_gpu_in_the_same_file_leaves_it_open() -> None:
    result = judged(CHOICE, group(OLD_PTX, registered=True))
    assert result.verdict is Verdict.UNKNOWN
    assert "it is unknown whether its library loads it here" in result.findings[0].message


@pytest.mark.parametrize(
    ("beside", "file", "verdict"),
    [
        (SASS_90, "libcusparseLt.so.0", Verdict.OK),
        (SASS_90, "libcublasLt.so.12", Verdict.OK),
        (SASS_90, "libcufft.so.11", Verdict.FAIL),  # it is not in the table
        (SASS_80, "libcusparseLt.so.0", Verdict.FAIL),
        (OLD_PTX, "libcusparseLt.so.0", Verdict.FAIL),
    ],
)
def test_a_library_that_chooses_kernels_by_gpu_needs_no_ptx_where_it_has_sass(
    beside: ImageSignature, file: str, verdict: Verdict
) -> None:
    """cuSPARSELt 0.10 on a B200 and R580: 33 of 246 modules have PTX 9.4, the others SASS."""
    part = group(SASS_80, NEW_PTX, registered=True, file=file)
    result = judged(part, group(beside, registered=True, file=file))
    assert result.verdict is verdict
    elsewhere = judged(part, group(beside, registered=True, file="libx.so"))
    assert elsewhere.verdict is Verdict.FAIL


BARE = st.sampled_from([i for i in IMAGES if i.kind in (ImageKind.PTX, ImageKind.SASS)])


LISTS = st.lists(BARE, min_size=1, max_size=4)


@given(LISTS)
def test_a_package_of_bare_images_fails_exactly_where_each_fails_by_itself(
    images: list[ImageSignature],
) -> None:
    """Its programs pick among them; where the driver refuses each, there is nothing to pick."""
    files = [loose(each, file=f"x/k{n}.ptx") for n, each in enumerate(images)]
    package = loaded(*files)
    alone = {file.example: loaded(replace(file, inner=False)) for file in files}
    fails = all(each.verdict is Verdict.FAIL for each in alone.values())
    assert (package.verdict is Verdict.FAIL) == fails
    if fails and all(image.has_kernels for image in images):
        # Those that are for the GPU are named; where none is, all of them.
        named = {place for finding in package.findings for place in finding.places}
        for_gpu = {place for place, each in alone.items() if not each.coverage.none}
        assert named >= (for_gpu or set(alone))


@given(LISTS)
def test_bare_images_fail_no_package_that_has_sources_or_that_was_not_read_whole(
    images: list[ImageSignature],
) -> None:
    """What it compiles when it runs (flashinfer-python 0.7.2), or what lies there, may serve."""
    files = [loose(each, file=f"x/k{n}.ptx") for n, each in enumerate(images)]
    unread = Skipped(Location("x.whl", ("y.so",)), "it is cut off")
    for summary in (
        ArtifactSummary("x.whl", list(files), has_sources=True),
        ArtifactSummary("x.whl", list(files), [unread], 1),
    ):
        found = results(summary, ON_550)
        assert all(each.verdict is not Verdict.FAIL for each in found)


@pytest.mark.parametrize(
    ("sources", "code"), [([], 1), (["x/k.cu"], 3), (["x/include/k.cuh"], 3), (["x/k.cpp"], 1)]
)
def test_sources_of_cuda_in_a_wheel_leave_open_what_its_loose_images_fail(
    sources: list[str], code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The cubin is for H100; A100 finds nothing, and the file is named."""
    cubin = (FOLDER / "cubin/nvrtc-12.4-sm_90.cubin").read_bytes()
    path = wheel(tmp_path, {"x/k.cubin": cubin, **dict.fromkeys(sources, b"// code")})
    target = "--deploy-target=driver=580.95.05,gpu=a100"
    assert run(["check", str(path), target, "--why"]) == code
    assert "all its device code is in x/k.cubin" in " ".join(capsys.readouterr().out.split())
    assert run(["check", str(path), target.replace("a100", "h100")]) == 0


@given(BARE)
def test_a_bare_image_makes_nothing_well_that_fails_without(image: ImageSignature) -> None:
    failing = group(replace(SASS_90, arch=SASS_80.arch), NEW_PTX, registered=True)
    assert judged(failing).verdict is Verdict.FAIL
    found = by_route(failing, loose(image))
    assert max(each.verdict for each in found) >= Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("registered", "kernels", "verdict"),
    [(False, False, Verdict.OK), (None, False, Verdict.FAIL), (False, True, Verdict.FAIL)],
)
def test_what_nothing_registers_and_nobody_launches_harms_no_library(
    *, registered: bool | None, kernels: bool, verdict: Verdict
) -> None:
    """A device link's empty output for sm_80, alone in libcufftw.so.11; on the H100 it runs.

    A bare cubin is refused by the driver, and so is one with kernels.
    """
    code = replace(SASS_80, has_kernels=kernels)
    place = Location("libcufftw.so.11")
    alone = ModuleGroup(ModuleSignature((code,), registered, False), {}, 1, place, inner=False)
    (result,) = results(ArtifactSummary("libcufftw.so.11", [alone]), ON_550)
    assert result.verdict is verdict
    assert kernels or "IMG-03" in result.rules

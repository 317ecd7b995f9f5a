"""Rules about drivers and cuda-compat, on values from NVIDIA's tables."""

from __future__ import annotations

import re
from typing import Any

import pytest
import samples
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rule_cases import spares, strikes
from rules import asked, compat, driver, gpu, image, judged, loading, noted, sample

import ltocompat
from ltocompat.facts import table
from ltocompat.facts.drivers import windows_driver
from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup
from ltocompat.model.image import Compression, CudaLibrary, HostBinary, ImageKind
from ltocompat.model.location import Location
from ltocompat.model.signature import ImageSignature, ModuleSignature
from ltocompat.model.target import Quantifier, Target, VersionSet
from ltocompat.model.verdict import Verdict
from ltocompat.rules.catalogue import requirements_of
from ltocompat.rules.engine.engine import Engine
from ltocompat.rules.engine.judge_artifact import ArtifactJudge
from ltocompat.rules.rule import CompatUse
from ltocompat.targets import parse

OK, UNKNOWN, FAIL = Verdict.OK, Verdict.UNKNOWN, Verdict.FAIL


@pytest.mark.parametrize(
    ("name", "on", "version", "verdict"),
    [
        # minor-version compatibility: 450 for 11.x, 525 for 12.x, 580 for 13.x
        ("cubin/nvrtc-11.8-sm_80.cubin", "sm_80", "470.42.01", OK),
        ("cubin/nvrtc-11.8-sm_80.cubin", "sm_80", "418.40.04", FAIL),
        ("cubin/nvrtc-12.9-sm_80.cubin", "sm_80", "525.60.13", OK),
        ("cubin/nvrtc-12.9-sm_80.cubin", "sm_80", "520.61.05", FAIL),
        ("cubin/nvrtc-13.5-sm_100.cubin", "sm_100", "580.65.06", OK),
        ("cubin/nvrtc-13.5-sm_100.cubin", "sm_100", "575.57.08", FAIL),
        # 12.8 and 12.9 write the form of 13 for Blackwell, which changes nothing
        ("cubin/nvrtc-12.9-sm_100.cubin", "sm_100", "575.57.08", OK),
        # the newest tool counts: nvJitLink 13.0 linked objects of 12.x
        ("cubin/nvjitlink-13.0-of-12.8+12.9-sm_100.cubin", "sm_100", "575.57.08", FAIL),
    ],
)
@strikes("DRV-01")
def test_drv_01_sass_needs_the_floor_of_its_major(
    name: str, on: str, version: str, verdict: Verdict
) -> None:
    assert judged("DRV-01", loading(*sample(name), on=on), driver(version)) is verdict


@strikes("SASS-07")
@spares("SASS-07")
def test_drv_01_leaves_cubins_that_only_13_writes_to_sass_07() -> None:
    subject = loading(*sample("cubin/nvrtc-13.0-sm_80.cubin"), on="sm_80")
    assert judged("DRV-01", subject, driver("575.57.08")) is None
    assert judged("SASS-07", subject, driver("575.57.08")) is FAIL
    assert judged("SASS-07", subject, driver("580.65.06")) is OK
    older = loading(*sample("cubin/nvrtc-12.9-sm_80.cubin"), on="sm_80")
    assert judged("SASS-07", older) is None


def stored(release: str) -> ImageSignature:
    """Relocatable SASS of an object that was device-linked for another GPU."""
    return replace(image(ImageKind.SASS, "sm_90", release), prelinked=1, relocatable=True)


@strikes("SASS-11")
def test_sass_11_a_driver_links_no_sass_that_is_newer_than_itself() -> None:
    """On an H200, driver 580.159.04 ends in error 209 for 13.5, and runs 13.0."""
    newer, own = (loading(stored(release), on="sm_90") for release in ("13.5", "13.0"))
    assert judged("SASS-11", newer, driver("580.159.04")) is FAIL
    assert judged("SASS-11", own, driver("580.159.04")) is OK
    assert judged("SASS-11", own, driver("570.86.10")) is FAIL
    unknown = replace(stored("13.0"), made_by=())
    for open_ in (unknown, stored("11.0")):
        assert judged("SASS-11", loading(open_, on="sm_90"), driver("580.159.04")) is UNKNOWN


def test_sass_11_judges_a_program_by_the_gpu_of_its_device_link() -> None:
    """Its objects have SASS for sm_80 and sm_90, and the device link was for sm_80 alone."""
    path = samples.FOLDER / "objects" / "nvcc-13.5-rdc-sm_90-linked-for-sm_80"
    for name, failing in (("a100", []), ("h100", ["SASS-11"])):
        (result,) = ltocompat.check(path, f"driver=580.159.04,gpu={name}", route="load")
        assert [f.rule for f in result.findings if f.verdict is FAIL] == failing


@spares("SASS-11")
def test_sass_11_leaves_linked_sass_to_minor_version_compatibility() -> None:
    assert not asked("SASS-11", loading(image(ImageKind.SASS, "sm_90", "13.5"), on="sm_90"))


def test_drv_01_knows_no_floor_of_a_major_to_come() -> None:
    subject = loading(image(ImageKind.SASS, "sm_100", "14.0"), on="sm_100")
    assert judged("DRV-01", subject, driver("615.10.01")) is UNKNOWN


@pytest.mark.parametrize("cuda", ["5.0", "6.0", "6.5"])
@pytest.mark.parametrize(
    ("version", "verdict"),
    [("440.33.01", UNKNOWN), ("450.51.05", OK), ("535.104.05", OK), ("615.10.01", OK)],
)
def test_drv_01_code_older_than_the_tables_runs_where_their_oldest_does(
    cuda: str, version: str, verdict: Verdict
) -> None:
    subject = loading(image(ImageKind.SASS, "sm_50", cuda), on="sm_50")
    assert judged("DRV-01", subject, driver(version)) is verdict


@pytest.mark.parametrize(
    ("cuda", "isa", "least", "older"),
    [  # release notes of CUDA 11.0, table 2: the driver of each toolkit
        ("7.0", "4.2", "346.46", "343.19"),
        ("8.0", "5.0", "367.48", "361.93.02"),
        ("9.0", "6.0", "384.81", "381.22"),
        ("10.0", "6.3", "410.48", "396.37"),
        ("10.2", "6.5", "440.33", "418.39"),
    ],
)
def test_code_from_before_cuda_11_runs_from_the_driver_of_its_release_on(
    cuda: str, isa: str, least: str, older: str
) -> None:
    sass = loading(image(ImageKind.SASS, "sm_50", cuda), on="sm_50")
    ptx = loading(image(ImageKind.PTX, "sm_50", isa=isa), on="sm_50")
    known = FAIL if cuda != "7.0" else UNKNOWN  # no row is older
    for rule, subject in (("DRV-01", sass), ("PTX-01", ptx)):
        assert judged(rule, subject, driver(least)) is OK
        assert judged(rule, subject, driver("450.51.05")) is OK
        assert judged(rule, subject, driver(older)) is known
        assert judged(rule, subject, driver(f"{least.partition('.')[0]}.1")) is UNKNOWN  # a beta


@pytest.mark.parametrize("isa", ["7.0", "7.8", "8.2", "9.5"])
@pytest.mark.parametrize("version", ["346.46", "418.39", "440.33.01"])
def test_ptx_01_no_driver_from_before_cuda_11_compiles_later_ptx(isa: str, version: str) -> None:
    """cudagrad 0.2.8 has PTX 8.2; it was unknown whether driver 418 compiles it."""
    subject = loading(image(ImageKind.PTX, "sm_50", isa=isa), on="sm_50")
    assert judged("PTX-01", subject, driver(version)) is FAIL


@pytest.mark.parametrize("isa", ["3.2", "4.1"])
def test_ptx_01_the_drivers_of_the_oldest_releases_are_not_known(isa: str) -> None:
    subject = loading(image(ImageKind.PTX, "sm_50", isa=isa), on="sm_50")
    assert judged("PTX-01", subject, driver("418.39")) is UNKNOWN


@pytest.mark.parametrize(
    ("arch", "least", "older"),
    [
        ("sm_60", "367.48", "361.93.02"),
        ("sm_70", "384.81", "384.59"),
        ("sm_75", "410.48", "396.37"),
    ],
)
def test_drv_03_an_old_driver_may_not_know_a_newer_gpu(arch: str, least: str, older: str) -> None:
    subject = loading(image(ImageKind.PTX, "sm_50", isa="4.2"), on=arch)
    assert judged("DRV-03", subject, driver(least)) is OK
    assert judged("DRV-03", subject, driver(older)) is UNKNOWN


@spares("DRV-01")
def test_drv_01_asks_nothing_where_the_writer_is_not_known() -> None:
    assert not asked("DRV-01", loading(image(ImageKind.SASS, "sm_80"), on="sm_80"))


_LEAST = {10: "450.51.05", 11: "450.51.05", 12: "525.60.13", 13: "580.65.06"}


_CODE: dict[
    str, tuple[dict[str, Any], int]
] = {  # what each image is, with the oldest CUDA major whose drivers load it
    "nothing known": ({"kind": ImageKind.SASS}, 0),
    "PTX 7.0": ({"kind": ImageKind.PTX, "isa": "7.0"}, 11),
    "PTX 8.5": ({"kind": ImageKind.PTX, "isa": "8.5"}, 12),
    **{f"SASS of {n}": ({"kind": ImageKind.SASS, "cuda": f"{n}.0"}, n) for n in (11, 12)},
}


@given(
    majors=st.lists(st.sampled_from([10, 11, 12, 13]), max_size=3),
    how=st.sampled_from(["needed", "opened", "static"]),
    codes=st.lists(st.tuples(st.sampled_from([*_CODE]), st.sampled_from([True, False, None]))),
    windows=st.booleans(),
    version=st.sampled_from([None, *_LEAST.values(), "470.82.01", "570.26"]),
)
@strikes("DRV-01")
@spares("DRV-01")
@settings(max_examples=400, deadline=None)
def test_drv_01_no_code_outlives_the_runtime_of_its_file(
    majors: list[int],
    how: str,
    codes: list[tuple[str, bool | None]],
    *,
    windows: bool,
    version: str | None,
) -> None:
    """Each call of a runtime of CUDA 12 fails on R450, whichever code is in the file."""
    name = "cudart64_{}{}.dll" if windows else "libcudart.so.{}.{}"
    hosts = [
        HostBinary(
            place=Location(f"lib{at}.so"),
            format="PE" if windows else "ELF",
            machine="x86-64",
            type="shared library",
            libraries=(
                CudaLibrary("libcudart", how, None, str(major) if major > 11 else None, "mark")
                if how == "static"
                else CudaLibrary("libcudart", how, name.format(major, 0), None, "name"),
            ),
        )
        for at, major in enumerate(majors)
    ]
    groups = [
        ModuleGroup(
            ModuleSignature(
                (image(arch="sm_52", has_kernels=kernels, **_CODE[code][0]),), registered=True
            ),
            {},
            1,
            Location("x.so"),
        )
        for code, kernels in codes
    ]
    summary = ArtifactSummary("x.so", groups, hosts=hosts)
    judge = ArtifactJudge(summary, Engine())
    part = version and VersionSet(version, (driver(version),), Quantifier.ALL, "given")
    (result,) = judge.results(Target(name="t", gpus=(gpu("sm_52"),), driver=part or None))
    told = [f for f in result.findings if f.rule == "DRV-01" and "CUDA runtime" in f.message]
    if how == "static":  # a copy from before CUDA 12 doesn't tell its version
        majors = [max(major, 10) if major > 11 else 10 for major in majors]
    needed = max(majors, default=0) if how != "opened" and codes else 0
    own = [_CODE[code][1] for code, kernels in codes if kernels is not False]
    asks = needed and (not own or min(own) < needed)
    too_old = version is not None and driver(version) < driver(_LEAST[max(needed, 10)])
    assert bool(told) is bool(asks and too_old)
    assert all(finding.verdict is FAIL for finding in told)
    if needed and too_old:
        assert result.verdict is FAIL
    if codes and not own:
        assert ("load" in result.not_judged) is bool(asks and version is None)


RUNTIMES = st.lists(st.tuples(st.sampled_from(["needed", "static"]), st.integers(10, 13)))


@given(files=st.lists(RUNTIMES, max_size=3), version=st.sampled_from([*_LEAST.values(), "570.26"]))
@settings(deadline=None)
def test_drv_01_asks_for_all_runtimes_of_all_files(
    files: list[list[tuple[str, int]]], version: str
) -> None:
    """A file may call each runtime that it has or loads; a package may load each of its files."""
    hosts = [
        HostBinary(
            place=Location("x.whl", (f"x/lib{chr(97 + number)}.so",)),
            format="ELF",
            machine="x86-64",
            type="shared library",
            libraries=tuple(
                CudaLibrary("libcudart", how, f"libcudart.so.{major}.0", None, "name")
                if how == "needed"
                else CudaLibrary("libcudart", how, None, str(major) if major > 11 else None, "mark")
                for how, major in runtimes
            ),
        )
        for number, runtimes in enumerate(files)
    ]
    code = ModuleSignature((image(ImageKind.SASS, "sm_52", has_kernels=False),), registered=True)
    groups = [ModuleGroup(code, {}, 1, Location("x.whl", ("x/liba.so",)))]
    judge = ArtifactJudge(ArtifactSummary("x.whl", groups, hosts=hosts), Engine())
    part = VersionSet(version, (driver(version),), Quantifier.ALL, "given")
    (result,) = judge.results(Target(name="t", gpus=(gpu("sm_52"),), driver=part))
    asked = (10 if how == "static" and n < 12 else n for each in files for how, n in each)
    assert (result.verdict is FAIL) is (driver(version) < driver(_LEAST[max(asked, default=10)]))


@pytest.mark.parametrize(
    ("version", "worth_a_note"),
    [("580.159.04", True), ("610.43.02", True), ("615.10.01", False), ("575.51.03", False)],
)
@strikes("DRV-02")
@spares("DRV-02")
def test_drv_02_notes_a_driver_of_the_same_major_and_an_older_minor(
    version: str, worth_a_note: bool
) -> None:
    subject = loading(image(ImageKind.SASS, "sm_90", "13.4"), on="sm_90")
    assert noted("DRV-02", subject, driver(version)) is worth_a_note


@pytest.mark.parametrize(
    ("on", "version", "verdict"),
    [
        ("sm_100", "570.26", OK),
        ("sm_120", "565.57.01", FAIL),
        ("sm_103", "570.26", FAIL),
        ("sm_121", "575.51.03", OK),
        ("sm_110", "575.51.03", FAIL),
        ("sm_107", "610.43.02", FAIL),
        ("sm_107", "615.10.01", OK),
        ("sm_90", "535.54.03", OK),
        # above the tables
        ("sm_140", "615.10.01", FAIL),
        ("sm_140", "640.10.01", UNKNOWN),
    ],
)
@strikes("DRV-03")
def test_drv_03_a_driver_knows_the_gpus_of_its_time(
    on: str, version: str, verdict: Verdict
) -> None:
    subject = loading(image(ImageKind.PTX, "compute_50", isa="6.0"), on=on)
    assert judged("DRV-03", subject, driver(version)) is verdict


@pytest.mark.parametrize(
    ("on", "version", "verdict"),
    [
        ("sm_70", "580.159.04", OK),
        ("sm_70", "590.44.01", FAIL),
        ("sm_61", "590.44.01", FAIL),
        ("sm_52", "580.65.06", OK),
        ("sm_35", "470.82.01", OK),
        ("sm_35", "495.29.05", FAIL),
        ("sm_75", "615.10.01", OK),
    ],
)
@strikes("DRV-04")
def test_drv_04_newer_drivers_ignore_gpus_that_were_dropped(
    on: str, version: str, verdict: Verdict
) -> None:
    subject = loading(image(ImageKind.PTX, "compute_30", isa="6.0"), on=on)
    assert judged("DRV-04", subject, driver(version)) is verdict


@spares("DRV-03", "DRV-04")
def test_drv_03_and_04_ask_nothing_where_nothing_is_picked() -> None:
    subject = loading(image(ImageKind.SASS, "sm_80"), on="sm_90")
    assert not subject.picked
    assert not asked("DRV-03", subject)
    assert not asked("DRV-04", subject)


@pytest.mark.parametrize(
    ("version", "verdict"),
    [("550.54.14", OK), ("550.54.13", FAIL), ("535.104.05", FAIL), ("580.65.06", OK)],
)
@strikes("FB-01")
@spares("FB-01")
def test_fb_01_zstandard_needs_a_driver_of_12_4(version: str, verdict: Verdict) -> None:
    # the PTX of this object is compressed with Zstandard, the SASS is not
    images = sample("objects/nvcc-13.0-plain.o")
    assert judged("FB-01", loading(*images, on="sm_90"), driver(version)) is verdict
    assert judged("FB-01", loading(*images, on="sm_80"), driver(version)) is None


@pytest.mark.parametrize("kind", [ImageKind.SASS, ImageKind.PTX])
@pytest.mark.parametrize("cuda", ["11.8", "12.4", "13.0"])
def test_fb_01_a_frame_outside_of_a_fatbin_asks_what_the_code_in_it_asks(
    kind: ImageKind, cuda: str
) -> None:
    """No driver is given such a frame: libcublasLt 12.9 unpacks 3,000 of its own, on 525, too."""
    arch = "sm_80" if kind is ImageKind.SASS else "compute_80"
    bare = image(kind, arch, cuda, in_fatbin=False)
    frame = replace(bare, compression=Compression.ZSTD)
    assert requirements_of(loading(frame, on="sm_80", registered=False)) == requirements_of(
        loading(bare, on="sm_80", registered=False)
    )


@pytest.mark.parametrize(
    ("version", "verdict"),
    [("615.10.01", OK), ("610.43.02", UNKNOWN), ("580.159.04", FAIL), ("535.104.05", FAIL)],
)
@strikes("FB-03")
@spares("FB-03")
def test_fb_03_drivers_up_to_580_see_nothing_in_concatenated_entries(
    version: str, verdict: Verdict
) -> None:
    images = sample("broken/concat-count-lies.fatbin")
    assert judged("FB-03", loading(*images, on="sm_80"), driver(version)) is verdict
    plain = image(ImageKind.SASS, "sm_80", "13.4")
    assert judged("FB-03", loading(plain, on="sm_80"), driver(version)) is None


ANY = loading(image(ImageKind.SASS, "sm_90", "13.0"), on="sm_90")


@pytest.mark.parametrize(
    ("rule_id", "use", "verdict"),
    [
        ("CMP-01", compat("12.8", "535.54.03"), OK),
        ("CMP-01", compat("13.4", "610.43.02"), OK),
        ("CMP-01", compat("12.4", "525.60.13"), UNKNOWN),  # the table has no such base today
        ("CMP-01", compat("13.0", "550.54.14"), UNKNOWN),
        ("CMP-01", compat("13.0", None), UNKNOWN),
        ("CMP-01", compat("15.0", "580.65.06"), UNKNOWN),
        ("CMP-01", compat("13.0", "580.65.06"), OK),  # CMP-03 speaks
        ("CMP-02", compat("13.0", "535.54.03", data_center=True), OK),
        ("CMP-02", compat("13.0", "535.54.03", data_center=False), FAIL),
        ("CMP-02", compat("13.0", "535.54.03", data_center=None), UNKNOWN),
        # measured: 580.95.05 of cuda-compat over 580.159.04 gives 803
        ("CMP-03", compat("13.0", "580.159.04"), FAIL),
        ("CMP-03", compat("12.9", "580.65.06"), FAIL),
        ("CMP-03", compat("13.1", "580.65.06"), OK),
        ("CMP-03", compat("13.1", None), UNKNOWN),
        ("CMP-07", compat("13.1", "580.65.06"), OK),
        ("CMP-07", compat("13.1", "580.65.06", system="windows"), FAIL),
        ("CMP-07", compat("13.1", "580.65.06", system="wsl2"), FAIL),
    ],
)
@strikes("CMP-01", "CMP-02", "CMP-03", "CMP-07")
@spares("CMP-01", "CMP-02", "CMP-03", "CMP-07")
def test_cuda_compat(rule_id: str, use: CompatUse, verdict: Verdict) -> None:
    assert judged(rule_id, ANY, use) is verdict


_ON_LINUX = {
    row["linux"]
    for name in ("toolkit", "major")
    for row in table("drivers")[name]
    if "linux" in row
}


@pytest.mark.parametrize("system", ["windows", "wsl2", "linux"])
@pytest.mark.parametrize("version", ["441.22", "472.50", "512.15", "546.33", "560.94"])
@pytest.mark.parametrize(
    "code",
    [
        {"kind": ImageKind.SASS, "cuda": "11.8"},
        {"kind": ImageKind.SASS, "cuda": "12.9"},
        {
            "kind": ImageKind.SASS,
            "cuda": "12.9",
            "compression": Compression.ZSTD,
            "in_fatbin": True,
        },
        {"kind": ImageKind.SASS, "cuda": "13.5"},
        {"kind": ImageKind.PTX, "isa": "8.7"},
    ],
)
def test_a_finding_names_the_drivers_of_its_system(
    system: str, version: str, code: dict[str, Any]
) -> None:
    """NVIDIA's tables name both drivers of a toolkit; elsewhere, its branch is the same."""
    signature = ModuleSignature((image(arch="sm_80", has_kernels=True, **code),), registered=True)
    summary = ArtifactSummary("x", [ModuleGroup(signature, {}, 1, Location("x"))])
    (target,) = parse([f"os={system},driver={version},gpu=a100"])
    (result,) = ArtifactJudge(summary, Engine()).results(target)
    for finding in result.findings:
        named = set(re.findall(r"(?<=>= )[\d.]+", finding.message))
        assert not named & _ON_LINUX or system == "linux", finding.message
        for least in named - {"450"}:
            (other,) = parse([f"os={system},driver={least},gpu=a100"])
            (again,) = ArtifactJudge(summary, Engine()).results(other)
            assert finding.rule not in {f.rule for f in again.findings if f.verdict is FAIL}


def test_a_linux_driver_has_its_twin_on_windows() -> None:
    """CUDA 13.1 release notes, table 3; toolkits since 13.0 bring no driver for Windows."""
    assert windows_driver("550.54.14") == "551.61"
    assert windows_driver("525.60.13") == "528.33"
    assert windows_driver("580.65.06") == "R580"

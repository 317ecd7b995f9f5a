"""Rules about LTO-IR and its linkers."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from rule_cases import spares, strikes
from rules import ask, asked, driver, image, judged, linking, loading, noted, sample

from ltocompat.model.arch import Release
from ltocompat.model.image import ImageKind
from ltocompat.model.symbols import DeviceSymbols
from ltocompat.model.verdict import Verdict, worst
from ltocompat.rules.catalogue import requirements_of
from ltocompat.rules.prose import rule_prose
from ltocompat.rules.rule import Component, Link
from ltocompat.rules.selection import SelectionFailure

OK, UNDOCUMENTED, UNKNOWN = Verdict.OK, Verdict.UNDOCUMENTED, Verdict.UNKNOWN
FAIL = Verdict.FAIL
LTO = image(ImageKind.LTOIR, "lto_80", "12.9")


@pytest.mark.parametrize(
    ("name", "linker", "verdict"),
    [
        ("ltoir/nvrtc-12.8-lto_80.ltoir", "12.8", OK),
        ("ltoir/nvrtc-12.8-lto_80.ltoir", "12.6", FAIL),
        ("ltoir/nvrtc-12.8-lto_80.ltoir", "13.0", OK),
        # a container that 13.1 and 13.2 write
        ("fatbin-ltoir/nvfatbin-13.2-of-13.2-lto_80.fatbin", "13.0", FAIL),
        ("fatbin-ltoir/nvfatbin-13.2-of-13.2-lto_80.fatbin", "13.1", UNKNOWN),
        ("fatbin-ltoir/nvfatbin-13.2-of-13.2-lto_80.fatbin", "13.2", OK),
    ],
)
@strikes("LTO-01")
@spares("LTO-01")
def test_lto_01_a_linker_is_no_older_than_the_compiler(
    name: str, linker: str, verdict: Verdict
) -> None:
    assert judged("LTO-01", linking(*sample(name), on="sm_90"), Release.parse(linker)) is verdict


@pytest.mark.parametrize(
    ("name", "linker", "verdict"),
    [
        ("ltoir/nvrtc-12.8-lto_80.ltoir", "12.9", OK),
        ("ltoir/nvrtc-12.8-lto_80.ltoir", "13.0", UNDOCUMENTED),
        ("ltoir/nvrtc-11.8-lto_80.ltoir", "12.0", FAIL),
    ],
)
@strikes("LTO-02")
@spares("LTO-02")
def test_lto_02_only_one_major_is_promised(name: str, linker: str, verdict: Verdict) -> None:
    assert judged("LTO-02", linking(*sample(name), on="sm_90"), Release.parse(linker)) is verdict


@pytest.mark.parametrize(
    ("code", "target", "verdict"),
    [
        ("lto_90a", "sm_90a", None),
        ("lto_90a", "sm_90", UNKNOWN),
        ("lto_90a", "sm_100a", UNKNOWN),
        ("lto_100f", "sm_103", UNKNOWN),
        ("lto_100f", "sm_103f", None),
        ("lto_100f", "sm_100a", None),
        ("lto_100f", "sm_120", UNKNOWN),
        ("lto_80", "sm_120", None),
    ],
)
@strikes("LTO-04")
@spares("LTO-04")
def test_lto_04_with_a_suffix_a_trial_decides(
    code: str, target: str, verdict: Verdict | None
) -> None:
    # LTO-IR that stands alone: nothing is picked by its name
    alone = image(ImageKind.LTOIR, code, "13.0", in_fatbin=False)
    subject = linking(alone, on=target, linker="13.5")
    assert judged("LTO-04", subject) is verdict
    # who asks a linker is said where nobody asked one
    assert not any("--trial" in requirement.remedy for requirement in requirements_of(subject))


def test_lto_14_takes_the_entry_of_a_fatbin_away_before_lto_04_speaks() -> None:
    images = sample("fatbin-ltoir/nvfatbin-13.0-of-13.0-lto_120a-none.fatbin")
    new = linking(*images, on="sm_120", linker="13.0")
    assert new.missed is SelectionFailure.NOT_FOR_GPU
    assert judged("LTO-04", new) is None
    assert judged("LTO-04", linking(*images, on="sm_120a", linker="13.0")) is None
    # before 13.0 the suffix made no difference to what is picked
    assert judged("LTO-04", linking(*images, on="sm_120", linker="12.9")) is UNKNOWN


@spares("LTO-05")
def test_lto_05_the_driver_does_not_link() -> None:
    images = sample("objects/nvcc-13.5-lto.o")
    assert judged("LTO-05", loading(*images, on="sm_90")) is FAIL
    assert judged("LTO-05", linking(*images, on="sm_90")) is None
    (found,) = asked("LTO-05", loading(*images, on="sm_90"))
    remedy = rule_prose(found.rule).finding_remedy
    assert "nvJitLink" in remedy
    assert "nvcc -dlto" in remedy
    beside = sample("objects/nvcc-13.5-lto+sass.o")
    assert judged("LTO-05", loading(*beside, on="sm_80")) is None
    assert judged("LTO-05", loading(*beside, on="sm_90")) is None  # SASS-06 speaks


@pytest.mark.parametrize(
    ("name", "on", "with_lto"),
    [
        ("objects/nvcc-13.5-lto+sass.o", "sm_80", True),
        ("cubin/nvrtc-13.5-sm_80-rdc.cubin", "sm_80", False),
        ("ptx/nvrtc-13.0-compute_80.ptx", "sm_90", False),
    ],
)
@strikes("LTO-06", "LTO-07")
@spares("LTO-06", "LTO-07")
def test_lto_06_and_07_say_whether_the_link_has_the_option(
    name: str, on: str, with_lto: bool
) -> None:
    subject = linking(*sample(name), on=on)
    found = [*asked("LTO-06", subject), *asked("LTO-07", subject)]
    assert [requirement.rule for requirement in found] == ["LTO-06" if with_lto else "LTO-07"]
    assert found[0].component is Component.OPTIONS
    assert found[0].constraint.judge(None) is OK
    assert not [*asked("LTO-06", loading(*sample(name), on=on))]


@strikes("LTO-09")
@spares("LTO-09")
def test_lto_09_ltoir_of_11_is_for_the_linker_of_a_driver() -> None:
    old = linking(*sample("ltoir/nvrtc-11.8-lto_80.ltoir"), on="sm_80")
    assert noted("LTO-09", old)
    assert judged("LTO-02", old, Release(13, 0)) is FAIL
    assert not asked("LTO-09", linking(LTO, on="sm_80"))


@pytest.mark.parametrize(
    ("linker", "version", "verdict"),
    [
        ("12.9", "525.60.13", OK),
        ("13.0", "575.57.08", FAIL),
        ("13.5", "580.65.06", OK),
        ("14.0", "615.10.01", UNKNOWN),
    ],
)
@strikes("LTO-10b")
@spares("LTO-10b")
def test_lto_10b_what_a_linker_makes_is_of_its_own_major(
    linker: str, version: str, verdict: Verdict
) -> None:
    assert judged("LTO-10b", linking(LTO, on="sm_90", linker=linker), driver(version)) is verdict
    assert judged("LTO-10b", linking(LTO, on="sm_90")) is None


@strikes("LTO-11")
@spares("LTO-11")
def test_lto_11_notes_debug_information() -> None:
    assert noted("LTO-11", linking(replace(LTO, debug=True), on="sm_80"))
    for debug in (False, None):
        assert not asked("LTO-11", linking(replace(LTO, debug=debug), on="sm_80"))


@pytest.mark.parametrize(
    ("target", "linker", "verdict"),
    [
        ("sm_70", "12.9", OK),
        ("sm_70", "13.0", FAIL),
        ("sm_100", "12.8", OK),
        ("sm_100", "12.6", FAIL),
        ("sm_110", "12.9", FAIL),
        ("sm_110", "13.0", OK),
        ("sm_107", "13.4", OK),
    ],
)
@strikes("LTO-15")
@spares("LTO-15")
def test_lto_15_a_linker_makes_code_for_the_architectures_in_its_list(
    target: str, linker: str, verdict: Verdict
) -> None:
    low = image(ImageKind.LTOIR, "lto_50", "12.0")
    assert judged("LTO-15", linking(low, on=target), Release.parse(linker)) is verdict


@pytest.mark.parametrize("target", ["sm_35", "sm_37", "sm_52", "sm_75", "sm_107"])
@pytest.mark.parametrize("release", ["11.2", "11.4", "11.7", "11.8"])
def test_lto_15_spares_code_that_only_a_drivers_own_linker_links(release: str, target: str) -> None:
    """As that of cuSPARSE 11.7.5 on a K80: LTO-02 says that no nvJitLink links it."""
    old = image(ImageKind.LTOIR, "lto_35", release)
    assert not asked("LTO-15", linking(old, on=target))
    assert asked("LTO-02", linking(old, on=target))


@pytest.mark.parametrize(
    ("name", "linker", "verdict"),
    [
        # LTO-IR of 12.4 in an entry that 13.5 compressed
        ("fatbin-ltoir/nvfatbin-13.5-of-12.4-lto_80.fatbin", "12.3", FAIL),
        ("fatbin-ltoir/nvfatbin-13.5-of-12.4-lto_80.fatbin", "12.4", OK),
        ("objects/bin2c.o", "12.3", FAIL),  # LZ4
        ("fatbin-ltoir/nvfatbin-13.5-of-13.5-lto_80-none.fatbin", "12.0", None),
        ("ltoir/nvrtc-12.8-lto_80.ltoir", "12.0", None),
    ],
)
@strikes("FB-02")
@spares("FB-02")
def test_fb_02_old_linkers_do_not_unpack_what_newer_tools_compress(
    name: str, linker: str, verdict: Verdict | None
) -> None:
    assert judged("FB-02", linking(*sample(name), on="sm_90"), Release.parse(linker)) is verdict


HELPER = DeviceSymbols(defined=("helper",))
SECOND = DeviceSymbols(defined=("second",), kernels=("second",))
USER = DeviceSymbols(("helper",), ("helper",), defined=("user",), kernels=("user",))


@pytest.mark.parametrize(
    ("beside", "verdict"),
    [
        ([HELPER], OK),  # nothing is lost, whether the LTO-IR calls it or not
        ([SECOND], FAIL),  # left out: rc 0, and no such kernel in what comes out
        ([USER], OK),  # it calls the LTO-IR, so that all of it is linked
        ([HELPER, SECOND], UNKNOWN),  # all is linked where LTO-IR calls helper, else nothing
        ([USER, HELPER], UNKNOWN),
        ([None], UNKNOWN),
    ],
)
@pytest.mark.parametrize("kind", [ImageKind.PTX, ImageKind.SASS])
def test_lto_08_the_first_nvjitlink_drops_kernels_beside_lto_ir_that_calls_none_of_it(
    beside: list[DeviceSymbols | None], verdict: Verdict, kind: ImageKind
) -> None:
    """Fourteen links by nvJitLink 12.0, and the same by 12.2 and 12.4, which take all."""
    others = [image(kind, "90", "12.0", symbols=symbols) for symbols in beside]
    images = {LTO: 1, **dict.fromkeys(others, 1)}
    for release, expected in (("12.0", verdict), ("12.1", OK)):
        linker = Release.parse(release)
        link = Link(tuple(images.items()), (), None, linker, offline=False, certain=True)
        asked_of_it = [each for each in ask("LTO-08", link) if each.component is Component.LINKER]
        assert worst((OK, *(each.constraint.judge(linker) for each in asked_of_it))) is expected

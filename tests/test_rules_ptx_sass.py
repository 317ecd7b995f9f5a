"""Rules about PTX and SASS: what is picked, and what it needs then."""

from __future__ import annotations

from pathlib import Path

import pytest
from every_case import every
from fatbin_writer import KINDS, EntrySpec, entry, region
from msgspec.structs import replace
from newest import NEWEST_PTX, NEXT, NEXT_PTX
from rule_cases import spares, strikes
from rules import asked, driver, gpu, image, judged, linking, loading, sample
from samples import FOLDER

import ltocompat
from ltocompat.facts.gpus import sms
from ltocompat.facts.toolkits import ptx_cuda
from ltocompat.model.arch import Release, SmArch
from ltocompat.model.image import ImageKind
from ltocompat.model.signature import ImageSignature, ModuleSignature
from ltocompat.model.symbols import DeviceSymbols
from ltocompat.model.verdict import Route, Verdict
from ltocompat.rules.catalogue import rules_about
from ltocompat.rules.link_selection import pick_for_linker
from ltocompat.rules.rule import Component
from ltocompat.rules.selection import compiles, runs

OK, JIT, UNDOCUMENTED = Verdict.OK, Verdict.JIT, Verdict.UNDOCUMENTED
UNKNOWN, FAIL = Verdict.UNKNOWN, Verdict.FAIL
NUMBERS = [*(sm.number for sm in sms()), 130]
CODES = [f"{number}{suffix}" for number in NUMBERS for suffix in ("", "a", "f")]


def excluded(traits: ImageSignature, on: str, route: Route) -> dict[str, str]:
    """The rules that keep an image from a GPU, and the clause of each."""
    rules = [rule for rule in rules_about("ImageSignature") if rule.kind is traits.kind]
    table = {rule.id: rule.function(traits, gpu(on), route) for rule in rules}
    return {rule_id: clause for rule_id, clause in table.items() if clause is not None}


@every("code", CODES)
@spares("PTX-03", "PTX-04", "PTX-05", "SASS-01", "SASS-03", "SASS-04")
def test_one_rule_of_selection_speaks_exactly_where_the_driver_does_not_pick(code: str) -> None:
    for number in NUMBERS:
        sass = excluded(image(ImageKind.SASS, code), f"sm_{number}", Route.LOAD)
        assert len(sass) == (not runs(SmArch.parse(code), number)), (code, number)
        ptx = excluded(image(ImageKind.PTX, code), f"sm_{number}", Route.LOAD)
        assert len(ptx) == (not compiles(SmArch.parse(code), number)), (code, number)


@pytest.mark.parametrize("kind", [ImageKind.SASS, ImageKind.PTX, ImageKind.LTOIR])
@pytest.mark.parametrize("in_fatbin", [True, False])
def test_one_rule_of_selection_speaks_exactly_where_a_linker_does_not_pick(
    kind: ImageKind, in_fatbin: bool
) -> None:
    newest = Release(13, 5)
    for code in CODES:
        traits = image(kind, code, in_fatbin=in_fatbin)
        for target in CODES:
            picked = pick_for_linker(
                ModuleSignature((traits,), None), SmArch.parse(target), newest
            ).images
            table = excluded(traits, f"sm_{target}", Route.LINK)
            assert len(table) == (not picked), (code, target, table)


@pytest.mark.parametrize(
    ("kind", "code", "on", "rule_id", "clause"),
    [
        (ImageKind.SASS, "90a", "sm_100", "SASS-03", "is for sm_90 only"),
        (
            ImageKind.SASS,
            "86",
            "sm_80",
            "SASS-01",
            "runs only on compute capability 8.6 or a higher 8.x",
        ),
        (ImageKind.SASS, "90", "sm_120", "SASS-01", "runs only on compute capability 9.0"),
        (ImageKind.SASS, "60", "sm_62", "SASS-02", "is for discrete GPUs"),
        (ImageKind.SASS, "86", "sm_87", "SASS-02", "is for discrete GPUs"),
        (ImageKind.SASS, "100f", "sm_120", "SASS-04", "sm_100, sm_103 and sm_107 only"),
        (ImageKind.PTX, "90a", "sm_100", "PTX-04", "is for sm_90 only"),
        (ImageKind.PTX, "90", "sm_80", "PTX-03", "is for sm_90 and newer"),
        (ImageKind.PTX, "121f", "sm_120", "PTX-05", "is for sm_121 only"),
        (ImageKind.PTX, "103f", "sm_100", "PTX-05", "sm_103 and sm_107 only"),
    ],
)
@strikes("PTX-03", "PTX-04", "PTX-05", "SASS-01", "SASS-03", "SASS-04")
def test_a_rule_of_selection_says_whom_code_is_for(
    kind: ImageKind, code: str, on: str, rule_id: str, clause: str
) -> None:
    table = excluded(image(kind, code), on, Route.LOAD)
    assert list(table) == [rule_id]
    assert clause in table[rule_id]


def test_sass_05_takes_sm_101_and_sm_110_for_one() -> None:
    for code, on in (("sm_101", "sm_110"), ("sm_110", "sm_101"), ("sm_101a", "sm_110")):
        assert not excluded(image(ImageKind.SASS, code), on, Route.LOAD)


@pytest.mark.parametrize(
    ("name", "version", "verdict"),
    [
        # measured on driver 580.159.04: 9.0 loads, 9.1 and newer give error 222
        ("ptx/nvrtc-13.0-compute_80.ptx", "580.159.04", OK),
        ("ptx/nvrtc-13.5-compute_80.ptx", "580.159.04", FAIL),
        ("ptx/nvrtc-12.6-compute_80.ptx", "555.42.02", OK),  # ISA 8.5, whoever wrote it
        ("ptx/nvrtc-12.4-compute_80.ptx", "550.54.14", OK),
        ("ptx/nvrtc-12.4-compute_80.ptx", "545.23.06", FAIL),
        ("ptx/hand-written-compute_75.ptx", "520.61.05", OK),
        # No driver of CUDA 13.5 or newer may be in the tables yet: "99.0" below is as it then is.
        ("ptx/nvrtc-13.5-compute_80.ptx", "615.10.01", FAIL),
    ],
)
@strikes("PTX-01")
@spares("PTX-01")
def test_ptx_01_a_driver_compiles_ptx_up_to_its_own_release(
    name: str, version: str, verdict: Verdict
) -> None:
    assert judged("PTX-01", loading(*sample(name), on="sm_90"), driver(version)) is verdict


@pytest.mark.parametrize(
    ("isa", "version", "verdict"),
    [
        ("99.0", "615.10.01", FAIL),
        ("99.0", "999.10.01", UNKNOWN),
        ("8.9", "615.10.01", UNKNOWN),  # there is none
        ("8.9", "575.51.03", FAIL),  # CUDA 12.9 reads 8.8 at most
        ("8.9", "580.65.06", UNKNOWN),
        (None, "615.10.01", UNKNOWN),
        ("1.4", "450.51.05", OK),
    ],
)
def test_ptx_01_orders_what_is_above_the_tables(
    isa: str | None, version: str, verdict: Verdict
) -> None:
    subject = loading(image(ImageKind.PTX, "compute_80", isa=isa), on="sm_90")
    assert judged("PTX-01", subject, driver(version)) is verdict


@pytest.mark.parametrize(
    ("isa", "linker", "verdict"),
    [
        ("8.4", "12.4", OK),
        ("8.4", "12.3", FAIL),
        ("8.8", "13.0", OK),  # across majors
        ("9.0", "12.9", FAIL),
        (NEXT_PTX, str(ptx_cuda(NEWEST_PTX)), FAIL),
        (NEXT_PTX, str(NEXT), UNKNOWN),
        (None, "13.5", UNKNOWN),
    ],
)
@strikes("PTX-02")
@spares("PTX-02")
def test_ptx_02_a_linker_compiles_ptx_up_to_its_own_release(
    isa: str | None, linker: str, verdict: Verdict
) -> None:
    subject = linking(image(ImageKind.PTX, "compute_80", isa=isa), on="sm_90")
    assert judged("PTX-02", subject, Release.parse(linker)) is verdict
    assert judged("PTX-01", subject) is None


@strikes("PTX-06")
@spares("PTX-06")
def test_ptx_06_without_sass_the_driver_compiles() -> None:
    images = sample("objects/nvcc-13.0-plain.o")
    (found,) = asked("PTX-06", loading(*images, on="sm_90"))
    assert found.constraint.judge(None) is JIT
    assert found.component is Component.NONE
    assert not asked("PTX-06", loading(*images, on="sm_86"))


@pytest.mark.parametrize(
    ("code", "on", "verdict"),
    [
        ("sm_80", "sm_87", None),  # not picked: no code for that GPU
        ("sm_87", "sm_88", UNDOCUMENTED),
        ("sm_87", "sm_87", None),
        ("sm_80", "sm_86", None),
        ("sm_101", "sm_110", None),
    ],
)
@strikes("SASS-02")
@spares("SASS-02")
def test_sass_02_nothing_is_promised_between_two_orins(
    code: str, on: str, verdict: Verdict | None
) -> None:
    assert judged("SASS-02", loading(image(ImageKind.SASS, code), on=on)) is verdict


@spares("SASS-08")
def test_sass_08_a_relocatable_cubin_is_loaded_but_its_calls_may_miss() -> None:
    images = sample("cubin/nvrtc-13.5-sm_80-rdc.cubin")
    for registered in (None, False):
        assert judged("SASS-08", loading(*images, on="sm_80", registered=registered)) is UNKNOWN
    assert judged("SASS-08", loading(*images, on="sm_80", registered=True)) is None
    finished = sample("cubin/nvrtc-13.5-sm_80.cubin")
    assert judged("SASS-08", loading(*finished, on="sm_80", registered=None)) is None


@pytest.mark.parametrize(
    ("symbols", "kernels", "verdict"),
    [
        # measured on driver 580.159.04: 500, lazily at cuFuncLoad and eagerly at once
        (DeviceSymbols(("f",), needed_by_kernels=("f",)), True, FAIL),
        (DeviceSymbols(("f",)), True, UNKNOWN),
        (DeviceSymbols(undefined_variables=("v",)), True, UNKNOWN),
        (DeviceSymbols(), True, UNDOCUMENTED),
        # measured: 0 lazily, 200 eagerly
        (DeviceSymbols(), False, UNKNOWN),
        (None, True, UNKNOWN),
    ],
)
@strikes("SASS-08")
def test_sass_08_what_a_relocatable_cubin_leaves_undefined_decides(
    symbols: DeviceSymbols | None, *, kernels: bool, verdict: Verdict
) -> None:
    (cubin,) = sample("cubin/nvrtc-13.5-sm_80-rdc.cubin")
    cubin = replace(cubin, symbols=symbols, has_kernels=kernels)
    assert judged("SASS-08", loading(cubin, on="sm_80", registered=None)) is verdict


def ptx_that_leaves(*functions: str) -> ImageSignature:
    return image(ImageKind.PTX, "80", isa="8.0", symbols=DeviceSymbols(functions))


@strikes("PTX-09")
def test_ptx_09_a_function_that_nothing_defines_is_refused() -> None:
    subject = loading(ptx_that_leaves("f", "g"), on="sm_90", registered=None)
    (found,) = asked("PTX-09", subject)
    assert found.constraint.judge(None) is FAIL
    assert "definition: lazy and eager loading both fail with error 218" in found.consequence
    # measured: 500 for relocatable PTX of an object, whose dead code is left out
    dead = loading(replace(ptx_that_leaves("f"), relocatable=True), on="sm_90", registered=None)
    assert judged("PTX-09", dead) is UNKNOWN
    called = DeviceSymbols(("f",), needed_by_kernels=("f",))
    alive = replace(image(ImageKind.PTX, "80"), relocatable=True, symbols=called)
    assert judged("PTX-09", loading(alive, on="sm_90", registered=None)) is FAIL


@spares("PTX-09")
def test_ptx_09_spares_what_the_driver_provides_or_links() -> None:
    assert judged("PTX-09", loading(ptx_that_leaves(), on="sm_90")) is None
    assert judged("PTX-09", loading(image(ImageKind.PTX, "80"), on="sm_90")) is None
    assert (
        judged("PTX-09", loading(replace(ptx_that_leaves("f"), prelinked=True), on="sm_90")) is None
    )
    assert judged("PTX-09", linking(ptx_that_leaves("f"), on="sm_90")) is None


# measured: nvJitLink 12.0 to 13.5 and ptxas 13.0, "PTX .version 7.0 does not support .target sm_86"
# The first six: ptxas 13.5 and driver 580.159.04 on an H200; cuDNN 7 for CUDA 8 has PTX for sm_20.
BEGINS = {
    "10": "1.0",
    "11": "1.0",
    "12": "1.2",
    "13": "1.2",
    "20": "2.0",
    "21": "2.0",
    "75": "6.3",
    "80": "7.0",
    "86": "7.1",
    "90": "7.8",
    "100": "8.6",
    "103": "8.8",
    "120": "8.7",
}


@every("number", BEGINS)
@strikes("PTX-10")
def test_ptx_10_a_version_below_that_of_the_target_is_refused(number: str) -> None:
    major, minor = map(int, BEGINS[number].split("."))
    older = image(ImageKind.PTX, number, isa=f"{major - (not minor)}.{minor - 1 if minor else 8}")
    on = f"sm_{max(int(number), 75)}"
    assert judged("PTX-10", loading(older, on=on)) is FAIL
    assert judged("PTX-10", linking(older, on=on)) is FAIL
    unheard = image(ImageKind.PTX, "76", isa="9.0")
    assert judged("PTX-10", linking(unheard, on="sm_80")) is UNKNOWN


@pytest.mark.parametrize(
    ("number", "isa", "verdict"),
    [("10", "4.1", None), ("13", "4.2", UNKNOWN), ("21", "5.0", None), ("20", "8.4", UNKNOWN)],
)
@strikes("PTX-10")
def test_ptx_10_no_compiler_writes_a_dropped_target(
    number: str, isa: str, verdict: Verdict | None
) -> None:
    """nvJitLink 13.4 refuses PTX 8.4 for sm_10 by an instruction that needs sm_20 (measured)."""
    assert judged("PTX-10", linking(image(ImageKind.PTX, number, isa=isa), on="sm_90")) is verdict


@every("number", BEGINS)
@spares("PTX-10")
def test_ptx_10_spares_the_first_version_of_every_target(number: str) -> None:
    first = image(ImageKind.PTX, number, isa=BEGINS[number])
    on = f"sm_{max(int(number), 75)}"
    assert judged("PTX-10", loading(first, on=on)) is None
    old = BEGINS[number] < "3.1"  # all nvJitLinks: 'Compile only(-c)' requires PTX ISA 3.1
    assert judged("PTX-10", linking(first, on=on)) is (FAIL if old else None)
    least = image(ImageKind.PTX, number, isa=max("3.1", BEGINS[number]))
    assert judged("PTX-10", linking(least, on=on)) is None


@pytest.mark.parametrize(
    ("name", "on", "linker", "verdict"),
    [
        ("cubin/nvrtc-12.4-sm_80-rdc.cubin", "sm_80", "12.4", OK),
        ("cubin/nvrtc-12.4-sm_80-rdc.cubin", "sm_80", "13.5", OK),
        ("cubin/nvrtc-12.4-sm_80-rdc.cubin", "sm_80", "12.3", FAIL),
        # measured: 12.5 to 12.9 take cubins of 13.x before sm_100, 12.0 to 12.4 don't
        ("cubin/nvrtc-13.5-sm_80-rdc.cubin", "sm_80", "13.4", FAIL),
        ("cubin/nvrtc-13.5-sm_80-rdc.cubin", "sm_80", "12.9", UNDOCUMENTED),
        ("cubin/nvrtc-13.5-sm_80-rdc.cubin", "sm_80", "12.5", UNDOCUMENTED),
        ("cubin/nvrtc-13.5-sm_80-rdc.cubin", "sm_80", "12.4", FAIL),
        ("cubin/nvrtc-13.5-sm_100.cubin", "sm_100", "12.9", FAIL),
        ("cubin/nvrtc-12.9-sm_100.cubin", "sm_100", "12.8", FAIL),
    ],
)
@strikes("BLD-02")
@spares("BLD-02")
def test_bld_02_a_linker_takes_sass_up_to_its_own_release(
    name: str, on: str, linker: str, verdict: Verdict
) -> None:
    objects = [replace(image, relocatable=True) for image in sample(name)]
    assert judged("BLD-02", linking(*objects, on=on), Release.parse(linker)) is verdict


@pytest.mark.parametrize("cuda", ["13.0", "13.2", "13.5"])
@pytest.mark.parametrize("arch", ["100", "103", "103a", "110", "120", "120f", "121"])
def test_bld_02_one_old_linker_takes_code_for_gpus_that_were_new_to_it(
    arch: str, cuda: str
) -> None:
    """measured: kernels with functions, globals, printf or alone, by nvcc -cubin -rdc=true."""
    cubin = image(ImageKind.SASS, arch, cuda, generation=2, relocatable=True, has_kernels=True)
    taken = cuda == "13.5" and arch.startswith(("103", "121"))
    found = judged("BLD-02", linking(cubin, on=f"sm_{arch}"), Release(12, 9))
    assert found is (UNKNOWN if taken else FAIL)


@pytest.mark.parametrize(("arch", "target"), [("100", "sm_103"), ("120", "sm_121")])
@pytest.mark.parametrize("cuda", ["12.9", "13.0", "13.5"])
@pytest.mark.parametrize("listed", [False, True])
def test_bld_02_nvlink_takes_a_family_that_nvjitlink_refuses(
    arch: str, target: str, cuda: str, *, listed: bool
) -> None:
    """measured: cubins of ptxas 12.9 and nvcc 13.x in fatbins, with nvlink 13.0 and 13.5."""
    cubin = image(ImageKind.SASS, arch, cuda, relocatable=True, lists_family=listed)
    subject = linking(cubin, on=target, linker="13.5")
    for offline, verdict in ((False, OK if listed else FAIL), (True, OK)):
        found = asked("BLD-02", replace(subject, offline=offline))
        assert max(each.constraint.judge(Release(13, 5)) for each in found) is verdict


@pytest.mark.parametrize("linker", ["12.0", "12.4", "12.9"])
@pytest.mark.parametrize(
    ("writer", "verdict"),
    # measured on cubins in CUPTI 12.8.90: these linkers die on the first three
    [("7.5", UNKNOWN), ("9.0", UNKNOWN), ("9.2", UNKNOWN), ("11.1", OK)],
)
def test_bld_02_sass_from_before_the_linkers_time_is_nothing_to_rely_on(
    writer: str, verdict: Verdict, linker: str
) -> None:
    (found,) = sample("cubin/nvrtc-12.4-sm_80-rdc.cubin")
    makers = tuple(replace(maker, releases=(Release.parse(writer),)) for maker in found.made_by)
    old = replace(found, relocatable=True, made_by=makers)
    assert judged("BLD-02", linking(old, on="sm_80"), Release.parse(linker)) is verdict


@pytest.mark.parametrize("version", [(0, 0), (1, 0), (7, 0), (8, 4), (99, 9)])
@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_the_version_inside_a_ptx_counts_and_not_that_of_its_entry(
    version: tuple[int, int], compression: str, tmp_path: Path
) -> None:
    # nvJitLink 12.9 and 13.5 linked each of them: they read the text.
    ptx = (FOLDER / "ptx" / "nvrtc-12.4-compute_80.ptx").read_bytes() + b"\0"
    spec = EntrySpec(KINDS["ptx"], ptx, sm=80, version=version, compression=compression)
    path = tmp_path / "x.fatbin"
    path.write_bytes(region([entry(spec)]))
    linker = "nvjitlink=12.9,gpu=h100"
    (result,) = ltocompat.check(path, linker, route="link")
    lies = {"IMG-01"} if version != (8, 4) else set()
    assert {f.rule for f in result.findings if f.verdict > Verdict.JIT} == lies
    assert result.verdict is (Verdict.UNKNOWN if lies else Verdict.OK)


# PTX-11 and FB-06: each line was asked of the real linker.
@pytest.mark.parametrize(
    ("entries", "on", "linker"),
    [
        (["80", "90a"], "sm_90", "12.9"),
        (["80", "90a"], "sm_100", "12.8"),
        (["80", "100f"], "sm_120", "12.9"),
        (["75", "101a"], "sm_120a", "13.2"),
    ],
)
@strikes("PTX-11")
def test_ptx_11_what_is_picked_by_its_number_alone_is_refused(
    entries: list[str], on: str, linker: str
) -> None:
    ptx = [image(ImageKind.PTX, arch, isa="8.8") for arch in entries]
    assert judged("PTX-11", linking(*ptx, on=on, linker=linker)) is FAIL


@pytest.mark.parametrize(
    ("entries", "on", "linker"),
    [
        (["80", "90a"], "sm_90a", "12.9"),
        (["80", "90a"], "sm_89", "12.9"),
        (["80", "90a"], "sm_100", "13.0"),
        (["80", "100f"], "sm_103", "12.9"),
        (["75", "101a"], "sm_120a", "13.1"),
    ],
)
@spares("PTX-11")
def test_ptx_11_spares_what_the_suffix_is_for(entries: list[str], on: str, linker: str) -> None:
    ptx = [image(ImageKind.PTX, arch, isa="8.8") for arch in entries]
    assert judged("PTX-11", linking(*ptx, on=on, linker=linker)) is None


def refused_by(tmp_path: Path, specs: list[EntrySpec], target: str) -> set[str]:
    """The rules that fail a link of one fatbin."""
    path = tmp_path / "code.fatbin"
    path.write_bytes(region([entry(spec) for spec in specs]))
    (result,) = ltocompat.check(path, [target], route="link", cache=False)
    return {finding.rule for finding in result.findings if finding.verdict is FAIL}


@pytest.mark.parametrize("linker", ["12.0", "12.9", "13.1"])
@strikes("FB-06")
def test_fb_06_linkers_take_fewer_pairs_of_sass_than_gpus_run(tmp_path: Path, linker: str) -> None:
    cubin = (FOLDER / "cubin/nvrtc-12.4-sm_80-rdc.cubin").read_bytes()
    spec = EntrySpec(KINDS["sass"], cubin, sm=80)
    assert "FB-06" in refused_by(tmp_path, [spec], f"nvjitlink={linker},gpu=sm_87")


@pytest.mark.parametrize(("on", "linker"), [("87", "13.2"), ("86", "13.0"), ("86", "12.9")])
@spares("FB-06")
def test_fb_06_spares_a_linker_that_takes_them(tmp_path: Path, on: str, linker: str) -> None:
    cubin = (FOLDER / "cubin/nvrtc-12.4-sm_80-rdc.cubin").read_bytes()
    spec = EntrySpec(KINDS["sass"], cubin, sm=80)
    assert not refused_by(tmp_path, [spec], f"nvjitlink={linker},gpu=sm_{on}")


def test_fb_06_names_every_release_that_takes_the_code(tmp_path: Path) -> None:
    ptx = ".version 8.6\n.target sm_101\n.address_size 64\n.visible .entry k() { ret; }\n"
    spec = EntrySpec(KINDS["ptx"], ptx.encode(), sm=101, version=(8, 6), options=" ")
    for linker in ("13.0", "13.1"):
        target = f"nvjitlink={linker},gpu=sm_120"
        assert refused_by(tmp_path, [spec], target) == {"FB-06"}
    (result,) = ltocompat.check(
        tmp_path / "code.fatbin", ["nvjitlink=13.0,gpu=sm_120"], route="link", cache=False
    )
    (message,) = [f.message for f in result.findings if f.rule == "FB-06"]
    assert "needs nvJitLink 12.8 to 12.9 or >= 13.2; the target has 13.0" in message
    for linker in ("12.8", "13.2", "13.5"):
        assert not refused_by(tmp_path, [spec], f"nvjitlink={linker},gpu=sm_120")


@pytest.mark.parametrize(
    ("linker", "alone", "beside_ptx"),
    [("12.4", False, False), ("12.5", False, True), ("13.1", False, True), ("13.2", True, True)],
)
def test_fb_06_what_lies_in_concatenated_entries_is_seen_by_newer_linkers(
    linker: str, *, alone: bool, beside_ptx: bool
) -> None:
    inside = image(ImageKind.SASS, "90", relocatable=True, concatenated=True)
    beside = image(ImageKind.PTX, "80", isa="7.0")
    target, release = SmArch.parse("sm_90"), Release.parse(linker)
    for images, expected in (((inside,), alone), ((inside, beside), beside_ptx)):
        pick = pick_for_linker(ModuleSignature(images, None), target, release)
        assert bool(pick.images) is expected


@every(
    "linker, target, wanted",
    [
        ("13.0", "sm_100", Verdict.UNDOCUMENTED),
        ("13.0", "sm_100a", None),
        ("13.0", "sm_103", Verdict.FAIL),
        ("13.0", "sm_103a", Verdict.FAIL),
        *(
            (linker, target, wanted)
            for linker in ("13.1", "13.2", "13.3", "13.4", "13.5")
            for target, wanted in (
                ("sm_100", Verdict.FAIL),
                ("sm_100a", None),
                ("sm_103", Verdict.FAIL),
                ("sm_103a", Verdict.UNDOCUMENTED),
            )
        ),
    ],
)
def test_sass_03_a_linker_picks_by_the_entry_and_then_looks_at_the_cubin(
    linker: str, target: str, wanted: Verdict | None
) -> None:
    entry = SmArch.parse("sm_100")
    traits = {"relocatable": True, "lists_family": True, "entry_arch": entry}
    code = image(ImageKind.SASS, "sm_100a", "13.0", **traits)
    assert judged("SASS-03", linking(code, on=target, linker=linker)) == wanted

"""What serves nothing, can't be checked or is damaged is never a silent ``ok``.

What the real tools say stands beside each law (driver 580.159.04; nvJitLink 12.0 to 13.5).
"""

from __future__ import annotations

import contextlib
import io
import json
import struct
import tempfile
import zipfile
from pathlib import Path

import fatbin_writer as writer
from fatbin_writer import KINDS, EntrySpec, entry, hollow, region
from generated_artifacts import GROUPS
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rules import image
from samples import FOLDER

import ltocompat
from ltocompat.cli import run
from ltocompat.facts import drivers, toolkits
from ltocompat.facts.gpus import find_gpu
from ltocompat.files.images import ptx
from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup
from ltocompat.model.image import HostBinary, ImageKind, PtxText
from ltocompat.model.limits import Budget
from ltocompat.model.location import Location
from ltocompat.model.signature import ModuleSignature
from ltocompat.model.target import Quantifier, Target, VersionSet
from ltocompat.model.verdict import Result, Route, Verdict
from ltocompat.rules.engine.judge_artifact import results
from ltocompat.rules.engine.routes import routes
from ltocompat.targets import parse

DATA = Path(__file__).parent.parent / "data"


MODULES = [group for group in GROUPS if Route.LOAD in routes(group.signature)]
"""The modules of the samples that can be loaded, one of each sort."""
GPUS = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_110", "sm_120")
TARGETS = st.builds(
    lambda branch, gpu: Target(
        name="made up",
        driver=VersionSet(
            str(branch), (drivers.first_production(branch),), Quantifier.ALL, "made up"
        ),
        gpus=(find_gpu(gpu),),
    ),
    st.sampled_from(drivers.driver_branches()),
    st.sampled_from(GPUS),
)


def with_kernels(group: ModuleGroup, kernels: bool | None) -> ModuleGroup:
    images = tuple(replace(each, has_kernels=kernels) for each in group.signature.images)
    return replace(group, signature=replace(group.signature, images=images))


def placed(group: ModuleGroup, where: str) -> ModuleGroup:
    """A module that was named itself, that lies in a package, or that the runtime registers."""
    registered = where == "registered" or None
    signature = ModuleSignature(group.signature.images, registered)
    return replace(group, signature=signature, inner=where == "in a package")


def judged(groups: list[ModuleGroup], target: Target) -> Result:
    (result,) = results(ArtifactSummary("made up", groups), target, Route.LOAD)
    return result


PLACES = st.sampled_from(["named", "in a package", "registered"])
ARTIFACTS = st.lists(
    st.builds(
        with_kernels,
        st.builds(placed, st.sampled_from(MODULES), PLACES),
        st.sampled_from([None, True, False]),
    ),
    min_size=1,
    max_size=4,
)


@settings(deadline=None, max_examples=300)
@given(ARTIFACTS, TARGETS)
def test_where_nothing_is_served_something_says_so(
    groups: list[ModuleGroup], target: Target
) -> None:
    result = judged(groups, target)
    if not result.coverage.served:
        assert result.findings, result.why


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(MODULES), TARGETS)
def test_what_is_named_itself_is_refused_with_or_without_kernels(
    group: ModuleGroup, target: Target
) -> None:
    # Of PTX 9.1 and a cubin of sm_80 on an H200: 222 and 209, with kernels and without.
    named = placed(group, "named")
    with_some, with_none = (judged([with_kernels(named, k)], target) for k in (True, False))
    assert (with_none.verdict is Verdict.FAIL) == (with_some.verdict is Verdict.FAIL)
    assert not with_none.coverage.served


@settings(deadline=None, max_examples=200)
@given(st.sampled_from(MODULES), st.sampled_from(MODULES), TARGETS, PLACES)
def test_without_kernels_a_module_harms_nobody_beside_others_that_serve(
    group: ModuleGroup, other: ModuleGroup, target: Target, where: str
) -> None:
    # Registered in a host file beside others, neither of both harmed the program.
    serving = with_kernels(placed(group, "registered"), True)
    beside = with_kernels(placed(other, where), False)
    alone, both = judged([serving], target), judged([serving, beside], target)
    if alone.coverage.served and where != "named":
        assert both.verdict is alone.verdict


@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(st.sampled_from(MODULES), st.integers(1, 900)), min_size=1), TARGETS)
def test_a_verdict_says_how_many_of_the_modules_have_it_by_themselves(
    several: list[tuple[ModuleGroup, int]], target: Target
) -> None:
    groups = [
        replace(with_kernels(placed(group, "registered"), True), count=count)
        for group, count in several
    ]
    alone = [(judged([group], target), group.count) for group in groups]
    for_gpu = [(result, count) for result, count in alone if not result.coverage.none]
    result = judged(groups, target)
    assert result.extent.judged == sum(count for _, count in for_gpu)
    assert result.extent.modules == sum(
        count for each, count in for_gpu if each.verdict is result.verdict
    )


@settings(deadline=None, max_examples=200)
@given(ARTIFACTS, ARTIFACTS, TARGETS)
def test_a_gpu_that_no_kernel_is_for_is_not_served_by_what_has_none(
    some: list[ModuleGroup], more: list[ModuleGroup], target: Target
) -> None:
    kernels = [with_kernels(group, True) for group in some]
    empty = [with_kernels(group, False) for group in more]
    if judged(kernels, target).verdict is Verdict.FAIL:
        # Tile IR, of which kernels can't be counted, may serve.
        assert judged([*kernels, *empty], target).verdict >= Verdict.UNKNOWN


RETURNS = st.sampled_from(
    [
        "ret;",
        "\tret ;\n",
        "exit;",
        "$L__BB0_1:\nret;",
        ".loc 1 2 3\nret;",
        ".reg .b32 %r<2>; ret;",
        "",
    ]
)
WORKS = st.sampled_from(
    ["st.global.u32 [%rd1], %r1;", "mov.u32 %r1, 1;", "bar.sync 0;", "{ ret; }"]
)
PARAMETERS = st.sampled_from(["", "()", "(.param .u64 p)", "(\n.param .u32 a,\n.param .u32 b\n)"])


@settings(deadline=None, max_examples=150)
@given(st.lists(st.tuples(PARAMETERS, st.lists(RETURNS, max_size=3)), min_size=1), WORKS, st.data())
def test_kernels_that_only_return_are_told_from_those_that_do_something(
    empty: list[tuple[str, list[str]]], work: str, data: st.DataObject
) -> None:
    bodies = [(parameters, list(body)) for parameters, body in empty]
    assert ptx.only_empty_kernels(ptx_of(bodies), Budget())
    number = data.draw(st.integers(0, len(bodies) - 1))
    bodies[number][1].append(work)
    assert not ptx.only_empty_kernels(ptx_of(bodies), Budget())


def ptx_of(bodies: list[tuple[str, list[str]]]) -> bytes:
    """PTX of kernels with these parameters and bodies."""
    kernels = [
        f".entry k{n}{parameters}\n.maxntid 1, 1, 1\n{{ // none\n{chr(10).join(body)}\n}}\n"
        for n, (parameters, body) in enumerate(bodies)
    ]
    return f".version 8.4\n.target sm_80\n.func f() {{ bar.sync 0; }}\n{''.join(kernels)}".encode()


def test_an_empty_kernel_is_all_that_serves_and_is_named() -> None:
    # nopHardwareDetection of libcublasLt 13.10 made it jit on sm_110, and fail on a B200 with 580.
    empty = image(ImageKind.PTX, "compute_75", isa="9.3", has_kernels=False, empty_kernels=True)
    probe = placed(replace(MODULES[0], signature=ModuleSignature((empty,), True)), "registered")
    sass = ModuleSignature((image(ImageKind.SASS, "sm_90", has_kernels=True),), True)
    library = [probe, replace(MODULES[0], signature=sass)]
    for target in parse(["driver=580.95.05,gpu=h100", "driver=615.36.01,gpu=sm_110"]):
        result = judged(library, target)
        served = target.gpus[0].name == "h100"
        assert result.verdict is (Verdict.OK if served else Verdict.FAIL)
        assert result.coverage.served == int(served)
        said = [finding.message for finding in result.findings]
        assert "empty kernels" in said[0] if served else "are empty" in said[0]


@settings(deadline=None, max_examples=20)
@given(st.sampled_from(["fatbin/nvcc-13.5-concat.fatbin", "objects/libsaxpy.so"]), TARGETS, TARGETS)
def test_coverage_depends_on_no_other_target(file: str, target: Target, other: Target) -> None:
    (alone,) = ltocompat.check(FOLDER / file, [target], route="load")
    beside, _ = ltocompat.check(FOLDER / file, [target, other], route="load")
    assert (alone.coverage, alone.verdict) == (beside.coverage, beside.verdict)


# PTX ISA version, and the first driver branch that compiles it (PTX ISA manual, release notes).
ISA_BRANCHES = {"7.8": 520, "8.0": 525, "8.4": 550, "8.7": 570, "9.0": 580, "9.1": 590, "9.2": 595}


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(sorted(ISA_BRANCHES)),
    st.sampled_from(
        [".func f() { ret; }", ".visible .global .u32 v;", ".visible .entry k() { ret; }"]
    ),
    st.sampled_from([550, 570, 580, 590, 595]),
)
def test_ptx_in_a_file_is_refused_by_its_version_whatever_is_in_it(
    isa: str, body: str, branch: int
) -> None:
    text = f".version {isa}\n.target sm_80\n.address_size 64\n{body}\n"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.ptx")
        path.write_text(text, encoding="utf-8")
        (result,) = ltocompat.check(path, [f"driver={branch}.999.0,gpu=sm_90"], route="load")
    assert (result.verdict is Verdict.FAIL) == (branch < ISA_BRANCHES[isa])
    assert not result.coverage.served
    assert result.findings


def test_ptx_without_kernels_in_a_package_is_a_note_where_something_else_serves() -> None:
    text = ".version 9.5\n.target sm_80\n.address_size 64\n.func f() { ret; }\n"
    kernel = (FOLDER / "cubin/nvrtc-12.4-sm_90.cubin").read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder, "package.zip")
        with zipfile.ZipFile(package, "w") as archive:
            archive.writestr("f.ptx", text)
            archive.writestr("k.cubin", kernel)
        target = "driver=580.95.05,gpu=h100"
        (both,) = ltocompat.check(package, [target], route="load")
        (itself,) = ltocompat.check(f"{package}::f.ptx", [target], route="load")
    assert both.verdict is Verdict.OK
    # PTX without kernels is no code for later GPUs, either.
    assert [finding.rule for finding in both.findings] == ["IMG-03", "PTX-07"]
    assert "PTX 9.5" in both.findings[0].message
    assert itself.verdict is Verdict.FAIL


STORES, HOLLOW = "st.global.u32 [0], 1; ret;", "ret;"
PTX_TEXT = ".version 8.7\n.target sm_{arch}\n.address_size 64\n.entry k() {{ {body} }}\n"
SASS_OF_80 = (FOLDER / "cubin/nvrtc-12.4-sm_80-debug.cubin").read_bytes()


@given(
    st.dictionaries(st.sampled_from((75, 80, 90, 120)), st.booleans(), min_size=1),
    st.booleans(),
    st.sampled_from(GPUS),
)
def test_kernels_that_only_return_serve_no_gpu_where_others_do_more(
    works: dict[int, bool], sass: bool, gpu: str
) -> None:
    """Launches of them succeed and do nothing, as of what ``#if __CUDA_ARCH__ < 900`` guards."""
    entries = [
        entry(EntrySpec(KINDS["ptx"], text.encode(), sm=arch, version=(8, 7)))
        for arch, does in works.items()
        for text in [PTX_TEXT.format(arch=arch, body=STORES if does else HOLLOW)]
    ]
    entries += [entry(EntrySpec(KINDS["sass"], SASS_OF_80, version=(1, 7)))] if sass else []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.fatbin")
        path.write_bytes(region(entries))
        (result,) = ltocompat.check(path, [f"driver=595.45.04,gpu={gpu}"], route="load")
    number = int(gpu.removeprefix("sm_"))
    native = sass and number in (80, 86)
    picked = max((arch for arch in works if arch <= number), default=None)
    hollow = picked is not None and not works[picked]
    fails = not native and (picked is None or (hollow and (sass or any(works.values()))))
    assert (result.verdict is Verdict.FAIL) is fails, result
    assert bool(result.coverage.served) is (native or not (fails or hollow))
    told = [finding for finding in result.findings if "only return" in finding.message]
    assert bool(told) is (fails and hollow)
    assert all("__CUDA_ARCH__" in finding.remedy for finding in told)


@given(
    works=st.dictionaries(st.sampled_from((90, 100)), st.booleans(), min_size=1),
    real=st.booleans(),
    packed=st.booleans(),
    gpu=st.sampled_from((80, 90, 100)),
    returns=st.sampled_from((writer.RETURNS, writer.RETURNS_ON_VOLTA)),
)
def test_sass_that_only_returns_serves_no_gpu_beside_a_larger_image_that_does_more(
    works: dict[int, bool], real: bool, packed: bool, gpu: int, returns: bytes
) -> None:
    """Kernels of ``#if __CUDA_ARCH__ < 900`` as nvcc writes them for sm_90, too."""
    cubins = {arch: FOLDER / f"cubin/nvrtc-12.9-sm_{arch}.cubin" for arch in works}
    data = {arch: path.read_bytes() for arch, path in cubins.items()}
    codes = [data[arch] if does else hollow(data[arch], returns) for arch, does in works.items()]
    packing = "lz4" if packed else "none"
    specs = [
        EntrySpec(KINDS["sass"], code, sm=arch, version=(1, 7), compression=packing)
        for arch, code in zip(works, codes, strict=True)
    ]
    specs += [EntrySpec(KINDS["sass"], SASS_OF_80, version=(1, 7))] if real else []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.fatbin")
        path.write_bytes(region([*map(entry, specs)]))
        (result,) = ltocompat.check(path, f"driver=595.45.04,gpu=sm_{gpu}", route="load")
    there = real if gpu == 80 else gpu in works
    empty = there and gpu != 80 and real and not works[gpu]
    assert (result.verdict is Verdict.FAIL) is (empty or not there), result
    assert bool(result.coverage.served) is (there and not empty)
    assert any("only return" in finding.message for finding in result.findings) is empty


# The highest minor version in each field of a header of LTO-IR (of LLVM: the major one) that each
# nvJitLink took, as its own C functions answered.
NEWEST = json.loads((DATA / "ltoir_headers.json").read_text("utf-8"))["newest"]
FIELDS = {"container": 5, "nvvm_ir": 7, "debug": 9, "llvm": 10}
LTOIR = (FOLDER / "ltoir/nvrtc-12.0-lto_80.ltoir").read_bytes()
# Each release writes these; of other versions nobody promises anything.
WRITTEN = {field: {row[field] for row in NEWEST.values()} for field in FIELDS}
WRITTEN["llvm"].add(7)
BEFORE_12 = (47, 48)


def linked(data: bytes, linker: str, *, in_fatbin: bool) -> Result:
    if in_fatbin:
        spec = EntrySpec(KINDS["ltoir"], data, sm=80, version=(1, data[FIELDS["container"]]))
        data = region([entry(spec)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x")
        path.write_bytes(data)
        target = f"driver=580.95.05,nvjitlink={linker},gpu=sm_80"
        (result,) = ltocompat.check(path, [target], route="link")
    return result


@settings(deadline=None, max_examples=300)
@given(
    st.sampled_from(sorted(FIELDS)),
    st.integers(0, 140) | st.integers(0, 30),
    st.sampled_from(sorted(NEWEST)),
    st.booleans(),
)
def test_a_header_is_read_by_the_linkers_that_know_each_of_its_versions(
    field: str, value: int, linker: str, in_fatbin: bool
) -> None:
    if field == "nvvm_ir" and value in BEFORE_12:
        return  # it says that it is of 11.x, which no nvJitLink links
    changed = bytearray(LTOIR)
    changed[FIELDS[field]] = value
    verdict = linked(bytes(changed), linker, in_fatbin=in_fatbin).verdict
    taken = value <= NEWEST[linker][field]
    if verdict is Verdict.UNKNOWN:
        assert value not in WRITTEN[field]
    else:
        assert (verdict < Verdict.UNKNOWN) == taken


@settings(deadline=None, max_examples=100)
@given(
    st.integers(4, 15),
    st.integers(0, 255),
    st.sampled_from(sorted(NEWEST)),
)
def test_no_byte_of_a_header_is_passed_over_in_silence(
    offset: int, value: int, linker: str
) -> None:
    # What comes out is judged or unknown, never a file without device code.
    changed = bytearray(LTOIR)
    changed[offset] = value
    result = linked(bytes(changed), linker, in_fatbin=False)
    assert result.coverage.modules == 1
    major_versions = (4, 6, 8)
    if offset in major_versions and value != LTOIR[offset]:
        assert result.verdict >= Verdict.UNKNOWN  # each nvJitLink refused it


CODES = st.sampled_from(["cubin/nvrtc-12.4-sm_90.cubin", "cubin/nvrtc-12.0-sm_90.cubin"])
FRAGMENTS = st.sampled_from(["12.0", "12.4", "13.0", "13.5"])
KEYS = st.sets(st.sampled_from(["driver=580.95.05", "gpu=h100", "nvjitlink=13.5"]), min_size=1)
FORMATS = ("table", "markdown", "json", "sarif", "github", "html")


def of_damaged(data: bytes, target: str) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.fatbin")
        path.write_bytes(data)
        (result,) = ltocompat.check(path, [target], route="link" if "link" in target else "load")
    return result


# What no writer writes into the header of an entry: real linkers refuse it, or leave the entry out;
# with options outside of the header, nvJitLink and the driver die.
FLAGS_AT, SM_AT, OPTIONS_AT = 16 + 0x28, 16 + 0x1C, 16 + 0x14
LIES = st.one_of(
    st.sampled_from(
        [1 << bit for bit in (7, 8, 9, 10, 11, 12, 14, 17, 18, 19, 22, 23, *range(25, 32))]
    ).map(lambda flag: (FLAGS_AT, "<I", flag | 0x11)),
    st.just((FLAGS_AT, "<I", 0x10)),
    st.just((FLAGS_AT, "<I", 0x300011)),
    st.just((FLAGS_AT, "<I", 0x10011)),
    st.just((SM_AT, "<I", 0)),
    # A header of these entries has 80 bytes at most, and the place of the options 8 of them.
    st.integers(73, 1 << 31).map(lambda at: (OPTIONS_AT, "<I", at)),
)


@settings(deadline=None, max_examples=200)
@given(
    st.sampled_from(
        [
            ("ptx", "ptx/nvrtc-12.4-compute_80.ptx"),
            ("sass", "cubin/nvrtc-12.4-sm_80.cubin"),
            ("ltoir", "ltoir/nvrtc-12.4-lto_80.ltoir"),
        ]
    ),
    LIES,
    st.sampled_from(
        ["driver=580.95.05,gpu=sm_80", "nvjitlink=13.0,gpu=sm_80", "nvjitlink=13.0,gpu=sm_90"]
    ),
)
def test_an_entry_whose_header_lies_is_unknown_whatever_is_picked(
    code: tuple[str, str], lie: tuple[int, str, int], target: str
) -> None:
    kind, file = code
    payload = (FOLDER / file).read_bytes()
    version = {"ptx": (8, 4), "sass": (1, 7), "ltoir": (1, payload[5])}[kind]
    data = bytearray(region([entry(EntrySpec(KINDS[kind], payload, sm=80, version=version))]))
    struct.pack_into(lie[1], data, lie[0], lie[2])
    result = of_damaged(bytes(data), target)
    assert result.verdict in (Verdict.UNKNOWN, Verdict.FAIL)
    if result.verdict is Verdict.FAIL:  # for another reason than missing code
        assert not any("no code for" in finding.message for finding in result.findings)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 1 << 40), st.sampled_from(["sm_80", "sm_90", "sm_75"]))
def test_nothing_of_a_region_that_goes_on_past_the_file_is_judged(more: int, gpu: str) -> None:
    payload = (FOLDER / "cubin/nvrtc-12.4-sm_80.cubin").read_bytes()
    data = bytearray(region([entry(EntrySpec(KINDS["sass"], payload, version=(1, 7)))]))
    struct.pack_into("<Q", data, 8, len(data) - 16 + more)
    result = of_damaged(bytes(data), f"driver=580.95.05,gpu={gpu}")
    assert result.verdict is Verdict.UNKNOWN
    assert {finding.rule for finding in result.findings} == {"IMG-01", "IMG-02"}


def asked(path: Path, target: str, *options: str) -> tuple[int, str]:
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
        code = run(["check", str(path), "--deploy-target", target, *options])
    return code, output.getvalue()


@settings(deadline=None, max_examples=30)
@given(CODES, FRAGMENTS, KEYS, st.sampled_from(FORMATS))
def test_a_half_that_is_not_judged_is_told_and_never_passes_where_more_is_asked_than_no_failure(
    code: str, release: str, keys: set[str], form: str
) -> None:
    sass = EntrySpec(KINDS["sass"], (FOLDER / code).read_bytes(), sm=90)
    ltoir = (FOLDER / f"ltoir/nvrtc-{release}-lto_80.ltoir").read_bytes()
    fragment = EntrySpec(KINDS["ltoir"], ltoir, sm=80, version=(1, ltoir[5]))
    target = ",".join(sorted(keys))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.fatbin")
        path.write_bytes(region([entry(sass)]) + region([entry(fragment)]))
        results = list(ltocompat.check(path, [target]))
        strict, _ = asked(path, target, "--strict")
        usual, text = asked(path, target, "--format", form)
    # Without a GPU, every one is judged that the file serves.
    halves = {"load": {"driver=580.95.05"} - keys, "link": {"nvjitlink=13.5"} - keys}
    wanting = {half for half, missing in halves.items() if missing}
    assert all(set(result.not_judged) == wanting for result in results)
    worst = max(result.verdict for result in results)
    if wanting:
        assert strict in (1, 3)
        assert strict == 3 or worst >= Verdict.UNDOCUMENTED
        assert usual != 0 or any(result.verdict < Verdict.UNKNOWN for result in results)
        assert all(half in text for half in wanting)
        assert "not checked" in text or "not_judged" in text or form == "github"


EVERY_LTOIR = sorted((FOLDER / "ltoir").glob("nvrtc-*")) + sorted(
    (FOLDER / "fatbin-ltoir").glob("nvfatbin-*-of-*")
)


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(EVERY_LTOIR), st.sampled_from(["gpu=h100", "gpu=b200", "driver=580.95.05"]))
def test_without_a_linker_what_only_a_driver_may_link_is_unknown_and_all_else_is_left_open(
    path: Path, keys: str
) -> None:
    # Of 11.x, every nvJitLink 12.0 to 13.5 refused (tests/data/ltoir_links.json).
    for result in ltocompat.check(path, [keys], route="link"):
        if "11.8" in path.name:
            assert result.verdict is Verdict.UNKNOWN
            assert any("LTO-09" in finding.message for finding in result.findings)
            (named,) = ltocompat.check(path, ["nvjitlink=13.5,gpu=h100"], route="link")
            assert named.verdict is Verdict.FAIL
        elif result.coverage.link:
            assert result.not_judged[-1] == "link"
        assert not any("Tile IR" in finding.message for finding in result.findings)


# No known driver takes the PTX of 13.5.
PTX_TEXTS = sorted((FOLDER / "ptx").glob("*-1[123].[!5]-compute_80.ptx"))


@settings(deadline=None, max_examples=20)
@given(
    st.lists(st.sampled_from(PTX_TEXTS), min_size=1, max_size=3),
    st.sampled_from([b"\n", b"\n// .version 9.0\n", b"\n/*\n.version 9.0\n*/\n", b"\n\t "]),
    st.sampled_from(["driver=615,gpu=h100", "nvjitlink=13.5,gpu=h100"]),
)
def test_several_ptx_texts_behind_each_other_are_never_ok(
    paths: list[Path], between: bytes, target: str
) -> None:
    """As `cat` makes them: ptxas 13.0 says "Parsing error near '.version 9.0': syntax error"."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.ptx")
        path.write_bytes(b"".join(text.read_bytes().rstrip(b"\0") + between for text in paths))
        found = list(ltocompat.check(path, [target]))
    assert found
    for result in found:
        several = any("several PTX texts" in finding.message for finding in result.findings)
        assert several is (len(paths) > 1)
        assert result.verdict in (
            (Verdict.UNKNOWN, Verdict.FAIL) if several else (Verdict.OK, Verdict.JIT)
        )


@settings(deadline=None)
@given(
    isa=st.sampled_from(sorted(toolkits.ptx_releases())),
    target=TARGETS,
    kind=st.sampled_from(("shared library", "executable", "unknown")),
    groups=st.sampled_from(((), *((group,) for group in MODULES[:8]))),
)
@example(
    isa=(8, 4), target=parse(["driver=525.60.13,gpu=a100"])[0], kind="shared library", groups=()
)
def test_ptx_text_that_a_driver_would_refuse_is_never_ok_in_a_library(
    isa: tuple[int, ...], target: Target, kind: str, groups: tuple[ModuleGroup, ...]
) -> None:
    """As in embed-anything-gpu 0.7.2 on R525: 17 texts of PTX 8.4 beside SASS for sm_80."""
    version = ".".join(map(str, isa))
    host = HostBinary(
        place=Location("x.whl", ("x.so",)),
        format="ELF",
        machine="x86-64",
        type=kind,
        ptx_texts=tuple(PtxText(x, "sm_75", 9, 2) for x in (version, "3.2")),
    )
    (alone,) = results(ArtifactSummary("x.whl", list(groups)), target)
    (found,) = results(ArtifactSummary("x.whl", list(groups), hosts=[host]), target)
    assert target.driver
    release = drivers.branch_cuda(target.driver.value.branch)
    refused = kind != "unknown" and release is not None and release < toolkits.ptx_releases()[isa]
    worse = max(alone.verdict, Verdict.UNKNOWN) if refused else alone.verdict
    assert found.verdict is worse
    told = [finding for finding in found.findings if finding.example == host.place]
    assert sorted(finding.rule for finding in told) == ["IMG-08", *["PTX-01"] * refused]
    assert not found.without_device_code

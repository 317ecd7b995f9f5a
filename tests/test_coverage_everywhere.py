"""The kernels that a GPU has code for are one number, whoever is asked: what was put in."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import fatbin_writer as writer
import pytest
from elf_writer import Part, elf
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from libraries_made import build, needs_gcc
from package_writer import zip_of
from report_values import written
from samples import FOLDER

import ltocompat
from ltocompat.cli import run
from ltocompat.commands.audit import audit
from ltocompat.commands.policy.gate import Audited
from ltocompat.model.verdict import Verdict
from ltocompat.report import Options
from ltocompat.report.verbs.inspect import REPORT as INSPECTION
from ltocompat.rules.engine.arch_parts import names_an_arch

TARGET = "driver=580.65.06,gpu=a100"


def library(path: Path, kernels: dict[bytes, tuple[int, ...]]) -> Path:
    """A library with a registered region for each kernel, compiled for these architectures."""
    regions = []
    for name, archs in kernels.items():
        entries = []
        for arch in archs:
            code = (FOLDER / "cubin" / f"nvrtc-13.0-sm_{arch}.cubin").read_bytes()
            cubin = code.replace(b"saxpy", name)
            spec = writer.EntrySpec(writer.KINDS["sass"], cubin, sm=arch, version=(13, 0))
            entries.append(writer.entry(spec))
        regions.append(writer.region(entries))
    return library_of(path, regions)


def library_of(path: Path, regions: Sequence[bytes]) -> Path:
    """A library that registers these regions."""
    text = ""
    for number, data in enumerate(regions):
        region = path.with_suffix(f".{number}.fatbin")
        region.write_bytes(data)
        lines = [
            '.section .nv_fatbin, "a"',
            f'.balign 8\nr{number}: .incbin "{region}"',
            '.section .nvFatBinSegment, "aw"',
            f".balign 8\n.int 0x466243b1, 1\n.quad r{number}, 0",
        ]
        text += "".join(f"{line}\n" for line in lines)
    text = text.replace('"', '\\"').replace("\n", "\\n")
    return build(path, source=f'asm("{text}.text");')


@needs_gcc
def test_check_require_audit_diff_and_html_say_the_same_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = (b"saxpy", b"daxpy", b"caxpy")
    whole = library(tmp_path / "whole.so", dict.fromkeys(names, (80, 90)))
    lost = library(tmp_path / "lost.so", {names[0]: (80, 90), names[1]: (90,), names[2]: (90,)})
    (checked,) = ltocompat.check(lost, TARGET)
    (required,) = ltocompat.require(lost)
    service = next(each for each in required.services if each.number == 80)
    audited = [a for a in audit([lost], targets=[TARGET]) if isinstance(a, Audited)]
    results = [checked, *(each.checked for each in audited if each.checked.gpu)]
    told = [(each.coverage.kernels, each.coverage.best_kernels) for each in results]
    assert len(told) > 1
    assert {*told, service.kernels} == {(1, 3)}
    (coverage,) = (c for c in ltocompat.diff(whole, lost).changes if c.kind == "coverage")
    assert (coverage.old, coverage.new) == (("all",), ("1 of 3",))
    assert "sm_80" in coverage.about
    for form, words in (
        ("html", "1 of 3 kernels for sm_90 also have code for sm_80; missing: caxpy"),
        ("table", "warning[IMG-04] 2 of 3 kernels have no code for sm_80"),
    ):
        assert run(["check", str(lost), "--deploy-target", TARGET, "--format", form]) == 0
        assert words in capsys.readouterr().out
    assert run(["require", str(lost)]) == 0
    assert "1 of 3 kernels have code for sm_80" in capsys.readouterr().out
    (checked,) = ltocompat.check(whole, TARGET)
    assert not checked.coverage.best_kernels


@needs_gcc
def test_a_baseline_keeps_every_finding_that_some_option_counts(tmp_path: Path) -> None:
    """A warning of lost kernels counts with --strict alone."""
    lost = library(tmp_path / "lost.so", {b"saxpy": (80, 90), b"daxpy": (90,)})
    known = str(tmp_path / "known.json")
    strict = ["audit", str(lost), "--deploy-target", TARGET, "--strict"]
    assert run(strict) == 1
    assert run(["audit", str(lost), "--deploy-target", TARGET, "--write-baseline", known]) == 0
    assert run([*strict, "--baseline", known]) == 0


@needs_gcc
def test_diff_compares_no_kernels_on_a_gpu_that_one_release_does_not_serve(tmp_path: Path) -> None:
    partial = library(tmp_path / "partial.so", {b"saxpy": (80, 90), b"daxpy": (90,)})
    gone = library(tmp_path / "gone.so", {b"saxpy": (90,), b"daxpy": (90,)})
    for old, new in ((partial, gone), (gone, partial)):
        changes = ltocompat.diff(old, new).changes
        assert [c.about for c in changes if c.kind == "gpu" and "sm_80" in c.about]
        assert not [c for c in changes if c.kind == "coverage"]


@needs_gcc
@given(
    kernels=st.lists(
        st.sets(st.sampled_from((80, 90, 100)), min_size=1).map(lambda archs: tuple(sorted(archs))),
        min_size=2,
        max_size=4,
    )
)
@settings(max_examples=16)
def test_gpus_that_get_the_same_code_lose_the_same_kernels(kernels: list[tuple[int, ...]]) -> None:
    """SASS for sm_80 is all that sm_86 and sm_89 get: nothing is theirs."""
    names = (b"saxpy", b"daxpy", b"caxpy", b"zaxpy")
    with TemporaryDirectory() as folder:
        path = library(Path(folder) / "x.so", dict(zip(names, kernels, strict=False)))
        (required,) = ltocompat.require(path)
    lost = {each.number: (each.kernels, each.hardly) for each in required.services}
    assert lost[86] == lost[89] == lost[80]


@needs_gcc
@given(
    libraries=st.lists(
        st.lists(
            st.sets(st.sampled_from((80, 90, 100)), min_size=1).map(sorted), min_size=1, max_size=3
        ),
        min_size=1,
        max_size=2,
    ),
    kernels=st.booleans(),
)
@example(libraries=[[[80, 90]], [[90]]], kernels=True)
@settings(max_examples=16)
def test_a_saved_inspection_loses_no_kernels(
    libraries: list[list[list[int]]], *, kernels: bool
) -> None:
    """As of libcuvs 26.8.1, whose one library has nothing for the sm_87 that links serve."""
    names = (b"saxpy", b"daxpy", b"caxpy")
    with TemporaryDirectory() as name:
        folder = Path(name)
        members = []
        for number, kernel_archs in enumerate(libraries):
            code = dict(zip(names, map(tuple, kernel_archs), strict=False))
            members.append((f"{number}.so", library(folder / f"{number}.so", code).read_bytes()))
        path, file = folder / "x.zip", folder / "saved.json"
        path.write_bytes(zip_of(*members))
        records = ltocompat.inspect(path, kernels=kernels)
        file.write_text(written("json", INSPECTION, records, Options(kernels=kernels)))
        for old, new in ((file, path), (path, file)):
            assert ltocompat.diff(old, new).changes == ()


_PTX = ".version 8.7\n.target sm_{arch}\n.address_size 64\n.entry {name}() {{ {body} }}\n"
Images = dict[tuple[str, int], bool | None]
_GUARDED: Images = {("sass", 80): True, ("sass", 90): False}
_LEFT_OUT: Images = {("sass", 80): None, ("sass", 90): True}
_WORKS, _HOLLOW = "st.global.u32 [0], 1; ret;", "ret;"


def guarded_region(name: str, images: Images) -> bytes:
    """A region with images of one kernel, some of whose bodies only return; None: without it."""
    entries = []
    for (kind, arch), works in images.items():
        if kind == "ptx":
            body = _WORKS if works else _HOLLOW
            code = _PTX.format(arch=arch, name=name, body=body).encode()
            code = code.partition(b".entry")[0] if works is None else code
        elif works is None:
            code = (FOLDER / f"cubin/nvcc-13.0-sm_{arch}-without-kernels.cubin").read_bytes()
        else:
            file = "12.4-sm_80-debug" if arch == 80 and works else f"12.9-sm_{arch}"
            cubin = (FOLDER / f"cubin/nvrtc-{file}.cubin").read_bytes()
            code = (cubin if works else writer.hollow(cubin)).replace(b"saxpy", name.encode())
        version = (8, 7) if kind == "ptx" else (1, 7)
        spec = writer.EntrySpec(writer.KINDS[kind], code, sm=arch, version=version)
        entries.append(writer.entry(spec))
    return writer.region(entries)


@needs_gcc
@given(
    modules=st.lists(
        st.sampled_from(
            (
                _GUARDED,
                {("ptx", 80): True, ("ptx", 90): False},
                {("sass", 90): True, ("sass", 80): False},
                {("sass", 90): True},
                {("ptx", 120): True},
                {("sass", 90): False, ("ptx", 120): True},
                _LEFT_OUT,
                {("ptx", 80): None, ("ptx", 90): True},
            )
        ),
        min_size=3,
        max_size=5,
    ),
    gpus=st.permutations(("t4", "a100", "h100", "rtx5090")),
    asked=st.integers(2, 4),
    floors=st.booleans(),
)
@example(  # sm_90 has three kernels, but for those that only return
    modules=[_GUARDED, _GUARDED, {("sass", 90): True}, {("ptx", 120): True}],
    gpus=["rtx5090", "h100"],
    asked=2,
    floors=False,
)
@settings(max_examples=30, deadline=None)
def test_what_a_gpu_loses_is_the_same_whatever_other_targets_are_asked(
    modules: list[Images], gpus: list[str], asked: int, floors: bool
) -> None:
    """Its best-served neighbour, too: another target makes known which kernels only return."""
    names = ("saxpy", "daxpy", "caxpy", "zaxpy", "haxpy")
    with TemporaryDirectory() as folder:
        regions = [guarded_region(*each) for each in zip(names, modules, strict=False)]
        path = library_of(Path(folder) / "x.so", regions)
        targets = [f"driver=595.45.04,gpu={gpu}" for gpu in gpus[:asked]]
        asks = [targets, *([target] for target in targets)]
        # With floors, all of a module is read, whatever is asked.
        found = [[*ltocompat.check(path, ask, floors=floors)] for ask in asks]
    together, *others = ([r for r in results if r.gpu] for results in found)
    alone = [result for results in others for result in results]
    said, expected = (
        [(r.gpu, r.verdict, r.coverage, [(f.rule, f.message) for f in r.findings]) for r in results]
        for results in (together, alone)
    )
    assert said == expected


EVERY = (80, 90, 100)
PLANTED: tuple[tuple[str, str, dict[bytes, tuple[int, ...]], str], ...] = (
    ("libx.so", "a100", {b"saxpy": EVERY, b"daxpy": (90, 100)}, "daxpy"),
    ("libx.so", "h100", {b"saxpy": EVERY, b"daxpy": (80, 100)}, "daxpy"),
    ("libx.so", "b200", {b"saxpy": EVERY, b"daxpy": (80, 90)}, "daxpy"),
    ("libx.so", "rtx4090", {b"saxpy": EVERY, b"daxpy": (90, 100), b"caxpy": EVERY}, "daxpy"),
    ("libcutlass.so.3", "a100", {b"saxpy": EVERY, b"daxpy": (90, 100)}, "daxpy"),
    ("libcublas_like.so.12", "h100", {b"saxpy": EVERY, b"daxpy": (80, 100)}, "daxpy"),
    ("libmycudnn.so.9", "b200", {b"saxpy": EVERY, b"daxpy": (80, 90)}, "daxpy"),
    ("libcufft.so.12", "h100", {b"saxpy": EVERY, b"zaxpy": (80, 100)}, "zaxpy"),
    ("libcusparse.so", "a100", {b"saxpy": EVERY, b"caxpy": (90, 100)}, "caxpy"),
    ("_C.abi3.so", "h100", {b"s%04d" % n: EVERY if n else (80, 100) for n in range(9)}, "s0000"),
)
"""Ten libraries that lose a kernel on a GPU: the file, the GPU, kernels by architectures, it."""


@needs_gcc
@pytest.mark.parametrize("left_out", [_LEFT_OUT, {("sass", 80): None, ("ptx", 90): True}])
def test_an_image_without_the_kernels_of_its_neighbours_serves_nothing(
    left_out: Images, tmp_path: Path
) -> None:
    """As in libcue_ops.so of cuequivariance-ops-cu13 0.13.0: cuobjdump -symbols of sm_75, sm_80."""
    whole: Images = {("sass", 80): True, ("sass", 90): True}
    regions = [guarded_region("saxpy", whole), guarded_region("daxpy", left_out)]
    path = library_of(tmp_path / "x.so", regions)
    (result,) = ltocompat.check(path, TARGET)
    (finding,) = (each for each in result.findings if each.rule == "IMG-04")
    assert finding.kernels == ("daxpy",)
    assert "1 of 2 kernels for sm_90 also have code for sm_80" in finding.message
    (required,) = ltocompat.require(path)
    services = {each.number: each.kernels for each in required.services}
    assert services[80] == services[86] == (1, 2)
    (result,) = ltocompat.check(path, "driver=580.65.06,gpu=h100")
    assert not [each for each in result.findings if each.rule == "IMG-04"]


_PICKED_FIRST = {
    "a100": (("sass", 80), ("ptx", 80)),
    "h100": (("sass", 90), ("ptx", 90), ("ptx", 80)),
}
_CODE = {
    ("sass", 80): st.sampled_from((True, None)),
    ("sass", 90): st.just(True),
    ("ptx", 80): st.sampled_from((True, None)),
    ("ptx", 90): st.sampled_from((True, None)),
}


def _has_kernels(images: Images) -> bool:
    return any(images.values())


@needs_gcc
@given(images=st.fixed_dictionaries({}, optional=_CODE).filter(_has_kernels), linked=st.booleans())
@example(images=_LEFT_OUT, linked=False)
@example(images={("sass", 80): True, ("ptx", 90): None}, linked=True)
@settings(max_examples=40, deadline=None)
def test_a_gpu_without_the_kernels_that_others_get_of_a_file_is_served_nothing(
    images: Images, linked: bool
) -> None:
    """Neither a library nor a bare file is ok where its kernels are left out."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.fatbin"
        path.write_bytes(guarded_region("saxpy", images))
        if linked:
            path = library_of(Path(folder) / "x.so", [path.read_bytes()])
        targets = [f"driver=595.45.04,gpu={gpu}" for gpu in _PICKED_FIRST]
        results = {str(each.gpu): each for each in ltocompat.check(path, targets) if each.gpu}
        (required,) = ltocompat.require(path)
    for number, gpu in ((80, "a100"), (90, "h100")):
        picked = next((each for each in _PICKED_FIRST[gpu] if each in images), None)
        launched = picked is not None and bool(images[picked])
        loads = results[gpu].verdict < ltocompat.Verdict.UNKNOWN
        (how,) = (each.how for each in required.services if each.number == number)
        assert (loads, how in ("sass", "ptx")) == (launched, launched), (gpu, results[gpu])


@needs_gcc
def test_kernels_for_a_family_alone_are_not_lost_where_an_image_leaves_them_out(
    tmp_path: Path,
) -> None:
    """As cvt_fp16_to_fp4 of sgl-kernel 0.3.21: sm_89 and sm_90 without kernels, sm_100a with it."""
    read = (FOLDER / "cubin/nvcc-13.0-sm_80-without-kernels.cubin").read_bytes()
    code = (FOLDER / "cubin/nvrtc-12.9-sm_100a.cubin").read_bytes().replace(b"saxpy", b"daxpy")
    specs = (
        writer.EntrySpec(writer.KINDS["sass"], read, sm=80, version=(1, 7)),
        writer.EntrySpec(writer.KINDS["sass"], code, sm=100, suffix="a", version=(1, 7)),
    )
    whole = guarded_region("saxpy", {("sass", 80): True, ("sass", 90): True})
    regions = [whole, writer.region([writer.entry(each) for each in specs])]
    path = library_of(tmp_path / "x.so", regions)
    for target in (TARGET, [TARGET, "driver=580.65.06,gpu=b200"]):
        results = [each for each in ltocompat.check(path, target) if str(each.gpu) == "a100"]
        assert results
        assert not [f for each in results for f in each.findings if f.rule == "IMG-04"]


@needs_gcc
@pytest.mark.parametrize(("file", "gpu", "kernels", "lost"), PLANTED)
def test_each_planted_loss_is_named_and_none_where_a_library_chooses_by_gpu(
    tmp_path: Path, file: str, gpu: str, kernels: dict[bytes, tuple[int, ...]], lost: str
) -> None:
    path = library(tmp_path / file, kernels)
    target = f"driver=580.65.06,gpu={gpu}"
    (result,) = ltocompat.check(path, target)
    (finding,) = (each for each in result.findings if each.rule == "IMG-04")
    assert finding.kernels == (lost,)
    chooses = path.rename(tmp_path / "libcublasLt.so.13")
    (result,) = ltocompat.check(chooses, target)
    assert not [each for each in result.findings if each.rule == "IMG-04"]


@pytest.mark.parametrize(
    ("name", "tied"),
    [
        # xformers 0.0.34: a namespace and the length of what follows, which is no cutlass10.
        ("_Z27sparse24_largest_mask_2d_cuI14Sp24MaskKernelIN7cutlass10bfloat16_tELb0EEEvT_", False),
        ("_ZN7cutlass13device_kernelINS_4gemm6kernel13GemmUniversalIvEEEEvNT_6ParamsE", False),
        ("_ZN7cutlass6KernelINS_4arch15OpClassTensorOpEEEvT_", False),
        ("_ZN6search12do_somethingEv", False),
        ("_ZN5prism10run_kernelEv", False),
        ("_ZN7cutlass6KernelILi128ELi64ENS_4arch4Sm80EEEvT2_", True),
        ("_ZN13cutlass_80_xyE", True),
        ("_ZN10cudnn_fmha3bwd4fp1634cudnn_sm80_bprop_fmha_fp16_64x64xDEv", True),
        ("_Z10gemm_sm100v", True),
        ("_Z1kILN3foo3BarE12E9gemm_sm80EvT_", True),
        ("cutlass_80_tensorop_s1688gemm", True),
        ("flash_fwd_sm90a", True),
        ("saxpy", False),
    ],
)
def test_a_length_in_a_mangled_name_ties_no_kernel_to_an_architecture(
    name: str, tied: bool
) -> None:
    assert names_an_arch(name) is tied


def told_by_require_and_diff(path: Path, number: int) -> set[tuple[int, int]]:
    """The kernels that a GPU has, and those of its best neighbour; 0 of 0 where it loses none."""
    (required,) = ltocompat.require(path)
    (service,) = (each for each in required.services if each.number == number)
    even = library_of(path.with_name("even.so"), [guarded_region("saxpy", {("ptx", 70): True})])
    changes = ltocompat.diff(even, path).changes
    rows = [c for c in changes if c.kind == "coverage" and f"sm_{number}" in c.about.split(", ")]
    text = str(rows[0].new) if rows else "('0 of 0',)"
    here, most = re.findall(r"\d+", text)
    return {service.kernels, (int(here), int(most))}


_STATES = st.sampled_from((True, False, None))


@needs_gcc
@given(
    modules=st.lists(
        st.dictionaries(st.sampled_from(("on 80", "on 90")), _STATES, min_size=1), max_size=3
    ),
    kind=st.sampled_from(("ptx", "sass")),
)
@example(modules=[{"on 80": False, "on 90": False}], kind="ptx")  # nopClusterDiscoveryTool, cuBLAS
@example(modules=[{"on 80": True, "on 90": False}], kind="sass")  # marlin kernels of vLLM 0.4.2
@settings(max_examples=40, deadline=None)
def test_a_kernel_that_only_returns_on_every_gpu_is_lost_where_there_is_none(
    modules: list[dict[str, bool | None]], kind: str
) -> None:
    """Not where a GPU gets it: launching it does the same there."""
    keys = {"on 80": ("sass", 80), "on 90": (kind, 90)}
    made = [{keys[key]: works for key, works in m.items()} for m in modules]
    assume(all(each.get(("sass", 90), True) is not None for each in made))  # no such sample
    drawn: list[Images] = [*made]
    alone: Images = {("sass", 80): True}
    both: Images = {("sass", 80): True, (kind, 90): True}
    every = [*drawn, alone, alone, alone, alone, both]
    names = [f"k{number:04}" for number in range(len(every))]
    with TemporaryDirectory() as folder:
        regions = [guarded_region(*each) for each in zip(names, every, strict=True)]
        path = library_of(Path(folder) / "x.so", regions)
        (result,) = ltocompat.check(path, "driver=595.45.04,gpu=h100")
        elsewhere = told_by_require_and_diff(path, 90)
    lost = {
        name
        for name, images in zip(names, every, strict=True)
        if (there := images.get(("sass", 80))) is not None
        and ((here := images.get((kind, 90))) is None or (there and not here))
    }
    told = {name for f in result.findings if f.rule == "IMG-04" for name in f.kernels}
    assert told == lost
    assert elsewhere == {(result.coverage.kernels, result.coverage.best_kernels)}


_NAMES = ("saxpy", "daxpy", "caxpy", "zaxpy")
_ONE = st.sampled_from(_NAMES).map(lambda name: frozenset({name}))
_ANY = st.frozensets(st.sampled_from(_NAMES), min_size=1)
_KERNELS_OF_IMAGES = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys((("sass", 80), ("sass", 90), ("sass a", 90), ("sass", 100)), _ONE),
        **dict.fromkeys((("ptx", 70), ("ptx", 89), ("ptx", 103)), _ANY),
    },
).filter(lambda images: {*images} - {("sass a", 90)})  # not tied to one GPU by its suffix
_RUNS = {75: (75,), 80: (80,), 86: (80, 86), 89: (80, 89), 90: (90,), 100: (100,)}
_RUNS |= {103: (100, 103), 120: (120,), 121: (120, 121)}
Kernels = dict[tuple[str, int], frozenset[str]]


def region_of_kernels(images: Kernels) -> bytes:
    """A region in which each image has these kernels, which are compiled for one GPU or another."""
    entries = []
    for (kind, arch), names in images.items():
        suffix = kind[5:]
        if kind != "ptx":
            (name,) = names
            code = (FOLDER / f"cubin/nvrtc-12.9-sm_{arch}{suffix}.cubin").read_bytes()
            code = code.replace(b"saxpy", name.encode())
        else:
            bodies = "".join(f".entry {name}() {{ {_WORKS} }}\n" for name in sorted(names))
            head, _, _ = _PTX.partition(".entry")
            code = (head.format(arch=arch) + bodies).encode()
        version = (8, 7) if kind == "ptx" else (1, 7)
        number = writer.KINDS[kind[:4].strip()]
        spec = writer.EntrySpec(number, code, sm=arch, suffix=suffix, version=version)
        entries.append(writer.entry(spec))
    return writer.region(entries)


def kernels_on(images: Kernels, gpu: int) -> frozenset[str]:
    """The kernels of the image that a driver picks (CUDA C++ Programming Guide, 3.1.2 to 3.1.4)."""
    sass = [arch for kind, arch in images if kind == "sass" and arch in _RUNS[gpu]]
    ptx = [arch for kind, arch in images if kind == "ptx" and arch <= gpu]
    if gpu == 90 and ("sass a", 90) in images:
        return images["sass a", 90]
    if sass:
        return images["sass", max(sass)]
    return images["ptx", max(ptx)] if ptx else frozenset()


@needs_gcc
@given(modules=st.lists(_KERNELS_OF_IMAGES, min_size=1, max_size=4), gpu=st.sampled_from((*_RUNS,)))
@example(  # vLLM 0.3.3: kernels of #if __CUDA_ARCH__ >= 800, in images that have others, too
    modules=[
        {("sass", 80): frozenset({"saxpy"}), ("ptx", 70): frozenset({"saxpy"})},
        {("ptx", 70): frozenset({"daxpy"}), ("ptx", 89): frozenset({"daxpy", "caxpy"})},
    ],
    gpu=75,
)
@example(  # fbgemm_gpu has sm_90 and sm_90a in one module; here the former lacks a kernel
    modules=[
        {("ptx", 89): frozenset({"daxpy", "caxpy"})},
        {("sass", 90): frozenset({"zaxpy"}), ("sass a", 90): frozenset({"saxpy"})},
    ],
    gpu=90,
)
@settings(max_examples=100, deadline=None)
def test_each_image_tells_the_kernels_that_a_gpu_gets(modules: list[Kernels], gpu: int) -> None:
    with TemporaryDirectory() as folder:
        path = library_of(Path(folder) / "x.so", [*map(region_of_kernels, modules)])
        (found,) = ltocompat.check(path, f"driver=595.45.04,gpu=sm_{gpu}")
        elsewhere = told_by_require_and_diff(path, gpu)
    on = {each: frozenset[str]().union(*(kernels_on(m, each) for m in modules)) for each in _RUNS}
    most = max(len(names) for each, names in on.items() if each != gpu)
    lost = [names - on[gpu] for each, names in on.items() if len(names) == most and each != gpu]
    told = {name for f in found.findings if f.rule == "IMG-04" for name in f.kernels}
    if not on[gpu]:
        assert found.verdict is ltocompat.Verdict.FAIL
        return
    assert told in lost
    assert elsewhere == {(found.coverage.kernels, found.coverage.best_kernels)}
    assert found.coverage.best_kernels - found.coverage.kernels == len(told)


@pytest.mark.parametrize(
    ("relocatable", "size"),
    [(final, size) for size in (0, 1 << 14, 20_000, 1 << 17) for final in (False, True)],
)
@pytest.mark.parametrize("compression", [None, "none", "lz4", "zstd"])
def test_device_functions_and_variables_of_any_size_are_no_kernels(
    size: int, compression: str | None, tmp_path: Path, *, relocatable: bool
) -> None:
    """As a relocatable cubin of 19 KiB with handlers alone in CUPTI of torch 1.13.1.

    And as the tables of ggml-common.h, 27 KiB beside no kernel, in llama.cpp's libggml-cuda.so.
    """
    cubin = bytearray((FOLDER / "cubin/nvcc-13.0-sm_80-without-kernels.cubin").read_bytes())
    if relocatable:
        struct.pack_into("<H", cubin, 16, 1)
    start, count = struct.unpack_from("<Q", cubin, 40)[0], struct.unpack_from("<H", cubin, 60)[0]
    table = cubin[start : start + 64 * count]
    struct.pack_into("<Q", cubin, 40, len(cubin) + size)  # the last of its bytes
    path = tmp_path / "x.so"
    filled = random.Random(size).randbytes(size)  # noqa: S311 - which doesn't compress
    code = bytes(cubin) + filled + bytes(table)
    if compression is not None:
        spec = writer.EntrySpec(writer.KINDS["sass"], code, sm=80, compression=compression)
        code = writer.region([writer.entry(spec)])
    path.write_bytes(elf([Part(".rodata", code)]))
    (result,) = ltocompat.check(path, TARGET, route="load")
    assert (result.verdict, result.coverage.without_kernels) == (Verdict.OK, 1)
    assert {finding.rule for finding in result.findings} <= {"IMG-03"}

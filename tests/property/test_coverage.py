"""Kernels that a GPU loses are told, each by its name, and nothing else is (IMG-04).

Where kernels were read, what a GPU loses is set arithmetic on what was drawn. Where they were not,
a GPU that a tenth as many modules are for as for another one is told. There the modules are drawn
so that how many are for a GPU is known without asking: SASS of an ``a`` target runs on that GPU
alone (PTX ISA, ``.target``).
"""

from __future__ import annotations

import re

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from report_values import written
from rules import gpu, image

from ltocompat.commands.matrix import linker_targets, matrices
from ltocompat.commands.policy.baseline import Baseline
from ltocompat.commands.policy.gate import audited
from ltocompat.commands.policy.values import Policy
from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup
from ltocompat.model.image import ImageKind
from ltocompat.model.location import Location
from ltocompat.model.signature import ModuleSignature
from ltocompat.model.verdict import Level, Result, Verdict
from ltocompat.report.verbs import matrix as matrix_report
from ltocompat.report.verbs import require as require_report
from ltocompat.rules.engine.collect_requirements import required
from ltocompat.rules.engine.coverage import unevenly_served
from ltocompat.rules.engine.engine import Engine
from ltocompat.rules.engine.judge_artifact import results
from ltocompat.targets import parse

ARCHS = (90, 100, 103, 120, 121)
ARCHS_OF_580 = (75, 80, 86, 89, 90, 100, 103, 120, 121)
COUNTS = st.dictionaries(
    st.sampled_from(ARCHS), st.one_of(st.integers(1, 12), st.integers(30, 400)), min_size=1
)


def library(counts: dict[int, int], *, without_kernels: int = 0) -> ArtifactSummary:
    """A library with so many modules for each GPU, and some functions that nobody launches."""
    groups = [
        ModuleGroup(
            ModuleSignature(
                (image(ImageKind.SASS, f"sm_{arch}a", "13.0", has_kernels=True),), registered=True
            ),
            {},
            count,
            Location("libx.so"),
        )
        for arch, count in counts.items()
    ]
    if without_kernels:
        empty = image(ImageKind.SASS, "sm_90a", "13.0", has_kernels=False)
        groups.append(
            ModuleGroup(
                ModuleSignature((empty,), registered=True), {}, without_kernels, Location("x")
            )
        )
    return ArtifactSummary("libx.so", groups)


def on(summary: ArtifactSummary, *archs: int) -> list[Result]:
    (target,) = parse([f"driver=580,gpu={'+'.join(f'sm_{arch}' for arch in archs)}"])
    return list(results(summary, target))


def told(result: Result) -> bool:
    return any(finding.rule == "IMG-04" for finding in result.findings)


@given(COUNTS, st.sampled_from([0, 1, 5000]))
def test_it_is_told_where_a_tenth_or_less_is_for_a_gpu(
    counts: dict[int, int], without_kernels: int
) -> None:
    """Whatever else is in the target, and whatever has no kernels; and it changes no verdict."""
    summary = library(counts, without_kernels=without_kernels)
    every = {result.gpu.arch.number: result for result in on(summary, *counts) if result.gpu}
    for arch, count in counts.items():
        (alone,) = on(summary, arch)
        hardly = count * 10 <= max(counts.values())
        assert told(alone) is told(every[arch]) is hardly, (counts, arch)
        assert alone.verdict is Verdict.OK
        found = [finding for finding in alone.findings if finding.rule == "IMG-04"]
        assert all(finding.level is Level.WARNING for finding in found)


@settings(max_examples=30)
@given(st.lists(st.sampled_from(ARCHS), min_size=1, unique=True), st.integers(1, 2000))
def test_a_library_that_is_split_by_architecture_has_none(archs: list[int], count: int) -> None:
    """As libcublasLt and cuDNN are: each GPU is served by a part, however small."""
    summary = library(dict.fromkeys(archs, count))
    assert not any(map(told, on(summary, *archs)))
    assert not any(service.hardly for service in required(summary).services)


@settings(max_examples=15)
@given(COUNTS)
def test_require_and_matrix_name_the_gpus_that_check_does(counts: dict[int, int]) -> None:
    summary = library(counts)
    hardly = {arch for arch in counts if told(on(summary, arch)[0])}
    needs = required(summary)
    assert {service.number for service in needs.services if service.hardly} == hardly
    text = written("table", require_report.REPORT, [needs])
    assert ("(IMG-04)" in text) is bool(hardly)
    runs_on = text.splitlines()[1]
    assert not any(re.search(rf"\b{arch}\b", runs_on) for arch in hardly)
    promised = {
        int(line.text.split(" :: ")[2].partition("_")[0])
        for line in needs.lines
        if " :: sm_arch :: " in line.text
    }
    assert not promised & hardly
    grids = list(matrices(summary, linker_targets(), Engine()))
    text = written("table", matrix_report.REPORT, grids)
    assert ("(IMG-04)" in text) is bool(hardly)


def test_ptx_without_arch_in_one_file_is_no_support_of_older_gpus() -> None:
    """cuSPARSELt 0.8.1: nvcc's default PTX in one module serves all GPUs that it isn't for."""
    forgotten = image(ImageKind.PTX, "compute_52", isa="8.8", has_kernels=True)
    summary = library({90: 100, 100: 241})
    one_file = replace(
        summary.groups[0], signature=ModuleSignature((forgotten,), registered=True), count=1
    )
    summary.groups.append(one_file)
    (pascal,) = on(summary, 61)
    assert pascal.verdict is Verdict.JIT
    (finding,) = [finding for finding in pascal.findings if finding.rule == "IMG-04"]
    assert finding.message == (
        "1 module with kernels is for sm_61, and 242 are for sm_100: "
        "the code was probably not built for sm_61"
    )
    (line,) = [line for line in required(summary).lines if line.text.startswith("__cuda_arch")]
    assert line.text.startswith("__cuda_arch >=9.0")


def test_what_can_not_be_picked_for_sure_is_not_told_as_little() -> None:
    """cuBLAS 12.1.3.1 has nothing for sm_62 but modules that nobody can tell of (IMG-01)."""
    doubtful = image(ImageKind.SASS, "sm_90a", "12.1", has_kernels=True, problem="it is odd")
    summary = library({90: 240, 100: 640})
    summary.groups.append(
        replace(summary.groups[0], signature=ModuleSignature((doubtful,), registered=True), count=2)
    )
    (turing,) = on(summary, 75)
    assert not told(turing)
    assert not any(service.hardly for service in required(summary).services)


def mangled(name: str) -> str:
    return f"_Z{len(name)}{name}Pf"


TIED = ("gemm_sm80_f16", mangled("fmha_Sm100"), "cutlass_80_tensorop")
PLAIN = tuple(mangled(f"k{n:02}") for n in range(12))
FOR = st.sets(st.sampled_from((75, 80, 90, 100, 120)), min_size=1)
MODULES = st.lists(
    st.tuples(FOR, st.sets(st.sampled_from(PLAIN + TIED), min_size=1, max_size=4)),
    min_size=1,
    max_size=8,
)
WITH_NEWER_MINORS = (80, 100, 120)  # their SASS runs on sm_86, sm_103 and sm_121 as well
RUNS_ON = {75: {75}, 80: {80}, 90: {90}, 100: {100}, 120: {120}}


def with_kernels(modules: list[tuple[set[int], set[str]]], file: str = "a.so") -> ArtifactSummary:
    """A library in a wheel with SASS of these kernels for these architectures."""
    groups = []
    for n, (archs, names) in enumerate(modules):
        images = tuple(
            image(ImageKind.SASS, f"sm_{arch}", "12.8", has_kernels=True) for arch in sorted(archs)
        )
        place = Location("x.whl", (file,)).at(64 * n)
        signature = ModuleSignature(images, registered=True)
        groups.append(ModuleGroup(signature, {}, 1, place, True, [place], [tuple(sorted(names))]))
    return ArtifactSummary("x.whl", groups)


def kernels_for(modules: list[tuple[set[int], set[str]]], arch: int) -> set[str]:
    return {name for archs, names in modules if arch in archs for name in names}


_OF_JETSON = (72, 87, 110)
_FILE = st.lists(
    st.tuples(st.sets(st.sampled_from((75, 80, 90, *_OF_JETSON)), min_size=1), st.booleans()),
    min_size=1,
    max_size=4,
)


@given(
    files=st.lists(_FILE, min_size=2, max_size=3),
    arch=st.sampled_from((75, 80, 90, *_OF_JETSON)),
    bare=st.booleans(),
)
@example(files=[[({72}, True)], [({80}, True), ({72}, False)]], arch=72, bare=False)
@example(files=[[({80}, True)], [({80}, True)]], arch=72, bare=True)
def test_a_library_that_fails_alone_fails_its_package(
    files: list[list[tuple[set[int], bool]]], arch: int, *, bare: bool
) -> None:
    """Whatever else is in it without kernels, and for GPUs of whichever kind the others have code.

    As paddlepaddle-gpu 1.8.5.post97 on sm_62, which its libwarpctc.so alone is for, and torch
    1.13.1 on sm_72, which only CUPTI in libtorch_cpu.so has code for: it loads that itself.
    """
    assume(all(any(launched for _, launched in modules) for modules in files))
    libraries = []
    for number, modules in enumerate(files):
        name = f"lib{'xyz'[number]}.so"
        names = [({*archs}, {mangled(f"{name[3]}{n}")}) for n, (archs, _) in enumerate(modules)]
        library = with_kernels(names, name)
        for group, (_, launched) in zip(library.groups, modules, strict=True):
            if not launched:
                images = (replace(each, has_kernels=False) for each in group.signature.images)
                group.signature = replace(group.signature, images=tuple(images))
                group.kernels = [()]
        libraries.append(library)
    alone = [on(library, arch)[0].verdict for library in libraries]
    if bare:
        (own,) = with_kernels([({arch}, {mangled("own")})], "libown.so").groups
        own.signature, own.kernels = replace(own.signature, registered=False), []
        libraries.append(ArtifactSummary("x.whl", [own]))
    package = ArtifactSummary("x.whl", [each for library in libraries for each in library.groups])
    (found,) = on(package, arch)
    assert (found.verdict is Verdict.FAIL) is (Verdict.FAIL in alone)


@given(
    modules=_FILE,
    arch=st.sampled_from((75, 80, 86, 90, *_OF_JETSON)),
    lowest=st.sampled_from((75, 80)),
    members=st.sampled_from(((), ("liba.so",))),
    linker=st.sampled_from(("", ",nvjitlink=13.0")),
)
@example(modules=[({80}, True)], arch=87, lowest=75, members=("liba.so",), linker=",nvjitlink=13.0")
def test_ltoir_that_a_library_links_serves_none_of_the_kernels_that_it_registers(
    modules: list[tuple[set[int], bool]],
    arch: int,
    lowest: int,
    members: tuple[str, ...],
    linker: str,
) -> None:
    """As callbacks of cuFFT in bartorch-cuda13 0.0.17, on sm_87: its 1,386 kernels fail there."""
    assume(any(launched for _, launched in modules))
    names = [({*archs}, {mangled(f"k{n}")}) for n, (archs, _) in enumerate(modules)]
    library, fragment = with_kernels(names, "liba.so"), image(ImageKind.LTOIR, f"lto_{lowest}")
    for group, (_, launched) in zip(library.groups, modules, strict=True):
        group.places = [replace(place, members=members) for place in group.places]
        group.example = group.places[0]
        if not launched:
            images = (replace(each, has_kernels=False) for each in group.signature.images)
            group.signature, group.kernels = replace(group.signature, images=tuple(images)), [()]
    place = Location("x.whl", members).at(64 * len(modules))
    signature = ModuleSignature((fragment,), registered=False)
    linked = ModuleGroup(signature, {}, 1, place, True, [place])
    (target,) = parse([f"driver=580,gpu=sm_{arch}{linker}"])
    (alone,) = results(library, target)
    (found,) = results(ArtifactSummary("x.whl", [*library.groups, linked]), target)
    assert (found.verdict is Verdict.FAIL) is (alone.verdict is Verdict.FAIL)


@given(MODULES, st.sampled_from((75, 80, 90, 100, 120)))
def test_every_lost_kernel_is_counted_and_none_that_is_tied_to_an_architecture(
    modules: list[tuple[set[int], set[str]]], arch: int
) -> None:
    (found,) = on(with_kernels(modules), arch)
    here = kernels_for(modules, arch)
    gpus = [other for other in RUNS_ON if other != arch or arch in WITH_NEWER_MINORS]
    others = [kernels_for(modules, other) - set(TIED) for other in gpus]
    most = max(len(other) for other in others)
    lost = [other - here for other in others if len(other) == most]
    warned = [finding for finding in found.findings if finding.rule == "IMG-04"]
    if not here or not any(lost):
        assert not warned or not here
        return
    if not all(lost):
        return  # several GPUs are served best, and one of them has nothing more
    (finding,) = warned
    assert finding.level is Level.WARNING
    assert found.verdict is Verdict.OK
    assert set(finding.kernels) in lost
    assert found.coverage.best_kernels - found.coverage.kernels == len(finding.kernels)
    assert found.coverage.best_kernels == most


CHOOSING = ("libcublasLt.so.12", "libcudnn_ops.so.9", "cusparse64_12.dll", "libcusolverMg.so.11")


@given(MODULES, MODULES, st.sampled_from((75, 80, 90, 100, 120)), st.sampled_from(CHOOSING))
def test_a_library_that_chooses_by_gpu_loses_none_and_hides_none_of_its_neighbour(
    mine: list[tuple[set[int], set[str]]],
    other: list[tuple[set[int], set[str]]],
    arch: int,
    name: str,
) -> None:
    """It has SASS for the GPU, as cuBLAS does; whatever else is in the package is told as ever."""
    other = [
        (archs | {arch}, {mangled(name[3:6] + "_x") for name in names}) for archs, names in other
    ]
    choosing, plain = with_kernels(other, name), with_kernels(mine, "a.so")
    (found,) = on(choosing, arch)
    assert not told(found)
    both = ArtifactSummary("x.whl", [*choosing.groups, *plain.groups])
    (alone,), (beside,) = on(plain, arch), on(both, arch)
    if alone.coverage.served:
        kernels = [[f.kernels for f in each.findings if told(each)] for each in (alone, beside)]
        assert kernels[0] == kernels[1]


@given(COUNTS, st.sampled_from(CHOOSING), st.booleans())
def test_modules_that_a_neighbour_has_too_are_told_wherever_they_come_first(
    counts: dict[int, int], name: str, first: bool
) -> None:
    """Equal modules of two files are one group; that of the library that chooses is left out."""
    plain, both = library(counts), library(counts)
    for group in plain.groups:
        group.places = [Location("x.whl", ("a.so",)).at(n) for n in range(group.count)]
    for group, alone in zip(both.groups, plain.groups, strict=True):
        other = [Location("x.whl", (name,)).at(n) for n in range(group.count)]
        group.places = [*other, *alone.places] if first else [*alone.places, *other]
        group.count, group.example = len(group.places), group.places[0]
    assert [*map(told, on(both, *counts))] == [*map(told, on(plain, *counts))]


@given(st.sampled_from(CHOOSING), st.sampled_from((100, 103, 120)))
def test_a_gpu_that_is_newer_than_such_a_library_loses_kernels(name: str, arch: int) -> None:
    """Its PTX runs there, and what it has only SASS of for older GPUs doesn't."""
    summary = with_kernels([({80, 90}, {PLAIN[0], PLAIN[1]})], name)
    ptx = image(ImageKind.PTX, "compute_80", isa="8.0", has_kernels=True)
    place = Location("x.whl", (name,)).at(4096)
    signature = ModuleSignature((ptx,), registered=True)
    summary.groups.append(
        ModuleGroup(signature, {}, 1, place, True, [place], [(PLAIN[2], PLAIN[3])])
    )
    (found,) = on(summary, arch)
    assert told(found)
    assert found.coverage.kernels < found.coverage.best_kernels


@given(MODULES, MODULES, st.sampled_from((75, 80, 90)))
def test_a_library_of_a_package_that_has_nothing_for_a_gpu_fails_as_alone(
    mine: list[tuple[set[int], set[str]]], other: list[tuple[set[int], set[str]]], arch: int
) -> None:
    """But for kernels that its neighbour has for the GPU, and those of one architecture."""
    other = [
        (archs | {arch}, {mangled(name[3:6] + "_x") for name in names}) for archs, names in other
    ]
    parts = with_kernels(mine, "a.so"), with_kernels(other, "b.so")
    both = ArtifactSummary("x.whl", [group for part in parts for group in part.groups])
    (alone,) = on(parts[0], arch)
    (found,) = on(both, arch)
    told = {finding.subject for finding in found.findings if finding.rule == "SASS-06"}
    plain = {name for _, names in mine for name in names} - set(TIED)
    assert ("a.so" in told) is (alone.verdict is Verdict.FAIL and bool(plain))
    assert "b.so" not in told


@given(MODULES, MODULES)
def test_without_a_named_gpu_a_row_is_that_of_the_gpu_named(
    mine: list[tuple[set[int], set[str]]], other: list[tuple[set[int], set[str]]]
) -> None:
    """A GPU for which a library has nothing has no row beside others; that is told on each."""
    other = [(archs, {mangled(name[3:6] + "_x") for name in names}) for archs, names in other]
    parts = with_kernels(mine, "a.so"), with_kernels(other, "b.so")
    both = ArtifactSummary("x.whl", [group for part in parts for group in part.groups])
    named = {arch: on(both, arch)[0] for arch in ARCHS_OF_580}
    served = {arch: found for arch, found in named.items() if found.coverage.served}
    good = {arch: found for arch, found in served.items() if found.verdict <= Verdict.JIT}
    found = list(results(both, parse(["driver=580.95.05"])[0]))
    if not good:
        assert [(each.gpu, each.verdict) for each in found] == [(None, Verdict.FAIL)]
        return
    assert {each.gpu.arch.number for each in found if each.gpu} == set(good)
    for each in found:
        assert each.gpu is not None
        told = each.findings[len(good[each.gpu.arch.number].findings) :]
        assert [one.level for one in told] == [Level.WARNING] * (len(good) < len(served))
        assert each.verdict is good[each.gpu.arch.number].verdict
        for warning in told:
            lacking = [one for arch in served.keys() - good for one in served[arch].findings]
            assert all(one.subject in warning.message for one in lacking if one.rule == "SASS-06")
    # A GPU of which one library has no kernel at all is no better than one that has a few.
    policy = Policy(source="p", targets=(found[0].target,), coverage=1)
    failed = {each.failed for each in audited(found, policy, Baseline())}
    assert failed == {len(good) < len(served)}


@given(st.sets(st.sampled_from(PLAIN), min_size=1), st.booleans())
def test_ptx_of_a_unit_split_by_architecture_is_not_loaded_where_its_part_is(
    names: set[str], dedicated: bool
) -> None:
    """PTX 8.8 is too new for driver 535; on an A100 the library launches the part for sm_80."""
    ptx = (
        image(ImageKind.SASS, "sm_75", "12.0", has_kernels=True),
        image(ImageKind.PTX, "compute_75", "12.9", isa="8.8", has_kernels=True),
    )
    sass = (image(ImageKind.SASS, "sm_80", "12.0", has_kernels=True),)
    places = [Location("libx.so").at(64 * n) for n in range(2)]
    mine = [mangled(f"{name[3:6]}_sm75") for name in names]
    theirs = [mangled(f"{name[3:6]}_{'sm80' if dedicated else 'other'}") for name in names]
    groups = [
        ModuleGroup(ModuleSignature(images, True), {}, 1, place, False, [place], [tuple(kernels)])
        for images, place, kernels in zip((ptx, sass), places, (mine, theirs), strict=True)
    ]
    (target,) = parse(["driver=535.54.03,gpu=a100"])
    (found,) = results(ArtifactSummary("libx.so", groups), target)
    assert found.verdict is (Verdict.OK if dedicated else Verdict.FAIL)


def test_modules_are_read_for_their_kernels_only_where_gpus_are_served_unevenly() -> None:
    even = with_kernels([({75, 80}, {"a"}), ({75, 80}, {"b"})])
    uneven = with_kernels([({75, 80}, {"a"}), ({80}, {"b"})])
    suffixed = library({90: 3, 100: 5})
    assert not unevenly_served(even, [gpu("sm_75"), gpu("sm_80")])
    assert not unevenly_served(uneven, [gpu("sm_80")])
    assert len(unevenly_served(uneven, [gpu("sm_75")])) == 2
    assert not unevenly_served(suffixed, None)


@given(MODULES, st.sampled_from((75, 80, 90, 100, 120)), st.integers(1, 100))
def test_a_policy_says_how_many_kernels_a_gpu_may_lose(
    modules: list[tuple[set[int], set[str]]], arch: int, percent: int
) -> None:
    (found,) = on(with_kernels(modules), arch)
    goal = Policy(source="p", targets=(found.target,), coverage=percent)
    (held,), (without,) = (
        audited([found], policy, Baseline()) for policy in (goal, replace(goal, coverage=None))
    )
    too_few = found.coverage.kernels * 100 < found.coverage.best_kernels * percent
    assert held.failed is (without.failed or too_few)

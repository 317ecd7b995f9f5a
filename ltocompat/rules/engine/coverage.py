"""Kernels that a GPU loses beside the GPU that an artifact serves best: a warning, not a verdict.

Losses are counted by kernel names, which are read where modules are spread unevenly over GPUs
(``unevenly_served``). No ratio separates a broken library from a sound one, so that every loss is
told. Not lost are kernels whose names or suffixes tie them to an architecture, those of libraries
that are known to choose by GPU, and modules that nothing registers: a library picks among those by
its own code. Of them only what serves a GPU with a tenth of the modules of another, or less, is
told.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.facts import gpus
from ltocompat.facts.gpus import find_gpu, gpus_in_use
from ltocompat.model.arch import SmArch
from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup
from ltocompat.model.image import KERNEL_KINDS, ImageKind
from ltocompat.model.location import Location
from ltocompat.model.target import Gpu
from ltocompat.model.verdict import Finding, Level, Verdict
from ltocompat.model.words import function_name, truncate_list
from ltocompat.rules import artifact_code
from ltocompat.rules.builtin_rules import SPARSE_COVERAGE
from ltocompat.rules.engine.arch_parts import (
    OF_ARCH,
    archs_of,
    names_an_arch,
    native_to,
    one_arch,
    picks_no_kernels,
    tied_by_suffix,
)
from ltocompat.rules.engine.engine import Case, Engine
from ltocompat.rules.engine.findings import finding_by_engine
from ltocompat.rules.engine.module_verdict import GroupVerdict
from ltocompat.rules.selection import Selection, pick_for_driver

# The lowest part that a library has for a GPU that its documentation names is 36 modules beside 241
# (cuSPARSELt 0.8.1, sm_80); those with a tenth or less stand in the rule's source.
_PART = 10
_MOST_TOLD = 5
_NAME = 60  # columns of a kernel's name
_MOST_READ = 30_000  # modules of an artifact whose kernels are read; libtorch_cuda has some 4,000
# Namespaces of CUB and Thrust name the architectures that their file was compiled for.
_NAMESPACE = re.compile(r"\d*(CUB|THRUST)_[\d_]+_NS")

_EMPTY = "EmptyKernel"  # of CUB, which asks it for the architecture that was compiled, and no more


class UnservedLibrary(Struct, frozen=True):
    """A library of a package without any kernel for a GPU.

    Attributes:
        groups: its modules.
        kernels: the names of its kernels.
    """

    groups: tuple[ModuleGroup, ...]
    kernels: frozenset[str]


class KernelCoverage(Struct, frozen=True):
    """The kernels with code for a GPU, compared with the GPU that has the most kernels.

    Attributes:
        best: the architecture with the most kernels.
        every: number of its kernels.
        lost: names of the kernels without code for this GPU.
        missing: the modules with these kernels.
        libraries: the libraries without any kernel for this GPU.
    """

    best: SmArch
    every: int
    lost: tuple[str, ...]
    missing: tuple[ModuleGroup, ...]
    libraries: tuple[UnservedLibrary, ...]


def unevenly_served(summary: ArtifactSummary, wanted: Iterable[Gpu] | None) -> dict[Location, bool]:
    """Return the modules whose kernels show what a GPU loses, or which module replaces another.

    The value is True if the images of a module may have different kernels.

    Args:
        summary: the artifact, from its headers.
        wanted: the requested GPUs; None for all in use.
    """
    groups = [group for group in summary.groups if _counts(group)]
    asked = gpus_in_use()[:-1] if wanted is None else tuple(wanted)
    served = [archs_of(group.signature) for group in groups]
    anywhere = frozenset[int]().union(*served)
    numbers = ((gpu.arch.number, gpu) for gpu in asked)
    kinds = [(n, anywhere if n in anywhere else _of_kind(gpu, groups)) for n, gpu in numbers]
    uneven = any(group.signature.uneven for group in groups) or any(
        number not in archs and not archs.isdisjoint(kind)
        for archs, group in zip(served, groups, strict=True)
        for number, kind in kinds
        if not tied_by_suffix(group.signature, number)
    )
    split = any(one_arch(group.signature) for group in groups) and any(
        {ImageKind.SASS, ImageKind.PTX} <= group.signature.kinds for group in groups
    )
    if not (uneven or split) or summary.single_link or summary.modules > _MOST_READ:
        return {}
    return {place: group.signature.uneven for group in groups for place in group.places}


class Kernels:
    """The kernels of an artifact, and the kernels that each GPU loses, with a cache.

    Args:
        groups: its modules, with the names of their kernels.
        engine: the engine with its cache.
    """

    def __init__(self, groups: Sequence[ModuleGroup], engine: Engine) -> None:
        parts = [(number, part) for number, group in enumerate(groups) for part in _by_file(group)]
        self._of = [number for number, _ in parts]
        self._groups = [part for _, part in parts]
        self._engine = engine
        self._names = [*map(names_of, self._groups)]
        self._untied = [*map(_untied, self._groups)]
        self._found: dict[tuple[object, ...], KernelCoverage | None] = {}
        self._by_image = [*map(_names_by_image, self._groups)]

    @classmethod
    def of(cls, summary: ArtifactSummary, engine: Engine) -> Kernels | None:
        """Return the kernels of an artifact; None if they were not read."""
        read = not summary.single_link and any(group.kernels for group in summary.groups)
        return cls(summary.groups, engine) if read else None

    def on(self, judged: Sequence[GroupVerdict], gpu: Gpu | None) -> KernelCoverage | None:
        """Return the kernels that a GPU loses; None if it loses none, or has none.

        Args:
            judged: the modules, in their order, with their verdicts.
            gpu: the GPU; None if the target names none.
        """
        if gpu is None:
            return None
        serving = tuple(_serving(judged[number]) for number in self._of)
        verdicts = [judged[number].module_verdict for number in self._of]
        elsewhere = Selection.OTHER_ROUTE
        # What has no kernels for a GPU neither serves it nor lacks code for it.
        counted = tuple(
            None if each.without_kernels and not serves else serves or each.selection is elsewhere
            for serves, each in zip(serving, verdicts, strict=True)
        )
        key = gpu.arch.number, serving, counted
        if key not in self._found:
            self._found[key] = self._coverage(gpu, serving, counted)
        return self._found[key]

    def _coverage(
        self, gpu: Gpu, serving: tuple[bool, ...], counted: tuple[bool | None, ...]
    ) -> KernelCoverage | None:
        numbers = compress(range(len(self._groups)), serving)
        every = [self._names_for(number, gpu.arch.number) for number in numbers]
        here = frozenset[str]().union(*every)
        if not any(serving):
            return None
        chosen = files_that_choose(self._groups, gpu)
        told = [
            group.example.members not in chosen
            and not tied_by_suffix(group.signature, gpu.arch.number)
            for group in self._groups
        ]
        others = sorted(_of_kind(gpu, self._groups) - {gpu.arch.number})
        best, there = max(
            ((arch, self._for_arch(arch, gpu, told)) for arch in others),
            # What is guarded is mostly guarded from older ones, which may not have it either.
            key=lambda pair: (len(pair[1]), pair[0] > gpu.arch.number),
            default=(gpu.arch.number, frozenset[str]()),
        )
        there = there if here else here  # else nothing that is registered serves
        stem = self._engine.stem
        templates = frozenset(map(stem, here))
        pairs = compress(zip(self._groups, self._untied, strict=True), told)
        several = (names for group, names in pairs if not one_arch(group.signature))
        shared = frozenset[str]().union(*several)
        # A part for one architecture has no counterpart for another, but for its template.
        lost = frozenset(
            name for name in there - here if name in shared or stem(name) not in templates
        )
        libraries = tuple(self._unserved_libraries(counted, templates))
        if not lost and not libraries:
            return None
        named = zip(self._groups, self._names, strict=True)
        missing = tuple(group for group, names in named if not names.isdisjoint(lost))
        arch = find_gpu(f"sm_{best}").arch
        return KernelCoverage(arch, len(there), tuple(sorted(lost)), missing, libraries)

    def _for_arch(self, arch: int, gpu: Gpu, told: Sequence[bool]) -> frozenset[str]:
        """The kernels that modules have for an architecture, without those that are tied to it.

        Whichever others are asked, images without kernels are known where this GPU gets one.
        """
        found = (
            names & self._names_for(number, arch)
            for number, (group, names) in enumerate(zip(self._groups, self._untied, strict=True))
            if told[number] and names and arch in self._archs_of(group)
            if not group.signature.guarded
            or not all(picks_no_kernels(group.signature, n) for n in (gpu.arch.number, arch))
        )
        return frozenset[str]().union(*found)

    def _names_for(self, number: int, arch: int) -> frozenset[str]:
        """The kernels that modules have in their image for an architecture."""
        signature, by_image = self._groups[number].signature, self._by_image[number]
        picked = pick_for_driver(replace(signature, guarded=False), arch).images if by_image else ()
        pairs = zip(signature.images, by_image, strict=False)
        found = [names for image, names in pairs if image in picked]
        return frozenset[str]().union(*found) if found else self._names[number]

    def _archs_of(self, group: ModuleGroup) -> frozenset[int]:
        """The architectures that modules have images for, whatever other targets made known."""
        return self._engine.archs_of(replace(group.signature, guarded=False))

    def _unserved_libraries(
        self, counted: tuple[bool | None, ...], here: frozenset[str]
    ) -> Iterator[UnservedLibrary]:
        """Libraries of which nothing is for a GPU that others are served on.

        Neither those whose name, kernels or suffixes tie them to another architecture, nor those
        with mostly kernels that another library has for the GPU. Fragments serve no library: its
        launches are of the kernels that it registers.
        """
        served, files = set(), dict[tuple[str, ...], list[ModuleGroup]]()
        for group, serves in zip(self._groups, counted, strict=True):
            if serves and not _is_fragment(group):
                served |= {place.members for place in group.places}
            elif serves is False and group.kernels and self._archs_of(group):
                files.setdefault(group.example.members, []).append(group)
        for file, groups in files.items():
            name = groups[0].example.innermost
            if file in served or OF_ARCH.search(posixpath.basename(name)):
                continue
            kernels = frozenset[str]().union(*map(_untied, groups))
            stems = frozenset(map(self._engine.stem, kernels))
            if 2 * len(stems & here) < len(stems):
                yield UnservedLibrary(tuple(groups), kernels)


def findings_of_coverage(
    case: Case, judged: Sequence[GroupVerdict], found: KernelCoverage | None
) -> Iterator[Finding]:
    """Yield a warning about the kernels that a GPU loses, or about few modules for it."""
    gpu = case.gpu
    if gpu is None:
        return
    if found is None:
        yield from _sparse_coverage(case.engine, judged, gpu)
    elif found.lost:
        lost = [*dict.fromkeys(function_name(kernel, _NAME) for kernel in found.lost)]
        yield finding_by_engine(
            SPARSE_COVERAGE,
            Verdict.OK,
            f"{found.every - len(found.lost):,} of {found.every:,} kernels for "
            f"{found.best} also have code for {gpu.arch}; missing: "
            f"{truncate_list(lost, _MOST_TOLD)}",
            example=found.missing[0].example if found.missing else None,
            level=Level.WARNING,
            headline=f"{len(found.lost):,} of {found.every:,} kernels have no code for {gpu.arch}",
            places=tuple(place for group in found.missing for place in group.places),
            kernels=found.lost,
        )


def files_that_choose(groups: Iterable[ModuleGroup], gpu: Gpu) -> frozenset[tuple[str, ...]]:
    """Return the libraries that select kernels for this GPU themselves, and have SASS for it.

    For a GPU newer than a library, or not in its documentation, kernels count as lost.
    """
    found = set()
    for group in groups:
        if not group.signature.registered:
            continue
        # Imported here: a bare image or fatbin lies in no library.
        from ltocompat.facts.libraries import dispatching_from

        for place in {place.members: place for place in group.places}.values():
            first = dispatching_from(posixpath.basename(place.innermost))
            if first is not None and first <= gpu.arch.number and native_to(group.signature, gpu):
                found.add(place.members)
    return frozenset(found)


def _by_file(group: ModuleGroup) -> Iterator[ModuleGroup]:
    """The modules of a group in each innermost file."""
    for file in dict.fromkeys(place.members for place in group.places):
        yield group.part([place.members == file for place in group.places])


def _outside(group: ModuleGroup, files: frozenset[tuple[str, ...]]) -> Iterator[ModuleGroup]:
    """The modules of a group that lie in none of these files; equal ones of several are a group."""
    inside = [place.members in files for place in group.places]
    if not any(inside):
        yield group
    elif not all(inside):
        yield group.part([not each for each in inside])


def names_of(group: ModuleGroup) -> frozenset[str]:
    """Return the kernels of modules, as far as they were read."""
    return frozenset(_NAMESPACE.sub(r"\1", name) for names in group.kernels for name in names)


def _names_by_image(group: ModuleGroup) -> Sequence[frozenset[str]]:
    """The kernels of each image; none if all images have the same."""
    count = len(group.signature.images) if any(group.by_image) else 0
    rows = [*zip(group.kernels, group.by_image, strict=False)]
    lists = [[tuple(r[n]) if len(r) == count else k for k, r in rows] for n in range(count)]
    return [names_of(replace(group, kernels=each)) for each in lists]


def _untied(group: ModuleGroup) -> frozenset[str]:
    """The kernels of modules that no name and no suffix ties to an architecture."""
    names = () if tied_by_suffix(group.signature) else names_of(group)
    return frozenset(name for name in names if not names_an_arch(name) and _EMPTY not in name)


def _counts(group: ModuleGroup) -> bool:
    """Return whether the runtime loads these modules, and they may have kernels."""
    code = [image for image in group.signature.images if image.kind in KERNEL_KINDS]
    may_have = any(image.has_kernels is not False for image in code)
    return bool(group.signature.registered and may_have)


def _is_fragment(group: ModuleGroup) -> bool:
    """Return whether modules are LTO-IR that a library links by its own code."""
    return not group.signature.registered and {*artifact_code.kinds((group,))} == {ImageKind.LTOIR}


def _serving(each: GroupVerdict) -> bool:
    """Return whether modules serve a GPU, if only with kernels that return for every GPU."""
    found = each.module_verdict
    served = each.for_gpu and found.selection not in (Selection.DAMAGED, Selection.WITHOUT_KERNELS)
    return served or any(image.empty_kernels for image in found.picked)


def _of_kind(gpu: Gpu, groups: Iterable[ModuleGroup]) -> frozenset[int]:
    """The architectures in use that are integrated as a GPU is, or discrete as it is.

    All of them, where no image is made for one of these: what serves it was made for the others.
    """
    integrated, used = gpus.is_tegra(gpu.arch.number), gpus_in_use()[:-1]
    found = frozenset(each.arch.number for each in used if each.tegra is integrated)
    images = (image for group in groups for image in group.signature.images)
    made = any(image.arch is not None and image.arch.number in found for image in images)
    return found if made else frozenset(each.arch.number for each in used)


def _sparse_coverage(engine: Engine, judged: Sequence[GroupVerdict], gpu: Gpu) -> Iterator[Finding]:
    """A note where a tenth of the modules that are for another GPU, or less, are for this one.

    Which modules have kernels is known of those that are for this GPU and of those that are not;
    which image of another GPU has them is not read for its sake.
    """
    chosen = files_that_choose((each.group for each in judged), gpu)
    counted = [
        (part, _serving(each))
        for each in judged
        if not each.module_verdict.without_kernels
        for part in _outside(each.group, chosen)
    ]
    serving = [part for part, serves in counted if serves]
    here = sum(part.count for part in serving)
    if not here or here * _PART > sum(part.count for part, _ in counted):
        return
    parts = Counter[int]()
    for part, _ in counted:
        parts.update(dict.fromkeys(engine.archs_of(part.signature), part.count))
    most = max(parts.values(), default=0)
    if here * _PART <= most:
        best = find_gpu(f"sm_{min(arch for arch in parts if parts[arch] == most)}").arch
        number = f"{here:,} module{'s' * (here > 1)} with kernels {'are' if here > 1 else 'is'}"
        yield finding_by_engine(
            SPARSE_COVERAGE,
            Verdict.OK,
            f"{number} for {gpu.arch}, and {most:,} are for {best}: "
            f"the code was probably not built for {gpu.arch}",
            evidence="architectures in entry headers",
            **artifact_code.counted(serving),
            level=Level.WARNING,
        )

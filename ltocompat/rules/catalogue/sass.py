"""SASS: which GPUs run it, and which drivers load it (SASS)."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.facts import gpus
from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup
from ltocompat.model.image import ImageKind
from ltocompat.model.signature import ImageSignature
from ltocompat.model.target import Gpu
from ltocompat.model.verdict import WHOLE_ARTIFACT, Level, Route, Verdict
from ltocompat.rules import artifact_code, floors, image_helpers, makers
from ltocompat.rules.constraints import FixedVerdict, at_least, driver_of_cuda, unknown_version
from ltocompat.rules.image_helpers import per_image
from ltocompat.rules.linker_traits import newest_traits
from ltocompat.rules.rule import Component, Problem, Requirement, Subject, rule
from ltocompat.rules.selection import runs, same_arch


@rule("SASS-01", ImageKind.SASS)
def sass_of_another_gpu(image: ImageSignature, gpu: Gpu, _: Route) -> str | None:
    """SASS runs on its own major compute capability, from its own minor on."""
    arch = image.arch
    if arch is None or arch.suffix:
        return None
    mine, number = same_arch(arch.number), same_arch(gpu.arch.number)
    if mine // 10 == number // 10 and mine <= number:
        return None
    return f"runs only on compute capability {mine // 10}.{mine % 10} or a higher {mine // 10}.x"


_AMPERE = 8


@rule("SASS-02", ImageKind.SASS)
def sass_across_tegra(image: ImageSignature, gpu: Gpu, route: Route) -> str | None:
    """SASS of discrete GPUs and of integrated ones (Tegra) is not interchangeable."""
    arch = image.arch
    if arch is None or arch.suffix:
        return None
    mine, number = same_arch(arch.number), same_arch(gpu.arch.number)
    takes = runs(arch, number) or (route is Route.LINK and image_helpers.links(image, gpu))
    if mine // 10 != number // 10 or mine > number or takes:
        return None
    sort = "integrated" if gpus.is_tegra(mine) else "discrete"
    other = "an integrated" if gpus.is_tegra(number) else "a discrete"
    return f"is for {sort} GPUs, and sm_{number} is {other} one"


@rule("SASS-02")
def sass_across_tegra_within_ampere(subject: Subject) -> Iterator[Requirement]:
    """SASS of an Orin runs on another one, or on discrete GPUs of 8.x, without a promise."""
    gpu = subject.gpu.arch.number
    for image in image_helpers.loaded(subject, ImageKind.SASS):
        if image.arch is None or image.arch.number == gpu:
            continue
        numbers = (image.arch.number, gpu)
        if any(gpus.is_tegra(number) and number // 10 == _AMPERE for number in numbers):
            yield Requirement(
                FixedVerdict(Verdict.UNDOCUMENTED),
                f"SASS {image.arch} on {image_helpers.real(subject.gpu)}",
                remedy=f"add SASS for {image_helpers.real(subject.gpu)} itself",
            )


# SASS with suffix a runs on exactly one compute capability.
sass_for_one_gpu = rule("SASS-03", ImageKind.SASS)(image_helpers.not_this_arch)


@rule("SASS-03")
def sass_for_one_gpu_linked_for_others(subject: Subject) -> Iterator[Requirement]:
    """Some linkers accept SASS with suffix a for another target, against the documents."""
    target = subject.gpu.arch
    for image in image_helpers.linked(subject, ImageKind.SASS):
        arch = image.arch
        own = arch is not None and same_arch(arch.number) == same_arch(target.number)
        if arch is None or arch.suffix != "a" or (own and target.suffix == "a"):
            continue
        minds_suffix = (subject.linker or newest_traits()).minds_suffix_of_sass
        links = target.suffix == "a" if minds_suffix else own
        refused = image.entry_arch is not None and not links
        yield Requirement(
            FixedVerdict(Verdict.FAIL if refused else Verdict.UNDOCUMENTED),
            f"SASS {arch}{_in_entry(image)} for {target}",
            remedy=f"link for {arch}",
            short="NVIDIA documents that it always fails",
        )


def _in_entry(image: ImageSignature) -> str:
    return "" if image.entry_arch is None else f" in an entry for {image.entry_arch}"


@rule("SASS-03")
def sass_for_one_gpu_loaded_by_others(subject: Subject) -> Iterator[Requirement]:
    """Entry headers decide the picked image, and some omit the suffix of their SASS."""
    gpu = subject.gpu.arch.number
    for image in image_helpers.loaded(subject, ImageKind.SASS):
        if image.arch is not None and image.entry_arch is not None and not runs(image.arch, gpu):
            yield Requirement(
                FixedVerdict(Verdict.FAIL),
                f"SASS {image.arch}{_in_entry(image)} on {image_helpers.real(subject.gpu)}",
                f"the driver picks the entry, but its cubin is only for {image.arch} (error 209)",
                remedy=f"add SASS for {image_helpers.real(subject.gpu)} itself",
                evidence="suffix of the entry, and of the cubin in it (.nv.compat, notes, e_flags)",
            )


# SASS with suffix f runs on later GPUs of its family only.
sass_for_a_family = rule("SASS-04", ImageKind.SASS)(image_helpers.not_this_family)


@per_image("SASS-07", Route.LOAD, ImageKind.SASS)
def sass_of_13_below_580(image: ImageSignature, _: Subject) -> Iterator[Requirement]:
    """Cubins in the form of CUDA 13 are documented for drivers from 580 on."""
    if makers.only_cuda_13_writes(image):
        yield Requirement(
            at_least(floors.driver("generation-2-driver")), "SASS in the format of CUDA 13"
        )


@rule("SASS-08")
def relocatable_sass_loaded(subject: Subject) -> Iterator[Requirement]:
    """A relocatable cubin loads, but its undefined symbols fail later."""
    if subject.signature.registered:
        return
    for image in image_helpers.loaded(subject, ImageKind.SASS):
        if image.relocatable:
            verdict, consequence, evidence = _relocatable(image)
            yield Requirement(
                FixedVerdict(verdict),
                "relocatable SASS",
                consequence,
                evidence=f"type ET_REL in the ELF header of the cubin{evidence}",
            )


def _relocatable(image: ImageSignature) -> tuple[Verdict, str, str]:
    """Judge a relocatable cubin that is loaded: verdict, consequence, evidence."""
    symbols = image.symbols
    if symbols is None:
        text = "it works only if no function is left undefined (otherwise error 500)"
        return Verdict.UNKNOWN, text, ""
    if symbols.needed_by_kernels:
        names = image_helpers.listed(symbols.needed_by_kernels)
        text = (
            f"its kernels call {names}, which it doesn't define: eager loading fails with error "
            "500 (named symbol not found); lazy loading (the default since CUDA 12.2) fails when "
            "such a kernel is loaded"
        )
        return Verdict.FAIL, text, "; its symbols and relocations"
    if symbols.undefined:
        names = image_helpers.listed(symbols.undefined)
        text = f"it leaves {names} undefined, but no kernel visibly needs them"
        return Verdict.UNKNOWN, text, "; its symbols and relocations"
    if image.has_kernels is False:
        text = (
            "eager loading may refuse it, since it has no kernels (error 200); lazy loading (the "
            "default since CUDA 12.2) accepts it"
        )
        return Verdict.UNKNOWN, text, "; its symbols"
    text = (
        "it has no undefined names, so it loads; NVIDIA documents it only as input of a device link"
    )
    return Verdict.UNDOCUMENTED, text, "; its symbols"


# The architectures that nvcc compiles for without -arch, and the majors of CUDA that do.
_DEFAULTS = {52: (11, 12), 75: (13,)}


@rule("SASS-09")
def default_architecture_alone(summary: ArtifactSummary) -> Iterator[Problem]:
    """Without -arch, nvcc compiles only for the oldest GPUs of its release."""
    groups = artifact_code.with_kernels(summary)
    found = set(artifact_code.kinds(groups))
    signatures = [group.signature for group in groups]
    numbers = {arch.number for kind in found for arch in artifact_code.archs(signatures, kind)}
    in_host_code = all(each.registered or each.needs_device_link for each in signatures)
    if summary.skipped_count or not in_host_code or len(numbers) != 1:
        return
    (number,) = numbers
    if found != {ImageKind.SASS, ImageKind.PTX} or not _made_by_default(groups, number):
        return
    yield Problem(
        Verdict.OK,
        f"all code is for sm_{number}, nvcc's default without -arch: on newer GPUs, the driver "
        "compiles the PTX at load, and the code can't use newer instructions",
        headline=f"all code is for sm_{number}, as if -arch was forgotten",
        level=Level.WARNING if number == min(_DEFAULTS) else Level.NOTE,
        **artifact_code.counted(groups),
        subject=WHOLE_ARTIFACT,
    )


def _made_by_default(groups: list[ModuleGroup], number: int) -> bool:
    """Return whether every maker that is known is a release whose nvcc has this default."""
    majors = {
        release.major
        for group in groups
        for image in group.signature.images
        for maker in image.made_by
        for release in maker.releases
    }
    return bool(majors) and majors <= set(_DEFAULTS.get(number, ()))


@per_image("SASS-11", Route.LOAD, ImageKind.SASS)
def linked_sass_newer_than_driver(image: ImageSignature, subject: Subject) -> Iterator[Requirement]:
    """A driver links SASS of device-linked objects only up to its own CUDA release."""
    if not image.prelinked:
        return
    cuda = makers.writer(image)
    known = cuda is not None and cuda >= floors.linker("oldest-linked-sass")
    yield Requirement(
        driver_of_cuda(cuda) if cuda and known else unknown_version(Component.DRIVER),
        f"relocatable SASS of CUDA {cuda}" if cuda else "relocatable SASS",
        remedy=f"device-link for {image_helpers.real(subject.gpu)}, too, or update to a "
        "driver that supports the CUDA release of the SASS",
        evidence=makers.evidence(image),
    )

"""Device links at build time: nvcc -dlink and nvlink (BLD)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ltocompat.facts import horizon
from ltocompat.model.arch import Release
from ltocompat.model.image import HostBinary, ImageKind, Role
from ltocompat.model.signature import ImageSignature
from ltocompat.model.symbols import declared_otherwise, defined_nowhere, defined_twice
from ltocompat.model.target import Gpu
from ltocompat.model.verdict import Route, Verdict
from ltocompat.model.words import truncate_list
from ltocompat.rules import floors, image_helpers, makers
from ltocompat.rules.constraints import (
    FIRST_NVJITLINK,
    FixedVerdict,
    Informational,
    at_least,
    linker_of_cubin,
    tolerated_from,
)
from ltocompat.rules.image_helpers import per_image
from ltocompat.rules.link_selection import refused_across_family
from ltocompat.rules.rule import Component, Constraint, Link, Problem, Requirement, Subject, rule

if TYPE_CHECKING:
    from ltocompat.model.environment import Environment

_WRAPPER = "__fatbinwrap_"
_DEVICE_RUNTIME = "_cuda_device_runtime_"
_LOADED = ("executable", "shared library")
_HOPPER = 90


@rule("BLD-01")
def device_link_missing(host: HostBinary) -> Iterator[Requirement]:
    """Relocatable device code needs a device link before the host's linker."""
    names = host.undefined_registrations
    wraps = [name for name in names if name.startswith(_WRAPPER)]
    final = host.type in _LOADED
    for found, what, remedy in (
        (
            [name for name in names if name.startswith("__cudaRegisterLinkedBinary_")],
            "the object needs a device link",
            "link the device code first (nvcc -dlink, CUDA_RESOLVE_DEVICE_SYMBOLS)",
        ),
        (
            [name for name in wraps if _DEVICE_RUNTIME not in name],
            "the result of a device link needs the objects of that link",
            "pass every object of the device link to the host linker",
        ),
        (
            [name for name in wraps if _DEVICE_RUNTIME in name],
            "the result of a device link needs -lcudadevrt",
            "pass -lcudadevrt to the device link and to the host link",
        ),
    ):
        if found:
            yield Requirement(
                FixedVerdict(Verdict.FAIL) if final else Informational(),
                f"undefined {truncate_list(found, 1)}",
                f"no device link was made, and the loader says: undefined symbol: {found[0]}"
                if final
                else f"{what}; otherwise, the linker says: undefined reference to `{found[0]}'",
                remedy=remedy,
                evidence=f"undefined symbol {found[0]}",
            )


_GENERATION_2_FOR_ALL = 13
_NEW_IN_12_9, _TAKEN_SINCE = (103, 121), Release(13, 3)


@per_image("BLD-02", Route.LINK, ImageKind.SASS)
def sass_newer_than_linker(image: ImageSignature, subject: Subject) -> Iterator[Requirement]:
    """A linker accepts SASS that is not newer than itself."""
    if not subject.offline and refused_across_family(image, subject.gpu.arch):
        yield Requirement(
            FixedVerdict(Verdict.FAIL),
            f"{image} in a fatbin for {subject.gpu.arch}",
            "nvJitLink picks this SASS for its family, and then refuses the SASS: the fatbin "
            f"entry doesn't list {subject.gpu.arch}",
            remedy="link the bare cubin, or compile SASS for the target",
        )
    cuda = makers.writer(image)
    if cuda is None:
        return
    of_hopper = image.arch is not None and image.arch.number == _HOPPER
    if subject.offline and of_hopper and cuda < FIRST_NVJITLINK:
        yield Requirement(
            FixedVerdict(Verdict.FAIL),
            f"SASS of CUDA {cuda}",
            "nvlink says that this SASS must be recompiled with toolkit >= Cuda 12.0",
            remedy="compile the SASS with CUDA 12.0 or newer",
            evidence=makers.evidence(image),
        )
        return
    if cuda < floors.linker("oldest-linked-sass"):
        yield Requirement(
            FixedVerdict(Verdict.UNKNOWN, Component.LINKER, trial_decides=True),
            f"SASS of CUDA {cuda}",
            "in trials, nvJitLink crashed on relocatable SASS of CUDA 7.5, 9.0 and 9.2 "
            "(segmentation fault), and linked SASS of CUDA 11.1",
            remedy="compile the SASS with CUDA 11.1 or newer",
            evidence=makers.evidence(image),
        )
        return
    tolerated = makers.only_cuda_13_writes(image)
    untried = horizon.of_linker(cuda).beyond
    yield Requirement(
        linker_of_cubin(
            cuda,
            tolerated=tolerated,
            doubtful=untried if tolerated else _is_taken_by_some(image, cuda),
        ),
        f"SASS of CUDA {cuda}",
        evidence=makers.evidence(image),
        short="NVIDIA documents SASS only up to the linker's own release",
    )


def _is_taken_by_some(image: ImageSignature, cuda: Release) -> bool:
    """Return whether some linkers of 12.x were seen to take SASS of 13.x from sm_100 on.

    12.8 links functions of it and 12.9 refuses them; 12.9 links code for sm_103 and sm_121 that
    13.3 to 13.5 compiled, and no other.
    """
    small = image.has_kernels is False and cuda.major >= _GENERATION_2_FOR_ALL
    known = image.arch is not None and image.arch.number in _NEW_IN_12_9
    return small or (known and cuda >= _TAKEN_SINCE)


_LEFT_OUT = "nvlink leaves them out, with a warning at most"


@rule("BLD-03")
def left_out_of_a_device_link(link: Link) -> Iterator[Requirement]:
    """Objects without code for the target: nvlink skips them, nvJitLink refuses them."""
    if not link.left_out or not link.certain:
        return  # artifact_findings speaks of what is no single link
    refused = (FixedVerdict(Verdict.FAIL), "nvJitLink refuses the link because of them")
    constraint, consequence = _without(link) if link.offline else refused
    objects = f"objects without code for {'the target' if link.gpu is None else link.gpu.arch}"
    loose = not any(image.in_fatbin for image in link.left_out)
    yield Requirement(
        constraint,
        "PTX texts in separate files" if loose else objects,
        consequence,
        remedy="compile the PTX to relocatable cubins (ptxas -c)"
        if loose
        else "compile these objects for the target, too",
    )


def _without(link: Link) -> tuple[Constraint, str]:
    """The outcome of a device link that goes on without some of its objects."""
    left_out = [image.symbols for image in link.left_out]
    taken = [image.symbols for image, _ in link.images]
    there = {name for symbols in taken if symbols for name in symbols.kernels}
    kernels = sorted({n for symbols in left_out if symbols for n in symbols.kernels} - there)
    hidden = any(symbols is None for symbols in left_out)
    blind = any(symbols is None for symbols in taken)  # LTO-IR
    if kernels and not blind:
        launched = f"launching {image_helpers.listed(kernels)} fails with error 500"
        lost = f"{launched}, named symbol not found" if there else "no kernel is left"
        return FixedVerdict(Verdict.FAIL), f"{_LEFT_OUT}; {lost}"
    if kernels or hidden:
        return (
            FixedVerdict(Verdict.UNKNOWN, trial_decides=not hidden),
            f"{_LEFT_OUT}; names in LTO-IR can't be read, so a kernel may be lost",
        )
    if blind and any(symbols and symbols.callable for symbols in left_out):
        return (
            FixedVerdict(Verdict.UNKNOWN, trial_decides=True),
            f"{_LEFT_OUT}; LTO-IR may call their functions, but names in LTO-IR can't be read",
        )
    return Informational(warns=True), f"{_LEFT_OUT}; no other input needs them"


@rule("BLD-05")
def lto_on_one_side(subject: Subject) -> Iterator[Requirement]:
    """Link-time optimisation needs -dlto at the compilation and at the device link."""
    if subject.linker is not None and not subject.linker.lto:
        for _ in image_helpers.linked(subject, ImageKind.LTOIR):
            yield Requirement(FixedVerdict(Verdict.FAIL), "LTO-IR in a link without -lto")
        return
    stored = (image for image in subject.signature.images if image.prelinked)
    # What comes out of LTO-IR, ptxas alone signs.
    loaded = image_helpers.loaded(subject, ImageKind.SASS)
    signed = {maker.role for image in loaded for maker in image.made_by}
    if subject.signature.needs_device_link and any(image_helpers.linked(subject, ImageKind.LTOIR)):
        found, consequence = "LTO-IR in an object", _without_dlto(subject)
    elif any(image.kind is ImageKind.LTOIR for image in stored) and Role.LINKER in signed:
        found = "SASS that nvlink linked"
        consequence = "the device link used only a part of its objects' LTO-IR, or no LTO-IR"
    else:
        return
    remedy = "pass -dlto to every compilation and to the device link"
    yield Requirement(Informational(), found, consequence, remedy=remedy)


def _without_dlto(subject: Subject) -> str:
    for kind, name in ((ImageKind.SASS, "SASS"), (ImageKind.PTX, "PTX")):
        if kind in subject.signature.kinds:
            return f"a device link without -dlto silently uses the {name} instead"
    return "a device link without -dlto says: nvlink fatal : LTO objects found, use -dlto"


_LIBNVVM = "nvvm/lib64"


@rule("BLD-06")
def nvlink_without_libnvvm(environment: Environment) -> Iterator[Problem]:
    """With -dlto, nvlink opens the libnvvm of its own toolkit."""
    known = [compiler.path for compiler in environment.compilers if compiler.library == "nvvm"]
    for toolkit in environment.toolkits:
        inside = os.path.join(toolkit.root, "nvvm", "")
        if not toolkit.nvlink or any(path.startswith(inside) for path in known):
            continue
        yield Problem(
            Verdict.OK,
            f"the toolkit in {toolkit.root} has nvlink, but no libnvvm in {_LIBNVVM}: with this "
            "toolkit, device links with -dlto fail (elfLink linker library load error)",
            remedy=f"install libnvvm in {os.path.join(toolkit.root, _LIBNVVM)}, or pass "
            "-nvvmpath=FOLDER to nvlink, where FOLDER/lib64 has libnvvm",
            evidence=os.path.join(toolkit.root, _LIBNVVM),
        )


@rule("BLD-08", ImageKind.SASS)
def final_sass_linked(image: ImageSignature, _: Gpu, route: Route) -> str | None:
    """A linker accepts only relocatable SASS."""
    if route is not Route.LINK or image.relocatable is not False:
        return None
    return "is not relocatable: nvJitLink before 12.6 refuses it; newer releases ignore it silently"


@rule("BLD-09")
def defined_twice_in_a_link(link: Link) -> Iterator[Requirement]:
    """A link accepts one definition of each function and variable."""
    known = [(image.symbols, count) for image, count in link.images if image.symbols is not None]
    names = defined_twice(known) if link.certain else ()
    if not names:
        return
    needed = sorted({*names} & _called_by_hopper(link))
    tolerated = tolerated_from(
        floors.linker("duplicate-linker"), Verdict.UNKNOWN if needed else Verdict.UNDOCUMENTED
    )
    newer = (
        f"newer nvJitLinks sometimes fail if SASS for sm_90 calls {needed[0]}"
        if needed
        else "newer nvJitLinks use the first definition, and only print an error"
    )
    yield Requirement(
        FixedVerdict(Verdict.FAIL) if link.offline else tolerated,
        f"a second definition of {image_helpers.listed(names)}",
        f"nvlink and nvJitLink before 12.6 refuse the link; {newer}",
        short="the linker uses the first definition, and only prints an error",
    )


def _called_by_hopper(link: Link) -> frozenset[str]:
    """Functions that SASS of sm_90 leaves to other inputs."""
    return frozenset(
        name
        for image, _ in link.images
        if image.symbols is not None
        and image.kind is ImageKind.SASS
        and image.arch is not None
        and image.arch.number == _HOPPER
        for name in image.symbols.undefined_functions
    )


@rule("BLD-10")
def defined_nowhere_in_a_link(link: Link) -> Iterator[Requirement]:
    """A link has a definition of each function that its inputs call."""
    missing = defined_nowhere([i.symbols for i, _ in link.images if i.symbols is not None])
    names = sorted({*missing.needed_by_kernels, *missing.undefined_variables})
    listed = image_helpers.listed(names) if names else "LTO-IR"
    if link.certain and any(image.kind is ImageKind.LTOIR for image, _ in link.images):
        yield Requirement(
            FixedVerdict(Verdict.UNKNOWN, trial_decides=True),
            listed,
            "no PTX or SASS of the link defines it, and names in LTO-IR can't be read"
            if names
            else "names in it can't be read; it may call undefined functions or define some twice",
        )
    elif link.certain and names:
        yield Requirement(FixedVerdict(Verdict.FAIL), listed, "no input of the link defines it")
    elif names:
        yield Requirement(
            Informational(),
            listed,
            remedy="name all inputs of the link, and add --together",
            evidence="symbols of the cubins and PTX",
        )


@rule("BLD-14")
def region_behind_the_first(link: Link) -> Iterator[Requirement]:
    """A linker reads only the first region of an object's relocatable code."""
    if not link.unread:
        return
    there = {n for image, _ in link.images if image.symbols for n in image.symbols.kernels}
    behind = {n for image in link.unread if image.symbols for n in image.symbols.kernels}
    kernels = sorted(behind - there)
    hidden = [
        image
        for image in link.unread
        if image.has_kernels is not False and (image.symbols is None or not link.certain)
    ]
    constraint: Constraint = Informational(warns=True)
    consequence = "linkers ignore it, so calls to it from other code stay undefined"
    if kernels or hidden:
        lost = bool(kernels) or any(image.kind is not ImageKind.LTOIR for image in hidden)
        constraint = FixedVerdict(Verdict.FAIL if lost else Verdict.UNKNOWN, trial_decides=not lost)
        what = image_helpers.listed(kernels) if kernels else "any kernel in it"
        consequence = f"linkers ignore it: the link succeeds without {what}"
    yield Requirement(constraint, "code after the first region of an object", consequence)


@rule("BLD-15")
def archive_for_the_first_linker(link: Link) -> Iterator[Requirement]:
    """The first nvJitLink accepts no archives."""
    if link.archived and link.certain and not link.offline:
        yield Requirement(at_least(floors.linker("archive-linker")), "an archive of objects")


@rule("BLD-16")
def declared_otherwise_in_a_link(link: Link) -> Iterator[Requirement]:
    """The inputs of a link agree on the result and parameters of a function."""
    known = [image.symbols for image, _ in link.images if image.symbols is not None]
    if names := declared_otherwise(known) if link.certain else ():
        tolerated = tolerated_from(floors.linker("prototype-linker"), Verdict.UNDOCUMENTED)
        yield Requirement(
            FixedVerdict(Verdict.FAIL) if link.offline else tolerated,
            f"a declaration of {image_helpers.listed(names)} with different parameters",
            short="the function reads parameters that the call doesn't pass",
        )

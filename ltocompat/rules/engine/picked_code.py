"""Picked images of a module for a GPU, and their requirements on the rest of the target."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.model.arch import Release
from ltocompat.model.signature import ImageSignature, ModuleSignature
from ltocompat.model.target import Gpu
from ltocompat.model.verdict import Route
from ltocompat.rules.artifact_code import without_kernels
from ltocompat.rules.catalogue import requirements_of
from ltocompat.rules.link_selection import pick_for_linkers_alike, releases_that_pick
from ltocompat.rules.linker_traits import LinkerTraits
from ltocompat.rules.rule import Requirement, Subject, beside_picked
from ltocompat.rules.selection import Selection, SelectionFailure, pick_for_driver


class PickedCode(Struct, frozen=True, eq=False):
    """The images of a module that are picked on one route by any driver version.

    Equal modules share one object.

    Attributes:
        selection: the kind of code that serves the GPU.
        subject: the subject for rules; None if nothing is left for them.
        requirements: the requirements of the rules.
        missed: why nothing is picked, else None.
        without_kernels: True if the picked images, or all if none is picked, have no kernels.
    """

    selection: Selection
    subject: Subject | None
    requirements: tuple[Requirement, ...]
    missed: SelectionFailure | None
    without_kernels: bool = False

    @property
    def images(self) -> tuple[ImageSignature, ...]:
        """The picked images."""
        return self.subject.picked if self.subject else ()


def loaded_code(signature: ModuleSignature, gpu: Gpu) -> PickedCode:
    """Pick the image for a driver that sees the whole module."""
    pick = pick_for_driver(signature, gpu.arch.number)
    damaged = pick.missed and is_damaged(signature)
    if pick.missed and not damaged and pick.missed is not SelectionFailure.LTO_ONLY:
        empty = pick.missed is SelectionFailure.NOT_FOR_GPU and without_kernels(signature.images)
        return PickedCode(Selection.NONE, None, (), pick.missed, empty)
    seen = beside_picked(signature, pick.images)
    subject = Subject(seen, Route.LOAD, gpu, pick.images, pick.missed)
    if pick.missed:
        selection = Selection.DAMAGED if damaged else Selection.NONE
        return PickedCode(selection, subject, requirements_of(subject), pick.missed)
    empty = without_kernels(pick.images)
    selection = Selection.WITHOUT_KERNELS if empty else Selection(pick.images[0].kind)
    return PickedCode(selection, subject, requirements_of(subject), None, empty)


def linked_code(
    signature: ModuleSignature, aim: Gpu, linker: LinkerTraits | None, *, offline: bool
) -> PickedCode:
    """Pick the images that a linker uses; only its traits that affect the module count."""
    pick = pick_for_linkers_alike(signature, aim.arch, linker)
    found_by: tuple[Release, ...] = ()
    if pick.missed and linker is not None:
        # Of what it is too old to know, the newest linker says whom it is for.
        pick = pick_for_linkers_alike(signature, aim.arch, None)
        found_by = () if pick.missed else releases_that_pick(signature, aim.arch)
    if pick.missed and not (linker is not None and is_damaged(signature)):
        return PickedCode(Selection.NONE, None, (), pick.missed)
    seen, route = beside_picked(signature, pick.images), Route.LINK
    subject = Subject(seen, route, aim, pick.images, pick.missed, linker, offline, found_by)
    selection = Selection.DAMAGED if pick.missed else Selection.LINK
    return PickedCode(selection, subject, requirements_of(subject), pick.missed)


def without_concatenated(signature: ModuleSignature) -> ModuleSignature | None:
    """Leave out concatenated entries, which old drivers don't see; None if nothing is left."""
    left = tuple(image for image in signature.images if not image.concatenated)
    return replace(signature, images=left) if left else None


def is_damaged(signature: ModuleSignature) -> bool:
    """Return whether headers that decide the pick can't be trusted, so that nothing is excluded."""
    return any(image.problem is not None for image in signature.images)

"""Routes of a module onto a GPU: loaded as it is, or linked first."""

from __future__ import annotations

from msgspec.structs import replace

from ltocompat.model.arch import ArchForm
from ltocompat.model.image import ImageKind
from ltocompat.model.signature import ModuleSignature
from ltocompat.model.target import Gpu, Target
from ltocompat.model.verdict import Route


def routes(signature: ModuleSignature) -> tuple[Route, ...]:
    """The routes of a module onto a GPU: the runtime's modules are loaded, LTO-IR is linked.

    A file of PTX or relocatable code has both routes, and so does LTO-IR next to code that can be
    loaded.
    """
    if signature.needs_device_link or signature.behind_first:
        return (Route.LINK,)
    if signature.registered or not signature.images:
        return (Route.LOAD,)
    others = [image for image in signature.images if image.kind is not ImageKind.LTOIR]
    lto = len(others) < len(signature.images)
    if not others:
        return (Route.LINK,)
    if signature.registered is None:
        both = lto or all(image.kind is ImageKind.PTX or image.relocatable for image in others)
        return (Route.LOAD, Route.LINK) if both else (Route.LOAD,)
    # What a library does with relocatable code of its own can't be known.
    if lto and all(image.relocatable for image in others):
        return (Route.LINK,)
    return (Route.LOAD, Route.LINK) if lto else (Route.LOAD,)


def routes_on(signature: ModuleSignature, target: Target) -> tuple[Route, ...]:
    """Return the routes that are checked if the caller names none.

    PTX is linked only if the target has a linker.
    """
    found = routes(signature)
    if len(found) == 1 or target.linker_of(objects=False)[0] is not None:
        return found
    only_ptx = signature.kinds <= {ImageKind.PTX}
    return found[:1] if only_ptx else found


def possible_routes(signature: ModuleSignature) -> tuple[Route, ...]:
    """Return the routes that a caller may name: a separate file can be tried on both."""
    loose = signature.registered is None and not signature.needs_device_link
    return (Route.LOAD, Route.LINK) if loose else routes(signature)


def own_target(signature: ModuleSignature) -> Gpu | None:
    """Return the newest architecture of the module, the target of a link without a GPU."""
    archs = [image.arch for image in signature.images if image.arch is not None]
    if not archs:
        return None
    newest = replace(max(archs, key=lambda arch: arch.number), form=ArchForm.REAL)
    return Gpu(str(newest), newest)

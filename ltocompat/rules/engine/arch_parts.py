"""Architectures that modules and kernels are for, by their images and their names."""

from __future__ import annotations

import re

from msgspec.structs import replace

from ltocompat.facts.gpus import gpus_in_use
from ltocompat.model.image import KERNEL_KINDS, ImageKind
from ltocompat.model.signature import ModuleSignature
from ltocompat.model.target import Gpu
from ltocompat.model.verdict import Route
from ltocompat.rules.engine.routes import routes
from ltocompat.rules.link_selection import pick_for_linkers_alike
from ltocompat.rules.selection import pick_for_driver

OF_ARCH = re.compile(r"\d*(?:sm|compute|arch|cutlass)_?(\d{2,3})(?!\d)[af]?", re.IGNORECASE)

# The length in front of an identifier; not the value of a literal, nor a substitution's number.
_LENGTH = re.compile(r"(?<![0-9ST])(?<!L[a-z])(?:(?<!E)|(?!\d+[E_]))[1-9]\d*")
_PART_OF_NAME = re.compile(r"([0-9]{1,4})|S[0-9A-Z]*_|St|[NIK]")  # of a mangled name


def stem(name: str) -> str:
    """Return the template of a kernel: ``cutlass.Kernel.gemm.kernel.EllGemm``, ``k_*``.

    Parts of a unit that is compiled once for each architecture have the same templates, with tiles
    and types of their own, or names with the architecture in them. It uses the names before the
    second list of template arguments (Itanium C++ ABI, 5.1).
    """
    parts, position, lists = [], 2, 0
    while name.startswith("_Z") and lists < 2 and (part := _PART_OF_NAME.match(name, position)):
        position = part.end()
        lists += part[0] == "I"
        if part[1]:
            parts.append(name[position : position + int(part[1])])
            position += int(part[1])
    return OF_ARCH.sub("*", ".".join(parts) or name)


def names_an_arch(kernel: str) -> bool:
    """Return whether an identifier in a kernel's name has an architecture in it.

    ``cutlass_80_gemm`` has one; in ``_ZN7cutlass13device_kernel...`` and ``_ZN6search12...`` the
    number is the length of the next identifier (Itanium C++ ABI, 5.1).
    """
    rest, found = kernel[2:], OF_ARCH.search(kernel)
    while found and kernel.startswith("_Z") and (length := _LENGTH.search(rest)):
        end = length.end() + int(length[0])
        if OF_ARCH.search(rest[length.end() : end]):
            return True
        rest = rest[end:]  # a length may follow a digit of the identifier in front of it
    return bool(found) and not kernel.startswith("_Z")


def tied_by_suffix(signature: ModuleSignature, number: int | None = None) -> bool:
    """Return whether all its code is for only one GPU or family (``sm_90a``, ``sm_100f``).

    If the driver picks an image without kernels for an architecture, similar ones don't count.
    """
    empty = number is not None and picks_no_kernels(signature, number)
    code = [image for image in signature.images if image.kind in KERNEL_KINDS]
    told = [image.arch for image in code if not (empty and image.has_kernels is False)]
    return all(arch is not None and arch.suffix for arch in told)


def one_arch(signature: ModuleSignature) -> bool:
    """Return whether it is SASS for one architecture: a part of a unit compiled for each."""
    archs = {image.arch for image in signature.images}
    return len(archs) == 1 and signature.kinds == {ImageKind.SASS}


def native_to(signature: ModuleSignature, gpu: Gpu) -> bool:
    """Return whether the driver picks SASS of it for a GPU."""
    picked = pick_for_driver(signature, gpu.arch.number).images
    return any(image.kind is ImageKind.SASS for image in picked)


def picks_no_kernels(signature: ModuleSignature, number: int) -> bool:
    """Return whether the driver picks an image that is known to have no kernels.

    If it does for one requested architecture, all images of the module were read.
    """
    pick = pick_for_driver(replace(signature, guarded=False), number)
    return any(image.has_kernels is False for image in pick.images)


def archs_of(signature: ModuleSignature) -> frozenset[int]:
    """Return the architectures in use for which a module has code."""
    return frozenset(gpu.arch.number for gpu in gpus_in_use()[:-1] if _serves(signature, gpu))


def _serves(signature: ModuleSignature, gpu: Gpu) -> bool:
    """Return whether some driver or linker picks code of a module for a GPU."""
    going = routes(signature)
    return bool(
        (Route.LOAD in going and pick_for_driver(signature, gpu.arch.number).images)
        or (Route.LINK in going and pick_for_linkers_alike(signature, gpu.arch, None).images)
    )

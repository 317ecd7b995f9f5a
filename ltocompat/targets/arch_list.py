"""Lists of architectures as build systems spell them -> the images that they ask a compiler for.

A real architecture is SASS, a virtual one PTX. The spellings are those of PyTorch
(``TORCH_CUDA_ARCH_LIST``, torch/utils/cpp_extension.py), CMake (``CMAKE_CUDA_ARCHITECTURES``, its
manual) and nvcc (its manual, "GPU Feature List" and ``--generate-code``), and names of GPUs.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from ltocompat.facts.gpus import find_gpu
from ltocompat.model.arch import ArchForm, SmArch
from ltocompat.model.errors import UsageError
from ltocompat.model.limits import DEFAULT_LIMITS
from ltocompat.model.target import System
from ltocompat.targets.gpu_groups import gpus_named

EXAMPLE = '"8.0;9.0+PTX", "80-real;90", "sm_80,compute_90" or "hopper"'

_QUOTES = re.compile(r"[\"'\\]")
# -gencode arch=compute_90,code=[sm_90,compute_90], and -arch=compute_90 -code=sm_90,compute_90
_GENCODE = re.compile(
    r"(?:--?(?:gencode|generate-code)[=\s]+)?(?:--?gpu-architecture|-*arch)[=\s]+compute_\w+"
    r"(?:,|\s+-*(?:gpu-)?)code[=\s]+(\[[^\]]*\]|[^\s;]+)"
)
# Without code, nvcc adds the PTX to the SASS: -arch=sm_90 is what CMake calls 90.
_ARCH_ALONE = re.compile(r"--?(?:arch|gpu-architecture)[=\s]+(?:sm_(?=\w)|(?=compute_\w))")
_FORM = re.compile(r"(sm|compute|lto)_?([0-9]{1,4}[af]?)")
_CMAKE = re.compile(r"((?:[0-9]{2}|1[0-9]{2})[af]?)(-real|-virtual)?")
_PTX = "+ptx"
# They mean something else with each compiler, machine or edition of the tables.
_OPEN = frozenset(
    {"all", "any", "all-major", "common", "native", "off", "datacenter", "geforce", "jetson"}
)


def arch_list(text: str) -> tuple[SmArch, ...]:
    """Read a list of architectures: the required SASS, PTX and LTO-IR, in order.

    Args:
        text: ``8.0;9.0a+PTX`` (SASS, and PTX with ``+PTX``), ``75-real;90a;120-virtual`` (a bare
            number is SASS and PTX), ``-gencode arch=compute_80,code=[sm_80,compute_80]``,
            ``sm_90``, ``hopper`` or ``h100`` (SASS). Between them are blanks, commas, semicolons
            or ``+``.

    Raises:
        UsageError: a part of it is not an architecture, or depends on a compiler or a machine
            (``all``, ``native``), or the list is empty.
    """
    if len(text) > DEFAULT_LIMITS.line_bytes:
        raise UsageError(f"{text[:60]!r} ... is too long for a list of architectures")
    plain = _QUOTES.sub("", text).lower()
    plain = _ARCH_ALONE.sub(" ", _GENCODE.sub(lambda match: f" {match[1].strip('[]')} ", plain))
    items = re.split(rf"[\s,;]+|\+(?!{_PTX[1:]}\b)", plain)
    found = [arch for item in items if item for arch in _archs(item)]
    if not found:
        raise UsageError(f"{text!r} names no architecture; write {EXAMPLE}")
    return tuple(dict.fromkeys(found))


def _archs(item: str) -> list[SmArch]:
    """Read one item of a list.

    Raises:
        UsageError: it is not an architecture.
    """
    name = item.removesuffix(_PTX)
    if name in _OPEN:
        raise UsageError(f"{item!r} means several architectures; name each, as in {EXAMPLE}")
    if form := _FORM.fullmatch(name):
        found = [_arch(form[2], ArchForm(form[1]))]
    elif cmake := _CMAKE.fullmatch(name):
        forms = {"-real": [ArchForm.REAL], "-virtual": [ArchForm.VIRTUAL]}
        both = [ArchForm.REAL, ArchForm.VIRTUAL]
        found = [_arch(cmake[1], form) for form in forms.get(cmake[2], both)]
    else:
        found = [gpu.arch for gpu in gpus_named(name, System(), None)]
    return [*found, replace(found[-1], form=ArchForm.VIRTUAL)] if name != item else found


def _arch(digits: str, form: ArchForm) -> SmArch:
    return replace(find_gpu(f"sm_{digits}").arch, form=form)

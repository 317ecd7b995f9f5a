"""The contents of a linked output: kernels, registers, and whether there is any code."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ltocompat.files.byteview import ByteView
from ltocompat.files.images.cubin import Cubin
from ltocompat.model.errors import Malformed
from ltocompat.model.limits import Budget

_PTX_KERNEL = re.compile(rb"^\s*(?:\.(?:visible|weak)\s+)?\.entry\b", re.MULTILINE)
_PTX_FUNCTION = re.compile(rb"^\s*(?:\.(?:visible|weak)\s+)?\.func\b", re.MULTILINE)


def contents(what: str, output: bytes, kernels: Sequence[str]) -> dict[str, int | list[str] | None]:
    """Return the members of a child's reply about the ``Ptx`` or ``Cubin`` that it made.

    They are ``kernels``, ``code_bytes`` (for PTX: functions) and ``registers``, the largest number
    per thread of a kernel; None if unreadable. ``lost``: the missing ones of ``kernels``.
    """
    if what == "Ptx":
        entries = len(_PTX_KERNEL.findall(output))
        functions = len(_PTX_FUNCTION.findall(output))
        return {"kernels": entries, "code_bytes": entries + functions, "registers": None}
    try:
        cubin = Cubin.parse(ByteView.of(output), Budget())
        code = sum(section.size for section in cubin.sections if section.name.startswith(".text."))
        there, registers = cubin.kernels(), cubin.registers()
    except Malformed:
        lost = [] if output else sorted(kernels)
        return {"kernels": None, "code_bytes": None, "registers": None, "lost": lost}
    lost = sorted({*kernels}.difference(there))
    # A link with -lto of objects has kernels of libcudadevrt in its output.
    own = sum("_cuda_device_runtime_cu_" not in name for name in there)
    return {"kernels": own, "code_bytes": code, "registers": registers, "lost": lost}

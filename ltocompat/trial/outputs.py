"""What is in a linked output: kernels, registers, and whether there is any code."""

from __future__ import annotations

import re

from ltocompat.files.byteview import ByteView
from ltocompat.files.images.cubin import Cubin
from ltocompat.model.errors import Malformed
from ltocompat.model.limits import Budget

_PTX_KERNEL = re.compile(rb"^\s*(?:\.(?:visible|weak)\s+)?\.entry\b", re.MULTILINE)
_PTX_FUNCTION = re.compile(rb"^\s*(?:\.(?:visible|weak)\s+)?\.func\b", re.MULTILINE)


def contents(what: str, output: bytes) -> dict[str, int | None]:
    """Members of a child's reply on the ``ptx`` or ``cubin`` that it made.

    ``kernels``, ``code_bytes`` (of PTX: functions) and ``registers``, the most that a thread of one
    of the kernels takes; None for what can't be read.
    """
    if what == "ptx":
        kernels = len(_PTX_KERNEL.findall(output))
        functions = len(_PTX_FUNCTION.findall(output))
        return {"kernels": kernels, "code_bytes": kernels + functions, "registers": None}
    try:
        cubin = Cubin.parse(ByteView.of(output), Budget())
        code = sum(section.size for section in cubin.sections if section.name.startswith(".text."))
        kernels = len(cubin.kernels())
        return {"kernels": kernels, "code_bytes": code, "registers": cubin.registers()}
    except Malformed:
        return {"kernels": None, "code_bytes": None, "registers": None}

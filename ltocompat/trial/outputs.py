"""What is in a linked output: kernels, and whether there is any code."""

from __future__ import annotations

import re

from ltocompat.files.byteview import ByteView
from ltocompat.files.images.cubin import Cubin
from ltocompat.model.errors import Malformed
from ltocompat.model.limits import DEFAULT_LIMITS

_PTX_KERNEL = re.compile(rb"^\s*(?:\.(?:visible|weak)\s+)?\.entry\b", re.MULTILINE)
_PTX_FUNCTION = re.compile(rb"^\s*(?:\.(?:visible|weak)\s+)?\.func\b", re.MULTILINE)


def contents(what: str, output: bytes) -> tuple[int | None, int | None]:
    """Kernels, and bytes of machine code (of PTX: functions); None for what can't be read."""
    if what == "ptx":
        kernels = len(_PTX_KERNEL.findall(output))
        return kernels, kernels + len(_PTX_FUNCTION.findall(output))
    try:
        cubin = Cubin.parse(ByteView.of(output), DEFAULT_LIMITS)
        code = sum(section.size for section in cubin.sections if section.name.startswith(".text."))
        return len(cubin.kernels()), code
    except Malformed:
        return None, None

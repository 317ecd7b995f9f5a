"""Names of kernels as they stand in source, read from mangled ones."""

from __future__ import annotations

import re

from ltocompat.model.words import source_parts

_ANONYMOUS = re.compile(r"_GLOBAL_[_.$]N")


def source_name(mangled: str) -> str:
    """Return ``gemm::run`` for ``_ZN4gemm3runIfEEvPT_``; empty if the name is not mangled."""
    parts, _ = source_parts(mangled)
    unnamed = "(anonymous namespace)"
    return "::".join(unnamed if _ANONYMOUS.match(part) else part for part in parts)

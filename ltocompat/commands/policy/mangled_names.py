"""Names of kernels as they stand in source, read from mangled ones (Itanium C++ ABI, 5.1).

CUDA mangles kernels so on every system. Read are the plain parts of a name only: what follows, its
first template arguments and its parameters, would need all of the grammar.
"""

from __future__ import annotations

import re

_PART = re.compile(r"L?([1-9][0-9]{0,4})")  # L: not seen by other objects
_NESTED = re.compile(r"N[rVK]*(?:St)?")
_ANONYMOUS = re.compile(r"_GLOBAL_[_.$]N")


def source_name(mangled: str) -> str:
    """Return ``gemm::run`` for ``_ZN4gemm3runIfEEvPT_``; empty if the name is not mangled."""
    if not mangled.startswith("_Z"):
        return ""
    position = 2
    nested = _NESTED.match(mangled, position)
    if nested is not None:
        position = nested.end()
    elif mangled.startswith("St", position):
        position += 2
    parts = ["std"] if mangled[2:position].endswith("St") else []
    while length := _PART.match(mangled, position):
        position = length.end() + int(length[1])
        part = mangled[length.end() : position]
        if len(part) < int(length[1]):
            return ""
        parts.append("(anonymous namespace)" if _ANONYMOUS.match(part) else part)
        if nested is None:
            break
    return "::".join(parts)

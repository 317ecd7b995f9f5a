"""Names of kernels as C++ says them; needs ``ltocompat[demangle]``."""

from __future__ import annotations

import functools
from collections.abc import Callable

_LONGEST = 20_000  # characters of a mangled name; longer ones stay as they are


def demangled(name: str) -> str | None:
    """A kernel's name as C++ says it; None where it is no C++ name, or nothing can tell."""
    if not name.startswith("_Z") or len(name) > _LONGEST:
        return None
    return _demangler()(name) or None


@functools.cache
def _demangler() -> Callable[[str], str]:
    try:
        import pydemumble
    except ImportError:
        return lambda _: ""
    demangle: Callable[[str], str] = pydemumble.demangle
    return demangle

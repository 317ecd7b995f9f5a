"""nvJitLink libraries: which are at hand, and those installed for trials only.

A library is told by its bytes and never loaded into this process.
"""

from __future__ import annotations

from ltocompat.nvjitlinks.cache import Cache
from ltocompat.nvjitlinks.installing import install, remove
from ltocompat.nvjitlinks.linker import NvJitLink
from ltocompat.nvjitlinks.machine import Machine
from ltocompat.nvjitlinks.searching import find, resolve

__all__ = ["Cache", "Machine", "NvJitLink", "find", "install", "installed", "remove", "resolve"]


def installed(cache: Cache | None = None) -> tuple[NvJitLink, ...]:
    """Those of the trial cache, oldest first; ``cache`` None for the user's own."""
    return (cache or Cache.of()).installed()

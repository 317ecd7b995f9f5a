"""Linkers, nvJitLink and nvlink: which are at hand, and those installed for trials only.

A linker is told by its bytes and never loaded into this process.
"""

from __future__ import annotations

from ltocompat.model.errors import Missing
from ltocompat.model.failure import OnStep
from ltocompat.model.linker import Linker as Linker
from ltocompat.model.linker import Tool as Tool
from ltocompat.targets.linkers.cache import Cache as Cache
from ltocompat.targets.linkers.installing import install_one
from ltocompat.targets.linkers.installing import remove as remove
from ltocompat.targets.linkers.machine import Machine as Machine
from ltocompat.targets.linkers.searching import find as find
from ltocompat.targets.linkers.searching import resolve as resolve
from ltocompat.targets.linkers.version_request import choose


def obtain(
    wanted: str, *, install_missing: bool, tool: Tool = Tool.NVJITLINK, report: OnStep | None = None
) -> Linker:
    """Return the linker to run here; install it for trials if that is wanted and needed.

    Raises:
        Missing: it is missing, and is not wanted or can't be installed.
        UsageError: it is neither a version nor such a linker.
    """
    try:
        return resolve(wanted, tool=tool)
    except Missing:
        if not install_missing:
            raise
    for request in choose(wanted, allow_unknown=False, tool=tool):
        install_one(request, Cache.of(tool=tool), report=report)
    return resolve(wanted, tool=tool)

"""Does this linker compile a fragment without kernels when it links with ``-r``?

Measured with ``fragment.ltoir``, LTO-IR of ``fragment.cu``: a device function that calls another,
which nothing defines (NVRTC 12.0.140, ``-arch=sm_75 -dlto``, so that every nvJitLink reads it).
12.0 .. 12.9 refuse the option, 13.0 .. 13.2 take it and write an empty output, 13.3 .. 13.5 compile
the function and leave the call to a later link (2026-11-21). Other builds are asked, and nvlinks.
"""

from __future__ import annotations

import functools
import os
from importlib import resources

from ltocompat.targets.linkers.linker import Tool
from ltocompat.trial.pool import Pool
from ltocompat.trial.values import InputKind, LinkOutcome, Request, TrialInput

# A probe's target: above the fragment's architecture, and known to all versions.
_OPTIONS = ("-arch=sm_80", "-lto", "-r")


def compiles_relocatable(library: str | os.PathLike[str], tool: Tool = Tool.NVJITLINK) -> bool:
    """Whether ``-r`` makes this linker compile what has no kernel; asked once for each file.

    Raises:
        TrialImpossible: the library can't be loaded.
    """
    path = os.path.realpath(library)
    status = os.stat(path)
    return _asked(path, (status.st_size, status.st_mtime_ns), tool)


@functools.cache
def _asked(path: str, _identity: tuple[int, int], tool: Tool) -> bool:
    fragment = resources.files(__package__).joinpath("fragment.ltoir").read_bytes()
    trial_input = TrialInput("fragment.ltoir", InputKind.LTOIR, fragment)
    with Pool(path, workers=1, tool=tool) as pool:
        (answer,) = pool.run([Request((trial_input,), _OPTIONS)])
    return answer.outcome is LinkOutcome.COMPILED

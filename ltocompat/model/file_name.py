"""Names of files without their versions, which the same file of another build has, too."""

from __future__ import annotations

import re

# A pattern of versions such as ``12.4``.
NUMBER = r"v?[0-9]{1,9}(?:\.[0-9]{1,9})+"

# What changes in the name of a file when it is built again, and what is left of it.
_VERSIONS = tuple(
    (re.compile(pattern, re.IGNORECASE), left)
    for pattern, left in (
        (r"(?<=\.so)(?:\.[0-9]{1,9})+$", ""),  # libx.so.12
        (r"(?:\.[0-9]{1,9})+(?=\.dylib$)", ""),  # libx.12.dylib
        (r"-(?:[0-9a-f]{8}|[0-9a-f]{32})(?=\.(?:so|dll|dylib)$)", ""),  # by auditwheel, delvewheel
        (r"(?:_[0-9]{1,9})+(?:\.alt)?(?=\.dll$)", ""),  # nvJitLink_130_0.dll
        # x.cpython-311-x86_64-linux-gnu.so, x.abi3.so, x.cp311-win_amd64.pyd
        (r"\.(?:cpython-[0-9]{1,9}|cp[0-9]{1,9}|abi3)[\w-]*(?=\.(?:so|pyd)$)", ""),
        (r"^(python)[0-9]{1,9}(?:\.[0-9]{1,9})?$", r"\1"),  # lib/python3.11
        (rf"[-_.]?{NUMBER}", ""),  # cuda-12.4, libx-1.2.3.a
    )
)


def unversioned(path: str) -> str:
    """Return a path without its versions: ``nvidia/lib/libx.so`` of ``nvidia/lib/libx.so.12``."""
    return "/".join(without_versions(part) for part in path.split("/"))


def without_versions(part: str) -> str:
    """Return the name of a file or folder without versions; unchanged if it is only a version."""
    left_over = part
    for pattern, left in _VERSIONS:
        left_over = pattern.sub(left, left_over)
    return left_over or part

"""RPM packages: the main header of a ``.rpm``, whose Requires bring libraries of CUDA.

A Requires names a package, which NVIDIA's repositories call as they do for Debian, or a library by
its SONAME, ``libcufft.so.11()(64bit)``, as rpmbuild finds them in the files. Source: rpm's manual,
"RPM Tags" and "Dependencies".
"""

from __future__ import annotations

import re

from ltocompat.files.archives.rpm import read_headers
from ltocompat.files.byteview import ByteView
from ltocompat.model.limits import Budget
from ltocompat.packages.debian import libraries_of
from ltocompat.packages.values import Dependency, Kind, Package

_NAME, _VERSION, _ARCH, _REQUIRE_NAME = 1000, 1001, 1022, 1049
_PLATFORMS = {"x86_64": "linux_x86_64", "aarch64": "linux_aarch64", "noarch": "any"}
# What rpm itself, the loader and scripts ask for is no package.
_NO_PACKAGE = re.compile(r"(?:rpmlib|rtld|config)\(.*|/.*")
_SONAME = re.compile(r"(lib[^()]+\.so[^()]*)\(.*")


def read(view: ByteView, path: str, budget: Budget) -> Package | None:
    """The RPM package.

    Raises:
        Malformed: its headers are broken.
    """
    _, header = read_headers(view, budget)
    name, version, arch = (next(iter(header.texts(t)), "") for t in (_NAME, _VERSION, _ARCH))
    asked = header.texts(_REQUIRE_NAME)[: budget.limits.dependencies]
    requires: list[Dependency] = []
    for text in budget.timed(dict.fromkeys(asked), slow=True):
        soname = _SONAME.fullmatch(text)
        if not _NO_PACKAGE.fullmatch(text):
            file = soname[1] if soname else ""
            requires += libraries_of(file or text, file, f"Requires: {text}")
    return Package(
        kind=Kind.RPM,
        path=path,
        name=name,
        version=version,
        requires=tuple(requires),
        platforms=(_PLATFORMS.get(arch, ""),),
    )

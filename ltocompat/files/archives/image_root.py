"""The files of a container image by which programs are loaded, written below a folder.

Of an image of gigabytes a look at its loader needs libraries of CUDA, the loader's cache and
settings, what package managers say of CUDA, and links: all other files stay in the archive.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from contextlib import suppress

from ltocompat.files.archives.container_image import ContainerImage, applied
from ltocompat.files.archives.member import Member
from ltocompat.files.byteview import chunks
from ltocompat.files.inside import real_inside
from ltocompat.model.image import Skipped
from ltocompat.model.limits import Budget
from ltocompat.model.location import Location

_LOOKED_AT = re.compile(
    r"/(?:lib(?:cuda|nv(?:JitLink|rtc|vm|ptxcompiler|idia-))[^/]*\.so[^/]*|ld-linux[^/]*|libc\.so\.6"
    r"|ld\.so\.(?:cache|conf)|ld\.so\.conf\.d/[^/]+|version\.(?:json|txt)|include/cuda\.h"
    r"|bin/(?:nvcc|ptxas|nvlink)|etc/nv_tegra_release|var/lib/dpkg/status"
    r"|(?:nvidia|cuda|numba_cuda|pynvjitlink|cupy)[^/]*\.dist-info/(?:METADATA|RECORD)"
    r"|conda-meta/(?:lib)?(?:cuda|nv)[^/]*\.json)",
    re.ASCII,
)


def write_root(
    image: ContainerImage, place: Location, root: str, budget: Budget
) -> Iterator[Skipped]:
    """Write these files, and all symbolic links; yield unreadable ones.

    Args:
        image: the image.
        place: the place of its archive.
        root: a new folder, which stands for ``/``.
        budget: the budget for reading.

    Raises:
        OSError: the folder can't be written.
    """
    links: dict[str, str] = {}
    waiting: dict[str, str] = {}
    asks = lambda at: bool(_LOOKED_AT.search(at.innermost))  # noqa: E731
    for found in applied(image, place, place, place, budget, asks=asks, links=links):
        if isinstance(found, Skipped):
            yield found
        if not isinstance(found, Member):
            continue
        waiting[found.place.innermost] = kept = os.path.join(root, f".{len(waiting)}")
        with open(kept, "xb") as file:
            file.writelines(chunks(found.view, 0, found.view.size, budget))
    # A path may lead through a link of any layer, which all are known now, the outer ones first.
    for path in sorted(links, key=lambda path: path.count("/")):
        with suppress(OSError, ValueError):
            os.symlink(links[path], _below(root, f"/{path}"))
    for path, kept in waiting.items():
        try:
            os.rename(kept, _below(root, path))
        except (OSError, ValueError) as error:
            yield Skipped(place.member(path), f"no file can have this path: {error}")


def _below(root: str, path: str) -> str:
    """Return the path of a new name below the root, in its folder behind all links."""
    folder = root + real_inside(root, posixpath.dirname(path))
    os.makedirs(folder, exist_ok=True)
    return os.path.join(folder, posixpath.basename(path))

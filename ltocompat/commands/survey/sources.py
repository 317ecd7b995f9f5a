"""What to survey: the packages of folders, and what their names say of them."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence

from ltocompat.commands.survey.distribution import Distribution
from ltocompat.model.errors import UnreadableInput
from ltocompat.packages.wheel_name import WheelName

_PACKAGES = (".whl", ".conda", ".tar.bz2")


def of_folder(folder: str) -> Iterator[Distribution]:
    """The packages below a folder, or the one file that is named, by their paths.

    Equal files are one distribution: the first by its path.

    Raises:
        UnreadableInput: there is no such folder or file.
    """
    paths = sorted(_files(folder))
    sizes = [os.path.getsize(path) for path in paths]
    often = Counter(sizes)
    met: set[str] = set()
    for path, size in zip(paths, sizes, strict=True):
        sha256 = None
        if often[size] > 1:
            sha256 = sha256_of(path)
            if sha256 in met:
                continue
            met.add(sha256)
        yield of_file(path, size=size, sha256=sha256)


def of_file(path: str, *, size: int | None = None, sha256: str | None = None) -> Distribution:
    """What the name of a file says of it."""
    filename = os.path.basename(path)
    name = WheelName.parse(filename)
    if name is None:
        return Distribution(source=path, filename=filename, size=size, sha256=sha256)
    return Distribution(
        source=path,
        filename=filename,
        project=name.project,
        version=name.version,
        tags=name.tags,
        platforms=name.platforms,
        size=size,
        sha256=sha256,
    )


def sha256_of(path: str) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _files(folder: str) -> Sequence[str]:
    if not os.path.isdir(folder):
        if not os.path.exists(folder):
            raise UnreadableInput(
                f"{folder!r} is neither a folder nor a file; name one of packages"
            )
        return [folder]
    return [
        os.path.join(root, name)
        for root, _, names in os.walk(folder)
        for name in names
        if name.endswith(_PACKAGES) and os.path.isfile(os.path.join(root, name))
    ]

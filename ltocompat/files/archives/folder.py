"""Folders: their regular files, recursively, in a stable order."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from ltocompat.model.image import Skipped
from ltocompat.model.limits import Limits
from ltocompat.model.place import Place


def files(path: str, limits: Limits) -> Iterator[str | Skipped]:
    """Paths of the files below ``path``.

    A link is passed over where it leads to a file inside the folder, which is read under its own
    name; links to folders are not followed, so that no loop is possible.
    """
    root = os.path.realpath(path)
    count = 0
    for folder, folders, names in os.walk(path, onerror=None):
        folders.sort()
        for name in sorted(names):
            count += 1
            if count > limits.members:
                reason = f"the folder holds more than {limits.members} files; the rest is not read"
                yield Skipped(Place(path), reason, limit="members")
                return
            found = _file(os.path.join(folder, name), root)
            if found is not None:
                yield found


def _file(path: str, root: str) -> str | Skipped | None:
    try:
        if os.path.islink(path):
            target = os.path.realpath(path)
            if os.path.commonpath([root, target]) == root and os.path.isfile(target):
                return None
        mode = os.stat(path).st_mode
    except OSError as error:
        return Skipped(Place(path), f"it can't be read: {error.strerror}")
    if not stat.S_ISREG(mode):
        return Skipped(Place(path), "it is not a regular file")
    return path

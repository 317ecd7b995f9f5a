"""The files of a folder: all of them, or those that an installed distribution lists."""

from __future__ import annotations

import csv
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


_SUFFIX = ".dist-info"
_MOST_RECORD = 64 << 20  # bytes; that of the largest packages is a few MB


def files_of_distribution(path: str, limits: Limits) -> Iterator[str | Skipped] | None:
    """Paths of the files of the distribution that ``path`` describes; None for any other folder."""
    info = path.rstrip(os.sep)
    if not info.endswith(_SUFFIX):
        return None
    try:
        with open(os.path.join(info, "RECORD"), encoding="utf-8", errors="replace") as record:
            lines = record.read(_MOST_RECORD).splitlines()
    except OSError:
        return None
    return _listed(os.path.dirname(os.path.abspath(info)), _names(lines), limits)


def _names(lines: list[str]) -> list[str]:
    """The first column; what is no CSV names nothing."""
    names = []
    for line in lines:
        try:
            # A NUL is no part of a name, and older readers of CSV stop at it.
            row = next(csv.reader([line.replace("\0", "")]), [])
        except csv.Error:
            continue
        names += [name for name in row[:1] if name]
    return names


def _listed(site: str, names: list[str], limits: Limits) -> Iterator[str | Skipped]:
    for count, name in enumerate(names):
        if count >= limits.members:
            reason = f"RECORD lists more than {limits.members} files; the rest is not read"
            yield Skipped(Place(site), reason, limit="members")
            return
        path = os.path.normpath(os.path.join(site, name))
        if os.path.isfile(path):
            yield path
        elif not os.path.exists(path):
            yield Skipped(Place(path), "RECORD lists it, and it is not there")

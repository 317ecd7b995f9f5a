"""The files of a folder: all of them, or those that an installed distribution lists."""

from __future__ import annotations

import csv
import io
import os
import stat
from collections.abc import Iterable, Iterator
from itertools import islice

from ltocompat.files.regular import read_regular
from ltocompat.model.errors import LimitExceeded
from ltocompat.model.image import Skipped
from ltocompat.model.limits import Budget, Limits
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
        count += len(folders)
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
_MOST_RECORD = 16 << 20  # bytes; that of the largest packages is a few MB


def files_of_distribution(path: str, limits: Limits) -> Iterator[str | Skipped] | None:
    """Paths of the files of the distribution that ``path`` describes; None for any other folder."""
    info = path.rstrip(os.sep)
    if not info.endswith(_SUFFIX):
        return None
    try:
        record = read_regular(os.path.join(info, "RECORD"), _MOST_RECORD)
    except (OSError, ValueError):
        return None
    site, text = os.path.dirname(os.path.abspath(info)), record.decode("utf-8", "replace")
    return _listed(site, text, limits)


def _names(lines: Iterable[str]) -> Iterator[str]:
    """The first column; what is no CSV names nothing."""
    for line in lines:
        try:
            # A NUL is no part of a name, and older readers of CSV stop at it.
            row = next(csv.reader([line.replace("\0", "")]), [])
        except csv.Error:
            continue
        yield from (name for name in row[:1] if name)


def _listed(site: str, record: str, limits: Limits) -> Iterator[str | Skipped]:
    names: list[str] = []
    try:
        lines = Budget(limits).timed(io.StringIO(record))
        names.extend(islice(_names(lines), limits.members + 1))
    except LimitExceeded as error:
        yield Skipped(Place(site), f"the rest of RECORD is not read: {error}", limit=error.limit)
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

"""Installed distributions: the files that RECORD in a ``*.dist-info`` folder lists (PEP 376)."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator

from ltocompat.model.image import Skipped
from ltocompat.model.limits import Limits
from ltocompat.model.place import Place

_SUFFIX = ".dist-info"
_MOST_RECORD = 64 << 20  # bytes; that of the largest packages is a few MB


def files(path: str, limits: Limits) -> Iterator[str | Skipped] | None:
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

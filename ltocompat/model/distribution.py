"""Metadata of a distribution, as a value: also of one without device code."""

from __future__ import annotations

from ltocompat.model.row import Tabular


class Distribution(Tabular, frozen=True):
    """A wheel, a conda package, or the installed distribution that a file is of.

    Attributes:
        path: the file that was read.
        kind: ``wheel``, ``conda`` or ``installed``.
        name: normalized; empty where its metadata has none.
        version: as written; empty where there is none.
        tags: of a wheel, one for each Python, ABI and platform: ``py3-none-win_amd64``.
        platforms: those of its tags; of a conda package its subfolder (``linux-64``).
        requires: what it depends on, as written: the lines of ``Requires-Dist``, or conda's
            ``depends``.
        extras: names of its extras, normalized.
        classifiers: as written.
        size: bytes of the file that was read.
        sha256: of that file.
        problems: what could not be read of its metadata, one sentence each.
    """

    path: str
    kind: str
    name: str
    version: str
    tags: tuple[str, ...]
    platforms: tuple[str, ...]
    requires: tuple[str, ...]
    extras: tuple[str, ...]
    classifiers: tuple[str, ...]
    size: int
    sha256: str
    problems: tuple[str, ...] = ()

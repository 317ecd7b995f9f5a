"""Metadata of a distribution, as a value: also of one without device code."""

from __future__ import annotations

from ltocompat.model.row import Tabular


class Distribution(Tabular, frozen=True):
    """A wheel, a conda package, or the installed distribution that a file belongs to.

    Attributes:
        path: the file that was read.
        kind: ``wheel``, ``conda`` or ``installed``.
        name: the normalized name; empty if the metadata has none.
        version: the version as written; empty if the metadata has no version.
        tags: the tags of a wheel, one for each Python, ABI and platform: ``py3-none-win_amd64``.
        platforms: the platforms of a wheel's tags; for a conda package, its subfolder
            (``linux-64``).
        requires: the dependencies as written: the lines of ``Requires-Dist``, or conda's
            ``depends``.
        extras: names of its extras, normalized.
        classifiers: the classifiers as written.
        size: size in bytes of the file that was read.
        sha256: SHA-256 of the file that was read.
        problems: sentences about the parts of the metadata that could not be read.
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

"""Installed Python distributions: a ``*.dist-info`` folder beside their files (PEP 376, 627)."""

from __future__ import annotations

import csv
import functools
import os
from collections.abc import Iterator

from ltocompat.model.limits import MIB
from ltocompat.packages.metadata import MOST_BYTES, python_and_platforms, read_metadata, read_tags
from ltocompat.packages.values import Kind, Package, normalized

_SUFFIX = ".dist-info"
_SITES = ("site-packages", "dist-packages")
_MOST_RECORD = 64 * MIB


def read(folder: str) -> Package | None:
    """The distribution whose metadata lie in a folder; None where they don't."""
    stem = os.path.basename(os.path.abspath(folder))
    if not stem.endswith(_SUFFIX):
        return None
    stem = stem.removesuffix(_SUFFIX)
    core_metadata = read_metadata(_bytes(folder, "METADATA", MOST_BYTES))
    python, platforms = python_and_platforms(read_tags(_bytes(folder, "WHEEL", MOST_BYTES)))
    record = _bytes(folder, "RECORD", _MOST_RECORD)
    return Package(
        kind=Kind.INSTALLED,
        path=folder,
        name=core_metadata.name or normalized(stem.partition("-")[0]),
        version=core_metadata.version or stem.partition("-")[2],
        requires=core_metadata.requires,
        extras=core_metadata.extras,
        platforms=platforms,
        python=python,
        files=tuple(_files(record)),
        problems=tuple(core_metadata.problems),
    )


def owner(path: str) -> Package | None:
    """The distribution that a file of site-packages was installed from; None for any other file."""
    path = os.path.abspath(path)
    folder, parts = path, list[str]()
    while os.path.basename(folder) not in _SITES:
        folder, name = os.path.split(folder)
        if not name:
            return None
        parts.insert(0, name)
    wanted = "/".join(parts)
    tops = _by_top(folder, os.stat(folder).st_mtime_ns)
    for info in tops.get(parts[0], ()) if parts else ():
        if wanted in _files(_bytes(info, "RECORD", _MOST_RECORD)):
            return read(info)
    return None


@functools.lru_cache(maxsize=4)  # a folder is asked for each of its files
def _by_top(site: str, changed: int) -> dict[str, tuple[str, ...]]:
    """First part of a path in site-packages -> the metadata folders of those that have such."""
    del changed
    found: dict[str, list[str]] = {}
    for entry in sorted(os.listdir(site)):
        info = os.path.join(site, entry)
        if entry.endswith(_SUFFIX) and os.path.isdir(info):
            files = _files(_bytes(info, "RECORD", _MOST_RECORD))
            for top in {file.partition("/")[0] for file in files}:
                found.setdefault(top, []).append(info)
    return {top: tuple(infos) for top, infos in found.items()}


def _bytes(folder: str, name: str, most: int) -> bytes:
    path = os.path.join(folder, name)
    try:
        if os.path.isfile(path):
            with open(path, "rb") as file:
                return file.read(most)
    except OSError:
        pass
    return b""


def _files(record: bytes) -> Iterator[str]:
    lines = record.decode("utf-8", "replace").splitlines()
    try:
        for row in csv.reader(lines):
            if row:
                yield row[0].replace("\\", "/")
    except csv.Error:
        return

"""Inputs of ``read`` beside paths: open files, and addresses that fsspec knows, as bytes."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from ltocompat.files.byteview import ByteView, FileSource
from ltocompat.model.errors import Missing, UnreadableInput
from ltocompat.model.limits import Limits
from ltocompat.scan.walk import spooled


def is_address(path: str) -> bool:
    """Return whether it is an address such as ``s3://bucket/x.whl``, and no path that exists."""
    return "://" in path and not os.path.lexists(path)


def name_of(file: BinaryIO) -> str:
    """The name that an open file bears; ``-`` where it has none."""
    name = getattr(file, "name", None)
    return name if isinstance(name, str) and name else "-"


@contextmanager
def opened_file(file: BinaryIO, limits: Limits) -> Iterator[ByteView]:
    """The bytes of an open file: read in place where it is a regular one, else spooled.

    Args:
        file: the file, which stays open; where it can seek, it is read from its beginning.
        limits: what it may cost.

    Raises:
        UnreadableInput: it can't be read.
    """
    descriptor = _regular(file)
    if descriptor is not None:
        yield ByteView(FileSource(descriptor))
        return
    name = name_of(file)

    def read(size: int) -> bytes:
        try:
            return file.read(size)
        except Exception as error:  # whatever a foreign file raises
            raise UnreadableInput(f"{name!r} can't be read: {error}") from error

    if file.seekable():
        file.seek(0)
    with spooled(read, name, limits) as view:
        yield view


def _regular(file: BinaryIO) -> int | None:
    """The descriptor of a regular file whose bytes the object shows as they are."""
    # Other files with a descriptor may show other bytes than it does, as gzip's do.
    raw = file.raw if isinstance(file, io.BufferedReader) else file
    if isinstance(raw, io.FileIO) and stat.S_ISREG(os.fstat(raw.fileno()).st_mode):
        return raw.fileno()
    return None


@contextmanager
def opened_address(address: str, limits: Limits) -> Iterator[ByteView]:
    """The bytes at an address, which are fetched once.

    Raises:
        Missing: fsspec is not installed.
        UnreadableInput: there is no such address, or it can't be read.
    """
    try:
        import fsspec
    except ImportError as error:
        raise Missing(
            f"{address!r} is read by fsspec, which is not installed; run pip install "
            "'ltocompat[remote]'"
        ) from error
    try:
        file = fsspec.open(address, "rb").open()
    except Exception as error:
        raise UnreadableInput(f"{address!r} can't be opened: {error}") from error
    with file, opened_file(file, limits) as view:
        yield view

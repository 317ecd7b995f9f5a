"""Inputs beside paths: bytes, open files, and addresses that fsspec knows."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import BinaryIO

from ltocompat.files.byteview import ByteView, FileSource, MemorySource
from ltocompat.model.errors import Missing, UsageError, readable
from ltocompat.model.limits import Limits

_Bytes = bytes | bytearray | memoryview
# A path or place; or the bytes of a file, or an open binary file.
Source = str | os.PathLike[str] | _Bytes | BinaryIO


class OpenSources(dict[str, ByteView]):
    """The bytes of sources without a path, by their names.

    Attributes:
        texts: every source as a path: the given path, or its name.
    """

    def __init__(self, texts: list[str]) -> None:
        super().__init__()
        self.texts = texts

    @property
    def all_in_memory(self) -> bool:
        """Return whether no source is read from a disk."""
        return len(self) == len(self.texts) and all(
            isinstance(view.source, MemorySource) for view in self.values()
        )


def is_one_source(value: object) -> bool:
    """Return whether a value is one source, not a collection of sources."""
    return isinstance(value, str | _Bytes | os.PathLike) or hasattr(value, "read")


@contextmanager
def opened_sources(sources: Iterable[Source], limits: Limits) -> Iterator[OpenSources]:
    """Open sources as paths; bytes are called ``input-N`` by position, files keep their names.

    Args:
        sources: the sources to open; files stay open.
        limits: bounds for files that have to be copied.

    Raises:
        UnreadableInput: a file can't be read.
        UsageError: it is not a source.
    """
    sources = tuple(sources)
    found = OpenSources(source_names(sources))
    with ExitStack() as stack:
        for name, source in zip(found.texts, sources, strict=True):
            if not isinstance(source, str | os.PathLike):
                found[name] = stack.enter_context(opened_file(source, limits))
        yield found


def source_names(sources: Iterable[Source]) -> list[str]:
    """Return the paths of sources for answers.

    Raises:
        UsageError: one is not a source.
    """
    names: list[str] = []
    for number, source in enumerate(sources):
        if not is_one_source(source):
            hint = "; unpack it: *paths" if isinstance(source, Iterable) else ""
            raise UsageError(f"{source!r:.60} is neither a path, bytes nor an open file{hint}")
        if isinstance(source, str | os.PathLike):
            names.append(os.fspath(source))
        else:
            own = name_of(source)
            names.append(f"input-{number}" if own == "-" or own in names else own)
    return names


def is_address(path: str) -> bool:
    """Return whether it is an address such as ``s3://bucket/x.whl``, not an existing path."""
    return "://" in path and not os.path.lexists(path)


def name_of(file: Source) -> str:
    """Return the name of an open file; ``-`` for a file or bytes without a name."""
    name = getattr(file, "name", None)
    return name if isinstance(name, str) and name else "-"


@contextmanager
def opened_file(file: _Bytes | BinaryIO, limits: Limits) -> Iterator[ByteView]:
    """Open the bytes of an open file: read in place if it is regular, else spooled.

    Args:
        file: the file, which stays open; a seekable file is read from its beginning.
        limits: upper limits on sizes, counts and time for reading it.

    Raises:
        UnreadableInput: it can't be read.
        UsageError: it is open as text.
    """
    if isinstance(file, io.TextIOBase):
        named = "a StringIO" if isinstance(file, io.StringIO) else repr(name_of(file))
        raise UsageError(f"{named} is open as text; give bytes, or open it with mode 'rb'")
    if isinstance(file, _Bytes | io.BytesIO):
        yield ByteView.of(file.getvalue() if isinstance(file, io.BytesIO) else file)
        return
    descriptor = _regular(file)
    if descriptor is not None:
        yield ByteView(FileSource(descriptor))
        return
    name = name_of(file)

    def read(size: int) -> bytes:
        with readable(repr(name), Exception):  # whatever a foreign file raises
            return file.read(size)

    from ltocompat.scan.walk import spooled  # late: options name sources, and read none

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
    """Open the bytes at an address, which are fetched once.

    Raises:
        Missing: fsspec is not installed.
        UnreadableInput: there is no such address, or it can't be read.
    """
    try:
        import fsspec
    except ImportError as error:
        raise Missing(
            f"{address!r} can be read only with fsspec, which is not installed; run pip install "
            "'ltocompat[remote]'"
        ) from error
    with readable(repr(address), Exception, done="opened"):
        file = fsspec.open(address, "rb").open()
    with file, opened_file(file, limits) as view:
        yield view

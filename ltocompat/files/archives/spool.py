"""Storage for unpacked members while they are read: memory, or one nameless file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from weakref import WeakSet

from msgspec import Struct, field

from ltocompat.files.byteview import ByteView, FileSource
from ltocompat.files.descriptors import write_all
from ltocompat.model.errors import Malformed
from ltocompat.model.limits import MIB
from ltocompat.model.location import Location

# Modules that wait to be described keep the bytes of their members: a thousand of these at most.
IN_MEMORY = 64 << 10
_LEAST_KEPT = 4 * MIB
_MOST_KEPT = 512 * MIB


class Spool(Struct):
    """Stores the unpacked members of one container, each as long as it has a view.

    Larger members share one unnamed temporary file, so that only one file per nested container is
    open, and its pages are reused.
    """

    _file: _File | None = None
    _kept: WeakSet[_SpooledSource] = field(default_factory=WeakSet)

    def keep(self, chunks: Iterator[bytes], size: int | None) -> ByteView:
        """Return a view of the bytes of ``chunks``, at most ``size`` bytes in all (None: unknown).

        Raises:
            Malformed: there is no room for them, or ``chunks`` raises it.
        """
        first: list[bytes] = []
        length = 0
        for chunk in chunks:
            first.append(chunk)
            length += len(chunk)
            if length > IN_MEMORY:
                return self._spooled(first, chunks, size)
        return ByteView.of(b"".join(first))

    def _spooled(self, first: list[bytes], rest: Iterator[bytes], size: int | None) -> ByteView:
        # Imported here: most runs unpack nothing large.
        import tempfile

        start = self._free(size)
        try:
            if self._file is None:
                with tempfile.TemporaryFile(buffering=0) as file:
                    self._file = _File(os.dup(file.fileno()))
            end = start
            for part in (first, rest):
                for chunk in part:
                    os.lseek(self._file.descriptor, end, os.SEEK_SET)
                    write_all(self._file.descriptor, chunk)
                    end += len(chunk)
        except OSError as error:
            where = tempfile.tempdir or "any folder for temporary files"
            raise Malformed(
                f"its bytes can't be kept in {where!r}: {error.strerror}; set TMPDIR to a folder "
                "with more room"
            ) from error
        source = _SpooledSource(self._file, start, end)
        self._kept.add(source)
        return ByteView(source, start, end - start)

    def _free(self, size: int | None) -> int:
        """The first gap of ``size`` bytes between those that are still read, or behind them."""
        position = 0
        for start, end in sorted((kept.start, kept.end) for kept in self._kept):
            if size is not None and start - position >= size:
                break
            position = max(position, end)
        return position


class _File:
    """The temporary file, which closes itself with the spool and the last view of it.

    No file of Python's: in a cycle with an exception, that would close itself before, and warn.
    """

    __slots__ = ("descriptor",)

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __del__(self) -> None:
        os.close(self.descriptor)


class _SpooledSource(FileSource):
    """A stretch of the temporary file, which stays open with it."""

    __slots__ = ("__weakref__", "_file", "end", "start")

    def __init__(self, file: _File, start: int, end: int) -> None:
        super().__init__(file.descriptor)
        self._file = file
        self.start = start
        self.end = end


def holds_alone(view: ByteView) -> bool:
    """Return whether a view is a whole member in a temporary file, and keeps it alive."""
    source = view.source
    return isinstance(source, _SpooledSource) and view.size == source.end - source.start


class MemberCache(Struct):
    """Unpacked members of one file, in their temporary file.

    Only members of ``_LEAST_KEPT`` bytes and more are kept, since smaller ones are unpacked again
    quickly, and at most ``_MOST_KEPT`` bytes, since temporary files lie in memory on some systems.

    Attributes:
        sources: bytes instead of whole files, by their names.
    """

    sources: Mapping[str, ByteView] = {}
    _path: str | None = None
    _views: dict[Location, ByteView] = field(default_factory=dict)

    def keep(self, place: Location, view: ByteView) -> None:
        """Keep a member, and drop members of another file."""
        if place.path != self._path:
            self._path = place.path
            self._views.clear()
        if view.size >= _LEAST_KEPT and holds_alone(view):
            kept = sum(other.size for other in self._views.values())
            if kept + view.size <= _MOST_KEPT:
                self._views[place] = view

    def around(self, place: Location) -> tuple[Location, ByteView] | None:
        """Return the kept member or source at or around a place; None if none was kept."""
        for depth in range(len(place.members), 0, -1):
            at = Location(place.path, place.members[:depth])
            if at in self._views:
                return at, self._views[at]
        source = self.sources.get(place.path)
        return None if source is None else (Location(place.path), source)

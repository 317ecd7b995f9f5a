"""A folder of what earlier runs found out, a file each, which counts with this user's seal alone.

Whatever else lies there, be it forged, cut, a pipe or of endless size, is as good as absent. A file
appears at once, under its whole name, so that processes share the folder and can be killed.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from typing import ClassVar, Self

import msgspec
from msgspec import Struct

from ltocompat.files.regular import open_regular
from ltocompat.model.generic import T
from ltocompat.targets.linkers import Cache
from ltocompat.targets.seal import SIZE, Seal, write_private

_KEPT = 90 * 24 * 3600.0  # seconds


class UserCache(Struct):
    """A cache of answers of earlier runs to questions of one kind, by name.

    Attributes:
        NAME: the name of the folder; its number changes if older answers are no longer valid.
        MOST: the largest bytes of one answer.

    Args:
        folder: the folder, which need not exist; a new one is private to the user.
        seal: the seal of the answers.
    """

    NAME: ClassVar[str]
    MOST: ClassVar[int]

    _folder: str
    _seal: Seal
    _swept: bool = False

    @classmethod
    def of(cls, environ: Mapping[str, str] | None = None) -> Self | None:
        """Return this user's cache, next to the trial linkers; None without a private secret."""
        seal = Seal.of(environ)
        folder = os.path.dirname(Cache.of(environ).folder)
        return None if seal is None else cls(os.path.join(folder, cls.NAME), seal)

    def _read(self, name: str, kind: type[T]) -> T | None:
        """Return what is kept under a name; None if it is not ours, old, or of another type."""
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            with os.fdopen(open_regular(os.path.join(self._folder, name)), "rb") as file:
                age = time.time() - os.fstat(file.fileno()).st_mtime
                seal, data = file.read(SIZE), file.read(self.MOST)
            if age < _KEPT and self._seal.is_on(seal, name.encode(), data):
                return msgspec.msgpack.decode(data, type=kind)
        return None

    def _write(self, name: str, value: object) -> None:
        """Keep it where that can be done; a run that keeps nothing is only slower."""
        with contextlib.suppress(OSError):
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            self._sweep()
            data = msgspec.msgpack.encode(value)
            sealed = self._seal.seal(name.encode(), data) + data
            write_private(os.path.join(self._folder, name), sealed)

    def _sweep(self) -> None:
        """Remove what is old, once."""
        if self._swept:
            return
        self._swept = True
        oldest = time.time() - _KEPT
        for entry in os.scandir(self._folder):
            with contextlib.suppress(OSError):  # another run may sweep it just now
                if entry.stat().st_mtime < oldest:
                    os.unlink(entry.path)

"""Answers of earlier runs: by SHA-256, facts version and all that was asked of the package.

What is kept bears this user's seal and is checked against its types when it is read: whatever is
forged, cut or old is as good as absent, and the package is read again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
from collections.abc import Mapping

import msgspec

from ltocompat.commands.survey.tables import Surveyed
from ltocompat.targets.linkers import Cache
from ltocompat.targets.seal import SIZE, Seal

_KEPT = 90 * 24 * 3600.0  # seconds
_MOST_BYTES = 256 << 20  # of one package's rows; those of the largest known take 2 MB
_SWEPT_EACH = 24 * 3600.0  # seconds
_SWEPT = ".swept"


class SurveyCache:
    """A folder of answers, a file each, that nobody else can read or write.

    Args:
        folder: need not exist yet.
        seal: what is kept bears it.
    """

    def __init__(self, folder: str, seal: Seal) -> None:
        self._folder = folder
        self._seal = seal

    @classmethod
    def of(cls, environ: Mapping[str, str] | None = None) -> SurveyCache | None:
        """That of this user; None where no secret can be kept to seal with."""
        folder = os.path.join(os.path.dirname(Cache.of(environ).folder), "surveys-1")
        seal = Seal.of(environ)
        return None if seal is None else cls(folder, seal)

    def get(self, sha256: str, asked: str) -> Surveyed | None:
        """The rows of a package; None where none are kept.

        Args:
            sha256: of its file.
            asked: all else that the rows depend on.
        """
        key = _key(sha256, asked)
        try:
            with open(os.path.join(self._folder, key), "rb") as file:
                seal, data = file.read(SIZE), file.read(_MOST_BYTES)
            if not self._seal.is_on(seal, key.encode(), data):
                return None
            found = msgspec.msgpack.decode(data, type=Surveyed)
        except (OSError, msgspec.MsgspecError):
            return None
        return found if all(row.sha256 == sha256 for row in found.distributions) else None

    def keep(self, sha256: str, asked: str, found: Surveyed) -> None:
        """Keep the rows of a package."""
        key = _key(sha256, asked)
        data = msgspec.msgpack.encode(found)
        with contextlib.suppress(OSError):  # a run without a cache is only slower
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            self._sweep()
            fd, part = tempfile.mkstemp(dir=self._folder)
            try:
                with os.fdopen(fd, "wb") as file:
                    file.write(self._seal.seal(key.encode(), data) + data)
                os.replace(part, os.path.join(self._folder, key))
            except OSError:
                os.unlink(part)
                raise

    def _sweep(self) -> None:
        """Once a day, remove what is old."""
        mark, now = os.path.join(self._folder, _SWEPT), time.time()
        with contextlib.suppress(OSError):
            if os.stat(mark).st_mtime > now - _SWEPT_EACH:
                return
        with open(mark, "wb"):
            os.utime(mark)
        for entry in os.scandir(self._folder):
            with contextlib.suppress(OSError):  # another run may sweep it just now
                if entry.stat().st_mtime < now - _KEPT:
                    os.unlink(entry.path)


def _key(sha256: str, asked: str) -> str:
    return hashlib.sha256(os.fsencode(f"{sha256}\0{asked}")).hexdigest()

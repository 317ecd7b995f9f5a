"""Our own folder of nvJitLinks, for trials only: one folder a version, the library and its origin.

Nothing outside of it is ever written or removed. A version appears at once (by renaming a folder
that is complete), so that a reader never sees half of one and parallel installs don't hurt.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass

from ltocompat.model.arch import Release
from ltocompat.model.errors import LtocompatError
from ltocompat.targets.linkers.linker import Linker, version_numbers

_ORIGIN = "origin.json"
_PART = ".part-"
_FORGOTTEN = 24 * 3600  # seconds after which a half install belongs to nobody any more


@dataclass(frozen=True, slots=True)
class InstallOrigin:
    """What is kept beside a library.

    Attributes:
        version: 12.4.127.
        library: name of the file.
        size: its bytes.
        sha256: of the library.
        wheel: what it came out of.
        evidence: how its version is known.
        machine: processor that it runs on.
    """

    version: str
    library: str
    size: int
    sha256: str
    wheel: str
    evidence: str
    machine: str


@dataclass(frozen=True, slots=True)
class Cache:
    """The folder ``folder``; it need not exist yet."""

    folder: str

    @classmethod
    def of(cls, environ: Mapping[str, str] | None = None) -> Cache:
        """That of this user: ``$XDG_CACHE_HOME/ltocompat/nvjitlink``, LOCALAPPDATA on Windows."""
        known = os.environ if environ is None else environ
        base = known.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME", "")
        if not os.path.isabs(base):  # the XDG specification: others are to be ignored
            base = os.path.join(known.get("HOME") or os.path.expanduser("~"), ".cache")
        return cls(os.path.join(base, "ltocompat", "nvjitlink"))

    def installed(self) -> tuple[Linker, ...]:
        """Every version that is complete, oldest first."""
        found = filter(None, map(self._read, self._names()))
        return tuple(sorted(found, key=lambda linker: linker.numbers))

    def size_of(self, linker: Linker) -> int:
        """Bytes that one of ``installed`` takes."""
        return os.path.getsize(linker.path)

    @contextmanager
    def part(self) -> Iterator[str]:
        """An empty folder inside; whatever is left of it in the end is removed."""
        try:
            os.makedirs(self.folder, exist_ok=True)
            self._sweep()
            folder = tempfile.mkdtemp(prefix=_PART, dir=self.folder)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def keep(self, part: str, origin: InstallOrigin) -> Linker:
        """Let the library in the folder ``part`` be one of ours; the first of two installs wins."""
        final = os.path.join(self.folder, origin.version)
        try:
            with open(os.path.join(part, _ORIGIN), "w", encoding="utf-8") as file:
                json.dump(asdict(origin), file, indent=1)
            if self._read(origin.version) is None:
                if os.path.exists(os.path.join(final, _ORIGIN)):
                    self._drop(final)  # ours, and damaged
                _rename_unless_there(part, final)
        except OSError as error:
            raise self._unwritable(error) from error
        kept = self._read(origin.version)
        if kept is None:
            raise LtocompatError(f"{final!r} is not ours and in the way; move it, then try again")
        return kept

    def remove(self, linker: Linker) -> None:
        """Remove one of ``installed``."""
        try:
            self._drop(os.path.join(self.folder, linker.version))
        except OSError as error:
            raise self._unwritable(error) from error

    def _drop(self, final: str) -> None:
        with self.part() as part:
            os.rename(final, os.path.join(part, "dropped"))

    def _names(self) -> list[str]:
        try:
            return [name for name in os.listdir(self.folder) if not name.startswith(".")]
        except OSError:
            return []

    def _read(self, name: str) -> Linker | None:
        folder = os.path.join(self.folder, name)
        try:
            with open(os.path.join(folder, _ORIGIN), encoding="utf-8") as file:
                origin = InstallOrigin(**json.load(file))
            path = os.path.realpath(os.path.join(folder, os.path.basename(origin.library)))
            if origin.version != name or os.path.getsize(path) != origin.size:
                return None
            numbers = version_numbers(origin.version)
        except (OSError, ValueError, TypeError, LtocompatError):
            return None
        return Linker(
            release=Release(*numbers[:2]),
            version=origin.version,
            path=path,
            found_via="trial cache",
            evidence=origin.evidence,
            for_trials=True,
            machine=origin.machine,
        )

    def _sweep(self) -> None:
        """Remove what installs left behind that were killed."""
        for name in os.listdir(self.folder):
            path = os.path.join(self.folder, name)
            with suppress(OSError):  # another install may sweep it just now
                if name.startswith(_PART) and time.time() - os.path.getmtime(path) > _FORGOTTEN:
                    shutil.rmtree(path, ignore_errors=True)

    def _unwritable(self, error: OSError) -> LtocompatError:
        return LtocompatError(
            f"the cache {self.folder!r} can't be written: {error.strerror}; free it, or set "
            "XDG_CACHE_HOME to another folder"
        )


def _rename_unless_there(source: str, target: str) -> None:
    try:
        os.rename(source, target)
    except OSError:
        if not os.path.isdir(target):
            raise

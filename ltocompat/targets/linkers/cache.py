"""Our own folders of linkers, for trials only: one a version, with its files and their origin.

Nothing outside of it is ever written or removed. A version appears at once (by renaming a folder
that is complete), so that a reader never sees half of one and parallel installs don't hurt.
"""

from __future__ import annotations

import glob
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress

import msgspec
from msgspec import Struct

from ltocompat.files.regular import read_regular
from ltocompat.model.arch import Release, version_numbers
from ltocompat.model.errors import LtocompatError, restated
from ltocompat.model.limits import KIB
from ltocompat.model.linker import Linker, Tool
from ltocompat.targets.linkers.installed_files import SEALED, are_sound, keep_seal
from ltocompat.targets.seal import user_folder

_ORIGIN = "origin.json"
_LONGEST_ORIGIN = 64 * KIB
_PART = ".part-"
_FORGOTTEN = 24 * 3600  # seconds after which a half install belongs to nobody any more


class InstalledFile(Struct, frozen=True):
    """A file of an installed linker.

    Attributes:
        name: the name of the file: the library, the program nvlink, or nvlink's libnvvm.
        size: its bytes.
        sha256: its SHA-256.
        wheel: the wheel that contained it.
    """

    name: str
    size: int
    sha256: str
    wheel: str


class InstallOrigin(Struct, frozen=True):
    """The record that is stored next to an installed linker.

    Attributes:
        version: 12.4.127.
        files: its files, the linker first.
        evidence: the proof of its version.
        machine: the processor that it runs on.
    """

    version: str
    files: tuple[InstalledFile, ...]
    evidence: str
    machine: str

    @property
    def sums(self) -> dict[str, str]:
        """SHA-256 of each file by its name."""
        return {os.path.basename(file.name): file.sha256 for file in self.files}


class Cache(Struct, frozen=True):
    """The folder ``folder`` with the copies of one linker; it need not exist yet."""

    folder: str
    tool: Tool = Tool.NVJITLINK

    @classmethod
    def of(cls, environ: Mapping[str, str] | None = None, tool: Tool = Tool.NVJITLINK) -> Cache:
        """This user's cache: ``$XDG_CACHE_HOME/ltocompat/nvjitlink``, LOCALAPPDATA on Windows."""
        known = os.environ if environ is None else environ
        return cls(os.path.join(user_folder(known, "XDG_CACHE_HOME", ".cache"), tool), tool)

    def installed(self) -> tuple[Linker, ...]:
        """Return every complete version, oldest first."""
        found = filter(None, map(self._read, glob.glob("*", root_dir=self.folder)))
        return tuple(sorted(found, key=lambda linker: linker.numbers))

    def size_of(self, linker: Linker) -> int:
        """Return the bytes of the files of one of ``installed``."""
        folder = os.path.dirname(linker.path)
        names = (name for name in os.listdir(folder) if name not in {_ORIGIN, SEALED})
        return sum(os.path.getsize(os.path.join(folder, name)) for name in names)

    @contextmanager
    def part(self) -> Iterator[str]:
        """Make an empty folder inside, and remove it at the end."""
        with self._writing():
            os.makedirs(self.folder, exist_ok=True)
            self._sweep()
            folder = tempfile.mkdtemp(prefix=_PART, dir=self.folder)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def keep(self, part: str, origin: InstallOrigin) -> Linker:
        """Add the files in the folder ``part`` to the cache; the first of two installs wins."""
        final = os.path.join(self.folder, origin.version)
        with self._writing():
            with open(os.path.join(part, _ORIGIN), "wb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(origin)))
            if self._read(origin.version) is None:
                if os.path.exists(os.path.join(final, _ORIGIN)):
                    self._drop(final)  # ours, and damaged
                # Nobody else may write, whatever the user's umask is.
                for path in (part, *(os.path.join(part, name) for name in os.listdir(part))):
                    os.chmod(path, os.stat(path).st_mode & ~(stat.S_IWGRP | stat.S_IWOTH))
                keep_seal(part, origin.version, origin.sums)
                _rename_unless_there(part, final)
        kept = self._read(origin.version)
        if kept is None:
            raise LtocompatError(
                f"{final!r} was not made by ltocompat and is in the way; move it, then try again"
            )
        return kept

    def remove(self, linker: Linker) -> None:
        """Remove one of ``installed``."""
        with self._writing():
            self._drop(os.path.join(self.folder, linker.version))

    def _drop(self, final: str) -> None:
        with self.part() as part:
            os.rename(final, os.path.join(part, "dropped"))

    def _read(self, name: str) -> Linker | None:
        folder = os.path.join(self.folder, name)
        try:
            text = read_regular(os.path.join(folder, _ORIGIN), _LONGEST_ORIGIN)
            origin = msgspec.json.decode(text, type=InstallOrigin)
            paths = [os.path.join(folder, os.path.basename(file.name)) for file in origin.files]
            sizes = [file.size for file in origin.files]
            if origin.version != name or [*map(os.path.getsize, paths)] != sizes or not paths:
                return None
            numbers = version_numbers(origin.version)
            if not are_sound(folder, self.tool, origin.version, origin.sums):
                return None
        except (OSError, ValueError, RecursionError, msgspec.MsgspecError, LtocompatError):
            return None
        return Linker(
            release=Release(*numbers[:2]),
            version=origin.version,
            path=os.path.realpath(paths[0]),
            found_via="trial cache",
            evidence=origin.evidence,
            for_trials=True,
            machine=origin.machine,
            tool=self.tool,
        )

    def _sweep(self) -> None:
        """Remove what installs left behind that were killed."""
        for name in os.listdir(self.folder):
            path = os.path.join(self.folder, name)
            with suppress(OSError):  # another install may sweep it just now
                if name.startswith(_PART) and time.time() - os.path.getmtime(path) > _FORGOTTEN:
                    shutil.rmtree(path, ignore_errors=True)

    def _writing(self) -> AbstractContextManager[None]:
        text = f"the cache {self.folder!r} can't be written"
        advice = "; correct this, or set XDG_CACHE_HOME to another folder"
        return restated(LtocompatError, text, OSError, advice=advice, brief=True)


def _rename_unless_there(source: str, target: str) -> None:
    try:
        os.rename(source, target)
    except OSError:
        if not os.path.isdir(target):
            raise

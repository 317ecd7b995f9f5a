"""Our own folders of linkers, for trials only: one a version, with its files and their origin.

Nothing outside of it is ever written or removed. A version appears at once (by renaming a folder
that is complete), so that a reader never sees half of one and parallel installs don't hurt.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from msgspec import Struct, field
from msgspec.structs import asdict

from ltocompat.files.regular import read_regular
from ltocompat.model.arch import Release, version_numbers
from ltocompat.model.errors import LtocompatError
from ltocompat.model.limits import KIB
from ltocompat.targets.linkers.installed_files import SEALED, are_sound, keep_seal
from ltocompat.targets.linkers.linker import Linker, Tool
from ltocompat.targets.seal import user_folder

_ORIGIN = "origin.json"
_LONGEST_ORIGIN = 64 * KIB
_PART = ".part-"
_FORGOTTEN = 24 * 3600  # seconds after which a half install belongs to nobody any more


class InstallOrigin(Struct, frozen=True):
    """The record that is kept beside an installed linker.

    Attributes:
        version: 12.4.127.
        library: name of the file: the library, or the program nvlink.
        size: its bytes.
        sha256: of that file.
        wheel: what it came out of.
        evidence: how its version is known.
        machine: processor that it runs on.
        others: name and bytes of each further file: the libnvvm of nvlink.
        sums: name and SHA-256 of each of these.
    """

    version: str
    library: str
    size: int
    sha256: str
    wheel: str
    evidence: str
    machine: str
    others: Mapping[str, int] = field(default_factory=dict)
    sums: Mapping[str, str] = field(default_factory=dict)

    @property
    def files(self) -> dict[str, str]:
        """SHA-256 of each file by its name."""
        named = {self.library: self.sha256, **dict.fromkeys(self.others, ""), **self.sums}
        return {os.path.basename(name): digest for name, digest in named.items()}


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
        """Every version that is complete, oldest first."""
        found = filter(None, map(self._read, self._names()))
        return tuple(sorted(found, key=lambda linker: linker.numbers))

    def size_of(self, linker: Linker) -> int:
        """Bytes that the files of one of ``installed`` take."""
        folder = os.path.dirname(linker.path)
        names = (name for name in os.listdir(folder) if name not in {_ORIGIN, SEALED})
        return sum(os.path.getsize(os.path.join(folder, name)) for name in names)

    @contextmanager
    def part(self) -> Iterator[str]:
        """An empty folder inside; whatever is left of it in the end is removed."""
        with self._writing():
            os.makedirs(self.folder, exist_ok=True)
            self._sweep()
            folder = tempfile.mkdtemp(prefix=_PART, dir=self.folder)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def keep(self, part: str, origin: InstallOrigin) -> Linker:
        """Let the files in the folder ``part`` be one of ours; the first of two installs wins."""
        final = os.path.join(self.folder, origin.version)
        with self._writing():
            with open(os.path.join(part, _ORIGIN), "w", encoding="utf-8") as file:
                json.dump(asdict(origin), file, indent=1)
            if self._read(origin.version) is None:
                if os.path.exists(os.path.join(final, _ORIGIN)):
                    self._drop(final)  # ours, and damaged
                _let_nobody_else_write(part)
                keep_seal(part, origin.version, origin.files)
                _rename_unless_there(part, final)
        kept = self._read(origin.version)
        if kept is None:
            raise LtocompatError(f"{final!r} is not ours and in the way; move it, then try again")
        return kept

    def remove(self, linker: Linker) -> None:
        """Remove one of ``installed``."""
        with self._writing():
            self._drop(os.path.join(self.folder, linker.version))

    def _drop(self, final: str) -> None:
        with self.part() as part:
            os.rename(final, os.path.join(part, "dropped"))

    def _names(self) -> list[str]:
        with suppress(OSError):
            return [name for name in os.listdir(self.folder) if not name.startswith(".")]
        return []

    def _read(self, name: str) -> Linker | None:
        folder = os.path.join(self.folder, name)
        try:
            text = read_regular(os.path.join(folder, _ORIGIN), _LONGEST_ORIGIN)
            origin = InstallOrigin(**json.loads(text))
            path = os.path.realpath(os.path.join(folder, os.path.basename(origin.library)))
            sizes = {origin.library: origin.size, **origin.others}
            paths = {os.path.join(folder, os.path.basename(file)): sizes[file] for file in sizes}
            whole = all(os.path.getsize(path) == size for path, size in paths.items())
            if origin.version != name or not whole:
                return None
            numbers = version_numbers(origin.version)
            if not are_sound(folder, self.tool, origin.version, origin.files):
                return None
        except (OSError, ValueError, TypeError, AttributeError, RecursionError, LtocompatError):
            return None
        return Linker(
            release=Release(*numbers[:2]),
            version=origin.version,
            path=path,
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

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise LtocompatError(
                f"the cache {self.folder!r} can't be written: {error.strerror}; free it, or set "
                "XDG_CACHE_HOME to another folder"
            ) from error


def _let_nobody_else_write(folder: str) -> None:
    """Take write permission from others, whatever the user's umask is."""
    for path in (folder, *(os.path.join(folder, name) for name in os.listdir(folder))):
        os.chmod(path, os.stat(path).st_mode & ~(stat.S_IWGRP | stat.S_IWOTH))


def _rename_unless_there(source: str, target: str) -> None:
    try:
        os.rename(source, target)
    except OSError:
        if not os.path.isdir(target):
            raise

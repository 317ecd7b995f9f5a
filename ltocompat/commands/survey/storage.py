"""Folders and files of this machine, or wherever fsspec reaches: ``s3://bucket/survey``.

fsspec's packages for object stores (s3fs, gcsfs, adlfs) and their settings are the user's choice.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import IO, Any

from ltocompat.commands.survey.extra import extra
from ltocompat.files.output import writing
from ltocompat.model.errors import UsageError, readable, restated
from ltocompat.model.limits import MIB
from ltocompat.scan.sources import is_address


def file_system(address: str) -> tuple[Any, str]:
    """Return fsspec's file system of a path or address, and the path in it.

    Raises:
        UsageError: fsspec doesn't know such addresses.
    """
    fsspec = extra("fsspec")
    if not is_address(address):
        return fsspec.filesystem("file"), os.path.abspath(address).replace(os.sep, "/")
    # Whatever a foreign file system raises.
    with restated(UsageError, f"{address!r} can't be reached by fsspec", Exception):
        files, path = fsspec.url_to_fs(address)
    files.invalidate_cache()  # what this process listed before, others may have added to
    return files, path


def sizes_below(address: str) -> dict[str, int]:
    """Return the addresses and sizes of all files below an address, or of the file there.

    Raises:
        UnreadableInput: it can't be listed.
    """
    files, path = file_system(address)
    with readable(repr(address), Exception, done="listed"):
        found = files.find(path, detail=True)
        return {files.unstrip_protocol(name): info["size"] for name, info in found.items()}


def copy_file(address: str, file: IO[bytes]) -> None:
    """Copy the file at an address.

    Raises:
        OSError: it can't be read at the moment.
    """
    with (
        restated(OSError, f"{address!r} can't be read", Exception),
        extra("fsspec").open(address, "rb") as remote,
    ):
        shutil.copyfileobj(remote, file, MIB)
    file.flush()


class Folder:
    """A folder of this machine, or at an address that fsspec knows.

    Args:
        address: its path or address.

    Attributes:
        address: the same.

    Raises:
        UsageError: fsspec doesn't know such addresses.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._local = not is_address(address)
        self.files, self._root = file_system(address)

    def path(self, *names: str) -> str:
        """Return the path of a name in the folder for its file system."""
        return "/".join((self._root, *names))

    def read(self, name: str) -> bytes | None:
        """Return the first MiB of a file; None if there is no file."""
        try:
            data: bytes = self.files.cat_file(self.path(name), end=MIB)
        except FileNotFoundError:
            return None
        return data

    def names(self, *folders: str) -> list[str]:
        """Return the names in one of its folders; none if there is no such folder."""
        try:
            self.files.invalidate_cache(self.path(*folders))
            found = self.files.ls(self.path(*folders), detail=False)
        except FileNotFoundError:
            return []
        return sorted(path.rpartition("/")[2] for path in found)

    def write(self, data: bytes, *names: str) -> None:
        """Write a file, completely or not at all.

        Raises:
            LtocompatError: it can't be written here.
        """
        path = self.path(*names)
        if not self._local:
            self.files.pipe_file(path, data)
            return
        part = self.path(*names[:-1], f".{names[-1]}")
        with writing(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(part, "wb") as file:
                file.write(data)
                file.flush()
                with contextlib.suppress(OSError):  # not on every file system
                    os.fsync(file.fileno())
            os.replace(part, path)

    def remove(self, *names: str) -> None:
        """Remove a file."""
        self.files.rm_file(self.path(*names))

    def locked(self) -> contextlib.AbstractContextManager[object]:
        """Hold a lock that always ends with the process; there is no lock at an address.

        Raises:
            UsageError: another process has the lock.
            LtocompatError: the folder can't be written.
        """
        if not self._local:
            return contextlib.nullcontext()
        with writing(self.path()):
            os.makedirs(self.path(), exist_ok=True)
            file = open(self.path(".lock"), "wb")  # noqa: SIM115 - closing it unlocks
        try:
            import fcntl
        except ImportError:  # Windows: nobody is kept out
            return file
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.close()
            raise UsageError(
                f"another survey is writing to {self.address!r}; wait for its end"
            ) from error
        return file

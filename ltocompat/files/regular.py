"""Regular files, and nothing else that may lie at a path: a pipe would be waited for."""

from __future__ import annotations

import errno
import os
import stat

from ltocompat.files.byteview import FileSource

# Flags to open a file without waiting, in case it is a pipe.
REGULAR = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_NONBLOCK", 0)
)


def open_regular(path: str) -> int:
    """Open a regular file for reading, and return the descriptor.

    Raises:
        OSError: there is no file, or it is not a regular one.
        ValueError: no file can have this path.
    """
    return if_regular(os.open(path, REGULAR), path)


def read_regular(path: str, most: int) -> bytes:
    """Return the first ``most`` bytes of a regular file.

    Raises:
        OSError: there is no file, it is not a regular one, or it can't be read.
        ValueError: no file can have this path.
    """
    with os.fdopen(open_regular(path), "rb") as file:
        return file.read(most)


def if_regular(fd: int, path: str) -> int:
    """Return the descriptor of a regular file; close any other.

    Raises:
        OSError: it is not a regular file.
    """
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise OSError(errno.EINVAL, "it is not a regular file", path)


def sha256_of_path(path: str) -> str:
    """Return the SHA-256 of a regular file, in hexadecimal digits.

    Raises:
        OSError: there is no file, it is not a regular one, or it can't be read.
    """
    # Imported here: most commands that read files take no sum.
    import hashlib

    with os.fdopen(open_regular(path), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class OpenedFile(FileSource):
    """An open file that is closed with its last view."""

    __slots__ = ("_own",)

    def __init__(self, fd: int) -> None:
        self._own = fd
        super().__init__(fd)

    def __del__(self) -> None:
        os.close(self._own)

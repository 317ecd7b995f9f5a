"""Regular files, and nothing else that may lie at a path: a pipe would be waited for."""

from __future__ import annotations

import errno
import os
import stat

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0)
# Opening a pipe would wait for its other end.
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)


def open_regular(path: str) -> int:
    """A descriptor to read a regular file by.

    Raises:
        OSError: there is none, or something else is there.
        ValueError: no file can have this path.
    """
    fd = os.open(path, _FLAGS | _AT_ONCE)
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise OSError(errno.EINVAL, "it is no regular file", path)


def read_regular(path: str, most: int) -> bytes:
    """The first ``most`` bytes of a regular file.

    Raises:
        OSError: there is none, something else is there, or it can't be read.
        ValueError: no file can have this path.
    """
    with os.fdopen(open_regular(path), "rb") as file:
        return file.read(most)

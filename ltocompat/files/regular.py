"""Regular files, and nothing else that may lie at a path: a pipe would be waited for."""

from __future__ import annotations

import errno
import os
import stat

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0)
# Opening a pipe would wait for its other end.
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)
_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_PATH", 0)


def open_regular(path: str) -> int:
    """A descriptor to read a regular file by.

    Raises:
        OSError: there is none, or something else is there.
        ValueError: no file can have this path.
    """
    return _if_regular(os.open(path, _FLAGS | _AT_ONCE), path)


def open_inside(root: str, path: str) -> int:
    """A descriptor to read a regular file below ``root`` by.

    Args:
        root: a folder whose files somebody else may change at any time.
        path: the file below it, none of whose names is a link.

    Raises:
        OSError: there is none, something else is there, or there is a link on the way.
        ValueError: no file can have this path.
    """
    if os.open not in os.supports_dir_fd:  # Windows
        return open_regular(os.path.join(root, path.lstrip("/")))
    *folders, name = path.strip("/").split("/")
    place = os.open(root, _FOLDER)
    try:
        for folder in folders:
            inner = os.open(folder, _FOLDER | os.O_NOFOLLOW, dir_fd=place)
            os.close(place)
            place = inner
        return _if_regular(os.open(name, _FLAGS | _AT_ONCE | os.O_NOFOLLOW, dir_fd=place), path)
    finally:
        os.close(place)


def read_regular(path: str, most: int) -> bytes:
    """The first ``most`` bytes of a regular file.

    Raises:
        OSError: there is none, something else is there, or it can't be read.
        ValueError: no file can have this path.
    """
    with os.fdopen(open_regular(path), "rb") as file:
        return file.read(most)


def _if_regular(fd: int, path: str) -> int:
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise OSError(errno.EINVAL, "it is no regular file", path)

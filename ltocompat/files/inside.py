"""Files below a folder that stands for ``/``: no link, rename or ``..`` leads out of it.

Linux resolves a path inside of a folder by itself (openat2, since 5.6). Elsewhere each name is
opened by the descriptor of the folder that holds it, and links are read, never followed.
"""

from __future__ import annotations

import errno
import functools
import os
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

# True if this system opens files relative to a folder's descriptor; Windows doesn't.
BY_DESCRIPTOR = {os.open, os.readlink} <= os.supports_dir_fd and os.scandir in os.supports_fd
_MOST_LINKS = 40  # symbolic links followed on one path, as Linux allows
_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_PATH", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_OPENAT2, _RESOLVE_IN_ROOT = 437, 0x10  # of every architecture; linux/openat2.h
# It is not there, is forbidden, or knows less; EAGAIN: something was renamed at that moment.
_CAN_NOT = {errno.ENOSYS, errno.EPERM, errno.EINVAL, errno.E2BIG, errno.EAGAIN}


def open_inside(root: str, path: str, flags: int) -> int:
    """Open ``path`` after all links, whose targets are also below ``root``.

    Raises:
        OSError: there is nothing, or more links than Linux follows.
        ValueError: no file can have this path.
    """
    found = _openat2(root, path, flags) if sys.platform == "linux" else None
    if found is not None:
        return found
    with _walked(root, path) as (places, names):
        if len(places) > len(names):
            return os.open(".", flags, dir_fd=places[-1])
        if len(places) < len(names):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return os.open(names[-1], flags | _NO_LINK, dir_fd=places[-1])


def real_inside(root: str, path: str) -> str:
    """Return the path after all links, as seen inside, as far as it exists.

    Raises:
        OSError: there are more links than Linux follows.
        ValueError: no file can have this path.
    """
    with _walked(root, path) as (_, names):
        return "/" + "/".join(names)


def _openat2(root: str, path: str, flags: int) -> int | None:
    """The descriptor; None if the system can't resolve a path inside of a folder."""
    how = struct.pack("=QQQ", flags | os.O_CLOEXEC, 0, _RESOLVE_IN_ROOT)
    name = os.fsencode(path)
    if b"\0" in name:
        raise ValueError("a path can't contain a NUL character")
    call, error = _system_call()
    place = os.open(root, _FOLDER)
    try:
        found = call(_OPENAT2, place, name, how, len(how))
        number = error()
    finally:
        os.close(place)
    if found >= 0:
        return found
    if number in _CAN_NOT:
        return None
    raise OSError(number, os.strerror(number), path)


@functools.cache
def _system_call() -> tuple[Callable[..., int], Callable[[], int]]:
    import ctypes

    return ctypes.CDLL(None, use_errno=True).syscall, ctypes.get_errno


@contextmanager
def _walked(root: str, path: str) -> Iterator[tuple[list[int], list[str]]]:
    """Descriptors of the folders on the way, the root first, and names of which none is a link.

    There are fewer folders where the last name is none, or nothing is there.
    """
    places, names = [os.open(root, _FOLDER)], list[str]()
    try:
        todo, links = path.split("/")[::-1], 0
        while todo:
            name = todo.pop()
            if name in ("", "."):
                continue
            place = places[-1] if len(places) > len(names) else None
            target = None if name == ".." else _link(name, place)
            if target is not None:
                links += 1
                if links > _MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
                todo += target.split("/")[::-1]
                _leave(places, names, 0 if target.startswith("/") else len(names))
            elif name == "..":
                _leave(places, names, max(0, len(names) - 1))
            else:
                names.append(name)
                with suppress(OSError):
                    if place is not None:
                        places.append(os.open(name, _FOLDER | _NO_LINK, dir_fd=place))
        yield places, names
    finally:
        _leave(places, names, -1)


def _link(name: str, place: int | None) -> str | None:
    """Read the target of a link; None if it is no link, or is not there."""
    try:
        return None if place is None else os.readlink(name, dir_fd=place)
    except OSError:
        return None


def _leave(places: list[int], names: list[str], depth: int) -> None:
    """Go back up to so many names."""
    del names[max(0, depth) :]
    while len(places) > depth + 1:
        os.close(places.pop())

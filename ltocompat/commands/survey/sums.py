"""The SHA-256 of files."""

from __future__ import annotations

import hashlib
import os

from ltocompat.model.limits import MIB


def sha256_of_path(path: str) -> str:
    """The SHA-256 of the file at a path, in hexadecimal digits."""
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        return sha256_of(fd)
    finally:
        os.close(fd)


def sha256_of(fd: int) -> str:
    """The SHA-256 of an open file, from its beginning; its position moves."""
    total = hashlib.sha256()
    os.lseek(fd, 0, os.SEEK_SET)
    while data := os.read(fd, MIB):
        total.update(data)
    return total.hexdigest()

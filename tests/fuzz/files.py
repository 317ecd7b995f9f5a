"""Where inputs that have to be files are written: a folder of each process, in memory if it can."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

_folders: dict[int, str] = {}


def folder() -> str:
    """The folder of this process; it goes when the process ends."""
    process = os.getpid()
    if process not in _folders:
        memory = "/dev/shm"  # noqa: S108 - a private folder is made in it
        place = memory if os.path.isdir(memory) else None
        _folders[process] = tempfile.mkdtemp(prefix="ltocompat-fuzz-", dir=place)
        atexit.register(clear)
    return _folders[process]


def clear() -> None:
    """Remove the folder of this process."""
    made = _folders.pop(os.getpid(), None)
    if made is not None:
        shutil.rmtree(made, ignore_errors=True)


def written(name: str, data: bytes) -> str:
    """The path of a file with these bytes, until the next one of that name."""
    path = os.path.join(folder(), name)
    Path(path).write_bytes(data)
    return path

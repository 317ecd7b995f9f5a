"""Return whether the files of an installed linker are still those that were installed.

Their sums stand in our tables; those of a version that the tables lack are kept beside it, under
this user's seal. Libraries have 60 MB: one that was read once is known again by its size, number
and times, which are kept under the seal, too. What others could have written is not trusted.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress

from ltocompat import facts
from ltocompat.files.regular import open_regular, read_regular
from ltocompat.model.limits import GIB
from ltocompat.model.linker import Tool
from ltocompat.targets.seal import SIZE, Seal

SEALED = "seal"
# Bytes of one file; ten times the largest one known.
LARGEST = GIB


def are_sound(folder: str, tool: Tool, version: str, sums: Mapping[str, str]) -> bool:
    """Return whether ``folder`` has only our files, with the right checksums.

    Args:
        folder: the folder.
        tool: the kind of linker.
        version: its version, 12.4.127.
        sums: SHA-256 of each file by its name, from the installation; a version in our tables needs
            none.

    Raises:
        OSError: one can't be read.
    """
    if not all(_only_ours(path) for path in (folder, *(os.path.join(folder, n) for n in sums))):
        return False
    seal = Seal.of()
    if seal is not None and seal.is_on(_sealed(folder), *_state(folder, version, sums)):
        return True
    known = _known_sums(tool, version)
    found = {name: _sum(folder, name) for name in sums}
    if not all(digest in known for digest in found.values()):
        return False
    keep_seal(folder, version, sums)
    return True


def keep_seal(folder: str, version: str, sums: Mapping[str, str]) -> None:
    """Seal the contents of ``folder``, whose files were just checked against these checksums."""
    seal = Seal.of()
    if seal is not None:
        with suppress(OSError), open(os.path.join(folder, SEALED), "wb") as file:
            file.write(seal.seal(*_state(folder, version, sums)))


def _sealed(folder: str) -> bytes:
    with suppress(OSError):
        return read_regular(os.path.join(folder, SEALED), SIZE)
    return b""


def _state(folder: str, version: str, sums: Mapping[str, str]) -> tuple[bytes, ...]:
    """Return what changes with any file; the time of the last change can't be set back."""
    found = (os.stat(os.path.join(folder, name)) for name in sums)
    times = [(now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns) for now in found]
    return version.encode(), json.dumps([dict(sums), times]).encode()


def _only_ours(path: str) -> bool:
    """Return whether nobody but this user and root can have written what lies there."""
    if sys.platform == "win32":
        return True  # a folder of the user's profile
    status = os.lstat(path)
    theirs = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) or stat.S_ISLNK(status.st_mode)
    return status.st_uid in (0, os.getuid()) and not theirs


def _sum(folder: str, name: str) -> str:
    with os.fdopen(open_regular(os.path.join(folder, name)), "rb") as file:
        if os.fstat(file.fileno()).st_size > LARGEST:
            return ""
        return hashlib.file_digest(file, "sha256").hexdigest()


def _known_sums(tool: Tool, version: str) -> frozenset[str]:
    """The sums of this very version: the library of another would answer in its name."""
    wheels = (wheel for wheel in facts.linker_wheels(tool) if wheel.version == version)
    return frozenset(wheel.member_sha256 for wheel in wheels)

"""Files that are written whole, or not at all: neither a full disk nor a kill leaves a part."""

from __future__ import annotations

import errno
import glob
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import BinaryIO, Self, TextIO

from ltocompat.files.descriptors import write_all
from ltocompat.model.errors import LtocompatError

_OWN_FILES = "/proc/self/fd"
_NAMELESS = getattr(os, "O_TMPFILE", 0)
_MINE = os.O_CLOEXEC if hasattr(os, "O_CLOEXEC") else getattr(os, "O_BINARY", 0)
# A file that is mounted has a name that can't be replaced, as has one in a folder of another's.
_CANT_BE_REPLACED = (errno.EBUSY, errno.EACCES, errno.EPERM, errno.EROFS, errno.EXDEV)
_SCRATCH = "ltocompat-scratch-"  # no folder of a user's is called so, with eight characters behind
_HEX = "[0-9a-f]" * 8
_SETTLED = 60.0  # seconds until a folder has its lock


def write_new(path: str, data: bytes) -> None:
    """Write a new file.

    Raises:
        FileExistsError: it is.
        LtocompatError: it can't be written.
    """
    try:
        with _Part(path) as part:
            write_all(part.fd, data)
            part.become(path)
    except FileExistsError:
        raise
    except OSError as error:
        raise _unwritten(path, error) from error


def write_named(path: str, data: bytes) -> None:
    """Write a new file with a name from the user.

    Raises:
        LtocompatError: it exists, or can't be written.
    """
    with created(path) as file:
        file.write(data)


@contextmanager
def created(path: str) -> Iterator[BinaryIO]:
    """Open a binary file that gets the name ``path`` when the ``with`` statement succeeds.

    Raises:
        LtocompatError: the name exists already, or the file can't be written.
    """
    _refuse_taken(path)
    with writing(path), _Part(path) as part:
        with open(part.fd, "w+b", closefd=False) as file:
            yield file
        part.become(path)


@contextmanager
def folder_of(path: str, *, free: bool = True) -> Iterator[None]:
    """Make the folder of a file, and check before long work that the file can be written.

    Args:
        path: the file. If none comes into a new folder, the folder is removed again.
        free: True if the name must not exist.

    Raises:
        LtocompatError: the name exists already, or the file can't be written.
    """
    if free:
        _refuse_taken(path)
    folder = os.path.dirname(os.path.abspath(path))
    missing = not os.path.isdir(folder)
    with writing(path):
        os.makedirs(folder, exist_ok=True)
        with _Part(path):
            pass
    try:
        yield
    finally:
        if missing:
            with suppress(OSError):  # it holds the new file
                os.rmdir(folder)


def _refuse_taken(path: str) -> None:
    if os.path.lexists(path):  # said before the work, not after it
        there = FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        raise _unwritten(path, there, "name a new file")


@contextmanager
def replaced(path: str) -> Iterator[TextIO]:
    """Open a file that replaces ``path`` when the ``with`` statement succeeds.

    Raises:
        LtocompatError: it can't be written.
    """
    final = os.path.realpath(path)
    device = os.path.exists(final) and not os.path.isfile(final)  # such as /dev/stderr, or a pipe
    with ExitStack() as stack, writing(path):
        part = None if device else stack.enter_context(_Part(final))
        fd = os.open(final, os.O_WRONLY | _MINE) if part is None else part.fd
        file = open(  # noqa: SIM115 - closed below
            fd, "w", encoding="utf-8", errors="backslashreplace", newline="\n", closefd=part is None
        )
        try:
            yield file
            file.flush()
            if part is not None:
                part.replace(final)
        finally:
            with suppress(OSError):
                file.close()


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Raise an error that names ``path`` if it can't be written."""
    try:
        yield
    except OSError as error:
        raise _unwritten(path, error) from error


@contextmanager
def scratch_folder() -> Iterator[str]:
    """Make a temporary folder and remove it afterwards; first remove folders of killed runs."""
    place = glob.escape(os.path.join(tempfile.gettempdir(), _SCRATCH))
    for left in glob.iglob(f"{place}{'[0-9a-z_]' * 8}"):
        _sweep(left)
    with tempfile.TemporaryDirectory(prefix=_SCRATCH) as folder, _holding(folder):
        yield folder


@contextmanager
def folder_beside(path: str) -> Iterator[str]:
    """Make a private folder on the file system of ``path``, and remove it afterwards.

    Folders of killed runs next to it are removed first.
    """
    folder = name_beside(path)
    os.mkdir(folder, 0o700)
    try:
        with _holding(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _holding(folder: str) -> Iterator[None]:
    """Hold the lock of a folder, so that no other run takes it for one of a killed run."""
    held = _locked(folder)
    try:
        yield
    finally:
        if held is not None:
            os.close(held)


def _sweep(path: str) -> None:
    """Remove a file or a temporary folder of ours that no living process holds."""
    with suppress(OSError):
        status = os.lstat(path)
        folder, old = stat.S_ISDIR(status.st_mode), status.st_mtime < time.time() - _SETTLED
        private = folder and not stat.S_IMODE(status.st_mode) & 0o077  # as tempfile makes them
        ours = status.st_uid == os.getuid() and (private or stat.S_ISREG(status.st_mode))
        held = _locked(path) if ours and old else None
        if held is not None:
            remove = shutil.rmtree if folder else os.unlink
            remove(path)
            os.close(held)


def _locked(folder: str) -> int | None:
    """The descriptor that holds the lock of a folder; None if it is held, or can't be."""
    with suppress(ImportError, OSError):
        import fcntl  # which Windows has not

        fd = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            raise
        return fd
    return None


def _unwritten(path: str, error: OSError, way: str = "name a writable file") -> LtocompatError:
    reason = error.strerror or type(error).__name__
    return LtocompatError(f"{path!r} can't be written ({reason}); {way}")


class _Part:
    """What a file will be, written without a name or beside it.

    Linux has files without a name, of which a kill leaves nothing.

    Args:
        path: the file.

    Attributes:
        fd: a descriptor to write.
        name: of the file; empty for none.
    """

    def __init__(self, path: str) -> None:
        self.fd, self.name = -1, ""
        if _NAMELESS and os.path.isdir(_OWN_FILES):
            with suppress(OSError):  # not every file system has them
                folder = os.path.dirname(path) or os.curdir
                self.fd = os.open(folder, _NAMELESS | os.O_RDWR | _MINE, 0o666)
        if self.fd >= 0:
            return
        name = _beside(path)
        try:
            self.fd = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | _MINE, 0o666)
            self.name = name
        except OSError:
            if not (os.path.isfile(path) and os.access(path, os.W_OK)):
                raise
            with tempfile.TemporaryFile() as file:  # the folder alone can't be written
                self.fd = os.dup(file.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        if self.name:
            with suppress(OSError):
                os.unlink(self.name)

    def close(self) -> None:
        """Close the descriptor, once."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def become(self, path: str) -> None:
        """Give the file a free name; on a disk without hard links, as far as can be checked.

        Raises:
            FileExistsError: the name exists already.
        """
        try:
            if self.name:
                self.close()  # Windows renames no open file
                os.link(self.name, path)
            else:
                # A folder to start from, which an absolute path has no use for, makes it linkat.
                os.link(f"{_OWN_FILES}/{self.fd}", path, src_dir_fd=self.fd, follow_symlinks=True)
        except FileExistsError:
            raise
        except OSError:
            if os.path.lexists(path):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path) from None
            if not self.name:
                raise
            os.replace(self.name, path)

    def replace(self, path: str) -> None:
        """Replace a file and keep its mode; if it can't be replaced, write the contents into it."""
        try:
            if not self.name:
                if not os.path.exists(path):
                    self.become(path)
                    return
                beside = name_beside(path)
                self.become(beside)
                self.name = beside
            with suppress(OSError):
                shutil.copymode(path, self.name)
            if sys.platform == "win32":
                self.close()
            os.replace(self.name, path)
        except OSError as error:
            if self.fd == -1 or error.errno not in _CANT_BE_REPLACED or not os.path.isfile(path):
                raise
            _overwrite(self.fd, path)


def name_beside(path: str) -> str:
    """Return a free name next to a path; first remove leftovers of killed runs."""
    for left in glob.iglob(f"{glob.escape(path)}.{_HEX}.part"):
        _sweep(left)
    return _beside(path)


def _beside(path: str) -> str:
    return f"{path}.{os.urandom(4).hex()}.part"


def _overwrite(fd: int, path: str) -> None:
    """Write the contents of a file into another one, once there is room for all of them."""
    with open(fd, "rb", closefd=False) as file:
        file.seek(0)
        data = file.read()
    with open(path, "r+b", buffering=0) as file:
        before = os.fstat(file.fileno()).st_size
        try:
            if len(data) > before and hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), before, len(data) - before)
        except OSError:
            file.truncate(before)
            raise
        write_all(file.fileno(), data)
        file.truncate(len(data))

"""Files that are written whole, or not at all: no full disk leaves a part in their place."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from ltocompat.model.errors import LtocompatError


def write_new(path: str, data: bytes) -> None:
    """Write a file that is not there yet.

    Raises:
        FileExistsError: it is.
        LtocompatError: it can't be written.
    """
    try:
        with _part(path) as part:
            with open(part, "xb") as file:
                file.write(data)
            _name(part, path)
    except FileExistsError:
        raise
    except OSError as error:
        raise _unwritten(path, error) from error


def write_named(path: str, data: bytes) -> None:
    """Write a file that somebody named, and that is not there yet.

    Raises:
        LtocompatError: it is, or can't be written.
    """
    try:
        write_new(path, data)
    except FileExistsError as error:
        raise _unwritten(path, error, "name a new file") from error


@contextmanager
def replaced(path: str) -> Iterator[TextIO]:
    """A file to write, which takes the place of ``path`` when the ``with`` statement ends well.

    Raises:
        LtocompatError: it can't be written.
    """
    final = os.path.realpath(path)
    device = os.path.exists(final) and not os.path.isfile(final)  # such as /dev/stderr, or a pipe
    with _part(final) as beside:
        part = final if device else beside
        with writing(path):
            file = open(  # noqa: SIM115 - closed below
                part,
                "w" if device else "x",
                encoding="utf-8",
                errors="backslashreplace",
                newline="\n",
            )
        try:
            yield file
            with writing(path):
                file.close()
                if not device:
                    with suppress(OSError):
                        shutil.copymode(final, part)
                    os.replace(part, final)
        finally:
            with suppress(OSError):
                file.close()


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Raise an error that names ``path`` where it can't be written."""
    try:
        yield
    except OSError as error:
        raise _unwritten(path, error) from error


def _unwritten(path: str, error: OSError, way: str = "name a file that can be") -> LtocompatError:
    reason = error.strerror or type(error).__name__
    return LtocompatError(f"{path!r} can't be written ({reason}); {way}")


@contextmanager
def _part(path: str) -> Iterator[str]:
    """The path of a file beside ``path``, which is gone afterwards."""
    part = f"{path}.{os.urandom(4).hex()}.part"
    try:
        yield part
    finally:
        with suppress(OSError):
            os.unlink(part)


def _name(part: str, path: str) -> None:
    """Give a file a name that is free; where a disk has no links, as free as can be seen.

    Raises:
        FileExistsError: the name is taken.
    """
    try:
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path) from None
        os.replace(part, path)

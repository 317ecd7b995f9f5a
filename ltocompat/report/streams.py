"""Standard streams that are closed, full or gone: none of them ends a run in a traceback."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import IO, TYPE_CHECKING, TextIO

from ltocompat.model.errors import LtocompatError

if TYPE_CHECKING:
    from ltocompat.report import Writable


class AnswerLost(LtocompatError):
    """Standard output takes no more."""


class Answer:
    """Standard output, which says in one sentence that it can't be written."""

    def __init__(self, stream: Writable) -> None:
        self._stream = stream

    def write(self, text: str, /) -> None:
        """Write ``text``.

        Raises:
            AnswerLost: it can't be written.
            BrokenPipeError: nobody reads any more.
        """
        try:
            self._stream.write(text)
        except OSError as error:
            raise lost(error) from error


def flush_answer() -> None:
    """Write what is still kept of the answer.

    Raises:
        AnswerLost: it can't be written.
        BrokenPipeError: nobody reads any more.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        raise lost(error) from error


def lost(error: OSError) -> Exception:
    """Return the error to raise where standard output can't be written, and drop its buffer."""
    forget(sys.stdout)
    if isinstance(error, BrokenPipeError):
        return error
    reason = error.strerror or type(error).__name__
    return AnswerLost(f"standard output can't be written ({reason}); make room, or name a file")


class Messages:
    """Standard error: a message that can't be written is lost, and changes nothing else."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str, /) -> int:
        """Write ``text``, where that can be done."""
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            forget(self._stream)
        return len(text)

    def __getattr__(self, name: str) -> object:
        """Everything else is the stream's own."""
        return getattr(self._stream, name)


def forget(stream: TextIO) -> None:
    """Let a stream lead nowhere, so that Python's last flush of it at exit succeeds."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # it is not a file of the system, or closed for good
        return


def replace_missing_streams() -> None:
    """Give Python's standard streams to a process that was started without, and guard messages.

    What is missing is no empty input and takes no answer: reading and writing it fail.
    A stream that does not wait for its other end, as some programs hand theirs on, would lose what
    does not fit into a pipe at once: it is made to wait.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, _closed(mode))
        elif sys.platform != "win32":
            with suppress(OSError, ValueError):
                os.set_blocking(stream.fileno(), True)
    sys.stderr = Messages(sys.stderr)


def _closed(mode: str) -> IO[str]:
    """A stream in the place of a closed one: reading and writing it fail, by any name of it."""
    stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115 - to the end
    # /dev/stderr opens anew what the descriptor shows: a file could be written, a folder can't.
    closed = os.open(os.devnull if sys.platform == "win32" else os.sep, os.O_RDONLY)
    os.dup2(closed, stream.fileno(), inheritable=False)
    os.close(closed)
    return stream

"""Records of a command beside its answer: failures, notes, and progress."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec import Struct

from ltocompat.model.errors import LtocompatError, UnreadableInput


@dataclass(frozen=True, slots=True)
class Failure:
    """A path, or the whole run, that gave no answer; the other paths still give records.

    Attributes:
        kind: ``unreadable``, ``usage``, ``malformed``, ``limit``, ``missing``, ``failed``
            (a file can't be written) or ``internal``.
        message: one sentence.
        error: the error that was raised; None if only the sentence is known.
    """

    kind: str
    message: str
    error: LtocompatError | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, error: Exception) -> Failure:
        """Return the failure for an error; an error of another class is a bug of this tool."""
        if isinstance(error, FileNotFoundError) and error.filename is None:
            # Errors of os.getcwd, on which every relative path depends.
            error = UnreadableInput("the current folder was deleted; change to an existing folder")
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            error = LtocompatError("there is not enough memory; allow more, or read less at once")
        if not isinstance(error, LtocompatError):
            text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            return cls(
                "internal",
                f"internal error ({text}); this is a bug of ltocompat, please report it with the "
                "output of LTOCOMPAT_TRACEBACK=1",
            )
        return cls(error.kind, str(error), error)


class Note(Struct, frozen=True):
    """A sentence for the user while a command runs; it is not part of the answer."""

    message: str


# The logger of facts about the trials of a run: downloads (INFO), and trials that this system can't
# confine (WARNING). The command line shows each message once.
TRIAL_LOGGER = "ltocompat.trial"


class Progress(Struct, frozen=True):
    """Progress in an input file: the path, the bytes read so far, and the total number of bytes."""

    path: str
    done: int
    total: int


# Called with a path or a name, the bytes read so far and the total number of bytes.
OnStep = Callable[[str, int, int], None]


def reporter(progress: Callable[[Progress], None] | None) -> OnStep | None:
    """Return the inner callback for the callback of a caller.

    It also logs to the logger ``ltocompat``: each file or trial at level INFO, each step at level
    DEBUG.
    """
    import logging

    logger = logging.getLogger("ltocompat")
    if progress is None and not logger.isEnabledFor(logging.INFO):
        return None

    def report(path: str, done: int, total: int) -> None:
        logger.log(logging.DEBUG if done else logging.INFO, "%s: %d of %d", path, done, total)
        if progress is not None:
            progress(Progress(path, done, total))

    return report

"""The errors of ltocompat; each says what went wrong, with which value, and what to do next."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

_LONGEST = 4000  # characters; those of our own, without what they quote, have some hundreds


class LtocompatError(Exception):
    """The base class of the errors that ltocompat raises; the text of each error is one sentence.

    The middle of a very long quoted value is left out.

    Attributes:
        kind: the value of ``Failure.kind`` for such an error.
    """

    kind = "failed"

    def __init__(self, message: str) -> None:
        if len(message) > _LONGEST:
            half = _LONGEST // 2
            message = f"{message[:half]} .. {message[-half:]}"
        super().__init__(message)


class UnreadableInput(LtocompatError):
    """A path cannot be opened or read at all (missing, no permission, not a regular file)."""

    kind = "unreadable"


@contextmanager
def restated(
    kind: type[Exception],
    text: str,
    *errors: type[Exception],
    advice: str = "",
    brief: bool = False,
) -> Iterator[None]:
    """Raise an error of ``kind`` instead of any of these; it quotes them after ``text``.

    Args:
        kind: the error to raise.
        text: its beginning.
        errors: what is raised again.
        advice: its end.
        brief: False to quote the number and the path of an error of the system too.
    """
    try:
        yield
    except errors as error:
        reason = (brief and getattr(error, "strerror", None)) or error
        raise kind(f"{text}: {reason}{advice}") from error


def readable(
    what: str, *errors: type[Exception], done: str = "read"
) -> AbstractContextManager[None]:
    """Raise an ``UnreadableInput`` that names ``what`` instead of any of these errors."""
    return restated(UnreadableInput, f"{what} can't be {done}", *errors)


class UsageError(LtocompatError):
    """The caller gave an invalid value, such as an invalid place, filter or option."""

    kind = "usage"


class Missing(LtocompatError):
    """Something that was requested is missing on this machine; the text says how to get it."""

    kind = "missing"


class Malformed(LtocompatError):
    """Bytes do not have the structure that they claim; callers turn it into a ``Skipped``.

    Attributes:
        limit: name of the ``Limits`` field that was exceeded; None if none was.
    """

    kind = "malformed"
    limit: str | None = None


class LimitExceeded(Malformed):
    """Reading on would cost more than ``Limits`` allow; ``limit`` names the field."""

    kind = "limit"

    def __init__(self, limit: str, message: str) -> None:
        super().__init__(message)
        self.limit = limit


_LONGEST_NAME = 100


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `` (did you mean driver?)``; empty if no name is similar."""
    # The time that it takes grows with the square of their lengths.
    short = [other for other in known if len(other) <= _LONGEST_NAME]
    near = difflib.get_close_matches(name, short, n=2, cutoff=0.6)
    return f" (did you mean {' or '.join(near)}?)" if near else ""

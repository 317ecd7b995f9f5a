"""One place that turns what goes wrong in a part of a file into a sentence about that part."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ltocompat.model.errors import LimitExceeded, LtocompatError, UnreadableInput


@contextmanager
def guarded(problems: list[str], what: str) -> Iterator[None]:
    """Collect any error as a problem with ``what``.

    pyelftools promises no error type for hostile files, so every exception counts.

    Raises:
        LimitExceeded: passed through; reading on would cost too much.
        UnreadableInput: passed through; the file itself cannot be read.
    """
    try:
        yield
    except (LimitExceeded, UnreadableInput):
        raise
    except LtocompatError as error:
        problems.append(f"{what} cannot be read: {error}")
    except Exception as error:  # noqa: BLE001 - see above
        # Only the first line: pyelftools quotes whole structures.
        detail = next(iter(str(error).splitlines()), "") or type(error).__name__
        problems.append(f"{what} cannot be read: {detail}")

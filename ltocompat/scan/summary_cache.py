"""Studies of files that have not changed since the last run, for audits with trial links.

A summary is kept under the SHA-256 of the file's bytes, its path (places are written with it), how
it was read, and this very program (its version, and size and time of each of its files). Kept is
only what any run would find again: nothing with a place that could not be read, which a limit may
have caused, and nothing with a crash or a time-out. Whatever is wrong with what is kept, the file
is read as if there were nothing.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import os
import pickle
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ltocompat import model
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.version import VERSION
from ltocompat.targets.linkers import Cache

_KEPT = 90 * 24 * 3600.0  # seconds
_MOST_BYTES = 64 << 20  # of one file's summaries; those of libcuvs take 60 KB
_THIN = b"!<thin>\n"  # an archive whose members are other files
# Modules of values: a pickle that names anything else is none of ours.
_VALUES = {
    f"ltocompat.model.{name}"
    for name in (
        "arch",
        "artifact_summary",
        "image",
        "place",
        "signature",
        "symbols",
        "trial_answer",
        "variant",
    )
}


@dataclass(frozen=True, slots=True)
class Key:
    """What a summary is kept under.

    Attributes:
        digest: over all that makes a difference.
        path: the file.
        state: what tells that it was changed meanwhile.
    """

    digest: str
    path: str
    state: tuple[int, ...]


class SummaryCache:
    """A folder of summaries, a file each.

    Args:
        folder: need not exist yet.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder

    @classmethod
    def of(cls, environ: Mapping[str, str] | None = None) -> SummaryCache:
        """That of this user, beside the nvJitLinks for trials."""
        return cls(os.path.join(os.path.dirname(Cache.of(environ).folder), "summaries-3"))

    def key(self, path: str, how: str) -> Key | None:
        """What the summaries of a file are kept under; None for what is not one regular file.

        Args:
            path: the file.
            how: how it is read.
        """
        try:
            with open(path, "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    return None
                state = _state(file.fileno())
                if file.read(len(_THIN)) == _THIN:
                    return None
                file.seek(0)
                content = hashlib.file_digest(file, "sha256").hexdigest()
        except (OSError, ValueError):
            return None
        text = f"{content}\0{path}\0{how}\0{_program()}"
        return Key(hashlib.sha256(os.fsencode(text)).hexdigest(), path, state)

    def get(self, key: Key) -> list[ArtifactSummary] | None:
        """The summaries that are kept; None where there are none."""
        try:
            with open(self._file(key), "rb") as file:
                data = file.read(_MOST_BYTES)
            found = _Reader(io.BytesIO(data)).load()
        except Exception:  # noqa: BLE001 - broken bytes can make a pickle raise anything
            return None
        sound = isinstance(found, list) and all(
            isinstance(value, ArtifactSummary) for value in found
        )
        return found if sound else None

    def keep(self, key: Key, summaries: Sequence[ArtifactSummary]) -> None:
        """Keep summaries that were made of the file as it was when its key was."""
        if not all(map(_lasting, summaries)):
            return
        with contextlib.suppress(OSError):
            fd = os.open(key.path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
            try:
                changed = _state(fd) != key.state
            finally:
                os.close(fd)
            if not changed:
                os.makedirs(self._folder, exist_ok=True)
                self._sweep()
                _write(self._file(key), pickle.dumps(list(summaries), 5))

    def _file(self, key: Key) -> str:
        return os.path.join(self._folder, key.digest)

    def _sweep(self) -> None:
        """Remove what is old."""
        oldest = time.time() - _KEPT
        for entry in os.scandir(self._folder):
            with contextlib.suppress(OSError):  # another run may sweep it just now
                if entry.stat().st_mtime < oldest:
                    os.unlink(entry.path)


class _Reader(pickle.Unpickler):
    """Reads pickles of our own values; names of anything else, such as functions, are refused."""

    def find_class(self, module: str, name: str, /) -> Any:  # noqa: ANN401 - any of our values
        found = super().find_class(module, name) if module in _VALUES else None
        if not isinstance(found, type) or found.__module__ != module:
            raise pickle.UnpicklingError(f"{module}.{name} is no value of ours")
        return found


def _lasting(summary: ArtifactSummary) -> bool:
    tried = (trial for group in summary.groups for trial in group.trials.values())
    doubtful = any(trial_outcome.outcome in ("crashed", "timed out") for trial_outcome in tried)
    return not summary.skipped_count and not doubtful


def _state(fd: int) -> tuple[int, ...]:
    stat_result = os.fstat(fd)
    return stat_result.st_dev, stat_result.st_ino, stat_result.st_size, stat_result.st_mtime_ns


def _write(path: str, data: bytes) -> None:
    """Write a file that appears at once."""
    fd, part = tempfile.mkstemp(dir=os.path.dirname(path))
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        os.replace(part, path)
    except OSError:
        os.unlink(part)
        raise


@functools.cache
def _program() -> str:
    """This program: while it is being changed, its version stays the same."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(model.__file__)))
    words = [VERSION]
    words += [f"{name} {size} {time_}" for name, size, time_ in sorted(_sources(root))]
    return hashlib.sha256(os.fsencode("\n".join(words))).hexdigest()


def _sources(root: str) -> Iterator[tuple[str, int, int]]:
    for folder, folders, names in os.walk(root):
        folders[:] = [text for text in folders if text != "__pycache__"]
        for name in names:
            path = os.path.join(folder, name)
            status = os.stat(path)
            yield path, status.st_size, status.st_mtime_ns

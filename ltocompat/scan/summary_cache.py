"""Summaries of files that have not changed since the last run, for audits with trial links.

A summary is kept under the SHA-256 of the file's bytes, its path (places are written with it), how
it was read, and this very program (its version, and size and time of each of its files). Kept is
only what any run would find again: nothing with a place that could not be read, which a limit may
have caused, and nothing with a crash or a time-out. Whatever is wrong with what is kept, or without
this user's seal, the file is read as if there were nothing.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
from collections.abc import Sequence

from msgspec import Struct

from ltocompat.files.first_bytes import THIN_MAGIC
from ltocompat.files.regular import open_regular
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.version import VERSION, program_files
from ltocompat.targets.sealed_folder import UserCache


class Key(Struct, frozen=True):
    """The key of a kept summary.

    Attributes:
        digest: a digest of everything that affects the summary.
        path: the file.
        state: its state, which shows later changes.
    """

    digest: str
    path: str
    state: tuple[int, ...]


class SummaryCache(UserCache):
    """A cache of summaries, with one file for each."""

    NAME = "summaries-4"
    MOST = 64 << 20  # of one file's summaries; those of libcuvs take 60 KB

    def key(self, path: str, how: str) -> Key | None:
        """Return the key of a file's summaries; None if it is not one regular file.

        Args:
            path: the file.
            how: the options for reading it.
        """
        try:
            with os.fdopen(open_regular(path), "rb") as file:
                state = _state(os.fstat(file.fileno()))
                if file.read(len(THIN_MAGIC)) == THIN_MAGIC:  # its members are other files
                    return None
                file.seek(0)
                content = hashlib.file_digest(file, "sha256").hexdigest()
        except (OSError, ValueError):
            return None
        text = f"{content}\0{path}\0{how}\0{_program()}"
        return Key(hashlib.sha256(os.fsencode(text)).hexdigest(), path, state)

    def get(self, key: Key) -> list[ArtifactSummary] | None:
        """Return the cached summaries; None if there are none."""
        return self._read(key.digest, list[ArtifactSummary])

    def keep(self, key: Key, summaries: Sequence[ArtifactSummary]) -> None:
        """Cache summaries, if the file hasn't changed since its key was made."""
        if not all(map(_lasting, summaries)):
            return
        with contextlib.suppress(OSError):
            if _state(os.stat(key.path)) == key.state:
                self._write(key.digest, summaries)


def _lasting(summary: ArtifactSummary) -> bool:
    tried = (trial for group in summary.groups for trial in group.trials.values())
    return not summary.skipped_count and all(trial_outcome.lasting for trial_outcome in tried)


def _state(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


@functools.cache
def _program() -> str:
    """A key of this program: while it is being changed, its version stays the same."""
    states = [(path, _state(os.stat(path))) for _, path in program_files()]
    return hashlib.sha256(os.fsencode(f"{VERSION}\n{states}")).hexdigest()

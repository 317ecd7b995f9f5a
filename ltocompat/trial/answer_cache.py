"""Answers of trial links that are kept for the next run.

A question is told by the SHA-256 of the bytes that are linked, the exact version of the linker and
the processor that it runs on, the options (the architecture is one) and whether it was linked or
only added; where the bytes lie makes no difference. Crashes and time-outs are no answers: they may
come from the machine, and are asked again. Answers older than 90 days are asked again, too, so that
the file does not grow for ever. A cache that can't be read or written is as good as none.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING

from ltocompat.model.closing import Closing
from ltocompat.model.trial_answer import TrialOutcome
from ltocompat.targets.linkers import Cache, Linker, Tool
from ltocompat.trial import Request

if TYPE_CHECKING:
    import sqlite3

# Whatever changes the answer to the same question, as the reading of logs does, takes a new number.
_FILE = "trials-1.sqlite"
_DAY = 24 * 3600
_KEPT = 90  # days
_PATIENCE = 5.0  # seconds to wait for another run that writes
_PLACE = "\0"  # stands for the name of an input, which answers may repeat

_TABLE = (
    "CREATE TABLE IF NOT EXISTS answers "
    "(question BLOB PRIMARY KEY, answer TEXT NOT NULL, day INTEGER NOT NULL) WITHOUT ROWID"
)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of one linker.

    Attributes:
        digest: SHA-256 over all that makes a difference.
        name: what the input is called, here and now.
    """

    digest: bytes
    name: str

    @classmethod
    def of(cls, linker: Linker, request: Request) -> Question:
        """The question that a request is."""
        digest = hashlib.sha256()
        how = "linked" if request.complete else "added"
        for text in (_who(linker), linker.machine, how, *request.options):
            digest.update(text.encode() + b"\0")
        for input_ in request.inputs:
            digest.update(b"%d " % input_.kind + hashlib.sha256(input_.data).digest())
        return cls(digest.digest(), request.inputs[0].name)

    @classmethod
    def about(cls, linker: Linker, what: str) -> Question:
        """A question about the library itself."""
        text = f"{_who(linker)}\0{linker.machine}\0about\0{what}"
        return cls(hashlib.sha256(text.encode()).digest(), _PLACE)


def _who(linker: Linker) -> str:
    """The exact version; answers of nvJitLink were kept by that alone before nvlink was asked."""
    return linker.version if linker.tool is Tool.NVJITLINK else str(linker)


class TrialCache(Closing):
    """Answers in one file; use it as a context manager, which closes it.

    Args:
        path: the file, which need not exist yet.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: sqlite3.Connection | None = None
        self._broken = False

    @classmethod
    def of(cls, environ: Mapping[str, str] | None = None) -> TrialCache:
        """That of this user, beside the nvJitLinks for trials."""
        return cls(os.path.join(os.path.dirname(Cache.of(environ).folder), _FILE))

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            with _forgiving():
                self._file.close()
            self._file = None

    def get(self, question: Question) -> TrialOutcome | None:
        """The answer that is kept; None where there is none."""
        found = self._fetch(question)
        try:
            value = None if found is None else json.loads(found)
            who, outcome, cause, record = value if isinstance(value, list) else ("", "", None, "")
        except (ValueError, RecursionError):
            return None
        texts = all(
            isinstance(each_record, str) for each_record in (who, outcome, cause or "", record)
        )
        if not texts or not who:
            return None
        return TrialOutcome(who, outcome, cause, record.replace(_PLACE, question.name))

    def keep(self, answers: Mapping[Question, TrialOutcome]) -> None:
        """Keep answers; crashes and time-outs are left out."""
        rows = [
            (
                question.digest,
                json.dumps(
                    [
                        trial_outcome.who,
                        trial_outcome.outcome,
                        trial_outcome.cause,
                        _anywhere(trial_outcome.reason, question.name),
                    ]
                ),
                int(time.time() // _DAY),
            )
            for question, trial_outcome in answers.items()
            if trial_outcome.outcome not in ("crashed", "timed out")
        ]
        file = self._opened() if rows else None
        if file is not None:
            with _forgiving(), file:
                file.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", rows)

    def _fetch(self, question: Question) -> str | None:
        file = self._opened()
        row = None
        if file is not None:
            with _forgiving():
                select = "SELECT answer FROM answers WHERE question = ?"
                row = file.execute(select, (question.digest,)).fetchone()
        return row[0] if row and isinstance(row[0], str) else None

    def _opened(self) -> sqlite3.Connection | None:
        if self._file is None and not self._broken:
            self._broken = True
            with _forgiving():
                self._file = _open(self._path)
                self._broken = False
        return self._file


def _open(path: str) -> sqlite3.Connection:
    import sqlite3  # some builds of Python lack it

    os.makedirs(os.path.dirname(path), exist_ok=True)
    file = sqlite3.connect(path, timeout=_PATIENCE)
    with file:
        file.execute(_TABLE)
        file.execute("DELETE FROM answers WHERE day < ?", (int(time.time() // _DAY) - _KEPT,))
    return file


def _anywhere(text: str, name: str) -> str:
    return text.replace(name, _PLACE) if name else text


class _forgiving(contextlib.AbstractContextManager[None]):  # noqa: N801 - it is used like a function
    """Without a cache, everything is asked; that is all."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if isinstance(error, OSError | ImportError):
            return True
        # sqlite3.Error, without importing what may be missing
        return kind is not None and any(
            each_type.__module__ == "sqlite3" for each_type in kind.__mro__
        )

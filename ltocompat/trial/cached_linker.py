"""One linker that is asked: first what it said before, then the linker itself.

Answers are kept for the next run. A question is told by the SHA-256 of the bytes that are linked,
the exact version of the linker and the processor that it runs on, the options (the architecture is
one) and whether it was linked or only added; where the bytes lie makes no difference. Crashes and
time-outs are no answers: they may come from the machine, and are asked again. Answers older than 90
days are asked again, too, so that the file does not grow for ever. A cache that can't be read or
written is as good as none, and so is an answer without this user's seal.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib import resources
from typing import TYPE_CHECKING

from msgspec import Struct

from ltocompat.model.closing import Closing
from ltocompat.model.trial_answer import TrialOutcome
from ltocompat.targets.linkers import Cache, Linker, Tool
from ltocompat.targets.seal import Seal
from ltocompat.trial.link_pool import Pool
from ltocompat.trial.logs import explain, first_line
from ltocompat.trial.values import Answer, InputKind, LinkOutcome, Request, TrialInput

if TYPE_CHECKING:
    import sqlite3

LEFT_OUT = "left out"
"""nvlink ended well, with nothing of its inputs in its output: no word on any of them."""

# Whatever changes the answer to the same question, as the reading of logs does, takes a new number.
_FILE = "trials-2.sqlite"
_DAY = 24 * 3600
_KEPT = 90  # days
_LONGEST = 1 << 20  # characters of an answer
_PATIENCE = 5.0  # seconds to wait for another run that writes
_PLACE = "\0"  # stands for the name of an input, which answers may repeat

_TABLE = (
    "CREATE TABLE IF NOT EXISTS answers "
    "(question BLOB PRIMARY KEY, answer TEXT NOT NULL, day INTEGER NOT NULL, seal BLOB NOT NULL)"
    " WITHOUT ROWID"
)

# A probe's target: above the fragment's architecture, and known to all versions.
_PROBE_OPTIONS = ("-arch=sm_80", "-lto", "-r")


class Question(Struct, frozen=True):
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
        seal: what is kept bears it.
    """

    def __init__(self, path: str, seal: Seal) -> None:
        self._path = path
        self._seal = seal
        self._file: sqlite3.Connection | None = None
        self._broken = False

    @classmethod
    def of(cls, environ: Mapping[str, str] | None = None) -> TrialCache | None:
        """That of this user, beside the nvJitLinks for trials; None without a seal."""
        seal = Seal.of(environ)
        folder = os.path.dirname(Cache.of(environ).folder)
        return None if seal is None else cls(os.path.join(folder, _FILE), seal)

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            with _forgiving():
                self._file.close()
            self._file = None

    def get(self, question: Question) -> TrialOutcome | None:
        """The answer that is kept; None where there is none."""
        rows: list[tuple[object, object]] = []
        with _forgiving():
            if (file := self._opened()) is not None:
                select = (
                    "SELECT answer, seal FROM answers WHERE question = ? AND length(answer) < ?"
                )
                rows = file.execute(select, (question.digest, _LONGEST)).fetchall()
        match rows:
            case [(str(text), bytes(seal))] if self._seal.is_on(seal, *_parts(question, text)):
                who, outcome, cause, reason = json.loads(text)
                return TrialOutcome(who, outcome, cause, reason.replace(_PLACE, question.name))
        return None

    def keep(self, answers: Mapping[Question, TrialOutcome]) -> None:
        """Keep answers; crashes and time-outs are left out."""
        today = int(time.time() // _DAY)
        rows = []
        for question, answer in answers.items():
            if answer.outcome not in ("crashed", "timed out"):
                name, reason = question.name, answer.reason
                anywhere = reason.replace(name, _PLACE) if name else reason
                text = json.dumps([answer.who, answer.outcome, answer.cause, anywhere])
                rows.append(
                    (question.digest, text, today, self._seal.seal(*_parts(question, text)))
                )
        with _forgiving():
            if rows and (file := self._opened()) is not None:
                with file:
                    file.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", rows)

    def _opened(self) -> sqlite3.Connection | None:
        if self._file is None and not self._broken:
            self._broken = True
            self._file = _open(self._path)
            self._broken = False
        return self._file


def _parts(question: Question, text: str) -> tuple[bytes, bytes]:
    """What is sealed: an answer counts for its own question."""
    return question.digest, text.encode("utf-8", "surrogatepass")


def _open(path: str) -> sqlite3.Connection:
    import sqlite3  # some builds of Python lack it

    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    file = sqlite3.connect(path, timeout=_PATIENCE)
    file.execute("PRAGMA trusted_schema = OFF")
    with file:
        file.execute(_TABLE)
        file.execute("DELETE FROM answers WHERE day < ?", (int(time.time() // _DAY) - _KEPT,))
    return file


@contextmanager
def _forgiving() -> Iterator[None]:
    """Without a cache, everything is asked; that is all."""
    try:
        yield
    except (OSError, ImportError):
        pass
    except Exception as error:
        # sqlite3.Error, without importing what may be missing
        if not any(kind.__module__ == "sqlite3" for kind in type(error).__mro__):
            raise


class CachedLinker:
    """Asks one linker, whose processes start with the first question that is new.

    Args:
        linker: whom to ask.
        cache: what it said before; None to ask everything.
        stack: ends its processes.
    """

    def __init__(self, linker: Linker, cache: TrialCache | None, stack: ExitStack) -> None:
        self._linker = linker
        self._cache = cache
        self._stack = stack
        self._pool: Pool | None = None

    def ask(self, requests: Sequence[Request]) -> list[TrialOutcome]:
        """What the linker does with each request.

        Raises:
            TrialImpossible: the library can't be loaded.
        """
        questions = [Question.of(self._linker, request) for request in requests]
        known = {question: self._known(question) for question in questions}
        new = [n for n, question in enumerate(questions) if known[question] is None]
        answers = self._started().run(requests[n] for n in new) if new else ()
        table = {
            questions[n]: outcome_of(self._linker, answer)
            for n, answer in zip(new, answers, strict=True)
        }
        self._keep(table)
        return [known[question] or table[question] for question in questions]

    @functools.cached_property
    def compiles_relocatable(self) -> bool:
        """As the function of that name finds out.

        Raises:
            TrialImpossible: the library can't be loaded.
        """
        question = Question.about(self._linker, "compiles relocatable")
        known = self._known(question)
        if known is None:
            does = compiles_relocatable(self._linker.path, self._linker.tool)
            known = TrialOutcome(str(self._linker), "linked" if does else "refused")
            self._keep({question: known})
        return known.worked

    def _known(self, question: Question) -> TrialOutcome | None:
        return None if self._cache is None else self._cache.get(question)

    def _keep(self, answers: Mapping[Question, TrialOutcome]) -> None:
        if self._cache is not None:
            self._cache.keep(answers)

    def _started(self) -> Pool:
        if self._pool is None:
            self._pool = self._stack.enter_context(Pool(self._linker.path, tool=self._linker.tool))
        return self._pool


def outcome_of(linker: Linker, answer: Answer, *, whole: bool = False) -> TrialOutcome:
    """What an answer says of a fragment, or, ``whole``, of a link that may leave nothing open."""
    who, outcome, offline = str(linker), answer.outcome, linker.tool is Tool.NVLINK
    if outcome is LinkOutcome.ACCEPTED and offline and not whole:
        return TrialOutcome(who, LEFT_OUT)
    # nvlink may have left out all that has kernels: without any, a whole link proves nothing.
    proves_nothing = outcome is LinkOutcome.COMPILED and offline and whole
    if outcome in (LinkOutcome.COMPILED, LinkOutcome.LINKED) and not proves_nothing:
        return TrialOutcome(who, "linked")
    # A fragment alone misses its neighbours.
    open_fragment = outcome is LinkOutcome.UNRESOLVED and not whole
    if outcome is LinkOutcome.ACCEPTED or proves_nothing or open_fragment:
        return TrialOutcome(who, "accepted")
    if outcome in (LinkOutcome.CRASHED, LinkOutcome.TIMED_OUT):
        return TrialOutcome(who, str(outcome), None, answer.why_ended)
    reason = explain(answer.log, linker.tool.label)
    if reason is not None:
        return TrialOutcome(who, "refused", reason.cause, reason.sentence)
    first = first_line(answer.log) or "it gave no reason"
    return TrialOutcome(who, "refused", None, f"{answer.code_name or answer.code}: {first}")


def compiles_relocatable(library: str | os.PathLike[str], tool: Tool = Tool.NVJITLINK) -> bool:
    """Whether ``-r`` makes this linker compile a fragment without kernels; asked once a file.

    Measured with ``fragment.ltoir``, LTO-IR of ``fragment.cu``: a device function that calls
    another, which nothing defines (NVRTC 12.0.140, ``-arch=sm_75 -dlto``, so that every nvJitLink
    reads it). 12.0 .. 12.9 refuse the option, 13.0 .. 13.2 take it and write an empty output, 13.3
    .. 13.5 compile the function and leave the call to a later link (2026-11-21). Other builds are
    asked, and nvlinks.

    Raises:
        TrialImpossible: the library can't be loaded.
    """
    path = os.path.realpath(library)
    status = os.stat(path)
    return _compiles_relocatable(path, (status.st_size, status.st_mtime_ns), tool)


@functools.cache
def _compiles_relocatable(path: str, _identity: tuple[int, int], tool: Tool) -> bool:
    fragment = resources.files(__package__).joinpath("fragment.ltoir").read_bytes()
    trial_input = TrialInput("fragment.ltoir", InputKind.LTOIR, fragment)
    with Pool(path, workers=1, tool=tool) as pool:
        (answer,) = pool.run([Request((trial_input,), _PROBE_OPTIONS)])
    return answer.outcome is LinkOutcome.COMPILED

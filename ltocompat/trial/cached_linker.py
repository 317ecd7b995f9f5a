"""One linker that is asked: first what it said before, then the linker itself.

Answers are kept for the next run. A question is told by the SHA-256 of the bytes that are linked,
the exact version of the linker and the processor that it runs on, the options (the architecture is
one) and whether it was linked or only added; where the bytes lie makes no difference. A crash may
come from the machine, and so may a time-out, unless all CPU time that a request gets was used up:
that is kept with the time, and asked again where there is more. What was answered over 90 days ago
is asked again as well. Answers hold for the same questions in the same company: inputs of one
file share a process, in which one can forge the answers of the others, and no answer that a hostile
file forged about another's code may be kept for that other.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from importlib import resources

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.model.generic import grouped
from ltocompat.model.trial_answer import TrialOutcome
from ltocompat.model.words import truncate_list
from ltocompat.targets.linkers import Linker, Tool
from ltocompat.targets.sealed_folder import UserCache
from ltocompat.trial.link_pool import Pool
from ltocompat.trial.logs import explain, first_line
from ltocompat.trial.trial_run import TrialRun
from ltocompat.trial.values import (
    DEFAULT_TRIAL_LIMITS,
    Answer,
    InputKind,
    LinkOutcome,
    Request,
    TrialInput,
)

# nvlink succeeded with an output without its inputs, which shows nothing about them.
LEFT_OUT = "left out"

# The outcome of a whole link whose output is empty.
NO_KERNEL = "its output has no kernel, so it looked for no undefined function"

_PLACE = "\0"  # stands for the name of an input, which answers may repeat

# A probe's target: above the fragment's architecture, and known to all versions.
_PROBE_OPTIONS = ("-arch=sm_80", "-lto", "-r")


class Question(Struct, frozen=True):
    """Questions to one linker.

    Attributes:
        digest: SHA-256 over everything that affects the answer.
        name: the current name of the input.
    """

    digest: bytes
    name: str

    @classmethod
    def of(cls, linker: Linker, request: Request) -> Question:
        """Return the question of a request."""
        digest = hashlib.sha256()
        how = "linked" if request.complete else "added"
        for text in (_who(linker), linker.machine, how, *request.options):
            digest.update(text.encode() + b"\0")
        for input_ in request.inputs:
            digest.update(b"%d " % input_.kind + input_.digest)
        return cls(digest.digest(), request.inputs[0].name)

    @classmethod
    def about(cls, linker: Linker, what: str) -> Question:
        """Return a question about the library itself."""
        text = f"{_who(linker)}\0{linker.machine}\0about\0{what}"
        return cls(hashlib.sha256(text.encode()).digest(), _PLACE)


def _who(linker: Linker) -> str:
    """The exact version; answers of nvJitLink were kept by that alone before nvlink was asked."""
    return linker.version if linker.tool is Tool.NVJITLINK else str(linker)


class TrialCache(UserCache):
    """Answers of linkers to questions of one run, in one file."""

    # Whatever changes the answer to the same question, as the reading of logs does, takes a new
    # number.
    NAME = "trials-5"
    MOST = 4 << 20

    def get(self, questions: Sequence[Question]) -> list[TrialOutcome | None]:
        """Return the cached answers; None if there are none."""
        rows = self._read(_name(questions), list[TrialOutcome | None]) or [None] * len(questions)
        return [
            None if row is None else replace(row, reason=row.reason.replace(_PLACE, question.name))
            for question, row in zip(questions, rows, strict=True)
        ]

    def keep(self, questions: Sequence[Question], answers: Sequence[TrialOutcome | None]) -> None:
        """Cache the answers that don't change."""
        rows = [
            None if answer is None or not answer.lasting else _row(question, answer)
            for question, answer in zip(questions, answers, strict=True)
        ]
        if any(rows):
            self._write(_name(questions), rows)


def _name(questions: Sequence[Question]) -> str:
    return hashlib.sha256(b"".join(question.digest for question in questions)).hexdigest()


def _row(question: Question, answer: TrialOutcome) -> TrialOutcome:
    """An answer to the question of any file."""
    name, reason = question.name, answer.reason
    return replace(answer, reason=reason.replace(name, _PLACE) if name else reason)


class CachedLinker(Struct, dict=True):
    """Asks one linker, whose processes start with the first new question.

    Args:
        linker: the linker.
        cache: its earlier answers; None: ask everything.
        stack: ends its processes.
        trial_run: the CPU time of all trials of this run.
    """

    _linker: Linker
    _cache: TrialCache | None
    _stack: ExitStack
    _trial_run: TrialRun

    def ask(self, requests: Sequence[Request]) -> list[TrialOutcome]:
        """Return the linker's answer to each request of one file.

        Raises:
            TrialImpossible: the library can't be loaded.
        """
        questions = [Question.of(self._linker, request) for request in requests]
        kept = self._known(questions)
        known = {n: answer for n, answer in enumerate(kept) if answer is not None}
        new = [n for n in range(len(questions)) if n not in known]
        if new:
            first = list(_joined(requests, new))
            answers = self._run([request for _, request in first])
            for (numbers, _), answer in zip(first, answers, strict=True):
                if len(numbers) == 1 or answer.outcome is LinkOutcome.ACCEPTED:
                    known.update(dict.fromkeys(numbers, outcome_of(self._linker, answer)))
            left = [n for n in new if n not in known]
            answers = self._run([requests[n] for n in left])
            for n, answer in zip(left, answers, strict=True):
                known[n] = outcome_of(self._linker, answer)
            self._keep(questions, [known[n] for n in range(len(questions))])
        return [known[n] for n in range(len(questions))]

    def _run(self, requests: Sequence[Request]) -> list[Answer]:
        if not requests:
            return []
        total = sum(request.size for request in requests)
        watch = self._trial_run.watch(f"{requests[0].file}: {self._linker}", total)
        return list(self._pool.run(requests, watch))

    @functools.cached_property
    def compiles_relocatable(self) -> bool:
        """Return the result of the function with this name.

        Raises:
            TrialImpossible: the library can't be loaded.
        """
        question = Question.about(self._linker, "compiles relocatable")
        (known,) = self._known([question])
        if known is None:
            does = compiles_relocatable(self._linker.path, self._linker.tool)
            known = TrialOutcome(str(self._linker), "linked" if does else "refused")
            self._keep([question], [known])
        return known.worked

    def _known(self, questions: Sequence[Question]) -> list[TrialOutcome | None]:
        if self._cache is None:
            return [None] * len(questions)
        most = self._trial_run.most(DEFAULT_TRIAL_LIMITS.cpu_seconds)
        return [
            None if answer and answer.cpu_seconds and answer.cpu_seconds < most else answer
            for answer in self._cache.get(questions)
        ]

    def _keep(self, questions: Sequence[Question], answers: Sequence[TrialOutcome | None]) -> None:
        if self._cache is not None:
            self._cache.keep(questions, answers)

    @functools.cached_property
    def _pool(self) -> Pool:
        linker, trial_run = self._linker, self._trial_run
        pool = Pool(linker.path, tool=linker.tool, trial_run=trial_run)
        return self._stack.enter_context(pool)


_Joined = Iterator[tuple[list[int], Request]]


def _joined(requests: Sequence[Request], numbers: Iterable[int]) -> _Joined:
    """Requests as they are asked first, each with its numbers: one link adds what only is added.

    Create, Destroy and the way there and back cost ten times what adding a fragment costs. A link
    that takes all inputs takes each alone: in 5,250 sequences of 2 to 12 inputs, whole and damaged,
    with 12.0 .. 13.5 (2026-11-25), all but a damaged fatbin that crashes 13.2 in a new process
    alone. Where it refuses one (up to 12.5 they refuse PTX behind other PTX), each is asked by
    itself.
    """
    alike = grouped((n if requests[n].complete else requests[n].options, n) for n in numbers)
    for same in alike.values():
        inputs = tuple(input_ for n in same for input_ in requests[n].inputs)
        yield same, replace(requests[same[0]], inputs=inputs)


def outcome_of(linker: Linker, answer: Answer, *, whole: bool = False) -> TrialOutcome:
    """Return the outcome for a fragment, or, if ``whole``, for a link without open symbols."""
    who, outcome, offline = str(linker), answer.outcome, linker.tool is Tool.NVLINK
    if outcome is LinkOutcome.ACCEPTED and offline and not whole:
        return TrialOutcome(who, LEFT_OUT)
    # nvlink may have left out all that has kernels: without any, a whole link proves nothing.
    proves_nothing = outcome is LinkOutcome.COMPILED and offline and whole
    reason = explain(answer.log, linker.tool.label)
    printed = reason if whole and reason is not None and reason.only_printed else None
    cause, text = (printed.cause, printed.sentence) if printed else (None, "")
    if outcome in (LinkOutcome.COMPILED, LinkOutcome.LINKED) and not proves_nothing:
        return TrialOutcome(who, "linked", cause, text)
    # A fragment alone misses its neighbours.
    open_fragment = outcome is LinkOutcome.UNRESOLVED and not whole
    if outcome is LinkOutcome.ACCEPTED or proves_nothing or open_fragment:
        return TrialOutcome(who, "accepted", cause, text or (answer.note or NO_KERNEL) * whole)
    if outcome in (LinkOutcome.CRASHED, LinkOutcome.TIMED_OUT):
        why = answer.why_ended
        return TrialOutcome(who, str(outcome), None, why, cpu_seconds=answer.cpu_seconds)
    if outcome is LinkOutcome.LOST:
        return TrialOutcome(who, "lost", "lost kernels", lost_kernels(answer))
    first = first_line(answer.log) or "it gave no reason"
    said = reason.sentence if reason else f"{answer.code_name or answer.code}: {first}"
    return TrialOutcome(who, "refused", reason.cause if reason else None, said)


def lost_kernels(answer: Answer) -> str:
    """Return a sentence about the kernels that a successful link lost."""
    return f"the link succeeds, but without the kernels {truncate_list(answer.lost, 3)}"


def compiles_relocatable(library: str | os.PathLike[str], tool: Tool = Tool.NVJITLINK) -> bool:
    """Return whether ``-r`` makes this linker compile a fragment without kernels.

    Measured with ``fragment.ltoir``, LTO-IR of ``fragment.cu``: a device function that calls
    another, which nothing defines (NVRTC 12.0.140, ``-arch=sm_75 -dlto``, so that every nvJitLink
    reads it). 12.0 .. 12.9 refuse the option, 13.0 .. 13.2 take it and write an empty output, 13.3
    .. 13.5 compile the function and leave the call to a later link (2026-11-21). Other builds, and
    nvlinks, are tried.

    Raises:
        TrialImpossible: the library can't be loaded.
    """
    fragment = resources.files(__package__).joinpath("fragment.ltoir").read_bytes()
    trial_input = TrialInput("fragment.ltoir", InputKind.LTOIR, fragment)
    with Pool(library, workers=1, tool=tool) as pool:
        (answer,) = pool.run([Request((trial_input,), _PROBE_OPTIONS)])
    return answer.outcome is LinkOutcome.COMPILED

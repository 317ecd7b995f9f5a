"""One linker that is asked: first what it said before, then the linker itself."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from ltocompat.model.trial_answer import TrialOutcome
from ltocompat.targets.linkers import Linker, Tool
from ltocompat.trial import Answer, LinkOutcome, Pool, Request, compiles_relocatable, explain
from ltocompat.trial.answer_cache import Question, TrialCache

LEFT_OUT = "left out"
"""nvlink ended well, with nothing of its inputs in its output: no word on any of them."""

_WORDS = {
    LinkOutcome.ACCEPTED: "accepted",
    LinkOutcome.COMPILED: "linked",
    LinkOutcome.LINKED: "linked",
    LinkOutcome.UNRESOLVED: "accepted",  # a fragment alone misses its neighbours
    LinkOutcome.REFUSED: "refused",
    LinkOutcome.CRASHED: "crashed",
    LinkOutcome.TIMED_OUT: "timed out",
}


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
        self._relocatable: bool | None = None

    def ask(self, requests: Sequence[Request]) -> list[TrialOutcome]:
        """What the linker does with each request.

        Raises:
            TrialImpossible: the library can't be loaded.
        """
        questions = [Question.of(self._linker, request) for request in requests]
        known = {question: self._known(question) for question in questions}
        new = [n for n, each_question in enumerate(questions) if known[each_question] is None]
        answers = self._started().run(requests[n] for n in new) if new else iter(())
        table = {questions[n]: self._tried(answer) for n, answer in zip(new, answers, strict=True)}
        if self._cache is not None:
            self._cache.keep(table)
        return [known[question] or table[question] for question in questions]

    def compiles_relocatable(self) -> bool:
        """As ``trial.compiles_relocatable`` finds out.

        Raises:
            TrialImpossible: the library can't be loaded.
        """
        if self._relocatable is None:
            question = Question.about(self._linker, "compiles relocatable")
            known = self._known(question)
            if known is None:
                does = compiles_relocatable(self._linker.path, self._linker.tool)
                known = TrialOutcome(str(self._linker), "linked" if does else "refused")
                if self._cache is not None:
                    self._cache.keep({question: known})
            self._relocatable = known.worked
        return self._relocatable

    def _known(self, question: Question) -> TrialOutcome | None:
        return None if self._cache is None else self._cache.get(question)

    def _started(self) -> Pool:
        if self._pool is None:
            self._pool = self._stack.enter_context(Pool(self._linker.path, tool=self._linker.tool))
        return self._pool

    def _tried(self, answer: Answer) -> TrialOutcome:
        word = _WORDS[answer.outcome]
        who = str(self._linker)
        if self._linker.tool is Tool.NVLINK and answer.outcome is LinkOutcome.ACCEPTED:
            return TrialOutcome(who, LEFT_OUT)
        if word in ("accepted", "linked"):
            return TrialOutcome(who, word)
        if answer.outcome is LinkOutcome.TIMED_OUT:
            return TrialOutcome(who, word, None, "it used up its time limit")
        if answer.outcome is LinkOutcome.CRASHED:
            return TrialOutcome(who, word, None, str(answer.signal or answer.exit_status))
        reason = explain(answer.log, self._linker.tool.label)
        if reason is not None:
            return TrialOutcome(who, word, reason.cause, reason.sentence)
        lines = (line.strip() for line in answer.log.splitlines() if line.strip())
        first = next(lines, "it gave no reason")
        return TrialOutcome(who, word, None, f"{answer.code_name or answer.code}: {first}")

"""What verdicts make of the exit code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from ltocompat.cli.exit_status import FINDINGS, NOTHING_JUDGED, ExitStatus
from ltocompat.cli.output import Output, choose
from ltocompat.model.errors import UsageError

if TYPE_CHECKING:
    from ltocompat.model.verdict import Result, Verdict
    from ltocompat.report import Failure

R = TypeVar("R")

FAIL_ON = ("jit", "undocumented", "unknown", "fail")
"""The verdicts that ``--fail-on`` takes."""


def threshold(fail_on: str | None, *, strict: bool) -> Verdict:
    """The best verdict that counts as a finding.

    Raises:
        UsageError: it is not one of ``FAIL_ON``, or both options were given.
    """
    from ltocompat.model.verdict import Verdict

    if fail_on is not None and strict:
        raise UsageError("--strict is --fail-on undocumented; give one of the two")
    word = fail_on or ("undocumented" if strict else "fail")
    return Verdict[choose("--fail-on", word, FAIL_ON).upper()]


class VerdictGate:
    """Watches verdicts pass and lets them count.

    Args:
        outcome: takes the exit code.
        least: the best verdict that is a finding.
        output: is told where there was no device code to judge.
        allow_empty: that passes.
    """

    def __init__(
        self, outcome: ExitStatus, least: Verdict, output: Output, *, allow_empty: bool
    ) -> None:
        self._outcome = outcome
        self._least = least
        self._output = output
        self._allow_empty = allow_empty
        self._judged = False
        self._empty = True

    def watch(self, records: Iterable[Result | Failure]) -> Iterator[Result | Failure]:
        """Pass the records on; when they end, having judged nothing counts too."""
        from ltocompat.model.verdict import Result

        for record in records:
            if isinstance(record, Result):
                if record.verdict >= self._least:
                    self._outcome.worsen(FINDINGS)
                self._judged |= record.judged
            self._empty &= isinstance(record, Result) and record.holds_nothing
            yield record
        if self._judged or (self._empty and self._allow_empty):
            return
        self._outcome.worsen(NOTHING_JUDGED)
        if self._empty:
            self._output.say(
                "nothing was judged: there is no device code; where that is right, add "
                "--allow-empty"
            )

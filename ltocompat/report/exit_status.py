"""An answer as an exit code: what the records of a verb make of it, as they pass."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Generic, TextIO

from ltocompat.model.failure import Failure, Note
from ltocompat.model.generic import R
from ltocompat.model.image import Artifact, HostBinary, Skipped
from ltocompat.model.verdict import OTHER_VARIANT, Outcome, Result, Verdict, outcome, worst
from ltocompat.report import Writable
from ltocompat.report.streams import PIPED, terminal_width
from ltocompat.report.text import escape, in_whole_words

if TYPE_CHECKING:
    from ltocompat.commands.audit import AuditScope, AuditTally
    from ltocompat.commands.env import Surroundings
    from ltocompat.commands.extract import Extracted
    from ltocompat.commands.init import PolicyDraft
    from ltocompat.commands.link import Linked
    from ltocompat.commands.policy.gate import Audited
    from ltocompat.commands.selftest import SelfTestStep
    from ltocompat.commands.survey.run import Tally
    from ltocompat.model.diff import Diff
    from ltocompat.model.explained import Explained
    from ltocompat.model.image import Record
    from ltocompat.model.link_options import Disagreement
    from ltocompat.model.mend import Repaired
    from ltocompat.model.requirement import FloorSetter, Required
    from ltocompat.model.target import Target
    from ltocompat.model.weight import Weight

OK = 0
FINDINGS = 1
USAGE = 2
NOTHING_JUDGED = 3
MISSING = 4
INTERNAL = 70
INTERRUPTED = 130
CLOSED_PIPE = 141  # 128 + SIGPIPE, as the shell reports cat and grep

_COMMAND = re.compile(r"(?<=: )(?:ltocompat|pip) [^;]+")
_OF_FAILURE = {"internal": INTERNAL, "usage": USAGE, "missing": MISSING}
_OF_OUTCOME = {
    Outcome.PASSED: OK,
    Outcome.FAILED: FINDINGS,
    Outcome.UNDECIDED: NOTHING_JUDGED,
}


class ExitStatus(Generic[R]):
    """Watches the records of a command pass.

    A verb whose records count one by one has a function below; one that counts them together has
    a subclass.

    Args:
        code_of: the exit code that a record asks for; None: it is no answer.
        required: that there is no answer at all counts.

    Attributes:
        code: the exit code so far.
        failures: number of failures so far.
    """

    order = (INTERNAL, USAGE, MISSING, FINDINGS, NOTHING_JUDGED, OK)
    """Where several codes apply, the first of these is the exit code."""

    def __init__(
        self, code_of: Callable[[R], int | None] = lambda _: OK, *, required: bool = False
    ) -> None:
        self.code = OK
        self.failures = 0
        self._code_of = code_of
        self._unanswered = required

    def raise_to(self, code: int) -> None:
        """Let ``code`` count, unless a more important one does."""
        self.code = min(self.code, code, key=self.order.index)

    def observe(self, record: R) -> None:
        """Let a record of the answer count."""
        code = self._code_of(record)
        if code is not None:
            self._unanswered = False
            self.raise_to(code)

    def end(self) -> Iterator[Note]:
        """Let count that there are no more records; yields what the user should know of that."""
        if self._unanswered:
            self.raise_to(NOTHING_JUDGED)
        return iter(())

    def fail(self, failure: Failure, messages: Writable) -> None:
        """Let a failure count, and write its sentence to ``messages``."""
        self.failures += 1
        self.raise_to(_OF_FAILURE.get(failure.kind, NOTHING_JUDGED))
        log(failure.message, messages)

    def track(
        self, records: Iterable[R | Failure | Note], messages: Writable
    ) -> Iterator[R | Failure]:
        """Pass the records on; an error ends them as a ``Failure``.

        Args:
            records: what a command yields.
            messages: gets the sentences of failures and notes.
        """
        try:
            for record in records:
                if isinstance(record, Note):
                    log(record.message, messages)
                    continue
                if isinstance(record, Failure):
                    self.fail(record, messages)
                else:
                    self.observe(record)
                yield record
        except BrokenPipeError:
            raise
        except Exception as error:  # noqa: BLE001 - any error ends as one sentence
            yield self.failed(error, messages)
        for note in self.end():
            log(note.message, messages)

    def failed(self, error: Exception, messages: Writable) -> Failure:
        """Let an error count as the failure that it is."""
        failure = Failure.of(error)
        self.fail(failure, messages)
        if failure.kind == "internal" and os.environ.get("LTOCOMPAT_TRACEBACK") == "1":
            import traceback

            messages.write("".join(traceback.format_exception(error)))
        return failure


def log(message: str, messages: Writable) -> None:
    """Write a message for the user, in lines that fit the terminal."""
    messages.write(fitted(f"ltocompat: {message}", sys.stderr))


def fitted(sentence: str, stream: TextIO) -> str:
    """The lines of a sentence, which fit the terminal that ``stream`` is.

    Places stay whole, and so do commands: one that is broken can't be pasted.
    """
    text = _COMMAND.sub(lambda found: found[0].replace(" ", "\0"), escape(sentence))
    lines = in_whole_words(text, terminal_width(stream) or PIPED, following="  ")
    return "\n".join([*lines, ""]).replace("\0", " ")


def of_weight(record: Weight) -> int:
    """Return the exit code: advice never counts, a place that could not be read does."""
    return NOTHING_JUDGED if record.skipped else OK


def of_matrix(record: object) -> int | None:
    """Return the exit code: what the cells say never counts, and targets are no answer."""
    from ltocompat.model.matrix import Matrix

    return OK if isinstance(record, Matrix) else None


def of_required(record: Required | FloorSetter) -> int | None:
    """Return the exit code: a file without device code is no answer."""
    from ltocompat.model.requirement import Required

    if not isinstance(record, Required):
        return OK
    if record.skipped:
        return NOTHING_JUDGED
    return OK if record.modules else None


def of_draft(record: PolicyDraft) -> int:
    """Return the exit code: a policy that ignores unread bytes was written without knowing all."""
    from ltocompat.rules.builtin_rules import BYTES_UNREAD

    unread = any(finding.rule == BYTES_UNREAD for finding in record.ignored)
    return NOTHING_JUDGED if unread else OK


def of_explained(entry: Explained) -> int:
    """Return the exit code: a text to which no rule belongs is a missing one."""
    return OK if entry.id else MISSING


def of_diff(record: Diff) -> int:
    """Return the exit code: forbidden changes are findings.

    Releases without device code count too, and one half read: what was not seen need not be gone.
    """
    if record.broken:
        return FINDINGS
    releases = (record.old, record.new)
    unread = any(release.skipped or not release.complete for release in releases)
    return NOTHING_JUDGED if unread or not any(release.modules for release in releases) else OK


def of_link(record: Linked | Disagreement | Skipped) -> int:
    """Return the exit code: a link that did not succeed is a finding."""
    from ltocompat.commands.link import Linked

    if isinstance(record, Skipped):
        return NOTHING_JUDGED
    return FINDINGS if isinstance(record, Linked) and record.reason else OK


def of_repaired(record: Repaired) -> int:
    """Return the exit code: what could not be mended is a finding."""
    return FINDINGS if any(finding.reason for finding in record.findings) else OK


def of_machine(record: Surroundings) -> int:
    """Return the exit code: what will fail on a machine is a finding."""
    fails = any(problem.verdict is Verdict.FAIL for problem in record.problems)
    return FINDINGS if fails else OK


def of_survey(record: Tally) -> int:
    """Return the exit code: findings are rows, a package that could not be read counts."""
    return NOTHING_JUDGED if record.statuses["failed"] or record.unlisted else OK


class CheckStatus(ExitStatus["Target | Result"]):
    """Verdicts from a threshold on are findings; what could not be judged counts too.

    Who asks for more than that nothing fails asks for both halves of the way onto a GPU.

    Args:
        fail_on: the best verdict that is a finding.
        allow_empty: no device code at all passes.
    """

    def __init__(self, fail_on: Verdict, *, allow_empty: bool) -> None:
        super().__init__()
        self._fail_on = fail_on
        self._allow_empty = allow_empty
        self._worst = Verdict.NOT_FOR_GPU

    def observe(self, record: Target | Result) -> None:
        """Let a result count."""
        if not isinstance(record, Result) or record.forgiven == OTHER_VARIANT:
            return
        self._worst = worst((self._worst, record.counted))
        beside_ok = (finding for finding in record.findings if finding.verdict is Verdict.OK)
        if any(finding.counts_from(self._fail_on) for finding in beside_ok):
            self.raise_to(FINDINGS)
        if record.not_judged and self._fail_on < Verdict.FAIL:
            self.raise_to(NOTHING_JUDGED)

    def end(self) -> Iterator[Note]:
        """Let count what all verdicts come to; what can't be read may hold device code."""
        found = outcome(self._worst, self._fail_on, allow_empty=self._allow_empty)
        self.raise_to(_OF_OUTCOME[found])
        if self._worst is Verdict.NOT_FOR_GPU and not self.failures and not self._allow_empty:
            yield Note(
                "nothing was checked: there is no device code; if that is right, add --allow-empty"
            )


class AuditStatus(ExitStatus["AuditScope | Audited | Required"]):
    """Exit code of an audit: its findings count, and so does an audit that decided nothing."""

    _tally: AuditTally | None = None

    def observe(self, record: AuditScope | Audited | Required) -> None:
        """Let a result count."""
        from ltocompat.commands.audit import AuditScope, AuditTally

        if isinstance(record, AuditScope):
            self._tally = AuditTally(record)
        elif self._tally is not None:
            self._tally.take(record)

    def end(self) -> Iterator[Note]:
        """Let count what the results came to."""
        if self._tally is not None:  # else there was an error before anything was read
            self.raise_to(_OF_OUTCOME[self._tally.outcome])
        return iter(())


class ReadingStatus(ExitStatus["Record | Extracted"]):
    """A place that could not be read counts; that nothing was found is said.

    Args:
        filtered: only some images were asked for.
    """

    def __init__(self, *, filtered: bool) -> None:
        super().__init__()
        self._filtered = filtered
        self._found = False
        self._files = False

    def observe(self, record: Record | Extracted) -> None:
        """Let an unread place count, and note what there is."""
        if isinstance(record, Skipped):
            self.raise_to(NOTHING_JUDGED)
        self._files |= isinstance(record, Artifact)
        self._found |= not isinstance(record, Artifact | HostBinary | Skipped)

    def end(self) -> Iterator[Note]:
        """Say that nothing was found, where no other line does: what is unread says it itself."""
        if self._found or self.code != OK:
            return
        if self._filtered:
            yield Note("no image matches; list all without --kind, --arch and --made-by")
        elif not self._files:
            yield Note("there is no file with device code")


class SelfTestStatus(ExitStatus["SelfTestStep"]):
    """A step that failed is the news, also where something else is missing."""

    order = (INTERNAL, USAGE, FINDINGS, MISSING, NOTHING_JUDGED, OK)

    def observe(self, record: SelfTestStep) -> None:
        """Let a step count."""
        self.raise_to({"failed": FINDINGS, "missing": MISSING}.get(str(record.result), OK))

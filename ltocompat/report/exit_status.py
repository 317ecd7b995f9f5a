"""An answer as an exit code: what the records of a verb make of it, as they pass."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar, Generic, TextIO

from msgspec import Struct

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

_OF_FAILURE = {"internal": INTERNAL, "usage": USAGE, "missing": MISSING}
_OF_OUTCOME = {
    Outcome.PASSED: OK,
    Outcome.FAILED: FINDINGS,
    Outcome.UNDECIDED: NOTHING_JUDGED,
}


class ExitStatus(Struct, Generic[R]):
    """The exit code of a command, from its records.

    A verb whose records count one by one has a function below; a verb that counts them together has
    a subclass.

    Attributes:
        code_of: returns the exit code of a record; None: the record is no answer.
        required: True as long as an answer is missing that counts.
        code: the exit code so far.
        failures: number of failures so far.
    """

    order: ClassVar[tuple[int, ...]] = (INTERNAL, USAGE, MISSING, FINDINGS, NOTHING_JUDGED, OK)
    """If several codes apply, the first of these is the exit code."""

    code_of: Callable[[R], int | None] = lambda _: OK
    required: bool = False
    code: int = OK
    failures: int = 0

    def raise_to(self, code: int) -> None:
        """Set the exit code to ``code``, unless a more important one is set."""
        self.code = min(self.code, code, key=self.order.index)

    def observe(self, record: R) -> None:
        """Count a record of the answer."""
        code = self.code_of(record)
        if code is not None:
            self.required = False
            self.raise_to(code)

    def end(self) -> Iterator[Note]:
        """Count the end of the records; yield sentences for the user about it."""
        if self.required:
            self.raise_to(NOTHING_JUDGED)
        return iter(())

    def fail(self, failure: Failure, messages: Writable) -> None:
        """Count a failure, and write its sentence to ``messages``."""
        self.failures += 1
        self.raise_to(_OF_FAILURE.get(failure.kind, NOTHING_JUDGED))
        log(failure.message, messages)

    def track(
        self, records: Iterable[R | Failure | Note], messages: Writable
    ) -> Iterator[R | Failure]:
        """Pass the records on; an error ends them as a ``Failure``.

        Args:
            records: the records of a command.
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
        """Count an error as a failure."""
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
    """Return the lines of a sentence, wrapped for the terminal ``stream``.

    Places and commands are not broken, so that they can be pasted.
    """
    lines = in_whole_words(escape(sentence), terminal_width(stream) or PIPED, following="  ")
    return "\n".join([*lines, ""])


def of_weight(record: Weight) -> int:
    """Return the exit code: advice never counts, an unreadable place does."""
    return NOTHING_JUDGED if record.skipped else OK


def of_matrix(record: object) -> int | None:
    """Return the exit code: verdicts in cells never count, and targets are no answer."""
    from ltocompat.model.matrix import Matrix

    return OK if isinstance(record, Matrix) else None


def of_required(record: Required | FloorSetter) -> int | None:
    """Return the exit code: a file without device code is no answer."""
    from ltocompat.model.requirement import Required

    if not isinstance(record, Required):
        return OK
    return NOTHING_JUDGED if record.skipped else OK if record.modules else None


def of_draft(record: PolicyDraft) -> int:
    """Return the exit code: unread bytes count, since the policy was written without them."""
    from ltocompat.rules.builtin_rules import BYTES_UNREAD

    unread = any(finding.rule == BYTES_UNREAD for finding in record.ignored)
    return NOTHING_JUDGED if unread else OK


def of_explained(entry: Explained) -> int:
    """Return the exit code: a text that no rule knows is missing."""
    return OK if entry.id else MISSING


def of_diff(record: Diff) -> int:
    """Return the exit code: forbidden changes are findings.

    Releases without device code count, too, and so do partly read ones: unread code may still be
    there.
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
    """Return the exit code: a problem that could not be fixed is a finding."""
    return FINDINGS if any(finding.reason for finding in record.findings) else OK


def of_machine(record: Surroundings) -> int:
    """Return the exit code: a failure on a machine is a finding."""
    return FINDINGS if any(each.verdict is Verdict.FAIL for each in record.problems) else OK


def of_survey(record: Tally) -> int:
    """Return the exit code: findings are rows, a package that could not be read counts."""
    return NOTHING_JUDGED if record.statuses["failed"] or record.unlisted else OK


class CheckStatus(ExitStatus["Target | Result"], kw_only=True):
    """The exit code of checks: verdicts from a threshold on count, and so do unchecked parts.

    A threshold stricter than ``fail`` requires both the load and the link part.

    Attributes:
        fail_on: the best verdict that is a finding.
        allow_empty: True to pass without device code.
    """

    fail_on: Verdict
    allow_empty: bool
    _worst: Verdict = Verdict.NOT_FOR_GPU
    _modules: int = 0
    _open: tuple[str, ...] = ()

    def observe(self, record: Target | Result) -> None:
        """Let a result count."""
        if not isinstance(record, Result) or record.forgiven == OTHER_VARIANT:
            return
        self._worst = worst((self._worst, record.counted))
        self._modules += record.coverage.modules
        if any(f.counts_from(self.fail_on) for f in record.findings if f.verdict is Verdict.OK):
            self.raise_to(FINDINGS)
        if record.not_judged and self.fail_on < Verdict.FAIL:
            self.raise_to(NOTHING_JUDGED)
            self._open = record.not_judged

    def end(self) -> Iterator[Note]:
        """Count the outcome of all verdicts; unreadable places may have device code."""
        if not self._modules and self._worst < min(self.fail_on, Verdict.UNKNOWN):
            self._worst = Verdict.NOT_FOR_GPU  # problems of metadata are no check of device code
        self.raise_to(_OF_OUTCOME[outcome(self._worst, self.fail_on, allow_empty=self.allow_empty)])
        if self.code == NOTHING_JUDGED and self._open:
            yield Note(f"exit code 3, not checked: {', '.join(self._open)} (--notes shows why)")
        if self._worst is Verdict.NOT_FOR_GPU and not self.failures and not self.allow_empty:
            yield Note(
                "nothing was checked: there is no device code (code that a program compiles at run "
                "time is not seen); if that is right, add --allow-empty"
            )


class AuditStatus(ExitStatus["AuditScope | Audited | Required"]):
    """The exit code of an audit: its findings count, and so does an undecided audit."""

    _tally: AuditTally | None = None

    def observe(self, record: AuditScope | Audited | Required) -> None:
        """Let a result count."""
        from ltocompat.commands.audit import AuditScope, AuditTally

        if isinstance(record, AuditScope):
            self._tally = AuditTally(record)
        elif self._tally is not None:
            self._tally.take(record)

    def end(self) -> Iterator[Note]:
        """Count the outcome of the results."""
        if self._tally is not None:  # else there was an error before anything was read
            self.raise_to(_OF_OUTCOME[self._tally.outcome])
        return iter(())


class ReadingStatus(ExitStatus["Record | Extracted"], kw_only=True):
    """The exit code of a listing: an unreadable place counts, and an empty answer gets a message.

    Attributes:
        filtered: True if only some images were requested.
    """

    filtered: bool
    _found: bool = False
    _files: bool = False

    def observe(self, record: Record | Extracted) -> None:
        """Count an unread place, and note the kinds of records."""
        if isinstance(record, Skipped):
            self.raise_to(NOTHING_JUDGED)
        self._files |= isinstance(record, Artifact)
        self._found |= not isinstance(record, Artifact | HostBinary | Skipped)

    def end(self) -> Iterator[Note]:
        """Yield a message that nothing was found, unless an unread place shows it."""
        if self._found or self.code != OK:
            return
        if self.filtered:
            yield Note("no image matches; to list all, leave out --kind, --arch and --made-by")
        elif not self._files:
            yield Note("there is no file with device code")


class SelfTestStatus(ExitStatus["SelfTestStep"]):
    """The exit code of a self-test: a failed step counts more than a missing part."""

    order: ClassVar[tuple[int, ...]] = (INTERNAL, USAGE, FINDINGS, MISSING, NOTHING_JUDGED, OK)

    def observe(self, record: SelfTestStep) -> None:
        """Let a step count."""
        self.raise_to({"failed": FINDINGS, "missing": MISSING}.get(str(record.result), OK))

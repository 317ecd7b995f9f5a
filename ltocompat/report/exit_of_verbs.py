"""What the answers of single verbs make of the exit code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ltocompat.model.failure import Failure, Note
from ltocompat.model.verdict import OTHER_VARIANT, Outcome, Result, Verdict, outcome, worst
from ltocompat.report import Writable
from ltocompat.report.exit_status import FINDINGS, MISSING, NOTHING_JUDGED, OK, ExitStatus, R

if TYPE_CHECKING:
    from ltocompat.commands.audit import AuditScope
    from ltocompat.commands.audit_tally import AuditTally
    from ltocompat.commands.env import Surroundings
    from ltocompat.commands.extract import Extracted
    from ltocompat.commands.init import PolicyDraft
    from ltocompat.commands.link import Linked
    from ltocompat.commands.policy.gate import Audited
    from ltocompat.commands.selftest import SelfTestStep
    from ltocompat.commands.survey.run import Tally
    from ltocompat.model.diff import Diff
    from ltocompat.model.image import Record, Skipped
    from ltocompat.model.link_options import Disagreement
    from ltocompat.model.matrix import Matrix
    from ltocompat.model.requirement import Required
    from ltocompat.model.target import Target
    from ltocompat.model.weight import Weight


_OF_OUTCOME = {
    Outcome.PASSED: OK,
    Outcome.FAILED: FINDINGS,
    Outcome.UNDECIDED: NOTHING_JUDGED,
}


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
        self._unread = False

    def take(self, record: Target | Result) -> None:
        """Let a result count."""
        if not isinstance(record, Result) or record.forgiven == OTHER_VARIANT:
            return
        self._worst = worst((self._worst, record.counted))
        conditions = (finding for finding in record.findings if finding.is_condition)
        if any(condition.counts_from(self._fail_on) for condition in conditions):
            self.worsen(FINDINGS)
        if record.not_judged and self._fail_on < Verdict.FAIL:
            self.worsen(NOTHING_JUDGED)

    def fail(self, failure: Failure, messages: Writable) -> None:
        """Let a failure count: what can't be read may hold device code."""
        super().fail(failure, messages)
        self._unread = True

    def end(self) -> Iterator[Note]:
        """Let count what all verdicts come to."""
        empty = self._worst is Verdict.NOT_FOR_GPU and not self._unread
        found = outcome(self._worst, self._fail_on, allow_empty=self._allow_empty)
        self.worsen(_OF_OUTCOME[found])
        if empty and not self._allow_empty:
            yield Note(
                "nothing was judged: there is no device code; where that is right, add "
                "--allow-empty"
            )


class AuditStatus(ExitStatus["AuditScope | Audited | Required"]):
    """What counts is a finding; having decided nothing counts too."""

    def __init__(self) -> None:
        super().__init__()
        self._tally: AuditTally | None = None

    def take(self, record: AuditScope | Audited | Required) -> None:
        """Let a result count."""
        from ltocompat.commands.audit import AuditScope
        from ltocompat.commands.audit_tally import AuditTally

        if isinstance(record, AuditScope):
            self._tally = AuditTally(record)
        elif self._tally is not None:
            self._tally.take(record)

    def fail(self, failure: Failure, messages: Writable) -> None:
        """Let a failure count: what can't be read may hold device code."""
        super().fail(failure, messages)
        if self._tally is not None:  # else it is an error before anything was read
            self._tally.take(failure)

    def end(self) -> Iterator[Note]:
        """Let count what the results came to."""
        if self._tally is not None:
            self.worsen(_OF_OUTCOME[self._tally.outcome])
        return iter(())


class ReadingStatus(ExitStatus["Record | Extracted"]):
    """A place that could not be read counts; that nothing was found is said.

    Args:
        filtered: only some images were asked for.
    """

    def __init__(self, *, filtered: bool) -> None:
        super().__init__()
        from ltocompat.model.image import Artifact, Host, Skipped

        self._of_files = (Artifact, Host, Skipped)
        self._filtered = filtered
        self._found = False
        self._files = 0
        self._unread = False

    def take(self, record: Record | Extracted) -> None:
        """Let an unread place count, and note what there is."""
        if not isinstance(record, self._of_files):  # a module, or an image that was extracted
            self._found = True
            return
        artifact, _, skipped = self._of_files
        if isinstance(record, skipped):
            self._unread = True
            self.worsen(NOTHING_JUDGED)
        self._files += isinstance(record, artifact)

    def fail(self, failure: Failure, messages: Writable) -> None:
        """Let a failure count; it has said itself why nothing was found."""
        super().fail(failure, messages)
        self._unread = True

    def end(self) -> Iterator[Note]:
        """Say that nothing was found, where no other line does."""
        if self._found or self._unread:
            return
        if self._filtered:
            yield Note("no image matches; list all without --kind, --arch and --made-by")
        elif not self._files:
            yield Note("there is no file with device code")


class WeighStatus(ExitStatus["Weight"]):
    """Advice never counts; a place that could not be read does."""

    def take(self, record: Weight) -> None:
        """Let unread places count."""
        if record.skipped:
            self.worsen(NOTHING_JUDGED)


class _AnswerStatus(ExitStatus[R]):
    """Counts where there is no answer at all."""

    _found = False

    def end(self) -> Iterator[Note]:
        """Let count that there was none."""
        if not self._found:
            self.worsen(NOTHING_JUDGED)
        return iter(())


class RequireStatus(_AnswerStatus["Required"]):
    """Counts where no artifact has device code."""

    def take(self, record: Required) -> None:
        """Let an artifact with device code count, and one that could not be read to its end."""
        self._found |= bool(record.modules)
        if record.skipped:
            self.worsen(NOTHING_JUDGED)


class MatrixStatus(_AnswerStatus["Matrix"]):
    """Counts where there is no matrix."""

    def take(self, record: Matrix) -> None:  # noqa: ARG002 - any will do
        """Let a matrix count."""
        self._found = True


class InitStatus(ExitStatus["PolicyDraft"]):
    """A policy that ignores what could not be read was written without knowing all."""

    def take(self, record: PolicyDraft) -> None:
        """Let a draft count."""
        from ltocompat.rules.emitted import BYTES_UNREAD

        if any(finding.rule == BYTES_UNREAD for finding in record.ignored):
            self.worsen(NOTHING_JUDGED)


class DiffStatus(ExitStatus["Diff"]):
    """Forbidden changes are findings; releases without device code, or half read, count too."""

    def take(self, record: Diff) -> None:
        """Let a comparison count."""
        releases = (record.old, record.new)
        if record.broken:
            self.worsen(FINDINGS)
        elif not any(release.modules for release in releases):
            self.worsen(NOTHING_JUDGED)
        elif any(release.skipped or not release.complete for release in releases):
            # What was not seen there need not be gone.
            self.worsen(NOTHING_JUDGED)


class LinkStatus(ExitStatus["Linked | Disagreement | Skipped"]):
    """A link that did not succeed is a finding; a place that could not be read counts too."""

    def take(self, record: Linked | Disagreement | Skipped) -> None:
        """Let a link count."""
        from ltocompat.commands.link import Linked
        from ltocompat.model.image import Skipped

        if isinstance(record, Linked) and record.reason:
            self.worsen(FINDINGS)
        if isinstance(record, Skipped):
            self.worsen(NOTHING_JUDGED)


class EnvStatus(ExitStatus["Surroundings"]):
    """What will fail on a machine is a finding."""

    def take(self, record: Surroundings) -> None:
        """Let what is wrong with the machine count."""
        if any(problem.verdict is Verdict.FAIL for problem in record.problems):
            self.worsen(FINDINGS)


class SelfTestStatus(ExitStatus["SelfTestStep"]):
    """A step that failed is the news, also where something else is missing."""

    def __init__(self) -> None:
        super().__init__()
        self._results: set[str] = set()

    def take(self, record: SelfTestStep) -> None:
        """Let a step count."""
        self._results.add(str(record.result))

    def end(self) -> Iterator[Note]:
        """Let the worst step count."""
        from ltocompat.commands.selftest import SelfTestResult

        if SelfTestResult.FAILED in self._results:
            self.worsen(FINDINGS)
        elif SelfTestResult.MISSING in self._results:
            self.worsen(MISSING)
        return iter(())


class SurveyStatus(ExitStatus["Tally"]):
    """Findings are rows; a package that could not be read counts."""

    def take(self, record: Tally) -> None:
        """Let failures count."""
        if record.statuses["failed"] or record.unlisted:
            self.worsen(NOTHING_JUDGED)

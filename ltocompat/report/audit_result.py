"""All that an audit found, as one value: several formats tell it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ltocompat.commands.audit import AuditScope
from ltocompat.commands.policy.baseline import Baseline
from ltocompat.commands.policy.gate import Audited
from ltocompat.commands.policy.values import Policy
from ltocompat.model.requirement import Required
from ltocompat.model.target import Target
from ltocompat.model.verdict import Verdict
from ltocompat.report import Failure
from ltocompat.report.grouped_findings import Judgement


@dataclass(frozen=True, slots=True)
class Audit:
    """All that an audit found.

    Attributes:
        policy: what it was held to.
        baseline: what was known.
        audits: the results.
        required: what each artifact asks for.
        failures: paths that gave no answer.
        no_files: there was no file at all.
    """

    policy: Policy
    baseline: Baseline
    audits: Sequence[Audited]
    required: Sequence[Required] = ()
    failures: Sequence[Failure] = ()
    no_files: bool = False

    @classmethod
    def of(cls, records: Iterable[AuditScope | Audited | Required | Failure]) -> Audit:
        """All records of the command, of which the first says what it is held to."""
        scope: AuditScope | None = None
        audits: list[Audited] = []
        required: list[Required] = []
        failures: list[Failure] = []
        for record in records:
            match record:
                case AuditScope():
                    scope = record
                case Audited():
                    audits.append(record)
                case Required():
                    required.append(record)
                case Failure():
                    failures.append(record)
        if scope is None:
            raise ValueError("an audit begins with what it is held to")
        policy, baseline = scope.policy, scope.baseline
        return cls(policy, baseline, audits, required, failures, no_files=scope.no_files)

    @property
    def targets(self) -> tuple[Target, ...]:
        """The policy's, and any other that a result is about."""
        others = (audit.result.target for audit in self.audits)
        named = {target.name: target for target in (*self.policy.targets, *others)}
        return tuple(named.values())

    @property
    def failed(self) -> bool:
        """Something counts."""
        return any(audit.failed for audit in self.audits)

    @property
    def undecided(self) -> bool:
        """Verdicts were asked for, and none could be given."""
        if self.empty:
            flag = self.policy.given or self.no_files
            return flag and not self.policy.allow_empty
        if self.policy.given:
            return not any(audit.result.judged for audit in self.audits)
        return any(
            audited.result.verdict is Verdict.UNKNOWN
            for audited in self.audits
            if not audited.result.without_device_code
        )

    @property
    def empty(self) -> bool:
        """There is no device code, and nothing unread that may hold some."""
        return not self.failures and all(audit.result.holds_nothing for audit in self.audits)

    def judgements(self) -> Iterator[Judgement]:
        """All of it, as the formats for judgements take it."""
        yield from self.targets
        yield from self.required
        yield from (audit.result for audit in self.audits)
        yield from self.failures

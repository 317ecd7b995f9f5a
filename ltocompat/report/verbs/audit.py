"""The answer of ``audit`` as blocks: passed or failed and by what, then as ``check`` tells it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from msgspec import field
from msgspec.structs import replace

from ltocompat.commands.advice import LOAD_OPTION, TRIAL_OPTION
from ltocompat.commands.audit import AuditScope, AuditTally
from ltocompat.commands.policy.fingerprint import key_of
from ltocompat.commands.policy.gate import FORGIVEN, HELD_UP, Assessed, Audited, Standing
from ltocompat.commands.policy.lines import policy_lines
from ltocompat.commands.policy.values import Policy, PolicyException
from ltocompat.model.generic import grouped
from ltocompat.model.policy import ANY
from ltocompat.model.projection import project
from ltocompat.model.requirement import Required
from ltocompat.model.verdict import Outcome, Result, Verdict
from ltocompat.model.words import count
from ltocompat.report import Failure, FindingReport, Options
from ltocompat.report.diagnostics import long_root
from ltocompat.report.document import Block, Code, Items, Paragraph, first_lines
from ltocompat.report.grouped_findings import GroupedFinding, grouped_findings
from ltocompat.report.sorted_records import FindingRecord
from ltocompat.report.text import alternatives, truncate
from ltocompat.report.verbs.check import Tally
from ltocompat.report.verbs.check import blocks as checked
from ltocompat.rules.builtin_rules import ASKED_BY_PROJECT, TOO_LARGE

if TYPE_CHECKING:
    from ltocompat.model.records_v1 import audit as v1

E = TypeVar("E", bound="v1.Allow")

_MOST = 20

# Records of the command: the first is the scope of the others.
AuditRecord = AuditScope | Audited | Required | Failure


class Audit(AuditTally):
    """All records of an audit, and its outcome.

    Attributes:
        audits: the results.
    """

    audits: list[Audited] = field(default_factory=list)

    @classmethod
    def of(cls, records: Iterable[AuditRecord]) -> Audit:
        """All records of the command."""
        stream = iter(records)
        audit = cls(scope_of(stream))
        for record in stream:
            audit.take(record)
            if isinstance(record, Audited):
                audit.audits.append(record)
        return audit


def scope_of(stream: Iterable[AuditRecord]) -> AuditScope:
    """Return the scope of the audit, which is its first record.

    Raises:
        TypeError: it is not.
    """
    scope = next(iter(stream), None)
    if not isinstance(scope, AuditScope):
        raise TypeError("the first record of an audit has to be an AuditScope")
    return scope


def blocks(records: Iterable[AuditRecord], options: Options) -> Iterator[Block]:
    """Yield the outcome and its reason; the tables and findings of ``check``; ignored findings.

    Args:
        records: the records of the command.
        options: the reader's options.
    """
    audit = Audit.of(records)
    policy = audit.scope.policy
    if not options.quiet or audit.outcome is not Outcome.PASSED:
        yield from _headline(audit)
        results = map(_not_forgiven, audit.audits)
        judged: list[FindingRecord] = [*policy.every_target, *results, *audit.failures]
        # An audit is read to its end before its first line, which is the outcome: its packages
        # can stand worst first.
        several = len({audited.result.distribution for audited in audit.audits}) > 1
        yield from checked(judged, replace(options, packages=several), of_fleet=False)
    if options.quiet:
        return
    if not policy.given:
        yield Paragraph(_NO_POLICY)
    yield from _forgiven(audit)
    if audit.audits and (old := audit.unused):
        yield Items(
            "exceptions", tuple((f"{exception}: {_unused(exception, audit)}",) for exception in old)
        )


def _unused(exception: PolicyException, audit: Audit) -> str:
    """Why no finding is forgiven by it."""
    rule, other = exception.rule, ""
    for result in _only(audit, *HELD_UP):
        for finding in result.findings:
            if exception.concerns(result, finding):
                beyond = exception.beyond_kernels(finding)
                about = f"it covers only a part of the finding: {beyond}"
                return about if beyond else "the finding is worse than the exception allows"
            if finding.rule == rule:
                about = f"about (here {key_of(result, finding).subject!r})"
                other = f"it covers no {rule} finding: compare path, target, gpu and {about}"
    return other or "this audit has no such finding; correct the exception, or delete it"


_NO_POLICY = (
    "to also check drivers, nvJitLinks and GPUs, write a policy with ",
    Code("ltocompat init"),
    ", or add ",
    Code("--deploy-target driver=580,gpu=h100"),
)


def _headline(audit: Audit) -> Iterator[Block]:
    policy = audit.scope.policy
    if audit.outcome is Outcome.FAILED:
        found = _grouped(audit, Standing.COUNTS)
        if found:
            yield from _because("audit failed: ", found, policy)
        else:
            text = f"audit failed: a verdict is {policy.fail_on} or worse; "
            yield Paragraph((text, *_held_to(policy)))
    elif audit.outcome is Outcome.UNDECIDED:
        yield from _undecided(audit)
    else:
        paths = {audited.result.path for audited in audit.audits}
        passed = Code(min(paths)) if len(paths) == 1 else count(len(paths), "file")
        passed = "there is no device code" if audit.empty else passed
        yield Paragraph(("audit passed: ", passed, "; ", *_held_to(policy), *_not_counted(audit)))


def _undecided(audit: Audit) -> Iterator[Block]:
    policy, failures = audit.scope.policy, audit.failures
    found = _grouped(audit, Standing.UNDECIDED)
    trials = [group for group in found if group.finding.decided_by_trial]
    if failures:
        paths = f"{count(len(failures), 'path')} could not be read: "
        yield Paragraph(("audit undecided: ", paths, truncate(failures[0].message)))
        yield Paragraph(_held_to(policy))
    elif found:
        number = count(len(trials), "finding")
        verb = "needs" if len(trials) == 1 else "need"
        reason = f"{number} {verb} a trial link: " if trials else ""
        yield from _because(f"audit undecided: {reason}", trials or found, policy)
    elif audit.empty:
        nothing = "audit checked nothing: there is no device code; if that is right, "
        adding = _adding(policy, "--allow-empty", 'no-device-code = "pass"')
        yield Paragraph((nothing, *adding, "; ", *_held_to(policy)))
    else:
        yield Paragraph(("audit undecided: a verdict is unknown; ", *_held_to(policy)))


def _because(opening: str, found: list[GroupedFinding], policy: Policy) -> Iterator[Block]:
    """The first of some findings, what to do, and how to go on."""
    first = found[0]
    others = len({(group.finding.rule, group.headline) for group in found}) - 1
    yield Paragraph((opening, *_finding(first, long_root(found))))
    untried = first.finding.verdict is Verdict.UNKNOWN and first.finding.decided_by_trial
    todo: tuple[str, ...] = (truncate(alternatives(first.fixes)),)
    if untried:
        todo = ("let the linker decide: ", *_adding(policy, TRIAL_OPTION, "trial-link = true"))
    if any(todo):
        yield Paragraph(("what to do: ", *todo, *_or_promise_less(first, policy)))
    if policy.given:
        yield Paragraph(("to see only this file: ", Code(_again(first, policy))))
    more = f"; {count(others, 'more such finding')} below" if others else ""
    rule = Code(f"ltocompat explain {first.finding.rule}")
    yield Paragraph(("about the rule: ", rule, "; ", *_held_to(policy), more))


def _or_promise_less(group: GroupedFinding, policy: Policy) -> tuple[str, ...]:
    """``; if releases needn't run on oldest, change that target in ltocompat.toml``."""
    written = {target.name for target in policy.targets if "targets" not in policy.options}
    (name, *_) = [cell.target for cell in group.cells if cell.target in written] or [""]
    less = ("; if releases needn't run on ", Code(name), ", change that target in ")
    return (*less, Code(policy.source)) if name and policy.source else ()


def _held_to(policy: Policy) -> tuple[str, ...]:
    options = ("checked against the options of this command",) if policy.options else ()
    return ("policy ", Code(policy.source)) if policy.source else options or ("no policy was used",)


def _adding(policy: Policy, option: str, line: str) -> tuple[str, ...]:
    """``add --allow-empty, or write no-device-code = "pass" under [audit] in ltocompat.toml``."""
    under = (" under ", Code(policy.table), " in ", Code(policy.source))
    return ("add ", Code(option), *((", or write ", Code(line), *under) if policy.source else ()))


def _not_counted(audit: Audit) -> Iterator[str]:
    numbers = [(len(_grouped(audit, standing)), standing) for standing in FORGIVEN]
    words = [f"{number:,} {standing}" for number, standing in numbers if number]
    if words:
        yield f"; not counted: {', '.join(words)}"


def _again(group: GroupedFinding, policy: Policy) -> str:
    """The command that finds the same: what a project asks of its code is seen in its needs."""
    (path,) = group.modules
    if group.finding.rule in ASKED_BY_PROJECT:
        verb = "inspect --weigh" if group.finding.rule == TOO_LARGE else "require"
        return f"ltocompat {verb} {shlex.quote(path)}"
    if policy.here is not None and {cell.target for cell in group.cells} == {policy.here.name}:
        return f"ltocompat check {shlex.quote(path)} {LOAD_OPTION}"
    known = [target.name for target in policy.targets]
    if not known:  # what is wrong wherever it goes, which an audit finds without a policy, too
        return f"ltocompat audit {shlex.quote(path)}"
    (name, *_) = [cell.target for cell in group.cells if cell.target in known] or known
    trial = f" {TRIAL_OPTION}" if policy.trial_links else ""
    inline = not policy.source or "targets" in policy.options
    goal = shlex.quote(name if inline else f"{policy.source}:{name}")
    return f"ltocompat check {shlex.quote(path)} --deploy-target {goal}{trial}"


def _finding(group: GroupedFinding, root: str) -> tuple[str, ...]:
    """``no code for sm_90 (SASS-06 in dist/x.whl on prod (h100))``."""
    (path,) = group.modules
    cells = grouped((cell.target, cell.gpu) for cell in group.cells)
    on = [
        f"{name} ({', '.join(dict.fromkeys(gpus))})" if any(gpus) else name
        for name, gpus in cells.items()
    ]
    place = Code(path.removeprefix(root))
    return (group.headline, "; ", group.finding.rule, " in ", place, " on ", ", ".join(on))


def _only(audit: Audit, *standings: Standing) -> Iterator[Result]:
    """The results with only these findings."""
    for audited in audit.audits:
        if found := tuple(finding for finding, _ in audited.having(*standings)):
            yield replace(audited.result, findings=found)


def _grouped(audit: Audit, standing: Standing) -> list[GroupedFinding]:
    return grouped_findings(_only(audit, standing), lambda result, _: result.path, join=True)


def _not_forgiven(audited: Audited) -> Result:
    found = audited.having(Standing.COUNTS, Standing.UNDECIDED, Standing.PASSES)
    return replace(audited.result, findings=tuple(finding for finding, _ in found))


def _forgiven(audit: Audit) -> Iterator[Block]:
    """Yield the findings that do not count, with reasons, each finding of an artifact once."""
    results = grouped(
        (_why(audit, assessed), replace(audited.result, findings=(finding,)))
        for audited in audit.audits
        for finding, assessed in audited.having(*FORGIVEN)
    )
    lines = [
        _line(why, group)
        for why, found in results.items()
        for group in grouped_findings(found, lambda result, _: result.path, join=True)
    ]
    if lines:
        yield first_lines("not counted", lines, _MOST)


def _why(audit: Audit, assessed: Assessed) -> str:
    exception = assessed.exception
    return f"known ({audit.scope.baseline.source})" if exception is None else exception.why


def _line(why: str, group: GroupedFinding) -> tuple[str, ...]:
    (path,) = group.modules
    targets = ", ".join(dict.fromkeys(cell.target for cell in group.cells))
    opening = f"{group.finding.verdict} {group.finding.rule} on {targets}: "
    # The reason that init writes ends with the finding, which follows.
    why = why.replace(f": {group.finding.message})", ")")
    return (truncate(why), ": ", opening, group.headline, " in ", Code(path))


def _finding_records(records: Iterable[AuditRecord]) -> Iterator[FindingRecord]:
    """All of it, as the formats for findings take it."""
    for record in records:
        match record:
            case AuditScope():
                yield from record.policy.every_target
                lines = policy_lines(record.policy) if record.policy.source else None
                if lines is not None:
                    yield lines
            case Audited():
                yield record.result
            case Required() | Failure():
                yield record


def _document(records: Iterable[AuditRecord], _: Options) -> Iterator[str]:
    # Imported here: a table needs no JSON.
    from ltocompat.model.records_v1 import audit as v1
    from ltocompat.model.records_v1 import verdict
    from ltocompat.report.formats.jsonstream import Rows

    stream = iter(records)
    scope = scope_of(stream)
    policy = project(
        v1.Policy,
        scope.policy,
        variants=scope.policy.variants or (),
        ignores=_exceptions(v1.Ignore, scope.policy.exceptions),
        allows=_exceptions(v1.Allow, scope.policy.exceptions),
    )
    targets = {target.name: target for target in scope.policy.every_target}
    audit_tally, tally = AuditTally(scope), Tally()
    rows = Rows(v1.Audit, "results")
    for record in stream:
        audit_tally.take(record)
        if isinstance(record, Failure):
            rows.failures.append(record)
        elif isinstance(record, Audited) and tally.add(record.result):
            targets.setdefault(record.result.target.name, record.result.target)
            yield from rows.row(_result(record), policy=policy)
    summary = project(
        v1.Summary,
        tally,
        errors=rows.errors,
        passed=audit_tally.outcome is Outcome.PASSED,
        outcome=str(audit_tally.outcome),
        findings=v1.Findings(**{str(word): audit_tally.standings[word] for word in Standing}),
        baseline=scope.baseline.source or None,
        unused_ignores=_exceptions(v1.Ignore, audit_tally.unused),
        unused_allows=_exceptions(v1.Allow, audit_tally.unused),
    )
    values = tuple(project(verdict.Target, target) for target in targets.values())
    whole = v1.Audit(policy, (), values, summary)
    yield from rows.end(whole, empty=bool(tally.empty), policy=policy)


def _exceptions(row: type[E], exceptions: Iterable[PolicyException | None]) -> tuple[E, ...]:
    """The exceptions that end on a day, or those for good: those with the fields of the row."""
    ends = "expires" in row.__struct_fields__
    some = (one for one in exceptions if one is not None and (one.expires is not None) is ends)
    return tuple(project(row, one, asks=None if one.asks == (ANY,) else one.asks) for one in some)


def _result(audited: Audited) -> v1.Result:
    from ltocompat.model.records_v1 import audit as v1

    findings = tuple(
        project(
            v1.Finding,
            finding,
            standing=str(assessed.standing),
            fingerprint=assessed.fingerprint,
            ignore=next(iter(_exceptions(v1.Ignore, [assessed.exception])), None),
            allow=next(iter(_exceptions(v1.Allow, [assessed.exception])), None),
        )
        for finding, assessed in zip(audited.result.findings, audited.assessed, strict=True)
    )
    return project(
        v1.Result,
        audited.result,
        findings=findings,
        failed=audited.failed,
        undecided=audited.undecided,
    )


REPORT: FindingReport[AuditScope | Audited | Required] = FindingReport(
    blocks, _document, _finding_records
)

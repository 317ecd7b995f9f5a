"""The answer of ``audit`` as blocks: passed or failed and by what, then as ``check`` tells it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from ltocompat.place import Place
from ltocompat.policy.baseline import Baseline
from ltocompat.policy.gate import Assessed, Audited, Standing, unused
from ltocompat.policy.values import Policy
from ltocompat.report import Failure, Options, Report
from ltocompat.report.blocks import Block, Code, Items, Paragraph
from ltocompat.report.checking import blocks as checked
from ltocompat.report.gathered import Gathered, Judgement, gather
from ltocompat.report.text import brief, count
from ltocompat.required import Required
from ltocompat.target import Target
from ltocompat.verdict import Finding, Level, Result

_FORGIVEN = (Standing.KNOWN, Standing.IGNORED)
_MOST = 20


@dataclass(frozen=True, slots=True)
class Audit:
    """All that an audit found.

    Attributes:
        policy: what it was held to.
        baseline: what was known.
        audits: the results.
        required: what each artifact asks for.
        failures: paths that gave no answer.
    """

    policy: Policy
    baseline: Baseline
    audits: Sequence[Audited]
    required: Sequence[Required] = ()
    failures: Sequence[Failure] = ()

    @property
    def targets(self) -> tuple[Target, ...]:
        """The policy's, and any other that a result is about."""
        others = (one.result.target for one in self.audits)
        named = {one.name: one for one in (*self.policy.targets, *others)}
        return tuple(named.values())

    @property
    def failed(self) -> bool:
        """Something counts."""
        return any(one.failed for one in self.audits)

    def judgements(self) -> Iterator[Judgement]:
        """All of it, as the formats for judgements take it."""
        yield from self.targets
        yield from self.required
        yield from (one.result for one in self.audits)
        yield from self.failures

    def report(self) -> Report[Judgement]:
        """How this very audit is told; whatever records are handed to it are its own."""

        def document(_: Iterable[Judgement | Failure], options: Options) -> Iterator[str]:
            from ltocompat.report.auditing_json import document as said

            return said(self, options)

        return Report(lambda _, options: blocks(self, options), document)


def blocks(audit: Audit, options: Options) -> Iterator[Block]:
    """The outcome and what decides it first; the tables and findings of ``check``; what is forgiven.

    Args:
        audit: what was found.
        options: what the reader asked for.
    """
    yield from _outcome(audit)
    records = [*audit.policy.targets, *map(_shown, audit.audits), *audit.failures]
    yield from checked(records, options)
    yield from _forgiven(audit)
    old = unused(audit.policy, audit.audits)
    if old and audit.audits:
        lines = [(f"{one}: nothing needs it any more; take it out",) for one in old]
        yield Items("ignores", tuple(lines))


def _outcome(audit: Audit) -> Iterator[Block]:
    counting = gather(_only(audit, Standing.COUNTS), lambda result, _: result.path)
    source = Code(audit.policy.source)
    if not audit.failed:
        forgiven = len(_gathered(audit, Standing.KNOWN)), len(_gathered(audit, Standing.IGNORED))
        words = ("known", "ignored")
        said = [f"{number:,} {word}" for number, word in zip(forgiven, words, strict=True) if number]
        more = f"; {' and '.join(said)}, which do not count" if said else ""
        word = "failed to judge" if not any(_judged(one) for one in audit.audits) else "passed"
        yield Paragraph((f"audit {word}: policy ", source, more))
        return
    if not counting:
        yield Paragraph((f"audit failed: a verdict is {audit.policy.fail_on} or worse; policy ", source))
        return
    first, others = counting[0], len(counting) - 1
    yield Paragraph(("audit failed: ", *_told(first)))
    if first.remedies:
        yield Paragraph(("what to do: ", brief("; or ".join(first.remedies))))
    more = f"{count(others, 'more finding')}, listed below" if others else "nothing else"
    yield Paragraph((f"and {more}; policy ", source, ", about the rule: ", Code(_explain(first))))


def _explain(one: Gathered) -> str:
    return f"ltocompat explain {one.finding.rule}"


def _told(one: Gathered) -> tuple[str, ...]:
    """``nothing in it is for sm_90 (SASS-06 in dist/x.whl on prod (h100))``."""
    (path,) = one.modules
    cells: dict[str, list[str]] = {}
    for cell in one.cells:
        cells.setdefault(cell.target, []).append(cell.gpu)
    on = [
        f"{name} ({', '.join(dict.fromkeys(gpus))})" if any(gpus) else name
        for name, gpus in cells.items()
    ]
    where = ("; ", one.finding.rule, " in ", Code(Place(path)), " on ", ", ".join(on))
    return (brief(one.finding.message), *where)


def _judged(one: Audited) -> bool:
    return bool(one.result.coverage.modules)


def _only(audit: Audit, *standings: Standing) -> Iterator[Result]:
    """The results with only these findings."""
    for one in audit.audits:
        found = tuple(finding for finding, _ in one.having(*standings))
        if found:
            yield replace(one.result, findings=found)


def _gathered(audit: Audit, standing: Standing) -> list[Gathered]:
    return gather(_only(audit, standing), lambda result, _: result.path)


def _shown(one: Audited) -> Result:
    """A result without what is forgiven, and each finding once, whatever files it is in."""
    folded: dict[tuple[object, ...], Finding] = {}
    for finding, _ in one.having(Standing.COUNTS, Standing.PASSES):
        key = (finding.rule, finding.verdict, finding.level, finding.message)
        before = folded.get(key)
        modules = finding.module_count + (before.module_count if before else 0)
        folded[key] = replace(before or finding, module_count=modules)
    return replace(one.result, findings=tuple(folded.values()))


@dataclass(slots=True)
class _Forgiven:
    """A finding that does not count, the places and targets of it, and why."""

    finding: Finding
    why: str
    path: str
    targets: dict[str, None] = field(default_factory=dict)


def _forgiven(audit: Audit) -> Iterator[Block]:
    found: dict[tuple[str, ...], _Forgiven] = {}
    for one in audit.audits:
        for finding, said in one.having(*_FORGIVEN):
            why, path = _why(audit, said), one.result.path
            key = (why, path, finding.rule, finding.message)
            kept = found.setdefault(key, _Forgiven(finding, why, path))
            kept.targets.setdefault(one.result.target.name)
    if not found:
        return
    lines = tuple(_line(one) for one in list(found.values())[:_MOST])
    left_out = len(found) - _MOST
    more = f"and {left_out:,} more; --format json lists all" if left_out > 0 else None
    yield Items("do not count", lines, more)


def _why(audit: Audit, said: Assessed) -> str:
    if said.ignore is None:
        return f"known ({audit.baseline.source})"
    return f"ignored until {said.ignore.expires} ({said.ignore.reason})"


def _line(one: _Forgiven) -> tuple[str, ...]:
    rule = f"{one.finding.verdict} {one.finding.rule} on {', '.join(one.targets)}: "
    return (brief(one.why), ": ", rule, brief(one.finding.message), " in ", Code(Place(one.path)))

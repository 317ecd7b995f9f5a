"""The answer of ``link``: what each nvJitLink did, its cost, and why not; ``ltocompat/link/v1``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ltocompat.model.image import Skipped
from ltocompat.model.place import Place
from ltocompat.model.target import ANY_TARGET, Gpu, Quantifier, Target, VersionSet
from ltocompat.model.verdict import LEVELS, Coverage, Finding, Result, Route, Verdict, worst
from ltocompat.report import Failure, Options
from ltocompat.report.document import Block, Code, Column, Items, Paragraph, Table
from ltocompat.report.grouped_findings import FindingReport, Judgement, rules_by_id
from ltocompat.report.text import binary_size, brief, count
from ltocompat.rules.emitted import OPTIONS_DIFFER, TRIAL_REFUSED

if TYPE_CHECKING:
    from ltocompat.commands.link import Linked
    from ltocompat.model.link_options import Disagreement

_TOGETHER = (
    Column("nvJitLink"),
    Column("way"),
    Column("target"),
    Column("result"),
    Column("first", right=True),
    Column("again", right=True),
    Column("cached", right=True),
    Column("size", right=True),
    Column("kernels", right=True),
)
_EACH = (
    Column("nvJitLink"),
    Column("way"),
    Column("result"),
    Column("images", right=True),
    Column("why", width=24),
)
_MOST = 20
_ALL_INPUTS = "all inputs"


@dataclass(slots=True)
class _Fold:
    """What is kept until the end: results of whole links, counts of single images."""

    together: list[Linked] = field(default_factory=list)
    each: dict[tuple[str, str, str, str], tuple[int, str]] = field(default_factory=dict)
    disagreements: list[Disagreement] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    skipped_count: int = 0

    def add(self, record: Linked | Disagreement | Skipped) -> None:
        from ltocompat.model.link_options import Disagreement

        if isinstance(record, Skipped):
            self.skipped_count += 1
            if len(self.skipped) < _MOST:
                self.skipped.append(record)
        elif isinstance(record, Disagreement):
            self.disagreements.append(record)
        elif record.place is None:
            self.together.append(record)
        else:
            outcome = str(record.answer.outcome)
            key = (record.nvjitlink.version, record.way, outcome, record.reason or "")
            number, example = self.each.get(key, (0, str(record.place)))
            self.each[key] = (number + 1, example)


def blocks(
    records: Iterable[Linked | Disagreement | Skipped | Failure], _: Options
) -> Iterator[Block]:
    """A row a link, then why some failed, then what the linker does not say."""
    fold = _Fold()
    for record in records:
        if not isinstance(record, Failure):
            fold.add(record)
    if fold.together:
        yield from _together(fold.together)
    if fold.each:
        yield Table(_EACH, tuple(_count_row(key, value) for key, value in fold.each.items()))
    if fold.disagreements:
        lines = tuple(_differ(disagreement) for disagreement in fold.disagreements)
        yield Items("compile options that differ (nvJitLink links them without a word)", lines)
    if fold.skipped:
        more = fold.skipped_count - len(fold.skipped)
        rows = tuple((Code(skipped.place), ": ", brief(skipped.reason)) for skipped in fold.skipped)
        yield Items("skipped", rows, f"and {more} more" if more else None)
    if not fold.together and not fold.each:
        yield Paragraph(("nothing was linked",))


def _together(links: Sequence[Linked]) -> Iterator[Block]:
    yield Table(_TOGETHER, tuple(map(_row, links)))
    reasons = tuple(_why(linked) for linked in links if linked.reason)
    if reasons:
        yield Items("why not", reasons)


def _row(linked: Linked) -> tuple[str, ...]:
    from ltocompat.commands.link import seconds

    answer = linked.answer
    size = answer.output_size
    return (
        linked.nvjitlink.version,
        linked.way,
        str(linked.arch),
        str(answer.outcome),
        _milliseconds(None if size is None else seconds(answer)),
        _milliseconds(linked.again_seconds),
        _milliseconds(linked.cached_seconds),
        "" if size is None else binary_size(size),
        "" if answer.kernels_in_output is None else str(answer.kernels_in_output),
    )


def _milliseconds(time: float | None) -> str:
    return "" if time is None else f"{time * 1000:.1f} ms"


def _why(linked: Linked) -> tuple[str, ...]:
    at = (" at ", Code(linked.answer.input_name)) if linked.answer.input_name else ()
    return (f"{linked.nvjitlink.version}, {linked.way}: {linked.reason}", *at)


def _count_row(key: tuple[str, str, str, str], value: tuple[int, str]) -> tuple[str, ...]:
    version, way, outcome, reason = key
    number, example = value
    why = f"{reason}; e.g. {example}" if reason else ""
    return (version, way, outcome, f"{number:,}", why)


def _differ(disagreement: Disagreement) -> tuple[str, ...]:
    parts = []
    for value, places in disagreement.values:
        text = "not given" if value is None else value or "given"
        parts.append(f"{text} in {count(len(places), 'image')}, e.g. {places[0]}")
    return (disagreement.option, ": ", "; ".join(parts))


def _document(
    records: Iterable[Linked | Disagreement | Skipped | Failure], options: Options
) -> Iterator[str]:
    # Imported here: a table needs no JSON.
    from ltocompat.report.verbs.link_json import document

    return document(records, options)


def judgements(
    records: Iterable[Linked | Disagreement | Skipped | Failure],
) -> Iterator[Judgement]:
    """Each nvJitLink, way and architecture as a target, and what it made of each file."""
    from ltocompat.model.link_options import Disagreement

    links: dict[tuple[str, Target], list[Linked]] = {}
    differ: list[Finding] = []
    for record in records:
        if isinstance(record, Failure):
            yield record
        elif isinstance(record, Skipped):
            yield Failure("unreadable", f"{record.place}: {record.reason}")
        elif isinstance(record, Disagreement):
            differ.append(_differ_finding(record))
        else:
            path = _ALL_INPUTS if record.place is None else record.place.path
            links.setdefault((path, _link_target(record)), []).append(record)
    yield from dict.fromkeys(target for _, target in links)
    yield from (_link_result(path, target, tried) for (path, target), tried in links.items())
    if differ:
        yield _link_result(_ALL_INPUTS, ANY_TARGET, (), tuple(differ))


def _link_target(linked: Linked) -> Target:
    library, arch = linked.nvjitlink, linked.arch
    return Target(
        name=f"nvJitLink {library.version}, {linked.way}, {arch}",
        nvjitlink=VersionSet(
            library.version, (library.release,), quantifier=Quantifier.ONE_OF, source=library.path
        ),
        gpus=(Gpu(str(arch), arch),),
    )


def _link_result(
    path: str, target: Target, tried: Sequence[Linked], differ: tuple[Finding, ...] = ()
) -> Result:
    """What became of one file, or of all inputs together, with one nvJitLink."""
    findings = (*(_refusal(linked) for linked in tried if linked.reason), *differ)
    coverage = Coverage(len(tried), link=sum(not linked.reason for linked in tried))
    verdict = worst(finding.verdict for finding in findings)
    gpu = next(iter(target.gpus), None)
    return Result(path, target, gpu, Route.LINK, verdict, coverage, (), findings, ())


def _refusal(linked: Linked) -> Finding:
    """A refusal is a failure; of a crash or of open symbols, nothing is known."""
    answer = linked.answer
    verdict = Verdict.FAIL if answer.outcome == "refused" else Verdict.UNKNOWN
    place = Place.parse(answer.input_name) if answer.input_name else None
    evidence = (
        f"{answer.outcome} at {answer.step}, {answer.code_name or answer.signal or 'no code'}"
    )
    return _finding(TRIAL_REFUSED, verdict, str(linked.reason), evidence, linked.place or place)


def _differ_finding(disagreement: Disagreement) -> Finding:
    _, places = disagreement.values[0]
    message = f"LTO-IR of one link differs in {''.join(_differ(disagreement))}"
    evidence = "compile options in the LTO-IR"
    return _finding(OPTIONS_DIFFER, Verdict.OK, message, evidence, places[0])


def _finding(
    rule_id: str, verdict: Verdict, message: str, evidence: str, place: Place | None
) -> Finding:
    rule = rules_by_id()[rule_id]
    return Finding(
        rule_id, verdict, LEVELS[verdict], message, rule.remedy, evidence, rule.source, 1, place
    )


REPORT: FindingReport[Linked | Disagreement | Skipped] = FindingReport(
    blocks, _document, judgements
)

"""The answer of ``link``: what each linker did, its cost, and why not; ``ltocompat/link/v1``."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from msgspec import Struct, field

from ltocompat.model.image import Skipped
from ltocompat.model.location import Location
from ltocompat.model.projection import project
from ltocompat.model.row import text_or_none
from ltocompat.model.target import ANY_TARGET, Gpu, Quantifier, Target, VersionSet
from ltocompat.model.verdict import Coverage, Finding, Result, Route, Verdict, worst
from ltocompat.model.words import count
from ltocompat.report import Failure, FindingReport, Options, answers
from ltocompat.report.document import (
    Block,
    Code,
    Column,
    Entry,
    Items,
    Listing,
    Paragraph,
    Row,
    first_lines,
)
from ltocompat.report.sorted_records import FindingRecord
from ltocompat.report.text import binary_size, truncate
from ltocompat.rules.builtin_rules import OPTIONS_DIFFER, TRIAL_REFUSED
from ltocompat.rules.engine.findings import finding_by_engine

if TYPE_CHECKING:
    from ltocompat.commands.link import Linked
    from ltocompat.model.link_options import Disagreement
    from ltocompat.model.records_v1 import link as v1
    from ltocompat.targets.linkers import Linker

    Records = Iterable[Linked | Disagreement | Skipped | Failure]

_COLUMNS = (
    Column("linker", width=24),
    Column("target", width=7),
    Column("result", width=10),
    Column("images", right=True, width=6, optional=True),
    Column("time", right=True, width=8),
    Column("2nd time", right=True, width=9, optional=True),
    Column("size", right=True, width=9),
    Column("kernels", right=True, width=7),
    Column("registers", right=True, width=9, optional=True),
)
_MOST = 20
_ALL_INPUTS = "all inputs"


class LinkCost(Struct):
    """Successful links with one linker, with or without LTO.

    Attributes:
        linker: the linker.
        way: ``lto`` or ``plain``.
        times: seconds of each link.
        kernels: number of kernels in all outputs.
        kernel_time: seconds of the links whose outputs have kernels.
    """

    linker: Linker
    way: str
    times: list[float] = field(default_factory=list)
    kernels: int = 0
    kernel_time: float = 0.0

    def percentile(self, percent: int) -> float:
        """Return the percentile of the seconds, by nearest rank."""
        return sorted(self.times)[max(math.ceil(len(self.times) * percent / 100), 1) - 1]


class LinkCosts(dict[tuple["Linker", str], LinkCost]):
    """The costs for each linker and way, in the order of the first link."""

    def add(self, linked: Linked) -> None:
        """Count a link if it gave an output."""
        from ltocompat.commands.link import seconds

        answer = linked.answer
        if answer.output_size is None:
            return
        key = (linked.linker, linked.way)
        cost = self.setdefault(key, LinkCost(*key))
        cost.times.append(seconds(answer))
        if answer.kernels_in_output:
            cost.kernels += answer.kernels_in_output
            cost.kernel_time += cost.times[-1]


class _Group(Struct):
    """Images that came to the same with one linker, and the first of them; or all inputs."""

    first: Linked
    images: int = 0
    time: float = 0.0
    size: int = 0
    kernels: int = 0
    registers: int = 0

    def add(self, linked: Linked) -> None:
        from ltocompat.commands.link import seconds

        answer = linked.answer
        self.images += 1
        self.time += seconds(answer)
        self.size += answer.output_size or 0
        self.kernels += answer.kernels_in_output or 0
        self.registers = max(self.registers, answer.registers or 0)


class _Fold(Struct):
    """Totals that are shown behind the rows."""

    groups: dict[tuple[str, ...], _Group] = field(default_factory=dict)
    costs: LinkCosts = field(default_factory=LinkCosts)
    disagreements: list[Disagreement] = field(default_factory=list)
    skipped: list[tuple[str, ...]] = field(default_factory=list)
    links: int = 0

    def add(self, record: Linked | Disagreement | Skipped) -> Iterator[Row]:
        """Yield the rows that are complete with this record."""
        from ltocompat.model.link_options import Disagreement

        if isinstance(record, Skipped):
            self.skipped.append((Code(record.place), ": ", truncate(record.reason)))
        elif isinstance(record, Disagreement):
            self.disagreements.append(record)
        else:
            self.links += 1
            self.costs.add(record)
            # Links come linker by linker: with the next one, the groups of the last are whole.
            if any(group.first.linker != record.linker for group in self.groups.values()):
                yield from self.groups_so_far()
            outcome = (str(record.answer.outcome), record.reason or "")
            key = (record.way, str(record.arch), *outcome)
            self.groups.setdefault(key, _Group(record)).add(record)
            if record.place is None:
                yield from self.groups_so_far()

    def groups_so_far(self) -> Iterator[Row]:
        """Yield the rows of the groups so far, and forget the groups."""
        groups = tuple(self.groups.values())
        self.groups.clear()
        yield from map(_row, groups)


def blocks(records: Records, _: Options) -> Iterator[Block]:
    """Yield a row per link, the cost of all links, then problems that linkers don't report."""
    fold = _Fold()
    stream: Iterator[Linked | Disagreement | Skipped] = answers(records)
    for record in stream:
        rows = tuple(fold.add(record))
        if fold.links:
            rest = chain.from_iterable(map(fold.add, stream))
            other = "2nd time" if getattr(record, "place", None) else "images"
            columns = tuple(column for column in _COLUMNS if column.name != other)
            yield Listing(columns, chain(rows, rest, fold.groups_so_far()))
    yield from (Entry((_cost(cost),)) for cost in fold.costs.values() if len(cost.times) > 1)
    if fold.disagreements:
        lines = tuple(_differ(disagreement) for disagreement in fold.disagreements)
        yield Items("compile options that differ (nvJitLink links them without a warning)", lines)
    if fold.skipped:
        yield first_lines("skipped", fold.skipped, _MOST)
    if not fold.links:
        yield Paragraph(("nothing was linked",))


def _row(group: _Group) -> Row:
    linked, file = group.first, group.first.answer.input_name
    cells = (
        f"{linked.linker}, {linked.way}",
        str(linked.arch),
        str(linked.answer.outcome),
        *([f"{group.images:,}"] if linked.place else []),
        _milliseconds(group.time or None),
        *([] if linked.place else [_milliseconds(linked.again_seconds)]),
        binary_size(group.size) if group.size else "",
        f"{group.kernels:,}" if group.kernels else "",
        str(group.registers or ""),
    )
    example = f"; e.g. {linked.place}" if linked.place else ""
    where = f"{file}: " if file and not example else ""
    return Row(cells, (("why:", f"{where}{linked.reason}{example}"),) if linked.reason else ())


def _milliseconds(time: float | None) -> str:
    return "" if time is None else f"{time * 1000:.1f} ms" if time < 10 else f"{time:.1f} s"


def _cost(cost: LinkCost) -> str:
    """``nvJitLink 13.5.37, lto: 400 links in 12.0 s, ...``."""
    text = f"{cost.linker}, {cost.way}: {count(len(cost.times), 'link')} in"
    text = (
        f"{text} {_milliseconds(sum(cost.times))} (median {_milliseconds(cost.percentile(50))}, "
        f"90 % within {_milliseconds(cost.percentile(90))}, "
        f"slowest {_milliseconds(cost.percentile(100))})"
    )
    if cost.kernels:
        each = _milliseconds(cost.kernel_time / cost.kernels)
        text += f"; {count(cost.kernels, 'kernel')}, {each} each"
    return text


def _differ(disagreement: Disagreement) -> tuple[str, ...]:
    parts = []
    for value, places in disagreement.values:
        text = "not given" if value is None else value or "given"
        parts.append(f"{text} in {count(len(places), 'image')}, e.g. {places[0]}")
    return (disagreement.option, ": ", "; ".join(parts))


def _document(records: Records, _: Options) -> Iterator[str]:
    # Imported here: a table needs no JSON.
    from ltocompat.model.link_options import Disagreement
    from ltocompat.model.records_v1 import base
    from ltocompat.model.records_v1 import link as v1
    from ltocompat.report.formats.jsonstream import Rows

    rows = Rows(v1.Link, "results")
    skipped: list[base.Skipped] = []
    differing: list[v1.Disagreement] = []
    outcomes: Counter[str] = Counter()
    costs = LinkCosts()
    found: Iterator[Linked | Disagreement | Skipped] = rows.answers(records)
    for record in found:
        if isinstance(record, Skipped):
            skipped.append(project(base.Skipped, record))
        elif isinstance(record, Disagreement):
            told = ((value, tuple(map(str, places))) for value, places in record.values)
            values = tuple(v1.OptionValue(*pair) for pair in told)
            differing.append(v1.Disagreement(record.option, values))
        else:
            outcomes[str(record.answer.outcome)] += 1
            costs.add(record)
            yield from rows.row(_value(record))
    sums = tuple(map(_cost_value, costs.values()))
    summary = v1.Summary(dict(outcomes), len(skipped), rows.errors, sums)
    yield from rows.end(v1.Link((), tuple(differing), tuple(skipped), summary))


def _value(linked: Linked) -> v1.Result:
    from ltocompat.model.records_v1 import link as v1

    linker, answer = linked.linker, linked.answer
    return project(
        v1.Result,
        answer,
        nvjitlink=project(v1.NvJitLink, linker) if linker.tool == "nvjitlink" else None,
        way=linked.way,
        arch=str(linked.arch),
        place=text_or_none(linked.place),
        reason=linked.reason,
        seconds=project(v1.LinkTimes, answer.seconds, again=linked.again_seconds),
        linker=project(v1.Linker, linker),
    )


def _cost_value(cost: LinkCost) -> v1.Cost:
    from ltocompat.model.records_v1 import link as v1

    return project(
        v1.Cost,
        cost,
        links=len(cost.times),
        seconds=sum(cost.times),
        median=cost.percentile(50),
        ninetieth=cost.percentile(90),
        slowest=cost.percentile(100),
    )


def finding_records(records: Records) -> Iterator[FindingRecord]:
    """Yield each linker, way and architecture as a target, with its result for each file."""
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
    linker, arch = linked.linker, linked.arch
    versions = VersionSet(
        linker.version, (linker.release,), quantifier=Quantifier.ONE_OF, source=linker.path
    )
    of_nvlink = linker.tool == "nvlink"
    return Target(
        name=f"{linker}, {linked.way}, {arch}",
        nvjitlink=None if of_nvlink else versions,
        nvlink=versions if of_nvlink else None,
        gpus=(Gpu(str(arch), arch),),
    )


def _link_result(
    path: str, target: Target, tried: Sequence[Linked], differ: tuple[Finding, ...] = ()
) -> Result:
    """Return the result of one linker for one file, or for all inputs together."""
    findings = (*(_refusal(linked) for linked in tried if linked.reason), *differ)
    coverage = Coverage(len(tried), link=sum(not linked.reason for linked in tried))
    verdict = worst((Verdict.OK, *(finding.verdict for finding in findings)))
    gpu = next(iter(target.gpus), None)
    return Result(path, target, gpu, Route.LINK, verdict, coverage, (), findings, ())


def _refusal(linked: Linked) -> Finding:
    """A refusal is a failure; of a crash or of open symbols, nothing is known."""
    answer = linked.answer
    verdict = Verdict.FAIL if answer.outcome == "refused" else Verdict.UNKNOWN
    place = Location.parse(answer.input_name) if answer.input_name else None
    code = answer.code_name or answer.signal or "no code"
    evidence = f"{answer.outcome} at {answer.step}, {code}"
    return _finding(TRIAL_REFUSED, verdict, str(linked.reason), evidence, linked.place or place)


def _differ_finding(disagreement: Disagreement) -> Finding:
    _, places = disagreement.values[0]
    message = f"LTO-IR of one link differs in {''.join(_differ(disagreement))}"
    evidence = "compile options in the LTO-IR"
    return _finding(OPTIONS_DIFFER, Verdict.OK, message, evidence, places[0])


def _finding(
    rule_id: str, verdict: Verdict, message: str, evidence: str, place: Location | None
) -> Finding:
    return finding_by_engine(
        rule_id, verdict, message, evidence=evidence, module_count=1, example=place, subject=""
    )


REPORT: FindingReport[Linked | Disagreement | Skipped] = FindingReport(
    blocks, _document, finding_records
)

"""The answer of ``check`` as blocks: a word a cell, then what was found, worst first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING

from msgspec import Struct, field

from ltocompat.model.generic import grouped
from ltocompat.model.projection import project
from ltocompat.model.target import ANY_TARGET, Target
from ltocompat.model.verdict import Level, Loss, Result, Verdict, worst
from ltocompat.model.words import count, truncate_list
from ltocompat.report import Failure, FindingReport, Options
from ltocompat.report.cell_rows import (
    EvaluatedArtifact,
    columns_of,
    counts,
    deciding_variant,
    rows_as_they_come,
    rows_by_package,
    verdict_word,
)
from ltocompat.report.cells import (
    Cell,
    CellNames,
    cell_of,
    gpu_names,
    labels,
    sources_are_plain,
    target_facts,
)
from ltocompat.report.diagnostics import FindingTally
from ltocompat.report.document import (
    Block,
    Code,
    Column,
    Heading,
    Items,
    Listing,
    Paragraph,
    Styled,
    Table,
    first_lines,
    separated,
    style_of,
    table_of,
)
from ltocompat.report.grouped_findings import grouped_findings
from ltocompat.report.text import LONG_ROOT, common_folder, truncate
from ltocompat.rules.builtin_rules import ASKED_BY_PROJECT

if TYPE_CHECKING:
    from ltocompat.report.sorted_records import FindingRecord

_SAME_SOURCE = re.compile(r" \(([^()]+)\)(?=, [^()]+ \(\1\))")  # as that of the next fact


def blocks(
    records: Iterable[FindingRecord], options: Options, *, of_fleet: bool = True
) -> Iterator[Block]:
    """Yield one row per artifact if that fits, else one table per artifact; then findings.

    Args:
        records: the targets, then the results, artifact by artifact.
        options: the reader's options.
        of_fleet: True to end with the verdicts on the targets'
            machines.
    """
    answer = _Answer(records, options)
    first = list(islice(answer.artifacts, None if options.packages else 2))
    if first:
        alone = options.packages or len(first) == 1
        if alone and answer.losses and answer.has_modules and not options.quiet:
            yield _losses(answer)
        yield from () if options.quiet else described_targets(answer.targets, answer.names)
        yield from _artifacts(answer, first)
    notes = grouped_findings(answer.notes_of_empty, join=True)
    yield from answer.tally.blocks(notes, CellNames())
    if first or answer.notes_of_empty:
        yield from answer.tally.closing()
    if answer.empty and not options.quiet:
        yield Paragraph((f"{count(len(answer.empty), 'file')} without device code",))
    if not first and not answer.empty:
        yield Paragraph(("nothing was checked",))
    elif first and not answer.has_modules:
        yield Paragraph(("no device code was checked",))
    yield from answer.fleet.blocks() if of_fleet else ()


class _Answer:
    """The records of an answer, taken as they come.

    Attributes:
        options: what the reader asked for.
        tally: what is found.
        targets: the deploy targets, once the first artifact is there.
        names: what to call them, and what holds on every target.
        empty: files without device code, so far.
        notes_of_empty: results about them that have something to say.
        has_modules: device code was judged, so far.
        losses: what of an environment or image each target loses.
        fleet: the machines that are targets, and how they fare so far.
        artifacts: what is judged, each when all of it is known.
    """

    def __init__(self, records: Iterable[FindingRecord], options: Options) -> None:
        self.options = options
        self.tally = FindingTally(options)
        self.targets: list[Target] = []
        self.names: dict[str, str] = {}
        self.empty: set[str] = set()
        self.notes_of_empty: list[Result] = []
        self.has_modules = False
        self.losses: list[Loss] = []
        self.fleet = _Fleet()
        self._current: EvaluatedArtifact | None = None
        self.artifacts = filter(None, map(self._take, chain(records, (None,))))

    def _take(self, record: FindingRecord | None) -> EvaluatedArtifact | None:
        """Take a record, or the end; the artifact of which it shows that all is known."""
        known = self._current
        if record is None:
            return known
        self.fleet.take(record)
        if isinstance(record, Target) and record != ANY_TARGET:
            self.targets.append(record)
            self.names |= labels([target.name for target in self.targets])
        elif isinstance(record, Loss):
            self.losses.append(record)
            self.names.setdefault(record.target.name, record.target.name)
        elif isinstance(record, Result) and record.without_device_code:
            self.empty.add(record.path)
            self.notes_of_empty += [record] if record.findings else []
        elif isinstance(record, Result):
            current = known
            if current is None or current.path != record.path:
                current = self._current = EvaluatedArtifact(record.path)
            current.add(record)
            self.names.setdefault(record.target.name, record.target.name)
            self.has_modules |= record.coverage.modules > 0
        return None if known is self._current else known


def described_targets(targets: Sequence[Target], names: dict[str, str]) -> Iterator[Block]:
    """Yield the targets with their labels and facts."""
    if not targets:
        yield Paragraph(("checked without a deploy target: only rules that hold everywhere",))
    elif len(targets) == 1:
        (target,) = targets
        # Beside what holds on every target, the only one has its letter, too.
        lettered = len(names) > 1 and names[target.name] != target.name
        yield Paragraph(("target ", *_target(target, names[target.name] if lettered else "")))
    else:
        known = [target_facts(each) for each in targets if not sources_are_plain(each)]
        first = known[0] if len(known) > 1 else []
        shared = [fact for fact in first if "/" in fact and all(fact in each for each in known)]
        named = [(goal, names[goal.name]) for goal in targets]
        lines = [_target(each, label * (label != each.name), shared) for each, label in named]
        yield Items("targets", (*lines, *((("all: ", ", ".join(shared)),) if shared else ())))


_MOST_NODES = 3  # of one target, by name


def _target(target: Target, label: str, shared: Sequence[str] = ()) -> tuple[str, ...]:
    letter = (label, " ") if label else ()
    named = f"{count(len(target.nodes), 'node')} ({truncate_list(target.nodes, _MOST_NODES)}), "
    nodes = (named,) if target.nodes else ()
    facts = [fact for fact in target_facts(target) if fact not in shared]
    shown = () if sources_are_plain(target) else (": ", _SAME_SOURCE.sub("", ", ".join(facts)))
    return (*letter, *nodes, Code(target.name), *shown)


def _artifacts(answer: _Answer, first: list[EvaluatedArtifact]) -> Iterator[Block]:
    """A row each, where there are several and that fits, then what was found; else a table each.

    Files and folders are told as they are read. The packages of an environment stand worst first,
    which is known when the last file was read: they are asked for to see what of them fails.
    """
    every: Iterable[EvaluatedArtifact] = chain(first, answer.artifacts)
    # A single one has a table.
    columns = columns_of(first, answer.names, answer.options) if len(first) > 1 else ()
    if not columns:
        yield from _tables(every, answer)
        return
    seen: list[EvaluatedArtifact] = []
    within, head = "", "artifact"
    if answer.options.packages:
        seen, head, rows = first, "package", rows_by_package(first, columns)
        number = len({artifact.distribution for artifact in first if artifact.distribution})
        within = f"{count(number, 'package')}, " if number else ""
    else:
        root = common_folder((artifact.path for artifact in first), LONG_ROOT)
        rows = rows_as_they_come(every, columns, root, seen)
        head = f"artifact in {truncate(root)}" if root else "artifact"
    if answer.options.quiet:  # who wants only what is wrong sees none of them
        list(rows)
    else:
        verdicts = (Column(column.head, width=column.width) for column in columns)
        yield Listing((*verdicts, Column(head, place=True)), rows, notes=False)
        jit = any(result.verdict is Verdict.JIT for file in seen for result in file.results)
        untold = jit and not answer.options.notes and not any(column.gpu for column in columns)
        which = "; to see which GPUs are jit, and why, add --notes" if untold else ""
        yield Paragraph((within, _summary([artifact.worst for artifact in seen]), which))
    yield from _findings(seen, answer)


_MOST_LOST = 4  # packages that one target loses, in the first line


def _losses(answer: _Answer) -> Block:
    """Sum up packages: ``runs on C; on A, cupy-cuda12x fails: it needs driver 580.65.06``."""
    called, every = answer.names, "the targets"
    if len(answer.targets) == 1:  # its letter stands nowhere below
        (name,) = (target.name for target in answer.targets)
        every = name if called[name] == name else "the target"
        called = called | {name: every}
    known = [target for target in answer.targets if target.driver or target.gpus or target.untold]
    losses = [loss for loss in answer.losses if loss.packages and not loss.target.untold]
    on = ((x, f"{called[x.target.name]} ({', '.join(x.gpus)})".removesuffix(" ()")) for x in losses)
    alike = grouped(((loss.packages, loss.verdict, loss.asked), name) for loss, name in on)
    lossy = {loss.target for loss in answer.losses if loss.packages}
    failing = {loss.target for loss in answer.losses if loss.verdict is Verdict.FAIL}
    sound = [called[target.name] for target in answer.targets if target not in lossy]
    runs = f"runs on {', '.join(sound)}"
    if not sound or ANY_TARGET in lossy:
        fails = ANY_TARGET in failing or failing.issuperset(answer.targets)
        blind = "" if known or fails else ": no driver and no GPU is known"
        runs = f"{'does' if fails else 'may'} not run on {every}{blind}"
    parts = [runs] if answer.targets else []
    for (packages, verdict, asked), names in alike.items():
        fail, need = ("fails", "it needs") if len(packages) == 1 else ("fail", "they need")
        fail = fail if verdict is Verdict.FAIL else "may fail"
        lost = truncate_list(list(map(truncate, packages)), _MOST_LOST)
        needed = f": {need} {', '.join(asked)}" if asked else ""
        where = ANY_TARGET.name if ANY_TARGET.name in names else ", ".join(names)
        parts += [f"{'' if where == every else f'on {where}, '}{lost} {fail}{needed}"]
    parts += [f"on {called[t.name]}, {t.untold}" for t in answer.targets if t.untold]
    return Paragraph(("; ".join(parts),))


def _tables(artifacts: Iterable[EvaluatedArtifact], answer: _Answer) -> Iterator[Block]:
    """A table each, with what was found in it."""
    for artifact in artifacts:
        if not answer.options.quiet:
            yield from _alone(artifact, answer)
        yield from _findings([artifact], answer)


def _alone(artifact: EvaluatedArtifact, answer: _Answer) -> Iterator[Block]:
    """An artifact and its table; a table of one word is none."""
    title = artifact.title()
    table = _rows(artifact, answer.names)
    if len(table.columns) == len(table.rows) == 1:
        yield Heading((*title, ": ", table.rows[0][0]))
    else:
        yield Heading(title)
        yield table
        covered = [result.coverage for result in artifact.results if result.coverage.served]
        idle = any(coverage.without_kernels for coverage in covered)
        if any(coverage.none for coverage in covered):
            some = "; some of them have no kernels" if idle else ""
            rest = "modules that a row doesn't count lack code for the GPU: their kernels fail"
            yield Paragraph((f"{rest} or do nothing{some}",))
        elif idle:
            yield Paragraph(("modules that a row doesn't count have no kernels",))


def _findings(artifacts: list[EvaluatedArtifact], answer: _Answer) -> Iterator[Block]:
    every = list(dict.fromkeys(cell for artifact in artifacts for cell in artifact.cells))
    cells = CellNames(every, answer.names)
    results = [result for artifact in artifacts for result in artifact.results]
    yield from answer.tally.blocks(grouped_findings(results, join=True), cells)
    yield from _origins(results, answer.options)
    if answer.options.why:
        yield from _reasons(results, cells)


_MOST_PATHS = 3
_MOST_DISTRIBUTIONS = 20
_NOT_SAID = "a layer whose origin the image does not record"


def _origins(results: Iterable[Result], options: Options) -> Iterator[Block]:
    """Who has to mend what in a container image: by layer, distribution and path."""
    findings = (finding for result in results for finding in result.findings)
    told = (each for each in findings if options.notes or each.level is not Level.NOTE)
    rules = grouped((origin, each.rule) for each in told for origin in each.origins)
    alike = grouped(
        ((origin.layer, (origin.distribution, *dict.fromkeys(found))), origin.path)
        for origin, found in rules.items()
    )
    layers = grouped((layer, (who, paths)) for (layer, who), paths in alike.items())
    for layer, parts in layers.items():
        lines = [_origin(*who, paths=paths) for who, paths in parts]
        yield first_lines(f"from {truncate(layer or _NOT_SAID)}", lines, _MOST_DISTRIBUTIONS)


def _origin(distribution: str, *rules: str, paths: Sequence[str]) -> tuple[str, ...]:
    """``torch 2.4.0 (pip): SASS-07 in /usr/lib/x.so, /usr/lib/y.so, /usr/lib/z.so and 2 more``."""
    whose = truncate(distribution or "no package")
    shown = separated(Code(truncate(path)) for path in paths[:_MOST_PATHS])
    more = f" and {len(paths) - _MOST_PATHS:,} more" if paths[_MOST_PATHS:] else ""
    return (f"{whose}: {', '.join(rules)} in ", *shown, more)


def _reasons(results: Iterable[Result], names: CellNames) -> Iterator[Block]:
    """The reasoning, each line once, with the cells that it holds for."""
    cells_of_line = grouped((line, cell_of(result)) for result in results for line in result.why)
    if cells_of_line:
        lines = [(names.words(cells), truncate(line)) for line, cells in cells_of_line.items()]
        yield Items(
            "why", tuple((cells, ": ", line) if cells else (line,) for cells, line in lines)
        )


def _summary(verdicts: list[Verdict]) -> str:
    parts = [f"{verdicts.count(v):,} {v}" for v in reversed(Verdict) if v in verdicts]
    return f"{count(len(verdicts), 'artifact')}: {', '.join(parts)}"


def _shared(cell: Cell, result: Result) -> tuple[object, ...]:
    same = (result.verdict, result.extent, result.forgiven, result.coverage, result.not_judged)
    return (cell.target, cell.route, deciding_variant(result), *same)


_ROW_COLUMNS = (
    Column("target"),
    Column("nodes"),
    Column("GPU", width=10),
    Column("route"),
    Column("verdict"),
    Column("modules for it"),
    Column("picked", width=8),
    Column("variant", width=8),
    Column("not checked"),
)


def _rows(artifact: EvaluatedArtifact, names: dict[str, str]) -> Table:
    """A row a verdict; GPUs of a target that fare alike share it."""
    alike = grouped((_shared(*pair), pair) for pair in artifact.cells.items())
    nodes = any(result.target.nodes for result in artifact.results)
    ordered = list(alike.values())
    if nodes:
        ordered.sort(key=lambda several: several[0][1].verdict, reverse=True)
    rows = [_row(several, names) for several in ordered]
    named = any(cell.gpu for cell in artifact.cells)
    routed = any(cell.route for cell in artifact.cells)
    chosen, partly = (any(column) for column in list(zip(*rows, strict=True))[-2:])
    shown = (len(names) > 1, nodes, named, routed, True, named, named, chosen, partly)
    return table_of(_ROW_COLUMNS, rows, shown)


def _row(several: Sequence[tuple[Cell, Result]], names: dict[str, str]) -> tuple[str, ...]:
    (cell, result), coverage = several[0], several[0][1].coverage
    ways = (("SASS", coverage.sass), ("PTX", coverage.ptx), ("link", coverage.link))
    used = [(word, number) for word, number in ways if number]
    # Rules on libraries, metadata and the policy's limits ask for no GPU.
    policy = any(finding.rule in ASKED_BY_PROJECT for finding in result.findings)
    general = "libraries, metadata" + ", policy" * policy
    unnamed = "none named" if coverage.modules else general
    return (
        names[cell.target],
        str(len(result.target.nodes) or ""),
        gpu_names(cell.gpu for cell, _ in several) or unnamed,
        cell.route,
        Styled(verdict_word(result), style_of(result.verdict)),
        f"{coverage.served:,} of {coverage.modules:,}" if coverage.modules else "",
        used[0][0] if len(used) == 1 else ", ".join(f"{word} {n:,}" for word, n in used),
        deciding_variant(result),
        ", ".join(result.not_judged),
    )


class Tally(Struct):
    """Totals of all results, for the end of a JSON document."""

    artifacts: dict[str, None] = field(default_factory=dict)
    empty: set[str] = field(default_factory=set)
    verdicts: Counter[str] = field(default_factory=Counter)
    worst: Verdict | None = None

    def add(self, result: Result) -> bool:
        """Count a result; return False for a file without device code."""
        if result.without_device_code:
            self.empty.add(result.path)
            return False
        self.artifacts.setdefault(result.path)
        self.verdicts[str(result.verdict)] += 1
        self.worst = result.verdict if self.worst is None else max(self.worst, result.verdict)
        return True


def _document(records: Iterable[Target | Result | Failure], _: Options) -> Iterator[str]:
    # Imported here: a table needs no JSON.
    from ltocompat.model.records_v1 import check as v1
    from ltocompat.model.records_v1 import verdict
    from ltocompat.report.formats.jsonstream import Rows

    rows = Rows(v1.Check, "results")
    tally = Tally()
    targets: list[verdict.Target] = []
    found: Iterator[Target | Result | Loss] = rows.answers(records)
    for record in found:
        if isinstance(record, Target):
            targets.append(project(verdict.Target, record))
        elif isinstance(record, Result) and tally.add(record):
            yield from rows.row(project(verdict.Result, record), targets=targets)
    whole = v1.Check(tuple(targets), (), project(v1.Summary, tally, errors=rows.errors))
    yield from rows.end(whole, empty=bool(tally.empty), targets=targets)


Records = Iterable[Target | Result | Failure]


class _Fleet(Struct):
    """The fate of each machine of a fleet, told when all of them is known."""

    _targets: list[Target] = field(default_factory=list)
    _worst: dict[str, Verdict] = field(default_factory=dict)

    def take(self, record: FindingRecord) -> None:
        """Add a target, or a result on it."""
        if isinstance(record, Target):
            self._targets.append(record)
        elif isinstance(record, Result) and counts(record):
            name = record.target.name
            self._worst[name] = max(self._worst.get(name, record.verdict), record.verdict)

    def blocks(self) -> Iterator[Block]:
        """``3 nodes, driver=535.161.08,gpu=t4: fail; 14 nodes: ok``, the worst first.

        A machine in several targets, such as before and after an upgrade, has a verdict for each:
        ``17 nodes: fail -> ok``.
        """
        judged = [target for target in self._targets if target.name in self._worst]
        targets_of = grouped((node, target.name) for target in judged for node in target.nodes)
        alike: Counter[tuple[tuple[Verdict, ...], str]] = Counter()
        for names in targets_of.values():
            verdicts = tuple(self._worst[name] for name in names)
            alike[verdicts, names[-1] if verdicts[-1] > Verdict.JIT else ""] += 1
        parts = []
        for verdicts, name in sorted(alike, key=lambda fate: fate[0][::-1], reverse=True):
            what = ", ".join(filter(None, (count(alike[verdicts, name], "node"), name)))
            parts.append(f"{what}: {' -> '.join(map(str, verdicts))}")
        packaging = self._worst.get(ANY_TARGET.name, Verdict.OK)
        if parts:
            parts += [f"packaging, on every node: {packaging}"] * (packaging > Verdict.JIT)
            yield Paragraph(("; ".join(parts),))


REPORT: FindingReport[Target | Result] = FindingReport(blocks, _document, iter)


def _fate(result: Result) -> Hashable:
    """Return the part of a result in which targets can differ."""
    rules = frozenset((f.rule, f.verdict) for f in result.findings if f.level is not Level.NOTE)
    return result.verdict, result.not_judged, rules


def changed(records: Records) -> Iterator[Target | Result | Failure]:
    """Yield the targets and failures, then the results that differ, the worst artifact first.

    A result differs if the same artifact has another verdict on another target with the same GPU
    and route, or if no other target has them. For nodes of a fleet, only targets with that GPU
    count.
    """
    targets: list[Target] = []
    artifacts: dict[str, dict[Hashable, list[Result]]] = {}
    for record in records:
        if not isinstance(record, Result):
            targets += [record] if isinstance(record, Target) else []
            yield record
            continue
        alike = artifacts.setdefault(record.path, {})
        alike.setdefault((record.gpu and record.gpu.name, record.route), []).append(record)
    found = [
        [result for cells in alike.values() if _differs(cells, targets) for result in cells]
        for alike in artifacts.values()
    ]
    found.sort(key=lambda results: worst(result.verdict for result in results), reverse=True)
    yield from chain.from_iterable(found)


def _differs(cells: list[Result], targets: list[Target]) -> bool:
    on = {result.target.name for result in cells}
    gpu = cells[0].gpu
    comparable = {target.name for target in targets if not target.nodes or gpu in target.gpus}
    # What holds on every target holds on each alike.
    return len(set(map(_fate, cells))) > 1 or (bool(on & comparable) and not comparable <= on)


def _changed_blocks(records: Records, options: Options) -> Iterator[Block]:
    fleet, kept = _Fleet(), list(records)
    for record in kept:
        fleet.take(record)
    shown = list(changed(kept))
    differing = {record.path for record in shown if isinstance(record, Result)}
    results = (each for each in kept if isinstance(each, Result))
    every = grouped((it.path, it.verdict if counts(it) else Verdict.OK) for it in results)
    alike = [worst(verdicts) for path, verdicts in every.items() if path not in differing]
    if differing or not alike:
        yield from blocks(shown, options, of_fleet=False)
    if alike:
        more = "; to see their findings, leave out --changes" if max(alike) > Verdict.JIT else ""
        yield Paragraph((f"no difference between the targets in {_summary(alike)}{more}",))
    yield from fleet.blocks()


# Differences between targets, the worst first.
CHANGES: FindingReport[Target | Result] = FindingReport(
    _changed_blocks, lambda records, options: _document(changed(records), options), changed
)

"""The answer of ``inspect`` as blocks: a summary for each artifact, or one row an image."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct, field

from ltocompat.model.image import (
    BITCODE,
    Artifact,
    HostBinary,
    Image,
    ImageKind,
    Module,
    Record,
    Skipped,
)
from ltocompat.model.limits import DEFAULT_LIMITS
from ltocompat.model.location import Location
from ltocompat.model.projection import project
from ltocompat.model.words import count
from ltocompat.report import Failure, ListReport, Options
from ltocompat.report.document import (
    Block,
    Code,
    Column,
    Entry,
    Heading,
    Items,
    Listing,
    Paragraph,
    Row,
    Style,
    Styled,
    Table,
    left_out,
    separated,
    table_of,
)
from ltocompat.report.image_answer import ImageAnswer
from ltocompat.report.image_summary import HostNeeds, ImageSummary, SummaryRow
from ltocompat.report.text import (
    Firsts,
    binary_size,
    evidence_label,
    kind_label,
    makers_label,
    needs_label,
    stored_size,
    truncate,
)
from ltocompat.scan.filters import UNKNOWN

if TYPE_CHECKING:
    from ltocompat.model.records_v1 import base
    from ltocompat.model.records_v1 import inspect as v1
    from ltocompat.report.formats.jsonstream import Array

_MOST_ITEMS = 20

_LISTED = (
    Column("kind", width=7),
    Column("arch", width=12),
    Column("made by", width=27),
    Column("stored as", width=14, optional=True),
    Column("registered", width=10, optional=True),
    Column("stored", right=True, width=10),
    Column("place", place=True),
)


_STORED_AS = (Column("stored as", width=9), Column("stored as", width=9, optional=True))
_GROUP_HEADS = {"arch": "arch", "section": "section", "compression": "stored as"}


class _Fold(Struct):
    """State of the artifact that is being read."""

    summary: ImageSummary
    answer: ImageAnswer = field(default_factory=ImageAnswer)
    path: str | None = None
    needs: HostNeeds = field(default_factory=HostNeeds)
    hosts: int = 0
    skipped: Firsts[Skipped] = field(default_factory=lambda: Firsts(_MOST_ITEMS))
    problems: Firsts[tuple[Location, str]] = field(default_factory=lambda: Firsts(_MOST_ITEMS))
    closing: Artifact | None = None

    def add(self, record: Module | Skipped | HostBinary) -> None:
        """Fold one record."""
        self.path = self.path or record.place.path
        if isinstance(record, Module):
            self.summary.add(record)
            self.answer.add(record)
            for image in record.images:
                for problem in image.problems:
                    self.problems.add((image.place, problem))
        elif isinstance(record, HostBinary):
            self.hosts += bool(record.machine)
            self.needs.add(record)
            self.answer.add_host(record)
        else:
            self.skipped.add(record)

    @property
    def unmentioned(self) -> bool:
        """Return whether a file that was found in a folder has nothing to show."""
        device_code = self.summary.images or self.summary.modules or self.skipped
        return not device_code and not self.needs.of_device_code


class _Unmentioned(Struct):
    """Counts files that were found in folders and of which nothing, or not all, is shown."""

    empty: int = 0
    unmatched: int = 0
    in_brief: bool = False

    def add(self, artifact: Artifact) -> None:
        self.empty += not artifact.images
        self.unmatched += artifact.images > 0

    def blocks(self) -> Iterator[Block]:
        if self.empty:
            yield Paragraph((f"{count(self.empty, 'file')} without device code",))
        if self.unmatched:
            files = count(self.unmatched, "file")
            yield Paragraph((f"{files} with device code that the filters exclude",))
        if self.in_brief:
            yield Paragraph(("-v shows what each file of a folder holds",))


def blocks(records: Iterable[Record | Failure], options: Options) -> Iterator[Block]:
    """Yield the answer, artifact by artifact; failures go to standard error."""
    stream = iter(records)
    unmentioned = _Unmentioned()
    fold = _Fold(ImageSummary(options.by))
    for record in stream:
        closing: Artifact | None = None
        if isinstance(record, Module) and options.images:
            yield Heading((Code(record.place.path),))
            yield Listing(_LISTED, _listed(fold, record, stream))
            closing = fold.closing
        elif isinstance(record, Artifact):
            closing = record
        elif not isinstance(record, Failure):
            fold.add(record)
            continue
        if closing is not None and fold.unmentioned and closing.path not in options.named:
            unmentioned.add(closing)
        elif closing is not None or fold.path is not None:
            unmentioned.in_brief |= _in_brief(fold, options)
            yield from _artifact(closing, fold, options)
        fold = _Fold(ImageSummary(options.by))
    if fold.path is not None:  # the stream broke off
        yield from _artifact(None, fold, options)
    yield from unmentioned.blocks()


def _listed(fold: _Fold, first: Module, rest: Iterator[Record | Failure]) -> Iterator[Row]:
    """One row an image, taken from the stream of all records, until the artifact closes."""
    record: Record | Failure | None = first
    while record is not None and not isinstance(record, Failure):
        if isinstance(record, Artifact):
            fold.closing = record
            return
        fold.add(record)
        if isinstance(record, Module):
            for image in record.images:
                yield _image_row(image, record.registered)
        record = next(rest, None)


def _image_row(image: Image, registered: bool | None) -> Row:  # noqa: FBT001 - a fact
    made_by = makers_label(image.made_by)
    if evidence := evidence_label(image.made_by):
        made_by += f" ({evidence})"
    if needs := needs_label(image.needs):
        made_by += f"; {needs}"
    below = [("sha256", image.sha256)] if image.sha256 else []
    below += [("kernel", name) for name in image.kernels or ()]
    below += [("problem", truncate(problem)) for problem in image.problems]
    cells = (
        kind_label(image),
        str(image.arch) if image.arch else "-",
        made_by,
        image.stored_as,
        {True: "yes", False: "no", None: "unknown"}[registered],
        stored_size(image.stored_size),
        Code(image.place),
    )
    return Row(cells, tuple(below))


def _artifact(closing: Artifact | None, fold: _Fold, options: Options) -> Iterator[Block]:
    """The blocks about one artifact; ``closing`` is None if reading broke off."""
    heading = _heading(closing, fold)
    summary = fold.summary
    yield Paragraph(heading) if options.images and summary.images else Heading(heading)
    # Of what a filter left out nothing is known.
    shown = (summary.modules, summary.images)
    whole = closing is None or (closing.modules, closing.images) == shown
    if summary.images and whole and (answer := fold.answer.text()):
        yield Entry((Styled(answer, Style.STRONG),))
    if options.quiet:
        return
    brief_ = _in_brief(fold, options)
    if not options.images and summary.images and not brief_:
        yield _table(summary.rows(), options)
    if fold.problems:
        lines = tuple((Code(place), ": ", truncate(text)) for place, text in fold.problems)
        yield Items("problems", lines, left_out(fold.problems.left_out))
    if fold.skipped:
        skipped = tuple((Code(s.place), ": ", truncate(s.reason), _extent(s)) for s in fold.skipped)
        yield Items("skipped", skipped, left_out(fold.skipped.left_out))
    if not brief_ and (needs := fold.needs.items(evidence=options.why)):
        yield needs


def _in_brief(fold: _Fold, options: Options) -> bool:
    """Return whether the first lines are enough, as for a file that was found in a folder."""
    if options.why or options.quiet or options.kernels or options.images or options.by != "kind":
        return False
    return any((fold.path or "").startswith(f"{name.rstrip('/')}/") for name in options.named)


def _heading(closing: Artifact | None, fold: _Fold) -> tuple[str, ...]:
    path = fold.path or (closing.path if closing else "")
    facts = [binary_size(closing.size)] if closing else ["not read to its end"]
    if fold.hosts > 1:
        facts.append(count(fold.hosts, "host file"))
    facts += fold.needs.formats
    summary = fold.summary
    modules = closing.modules if closing else summary.modules
    images = closing.images if closing else summary.images
    words = [_of(summary.modules, modules, "module"), _of(summary.images, images, "image")]
    if not images and not modules:
        words = ["no image was read" if fold.skipped else "no device code"]
        if path.endswith(BITCODE) and not fold.skipped:
            words = ["no device code; LLVM bitcode is not checked (IMG-06)"]
    if fold.needs.texts:
        words.append("PTX as text, not checked")
    if fold.skipped:
        words.append(f"{count(len(fold.skipped) + fold.skipped.left_out, 'place')} skipped")
    return (Code(path), " (", *separated(facts, "; "), f"): {', '.join(words)}")


def _of(shown: int, found: int, noun: str) -> str:
    """How many; where a filter left some out, of how many."""
    return count(found, noun) if shown == found else f"{shown:,} of {count(found, noun)}"


def _table(rows: list[SummaryRow], options: Options) -> Table:
    by = options.by
    grouped = by != "kind"
    columns = (
        Column(_GROUP_HEADS.get(by, ""), width=10),
        Column("kind", width=7),
        Column("made by", width=8),
        Column("archs", width=10),
        _STORED_AS[grouped],
        Column("registered", width=10),
        Column("kernels", right=True, width=7),
        Column("images", right=True, width=6),
        Column("stored", right=True, width=9),
    )
    # What is registered is known of host files alone.
    registered = any(row.registered_cell() != UNKNOWN for row in rows)
    described = (by != "arch", by != "compression", registered, options.kernels)
    return table_of(columns, map(_cells, rows), (grouped, True, True, *described, True, True))


def _cells(row: SummaryRow) -> tuple[str, ...]:
    return (
        row.group,
        row.kind,
        row.maker_cell(),
        row.arch_cell(),
        ", ".join(sorted(row.compressions)),
        row.registered_cell(),
        row.kernels_cell(),
        f"{row.images:,}",
        row.stored_cell(),
    )


def _extent(skipped: Skipped) -> str:
    return f" ({binary_size(skipped.size)})" if skipped.size is not None else ""


class _Held(Struct):
    """The artifact that is being written, and what is held back: all that follows its modules."""

    modules: Array
    host: v1.Host | None = None
    members: Firsts[v1.Member] = field(default_factory=lambda: Firsts(DEFAULT_LIMITS.skipped))
    skipped: Firsts[base.Skipped] = field(default_factory=lambda: Firsts(DEFAULT_LIMITS.skipped))

    def pieces(self, record: Module | HostBinary | Skipped, totals: Counter[str]) -> Iterator[str]:
        """Yield the text of a module; records after the modules are kept."""
        from ltocompat.model.records_v1 import base
        from ltocompat.model.records_v1 import inspect as v1

        if isinstance(record, Module):
            totals.update(image.kind for image in record.images)
            stored = sum(image.stored_size or 0 for image in record.images)
            totals.update(modules=1, images=len(record.images), stored_size=stored)
            yield self.modules.element("")
            yield from _module_pieces(record)
        elif isinstance(record, Skipped):
            totals["skipped"] += 1
            self.skipped.add(project(base.Skipped, record))
        elif not record.place.members:
            self.host = project(v1.Host, record)
        else:
            self.members.add(project(v1.Member, record))

    def end(self, closing: Artifact | None) -> str:
        """Return the text after the modules; ``closing`` is None if reading stopped early."""
        from ltocompat.model.records_v1 import inspect as v1
        from ltocompat.report.formats.jsonstream import members_after

        size = None if closing is None else closing.size
        complete = closing is not None
        ends = project(v1.Artifact, self, path="", modules=(), size=size, complete=complete)
        return "],\n  " + ", ".join(members_after(ends, "modules")) + "}"


def _document(records: Iterable[Record | Failure], options: Options) -> Iterator[str]:
    # Imported here: a table needs no JSON.
    from ltocompat.model.records_v1 import inspect as v1
    from ltocompat.report.formats.jsonstream import Array, Rows, encode

    rows = Rows(v1.Inspect, "artifacts")
    totals: Counter[str] = Counter()
    held: _Held | None = None
    for record in records:
        if isinstance(record, Failure):
            rows.failures.append(record)
        elif held is None and isinstance(record, Artifact) and record.path not in options.named:
            totals["files_without_match" if record.images else "files_without_device_code"] += 1
            continue
        elif held is None:
            held = _Held(Array())
            path = record.path if isinstance(record, Artifact) else record.place.path
            yield from rows.element(f'{{"path": {encode(path)}, "modules": [')
            totals["artifacts"] += 1
        if held is None:
            continue
        if isinstance(record, Artifact | Failure):
            yield held.end(record if isinstance(record, Artifact) else None)
            held = None
        else:
            yield from held.pieces(record, totals)
    if held is not None:
        yield held.end(None)
    names = [name for name in v1.Summary.__struct_fields__ if name not in ("kinds", "errors")]
    kinds = v1.Kinds(**{str(kind): totals[kind] for kind in ImageKind})
    summary = v1.Summary(**{n: totals[n] for n in names}, kinds=kinds, errors=rows.errors)
    yield from rows.end(v1.Inspect((), summary))


def _module_pieces(module: Module) -> Iterator[str]:
    """A module as JSON says it, on one line, piece by piece: it may have a million images."""
    from ltocompat.model.records_v1 import inspect as v1
    from ltocompat.report.formats.jsonstream import encode

    before, after = encode(project(v1.Module, module, images=())).rsplit("[]", 1)
    yield f"  {before}["
    for number, image in enumerate(module.images):
        yield f"{', ' if number else ''}{encode(project(v1.Image, image))}"
    yield f"]{after}"


def _images(record: Record) -> Iterable[Image | Failure]:
    if isinstance(record, Skipped):
        kind = "limit" if record.limit else "unreadable"
        return (Failure(kind, f"{record.place}: {record.reason}"),)
    return record.images if isinstance(record, Module) else ()


REPORT: ListReport[Record] = ListReport(blocks, _document, Image, _images, ("registered",))

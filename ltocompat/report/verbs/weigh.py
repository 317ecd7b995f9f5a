"""The answer of ``inspect --weigh`` as blocks: what could be saved, and what weighs how much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from ltocompat.model.image import ImageKind
from ltocompat.model.location import Location
from ltocompat.model.weight import ArchWeight, LibraryWeight, Saving, Waste, Weight
from ltocompat.model.words import count
from ltocompat.report import Failure, Options, Report, answers, rows_document
from ltocompat.report.document import (
    Block,
    Code,
    Column,
    Entry,
    Heading,
    Items,
    Paragraph,
    Style,
    Styled,
    Table,
)
from ltocompat.report.text import LONGEST_NAME, binary_size, clip, truncate

# Bytes; smaller savings are not worth the time, and are only added up.
WORTH_A_LINE = 64 << 10

_MOST_ARCHS = 40
_MOST_LIBRARIES = 20
_MOST_KERNELS = 20

_ARCH_COLUMNS = (
    Column("kind", width=5),
    Column("arch", width=10),
    Column("images", right=True),
    Column("stored", right=True),
    Column("share", right=True),
)
_LIBRARY_COLUMNS = (
    Column("stored", right=True),
    Column("share", right=True),
    Column("could save", right=True),
    Column("images", right=True, optional=True),
    Column("library", width=20, place=True),
)
_KERNEL_COLUMNS = (
    Column("code", right=True),
    Column("cubins", right=True),
    Column("kernel", width=30),
)


def blocks(records: Iterable[Weight | Failure], options: Options) -> Iterator[Block]:
    """Blocks of one path after the other."""
    for record in answers(records):
        yield from _weight(record, options)


def _weight(weight: Weight, options: Options) -> Iterator[Block]:
    yield Heading(_heading(weight))
    if weight.stored or weight.saved:
        yield Entry((Styled(_answer(weight), Style.STRONG),))
    if weight.slim_saved is not None:
        share = f"{binary_size(weight.slim_saved)} ({_share(weight.slim_saved, weight.stored)})"
        why = "" if weight.slim_saved else "; slim -o OUT lists what it leaves as it is, and why"
        yield Entry((f"slim saves {share} if it keeps only PTX and the GPUs of --keep-gpu{why}",))
    if worth := [saving for saving in weight.savings if saving.saved >= WORTH_A_LINE]:
        yield Items("could be saved", tuple(map(_saving, worth)), _rest(weight, worth))
    if options.quiet or not weight.stored:
        return
    yield _archs(weight)
    if len(weight.libraries) > 1:
        yield from _libraries(weight)
    yield from _layers(weight)
    if options.kernels:
        yield from _kernels(weight)
    if weight.unsized:
        images = count(weight.unsized, "image")
        yield Paragraph((f"{images} not counted, since nothing records where they end",))


def _heading(weight: Weight) -> tuple[str, ...]:
    files = f" in {count(weight.files, 'file')}" if weight.files > 1 else ""
    facts = f" ({binary_size(weight.size)}{files})"
    if not weight.stored:
        return (Code(weight.path), f"{facts}: no device code")
    images = sum(row.images for row in weight.archs)
    unpacked = ", unpacked," if any(row.place.members for row in weight.libraries) else ""
    parts = [f"{binary_size(weight.stored)} of device code{unpacked} in {count(images, 'image')}"]
    libraries = sum(library.modules > 0 for library in weight.libraries)
    if libraries > 1:
        parts.append(f" of {libraries:,} libraries")
    if weight.skipped:
        parts.append(f", {count(weight.skipped, 'place')} skipped")
    return (Code(weight.path), f"{facts}: ", *parts)


def _answer(weight: Weight) -> str:
    kinds = Counter[ImageKind]()
    for row in weight.archs:
        kinds[row.kind] += row.stored
    shares = [
        f"{kind} {binary_size(size)} ({_share(size, weight.stored)})"
        for kind, size in kinds.most_common()
    ]
    if weight.overhead:
        shares.append(f"headers and padding {binary_size(weight.overhead)}")
    return " · ".join([*shares, _could_save(weight)])


def _could_save(weight: Weight) -> str:
    debug = sum(saving.saved for saving in weight.savings if saving.waste is Waste.HOST_DEBUG)
    device = weight.saved - debug
    share = f"{binary_size(device)} could be saved ({_share(device, weight.stored)})"
    beside = f"{binary_size(debug)} of debug sections could be saved"
    worth = [share] if device >= WORTH_A_LINE else []
    worth += [beside] if debug >= WORTH_A_LINE else []
    least = f"nothing worth saving ({binary_size(weight.saved)} at most)"
    return ", ".join(worth) or (least if weight.saved else "nothing to save")


def _saving(saving: Saving) -> tuple[str, ...]:
    about = "about " if saving.estimated else ""
    return (f"{about}{binary_size(saving.saved)}: ", truncate(saving.what), "; ", Code(saving.fix))


def _rest(weight: Weight, worth: list[Saving]) -> str | None:
    rest = weight.saved - sum(saving.saved for saving in worth)
    others = len(weight.savings) - len(worth)
    if not others:
        return None
    return f"and {binary_size(rest)} for {count(others, 'other reason')}; --format json has them"


def _archs(weight: Weight) -> Table:
    rows = [
        (str(row.kind), str(row.arch) if row.arch else "-", *_sums([row], weight))
        for row in weight.archs[:_MOST_ARCHS]
    ]
    if rest := weight.archs[_MOST_ARCHS:]:
        rows.append(("others", "", *_sums(rest, weight)))
    return Table(_ARCH_COLUMNS, tuple(rows))


def _sums(rows: Sequence[ArchWeight | LibraryWeight], weight: Weight) -> tuple[str, str, str]:
    """How many images, the bytes that they take, and their share."""
    stored, images = sum(row.stored for row in rows), sum(row.images for row in rows)
    return f"{images:,}", binary_size(stored), _share(stored, weight.stored)


def _libraries(weight: Weight) -> Iterator[Block]:
    libraries = [library for library in weight.libraries if library.modules]
    shown, rest = libraries[:_MOST_LIBRARIES], libraries[_MOST_LIBRARIES:]
    named = [([row], Code(_inside(row.place, weight))) for row in shown]
    rows = []
    for several, name in [*named, *([(rest, f"{len(rest):,} others")] if rest else [])]:
        images, stored, share = _sums(several, weight)
        saved = sum(row.saved for row in several)
        rows.append((stored, share, binary_size(saved), images, name))
    yield Table(_LIBRARY_COLUMNS, tuple(rows))
    if others := [library.host_debug for library in weight.libraries if not library.modules]:
        beside = f"{count(len(others), 'file')} without device code"
        yield Paragraph((f"{beside}: {binary_size(sum(others))} of debug sections",))


_LAYER_COLUMNS = (
    Column("files", right=True),
    Column("hidden", right=True),
    Column("device code", right=True),
    Column("layer", width=30),
)


def _layers(weight: Weight) -> Iterator[Block]:
    sizes = [(row.size, row.hidden, row.stored, row.history or "not said") for row in weight.layers]
    if sizes:
        rows = [(*map(binary_size, each), Code(clip(line, LONGEST_NAME))) for *each, line in sizes]
        yield Table(_LAYER_COLUMNS, tuple(rows))
    if hidden := sum(row.hidden for row in weight.layers):
        hint = "later layers; remove each file in the layer that adds it"
        yield Paragraph((f"the image still ships {binary_size(hidden)} of files hidden by {hint}",))


def _inside(library: Location, weight: Weight) -> str:
    """The library without the path that was named, which stands above."""
    if library.members:
        return "::".join(library.members)
    return library.path.removeprefix(f"{weight.path.rstrip('/')}/")


def _kernels(weight: Weight) -> Iterator[Block]:
    shown = weight.kernels[:_MOST_KERNELS]
    if not shown:
        yield Paragraph(("no SASS with kernels; only SASS shows their sizes",))
        return
    named = [(row, Code(clip(row.demangled or row.name, LONGEST_NAME))) for row in shown]
    rows = [(binary_size(row.code), f"{row.count:,}", name) for row, name in named]
    yield Table(_KERNEL_COLUMNS, tuple(rows))
    rest = len(weight.kernels) - len(shown) + weight.kernels_left_out
    notes = [f"{count(rest, 'smaller kernel')} not shown"] if rest else []
    if not any(row.demangled for row in shown) and any(row.name[:2] == "_Z" for row in shown):
        notes.append("pip install 'ltocompat[demangle]' shows names as C++ has them")
    if notes:
        yield Paragraph(("; ".join(notes),))


def _share(part: int, whole: int) -> str:
    return "<1%" if 0 < part < whole / 100 else f"{100 * part / max(whole, 1):.0f}%"


_DOCUMENT = rows_document(
    "weigh", lambda one: {"artifacts": 1, "stored_size": one.stored, "saved": one.saved}
)
REPORT: Report[Weight] = Report(blocks, _DOCUMENT)

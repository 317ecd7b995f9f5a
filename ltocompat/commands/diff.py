"""Changes between two releases of an artifact."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ltocompat.commands.comparison import saved
from ltocompat.commands.comparison.changes import comparable, metadata_moves, moves
from ltocompat.commands.comparison.release_side import Side
from ltocompat.commands.comparison.requirement_changes import floor_moves
from ltocompat.commands.options import DiffOptions, public
from ltocompat.files.byteview import ByteView
from ltocompat.files.fatbin import StoredModule
from ltocompat.model.diff import KINDS, Diff, DiffSummary, Metadata
from ltocompat.model.errors import UsageError
from ltocompat.model.image import KERNEL_KINDS, ImageKind, Module, Record
from ltocompat.model.limits import Limits
from ltocompat.model.location import Location
from ltocompat.model.projection import project
from ltocompat.model.requirement import Required
from ltocompat.model.signature import ModuleSignature
from ltocompat.model.symbols import SymbolsToRead
from ltocompat.model.words import count
from ltocompat.packages.reading import package_of
from ltocompat.packages.values import Kind
from ltocompat.rules.engine.collect_requirements import required
from ltocompat.rules.engine.symbols_to_read import kernels_to_count
from ltocompat.scan import walk
from ltocompat.scan.describe import ReadOptions, describe
from ltocompat.scan.module_reader import ModuleReader, ReadPlan

if TYPE_CHECKING:
    from ltocompat.model.records_v1 import inspect as v1

_ORDER = list(KINDS)


@public(DiffOptions, "old", "new")
def diff(options: DiffOptions) -> Diff:
    """Compare two files, packages or folders, or two saved inspections.

    Files are matched by name, without versions. An inspection saved as JSON has no metadata to
    compare; ``Diff.unknown`` says what is left out.

    Args:
        old: a file, package, folder or location, a saved JSON output of ``inspect``, or ``-``
            (standard input).
        new: the new release: a file, package, folder or location, a saved JSON output of
            ``inspect``, or ``-`` (standard input).
        kernels: also compare the names of kernels. This decodes every image.
        forbid: kinds of change that ``Diff.broken`` lists: ``lost-arch``, ``driver-rose``,
            ``nvjitlink-rose``, ``lost-ptx``.
        limits: upper limits on sizes, counts and time for reading one file.
        progress: called while files are read.

    Raises:
        UnreadableInput: a path can't be opened, or a saved inspection can't be used.
        UsageError: a given path or location does not exist, or both sides are standard input.
    """
    (found,) = run(options)
    return found


def run(options: DiffOptions) -> Iterator[Diff]:
    """The one comparison.

    Raises:
        UnreadableInput: a path can't be opened, or a saved inspection can't be used.
        UsageError: a given path or location does not exist, or both sides are standard input.
    """
    paths = os.fspath(options.old), os.fspath(options.new)
    if paths == ("-", "-"):
        raise UsageError("both sides are -, but standard input can be read only once; name a file")
    kernels = options.kernels
    settings = replace(options.settings, detail=ReadOptions(kernels=kernels))
    before, after = (_side(path, settings) for path in paths)
    known = {k for k in ImageKind if before.knows_kernels(k) and after.knows_kernels(k)}
    old, new = (required(side.summary(known)) for side in (before, after))
    changes = [
        *moves(before, after),
        *floor_moves(old, new, (before.imports, after.imports)),
        *metadata_moves(before.metadata, after.metadata),
    ]
    named = kernels and all(comparable(s, k) for s in (before, after) for k in KERNEL_KINDS)
    yield Diff(
        _summary(before, old, named=named),
        _summary(after, new, named=named),
        tuple(sorted(changes, key=lambda c: (_ORDER.index(c.kind), c.subject, c.about))),
        (*_unknown(before, after, kernels=kernels), *_unseen(old, new)),
        options.forbid,
    )


def _side(path: str, settings: walk.ScanSettings) -> Side:
    place = Location.parse(path)
    folder = place.path != "-" and os.path.isdir(place.path)
    opened: AbstractContextManager[ByteView | None] = (
        nullcontext() if folder else walk.opened(place.path, settings.limits, typed=True)
    )
    with opened as view:
        document = None if view is None else saved.document(view, place.path)
        if document is not None:
            return _from_document(document, path, settings)
        names = settings.detail.kernels
        side = Side(path, [place.path], settings.limits, names=names, saved=False)
        side.metadata = _metadata(place, settings.limits)
        for record in _records(view, place, settings):
            side.take(record)
    place.check_found(found=bool(side.modules or side.skipped))
    return side


def _records(
    view: ByteView | None, place: Location, settings: walk.ScanSettings
) -> Iterator[Record]:
    """Records of a place; of all PTX it is told whether it has kernels: else it harms nobody."""
    if view is None:
        batches = walk.take_batches(place, settings)
    else:
        batches = walk.batches_of_view(view, place, settings)
    reader = ModuleReader(_decides, settings.detail)
    whole = settings.detail.kernels
    read = (lambda *pair: reader.finish(reader.decide(*pair))) if whole else _with_ptx
    for batch in batches:
        yield from batch.with_modules([read(*pair) for pair in batch.modules]).records


def _decides(signature: ModuleSignature) -> ReadPlan:
    """The kernels that decide what a GPU gets, as ``require`` reads them."""
    return kernels_to_count(signature, None), SymbolsToRead()


def _from_document(document: v1.Inspect, path: str, settings: walk.ScanSettings) -> Side:
    names = settings.detail.kernels
    roots = _roots([artifact.path for artifact in document.artifacts])
    side = Side(path, roots, settings.limits, names=names, saved=True)
    for record in saved.records(document, path):
        if record is None:
            side.broken_off()
        else:
            side.take(record)
    side.complete = side.complete and not document.summary.errors
    return side


def _roots(paths: Sequence[str]) -> list[str]:
    """The folder that the labels of files are relative to, or the one file itself."""
    if len(paths) < 2:
        return list(paths)
    with suppress(ValueError):  # absolute and relative paths together
        return [os.path.commonpath(paths)]
    return []


def _with_ptx(stored: StoredModule, module: Module) -> Module:
    images = list(module.images)
    for number, image in enumerate(images):
        if image.kind is ImageKind.PTX:
            images[number], _ = describe(stored.images[number], ReadOptions(kernels=True))
    return replace(module, images=tuple(images))


def _metadata(place: Location, limits: Limits) -> Metadata | None:
    """The metadata of a package; None for what is not a package."""
    found = package_of(place.path, limits) if place.is_file else None
    if found is None:
        return None
    lines = tuple(require.line.partition(": ")[2] or require.line for require in found.requires)
    lines += tuple(f"{name}={condition}" for name, condition in found.starts_on)
    name = found.kind.value if found.kind is Kind.IMAGE else found.name  # its file has another
    return Metadata(name, found.version, lines, found.platforms)


def _summary(side: Side, requirement: Required, *, named: bool) -> DiffSummary:
    return project(
        DiffSummary,
        requirement,
        path=side.path,
        saved=side.saved,
        size=side.size,
        files=len(side.files),
        modules=side.modules,
        images=side.images,
        stored=side.stored,
        skipped=side.skipped,
        complete=side.complete,
        kernels=side.kernels if named else None,
        imports=side.imports,
        metadata=side.metadata,
    )


def _unknown(old: Side, new: Side, *, kernels: bool) -> Iterator[str]:
    if not kernels:
        yield "kernels: not requested"
    if old.size is None or new.size is None:
        yield "size: unknown on at least one side"
    packaged = old.metadata is not None or new.metadata is not None
    for name, side in (("the old", old), ("the new", new)):
        yield from _unread(name, side)
        if kernels:
            yield from _unknown_kernels(name, side)
        if side.saved:
            yield f"metadata: {name} release is a saved inspection, which has no metadata"
        elif packaged and side.metadata is None:
            yield f"metadata: {name} release is not a package"


def _unread(name: str, side: Side) -> Iterator[str]:
    if not side.complete:
        yield f"{name} release was not read to its end, so it may contain more code than shown"
    if side.skipped:
        number = count(side.skipped, "place")
        yield f"{name} release has {number} that could not be read; inspect lists them"
    if any(file.cut for file in side.files.values()):
        yield f"{name} release has more different values than diff compares"


def _unseen(old: Required, new: Required) -> Iterator[str]:
    """A floor that may have moved within what both sides leave open."""
    floor = new.nvjitlink
    if floor is not None and floor == old.nvjitlink and not floor.exact:
        yield (
            f"nvJitLink: {floor.possible} may be enough for one release and not for the other; "
            "only a trial link shows this: ltocompat require --trial-link"
        )


def _unknown_kernels(name: str, side: Side) -> Iterator[str]:
    if side.overflowed:
        yield f"kernels: {name} release has more than {side.kernels:,}, too many to compare"
    for kind in KERNEL_KINDS:
        if not side.knows_kernels(kind):
            text = "was saved without --kernels" if side.saved else "does not show them"
            yield f"kernels of {kind.upper()}: {name} release {text}"
        elif side.unnamed[kind]:
            number = f"{side.unnamed[kind]:,} of the images"
            yield f"kernels of {kind.upper()}: {name} release has no kernel names for {number}"

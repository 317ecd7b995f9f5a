"""Differences between two sides: of files, then of what is in those that belong together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ltocompat.commands.comparison.pairing import pairs
from ltocompat.commands.comparison.release_side import File, Side, Values
from ltocompat.model.arch import SmArch
from ltocompat.model.diff import LOST_ARCH, LOST_PTX, Change, Metadata
from ltocompat.model.image import KERNEL_KINDS, ImageKind
from ltocompat.model.location import Location
from ltocompat.packages.values import normalized

# Names as PyPI compares them (PEP 503): case, dots and underscores don't count.
_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def metadata_moves(old: Metadata | None, new: Metadata | None) -> Iterator[Change]:
    """Yield changes of version, name, tags and requirements; none if a side has no metadata."""
    if old is None or new is None:
        return
    for kind, before, after in (
        ("version", (old.version,), (new.version,)),
        ("name", (old.name,), (new.name,)),
        ("tags", tuple(sorted(old.tags)), tuple(sorted(new.tags))),
    ):
        if before != after:
            yield Change(kind, "", "", before, after)
    olds, news = _by_name(old.requires), _by_name(new.requires)
    for name in sorted(olds.keys() | news.keys()):
        lines = olds.get(name), news.get(name)
        if lines[0] != lines[1]:
            yield Change("requires", "", name, *lines)


def _by_name(lines: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Requirements by the name of what is required; without one, by the whole line."""
    found: dict[str, set[str]] = {}
    for line in lines:
        match = _NAME.match(line)
        name = normalized(match[1].rstrip("-_.")) if match else line
        found.setdefault(name, set()).add(line)
    return {name: tuple(sorted(several)) for name, several in found.items()}


# Kinds of changes that hold what only one side has.
_SETS = ("makers", "ltoir", "isa", "compression", "imports", "libraries")


def moves(old: Side, new: Side) -> Iterator[Change]:
    """Yield every change of files and of their contents."""
    # Code may move into a library of its own, beside a file of the old name without code.
    files = ([name for name, file in side.files.items() if file.stored] for side in (old, new))
    together = pairs(*files)
    together |= pairs(old.files.keys() - together.keys(), new.files.keys() - {*together.values()})
    yield from _whole_files("file-lost", old, old.files.keys() - together.keys())
    yield from _whole_files("file-gained", new, new.files.keys() - set(together.values()))
    of_files: set[tuple[str, str, str]] = set()
    for before, after in together.items():
        for in_file in _in_files(after, old.files[before], new.files[after]):
            of_files |= {(in_file.kind, in_file.about, word) for word in _words(in_file)}
            yield in_file
        yield from _kernels(after, before, old, new)
    for change in _archs("", _whole(old), _whole(new)):
        # What the files have said already need not be said of the whole again.
        if any((change.kind, change.about, arch) not in of_files for arch in _words(change)):
            yield change
    if old.size is not None and new.size is not None and old.size != new.size:
        yield Change("size", "", "", old.size, new.size)


def _whole_files(change: str, side: Side, names: Iterable[str]) -> Iterator[Change]:
    """Files that only one of the two releases has."""
    for name in names:
        file = side.files[name]
        kinds = ", ".join(kind for kind in map(str, ImageKind) if kind in file.stored)
        yield Change(change, name, kinds, places=(file.example,))


def _in_files(name: str, old: File, new: File) -> Iterator[Change]:
    yield from _archs(name, old, new)
    for kind in _SETS:
        for about in sorted({about for what, about in (*old.values, *new.values) if what == kind}):
            before = old.values.get((kind, about), {})
            after = new.values.get((kind, about), {})
            # Of images that are gone or came as a whole, the architectures tell.
            both = about in old.stored and about in new.stored
            if before.keys() != after.keys() and (kind in ("imports", "libraries") or both):
                yield _set_change(kind, name, about, before, after)
    for about in sorted(old.stored.keys() | new.stored.keys()):
        if old.stored[about] != new.stored[about]:
            yield Change("stored", name, about, old.stored[about], new.stored[about])


def _set_change(kind: str, name: str, about: str, before: Values, after: Values) -> Change:
    lost = tuple(sorted(before.keys() - after.keys()))
    gained = tuple(sorted(after.keys() - before.keys()))
    places = (*(before[lost[0]] for _ in lost[:1]), *(after[gained[0]] for _ in gained[:1]))
    return Change(kind, name, about, lost, gained, len(lost) + len(gained), None, places)


def _archs(name: str, old: File, new: File) -> Iterator[Change]:
    for kind in ImageKind:
        before = old.values.get(("arch", kind), {})
        after = new.values.get(("arch", kind), {})
        if lost := _sorted(before.keys() - after.keys()):
            word = LOST_PTX if kind is ImageKind.PTX else LOST_ARCH
            yield Change("arch-lost", name, kind, lost, None, len(lost), word, (before[lost[0]],))
        if gained := _sorted(after.keys() - before.keys()):
            yield Change(
                "arch-gained", name, kind, None, gained, len(gained), None, (after[gained[0]],)
            )


def _sorted(archs: set[str]) -> tuple[str, ...]:
    return tuple(sorted(archs, key=SmArch.parse))


def _words(change: Change) -> tuple[str, ...]:
    record = change.old or change.new
    return record if isinstance(record, tuple) else ()


def _whole(side: Side) -> File:
    """The architectures of all files together."""
    whole = File(Location(side.path))
    for file in side.files.values():
        for (change, about), values in file.values.items():
            if change == "arch":
                for value, place in values.items():
                    whole.note(change, about, value, place)
    return whole


def _kernels(after: str, before: str, old: Side, new: Side) -> Iterator[Change]:
    for kind in KERNEL_KINDS:
        if not (comparable(old, kind) and comparable(new, kind)):
            continue
        olds = old.files[before].kernels.get(kind, {})
        news = new.files[after].kernels.get(kind, {})
        for change, table, other in (("kernels-lost", olds, news), ("kernels-gained", news, olds)):
            if keys := table.keys() - other.keys():
                names = tuple(sorted(table[key] for key in keys if table[key]))
                sides = (names, None) if change == "kernels-lost" else (None, names)
                yield Change(change, after, kind, sides[0], sides[1], len(keys))


def comparable(side: Side, kind: ImageKind) -> bool:
    """Return whether all kernels of a kind are known, so that a missing one is surely absent."""
    return side.knows_kernels(kind) and not side.overflowed

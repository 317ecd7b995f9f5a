"""Eighteen thousand images fold into a few rows, their host files into what those need."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

from msgspec import Struct, field

from ltocompat.model.arch import Release, SmArch
from ltocompat.model.image import CudaLibrary, HostBinary, Image, ImageKind, Module
from ltocompat.model.words import count
from ltocompat.report.document import Code, Items, separated
from ltocompat.report.text import (
    MOST_ARCHS,
    Few,
    binary_size,
    evidence_label,
    fold_archs,
    kind_label,
    makers_label,
    needs_label,
    stored_size,
    truncate,
)
from ltocompat.scan.filters import UNKNOWN

_MOST_ROWS = 500
_MOST_ALIKE = 200
_MOST_WORDS = 4
_MOST_NAMES = 20
_SHOWN_NAMES = 3
_SUFFIXED = re.compile(r"(__nvJitLink\w*?)_(\d{1,4})_(\d{1,4})")

Key = tuple[str, ...]

# What stands before and behind the names of libraries that are needed, opened or copied.
_HOW = {"needed": ("", ""), "opened": ("opens ", ""), "static": ("", " inside")}


_KEYS: dict[str, Callable[[Image], Key]] = {
    "kind": lambda image: (makers_label(image.made_by), needs_label(image.needs)),
    "arch": lambda image: (str(image.arch) if image.arch else "-",),
    "section": lambda image: (image.section or "-",),
    "compression": lambda image: (image.stored_as,),
}

# Keys by which a summary can be grouped.
GROUPS = tuple(_KEYS)


class SummaryRow(Struct):
    """Images that are alike.

    Attributes:
        group: value of the grouping; empty for the grouping by kind and maker.
        kind: the kind of the images.
        rank: the position of the row.
        makers: the tools that made them.
        evidence: the proof of the makers.
        needs: versions that the next tool must support.
        archs: their architectures.
        compressions: their compressions.
        images: number of images.
        stored: bytes of the images in the file, as far as known.
        stored_unknown: number of images of unknown length.
        registered: numbers of images in registered modules, in others, and in unknown ones.
        kernels: number of kernels that were read.
        kernels_unread: images whose kernels could not be read.
    """

    group: str
    kind: str
    rank: tuple[object, ...]
    makers: Few[str] = field(default_factory=lambda: Few(_MOST_WORDS))
    evidence: Few[str] = field(default_factory=lambda: Few(_MOST_WORDS))
    needs: Few[str] = field(default_factory=lambda: Few(_MOST_WORDS))
    archs: Few[SmArch] = field(default_factory=lambda: Few(MOST_ARCHS))
    compressions: Few[str] = field(default_factory=lambda: Few(8))
    images: int = 0
    stored: int = 0
    stored_unknown: int = 0
    registered: Counter[bool | None] = field(default_factory=Counter)
    kernels: int = 0
    kernels_unread: int = 0

    def note(self, image: Image) -> None:
        """Add the properties that an image shares with many others."""
        self.makers.add(truncate(makers_label(image.made_by)))
        self.evidence.add(*filter(None, [truncate(evidence_label(image.made_by))]))
        self.needs.add(*filter(None, [truncate(needs_label(image.needs))]))
        self.archs.add(*filter(None, [image.arch]))
        self.compressions.add(image.stored_as)

    def count(self, image: Image, registered: bool | None) -> None:  # noqa: FBT001 - a fact, no switch
        """Count one image."""
        self.images += 1
        self.stored += image.stored_size or 0
        self.stored_unknown += image.stored_size is None
        self.registered[registered] += 1
        self.kernels += len(image.kernels or ())
        self.kernels_unread += image.kernels is None

    def arch_cell(self) -> str:
        """``sm_80, 86, 90a``."""
        return (fold_archs(self.archs) or "-") + (", and more" if self.archs.more else "")

    def maker_cell(self) -> str:
        """Makers, evidence and needs: ``ptxas 13.0.88 (tkinfo note)``."""
        text = _joined(self.makers, "; ")
        if self.evidence and not self.group:
            text += f" ({_joined(self.evidence, '; ')})"
        return "; ".join([text, *([_joined(self.needs, ", ")] if self.needs else [])])

    def registered_cell(self) -> str:
        """The number of images that the CUDA runtime loads by itself."""
        unknown = self.registered[None]
        if unknown == self.images:
            return UNKNOWN
        text = f"{self.registered[True]:,} of {self.images:,}"
        return f"{text}, {unknown:,} unknown" if unknown else text

    def stored_cell(self) -> str:
        """The bytes in the file; a sum with unknown parts is marked."""
        if self.stored_unknown == self.images:
            return stored_size(None)
        return binary_size(self.stored) + (" and more" if self.stored_unknown else "")

    def kernels_cell(self) -> str:
        """The number of kernels, and of images with unreadable kernels."""
        if self.kernels_unread == self.images:
            return "-"
        text = f"{self.kernels:,}"
        return f"{text}, {self.kernels_unread:,} unread" if self.kernels_unread else text


def _joined(values: Few[str], separator: str) -> str:
    return separator.join(values) + (f"{separator}and more" if values.more else "")


class ImageSummary:
    """The rows of one artifact; their number, and so the memory, is bounded."""

    def __init__(self, by: str = "kind") -> None:
        self._by = by
        self._key = _KEYS[by]
        self._rows: dict[Key, SummaryRow] = {}
        self._alike: dict[tuple[object, ...], tuple[SummaryRow, Image]] = {}
        self.modules = 0
        self.images = 0

    def add(self, module: Module) -> None:
        """Fold the images of one module."""
        self.modules += 1
        for image in module.images:
            self.images += 1
            self._row_of(image).count(image, module.registered)

    def rows(self) -> list[SummaryRow]:
        """The rows: by kind and then the most images first, or by the value of the grouping."""
        return sorted(self._rows.values(), key=lambda row: (*row.rank, -row.images))

    def _row_of(self, image: Image) -> SummaryRow:
        """The row that an image belongs to, which knows what it has in common with others.

        Thousands of images share a few values, which are compared by identity: that is as good, and
        takes a tenth of the time. The image that is kept keeps its values.
        """
        values = (id(image.made_by), id(image.needs), id(image.arch), image.kind, image.kind_number)
        alike = (*values, image.section, image.compression, image.scrambled)
        known = self._alike.get(alike)
        if known is not None:
            return known[0]
        row = self._row(image)
        row.note(image)
        if len(self._alike) >= _MOST_ALIKE:
            self._alike.clear()
        self._alike[alike] = row, image
        return row

    def _row(self, image: Image) -> SummaryRow:
        key = (*map(truncate, self._key(image)), kind_label(image))
        row = self._rows.get(key)
        if row is None:
            if len(self._rows) >= _MOST_ROWS:
                # Only a hostile file says so many different things; the rest shares a row a kind.
                key = ("other", str(image.kind))
            row = self._rows.setdefault(key, self._new_row(image, key))
        return row

    def _new_row(self, image: Image, key: Key) -> SummaryRow:
        kind = list(ImageKind).index(image.kind)
        if self._by == "kind":
            return SummaryRow("", kind_label(image), (kind,))
        rank: object = key[0]
        if self._by == "arch":
            arch = image.arch
            rank = (arch.number, arch.suffix, arch.form) if arch else (1 << 32, "", "")
        return SummaryRow(key[0], kind_label(image), (rank, kind))


class HostNeeds(Struct):
    """A collector of an artifact's ``HostBinary`` records, with a bounded number of names."""

    formats: Few[str] = field(default_factory=lambda: Few(4))
    # nvlink's output defines the first and refers to the second, which nvcc's objects define.
    _registrations: Few[str] = field(default_factory=lambda: Few(_MOST_NAMES))
    _wrappers: Few[str] = field(default_factory=lambda: Few(_MOST_NAMES))
    _imports: Few[str] = field(default_factory=lambda: Few(1_000))
    _libraries: Few[CudaLibrary] = field(default_factory=lambda: Few(_MOST_NAMES))
    texts: Few[str] = field(default_factory=lambda: Few(_MOST_NAMES))

    def add(self, host: HostBinary) -> None:
        """Fold one host file."""
        kind = "" if host.type == "unknown" else f" {host.type}"
        if host.machine:
            self.formats.add(f"{host.format}{kind}, {host.machine}")
        for name in host.undefined_registrations:
            wrapper = name.startswith("__fatbinwrap")
            (self._wrappers if wrapper else self._registrations).add(name)
        self._imports.add(*host.nvjitlink_imports)
        self._libraries.add(*host.libraries)
        inside = f"{'::'.join(host.place.members)}: " if host.place.members else ""
        self.texts.add(*(f"{inside}{text}" for text in host.ptx_texts))

    @property
    def of_device_code(self) -> bool:
        """Return whether a linker has work, or the file contains PTX text."""
        return bool(self._registrations or self._wrappers or self._imports or self.texts)

    def items(self, *, evidence: bool = False) -> Items | None:
        """Return the lines to print; None if nothing is needed.

        Args:
            evidence: True: each library with its evidence; else all in one line.
        """
        libraries = self._library_lines() if evidence else [self._libraries_in_a_line()]
        texts = [(f"in its data, not checked: {text}",) for text in self.texts]
        lines = [*self._undefined_lines(), *self._import_lines(), *libraries, *texts]
        lines = list(filter(None, lines))
        return Items("host needs", tuple(lines)) if lines else None

    def _libraries_in_a_line(self) -> tuple[str, ...]:
        """``libnvrtc.so.13; opens libcuda.so.1; libcudart inside``."""
        parts: list[str] = []
        for how, (opening, end) in _HOW.items():
            libraries = (library for library in self._libraries if library.how == how)
            facts = ((library.file or library.name, library.version) for library in libraries)
            if names := dict.fromkeys(" ".join(filter(None, pair)) for pair in facts):
                parts += ["; " if parts else "", opening, *separated(map(Code, names)), end]
        return (*parts, "; and more") if self._libraries.more else tuple(parts)

    def _undefined_lines(self) -> Iterator[tuple[str, ...]]:
        for what, names in (
            ("a device link", self._registrations),
            ("the objects that were device-linked", self._wrappers),
        ):
            if names:
                at_least = "at least " if names.more else ""
                total = count(len(names), "undefined symbol")
                yield (f"{what}: {at_least}{total}, ", *_first_names(names))

    def _import_lines(self) -> Iterator[tuple[str, ...]]:
        matches = [match for match in map(_SUFFIXED.fullmatch, self._imports) if match]
        if matches:
            newest = max(matches, key=lambda match: (int(match[2]), int(match[3])))
            release = Release(int(newest[2]), int(newest[3]))
            others = len({match[1] for match in matches} - {newest[1]})
            tail = (f" and {count(others, 'other symbol')}",) if others else ()
            yield (f"nvJitLink {release}: imports ", Code(newest[0]), *tail)
        elif self._imports:
            yield ("nvJitLink of an unknown version: imports ", *_first_names(self._imports))

    def _library_lines(self) -> Iterator[tuple[str, ...]]:
        for library in self._libraries:
            version = (" ", library.version) if library.version else ()
            name = Code(library.file or library.name)
            yield (name, *version, f", {library.how} (", library.evidence, ")")
        if self._libraries.more:
            yield ("and more libraries; --format json lists all",)


def _first_names(names: Few[str]) -> tuple[str, ...]:
    rest = len(names) - _SHOWN_NAMES
    more = " and more" if names.more else f" and {rest:,} more" if rest > 0 else ""
    return (*separated(map(Code, [*names][:_SHOWN_NAMES])), more)

"""One release, folded while its records pass; only distinct values are held."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from ltocompat.commands.comparison.pairing import label
from ltocompat.model.arch import Release
from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup, together_as_one
from ltocompat.model.diff import Metadata
from ltocompat.model.image import (
    KERNEL_KINDS,
    Artifact,
    HostBinary,
    Image,
    ImageKind,
    Module,
    Record,
    Skipped,
)
from ltocompat.model.limits import MIB, Limits
from ltocompat.model.location import Location
from ltocompat.model.signature import ModuleSignature
from ltocompat.rules.engine.coverage import unevenly_served
from ltocompat.rules.linker_imports import version_of
from ltocompat.scan.second_pass import give_kernels, kernels_of_module
from ltocompat.scan.summarize import SummaryBuilder

_MOST_FILES = 10_000
_MOST_VALUES = 500
_MOST_KERNELS = 1_000_000
# Names are kept to be shown; further ones, and what is longer, are compared only.
_MOST_NAME_BYTES = 64 * MIB
_LONGEST_NAME = 4096
_REST = "further files"

# nvcc names what is local to a file after hashes of its path and of its text, which differ in every
# build: _INTERNAL_0571d20b_7_axpy_cu_axpy, _GLOBAL__N__68b329da_7_axpy_cu_587774ad_1234.
_LOCAL = re.compile(r"(_INTERNAL_|_GLOBAL__N__)[0-9a-f]{8}_")
_LOCAL_END = re.compile(r"(_cu_)[0-9a-f]{8}(?:_\d{1,9})?")

# Distinct values, each with the place of the first image that has the value.
Values = dict[str, Location]


class File(Struct):
    """The contents of one file.

    Attributes:
        values: for a kind of change and a kind of image, all distinct values.
        cut: the kinds of changes with more values than are kept.
        stored: bytes by kind of image.
        kernels: names by kind of image, found by their hash.
        example: a place in it.
    """

    example: Location
    values: dict[tuple[str, str], Values] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)
    stored: Counter[str] = field(default_factory=Counter)
    kernels: dict[ImageKind, dict[int, str]] = field(default_factory=dict)

    def note(self, change: str, about: str, value: str, place: Location) -> None:
        """Keep a value if it is new and there is room."""
        values = self.values.setdefault((change, about), {})
        if value in values:
            return
        if len(values) < _MOST_VALUES:
            values[value] = place
        else:
            self.cut.add(change)


class Side:
    """One side of a comparison.

    Args:
        path: as the caller gave it.
        roots: the files and folders to which labels of files are relative.
        limits: bounds for the kept values.
        names: whether names of kernels are kept.
        saved: it comes from an earlier inspection.

    Attributes:
        path: as the caller gave it.
        saved: True if it comes from an earlier inspection.
        files: its files by their labels.
        sizes: bytes of each file that was read; None if unknown.
        modules: number of modules.
        images: number of images.
        skipped: number of places that were not read.
        complete: True if every file was read to its end.
        named: kinds of images of which at least one has readable kernels.
        unnamed: number of images of a kind without readable kernels.
        kernels: number of distinct kernels.
        overflowed: True if there were more kernels than are kept.
        metadata: the metadata of the package.
    """

    def __init__(
        self, path: str, roots: Sequence[str], limits: Limits, *, names: bool, saved: bool
    ) -> None:
        self.path = path
        self.saved = saved
        self.files: dict[str, File] = {}
        self.sizes: list[int | None] = []
        self.modules = self.images = self.skipped = self.kernels = 0
        self.complete = True
        self.named: set[ImageKind] = set()
        self.unnamed: Counter[ImageKind] = Counter()
        self.overflowed = False
        self.metadata: Metadata | None = None
        self._roots = roots
        self._names = names
        self._most_kernels = min(limits.symbols, _MOST_KERNELS)
        self._name_bytes = 0
        self._members = () if saved else Location.parse(path).members
        self._file_at_hand = SummaryBuilder(apart=False, members=self._members)
        self._read: dict[Location, list[Sequence[str] | None]] = {}
        self._summaries: list[ArtifactSummary] = []

    def take(self, record: Record) -> None:
        """Fold one record."""
        self._file_at_hand.take(record)
        if isinstance(record, Module):
            self._module(record)
        elif isinstance(record, HostBinary):
            self._host(record)
        elif isinstance(record, Skipped):
            self.skipped += 1
        elif isinstance(record, Artifact):
            self._end(record.path)
            self.sizes.append(record.size)

    def broken_off(self) -> None:
        """Note that the current file was not read to its end."""
        self._end(self.path)
        self.complete = False
        self.sizes.append(None)

    def _end(self, path: str) -> None:
        """A file ends; of one without code for GPUs or a host around it nothing is asked."""
        summary = self._file_at_hand.summary(path)
        if self._names:
            wanted = unevenly_served(summary, None).items()
            names = {p: kernels_of_module(self._read[p], every_image=every) for p, every in wanted}
            give_kernels((summary,), names)
        if summary.groups or summary.hosts or summary.skipped_count:
            self._summaries.append(summary)
        self._read = {}
        self._file_at_hand = SummaryBuilder(apart=False, members=self._members)

    @property
    def size(self) -> int | None:
        """Bytes of all files."""
        known = [size for size in self.sizes if size is not None]
        return sum(known) if known and len(known) == len(self.sizes) else None

    @property
    def stored(self) -> int:
        """Bytes of all images."""
        return sum(file.stored.total() for file in self.files.values())

    @property
    def imports(self) -> Release | None:
        """The minimum nvJitLink that exports all imported names: the highest version in them."""
        names = (name for f in self.files.values() for name in f.values.get(("imports", ""), ()))
        return max(filter(None, map(version_of, names)), default=None)

    def knows_kernels(self, kind: ImageKind) -> bool:
        """Return whether the kernels of images of this kind were read; true for no images."""
        return kind in self.named or not self.unnamed[kind]

    def summary(self, kinds: set[ImageKind]) -> ArtifactSummary:
        """All files, for rules; only images of these ``kinds`` show whether they have kernels."""
        self._end(self.path)  # places that lie in no file
        found = self._summaries
        whole = found[0] if len(found) == 1 else replace(together_as_one(found), single_link=False)
        groups = [_known(group, kinds) for group in whole.groups]
        # Of several files no variants are told apart, and thousands of modules are alike.
        return replace(whole, path=self.path, groups=groups if len(found) == 1 else _merged(groups))

    def _module(self, module: Module) -> None:
        self.modules += 1
        file = self._file(Location(module.place.path, module.place.members))
        self._read[module.place] = [image.kernels for image in module.images]
        for image in module.images:
            self.images += 1
            self._image(image, file)

    def _image(self, image: Image, file: File) -> None:
        kind = str(image.kind)
        at = image.place
        if image.arch is not None:
            file.note("arch", kind, str(image.arch), at)
        for maker in map(str, image.made_by) if image.made_by else ("unknown",):
            file.note("makers", kind, maker, at)
        if image.ltoir is not None:
            versions = (("NVVM IR", image.ltoir.nvvm_ir), ("container", image.ltoir.container))
            words = [f"{what} {version}" for what, version in versions if version]
            file.note("ltoir", kind, ", ".join(words), at)
        for what, version in (("PTX ISA", image.needs.ptx_isa), ("Tile IR", image.needs.tile_ir)):
            if version:
                file.note("isa", kind, f"{what} {version}", at)
        file.note("compression", kind, image.stored_as, at)
        file.stored[kind] += image.stored_size or 0
        if image.kind in KERNEL_KINDS:
            self._kernels(image, file)

    def _kernels(self, image: Image, file: File) -> None:
        if image.kernels is None:
            self.unnamed[image.kind] += 1
            return
        self.named.add(image.kind)
        if not self._names:
            return
        known = file.kernels.setdefault(image.kind, {})
        for name in image.kernels:
            local = _LOCAL_END.sub(r"\1*", _LOCAL.sub(r"\1*_", name)) if "_cu_" in name else name
            key = hash(local)
            if key in known:
                continue
            if self.kernels >= self._most_kernels:
                self.overflowed = True
                return
            self.kernels += all(key not in names for names in file.kernels.values())
            shown = name[:_LONGEST_NAME] if self._name_bytes < _MOST_NAME_BYTES else ""
            self._name_bytes += len(shown)
            known[key] = shown

    def _host(self, host: HostBinary) -> None:
        if not host.nvjitlink_imports and not host.libraries:
            return
        file = self._file(host.place)
        for name in host.nvjitlink_imports:
            file.note("imports", "", name, host.place)
        for library in host.libraries:
            text = library.file or " ".join(filter(None, (library.name, library.version)))
            file.note("libraries", library.how, text, host.place)

    def _file(self, place: Location) -> File:
        name = label((_relative(place.path, self._roots), *place.members))
        name = name or os.path.basename(place.path) or place.path
        if name not in self.files and len(self.files) >= _MOST_FILES:
            name = _REST
        return self.files.setdefault(name, File(place))


def _known(group: ModuleGroup, kinds: set[ImageKind]) -> ModuleGroup:
    """A group in which only images of these kinds tell of their kernels."""
    images = tuple(
        image if image.kind in kinds else replace(image, has_kernels=None)
        for image in group.signature.images
    )
    signature = replace(group.signature, images=images)
    named = kinds.issuperset(KERNEL_KINDS)
    kernels, by_image = (group.kernels, group.by_image) if named else ([], [])
    return replace(group, signature=signature, kernels=kernels, by_image=by_image)


def _merged(groups: Iterable[ModuleGroup]) -> list[ModuleGroup]:
    found: dict[tuple[ModuleSignature, bool], ModuleGroup] = {}
    for group in groups:
        first = found.setdefault((group.signature, group.inner), replace(group, count=0, places=[]))
        first.count += group.count
    return list(found.values())


def _relative(path: str, roots: Sequence[str]) -> str:
    """The path below the root that it lies in; the name of a root that is a file."""
    for root in roots:
        if path == root:
            return os.path.basename(path) or path
        if path.startswith(os.path.join(root, "")):
            return os.path.relpath(path, root).replace(os.sep, "/")
    return path

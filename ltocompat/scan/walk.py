"""Modules at paths: opens files, enters containers, and keeps memory constant.

Modules come in batches, described by their headers. The bytes of a batch can be read until the next
one is taken, so that whoever asked for it may read more of it without entering a container twice.
Threads bring nothing here: measured on libcublasLt, and on layers that one decompressed while their
files were read, handing over the interpreter's lock costs what decoding beside gains.
"""

from __future__ import annotations

import functools
import os
import shlex
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, cast

from msgspec import Struct, field
from msgspec.structs import replace

from ltocompat.files.archives import container_of, split_program
from ltocompat.files.archives.member import ImageMembers, Member, concerns
from ltocompat.files.archives.promised import broken_promise
from ltocompat.files.archives.spool import MemberCache
from ltocompat.files.byteview import ByteView, FileSource
from ltocompat.files.codec import Payload
from ltocompat.files.descriptors import write_all
from ltocompat.files.elf_layout import MAGIC as ELF
from ltocompat.files.fatbin import StoredModule
from ltocompat.files.fatbin.walk import FatbinWalk, bare_image
from ltocompat.files.first_bytes import holds_no_code, lost_pe_header, names_image
from ltocompat.files.images import TILEIR, ptx
from ltocompat.files.images.cubin_header import NEEDLE as CUBIN
from ltocompat.files.objects import read_host
from ltocompat.files.regular import read_regular
from ltocompat.model.cuda_tag import tagged_path
from ltocompat.model.errors import LimitExceeded, UnreadableInput, restated
from ltocompat.model.failure import OnStep
from ltocompat.model.generic import R, T
from ltocompat.model.image import (
    Artifact,
    Compression,
    HostBinary,
    ImageKind,
    ImageLayer,
    Module,
    Record,
    Skipped,
)
from ltocompat.model.limits import DEFAULT_LIMITS, MIB, Budget, Limits, Recent
from ltocompat.model.location import Location
from ltocompat.model.watchdog import watched_steps
from ltocompat.scan import parallel, slices, workers
from ltocompat.scan.describe import HeaderReader, ReadOptions
from ltocompat.scan.slices import Describer, Slicing

if TYPE_CHECKING:
    from ltocompat.files.objects.host_file import ObjectFile

Stored = StoredModule | Skipped | HostBinary | ImageLayer
# Modules as stored, and as described.
Modules = Sequence[tuple[StoredModule, Module]]

_BATCH = 1024
# Packages with fewer bytes have no file that is worth several processes.
_SLICED = slices.LARGE // 4


class ScanSettings(Struct, frozen=True):
    """Options for scanning.

    Attributes:
        detail: options for reading beyond the headers.
        limits: upper limits on sizes, counts and time for reading one file.
        progress: called with path, bytes done and bytes in all of the current file.
        jobs: number of processes that read at the same time; None: one per core.
        kept: gets large members of packages, for a second reading.
        allow_empty: True if a folder may have no file at all.
        sources: bytes instead of files, by their names; they are searched first.
    """

    detail: ReadOptions = field(default_factory=ReadOptions)
    limits: Limits = DEFAULT_LIMITS
    progress: OnStep | None = None
    jobs: int | None = None
    kept: MemberCache | None = None
    allow_empty: bool = False
    sources: Mapping[str, ByteView] = {}

    def place_of(self, text: str) -> Location:
        """Return the place that a text names.

        Raises:
            UsageError: the text is empty.
        """
        return Location(text) if text in self.sources else Location.parse(text)

    @contextmanager
    def opened(self, path: str, *, typed: bool = False) -> Iterator[ByteView]:
        """Open the bytes of a file, or the bytes given instead of it, like ``opened``.

        Raises:
            UnreadableInput: it can't be read, or is not the kind of package that its name shows.
        """
        known = self.sources.get(path)
        with _opened(path, self.limits) if known is None else nullcontext(known) as view:
            hold_to_name(view, path, self.limits, typed=typed)
            if known is None:
                self.report(path, 0, view.size)
            yield view

    def report(self, path: str, done: int, total: int) -> None:
        """Report progress; a worker tells its parent."""
        if workers.inside():
            workers.tell_parent(done)
        elif self.progress is not None:
            self.progress(path, done, total)

    def keep(self, place: Location, view: ByteView) -> None:
        """Keep an unpacked member for a second reading, which the workers' parent does."""
        if self.kept is not None and not workers.inside():
            self.kept.keep(place, view)


class Batch(Struct, frozen=True):
    """Records of one file, in file order, while the bytes of their modules can be read.

    Attributes:
        records: the records, described according to ``ScanSettings.detail``.
        stored: the modules among them, as stored.
    """

    records: tuple[Record, ...]
    stored: tuple[StoredModule, ...] = ()

    @property
    def modules(self) -> list[tuple[StoredModule, Module]]:
        """The modules, as stored and as described."""
        described = (record for record in self.records if isinstance(record, Module))
        return list(zip(self.stored, described, strict=True))

    def with_modules(self, modules: Sequence[Module]) -> Batch:
        """Return this batch with new descriptions of its modules, in the same order."""
        rest = iter(modules)
        records = (next(rest) if isinstance(old, Module) else old for old in self.records)
        return replace(self, records=tuple(records))


def take(place: Location, settings: ScanSettings) -> Iterator[Record]:
    """Yield everything below a path: each file's modules, skipped places and hosts, then the file.

    Raises:
        UnreadableInput: the path can't be opened.
    """
    read = functools.partial(records_of_view, settings=settings)
    work = functools.partial(of_file, top=place, settings=settings, read=read)
    found = parallel.read(work, files(place, settings), path_of_found, settings, in_slices=True)
    yield from chain.from_iterable(found)


def path_of_found(found: Location | Skipped) -> str | None:
    """Return the file to read of a result of ``files``."""
    return None if isinstance(found, Skipped) else found.path


def take_batches(place: Location, settings: ScanSettings) -> Iterator[Batch]:
    """Yield the records of ``take`` in batches; each is valid until the next one.

    Raises:
        UnreadableInput: the path can't be opened.
    """
    read = functools.partial(batches_of_view, settings=settings)
    for found in of_each_file(place, settings, read):
        yield Batch((found,)) if isinstance(found, Skipped) else found


_ReadFile = Callable[[ByteView, Location], Iterator[R]]


def of_each_file(
    place: Location, settings: ScanSettings, read: _ReadFile[R]
) -> Iterator[R | Skipped]:
    """Yield the results of ``read`` for each file at a path; skip unreadable ones.

    Raises:
        UnreadableInput: the path can't be opened.
    """
    for found in files(place, settings):
        yield from of_file(found, place, settings, read)


def of_file(
    found: Location | Skipped, top: Location, settings: ScanSettings, read: _ReadFile[R]
) -> Iterator[R | Skipped]:
    """Yield the results of ``read`` for a file below ``top``, or a ``Skipped`` if it is unreadable.

    Raises:
        UnreadableInput: it is ``top`` itself, and can't be opened.
    """
    if isinstance(found, Skipped):
        yield found
        return
    try:
        with settings.opened(found.path, typed=found == top) as view:
            yield from read(view, found)
    except UnreadableInput as error:
        if found == top:
            raise
        yield Skipped(found, str(error))


def files(place: Location, settings: ScanSettings) -> Iterator[Location | Skipped]:
    """Yield the place itself, or the files of the folder or installed distribution there.

    Raises:
        UnreadableInput: the folder has no file, but needs one.
    """
    path, limits = place.path, settings.limits
    if path == "-" or path in settings.sources or not (os.path.isdir(path) or _is_image(path)):
        yield place
        return
    from ltocompat.files.archives import folder, image_path, layout_folder

    if not os.path.isdir(path) or layout_folder.is_layout(path):
        yield from image_path.image_paths(place, limits)
        return

    empty = not settings.allow_empty
    for found in folder.files_of_distribution(path, limits) or folder.files(path, limits):
        empty = False
        yield found if isinstance(found, Skipped) else Location(found)
    if empty:
        raise UnreadableInput(f"{path!r} has no file; build or unpack it, or name another path")


def _is_image(path: str) -> bool:
    with suppress(OSError):
        return os.path.isfile(path) and names_image(functools.partial(read_regular, path))
    return False  # which is told where it is read


def records_of_view(
    view: ByteView, place: Location, settings: ScanSettings, describer: Describer[Any] | None = None
) -> Iterator[Record]:
    """Yield the records of one file, read by several processes if that is faster.

    Args:
        view: its bytes.
        place: the file, or a place in it.
        settings: settings for reading.
        describer: describes its modules; None: describe them by their headers and the settings.
    """
    describer = describer or HeaderReader(settings.detail)
    counted = _Count(Location(place.path), settings.limits)
    slicing = None
    if place == Location(place.path) and slices.worth_it(view, _SLICED):
        jobs = workers.available(settings.jobs or min(workers.cores(), slices.ENOUGH_WORKERS))
        slicing = None if jobs < 2 else Slicing(jobs, describer)
    for found in _in_file(view, place, settings, slicing):
        yield from counted.shown(slices.described(found, describer))
        _recent(found).forget()
    yield from counted.rest()
    yield counted.artifact(view.size)


def batches_of_view(view: ByteView, place: Location, settings: ScanSettings) -> Iterator[Batch]:
    """Yield the records of one file in batches, while the bytes of each can be read."""
    counted = _Count(Location(place.path), settings.limits)
    reader = HeaderReader(settings.detail)
    records: list[Record] = []
    modules: list[StoredModule] = []
    for stored in stored_in_file(view, place, settings):
        records += counted.shown(slices.described(stored, reader))
        recent = _recent(stored)
        if isinstance(stored, StoredModule):
            modules.append(stored)
        if len(records) >= _BATCH or recent.much:
            yield Batch(tuple(records), tuple(modules))
            records, modules = [], []
            recent.forget()
    yield Batch((*records, *counted.rest(), counted.artifact(view.size)), tuple(modules))


def _recent(stored: Stored | Module) -> Recent:
    """Return the recently decoded data of its file, kept until nobody looks at it again."""
    images = stored.images if isinstance(stored, StoredModule) else ()
    return images[0].payload.budget.recent if images else Recent()


class _Count:
    """Counts records as they pass, and folds a flood of skipped places into one."""

    def __init__(self, place: Location, limits: Limits) -> None:
        self._place = place
        self._most = limits.skipped
        self.modules = self.images = self.skipped = 0
        self._layers: list[ImageLayer] = []
        self._files: dict[str, None] = {}

    def shown(
        self, records: Iterable[Module | Skipped | HostBinary | ImageLayer]
    ) -> Iterator[Module | Skipped | HostBinary]:
        """Count records, and yield the ones to show."""
        for record in records:
            if isinstance(record, ImageLayer):
                self._layers.append(replace(record, files=tuple(self._files)))
                self._files.clear()
                continue
            if isinstance(record, Skipped):
                self.skipped += 1
                if self.skipped > self._most:
                    continue
            elif record.place.members:
                self._files[record.place.members[0]] = None
            if isinstance(record, Module):
                self.modules += 1
                self.images += len(record.images)
            yield record

    def rest(self) -> Iterator[Skipped]:
        more = self.skipped - self._most
        if more > 0:
            yield Skipped(self._place, f"{more} more places were skipped", limit="skipped")

    def artifact(self, size: int) -> Artifact:
        """Return the record of the file with its size in bytes, once everything was counted."""
        counts = (self.modules, self.images, self.skipped)
        return Artifact(self._place.path, size, *counts, tuple(self._layers))


def opened(path: str, limits: Limits, *, typed: bool = False) -> AbstractContextManager[ByteView]:
    """Return the bytes of a file, or of standard input (``-``) and pipes, which are spooled.

    Args:
        path: the path of the file.
        limits: upper limits on sizes, counts and time for reading it.
        typed: True if the user named it; else it was found in a folder.

    Raises:
        UnreadableInput: there is no such file, it can't be read, or it is not the kind of package
            that its name shows.
    """
    return ScanSettings(limits=limits).opened(path, typed=typed)


def hold_to_name(view: ByteView, name: str, limits: Limits, *, typed: bool = True) -> None:
    """Check that bytes are the kind of package that their name shows.

    Raises:
        UnreadableInput: they are not.
    """
    broken = broken_promise(name, view, Budget(limits), typed=typed)
    if broken is not None:
        raise UnreadableInput(f"the contents of {name!r} don't match its name: {broken}")


@contextmanager
def _opened(path: str, limits: Limits) -> Iterator[ByteView]:
    try:
        if path == "-":
            with _piped(sys.stdin.fileno(), "standard input", limits) as view:
                yield view
            return
        if not os.path.isfile(path):
            from ltocompat.files.archives.image_path import image_view

            if (image := image_view(path, limits)) is not None:
                yield image
                return
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:
        from ltocompat.files.archives.image_path import how_to_save

        reason = error.strerror if isinstance(error, OSError) else str(error)
        meant = how_to_save(path) or _as_target(path)
        raise UnreadableInput(f"{path!r} can't be opened: {reason}{meant}") from error
    try:
        mode = os.fstat(fd).st_mode
        if stat.S_ISFIFO(mode):
            with _piped(fd, path, limits) as view:
                yield view
        elif stat.S_ISREG(mode):
            yield ByteView(FileSource(fd))
        else:
            raise UnreadableInput(f"{path!r} is not a regular file; name a file, a folder or -")
    finally:
        os.close(fd)


def _as_target(path: str) -> str:
    """Return how to give a deploy target that was given as a path; empty for other paths."""
    from ltocompat.targets.inline import is_word

    # Somebody who writes 13 means CUDA 13.
    word = None if os.path.lexists(path) else next(filter(is_word, (path, f"{path}.0")), None)
    hint = "; if it is a deploy target, write: ltocompat check FILE --deploy-target"
    return f"{hint} {shlex.quote(word)}" if word else ""


@contextmanager
def _piped(fd: int, name: str, limits: Limits) -> Iterator[ByteView]:
    def read(size: int) -> bytes:
        try:
            return os.read(fd, size)
        except OSError as error:
            reason = f"it is closed, or not a file ({error.strerror})"
            raise UnreadableInput(f"{name} can't be read: {reason}; name a file") from error

    with spooled(read, name, limits) as view:
        if not view.size:
            raise UnreadableInput(f"nothing came through {name}; did the first command fail?")
        yield view


@contextmanager
def spooled(read: Callable[[int], bytes], name: str, limits: Limits) -> Iterator[ByteView]:
    """Open the bytes of a stream, copied to an unnamed file.

    Args:
        read: returns at most a number of bytes, none at the end.
        name: its name.
        limits: bounds for the number of bytes.

    Raises:
        UnreadableInput: there are more.
    """
    import tempfile

    lost = f"the input can't be kept in {tempfile.gettempdir()!r}"
    advice = "; set TMPDIR to a folder with more room"
    # Without a buffer, which would be written once more when the file is closed.
    with tempfile.TemporaryFile(buffering=0) as spool:
        size = 0
        while data := read(MIB):
            size += len(data)
            if size > limits.spool_bytes:
                raise UnreadableInput(
                    f"{name} is over the limit of {limits.spool_bytes} bytes; save it to a "
                    "file and name the file"
                )
            with restated(UnreadableInput, lost, OSError, advice=advice, brief=True):
                write_all(spool.fileno(), data)
        yield ByteView(FileSource(spool.fileno()))


def stored_in_file(
    view: ByteView, place: Location, settings: ScanSettings, top: Location | None = None
) -> Iterator[Stored]:
    """Yield the stored modules of a file and its members, before any image is decoded.

    Args:
        view: the bytes of the file.
        place: the file, or a member or an image in it, to which the result is then limited.
        settings: settings for reading.
        top: the member of a package with these bytes; None: the file itself.
    """
    # Modules are described where a file is read in slices alone.
    return cast("Iterator[Stored]", _in_file(view, place, settings, None, top))


def _in_file(
    view: ByteView,
    place: Location,
    settings: ScanSettings,
    slicing: Slicing[T] | None,
    top: Location | None = None,
) -> Iterator[Stored | Module]:
    """Yield what is stored in a file; of one that is read in slices, its described modules."""
    progress = _FileProgress(settings, place.path, view)
    budget = Budget(settings.limits, unpacking=progress.unpacking)
    top = top or Location(place.path)
    found = _FileWalk(place, budget, settings, slicing, progress).stored(view, top)
    for stored in watched_steps(found, budget):
        if not isinstance(stored, Skipped) and len(stored.place.members) <= len(top.members) + 1:
            progress.reading(stored.place.offset or 0)
        # A limit that was hit around the place may be why nothing is found there.
        limited = isinstance(stored, Skipped) and stored.limit and stored.place.contains(place)
        if place.contains(stored.place) or limited:
            yield stored
        elif isinstance(stored, StoredModule):
            # Prelinked images lie elsewhere than the module that they belong to.
            images = tuple(image for image in stored.images if place.contains(image.entry.place))
            if images:
                yield replace(stored, images=images, size=None)


class _FileProgress(Struct):
    """The bytes of a file that were read. A member counts half when it is unpacked.

    Attributes:
        settings: get the progress.
        path: the path of the file.
        view: its bytes.
        begin: offset of the end of the last member, bytes.
        end: offset of the end of the current member, bytes; 0 without members.
        size: unpacked bytes of the current member.
    """

    settings: ScanSettings
    path: str
    view: ByteView
    begin: int = 0
    end: int = 0
    size: int = 0

    def unpacking(self, source: object, offset: int) -> None:
        """Report that a member of the file, the next or the current, is unpacked to an offset."""
        if source is self.view.source:
            if offset > self.end:
                self.settings.report(self.path, (self.end + offset) // 2, self.view.size)
            else:  # which is an archive itself, and is stored as it is
                self.reading(offset - self.begin)

    def enter(self, member: Member) -> None:
        """Report that the next member of the file is unpacked."""
        self.begin, self.end, self.size = self.end, max(member.end, self.end), member.view.size
        self.reading(0)

    def reading(self, offset: int) -> None:
        """Report that the current member is read to an offset, or the file without members."""
        if self.end:
            half = (self.begin + self.end) // 2
            offset = half + (self.end - half) * min(offset, self.size) // max(self.size, 1)
        self.settings.report(self.path, offset, self.view.size)


class _FileWalk(Struct, Generic[T], frozen=True):
    """A walk through one file, from container to container.

    Attributes:
        wanted: what the walk is for.
        budget: account of the file.
        settings: how to read.
        slicing: how a large program is read by several processes; None: by this one.
        progress: gets the members of the file.
    """

    wanted: Location
    budget: Budget
    settings: ScanSettings
    slicing: Slicing[T] | None
    progress: _FileProgress

    def stored(self, view: ByteView, at: Location) -> Iterator[Stored | Module]:
        """Yield the stored modules at a place with these bytes."""
        plain = holds_no_code(view)
        if at.members and not plain:
            from ltocompat.files.objects import libraries  # late: most files are no members

            plain = libraries.is_plain_object(view)
        container = None if plain else container_of(view, self.budget)
        size = view.size if container is None else None
        try:
            member = at.innermost if at.members else ""
            broken = broken_promise(member, view, self.budget, typed=False, inside=True)
            if broken is not None:
                yield Skipped(at, broken, view.size)
            if plain:
                return
            if container is None:
                program, container = split_program(view, self.budget)
                yield from self._host_and_code(program, at)
            if container is None:
                return
            if len(at.members) >= self.settings.limits.depth:
                reason = f"containers are nested deeper than {self.settings.limits.depth}"
                yield Skipped(at, reason, view.size, "depth")
            else:
                members = container.members(view, at, self.wanted, self.budget)
                yield from self._in_members(members, top=not at.members)
        except LimitExceeded as error:
            yield Skipped(at, f"the rest is not read: {error}", size, error.limit)

    def _in_members(self, members: ImageMembers, *, top: bool) -> Iterator[Stored | Module]:
        for member in members:  # its reader looks at the clock before each
            if not isinstance(member, Member):
                yield member
                continue
            if top:
                self.progress.enter(member)
            if concerns(member.place, self.wanted):
                self.settings.keep(member.place, member.view)
                yield from self.stored(member.view, member.place)

    def _host_and_code(self, view: ByteView, place: Location) -> Iterator[Stored | Module]:
        host = read_host(view, self.budget)
        if host is None:
            head = ptx.head_of(view)
            if head.startswith(ELF) and not head.startswith(CUBIN):
                yield Skipped(place, "its ELF header is truncated or damaged", view.size)
            elif lost_pe_header(view, place.innermost):
                yield Skipped(place, "its PE header is truncated or damaged", view.size)
            whole = _whole_file(head, view, place, self.budget)
            found = FatbinWalk(view, place, host, self.budget) if whole is None else (whole,)
            stored = None
            for stored in found:
                yield stored
            if stored is None:
                yield from _texts(view, place, self.budget)
            return
        host.registration()  # which finds problems of its own
        told = host.problems
        yield from (Skipped(place, problem) for problem in told)
        if self.slicing is not None and slices.worth_it(view, slices.LARGE):
            file = slices.SlicedFile(view, place, host, self.budget, self.slicing.describer)
            needing = functools.partial(_needing, host, place)
            yield from file.by_workers(self.slicing.jobs, needing)
        else:
            yield from FatbinWalk(view, place, host, self.budget)
            described = _needing(host, place)
            if described is not None:
                yield described
        yield from (Skipped(place, problem) for problem in host.problems if problem not in told)


def _needing(host: ObjectFile, place: Location) -> HostBinary | None:
    """The host; an object in an archive only where a linker or inspect needs something of it."""
    # Files that differ in their CUDA version may be variants, which their exports tell.
    described = host.describe(place, exports=tagged_path(place.innermost) is not None)
    needs = described.undefined_registrations or described.nvjitlink_imports or described.libraries
    waits = described.ptx_texts or any(section.prelinked for section in host.sections)
    return described if needs or waits or described.linked or not place.members else None


def _texts(view: ByteView, place: Location, budget: Budget) -> Iterator[HostBinary]:
    """PTX as text in a file without device code: sources, JSON, pickles, arrays, HDF5."""
    from ltocompat.files.objects.ptx_texts import ptx_texts

    texts = ptx_texts(view, budget)
    if texts:
        yield HostBinary(place=place, format="data", machine="", type="unknown", ptx_texts=texts)


def _whole_file(
    head: bytes, view: ByteView, place: Location, budget: Budget
) -> StoredModule | None:
    """PTX text and Tile IR, which are recognised only as files of their own, by their head."""
    if ptx.sniff(head):
        kind = ImageKind.PTX
    elif head.startswith(TILEIR):
        kind = ImageKind.TILEIR
    else:
        return None
    image = bare_image(place, None, kind, Payload(view, Compression.NONE, None, budget))
    return StoredModule(place, None, None, (image,))

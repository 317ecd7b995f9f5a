"""The answer of ``inspect`` as a JSON document, ``ltocompat/inspect/v1``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from ltocompat.model.image import (
    Artifact,
    CubinFacts,
    CudaLibrary,
    Host,
    Image,
    ImageKind,
    LtoIrVersions,
    Maker,
    Module,
    Record,
    Skipped,
)
from ltocompat.model.limits import DEFAULT_LIMITS
from ltocompat.model.records_v1 import base
from ltocompat.model.records_v1 import inspect as v1
from ltocompat.model.row import text_or_none
from ltocompat.report import Failure, Options
from ltocompat.report.formats.jsonstream import (
    Array,
    encode,
    error_document,
    failure_values,
    head,
    members_after,
    tail,
)


class _Open(Struct):
    """The artifact that is being written; what comes after its modules is held until then."""

    modules: Array = field(default_factory=Array)
    host: v1.Host | None = None
    members: list[v1.Member] = field(default_factory=list)
    members_left_out: int = 0
    skipped: list[base.Skipped] = field(default_factory=list)
    skipped_left_out: int = 0

    def add_host(self, host: Host) -> None:
        if not host.place.members:
            self.host = host_value(host)
        elif host.undefined_registrations or host.nvjitlink_imports or host.libraries:
            if len(self.members) < DEFAULT_LIMITS.skipped:
                self.members.append(member_value(host))
            else:
                self.members_left_out += 1

    def add_skipped(self, skipped: Skipped) -> None:
        if len(self.skipped) < DEFAULT_LIMITS.skipped:
            self.skipped.append(skipped_value(skipped))
        else:
            self.skipped_left_out += 1


class _Writer:
    """Turns records into text; the state of the document is all that it holds."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._artifacts = Array()
        self._open: _Open | None = None
        self._started = False
        self._failures: list[Failure] = []
        self._kinds: Counter[ImageKind] = Counter()
        self._totals: Counter[str] = Counter()

    def take(self, record: Record | Failure) -> Iterator[str]:
        """The text that ``record`` adds."""
        if isinstance(record, Failure):
            self._failures.append(record)
            if self._open:
                yield from self._close(None)
        elif isinstance(record, Artifact):
            if self._open is None and record.path not in self._options.named:
                missed = "files_without_match" if record.images else "files_without_device_code"
                self._totals[missed] += 1
                return
            yield from self._close(record)
        else:
            yield from self._add(record)

    def end(self) -> Iterator[str]:
        """The rest of the document."""
        if self._open:
            yield from self._close(None)
        if not self._started and self._failures:
            yield error_document(self._failures)
            return
        yield from self._start()
        yield from tail(v1.Inspect((), self._summary()), "artifacts")

    def _start(self) -> Iterator[str]:
        if not self._started:
            self._started = True
            yield head(v1.Inspect, "artifacts")

    def _add(self, record: Module | Skipped | Host) -> Iterator[str]:
        opened = self._open
        if opened is None:
            yield from self._begin(record.place.path)
            opened = self._open = _Open()
        if isinstance(record, Module):
            self._count(record)
            yield from opened.modules.pieces(module_pieces(record))
        elif isinstance(record, Host):
            opened.add_host(record)
        else:
            self._totals["skipped"] += 1
            opened.add_skipped(record)

    def _begin(self, path: str) -> Iterator[str]:
        yield from self._start()
        self._totals["artifacts"] += 1
        yield self._artifacts.element(f'{{"path": {encode(path)}, "modules": [')

    def _close(self, artifact: Artifact | None) -> Iterator[str]:
        if self._open is None:
            yield from self._begin(artifact.path if artifact else "")
        opened = self._open or _Open()
        self._open = None
        ends = v1.Artifact(
            path="",
            modules=(),
            skipped=tuple(opened.skipped),
            skipped_left_out=opened.skipped_left_out,
            host=opened.host,
            members=tuple(opened.members),
            members_left_out=opened.members_left_out,
            size=artifact.size if artifact else None,
            complete=artifact is not None,
        )
        yield "],\n  " + ", ".join(members_after(ends, "modules")) + "}"

    def _count(self, module: Module) -> None:
        self._totals["modules"] += 1
        for image in module.images:
            self._totals["images"] += 1
            self._totals["stored_size"] += image.stored_size or 0
            self._kinds[image.kind] += 1

    def _summary(self) -> v1.Summary:
        totals = self._totals
        return v1.Summary(
            artifacts=totals["artifacts"],
            files_without_device_code=totals["files_without_device_code"],
            files_without_match=totals["files_without_match"],
            modules=totals["modules"],
            images=totals["images"],
            skipped=totals["skipped"],
            kinds=v1.Kinds(**{str(kind): self._kinds[kind] for kind in ImageKind}),
            stored_size=totals["stored_size"],
            errors=failure_values(self._failures),
        )


def document(records: Iterable[Record | Failure], options: Options) -> Iterator[str]:
    """The pieces of the document, as the records come."""
    writer = _Writer(options)
    for record in records:
        yield from writer.take(record)
    yield from writer.end()


def module_pieces(module: Module) -> Iterator[str]:
    """A module as JSON says it, on one line, piece by piece: it may have a million images."""
    empty = v1.Module(str(module.place), module.section, module.registered, images=())
    before, after = encode(empty).rsplit("[]", 1)
    yield f"  {before}["
    for number, image in enumerate(module.images):
        yield f"{', ' if number else ''}{encode(image_value(image))}"
    yield f"]{after}"


def image_value(image: Image) -> v1.Image:
    """An image as JSON says it: exact sizes, null where a fact is absent."""
    return v1.Image(
        kind=image.kind,
        kind_number=image.kind_number,
        place=str(image.place),
        section=image.section,
        arch=text_or_none(image.arch),
        virtual_arch=_virtual_arch(image),
        made_by=tuple([_maker(maker) for maker in image.made_by]),
        needs=v1.Needs(image.needs.ptx_isa, image.needs.tile_ir),
        ltoir=_ltoir(image.ltoir) if image.ltoir else None,
        cubin=_cubin(image.cubin) if image.cubin else None,
        compression=image.compression,
        scrambled=image.scrambled,
        stored_size=image.stored_size,
        size=image.size,
        relocatable=image.relocatable,
        debug=image.debug,
        host_os=image.host_os,
        options=image.options,
        identifier=image.identifier,
        kernels=image.kernels,
        sha256=image.sha256,
        problems=image.problems,
    )


def host_value(host: Host) -> v1.Host:
    """A host file as JSON says it."""
    return v1.Host(
        format=host.format,
        machine=host.machine,
        type=host.type,
        undefined_registrations=host.undefined_registrations,
        nvjitlink_imports=host.nvjitlink_imports,
        libraries=tuple(_library(library) for library in host.libraries),
    )


def member_value(host: Host) -> v1.Member:
    """A host file inside an archive as JSON says it."""
    return v1.Member(
        format=host.format,
        machine=host.machine,
        type=host.type,
        undefined_registrations=host.undefined_registrations,
        nvjitlink_imports=host.nvjitlink_imports,
        libraries=tuple(_library(library) for library in host.libraries),
        place=str(host.place),
    )


def skipped_value(skipped: Skipped) -> base.Skipped:
    """A skipped place as JSON says it."""
    return base.Skipped(
        place=str(skipped.place),
        reason=skipped.reason,
        size=skipped.size,
        limit=skipped.limit,
    )


def _virtual_arch(image: Image) -> str | None:
    """The virtual architecture that the code was written for, where it is recorded."""
    if image.kind in (ImageKind.PTX, ImageKind.TILEIR):
        return text_or_none(image.arch)
    return text_or_none(image.cubin.virtual_arch) if image.cubin else None


def _maker(maker: Maker) -> v1.Maker:
    return v1.Maker(
        role=maker.role,
        tool=maker.tool,
        version=maker.version,
        releases=tuple([str(release) for release in maker.releases]),
        evidence=maker.evidence,
    )


def _ltoir(versions: LtoIrVersions) -> v1.Ltoir:
    return v1.Ltoir(versions.container, versions.nvvm_ir, versions.llvm)


def _cubin(facts: CubinFacts) -> v1.Cubin:
    return v1.Cubin(facts.generation, text_or_none(facts.virtual_arch))


def _library(library: CudaLibrary) -> v1.Library:
    return v1.Library(
        name=library.name,
        how=library.how,
        file=library.file,
        version=library.version,
        evidence=library.evidence,
    )

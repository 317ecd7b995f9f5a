"""The answer of ``inspect`` as a JSON document, ``ltocompat/inspect/v1``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

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
from ltocompat.report import Failure, Options
from ltocompat.report.formats.jsonstream import (
    Array,
    encode,
    error_document,
    failure_value,
    head,
    tail,
)

SCHEMA = "ltocompat/inspect/v1"

Json = dict[str, object]

_COUNTS = (
    "artifacts",
    "files_without_device_code",
    "files_without_match",
    "modules",
    "images",
    "skipped",
)


@dataclass(slots=True)
class _Open:
    """The artifact that is being written; what comes after its modules is held until then."""

    modules: Array = field(default_factory=Array)
    host: Json | None = None
    members: list[Json] = field(default_factory=list)
    members_left_out: int = 0
    skipped: list[Json] = field(default_factory=list)
    skipped_left_out: int = 0

    def add_host(self, host: Host) -> None:
        if not host.place.members:
            self.host = host_value(host)
        elif host.undefined_registrations or host.nvjitlink_imports or host.libraries:
            if len(self.members) < DEFAULT_LIMITS.skipped:
                self.members.append({"place": str(host.place), **host_value(host)})
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
        yield from tail(summary=self._summary())

    def _start(self) -> Iterator[str]:
        if not self._started:
            self._started = True
            yield head(SCHEMA, "artifacts")

    def _add(self, record: Module | Skipped | Host) -> Iterator[str]:
        opened = self._open
        if opened is None:
            yield from self._begin(record.place.path)
            opened = self._open = _Open()
        if isinstance(record, Module):
            self._count(record)
            yield opened.modules.element(f"  {encode(module_value(record))}")
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
        ends: Json = {
            "skipped": opened.skipped,
            "skipped_left_out": opened.skipped_left_out,
            "host": opened.host,
            "members": opened.members,
            "members_left_out": opened.members_left_out,
            "size": artifact.size if artifact else None,
            "complete": artifact is not None,
        }
        yield "],\n  " + encode(ends)[1:]

    def _count(self, module: Module) -> None:
        self._totals["modules"] += 1
        for image in module.images:
            self._totals["images"] += 1
            self._totals["stored_size"] += image.stored_size or 0
            self._kinds[image.kind] += 1

    def _summary(self) -> Json:
        return {
            **{name: self._totals[name] for name in _COUNTS},
            "kinds": {str(kind): self._kinds[kind] for kind in ImageKind},
            "stored_size": self._totals["stored_size"],
            "errors": [failure_value(failure) for failure in self._failures],
        }


def document(records: Iterable[Record | Failure], options: Options) -> Iterator[str]:
    """The pieces of the document, as the records come."""
    writer = _Writer(options)
    for record in records:
        yield from writer.take(record)
    yield from writer.end()


def module_value(module: Module) -> Json:
    """A module as JSON says it."""
    return {
        "place": str(module.place),
        "section": module.section,
        "registered": module.registered,
        "images": [image_value(image) for image in module.images],
    }


def image_value(image: Image) -> Json:
    """An image as JSON says it: exact sizes, null where a fact is absent."""
    return {
        "kind": image.kind,
        "kind_number": image.kind_number,
        "place": str(image.place),
        "section": image.section,
        "arch": str(image.arch) if image.arch else None,
        "virtual_arch": _virtual_arch(image),
        "made_by": [_maker(maker) for maker in image.made_by],
        "needs": {"ptx_isa": image.needs.ptx_isa, "tile_ir": image.needs.tile_ir},
        "ltoir": _ltoir(image.ltoir) if image.ltoir else None,
        "cubin": _cubin(image.cubin) if image.cubin else None,
        "compression": image.compression,
        "scrambled": image.scrambled,
        "stored_size": image.stored_size,
        "size": image.size,
        "relocatable": image.relocatable,
        "debug": image.debug,
        "host_os": image.host_os,
        "options": image.options,
        "identifier": image.identifier,
        "kernels": image.kernels,
        "sha256": image.sha256,
        "problems": image.problems,
    }


def host_value(host: Host) -> Json:
    """A host file as JSON says it."""
    return {
        "format": host.format,
        "machine": host.machine,
        "type": host.type,
        "undefined_registrations": host.undefined_registrations,
        "nvjitlink_imports": host.nvjitlink_imports,
        "libraries": [_library(library) for library in host.libraries],
    }


def skipped_value(skipped: Skipped) -> Json:
    """A skipped place as JSON says it."""
    return {
        "place": str(skipped.place),
        "reason": skipped.reason,
        "size": skipped.size,
        "limit": skipped.limit,
    }


def _virtual_arch(image: Image) -> str | None:
    """The virtual architecture that the code was written for, where it is recorded."""
    if image.kind in (ImageKind.PTX, ImageKind.TILEIR):
        return str(image.arch) if image.arch else None
    recorded = image.cubin.virtual_arch if image.cubin else None
    return str(recorded) if recorded else None


def _maker(maker: Maker) -> Json:
    return {
        "role": maker.role,
        "tool": maker.tool,
        "version": maker.version,
        "releases": [str(release) for release in maker.releases],
        "evidence": maker.evidence,
    }


def _ltoir(versions: LtoIrVersions) -> Json:
    return {
        "container": versions.container,
        "nvvm_ir": versions.nvvm_ir,
        "llvm": versions.llvm,
    }


def _cubin(facts: CubinFacts) -> Json:
    virtual = str(facts.virtual_arch) if facts.virtual_arch else None
    return {"generation": facts.generation, "virtual_arch": virtual}


def _library(library: CudaLibrary) -> Json:
    return {
        "name": library.name,
        "how": library.how,
        "file": library.file,
        "version": library.version,
        "evidence": library.evidence,
    }

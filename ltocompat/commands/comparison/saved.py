"""Inspections that were saved as JSON (``ltocompat/inspect/v1``), as the records they came from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from typing import TYPE_CHECKING, TypeVar

from ltocompat.files.byteview import ByteView
from ltocompat.model.arch import Release, SmArch
from ltocompat.model.errors import UnreadableInput, UsageError
from ltocompat.model.image import (
    Artifact,
    Compression,
    CubinFacts,
    CudaLibrary,
    Host,
    Image,
    ImageKind,
    LtoIrVersions,
    Maker,
    Module,
    Needs,
    Record,
    Role,
    Skipped,
)
from ltocompat.model.limits import MIB
from ltocompat.model.place import Place

if TYPE_CHECKING:
    # Imported where JSON is read: most comparisons read none.
    from ltocompat.model.records_v1 import inspect as v1

SCHEMA = "ltocompat/inspect/v1"

# The inspection of libcublasLt 13.10 with all its kernels takes some 60 MiB.
_MOST_BYTES = 512 * MIB
_BLANKS = b" \t\r\n"
_FAMILY = b"ltocompat/"
_NEAR = 4096
_AGAIN = "save one with: ltocompat inspect --kernels --format json"
_PATH = re.compile(r"`\$([^`]*)`$")  # the end of a sentence of msgspec: .artifacts[0].path
_STEP = re.compile(r"\.(\w+)|\[(\d{1,9})\]")

E = TypeVar("E", ImageKind, Compression, Role)


def document(view: ByteView, path: str) -> v1.Inspect | None:
    """The saved inspection that a file is; None when it is any other file.

    Raises:
        UnreadableInput: it is a saved answer of ours that can't be used.
    """
    if not view.peek(0, 64).lstrip(_BLANKS).startswith(b"{"):
        return None
    # Another program may have sorted the members, so that the schema comes last.
    last = max(view.size - _NEAR, 0)
    if _FAMILY not in view.peek(0, _NEAR) and _FAMILY not in view.peek(last, _NEAR):
        return None
    if view.size > _MOST_BYTES:
        raise UnreadableInput(
            f"{path!r} is JSON of {view.size} bytes, over the limit of {_MOST_BYTES}; compare the "
            "files themselves"
        )
    return _decoded(view.all(), path)


def _decoded(data: bytes, path: str) -> v1.Inspect:
    import msgspec

    from ltocompat.model.records_v1.inspect import Inspect

    try:
        members = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        schema = msgspec.json.decode(members.get("schema", b"null"))
        if schema == SCHEMA:
            return msgspec.json.decode(data, type=Inspect)
    except msgspec.ValidationError as error:
        raise _unlike(path, _explained(str(error), data)) from error
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise UnreadableInput(f"{path!r} is no valid JSON ({error}); {_AGAIN}") from error
    raise UnreadableInput(f"{path!r} is {str(schema)[:100]!r}, not {SCHEMA}; {_AGAIN}")


def _unlike(path: str, reason: str) -> UnreadableInput:
    return UnreadableInput(f"{path!r} is not laid out as {SCHEMA} is: {reason}; {_AGAIN}")


def _explained(sentence: str, data: bytes) -> str:
    """A sentence of msgspec about a member, with the value that it speaks of."""
    found = _PATH.search(sentence)
    steps = [name or int(index) for name, index in _STEP.findall(found[1] if found else "")]
    names = [step for step in steps if isinstance(step, str)]
    try:
        value = reduce(lambda inner, step: inner[step], steps, json.loads(data))
        return f"{names[-1]} is {repr(value)[:60]} ({sentence})"
    except (ValueError, RecursionError, LookupError, TypeError):
        return sentence  # a name that stands twice, or no member at all


@contextmanager
def _told(path: str) -> Iterator[None]:
    """What is text by the schema, and no place, architecture or release, is one sentence."""
    try:
        yield
    except UsageError as error:
        raise _unlike(path, str(error)) from error


def paths(value: v1.Inspect) -> tuple[str, ...]:
    """The files that were inspected, as they were called then."""
    return tuple(artifact.path for artifact in value.artifacts)


def records(value: v1.Inspect, path: str) -> Iterator[Record | None]:
    """The records of a saved inspection; None after a file that was not read to its end.

    Raises:
        UnreadableInput: the document isn't laid out as its schema says.
    """
    with _told(path):
        for artifact in value.artifacts:
            yield from _artifact(artifact)


def _artifact(value: v1.Artifact) -> Iterator[Record | None]:
    hosts: dict[Place, v1.Host] = {Place.parse(member.place): member for member in value.members}
    if value.host is not None:
        hosts[Place(value.path)] = value.host
    images = 0
    inside: Place | None = None
    for each in value.modules:
        module = _module(each)
        images += len(module.images)
        around = Place(module.place.path, module.place.members)
        if inside is not None and around != inside and inside in hosts:
            yield _host(hosts.pop(inside), inside)  # a host follows its modules
        inside = around
        yield module
    for place, host in hosts.items():
        yield _host(host, place)
    for skipped in value.skipped:
        yield Skipped(Place.parse(skipped.place), skipped.reason)
    if value.skipped_left_out:
        yield Skipped(Place(value.path), "further places")
    if not value.complete:
        yield None
        return
    yield Artifact(value.path, value.size or 0, len(value.modules), images, len(value.skipped))


def _module(value: v1.Module) -> Module:
    images = tuple(_image(image) for image in value.images)
    return Module(Place.parse(value.place), value.section, value.registered, images)


def _image(value: v1.Image) -> Image:
    return Image(
        place=Place.parse(value.place),
        kind=_member(ImageKind, value.kind, ImageKind.UNKNOWN),
        kind_number=value.kind_number,
        arch=_arch(value.arch),
        section=value.section,
        made_by=tuple(_maker(maker) for maker in value.made_by),
        needs=Needs(value.needs.ptx_isa, value.needs.tile_ir),
        ltoir=None if value.ltoir is None else _ltoir(value.ltoir),
        cubin=None if value.cubin is None else _cubin(value.cubin),
        compression=_member(Compression, value.compression, Compression.NONE),
        scrambled=value.scrambled,
        stored_size=value.stored_size,
        size=value.size,
        relocatable=value.relocatable,
        debug=value.debug,
        options=value.options,
        kernels=value.kernels,
        problems=value.problems,
    )


def _arch(text: str | None) -> SmArch | None:
    return SmArch.parse(text) if text else None


def _maker(value: v1.Maker) -> Maker:
    return Maker(
        _member(Role, value.role, Role.COMPILER),
        value.tool,
        value.version,
        tuple(Release.parse(release) for release in value.releases),
        value.evidence,
    )


def _ltoir(value: v1.Ltoir) -> LtoIrVersions:
    return LtoIrVersions(value.container, value.nvvm_ir, value.llvm)


def _cubin(value: v1.Cubin) -> CubinFacts:
    return CubinFacts(value.generation, _arch(value.virtual_arch))


def _host(value: v1.Host, place: Place) -> Host:
    return Host(
        place=place,
        format=value.format,
        machine=value.machine,
        type=value.type,
        undefined_registrations=value.undefined_registrations,
        nvjitlink_imports=value.nvjitlink_imports,
        libraries=tuple(
            CudaLibrary(library.name, library.how, library.file, library.version, library.evidence)
            for library in value.libraries
        ),
    )


def _member(values: type[E], value: str, other: E) -> E:
    """The member of an enumeration; ``other`` for one that came after this version."""
    return next((member for member in values if member == value), other)


def errors(value: v1.Inspect) -> bool:
    """Whether some path could not be read when the inspection was saved."""
    return bool(value.summary.errors)

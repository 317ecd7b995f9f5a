"""Inspections that were saved as JSON (``ltocompat/inspect/v1``), as the records they came from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

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

SCHEMA = "ltocompat/inspect/v1"

# The inspection of libcublasLt 13.10 with all its kernels takes some 60 MiB.
_MOST_BYTES = 512 * MIB
_BLANKS = b" \t\r\n"
_FAMILY = b"ltocompat/"
_NEAR = 4096
_AGAIN = "save one with: ltocompat inspect --kernels --format json"

Json = dict[str, Any]
E = TypeVar("E", ImageKind, Compression, Role)


def document(view: ByteView, path: str) -> Json | None:
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
    try:
        value = json.loads(view.all())
    except (ValueError, RecursionError) as error:
        raise UnreadableInput(f"{path!r} is no valid JSON ({error}); {_AGAIN}") from error
    schema = value.get("schema")
    if schema != SCHEMA:
        raise UnreadableInput(f"{path!r} is {str(schema)[:100]!r}, not {SCHEMA}; {_AGAIN}")
    return dict(value)


@contextmanager
def _told(path: str) -> Iterator[None]:
    try:
        yield
    except (_Unlike, UsageError) as error:
        raise UnreadableInput(
            f"{path!r} is not laid out as {SCHEMA} is: {error}; {_AGAIN}"
        ) from error


def paths(value: Json, path: str) -> tuple[str, ...]:
    """The files that were inspected, as they were called then.

    Raises:
        UnreadableInput: the document isn't laid out as its schema says.
    """
    with _told(path):
        return tuple(_text(object_.get("path"), "path") for object_ in _objects(value, "artifacts"))


def records(value: Json, path: str) -> Iterator[Record | None]:
    """The records of a saved inspection; None after a file that was not read to its end.

    Raises:
        UnreadableInput: the document isn't laid out as its schema says.
    """
    with _told(path):
        for artifact in _objects(value, "artifacts"):
            yield from _artifact(artifact)


def _artifact(value: Json) -> Iterator[Record | None]:
    path = _text(value.get("path"), "path")
    hosts = {
        place: _host(member, place)
        for member in _objects(value, "members")
        for place in [_place(member)]
    }
    if value.get("host") is not None:
        place = Place(path)
        hosts[place] = _host(_object(value.get("host"), "host"), place)
    modules = images = 0
    inside: Place | None = None
    for each in _objects(value, "modules"):
        module = _module(each)
        modules += 1
        images += len(module.images)
        around = Place(module.place.path, module.place.members)
        if inside is not None and around != inside and inside in hosts:
            yield hosts.pop(inside)  # a host follows its modules
        inside = around
        yield module
    yield from hosts.values()
    skipped = _objects(value, "skipped")
    for each in skipped:
        yield Skipped(_place(each), _text(each.get("reason"), "reason"))
    for _ in range(min(_number(value, "skipped_left_out") or 0, 1)):
        yield Skipped(Place(path), "further places")
    if value.get("complete") is not True:
        yield None
        return
    yield Artifact(path, _number(value, "size") or 0, modules, images, len(skipped))


def _module(value: Json) -> Module:
    images = tuple(_image(image) for image in _objects(value, "images"))
    return Module(_place(value), _maybe(value, "section"), _flag(value, "registered"), images)


def _image(value: Json) -> Image:
    arch = _maybe(value, "arch")
    ltoir = value.get("ltoir")
    cubin = value.get("cubin")
    needs = _object(value.get("needs") or {}, "needs")
    return Image(
        place=_place(value),
        kind=_member(ImageKind, value.get("kind"), ImageKind.UNKNOWN),
        kind_number=_number(value, "kind_number"),
        arch=SmArch.parse(arch) if arch else None,
        section=_maybe(value, "section"),
        made_by=tuple(_maker(maker) for maker in _objects(value, "made_by")),
        needs=Needs(_maybe(needs, "ptx_isa"), _maybe(needs, "tile_ir")),
        ltoir=_ltoir(_object(ltoir, "ltoir")) if ltoir is not None else None,
        cubin=_cubin(_object(cubin, "cubin")) if cubin is not None else None,
        compression=_member(Compression, value.get("compression"), Compression.NONE),
        scrambled=_flag(value, "scrambled") is True,
        stored_size=_number(value, "stored_size"),
        size=_number(value, "size"),
        relocatable=_flag(value, "relocatable"),
        debug=_flag(value, "debug"),
        options=_maybe(value, "options"),
        kernels=_texts(value, "kernels") if value.get("kernels") is not None else None,
        problems=_texts(value, "problems"),
    )


def _maker(value: Json) -> Maker:
    return Maker(
        _member(Role, value.get("role"), Role.COMPILER),
        _maybe(value, "tool"),
        _maybe(value, "version"),
        tuple(Release.parse(release) for release in _texts(value, "releases")),
        _maybe(value, "evidence") or "",
    )


def _ltoir(value: Json) -> LtoIrVersions:
    container = _text(value.get("container"), "container")
    return LtoIrVersions(container, _maybe(value, "nvvm_ir"), _maybe(value, "llvm"))


def _cubin(value: Json) -> CubinFacts:
    virtual = _maybe(value, "virtual_arch")
    generation = _number(value, "generation") or 0
    return CubinFacts(generation, SmArch.parse(virtual) if virtual else None)


def _host(value: Json, place: Place) -> Host:
    return Host(
        place=place,
        format=_text(value.get("format"), "format"),
        machine=_text(value.get("machine"), "machine"),
        type=_text(value.get("type"), "type"),
        undefined_registrations=_texts(value, "undefined_registrations"),
        nvjitlink_imports=_texts(value, "nvjitlink_imports"),
        libraries=tuple(
            CudaLibrary(
                _text(object_.get("name"), "name"),
                _text(object_.get("how"), "how"),
                _maybe(object_, "file"),
                _maybe(object_, "version"),
                _maybe(object_, "evidence") or "",
            )
            for object_ in _objects(value, "libraries")
        ),
    )


class _Unlike(Exception):
    """A value is not what the schema says."""


def _wrong(name: str, value: object, wanted: str) -> NoReturn:
    raise _Unlike(f"{name} is {repr(value)[:60]}, which is no {wanted}")


def _place(value: Json) -> Place:
    return Place.parse(_text(value.get("place"), "place"))


def _text(value: object, name: str) -> str:
    return value if isinstance(value, str) else _wrong(name, value, "text")


def _maybe(value: Json, name: str) -> str | None:
    found = value.get(name)
    return None if found is None else _text(found, name)


def _number(value: Json, name: str) -> int | None:
    found = value.get(name)
    if found is None or (isinstance(found, int) and found >= 0):
        return found
    return _wrong(name, found, "number")


def _flag(value: Json, name: str) -> bool | None:
    found = value.get(name)
    return found if found is None or isinstance(found, bool) else _wrong(name, found, "flag")


def _object(value: object, name: str) -> Json:
    return value if isinstance(value, dict) else _wrong(name, value, "object")


def _list(value: Json, name: str) -> Iterable[object]:
    found = value.get(name, [])
    return found if isinstance(found, list) else _wrong(name, found, "list")


def _objects(value: Json, name: str) -> list[Json]:
    return [_object(each_value, name) for each_value in _list(value, name)]


def _texts(value: Json, name: str) -> tuple[str, ...]:
    return tuple(_text(each_value, name) for each_value in _list(value, name))


def _member(values: type[E], value: object, other: E) -> E:
    """The member of an enumeration; ``other`` for one that came after this version."""
    return next((each_value for each_value in values if each_value == value), other)


def errors(value: Json) -> bool:
    """Whether some path could not be read when the inspection was saved."""
    summary = value.get("summary")
    return isinstance(summary, dict) and bool(summary.get("errors"))

"""Inspections that were saved as JSON (``ltocompat/inspect/v1``), as the records they came from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ltocompat.files.byteview import ByteView
from ltocompat.model.errors import UnreadableInput, UsageError
from ltocompat.model.image import Artifact, HostBinary, Module, Record, Skipped
from ltocompat.model.limits import MIB
from ltocompat.model.location import Location
from ltocompat.model.projection import project

if TYPE_CHECKING:
    # Imported where JSON is read: most comparisons read none.
    from ltocompat.model.records_v1 import inspect as v1

SCHEMA = "ltocompat/inspect/v1"

# The inspection of libcublasLt 13.10 with all its kernels takes some 60 MiB.
_MOST_BYTES = 512 * MIB
_FAMILY = b"ltocompat/"
_NEAR = 4096
_AGAIN = "save one with: ltocompat inspect --kernels --format json"


def document(view: ByteView, path: str) -> v1.Inspect | None:
    """Return the saved inspection in a file; None for any other file.

    Raises:
        UnreadableInput: it is a saved answer of ltocompat that can't be used.
    """
    if not view.peek(0, 64).lstrip(b" \t\r\n").startswith(b"{"):
        return None
    # Another program may have sorted the members, so that the schema comes last.
    last = max(view.size - _NEAR, 0)
    if _FAMILY not in view.peek(0, _NEAR) and _FAMILY not in view.peek(last, _NEAR):
        return None
    if view.size > _MOST_BYTES:
        raise UnreadableInput(
            f"{path!r} has {view.size} bytes of JSON, and the limit is {_MOST_BYTES}; compare the "
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
        raise _unlike(path, str(error)) from error
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise UnreadableInput(f"{path!r} is not valid JSON ({error}); {_AGAIN}") from error
    raise UnreadableInput(f"{path!r} is {str(schema)[:100]!r}, not {SCHEMA}; {_AGAIN}")


def _unlike(path: str, reason: str) -> UnreadableInput:
    return UnreadableInput(f"{path!r} does not follow {SCHEMA}: {reason}; {_AGAIN}")


def records(value: v1.Inspect, path: str) -> Iterator[Record | None]:
    """Yield the records of a saved inspection; None after a file that was not read to its end.

    Raises:
        UnreadableInput: the document doesn't follow its schema.
    """
    try:
        for artifact in value.artifacts:
            yield from _artifact(artifact)
    except UsageError as error:  # of text that is not a place, architecture or release
        raise _unlike(path, str(error)) from error


def _artifact(value: v1.Artifact) -> Iterator[Record | None]:
    hosts = {host.place: host for host in (project(HostBinary, member) for member in value.members)}
    if value.host is not None:
        place = Location(value.path)
        hosts[place] = project(HostBinary, value.host, place=place)
    images = 0
    inside: Location | None = None
    for each in value.modules:
        module = project(Module, each)
        images += len(module.images)
        around = Location(module.place.path, module.place.members)
        if inside is not None and around != inside and inside in hosts:
            yield hosts.pop(inside)  # a host follows its modules
        inside = around
        yield module
    yield from sorted(hosts.values(), key=lambda host: host.place != inside)  # that of the last one
    for skipped in value.skipped:
        yield project(Skipped, skipped)
    if value.skipped_left_out:
        yield Skipped(Location(value.path), "further places")
    if not value.complete:
        yield None
        return
    yield Artifact(value.path, value.size or 0, len(value.modules), images, len(value.skipped))

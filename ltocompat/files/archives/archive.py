"""Static archives (``ar``): GNU, BSD and COFF ways to keep long names, and thin archives.

A member header is 60 bytes of text: name 16, date 12, owner 6, group 6, mode 8, size 10, then a
back quote and a line feed; members begin at even offsets. Source: ar(5), and the description of
COFF archives in Microsoft's PE specification.
"""

from __future__ import annotations

import os
import struct

from ltocompat.files.archives.member import Member, Members
from ltocompat.files.byteview import ByteView, MemorySource
from ltocompat.files.first_bytes import AR_MAGIC, THIN_MAGIC, is_ar
from ltocompat.files.regular import OpenedFile, open_regular
from ltocompat.model.errors import LimitExceeded, Malformed
from ltocompat.model.image import Skipped
from ltocompat.model.limits import MIB, Budget
from ltocompat.model.location import Location

_HEADER_SIZE = 60
# Symbol tables and name tables of the GNU, COFF and BSD formats; they hold no code.
_INDEXES = {"/", "/SYM64/", "/<ECSYMBOLS>/", "__.SYMDEF", "__.SYMDEF SORTED", "__.SYMDEF_64"}
# Of the first member: how the offsets of members are stored there, behind their number.
_OFFSETS = {"/": ">I", "/SYM64/": ">Q"}
_INDEX_BYTES = 16 * MIB
_NAMES = "//"
_TOO_MANY_NAMES = (
    "the archive's names have {size} bytes, over the limit of {most} (Limits.names_bytes)"
)


def sniff(view: ByteView, _: Budget) -> bool:
    """Return whether this is a static archive."""
    return is_ar(view)


def members(view: ByteView, place: Location, _: Location, budget: Budget) -> Members:
    """Yield all members; members of a thin archive are read from separate files."""
    thin = is_thin(view)
    names = b""
    position = len(AR_MAGIC)
    count = 0
    while position < view.size:
        budget.check_time()
        try:
            name, size, data = _header(view, position, names, budget)
        except Malformed as error:
            reason = f"the archive can't be read from {position:#x} on: {error}"
            yield Skipped(place, reason, view.size - position)
            return
        end = data + size if not thin or name in _INDEXES or name == _NAMES else data
        if end > view.size:
            reason = f"the member says {size} bytes, but only {view.size - data} are there"
            yield Skipped(place.member(name), reason, view.size - data)
            end = view.size
        body = view.sub(data, end - data)
        if name == _NAMES:
            budget.check("names_bytes", body.size, _TOO_MANY_NAMES)
            names = body.all()
        elif name in _OFFSETS and position == len(AR_MAGIC):
            furthest = _furthest_member(body, _OFFSETS[name])
            if furthest >= view.size:
                yield Skipped(place, f"truncated: its index names a member at {furthest:#x}")
        elif name not in _INDEXES:
            count += 1
            budget.check("members", count, "the archive has over {most} members")
            stored = Member(place.member(name), body, end)
            yield _thin_member(view, place, name, budget) if thin else stored
        position = end + end % 2


def is_thin(view: ByteView) -> bool:
    """Return whether an archive only names its members, which are separate files next to it."""
    return view.peek(0, len(THIN_MAGIC)) == THIN_MAGIC


def self_contained(view: ByteView, place: Location, budget: Budget) -> bytes:
    """Return the bytes of an archive; for a thin one, of an archive with its members inside.

    Unreadable members are left out.
    """
    if not is_thin(view):
        return view.all()
    names, bodies = b"", b""
    for member in members(view, place, place, budget):
        if isinstance(member, Member):
            bodies += _member(f"/{len(names)}", member.view.all())
            names += member.place.innermost.encode("utf-8", "surrogateescape") + b"/\n"
    return AR_MAGIC + _member(_NAMES, names) + bodies


def _member(name: str, data: bytes) -> bytes:
    """A member with its header."""
    head = f"{name:16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(data):<10}`\n"
    return head.encode("ascii") + data + b"\n" * (len(data) % 2)


def _header(view: ByteView, position: int, names: bytes, budget: Budget) -> tuple[str, int, int]:
    """Name and size of the member at ``position``, and the offset of its data."""
    header = view.read(position, _HEADER_SIZE)
    if not header.endswith(b"`\n"):
        raise Malformed("a member header does not end in a back quote and a line feed")
    digits = header[48:58].strip()
    if not digits.isdigit():
        raise Malformed(f"a member size is {digits!r}, not a number")
    name, size = header[:16].decode("utf-8", "surrogateescape").rstrip(" "), int(digits)
    data = position + _HEADER_SIZE
    if name.startswith("#1/") and name[3:].isdecimal():
        length = int(name[3:])
        if length > size:
            raise Malformed(f"a member of {size} bytes begins with a name of {length} bytes")
        if length > budget.limits.text_bytes:
            raise Malformed(f"a member's name has {length} bytes, which is over Limits.text_bytes")
        raw = view.read(data, length).rstrip(b"\0")
        return raw.decode("utf-8", "surrogateescape"), size - length, data + length
    if name in _INDEXES or name == _NAMES:
        return name, size, data
    if name.startswith("/") and name[1:].isdecimal():
        return _long_name(names, int(name[1:])), size, data
    return name.removesuffix("/"), size, data


def _furthest_member(index: ByteView, number: str) -> int:
    """The largest offset in an index of symbols; 0 if it has none."""
    width = struct.calcsize(number)
    data = index.peek(0, _INDEX_BYTES)
    end = min(int.from_bytes(data[:width], "big") + 1, len(data) // width) * width
    return max((offset for (offset,) in struct.iter_unpack(number, data[width:end])), default=0)


def _long_name(names: bytes, offset: int) -> str:
    """A name from the table: ended by a slash and a line feed (GNU) or by NUL (COFF)."""
    if offset >= len(names):
        raise Malformed(f"a member's name is at {offset}, but the names end at {len(names)}")
    raw = names[offset : offset + 4096].partition(b"\n")[0].partition(b"\0")[0]
    return raw.removesuffix(b"/").decode("utf-8", "surrogateescape")


def _thin_member(view: ByteView, place: Location, name: str, budget: Budget) -> Member | Skipped:
    """A member of a thin archive, which keeps only a path, relative to its own folder.

    All of them count as bytes that the archive unpacks to: it may name one file many times.
    """
    member = place.member(name)
    path = os.path.join(os.path.dirname(place.path), name)
    try:
        # Bytes that come through a pipe, or are a program's, lie beside nothing.
        if place.path == "-" or place.members or isinstance(view.source, MemorySource):
            return Skipped(member, "a thin archive names it, but its folder has no such file")
        source = OpenedFile(open_regular(path))
    except (OSError, ValueError):
        return Skipped(member, f"a thin archive names it, but {path!r} can't be read")
    try:
        budget.check_room(source.size)
    except LimitExceeded as error:
        return Skipped(member, str(error), source.size, error.limit)
    budget.unpacked += source.size
    return Member(member, ByteView(source))

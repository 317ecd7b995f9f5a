"""The notes of generation-2 cubins: which tools made the file, and for which virtual architecture.

An ELF note of name ``NVIDIA Corp``. Type 2000 (``.note.nv.tkinfo``, 12.8 and later), one a tool,
newest first: u32 version, then five u32 offsets into the string table that follows (object, tool,
version text, build, command line). Type 1000: ``.note.nv.cuinfo`` (13.0 and later; u16 2, u16
virtual SM, u16 toolkit) or ``.note.nv.cuver`` (12.8, 12.9; u16 1, u16 virtual SM, no toolkit).
"""

from __future__ import annotations

import functools
import re
import struct

from msgspec import Struct

from ltocompat.files.byteview import occurrences

OWNER = b"NVIDIA Corp\0"
_HEAD = struct.Struct("<III12s")
_HEAD_TO_OWNER = 12
_TKINFO = struct.Struct("<6I")
_CUINFO = struct.Struct("<HHH")
_TYPE_TKINFO = 2000
_TYPE_CUINFO = 1000
_CUINFO_FORM = 2
_CUDA_VERSION = re.compile(r"release ([0-9]{1,9}\.[0-9]{1,9}), V([0-9]{1,9}(?:\.[0-9]{1,9})+)")
_ARCH_OPTION = re.compile(
    r"(?:^|\s)(?:-arch|--gpu-name|-arch=)\s*=?\s*sm_[0-9]{1,9}([af]?)(?:\s|$)"
)


class ToolNote(Struct, frozen=True):
    """One tool that worked on the cubin.

    Attributes:
        tool: ``ptxas``, ``nvlink``, ``finalizer``, ``nvasm_internal``.
        version: full version, e.g. ``13.0.88``; None if the text has none.
        command: its command line.
    """

    tool: str
    version: str | None
    command: str


class Notes(Struct, frozen=True):
    """All notes of one cubin.

    Attributes:
        tools: the tools, newest first, as in the file.
        virtual: number of the virtual architecture; None if not recorded.
        toolkit: 10 * major + minor of the compiler by the cuinfo note; None if not recorded.
        end: offset of the end of the last note, in bytes.
    """

    tools: tuple[ToolNote, ...]
    virtual: int | None
    toolkit: int | None
    end: int

    @classmethod
    def parse(cls, data: bytes, start: int = 0) -> Notes:
        """Read consecutive notes from ``start`` on."""
        tools: list[ToolNote] = []
        virtual = toolkit = None
        position = start
        while (note := _note(data, position)) is not None:
            kind, description, position = note
            if kind == _TYPE_TKINFO:
                tools.append(_tool(description))
            elif len(description) >= _CUINFO.size:
                form, virtual, code = _CUINFO.unpack_from(description)
                toolkit = code if form == _CUINFO_FORM else None
        return cls(tuple(tools), virtual, toolkit, position)

    @classmethod
    def find(cls, data: bytes) -> Notes | None:
        """Find the notes in the first bytes of a cubin, without its section table.

        They are contiguous: the tools, then the architecture. The result is None if they are not
        completely within ``data``, with further bytes after them.
        """
        for position in occurrences(OWNER, data):
            first = position - _HEAD_TO_OWNER
            notes = cls.parse(data, first) if first >= 0 else None
            if notes is not None and notes.tools:
                head = data[notes.end : notes.end + _HEAD.size]
                # Where another note begins there, or too few bytes are there, they may go on.
                return None if len(head) < _HEAD.size or head.endswith(OWNER) else notes
        return None

    def suffix(self) -> str:
        """Return the architecture's suffix in the newest tool's options: ``""``, ``a`` or ``f``."""
        match = _ARCH_OPTION.search(self.tools[0].command) if self.tools else None
        return match[1] if match else ""


NO_NOTES = Notes((), None, None, 0)


def _note(data: bytes, position: int) -> tuple[int, bytes, int] | None:
    """Type, description and end of the note at ``position``, None when there is no such note."""
    start = position + _HEAD.size
    if start > len(data):
        return None
    name_size, size, kind, owner = _HEAD.unpack_from(data, position)
    if name_size != len(OWNER) or owner != OWNER or kind not in (_TYPE_TKINFO, _TYPE_CUINFO):
        return None
    if start + size > len(data):
        return None
    return kind, data[start : start + size], start + (size + 3) // 4 * 4


@functools.lru_cache(maxsize=1024)
def _tool(description: bytes) -> ToolNote:
    if len(description) < _TKINFO.size:
        return ToolNote("", None, "")
    offsets = _TKINFO.unpack_from(description)[2:]
    strings = description[_TKINFO.size :]
    tool, version, _, command = (
        strings[offset : max(strings.find(b"\0", offset), offset)].decode("utf-8", "replace")
        for offset in offsets
    )
    match = _CUDA_VERSION.search(version)
    return ToolNote(tool, match[2] if match else None, command.strip())

"""``.note.cuda.fwd_compatibility`` of a libcuda: with which kernel drivers it works.

One ELF note, owner ``NVIDIA Corporation``, whose description is JSON: ``{"format":1,
"CUDA version":"13.0","driver":[535,550,565,570,575,580],"device":[1,2,7,8,9,10,11,12,13,14]}`` is
that of cuda-compat-13-0 (580.95.05, by ``readelf -p``, 2026-11-21), and of the driver 580.159.04:
a driver's own libcuda has it too. NVIDIA's container toolkit reads it, in any case of letters
(``cmd/nvidia-cdi-hook/cudacompat/cuda-elf-header.go``); both fields of the note may be padded.
"""

from __future__ import annotations

import json
import struct

from ltocompat.files.byteview import ByteView
from ltocompat.files.objects import elf
from ltocompat.model.arch import Release
from ltocompat.model.errors import LtocompatError, Malformed
from ltocompat.model.limits import KIB, Budget
from ltocompat.targets.linkers.machine import Machine
from ltocompat.targets.machine.environment import CompatNote
from ltocompat.targets.machine.objects import viewed

_SECTION = ".note.cuda.fwd_compatibility"
_OWNER = b"NVIDIA Corporation"
_HEADER = struct.Struct("<III")
_MOST_BYTES = 64 * KIB


def compat_note(machine: Machine, path: str) -> CompatNote | None:
    """The note of the library at ``path``; None where it has none.

    Raises:
        UnreadableInput: the file can't be opened.
        Malformed: it is no ELF file, or its note is broken.
    """
    with viewed(machine, path) as view:
        tables = elf.read_tables(view, Budget())
        if tables is None:
            raise Malformed("it is no ELF file")
        for header in tables.headers:
            if header.name == _SECTION and header.kind == "SHT_NOTE":
                return _parsed(view.sub(header.offset, min(header.size, _MOST_BYTES)))
    return None


def _parsed(view: ByteView) -> CompatNote | None:
    name_size, size, _ = view.unpack(_HEADER, 0)
    if view.peek(_HEADER.size, name_size).rstrip(b"\0") != _OWNER:
        return None
    # The description is aligned to 4 or to 8 bytes; its text starts with a brace.
    rest = view.peek(_HEADER.size + name_size, size + 8)
    text = rest[rest.find(b"{") :][:size].split(b"\0", 1)[0]
    try:
        value = json.loads(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise Malformed(f"the note {_SECTION} is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise Malformed(f"the note {_SECTION} is no JSON object")
    table = {name.lower(): part for name, part in value.items()}
    form = table.get("format")
    return CompatNote(
        form if isinstance(form, int) else None,
        _release(table.get("cuda version")),
        _numbers(table.get("driver")),
        _numbers(table.get("device")),
    )


def _release(value: object) -> Release | None:
    try:
        return Release.parse(value) if isinstance(value, str) else None
    except LtocompatError:
        return None


def _numbers(value: object) -> tuple[int, ...]:
    return (
        tuple(number for number in value if isinstance(number, int))
        if isinstance(value, list)
        else ()
    )

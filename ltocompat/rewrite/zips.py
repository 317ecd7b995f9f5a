"""Write a zip archive anew with some members replaced; all others are copied byte by byte.

Written with ``zipfile``, whose directory is that of every installer. It has no call to copy the
packed bytes of a member: they are written behind a header that its ``ZipInfo`` makes, and join its
public list of members.
"""

from __future__ import annotations

import copy
import lzma
import os
import struct
import zipfile
import zlib
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from io import BufferedReader, BytesIO
from typing import BinaryIO, cast

from ltocompat.files.archives.zip import DESCRIPTOR, entries, find_end
from ltocompat.files.byteview import ByteView, FileSource
from ltocompat.model.errors import Malformed, UnreadableInput, readable
from ltocompat.model.failure import OnStep
from ltocompat.model.limits import MIB

# The new bytes of a member, or the path of a file that has them.
Content = bytes | str

_LOCAL = struct.Struct("<26x2H")
# Errors of ``zipfile`` for a damaged archive or an unknown compression.
BROKEN = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(EOFError, RuntimeError, ValueError),
)


def opened_zip(path: str) -> zipfile.ZipFile:
    """Open an archive to read it.

    Raises:
        UnreadableInput: it is not an archive, is damaged, or has two members with one name.
    """
    with ExitStack() as stack:
        with readable(repr(path), OSError, Malformed, *BROKEN):
            archive = stack.enter_context(zipfile.ZipFile(path))
            view = ByteView(FileSource(cast(BinaryIO, archive.fp).fileno()))
            list(entries(view, find_end(view)))  # zipfile passes over damage of the directory
        if len(archive.NameToInfo) != len(archive.filelist):
            raise UnreadableInput(f"{path!r} has members with equal names; unpack and repack it")
        stack.pop_all()
    return archive


def content_of(archive: zipfile.ZipFile, name: str) -> bytes:
    """Read a member.

    Raises:
        UnreadableInput: it can't be.
    """
    with readable(f"{name!r} of {archive.filename!r}", OSError, *BROKEN):
        return archive.read(name)


def opened_content(content: Content) -> BytesIO | BufferedReader:
    """Open a new content to read it."""
    return BytesIO(content) if isinstance(content, bytes) else open(content, "rb")


def write_zip(
    source: zipfile.ZipFile,
    file: BinaryIO,
    replaced: Mapping[str, Content],
    left_out: Collection[str] = (),
    report: OnStep = lambda *_: None,
) -> None:
    """Write the members of ``source``, in their order, into an open empty file.

    A replaced member keeps its place, date, mode and method of compression; the same input gives
    the same bytes. Compressed bytes of other members are copied.

    Raises:
        UnreadableInput: a member of the source does not lie where its directory says.
    """
    with zipfile.ZipFile(file, "w") as archive:
        archive.comment = source.comment
        for info in source.infolist():
            if info.filename in left_out:
                continue
            new = copy.copy(info)
            new.extra = b""  # sizes of 64 bits, written anew, and finer dates
            if info.filename in replaced:
                _add(archive, new, replaced[info.filename], report)
            else:
                _copy(source, archive, new)


def _add(archive: zipfile.ZipFile, info: zipfile.ZipInfo, content: Content, report: OnStep) -> None:
    with opened_content(content) as data:
        info.file_size = data.seek(0, os.SEEK_END)  # which tells how wide its fields have to be
        data.seek(0)
        with archive.open(info, "w") as member:
            while chunk := data.read(MIB):
                member.write(chunk)
                report(f"writing {info.filename}", data.tell(), info.file_size)


def _copy(source: zipfile.ZipFile, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> None:
    fresh, into = cast(BinaryIO, source.fp), cast(BinaryIO, archive.fp)
    with readable(f"{info.filename!r} of {source.filename!r}", *BROKEN):
        fresh.seek(info.header_offset)
        name, extra = _LOCAL.unpack(fresh.read(_LOCAL.size))
        fresh.seek(info.header_offset + _LOCAL.size + name + extra)
    info.flag_bits &= ~DESCRIPTOR
    into.seek(archive.start_dir)
    info.header_offset = archive.start_dir
    into.write(info.FileHeader())
    left = info.compress_size
    while left:
        chunk = fresh.read(min(left, MIB))
        if not chunk:
            raise UnreadableInput(f"{source.filename!r} ends in the middle of {info.filename!r}")
        into.write(chunk)
        left -= len(chunk)
    archive.filelist.append(info)
    archive.NameToInfo[info.filename] = info
    archive.start_dir = into.tell()

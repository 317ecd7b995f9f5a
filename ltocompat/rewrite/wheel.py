"""Write a wheel anew with some members replaced, and a RECORD that is right for them.

Source: packaging.python.org, "Binary distribution format" and "Recording installed projects".
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import zipfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import BinaryIO

from ltocompat.files.output import created
from ltocompat.model.errors import UnreadableInput
from ltocompat.model.failure import OnStep
from ltocompat.rewrite.zips import Content, content_of, opened_content, opened_zip, write_zip

_SIGNATURES = (".jws", ".p7s")  # behind the name of the RECORD


@contextmanager
def new_wheel(
    source: str, target: str, replaced: Mapping[str, Content], report: OnStep = lambda *_: None
) -> Iterator[BinaryIO]:
    """Write a wheel, which gets its name once the ``with`` statement succeeds.

    RECORD gets new lines for replaced members, and signatures of the old RECORD are left out
    (``signatures``). Members keep their order, dates, modes and compression.

    Args:
        source: path of the wheel, which is not changed.
        target: path of the new wheel, which must not exist.
        replaced: names of members, including METADATA and WHEEL -> their new contents.
        report: called while members are compressed.

    Yields:
        The written file, open and unnamed, for a check of the result.

    Raises:
        UnreadableInput: the source is not a wheel, or is broken.
        LtocompatError: the target lies there already, or can't be written.
    """
    with opened_zip(source) as archive:
        name = record_name(archive)
        gone = signatures(archive)
        record = renewed_record(content_of(archive, name), replaced, gone)
        with created(target) as file:
            write_zip(archive, file, {**replaced, name: record}, gone, report)
            file.flush()
            yield file


def record_name(archive: zipfile.ZipFile) -> str:
    """Return the name of a wheel's RECORD.

    Raises:
        UnreadableInput: it has none, or several.
    """
    names = [
        name
        for name in archive.NameToInfo
        if name.count("/") == 1 and name.endswith(".dist-info/RECORD")
    ]
    if len(names) != 1:
        raise UnreadableInput(
            f"{archive.filename!r} has {len(names)} files *.dist-info/RECORD instead of one"
        )
    return names[0]


def signatures(archive: zipfile.ZipFile) -> tuple[str, ...]:
    """Return the names of signatures, which a new RECORD invalidates."""
    names = [record_name(archive) + end for end in _SIGNATURES]
    return tuple(name for name in names if name in archive.NameToInfo)


def renewed_record(
    old: bytes, replaced: Mapping[str, Content], gone: Collection[str] = ()
) -> bytes:
    """Return a RECORD with new lines for replaced members.

    Other lines stay unchanged, including wrong ones.
    """
    new = {name: _hashed(content) for name, content in replaced.items()}
    text = io.StringIO(old.decode("utf-8", "surrogateescape"), newline="")
    # Some tools of Windows write backslashes (catboost 0.25).
    rows = [(row[0].replace("\\", "/"), row) for row in csv.reader(text) if row]
    if not {name for name, _ in rows} & {*new, *gone}:
        return old
    lines = [[row[0], *new.get(name, row[1:])] for name, row in rows if name not in gone]
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n" if b"\r\n" in old else "\n").writerows(lines)
    return text.getvalue().encode("utf-8", "surrogateescape")


def _hashed(content: Content) -> list[str]:
    with opened_content(content) as file:
        digest = hashlib.file_digest(file, "sha256").digest()
        size = file.seek(0, os.SEEK_END)
    return ["sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode(), str(size)]

"""Write a file, wheel, zip, or folder anew, with some of the libraries in it rewritten.

Each is written under no name, or beside where it goes, and gets its name when all is proved.
"""

from __future__ import annotations

import os
import shutil
import stat
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import IO, BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.files.archives import container_of
from ltocompat.files.archives.folder import DIST_INFO
from ltocompat.files.byteview import ByteView, FileSource
from ltocompat.files.first_bytes import is_ar
from ltocompat.files.objects import read_host
from ltocompat.files.output import created, scratch_folder, writing
from ltocompat.model.errors import LtocompatError, Malformed, UnreadableInput
from ltocompat.model.limits import MIB, Budget, Limits
from ltocompat.model.location import Location
from ltocompat.packages.zip_members import ZipMember, may_hold_device_code
from ltocompat.rewrite.wheel import new_wheel, renewed_record, signatures, with_build
from ltocompat.rewrite.zips import Content, content_of, opened_content, opened_zip, write_zip
from ltocompat.scan.walk import opened

Rewrite = Callable[[ByteView, Location, BinaryIO], bool]
"""Writes a library anew and proves it; returns whether anything in it is another."""


class Written(Struct, frozen=True):
    """What was written.

    Attributes:
        path: where it lies.
        size: bytes of what was named; of a folder, of the files in it.
        new_size: bytes of the new one.
        files: files that were changed.
        void: signatures that were left out.
    """

    path: str
    size: int
    new_size: int
    files: int
    void: tuple[str, ...] = ()


@contextmanager
def written(
    path: str, target: str, rewrite: Rewrite, build: str | None, limits: Limits
) -> Iterator[Written]:
    """Write a path anew, which gets its name once the ``with`` statement ends well.

    Args:
        path: a file, a wheel or another zip, or a folder.
        target: path of the new one, where nothing lies yet.
        rewrite: writes the libraries.
        build: number of the build that a wheel gets, in its name too; None for none.
        limits: what reading it may cost.

    Raises:
        UnreadableInput: it can't be read, or is of no kind that is written here.
        LtocompatError: the target lies there already, or can't be written.
    """
    if os.path.isdir(path):
        kind = _folder(path, target, rewrite)
    elif zipfile.is_zipfile(path) and not path.endswith(".conda"):
        kind = _zip(path, target, rewrite, build, limits)
    else:
        kind = _file(path, target, rewrite, limits)
    with kind as found:
        yield found


@contextmanager
def _file(path: str, target: str, rewrite: Rewrite, limits: Limits) -> Iterator[Written]:
    with opened(path, limits, typed=True) as view, created(target) as file:
        if container_of(view) is not None and not is_ar(view):
            raise UnreadableInput(f"{path!r} is a container that is not written here; unpack it")
        changed = rewrite(view, Location(path), file)
        if hasattr(os, "fchmod"):  # which Windows has not
            os.fchmod(file.fileno(), stat.S_IMODE(os.stat(path).st_mode))
        yield Written(target, view.size, view.size, int(changed))


@contextmanager
def _zip(
    path: str, target: str, rewrite: Rewrite, build: str | None, limits: Limits
) -> Iterator[Written]:
    budget = Budget(replace(limits, seconds=100 * limits.seconds))  # each library has its own time
    with scratch_folder() as scratch, opened_zip(path) as archive, ExitStack() as stack:
        changed: dict[str, Content] = {}
        for info in archive.infolist():
            if may_hold_device_code([ZipMember(info.filename, info.file_size)]):
                budget.check_unpacked(info.compress_size, info.file_size)
                budget.check_room(info.file_size)
                place = Location(path).member(info.filename)
                new = _member(archive, info, place, scratch, rewrite)
                changed |= {} if new is None else {info.filename: new}
        count = len(changed)
        wheel = [name for name in archive.namelist() if name.endswith(".dist-info/WHEEL")]
        void = signatures(archive) if wheel else ()
        if build and wheel:
            folder, name = os.path.split(target)
            new_name, changed[wheel[0]] = with_build(
                os.path.basename(path), content_of(archive, wheel[0]), build
            )
            if name == os.path.basename(path):  # which was not typed
                target = os.path.join(folder, new_name)
        if wheel:
            file = stack.enter_context(new_wheel(path, target, changed))
        else:
            file = stack.enter_context(created(target))
            write_zip(archive, file, changed)
        _prove(file, changed)
        yield Written(target, os.path.getsize(path), file.seek(0, os.SEEK_END), count, void)


def _member(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, place: Location, scratch: str, rewrite: Rewrite
) -> str | None:
    """The path of a member's new content; None where it stays as it is."""
    try:
        with archive.open(info) as source:
            return _rewritten(source, place, scratch, rewrite)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError) as error:
        raise UnreadableInput(f"{place} can't be read: {error}") from error


def _rewritten(source: IO[bytes], place: Location, scratch: str, rewrite: Rewrite) -> str | None:
    """The path of the new content of a library; None where it stays, or is none."""
    new = os.path.join(scratch, str(len(os.listdir(scratch))))
    with open(os.path.join(scratch, "old"), "w+b") as old, open(new, "w+b") as file:
        shutil.copyfileobj(source, old, MIB)
        old.flush()
        view = ByteView(FileSource(old.fileno()))
        changed = _may_be_rewritten(view) and rewrite(view, place, file)
    if not changed:
        os.unlink(new)
    return new if changed else None


def _may_be_rewritten(view: ByteView) -> bool:
    try:
        return is_ar(view) or read_host(view, Budget()) is not None
    except Malformed:
        return False


def _prove(file: BinaryIO, changed: Mapping[str, Content]) -> None:
    """Read the members that were replaced again.

    Raises:
        LtocompatError: one is not what was to be written.
    """
    with zipfile.ZipFile(file) as archive:
        for name, content in changed.items():
            with archive.open(name) as member, opened_content(content) as expected:
                while chunk := member.read(MIB):
                    if chunk != expected.read(len(chunk)):
                        raise LtocompatError(f"{name!r} was not written as it should be; run again")


@contextmanager
def _folder(path: str, target: str, rewrite: Rewrite) -> Iterator[Written]:
    part = f"{target}.{os.urandom(4).hex()}.part"
    with scratch_folder() as scratch, writing(target):
        if os.path.lexists(target):
            raise LtocompatError(f"{target!r} is there already; name a new folder")
        changed, size = _changes(path, scratch, rewrite)
        try:
            shutil.copytree(path, part, symlinks=True)
            for name, content in changed.items():
                _put(content, os.path.join(part, name))
            yield Written(target, size, size, len(changed))
            os.rename(part, target)
        finally:
            shutil.rmtree(part, ignore_errors=True)


@contextmanager
def written_in_place(path: str, backup: str, rewrite: Rewrite) -> Iterator[Written]:
    """Replace files of a folder, once the ``with`` statement ends well.

    Args:
        path: the folder, such as an environment.
        backup: a new folder that gets the files as they were, by which they come back.
        rewrite: writes the libraries.

    Raises:
        LtocompatError: the backup lies there already, or something can't be written.
    """
    with scratch_folder() as scratch, writing(backup):
        changed, size = _changes(path, scratch, rewrite)
        os.makedirs(backup)
        yield Written(backup, size, size, len(changed))
        for name in changed:
            os.makedirs(os.path.dirname(os.path.join(backup, name)), exist_ok=True)
            shutil.copy2(os.path.join(path, name), os.path.join(backup, name))
        for name, content in changed.items():
            _put(content, os.path.join(path, name))


def _put(content: str, path: str) -> None:
    """Give a file another content, and leave other names of the old one alone."""
    beside = f"{path}.{os.urandom(4).hex()}.part"
    shutil.copyfile(content, beside)
    shutil.copymode(path, beside)
    os.replace(beside, path)


def _changes(folder: str, scratch: str, rewrite: Rewrite) -> tuple[dict[str, str], int]:
    """New contents of files below a folder, those of each RECORD that lists one; bytes of all."""
    changed: dict[str, str] = {}
    found = (os.path.join(top, name) for top, _, names in os.walk(folder) for name in names)
    files = [path for path in sorted(found) if os.path.isfile(path) and not os.path.islink(path)]
    for path in files:
        with open(path, "rb") as source:
            new = _rewritten(source, Location(path), scratch, rewrite)
        if new is not None:
            changed[os.path.relpath(path, folder)] = new
    for path in files:
        info, end = os.path.split(path)
        if end == "RECORD" and info.endswith(DIST_INFO):
            site = os.path.dirname(info)
            inside = {
                os.path.relpath(os.path.join(folder, name), site).replace(os.sep, "/"): content
                for name, content in changed.items()
            }
            with open(path, "rb") as file:
                old = file.read()
            data = renewed_record(old, inside)
            if data != old:
                changed[os.path.relpath(path, folder)] = _kept_in(scratch, data)
    return changed, sum(map(os.path.getsize, files))


def _kept_in(scratch: str, data: bytes) -> str:
    path = os.path.join(scratch, str(len(os.listdir(scratch))))
    with open(path, "wb") as file:
        file.write(data)
    return path

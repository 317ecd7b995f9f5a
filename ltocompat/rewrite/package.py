"""Write a file, wheel, zip, or folder anew, with some of the libraries in it rewritten.

Each is written under no name, or beside where it goes, and gets its name when all is proved.
"""

from __future__ import annotations

import os
import shutil
import stat
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import BinaryIO

from msgspec import Struct

from ltocompat.files.archives import container_of, split_program
from ltocompat.files.first_bytes import is_ar
from ltocompat.files.output import created, folder_beside, name_beside, scratch_folder, writing
from ltocompat.model.errors import LtocompatError, UnreadableInput, UsageError
from ltocompat.model.limits import DEFAULT_LIMITS, MIB, Budget, Limits
from ltocompat.model.location import Location
from ltocompat.packages.zip_members import ZipMember, may_hold_device_code
from ltocompat.rewrite.libraries import Libraries, Rewrite
from ltocompat.rewrite.wheel import new_wheel, signatures
from ltocompat.rewrite.wheel_edits import with_build
from ltocompat.rewrite.zips import Content, content_of, opened_content, opened_zip, write_zip
from ltocompat.scan.walk import ScanSettings, opened

_PAGE = 4096  # bytes of the smallest hole


class Written(Struct, frozen=True):
    """What was written.

    Attributes:
        path: the path.
        size: size in bytes before the change; for a folder, the size of its files.
        new_size: size in bytes after the change.
        files: libraries that were changed.
        void: signatures that were left out.
    """

    path: str
    size: int
    new_size: int
    files: int
    void: tuple[str, ...] = ()


def is_packed(path: str) -> bool:
    """Return whether a file is compressed as a whole, so that zeros in it take no space."""
    return _is_zip(path) or path.endswith(".tar.bz2")


def _is_zip(path: str) -> bool:
    """Return whether a file is a zip from its first byte on; bytes before it would be lost."""
    with suppress(OSError), open(path, "rb") as file:
        return file.read(2) == b"PK" and zipfile.is_zipfile(path)
    return False


def written(
    path: str, target: str, rewrite: Rewrite, build: str | None, settings: ScanSettings
) -> AbstractContextManager[Written]:
    """Rewrite a path; the result gets its name once the ``with`` statement succeeds.

    Args:
        path: a file, a wheel or another zip, a conda package, or a folder.
        target: path of the result, which must not exist.
        rewrite: writes the libraries.
        build: the build number for a wheel, also in its name; None for none.
        settings: settings for reading it, with the progress of writing.

    Raises:
        UnreadableInput: it can't be read, or is of a kind that can't be written.
        LtocompatError: the target exists, or can't be written.
    """
    if os.path.isdir(path):
        return _folder(path, target, rewrite)
    if _is_zip(path):
        return _zip(path, target, rewrite, build, settings)
    if is_packed(path):
        return _conda(path, target, rewrite, settings.limits)
    return _file(path, target, rewrite, settings.limits)


@contextmanager
def _file(path: str, target: str, rewrite: Rewrite, limits: Limits) -> Iterator[Written]:
    with opened(path, limits, typed=True) as view, created(target) as file:
        container = container_of(view) or split_program(view, Budget(limits))[1]
        if container is not None and not is_ar(view):
            raise UnreadableInput(f"{path!r} is a container that ltocompat can't write; unpack it")
        changed = rewrite(view, Location(path), file)
        if hasattr(os, "fchmod"):  # which Windows has not
            os.fchmod(file.fileno(), stat.S_IMODE(os.stat(path).st_mode))
        yield Written(target, view.size, view.size, int(changed))


@contextmanager
def _zip(
    path: str, target: str, rewrite: Rewrite, build: str | None, settings: ScanSettings
) -> Iterator[Written]:
    name = os.path.basename(path)
    conda = name.endswith(".conda")
    if conda and os.path.basename(target) != name:  # names of members repeat it
        raise UsageError(f"conda requires the file name {name!r}; give a folder for the new file")
    with scratch_folder() as scratch, opened_zip(path) as archive, ExitStack() as stack:
        stack.enter_context(opened(path, settings.limits, typed=True))  # held to its name
        libraries = Libraries(rewrite, scratch, settings.limits, sums=conda)
        changed: dict[str, Content] = {}
        wheel = [each for each in archive.namelist() if each.endswith(".dist-info/WHEEL")]
        void = signatures(archive) if wheel else ()
        if build and wheel:
            folder, typed = os.path.split(target)
            new_name, changed[wheel[0]] = with_build(name, content_of(archive, wheel[0]), build)
            if typed == name:
                target = os.path.join(folder, new_name)
        # The archive with the sums of a conda package comes last.
        for info in sorted(archive.infolist(), key=lambda info: info.filename.startswith("info-")):
            if may_hold_device_code([ZipMember(info.filename, info.file_size)]):
                new = libraries.of_zip(archive, info, Location(path).member(info.filename))
                changed |= {} if new is None else {info.filename: new}
        if wheel:
            file = stack.enter_context(new_wheel(path, target, changed, settings.report))
        else:
            file = stack.enter_context(created(target))
            write_zip(archive, file, changed, report=settings.report)
        _prove(file, changed)
        yield Written(
            target, os.path.getsize(path), file.seek(0, os.SEEK_END), libraries.count, void
        )


@contextmanager
def _conda(path: str, target: str, rewrite: Rewrite, limits: Limits) -> Iterator[Written]:
    """Write a conda package of the first format, which is one archive."""
    with scratch_folder() as scratch, opened(path, limits, typed=True) as view:
        libraries = Libraries(rewrite, scratch, limits, sums=True)
        new = libraries.of_archive(view, Location(path)) or path
        with created(target) as file, open(new, "rb") as content:
            shutil.copyfileobj(content, file, MIB)
            yield Written(target, view.size, file.tell(), libraries.count)


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
                        raise LtocompatError(f"{name!r} was not written correctly; run again")


@contextmanager
def _rewritten(
    path: str, target: str, rewrite: Rewrite
) -> Iterator[tuple[Mapping[str, Content], Written, str]]:
    """New contents of files of a folder, what is written, and a path for it until it is whole.

    Raises:
        LtocompatError: the target is there already, or can't be written.
    """
    with scratch_folder() as scratch, writing(target):
        libraries = Libraries(rewrite, scratch, DEFAULT_LIMITS, sums=True)
        changed, size = libraries.of_folder(path)
        with folder_beside(target) as part:
            found = Written(target, size, size, libraries.count)
            yield changed, found, os.path.join(part, os.path.basename(target))


@contextmanager
def _folder(path: str, target: str, rewrite: Rewrite) -> Iterator[Written]:
    with _rewritten(path, target, rewrite) as (changed, found, new):
        shutil.copytree(path, new, symlinks=True)
        for name, content in changed.items():
            _put(content, os.path.join(new, name))
        yield found
        os.rename(new, target)


@contextmanager
def written_in_place(path: str, backup: str, rewrite: Rewrite) -> Iterator[Written]:
    """Replace files of a folder once the ``with`` statement succeeds.

    Args:
        path: the folder, such as an environment.
        backup: a new folder for the original files; all of them are copied before the first is
            replaced.
        rewrite: writes the libraries.

    Raises:
        LtocompatError: the backup exists, or something can't be written.
    """
    with _rewritten(path, backup, rewrite) as (changed, found, new):
        yield found
        for name in changed:
            os.makedirs(os.path.dirname(os.path.join(new, name)), exist_ok=True)
            shutil.copy2(os.path.join(path, name), os.path.join(new, name))
        if changed:
            os.rename(new, backup)
        for name, content in changed.items():
            _put(content, os.path.join(path, name))


def _put(content: Content, path: str) -> None:
    """Give a file another content, and leave other names of the old one alone."""
    beside = name_beside(path)
    with opened_content(content) as new, created(beside) as file:
        while page := new.read(_PAGE):  # zeros become holes, as they are in what is read
            file.write(page) if page.strip(b"\0") else file.seek(len(page), os.SEEK_CUR)
        file.truncate()
    shutil.copymode(path, beside)
    os.replace(beside, path)

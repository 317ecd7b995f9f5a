"""Write the libraries of one package anew, and the lists that have their sums."""

from __future__ import annotations

import os
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator
from typing import BinaryIO

from msgspec.structs import replace

from ltocompat.files.archives.folder import DIST_INFO
from ltocompat.files.archives.tar import members
from ltocompat.files.archives.unpacking import unpacked
from ltocompat.files.byteview import ByteView, FileSource, chunks, digest_of
from ltocompat.files.codec import Input
from ltocompat.files.first_bytes import Packing, is_ar, packing_of
from ltocompat.files.objects import read_host
from ltocompat.model.errors import LtocompatError, Malformed, UnreadableInput, readable
from ltocompat.model.image import Skipped
from ltocompat.model.limits import MIB, Budget, Limits
from ltocompat.model.location import Location
from ltocompat.packages.conda import PATHS
from ltocompat.packages.zip_members import ZipMember, may_hold_device_code
from ltocompat.rewrite.wheel import renewed_record
from ltocompat.rewrite.zips import BROKEN, Content, opened_content

_LEVEL = 19  # of Zstandard, as conda packs by default
_SHA256 = re.compile(rb"\b[0-9a-f]{64}\b")

# Writes a library anew and verifies it; returns whether anything in it changed.
Rewrite = Callable[[ByteView, Location, BinaryIO], bool]


class Libraries:
    """Rewrites the libraries of one package.

    Args:
        rewrite: writes one of them.
        scratch: an empty folder for new files.
        limits: bounds for reading the package; each library has its own time.
        sums: True if a list in the package has the SHA-256 of files.

    Attributes:
        count: number of changed libraries.
    """

    def __init__(self, rewrite: Rewrite, scratch: str, limits: Limits, *, sums: bool) -> None:
        self.count = 0
        self._rewrite, self._scratch, self._sums = rewrite, scratch, sums
        self._budget = Budget(replace(limits, seconds=100 * limits.seconds))
        self._digests: dict[bytes, bytes] = {}

    def rewritten(self, old: BinaryIO, place: Location) -> str | None:
        """Return the path of a library's new content; None if it is unchanged or no library."""
        view = ByteView(FileSource(old.fileno()))
        if not _may_be_rewritten(view):
            return None
        new = self._new_path()
        with open(new, "w+b") as file:
            if not self._rewrite(view, place, file):
                os.unlink(new)
                return None
            self.count += 1
            if self._sums:
                self._digests[_hex_digest(old)] = _hex_digest(file)
        return new

    def of_zip(
        self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, place: Location
    ) -> str | None:
        """Return the path of a member's new content; None if it is unchanged."""
        self._budget.check_unpacked(info.compress_size, info.file_size)
        self._budget.check_room(info.file_size)
        with open(os.path.join(self._scratch, "old"), "w+b") as old:
            with readable(str(place), *BROKEN), archive.open(info) as source:
                shutil.copyfileobj(source, old, MIB)
            old.flush()
            if place.path.endswith(".conda") and info.filename.endswith(".tar.zst"):
                return self.of_archive(ByteView(FileSource(old.fileno())), place)
            return self.rewritten(old, place)

    def of_folder(self, folder: str) -> tuple[dict[str, Content], int]:
        """Return new contents of files and of checksum lists, and the bytes of all files."""
        changed: dict[str, Content] = {}
        found = (os.path.join(top, name) for top, _, names in os.walk(folder) for name in names)
        files = [
            path for path in sorted(found) if os.path.isfile(path) and not os.path.islink(path)
        ]
        for path in files:
            with open(path, "rb") as source:
                new = self.rewritten(source, Location(path))
            if new is not None:
                changed[os.path.relpath(path, folder)] = new
        for path in files if changed else ():
            info, end = os.path.split(path)
            record = end == "RECORD" and info.endswith(DIST_INFO)
            if not record and not (end.endswith(".json") and info.endswith("conda-meta")):
                continue
            with open(path, "rb") as file:
                old = file.read()
            site = os.path.dirname(info)
            inside = {
                os.path.relpath(os.path.join(folder, name), site).replace(os.sep, "/"): content
                for name, content in changed.items()
            }
            data = renewed_record(old, inside) if record else self._with_sums(old)
            if data != old:
                changed[os.path.relpath(path, folder)] = data
        return changed, sum(map(os.path.getsize, files))

    def of_archive(self, view: ByteView, place: Location) -> str | None:
        """Return the path of a packed archive with new libraries; None if it is unchanged.

        Libraries and their checksums in a conda package's list keep their lengths, so that no
        header of the archive changes.
        """
        packing, tar = packing_of(view), self._new_path()
        with open(tar, "w+b") as file:
            file.writelines(unpacked(Input(view), packing or Packing.GZIP, self._budget))
            file.flush()
            changes = [*self._changes(ByteView(FileSource(file.fileno())), place)]
            for start, content in changes:
                file.seek(start)
                with opened_content(content) as new:
                    shutil.copyfileobj(new, file, MIB)
            file.flush()
            return self._packed(file, packing) if changes else None

    def _changes(self, tar: ByteView, place: Location) -> Iterator[tuple[int, Content]]:
        """Where members begin that become others, and their new contents."""
        lists = []
        for member in members(tar, place, place, self._budget):
            if isinstance(member, Skipped):
                if member.place == place:
                    raise UnreadableInput(f"{place} can't be read: {member.reason}")
            elif member.place.innermost == PATHS:
                lists.append(member.view)
            elif may_hold_device_code([ZipMember(member.place.innermost, member.view.size)]):
                with open(os.path.join(self._scratch, "member"), "w+b") as old:
                    old.writelines(chunks(member.view, 0, member.view.size))
                    old.flush()
                    new = self.rewritten(old, member.place)
                yield from () if new is None else [(member.view.start, new)]
        for paths in lists if self._digests else ():
            self._budget.check_tables(paths.size)
            yield paths.start, self._with_sums(paths.all())

    def _with_sums(self, data: bytes) -> bytes:
        """A list of files with the SHA-256 of those that became others."""
        return _SHA256.sub(lambda found: self._digests.get(found[0], found[0]), data)

    def _packed(self, tar: BinaryIO, packing: Packing | None) -> str:
        """The path of an archive that is packed as it was, and was read again."""
        path = self._new_path()
        expected = _hex_digest(tar)
        tar.seek(0)
        with open(path, "w+b") as file:
            if packing is Packing.ZSTD:
                import zstandard

                packer = zstandard.ZstdCompressor(level=_LEVEL, threads=-1)
                packer.copy_stream(tar, file, size=os.fstat(tar.fileno()).st_size)
            else:
                import bz2

                with bz2.open(file, "wb") as stream:
                    shutil.copyfileobj(tar, stream, MIB)
            file.flush()
            source = Input(ByteView(FileSource(file.fileno())))
            found = digest_of(unpacked(source, packing or Packing.GZIP, self._budget))
        if found.hex().encode() != expected:
            raise LtocompatError(f"{path!r} was not written correctly; run again")
        return path

    def _new_path(self) -> str:
        return os.path.join(self._scratch, str(len(os.listdir(self._scratch))))


def _hex_digest(file: BinaryIO) -> bytes:
    view = ByteView(FileSource(file.fileno()))
    return digest_of(chunks(view, 0, view.size)).hex().encode()


def _may_be_rewritten(view: ByteView) -> bool:
    try:
        return is_ar(view) or read_host(view, Budget()) is not None
    except Malformed:
        return False

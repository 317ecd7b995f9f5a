"""Laws as readers: what is read means the same, whoever reads it and in which form.

``damage``: changed bytes never make a better verdict, or fewer images without a word (law 12).
``cuobjdump``: what NVIDIA's reader lists of the same bytes, we list. ``saved``: JSON in, the same
JSON out, and nothing moves between a file and what was saved of it. ``formats``: each agrees with
the exit code. ``baseline``: an audit is green by the baseline that was written of it.
"""

from __future__ import annotations

import bz2
import csv
import functools
import gzip
import io
import json
import lzma
import os
import random
import re
import struct
import subprocess
import tarfile
import xml.etree.ElementTree as ET
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass

import cuobjdump
import msgspec
from container_images_made import archive, docker_archive, oci_layout
from msgspec.structs import replace
from package_writer import TAR_END, conda_of, tar_header, tar_member, tar_of, zip_of

import ltocompat
from fuzz.contradictions import OF_IMAGES, contradiction
from fuzz.files import folder, written
from fuzz.readers import LIMITS, Reader, seeds
from fuzz.structure import Form, Part, fields_of, forms_of, zstd
from fuzz.verbs import no_cache
from fuzz.watch import Broken
from ltocompat.cli import run
from ltocompat.commands import check
from ltocompat.commands.comparison import saved
from ltocompat.commands.options import CheckOptions
from ltocompat.files.first_bytes import FATBIN_MAGIC, THIN_MAGIC
from ltocompat.files.images import ptx
from ltocompat.model.errors import LtocompatError, UsageError
from ltocompat.model.failure import Failure
from ltocompat.model.image import Image, ImageKind, Module, Record, Skipped
from ltocompat.model.records_v1.inspect import Inspect
from ltocompat.model.verdict import Result, Route, Verdict
from ltocompat.targets import parse

_CODE = (
    *("elf", "pe", "coff", "ar", "fatbin", "cubin", "ptx", "ltoir", "wheel", "containers"),
    *("tar", "compressed", "conda"),
)
LONGEST = 60_000
TARGETS = tuple(
    parse(
        [
            "driver=535.54.03,gpu=a100",
            "driver=580.65.06,gpu=h100,nvjitlink=13.0",
            "driver=550.54.14,gpu=h100+l4,nvjitlink=12.4",
            "driver=580.65.06,gpu=sm_120,nvjitlink=12.9",
        ]
    )
)
_TARGET_WORDS = ("--deploy-target", "driver=580.65.06,gpu=h100,nvjitlink=13.0")


# -- damage, as numbers in front of what it is done to


_STEP = struct.Struct("<BBII")
_MOST_STEPS = 3
CUT, ZERO, FILL, NOISE, DELETE, FLIP, INSERT, BEHEAD = range(8)
ZERO_SECTORS, DELETE_SECTORS, INSERT_SECTORS, JOIN, NUDGE, SIGN = range(8, 14)
_KINDS = 14
_HEAD = 24  # fields of a first header, on which the rest hangs
_SIGNS = b"/\0.\\\n :=#%"  # bytes that names and texts take for more than themselves
_MOVING = (DELETE, INSERT, BEHEAD, DELETE_SECTORS, INSERT_SECTORS)
_SHAPE = (CUT, JOIN, *_MOVING)
_SECTOR = 512


@dataclass(frozen=True, slots=True)
class Step:
    """One damage.

    Attributes:
        kind: what is done.
        depth: so many containers are opened first; their sums are right again afterwards.
        place: where, and dice.
        size: how many bytes.
    """

    kind: int
    depth: int
    place: int
    size: int

    def done_to(self, data: bytes) -> bytes:
        """Return the damaged bytes."""
        if not data:
            return data
        dice = random.Random(self.place)  # noqa: S311 - no secret
        forms = forms_of(data)
        if self.depth and forms:
            form = dice.choice(forms)
            parts = list(form.parts(data, dice))
            if parts:
                part, inner = dice.choice(parts), self.size ^ self.place >> 7
                less = Step(self.kind, self.depth - 1, inner, self.size)
                whole = bytearray(part.put(less.done_to(part.data)))
                form.finish(whole)
                return bytes(whole)
        if self.kind == JOIN:
            return data + self._other(data)
        in_sectors = ZERO_SECTORS <= self.kind < JOIN
        at, width = self._in_sectors(data) if in_sectors else self._where(data, forms)
        return self._changed(data, at, at + width)

    def _other(self, data: bytes) -> bytes:
        """What comes behind a file by mistake: itself, its end, or its beginning."""
        at = self.place % len(data)
        return (data, data[at:], data[:at])[self.size % 3]

    def _in_sectors(self, data: bytes) -> tuple[int, int]:
        """Where disks and networks lose bytes."""
        at = self.place % (len(data) // _SECTOR + 1) * _SECTOR
        size = (1, 1, 2, 4, 8, 64)[self.size % 6] * _SECTOR
        return min(at, len(data) - 1), min(size, max(len(data) - at, 1))

    def _where(self, data: bytes, forms: list[Form]) -> tuple[int, int]:
        """Half of them a field of the format, which is where structure breaks."""
        fields = fields_of(data, forms[self.place % len(forms)]) if forms else []
        if self.kind in (NUDGE, SIGN):
            fields = fields[: _HEAD if self.size & 2 else None]
        if fields and self.size & 1:
            return fields[self.place % len(fields)]
        at = self.place % len(data)
        return at, min(1 + (self.size >> 5) % (1 << (self.size >> 1 & 15)), len(data) - at)

    def _changed(self, data: bytes, at: int, end: int) -> bytes:
        width = end - at
        middle = {
            ZERO: bytes(width),
            FILL: b"\xff" * width,
            NOISE: random.Random(self.size).randbytes(width),  # noqa: S311 - no secret
            DELETE: b"",
            FLIP: bytes([data[at] ^ 1 << (self.size >> 9 & 7)]) + data[at + 1 : end],
            INSERT: bytes(width) + data[at:end],
            ZERO_SECTORS: bytes(width),
            DELETE_SECTORS: b"",
            INSERT_SECTORS: bytes(width) + data[at:end],
            NUDGE: self._nudged(data[at : min(end, at + 8)]) + data[at + 8 : end],
            SIGN: bytes([_SIGNS[(self.size >> 9) % len(_SIGNS)]]) + data[at + 1 : end],
        }
        if self.kind == CUT:
            return data[:at]
        if self.kind == BEHEAD:
            return data[at:]
        return data[:at] + middle[self.kind] + data[end:]

    def _nudged(self, number: bytes) -> bytes:
        """A number a little larger or smaller."""
        more = (1, -1, 2, -2, 3, -4, 8, 16)[self.size >> 9 & 7]
        value = (int.from_bytes(number, "little") + more) % (1 << 8 * len(number))
        return value.to_bytes(len(number), "little")


def split(data: bytes) -> tuple[list[Step], bytes]:
    """Take an input apart: damages, and what they are done to."""
    number = data[0] % (_MOST_STEPS + 1) if data else 0
    end = 1 + number * _STEP.size
    if len(data) < end:
        return [], b""
    rows = (_STEP.unpack_from(data, 1 + n * _STEP.size) for n in range(number))
    steps = [
        Step(kind if kind < _KINDS else kind % NUDGE, depth & 3, place, size)
        for kind, depth, place, size in rows
    ]
    return steps, data[end:]


def with_steps(content: bytes, dice: random.Random) -> bytes:
    """An input: newly drawn damages in front of what they are done to."""
    number = dice.choice((1, 1, 1, 2, 3))
    rows = (
        _STEP.pack(
            dice.randrange(_KINDS),
            dice.choice((0, 0, 0, 1, 1, 2, 3)),
            dice.choice((dice.randrange(256), dice.randrange(1 << 32))),
            dice.randrange(1 << 32),
        )
        for _ in range(number)
    )
    return bytes([number]) + b"".join(rows) + content


def damaged(data: bytes) -> tuple[bytes, bytes]:
    """Return what an input is before its damages, and after."""
    steps, content = split(data)
    after = content
    for step in steps:
        after = step.done_to(after)[: LONGEST * 4]
    return content, after


def _parts(data: bytes, dice: random.Random) -> Iterator[Part]:
    """Seldom what is damaged itself, which then is another sound file, or none."""
    if dice.random() < 0.3:
        yield Part(split(data)[1], lambda new: with_steps(new, dice))


def _rearrange(data: bytes, dice: random.Random) -> bytes:
    return with_steps(split(data)[1], dice)


def _fields(data: bytes) -> Iterator[tuple[int, int]]:
    for n in range(data[0] % (_MOST_STEPS + 1) if data else 0):
        at = 1 + n * _STEP.size
        yield from ((at, 1), (at + 1, 1), (at + 2, 4), (at + 6, 4))


FORM = Form(lambda _: True, _fields, _parts, _rearrange)


def _seeds() -> Iterator[bytes]:
    dice = random.Random(12)  # noqa: S311 - no secret
    for reader in _CODE:
        found = [data for data in seeds(reader) if len(data) < LONGEST]
        for data in found[:: max(1, len(found) // 25)]:
            yield from (with_steps(data, dice) for _ in range(max(1, 16 // len(found))))
    for data in _several():
        yield from (with_steps(data, dice) for _ in range(8))
    for data in _stripped():
        yield from (with_steps(data, dice) for _ in range(4))


def _stripped() -> Iterator[bytes]:
    """Programs and libraries whose table of sections is cut off, which the loader doesn't need."""
    for data in seeds("elf"):
        table = int.from_bytes(data[40:48], "little")
        if data[16:18] in (b"\2\0", b"\3\0") and 0 < table < len(data) < LONGEST:
            yield data[:40] + bytes(8) + data[48:60] + bytes(4) + data[64:table]


def _several() -> Iterator[bytes]:
    """Containers of several small files: of what damage takes away, something is left."""
    files = _small()
    for kind in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT):
        yield tar_of(*files, kind=kind)
    yield from (zip_of(*files, method=m) for m in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED))
    yield gzip.compress(tar_of(*files))
    layers = [archive(dict(part)) for part in (files[:1], files[1:3], files[3:])]
    yield docker_archive(layers)
    yield oci_layout(layers)


def _alone(data: bytes) -> bool:
    """Return whether a seed is whole, and has device code."""
    return _sound(name_of(data), data) is not None


# -- what a file means


_ENDINGS = (
    (b"\x7fELF\2\1\1\x33", "x.cubin"),
    (b"\x7fELF\2\1\1\x41", "x.cubin"),
    (b"\x7fELF", "x.so"),
    (b"\xed\x43\x4e\x7f", "x.ltoir"),
    (b"\x1f\x8b", "x.so.gz"),
    (b"BZh", "x.so.bz2"),
    (b"\xfd7zXZ", "x.so.xz"),
    (b"\x28\xb5\x2f\xfd", "x.so.zst"),
    (b"MZ", "x.dll"),
    (b"!<", "x.a"),
    (b"\x50\xed\x55\xba", "x.fatbin"),
    (b"PK", "x-1.0-py3-none-any.whl"),
)


_NAMELESS = "x.bin"
_WITHOUT_SUMS = ("x.a", "x.tar", "x.so.zst")
_PACKED = ("x.so.gz", "x.so.bz2", "x.so.xz", "x-1.0-py3-none-any.whl")
_HOSTS = ("x.so", "x.dll")
_OWN_SECTIONS = (".nv_fatbin", "__nv_relfatbin", "__nv_rel")


def name_of(data: bytes) -> str:
    """A name that promises what a sound file is; damage doesn't change it."""
    if ptx.sniff(data[: ptx.HEAD_SIZE]):
        return "x.ptx"
    if data[257:262] == b"ustar":
        return "x.tar"
    return next((name for start, name in _ENDINGS if data.startswith(start)), _NAMELESS)


def claim(image: Image) -> tuple[object, ...]:
    """Return what an image says of itself."""
    versions = (image.needs, image.ltoir, image.cubin, image.relocatable, image.made_by)
    return image.kind, str(image.arch), image.compression, *versions


@dataclass(frozen=True, slots=True)
class Meaning:
    """What is made of a file.

    Attributes:
        records: what was read.
        claims: of its images.
        proven: those of them for which something else in the file stands, too: in a host file its
            section or a wrapper.
        words: on what could not be read, or is damaged.
        verdicts: by target, GPU and route.
        rules: of all findings.
    """

    records: list[Record]
    claims: Counter[tuple[object, ...]]
    proven: Counter[tuple[object, ...]]
    words: Counter[str]
    verdicts: dict[tuple[str, str, Route | None], Verdict]
    rules: frozenset[str]

    @property
    def shape(self) -> str:
        """What is new about it leads the fuzzer."""
        verdicts = sorted({str(verdict) for verdict in self.verdicts.values()})
        words = sorted(set(map(plain, self.words)))
        kinds = sorted({str(claim[0]) for claim in self.claims})
        return f"{kinds}{verdicts}{words}{sorted(self.rules)}"


def plain(word: str) -> str:
    """A sentence without its values."""
    return re.sub(r"[0-9a-f]+|'[^']*'", "", word)[:40]


def _proven(name: str, records: list[Record]) -> Iterator[Module]:
    for each in records:
        if isinstance(each, Module) and (
            name not in _HOSTS or each.registered or each.section in _OWN_SECTIONS
        ):
            yield each


def images_of(records: list[Record]) -> list[Image]:
    return [image for each in records if isinstance(each, Module) for image in each.images]


def meaning(name: str, data: bytes) -> Meaning:
    """Read a file, and judge it for each target."""
    path, failures = written(name, data), list[LtocompatError]()
    records = list(
        ltocompat.inspect(path, kernels=True, limits=LIMITS, jobs=1, on_error=failures.append)
    )
    checked = list(check.run(CheckOptions((path,), TARGETS, limits=LIMITS, cache=False)))
    results = [each for each in checked if isinstance(each, Result)]
    images = images_of(records)
    words = Counter(each.reason for each in records if isinstance(each, Skipped))
    words.update(str(error) for error in failures)
    words.update(str(each.error) for each in checked if isinstance(each, Failure))
    for image in images:
        words.update((*image.problems, *map(str, image.flaws)))
    return Meaning(
        records,
        Counter(map(claim, images)),
        Counter(claim(image) for each in _proven(name, records) for image in each.images),
        words,
        {
            (each.target.name, str(each.gpu), each.route): each.counted
            for each in results
            if each.gpu is not None
        },
        frozenset(rule for each in results for rule in each.rules),
    )


# -- damage


def damage(data: bytes) -> object:
    """Hold law 12 on a sound file and its damages.

    Raises:
        Broken: it is broken.
    """
    before_bytes, after_bytes = damaged(data)
    # What the harness cuts short itself is no damage.
    if before_bytes == after_bytes or not 0 < len(before_bytes) <= LONGEST:
        return None
    before = _sound(name_of(before_bytes), before_bytes)
    if before is None:
        return None
    after = meaning(name_of(before_bytes), after_bytes)
    lost, new = before.claims - after.claims, after.claims - before.claims
    # An entry of no known kind is shown with its number, and judged so.
    told = after.words - before.words or any(each[0] is ImageKind.UNKNOWN for each in new)
    _hold_unread(after)
    if told or _is_another_file(before_bytes, after_bytes):
        return after.shape
    fewer = (before.proven - after.claims).total() > new.total()
    if fewer and _is_evident(before_bytes, after_bytes, split(data)[0], bool(after.claims)):
        kinds = "+".join(sorted({str(each[0]) for each in lost}))
        kind = _kind(before_bytes)
        raise Broken(f"fewer images ({kinds}) of {kind} without a word")
    if not lost and not new and all(step.depth == 0 for step in split(data)[0]):
        for key, verdict in before.verdicts.items():
            if after.verdicts.get(key, Verdict.FAIL) < verdict and not (after.rules - before.rules):
                raise Broken(
                    f"a better verdict than {verdict} of {_kind(before_bytes)}: "
                    f"{'+'.join(sorted(before.rules - after.rules))}"
                )
    return after.shape


def _hold_unread(after: Meaning) -> None:
    """What can't be read may be what is needed: nothing is better than unknown then.

    An entry of a fatbin is needed by the GPUs that its header names, whatever it holds; the driver
    takes another image for the others.
    """
    best = min(after.verdicts.values(), default=Verdict.UNKNOWN)
    unread = (each for each in after.records if isinstance(each, Skipped))
    if best < Verdict.UNKNOWN and any(not each.place.entry for each in unread):
        raise Broken(f"a verdict of {best} beside what can't be read")


def _is_another_file(before: bytes, after: bytes) -> bool:
    """Return whether a whole file is left, of another kind, or a fatbin that is shown as empty."""
    empty = after.startswith(FATBIN_MAGIC) and after[8:16] in (b"", bytes(8))
    return empty or name_of(after) not in (name_of(before), _NAMELESS)


def _is_evident(before: bytes, after_bytes: bytes, steps: list[Step], left: bool) -> bool:
    """Return whether what is left proves that something was there.

    Members of a package with right sums are whatever they are, and those of tar and ar have no
    sums; a file that is called nothing may be anything.
    """
    name = name_of(before)
    shape_is_broken = all(step.kind in _SHAPE for step in steps)
    outside = all(step.depth == 0 for step in steps)
    moved = len(after_bytes) > len(before) or any(s.kind in _MOVING for s in steps)
    if name == "x.so" and before[40:48] == bytes(8) and moved:
        return False  # without sections, nothing tells that a wrapper has moved
    if name == _NAMELESS:
        return False
    if name == "x.a" and before[8:10] != b"/ ":
        return False  # only an index tells of members behind the end
    if name in _PACKED or (name == "x.tar" and b"blobs/sha256/" in before):
        return outside  # the layers of an image have their sums for names
    if name in _WITHOUT_SUMS:  # without a member, a tar is another sound one
        return outside and contradiction(after_bytes) is not None and shape_is_broken and left
    return True


def _kind(data: bytes) -> str:
    return name_of(data).rpartition(".")[2]


@functools.lru_cache(512)
def _sound(name: str, data: bytes) -> Meaning | None:
    """What a file means, if all of it can be read and there is something."""
    try:
        found = meaning(name, data)
    except LtocompatError:
        return None
    return found if found.claims and not found.words else None


# -- what is said of damage


def read(name: str, data: bytes) -> tuple[list[Record], list[Skipped]]:
    """What is read of a file, without verdicts, and what of it can't be read.

    Raises:
        LtocompatError: it is refused as a whole.
    """
    found = list(ltocompat.inspect(written(name, data), limits=LIMITS, jobs=1))
    return found, [each for each in found if isinstance(each, Skipped)]


def told(data: bytes) -> object:
    """Hold what is said of a damaged file against judges that know nothing of ours.

    What its format forbids is told, and each image that a container has lost is told where it was.

    Raises:
        Broken: it is not.
    """
    before, after = damaged(data)
    name = name_of(before)
    is_other = name == _NAMELESS or name_of(after) != name
    if before == after or not 0 < len(before) <= LONGEST or is_other:
        return None
    wrong = contradiction(after)
    try:
        found, unread = read(name, after)
    except LtocompatError:
        return wrong
    images = images_of(found)
    flawed = any(i.problems or (wrong in OF_IMAGES and i.flaws) for i in images)
    if wrong is not None and not unread and not flawed:
        raise Broken(f"{wrong}, and nothing is said of it")
    if all(step.depth == 0 for step in split(data)[0]):
        _hold_places(data, name, found, unread)
    return wrong, frozenset(map(plain, (each.reason for each in unread)))


def _hold_places(data: bytes, name: str, found: list[Record], unread: list[Skipped]) -> None:
    """An image that a member had is there, or it is told of that member or of what is around it."""
    before, after = damaged(data)
    old, problems = _read_sound(name, before)
    lost = _by_member(old) - _by_member(found)
    image = b"manifest.json" in before or b"oci-layout" in before  # told at the layer
    known = {each.place.members for each in images_of(old)}
    if any(each.place.members not in known and each.place.members for each in unread):
        return  # told by the name that the damage gave it
    if before.startswith(after) and unread:
        return  # who ends early is told at its last member: nobody knows how many followed
    if (
        problems
        or image
        or not lost
        or not _is_evident(before, after, split(data)[0], bool(images_of(found)))
    ):
        return
    for members, kind in lost:
        told = any(
            each.place.members[: len(members)] == members[: len(each.place.members)]
            for each in unread
        )
        if members and not told:
            raise Broken(
                f"an image ({kind}) of a member of {_kind(before)} is lost, not told there"
            )


def _by_member(records: list[Record]) -> Counter[tuple[tuple[str, ...], str]]:
    return Counter((each.place.members, str(each.kind)) for each in images_of(records))


@functools.lru_cache(512)
def _read_sound(name: str, data: bytes) -> tuple[list[Record], list[Skipped]]:
    return read(name, data)


# -- packed


@functools.cache
def _small() -> tuple[tuple[str, bytes], ...]:
    """Whole small files with device code."""
    names = {"k.cubin": "cubin", "libk.so": "elf", "k.ptx": "ptx", "k.fatbin": "fatbin"}
    return tuple(
        (f"p/{name}", min(filter(_alone, seeds(reader)), key=len)) for name, reader in names.items()
    )


Files = tuple[tuple[str, bytes], ...]


def _suffixes(path: str) -> str:
    """Those that promise something: of x.so.gz what is inside, too."""
    return "".join(re.findall(r"(?:\.so)?\.\w+$", path))


def _archive_of_objects(files: Files) -> bytes:
    found = b"!<arch>\n"
    for number, (path, data) in enumerate(files):
        head = f"m{number}{_suffixes(path)}/".ljust(48) + str(len(data)).ljust(10) + "`\n"
        found += head.encode() + data + b"\n" * (len(data) % 2)
    return found


def _thin_archive(files: Files) -> bytes:
    """The members lie beside it."""
    heads = []
    for number, (path, data) in enumerate(files):
        written(name := f"m{number}{_suffixes(path)}", data)
        heads.append(f"{name}/".ljust(48) + str(len(data)).ljust(10) + "`\n")
    return THIN_MAGIC + "".join(heads).encode()


def _two_streams(pack: Callable[[bytes], bytes]) -> Callable[[Files], bytes]:
    """A tar in two compressed streams behind each other, as parallel compressors write it."""

    def packed(files: Files) -> bytes:
        whole = tar_of(*files)
        return pack(whole[: len(whole) // 2]) + pack(whole[len(whole) // 2 :])

    return packed


def _in_layers(files: Files) -> bytes:
    """A file a layer; the first is seen under its hard link alone."""
    (name, data), *rest = files
    linked = tar_member(b"first", data) + tar_header(name.encode(), 0, b"1", b"first") + TAR_END
    return docker_archive(
        [linked, *(archive({n: d}) for n, d in rest), archive({".wh.first": b""})]
    )


_PACKERS: tuple[tuple[str, Callable[[Files], bytes]], ...] = (
    *(
        ("x.tar", lambda files, kind=kind: tar_of(*files, kind=kind))
        for kind in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT)
    ),
    ("x.zip", lambda files: zip_of(*files)),
    ("x.zip", lambda files: zip_of(*files, method=zipfile.ZIP_STORED)),
    ("x.zip", lambda files: zip_of(*files, method=zipfile.ZIP_BZIP2)),
    ("x.a", _archive_of_objects),
    ("x.a", _thin_archive),
    ("x-1.0-0.conda", lambda files: conda_of(*files)),
    ("x.tar.gz", _two_streams(gzip.compress)),
    ("x.tar.bz2", _two_streams(bz2.compress)),
    ("x.tar.xz", _two_streams(lzma.compress)),
    ("x.tar.zst", _two_streams(zstd)),
    ("x.tar", lambda files: docker_archive([archive(dict([each])) for each in files])),
    ("x.tar", lambda files: oci_layout([archive(dict([each])) for each in files])),
    ("x.tar", _in_layers),
)


def packed(data: bytes) -> object:
    """Files in a container that others write are read as they are alone, damaged or not.

    Raises:
        Broken: an image, or what is said of one that can't be read, is lost or new.
    """
    content, after = damaged(data)
    dice = random.Random(data[:11])  # noqa: S311 - no secret
    name, pack = dice.choice(_PACKERS)
    files = (("p/" + name_of(content), after), *dice.sample(_small(), dice.choice((0, 1, 2))))
    thin = after.startswith(THIN_MAGIC)  # whose members lie beside it
    if thin or not 0 < len(after) <= LONGEST or name_of(after) != name_of(content):
        return None
    images, reasons = Counter[tuple[object, ...]](), Counter[str]()
    for path, content in files:
        try:
            found, unread = read(os.path.basename(path), content)
        except LtocompatError:
            return None
        images.update(map(claim, images_of(found)))
        reasons.update(each.reason for each in unread)
    try:
        found, unread = read(name, pack(files))
    except LtocompatError as error:
        raise Broken(f"a sound {name} is refused") from error
    inside = Counter(map(claim, images_of(found)))
    said = Counter(each.reason for each in unread)
    if inside != images:
        kinds = "+".join(sorted({str(each[0]) for each in (inside - images) + (images - inside)}))
        raise Broken(f"images ({kinds}) in a {name} are others than alone")
    if bool(said) != bool(reasons) or reasons - said:
        raise Broken(f"what is said of files in a {name} is other than alone")
    return name, frozenset(map(str, images)), frozenset(map(plain, reasons))


# -- cuobjdump


_LISTED = {
    kind: str(kind) for kind in (ImageKind.SASS, ImageKind.PTX, ImageKind.LTOIR, ImageKind.TILEIR)
}


def held_against_cuobjdump(data: bytes) -> object:
    """What cuobjdump lists of a file, we list, or say what can't be read.

    Raises:
        Broken: we don't.
    """
    _, content = damaged(data)
    found = meaning(name_of(content), content)
    if found.words:
        return found.shape
    path = written("listed" + os.path.splitext(name_of(content))[1], content)
    try:
        done = cuobjdump.run("-all", path, seconds=5)
        listed = cuobjdump.listed_in(done.stdout)
    except (subprocess.TimeoutExpired, AssertionError):
        return found.shape
    if done.returncode:
        return found.shape
    ours = Counter(
        (_LISTED.get(image.kind, ""), _number(image)) for image in images_of(found.records)
    )
    missed = listed - ours
    if missed:
        raise Broken(
            f"cuobjdump lists {'+'.join(sorted({kind for kind, _ in missed}))} "
            f"of {_kind(content)}, which we don't"
        )
    return found.shape


def _number(image: Image) -> str:
    arch = image.entry_arch or image.arch
    return "" if arch is None else str(arch).partition("_")[2]


# -- saved


def held_against_saved(data: bytes) -> object:
    """What was saved of a file says the same, and comes out as it went in.

    Raises:
        Broken: it doesn't.
    """
    _, content = damaged(data)
    path = written(name_of(content), content)
    code, text, _ = ran("inspect", "--kernels", "--format", "json", path)
    if not text:
        return code
    document = json.loads(text)
    if document["schema"] != saved.SCHEMA:
        return code
    value = msgspec.json.decode(text.encode(), type=Inspect)
    if json.loads(msgspec.json.encode(value)) != document:
        raise Broken("an inspection that was read and written again is another")
    kept = written("saved.json", text.encode())
    given, moved, message = ran("diff", "--format", "json", kept, path)
    empty = not any(artifact["modules"] for artifact in document["artifacts"])
    if given not in (0, 3) or (given == 3) != (code == 3 or empty):
        raise Broken(f"diff of a file and what was saved of it ends in {given}, inspect in {code}")
    if moved and any(json.loads(moved).get("changes", ())):
        raise Broken(f"a file and what was saved of it differ: {message[:60]}")
    _same_records(path, value)
    return code, len(document["artifacts"])


def _same_records(path: str, value: Inspect) -> None:
    try:
        again = [each for each in saved.records(value, "saved.json") if each is not None]
    except UsageError as error:
        raise Broken("what was saved can't be read") from error
    records = ltocompat.inspect(path, kernels=True, jobs=1, on_error=lambda _: None)
    # The number that tells sets of kernels apart is for reading alone.
    modules = [
        replace(each, images=tuple(replace(image, kernel_set=0) for image in each.images))
        for each in records
        if isinstance(each, Module)
    ]
    if [each for each in again if isinstance(each, Module)] != modules:
        raise Broken("modules that were saved and read again are others")


# -- formats


_ANNOTATION = re.compile(r"^::(error|warning|notice)\b", re.MULTILINE)
_FORMATS = ("json", "sarif", "junit", "gitlab", "github", "csv", "jsonl", "concise", "html")


def held_by_formats(data: bytes) -> object:
    """Each format agrees with the exit code, which is that of each other.

    Raises:
        Broken: one doesn't.
    """
    steps, content = split(data)
    _, content = damaged(data)
    path = written(name_of(content), content)
    line = ("check", *_TARGET_WORDS, path)
    chosen = _FORMATS[(steps[0].place if steps else 0) % len(_FORMATS)]
    code, _, _ = ran(*line)
    out = [written(f"answer.{name}", b"") for name in _FORMATS]
    together, _, _ = ran(
        *line, *(w for n, p in zip(_FORMATS, out, strict=True) for w in ("--format", f"{n}={p}"))
    )
    alone, text, _ = ran(*line, "--format", chosen)
    if not code == together == alone:
        raise Broken(f"exit codes {code}, {together}, {alone} of a table, all formats, {chosen}")
    judged = _judged(out[0])
    for name, place in zip(_FORMATS, out, strict=True):
        with open(place, encoding="utf-8", newline="") as file:
            answer = file.read()
        if name == chosen and name != "json" and answer != text:
            raise Broken(f"{name} into a file is another than on standard output")
        wrong = _AGREE[name](answer, code) if name in _AGREE and judged else None
        if wrong:
            raise Broken(f"{name} and exit code {code}: {wrong}")
    return code, chosen


def _judged(path: str) -> bool:
    """Return whether there is device code, or a failure; else standard error alone says why 3."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    rows = document.get("results", ())  # metadata alone may be undocumented, which is no check
    checked = any(r["coverage"]["modules"] or r["verdict"] in ("fail", "unknown") for r in rows)
    return checked or bool(document.get("summary", {}).get("errors"))


def _json(text: str, code: int) -> str | None:
    document = json.loads(text)
    verdicts = [row["verdict"] for row in document["results"]]
    fails = "fail" in verdicts
    if fails != (code == 1):
        return f"a verdict of {'fail' if fails else 'no fail'}"
    open_ = not verdicts or "unknown" in verdicts or document["summary"]["errors"]
    return "nothing is undecided" if code == 3 and not open_ else None


def _sarif(text: str, code: int) -> str | None:
    (one,) = json.loads(text)["runs"]
    errors = any(row.get("level") == "error" for row in one["results"])
    told = errors or one.get("invocations", [{}])[0].get("toolExecutionNotifications")
    if code == 1 and not errors:
        return "no error"
    if code == 0 and errors:
        return "an error"
    return None if code != 3 or told or one["results"] else "nothing is said"


def _junit(text: str, code: int) -> str | None:
    root = ET.fromstring(text)  # noqa: S314 - our own answer
    bad = sum(1 for tag in ("failure", "error") for _ in root.iter(tag))
    return None if bool(bad) == bool(code) else f"{bad} failures and errors"


def _gitlab(text: str, code: int) -> str | None:
    rows = [row["severity"] for row in json.loads(text)]
    bad = any(each in ("critical", "blocker", "major") for each in rows)
    if code == 1 and not bad:
        return "nothing severe"
    return (
        "something severe"
        if code == 0 and any(e in ("critical", "blocker") for e in rows)
        else None
    )


def _github(text: str, code: int) -> str | None:
    kinds = {found[1] for found in _ANNOTATION.finditer(text)}
    if code == 1 and "error" not in kinds:
        return "no ::error"
    if code == 3 and not kinds:
        return "nothing is said"
    return "an ::error" if code == 0 and "error" in kinds else None


def _csv(text: str, code: int) -> str | None:
    rows = list(csv.DictReader(io.StringIO(text)))
    return "no row" if code and not rows else None


def _jsonl(text: str, code: int) -> str | None:
    rows = [json.loads(line) for line in text.splitlines()]
    return "no row" if code and not rows else None


_AGREE: dict[str, Callable[[str, int], str | None]] = {
    "json": _json,
    "sarif": _sarif,
    "junit": _junit,
    "gitlab": _gitlab,
    "github": _github,
    "csv": _csv,
    "jsonl": _jsonl,
}


# -- baselines


def held_by_baseline(data: bytes) -> object:
    """An audit is green by its own baseline, of which it writes the same again.

    Raises:
        Broken: it isn't.
    """
    _, content = damaged(data)
    path = written(name_of(content), content)
    kept = os.path.join(folder(), "known.json")
    with suppress(FileNotFoundError):
        os.unlink(kept)
    line = ("audit", path, *_TARGET_WORDS)
    first, _, _ = ran(*line, "--write-baseline", kept)
    if not os.path.exists(kept):
        return first
    with open(kept, encoding="utf-8") as file:
        text = file.read()
    second, _, message = ran(*line, "--baseline", kept)
    if second == 1 or (second == 0) != (first == 0):
        raise Broken(
            f"an audit that ends in {first} while it writes a baseline ends in {second} by it"
        )
    third, _, _ = ran(*line, "--write-baseline", kept)
    with open(kept, encoding="utf-8") as file:
        if file.read() != text or third != first:
            raise Broken("a baseline that is written twice is another")
    return first, text.count("fingerprint"), bool(message)


def ran(*words: str) -> tuple[int, str, str]:
    """Run a command line; its exit code, answer and messages."""
    out, messages = io.StringIO(), io.StringIO()
    with no_cache(), redirect_stdout(out), redirect_stderr(messages):
        code = run(list(words))
    return code, out.getvalue(), messages.getvalue()


def law(read: Callable[[bytes], object], seconds: float = 10.0) -> Reader:
    return Reader(read, _seeds, form=FORM, seconds=seconds, guided=True)


LAWS = {
    "damage": law(damage),
    "told": law(told, 2.0),
    "packed": law(packed, 2.0),
    "saved": law(held_against_saved),
    "formats": law(held_by_formats, 15.0),
    "known": law(held_by_baseline),
}
if cuobjdump.is_there():
    LAWS["cuobjdump"] = law(held_against_cuobjdump)

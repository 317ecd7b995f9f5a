"""Laws on two readings: of a file at another place, of one four times as long, of one made of it.

``moved``: device code is found wherever it lies in a file. ``scales``: four times as many things
take about four times as long, and no more memory. ``rewritten``: what slim and repair write reads
at least as well as what they were given, and where they refuse there is nothing.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import os
import random
import shutil
import socket
import tarfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from container_images_made import archive, docker_archive
from elf_writer import Part as Section
from elf_writer import elf
from fatbin_writer import KINDS, EntrySpec, entry, region
from package_writer import TAR_END, tar_header, tar_member, tar_of, zip_of

import ltocompat
from fuzz import meaning
from fuzz.files import folder, written
from fuzz.meaning import claim, damaged, images_of, law, name_of, plain, ran, read
from fuzz.readers import LIMITS, Reader, seeds
from fuzz.watch import Broken, forget_highest, highest_memory
from ltocompat.files.first_bytes import THIN_MAGIC
from ltocompat.model.errors import LtocompatError
from ltocompat.model.image import Record, Skipped
from ltocompat.model.limits import Limits

# -- moved

_MOVED = ("x.fatbin", "x.cubin")


def moved(data: bytes) -> object:
    """Device code in other bytes is what it is alone, wherever it begins and whatever it follows.

    It begins near a power of two, where readers that look through windows end one and begin
    another.

    Raises:
        Broken: an image is lost, or another one.
    """
    _, content = damaged(data)
    name, dice = name_of(content), random.Random(data[:11])  # noqa: S311 - no secret
    if name not in _MOVED or len(content) > meaning.LONGEST:
        return None
    found, unread = read(name, content)
    if unread:
        return None
    near = (1 << dice.randrange(12, 21)) * dice.choice((1, 1, 1, 3))
    start = max(0, near + dice.randint(-8, 8) + dice.choice((0, 0, 0, -len(content) // 2)))
    whole = dice.choice((b"\1", b"text\n")) * start
    other, _ = read("x.bin", whole[:start] + content + b"\1" * dice.choice((0, 1, 300)))
    lost = Counter(map(claim, images_of(found))) - Counter(map(claim, images_of(other)))
    if lost:
        kinds = "+".join(sorted({str(each[0]) for each in lost}))
        raise Broken(f"an image ({kinds}) is lost where it lies further behind in a file")
    return name, len(images_of(found)), near


# -- scales

_PATIENT = Limits(seconds=60.0)
_ALLOWED, _LEAST = 8.0, 0.25  # times as long for four times as much; seconds of CPU beyond that
_MEMORY = 40 << 20  # bytes more for four times as much: what readers keep for a while has 32 MiB
_PTX = b".version 8.4\n.target sm_80\n.address_size 64\n"


def _objects_with_long_names(many: int, dice: random.Random) -> bytes:
    """GNU's way: names of over 15 bytes stand in a table, one behind another."""
    width, body = dice.choice((20, 90, 200)), dice.choice((b"", b"object"))
    names = b"".join(b"%0*d.o/\n" % (width, number) for number in range(many))
    heads = [b"//".ljust(48) + b"%-10d`\n" % len(names) + names + b"\n" * (len(names) % 2)]
    for number in range(many):
        name = b"/%d" % (number * (width + 4))
        heads.append(name.ljust(48) + b"%-10d`\n" % len(body) + body)
    return b"!<arch>\n" + b"".join(heads)


def _objects(many: int, _: random.Random) -> bytes:
    return b"!<arch>\n" + b"".join((b"%d/" % n).ljust(48) + b"0         `\n" for n in range(many))


def _names(many: int, dice: random.Random) -> Iterator[str]:
    """Paths in one folder, in a deep one, or each in one of its own."""
    ways = ("p/{}", "p/" * 40 + "{}", "p{0}/{0}", "a" * 120 + "{}", "x.so.{}", "{}/__init__.py")
    return map(dice.choice(ways).format, range(many))


def _tar(kind: int) -> Callable[[int, random.Random], bytes]:
    def made(many: int, dice: random.Random) -> bytes:
        if kind == tarfile.USTAR_FORMAT:
            links = (tar_header(b"l%d" % n, 0, b"2", b"l%d" % (n + 1)) for n in range(many))
            return b"".join(links) + tar_member(b"l%d" % many, b"") + TAR_END
        return tar_of(*((name, b"x") for name in _names(many, dice)), kind=kind)

    return made


def _zip(many: int, dice: random.Random) -> bytes:
    return zip_of(*((name, b"x") for name in _names(many, dice)))


def _layers(many: int, dice: random.Random) -> bytes:
    names = list(_names(many, dice))
    half = many // 2
    return docker_archive([archive(dict.fromkeys(part, b"x")) for part in (names, names[half:])])


def _images_of_a_region(many: int, dice: random.Random) -> bytes:
    text = _PTX + b".visible .entry k() { ret; }"
    how = dice.choice(("none", "lz4", "zstd"))
    return region([entry(EntrySpec(KINDS["ptx"], text, compression=how))] * many)


def _large_images(many: int, dice: random.Random) -> bytes:
    """Images of 1 MiB that pack into a hundredth."""
    cubin = min(seeds("cubin"), key=len)
    kind, text = dice.choice((("sass", cubin), ("ptx", _PTX + b".visible .entry k() { ret; }\n")))
    filled = text + random.Random(many).randbytes(64).hex().encode() * (_MIB // 128)  # noqa: S311
    how = dice.choice(("lz4", "zstd"))
    return region([entry(EntrySpec(KINDS[kind], filled, compression=how))] * many)


def _large_members(pack: Callable[..., bytes]) -> Callable[[int, random.Random], bytes]:
    def made(many: int, dice: random.Random) -> bytes:
        code = _images_of_a_region(1, dice) + b"line of a text\n" * (_MIB // 15)
        return pack(*((name, code) for name in _names(many, dice)))

    return made


_MIB, _PIECE = 1 << 20, 64  # bytes


def _regions(many: int, dice: random.Random) -> bytes:
    gap = dice.choice((b"", bytes(8), b"\1" * 8, b"\1" * 300))
    return (_images_of_a_region(1, dice) + gap) * many


def _sections(many: int, dice: random.Random) -> bytes:
    name, kind = dice.choice((".nv_fatbin", ".text{}", ".nvFatBinSegment")), dice.choice((1, 3, 7))
    code = _images_of_a_region(1, dice) if name == ".nv_fatbin" else bytes(24)
    return elf([Section(name.format(n), code, kind) for n in range(min(many, 60_000))])


def _ptx_pieces(many: int, dice: random.Random) -> bytes:
    """A piece of a PTX text again and again, in lines or in one."""
    text = dice.choice(seeds("ptx"))
    start = dice.randrange(len(text))
    piece = dice.choice(
        (text[start : start + dice.choice((8, 40, 200))], *_PIECES, *_PIECES, *_PIECES)
    )
    piece = piece.replace(b"\n", b" ") if dice.random() < 0.5 else piece
    piece *= many * _PIECE // max(len(piece), 1)
    return _PTX + piece + b"\n.visible .entry k() { ret; }\n"


_PIECES = (
    *(b".visible .entry k() { ret; }\n", b".entry ", b"// .entry k\n", b"/* .entry */ ", b"//"),
    *(b".func f;\n", b".extern .func f;\n", b"{", b".section .debug_x {}\n", b'.file 1 "x"\n'),
    *(b"call f;\n", b".global .u32 a;\n", b".target sm_90\n", b".version 8.4\n", b"/"),
)

# What there is of each at first, and how the file is called.
_SERIES: tuple[tuple[str, int, Callable[[int, random.Random], bytes]], ...] = (
    ("x.a", 8_000, _objects_with_long_names),
    ("x.a", 8_000, _objects),
    *(
        ("x.tar", 2_000, _tar(kind))
        for kind in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT)
    ),
    ("x.zip", 2_000, _zip),
    ("x.tar", 1_500, _layers),
    ("x.fatbin", 2_000, _images_of_a_region),
    ("x.bin", 1_000, _regions),
    ("x.so", 1_000, _sections),
    *(("x.ptx", 12_000, _ptx_pieces),) * 4,
    *(("x.fatbin", 24, _large_images),) * 2,
    ("x.zip", 16, _large_members(zip_of)),
    ("x.tar.gz", 16, _large_members(lambda *files: gzip.compress(tar_of(*files), 1))),
)


def scales(data: bytes) -> object:
    """Four times as many things take about four times as long, and no more memory.

    Raises:
        Broken: they take far more.
    """
    dice = random.Random(data[:16])  # noqa: S311 - no secret
    name, many, make = dice.choice(_SERIES)
    seed = dice.randrange(1 << 32)

    def taken(times: int) -> tuple[float, int]:
        # What was written is gone when memory is looked at.
        path = written(name, make(times * many, random.Random(seed)))  # noqa: S311 - no secret
        forget_highest()
        before, begun = highest_memory(), time.process_time()
        with contextlib.suppress(LtocompatError):
            for _ in ltocompat.inspect(path, kernels=True, limits=_PATIENT, jobs=1):
                pass
        return time.process_time() - begun, highest_memory() - before

    what = make.__qualname__.strip("_").partition(".")[0].replace("_", " ")
    (once, few), (more, much) = taken(1), taken(4)
    if more > _ALLOWED * once + _LEAST:  # again: another process may have slowed it down
        once, more = max(once, taken(1)[0]), min(more, taken(4)[0])
        if more > _ALLOWED * once + _LEAST:
            raise Broken(f"four times as much takes far longer than that: {what}")
    # One text of PTX is one thing, and takes what its length asks for.
    if make is not _ptx_pieces and much - max(few, 0) > _MEMORY:
        raise Broken(f"four times as much is kept in memory: {what}")
    return name, seed % 64


def _any_bytes() -> Iterator[bytes]:
    return (random.Random(number).randbytes(16) for number in range(200))  # noqa: S311 - no secret


# -- rewritten

_WAYS = (
    *(("slim", "--keep-gpu", "h100"), ("slim", "--keep-gpu", "a100+sm_120", "--no-ptx")),
    *(("slim",), ("slim", "--keep-gpu", "all", "--pack", "3", "--to-zstd"), ("repair",)),
)


def rewritten(data: bytes) -> object:
    """What is written anew reads at least as well as it did; one that is refused leaves nothing.

    The input stays as it is, and no image of the output is one that the input lacks (law 13).

    Raises:
        Broken: it is not so.
    """
    _, content = damaged(data)
    name, dice = name_of(content), random.Random(data[:11])  # noqa: S311 - no secret
    verb, *options = dice.choice(_WAYS)
    if (
        name == "x.bin"
        or len(content) > meaning.LONGEST
        or (verb == "repair" and name[-3:] != "whl")
    ):
        return None
    path, out = written(name, content), os.path.join(folder(), "new")
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    code, _, message = ran(verb, *options, path, "-o", out + os.sep)
    made = sorted(where for where in Path(out).rglob("*") if where.is_file())
    if Path(path).read_bytes() != content:
        raise Broken(f"{verb} changes what it reads")
    if code not in (0, 1, 3, 4):
        raise Broken(f"{verb} ends in {code}: {message[-60:].strip()}")
    if len(made) > 1 or (made and code not in (0, 1)) or (code == 0 and not made):
        raise Broken(f"{verb} ends in {code}, and leaves {len(made)} files")
    if not made:
        return verb, name, code, plain(message.rpartition(": ")[2])
    before, after = _hashed(path), _hashed(str(made[0]))
    new = _sums(after) - _sums(before)
    if new or (verb == "repair" and _sums(before) != _sums(after)):
        raise Broken(f"{verb} writes other code than there was")
    if len(_unread(after)) > len(_unread(before)):
        raise Broken(f"what {verb} writes reads worse than what it read")
    return verb, name, code, len(_sums(before)), len(_sums(after))


def _hashed(path: str) -> list[Record]:
    return list(ltocompat.inspect(path, hashes=True, limits=LIMITS, jobs=1))


def _sums(records: list[Record]) -> Counter[tuple[str, str]]:
    images = (image for image in images_of(records) if image.sha256)
    return Counter((str(image.kind), str(image.sha256)) for image in images)


def _unread(records: list[Record]) -> list[str]:
    return [each.reason for each in records if isinstance(each, Skipped)]


# -- beside what is no file

_THINGS = ("folder", "pipe", "socket", "nowhere", "itself", "around", "file.cubin", "empty")


@functools.cache
def _things(_: int) -> str:
    """A folder of this process with things of each kind."""
    where = Path(folder(), "things")
    where.mkdir(exist_ok=True)
    (where / "folder").mkdir()
    os.mkfifo(where / "pipe")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(where / "socket"))
    for name, target in (("nowhere", "none"), ("itself", "itself"), ("around", ".")):
        (where / name).symlink_to(target)
    (where / "file.cubin").write_bytes(min(seeds("cubin"), key=len))
    (where / "empty").write_bytes(b"")
    return str(where)


def beside(data: bytes) -> object:
    """A thin archive, whose members may be no files; a member that is none is told."""
    path = Path(_things(os.getpid()), "x.a")
    path.write_bytes(data)
    found = list(ltocompat.inspect(str(path), limits=LIMITS, jobs=1))
    return len(images_of(found)), frozenset(map(plain, _unread(found)))


def _thin() -> Iterator[bytes]:
    for names in (*((name,) for name in _THINGS), _THINGS, _THINGS * 3):
        heads = (f"{name}/".ljust(48) + "0".ljust(10) + "`\n" for name in names)
        yield THIN_MAGIC + "".join(heads).encode()


LAWS = {
    **meaning.LAWS,
    "moved": law(moved, 2.0),
    "rewritten": law(rewritten),
    "scales": Reader(scales, _any_bytes, seconds=20.0),
    "beside": Reader(
        beside, _thin, words=tuple(f"{name}/".encode() for name in _THINGS), seconds=2.0
    ),
}

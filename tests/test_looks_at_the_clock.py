"""Whatever a file may hold without end, its reader looks at the clock as often as it comes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable

import pytest
import zstandard
from fatbin_writer import KINDS, EntrySpec, entry, region
from package_writer import TAR_END, pax, tar_header, tar_member, tar_of, zip_of
from test_limits_at_their_bounds import rpm_of
from test_reading_at_its_bounds import FATBIN, ar_of

from ltocompat.files.archives.container_image import images_in
from ltocompat.files.byteview import ByteView, chunks
from ltocompat.files.codec import Payload
from ltocompat.files.images import ptx, ptx_symbols
from ltocompat.files.objects import structure
from ltocompat.model.image import Compression
from ltocompat.model.limits import KIB, MIB, Budget
from ltocompat.model.location import Location
from ltocompat.scan import walk
from ltocompat.scan.walk import ScanSettings, records_of_view

TEXT = EntrySpec(KINDS["ptx"], b".version 8.4\n.target sm_80\n", compression="lz4")
EMPTY = region([])
SPARSE = tar_header(b"sparse", 0, b"S")
SPARSE = SPARSE[:482] + b"\1" + SPARSE[483:]
SPARSE = SPARSE[:148] + b"%06o\0 " % (sum(SPARSE[:148] + SPARSE[156:]) + 8 * 32) + SPARSE[156:]


class Clock(Budget):
    """Counts the looks."""

    looks: int = 0

    def check_time(self) -> None:
        self.looks += 1

    def check_half(self, begun: float) -> None:
        assert begun
        self.looks += 1


FILES: dict[str, Callable[[int], bytes]] = {
    "members of a zip": lambda n: zip_of(*((str(at), FATBIN) for at in range(n))),
    "folders of a zip": lambda n: zip_of(*((f"{at}/", b"") for at in range(n))),
    "members of an ar": lambda n: ar_of(*((str(at), b"") for at in range(n))),
    "name tables of an ar": lambda n: (
        b"!<arch>\n" + (b"//".ljust(48) + b"0".ljust(10) + b"`\n") * n
    ),
    "members of a tar": lambda n: tar_of(*((str(at), b"") for at in range(n))),
    "extended headers of a tar": lambda n: pax([("path", "x")]) * n + TAR_END,
    "long names of a tar": lambda n: tar_member(b"long", b"x", b"L") * n + TAR_END,
    "lists of zeros of a tar": lambda n: SPARSE + (bytes(504) + b"\1" + bytes(7)) * n,
    "MiB behind the end of a tar": lambda n: tar_of(("x", b"")) + bytes(n * MIB),
    "files of an rpm": lambda n: rpm_of(*((f"./{at}", b"", 0o100644) for at in range(n))),
    "streams of gzip": lambda n: gzip.compress(b"") * n,
    "zeros behind gzip": lambda n: gzip.compress(b"x") + bytes(n * 256 * KIB),
    "windows without anything": lambda n: bytes(n * 256 * KIB),
    "empty regions": lambda n: EMPTY * n,
    "images": lambda n: region([entry(TEXT)] * n),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_more_has_its_reader_look_more_often(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = 8 if "MiB" in name or "zeros behind" in name or "windows" in name else 50

    def looks(data: bytes) -> int:
        clock = Clock()
        monkeypatch.setattr(walk, "Budget", lambda *_, **__: clock)
        list(records_of_view(ByteView.of(data), Location("x"), ScanSettings(jobs=1)))
        return clock.looks

    assert looks(FILES[name](2 * number)) - looks(FILES[name](number)) >= number


def _images_of_docker(clock: Budget, n: int) -> object:
    described = [{"Config": "config", "Layers": [], "RepoTags": [str(at)]} for at in range(n)]
    data = tar_of(("manifest.json", json.dumps(described).encode()), ("config", b"{}"))
    return list(images_in(ByteView.of(data), Location("x"), clock))


def _frame(clock: Budget, n: int) -> object:
    blocks = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    data = b"".join(blocks.compress(b"x") + blocks.flush(1) for _ in range(n)) + blocks.flush()
    payload = Payload(ByteView.of(data), Compression.ZSTD, None, clock)
    prefix = payload.prefix()
    for size in range(1, n):
        prefix.grow(size)
    return prefix


READERS: dict[str, Callable[[Budget, int], object]] = {
    "images of docker": _images_of_docker,
    "steps of a frame": _frame,
    "MiB": lambda clock, n: list(chunks(ByteView.of(bytes(n * MIB)), 0, n * MIB, clock)),
    "windows": lambda clock, n: list(
        structure.windows(ByteView.of(bytes(n * MIB)), clock, 0, n * MIB)
    ),
    "comments": lambda clock, n: ptx.without_comments(b"/**/" * n, clock),
    "lines of a MiB": lambda clock, n: ptx.without_comments(b"a\n" * (n * MIB // 2 + 1), clock),
    "kernels": lambda clock, n: ptx.kernels(b".entry a\n" * n, clock),
    "functions": lambda clock, n: ptx_symbols.read(b".func f();\n" * n, clock),
    "variables": lambda clock, n: ptx_symbols.read(b".visible .global .u32 a" + b",b" * n, clock),
}


@pytest.mark.parametrize("name", READERS)
def test_a_reader_of_more_looks_more_often(name: str) -> None:
    number = 4 if "MiB" in name or name == "windows" else 50
    once, twice = Clock(), Clock()
    READERS[name](once, number)
    READERS[name](twice, 2 * number)
    assert twice.looks - once.looks >= number

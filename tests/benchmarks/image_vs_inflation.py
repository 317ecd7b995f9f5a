"""A container image read as it was saved against plain inflation of its layers.

Run by hand: python tests/benchmarks/image_vs_inflation.py FOLDER [gzip|zstd] [gnu|pax]
The image has the files of FOLDER, such as an environment, in four layers. Plain inflation is
Python's zlib or zstandard, and what it inflates is thrown away. "layers" applies them and checks
their digests, and keeps each file until the next one, without a look at what is in it; "inspect"
reads host files and device code, too, some of which is compressed once more. All are whole
processes, in turn; the time is that of the processor, and the budget 1.5 times that of inflation.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import statistics
import sys
import tarfile
import tempfile
from pathlib import Path

import zstandard
from peers import Peer

BUDGET = 1.5
ROUNDS = 5
LAYERS = 4
HEADERS = {"gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
INFLATE = """
import sys, tarfile, zlib, zstandard
def inflate(file):
    if file.read(2) == b"\\x1f\\x8b":
        decoder = zlib.decompressobj(31)
        file.seek(0)
        while data := file.read(1 << 16):
            while data:
                decoder.decompress(data, 1 << 18)
                data = decoder.unconsumed_tail
    else:
        file.seek(0)
        reader = zstandard.ZstdDecompressor().stream_reader(file)
        while reader.read(1 << 18):
            pass
with tarfile.open(sys.argv[1]) as archive:
    for member in archive:
        if member.size > 1 << 20:
            inflate(archive.extractfile(member))
"""

LAYERS_ALONE = """
import sys
from ltocompat.files.archives.container_image import applied, images_in
from ltocompat.model.limits import Budget, Limits
from ltocompat.model.location import Location
from ltocompat.scan.walk import opened
limits, place = Limits(), Location(sys.argv[1])
with opened(place.path, limits) as view:
    budget = Budget(limits)
    for image in images_in(view, place, budget):
        for _ in applied(image, place, place, place, budget, asks=lambda at: True):
            pass
"""


def image_of(folder: Path, packing: str, headers: int, to: Path) -> None:
    """Write an OCI archive of the files below a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    size = sum(path.stat().st_size for path in files)
    print(f"{len(files)} files, {size / 2**30:.2f} GiB, {packing}, {LAYERS} layers")
    share = -(-len(files) // LAYERS)
    with tarfile.open(to, "w", format=tarfile.GNU_FORMAT) as archive:

        def blob(file: Path) -> dict[str, object]:
            with file.open("rb") as opened:
                digest = hashlib.file_digest(opened, "sha256").hexdigest()
            archive.add(file, f"blobs/sha256/{digest}")
            return {"digest": f"sha256:{digest}", "size": file.stat().st_size}

        def text(name: str, value: object) -> dict[str, object]:
            data = json.dumps(value).encode()
            digest = hashlib.sha256(data).hexdigest()
            info = tarfile.TarInfo(name or f"blobs/sha256/{digest}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
            return {"digest": f"sha256:{digest}", "size": len(data)}

        layers = []
        for start in range(0, len(files), share):
            with tempfile.NamedTemporaryFile(dir=to.parent) as plain:
                with tarfile.open(plain.name, "w", format=headers) as tar:
                    for path in files[start : start + share]:
                        tar.add(path, f"opt/venv/{path.relative_to(folder)}")
                packed = to.parent / "layer"
                with open(plain.name, "rb") as read, packed.open("wb") as write:
                    if packing == "gzip":
                        with gzip.GzipFile(fileobj=write, mode="wb", compresslevel=6) as out:
                            shutil.copyfileobj(read, out, 1 << 20)
                    else:
                        zstandard.ZstdCompressor(3).copy_stream(read, write)
            layers.append(blob(packed))
        config = text("", {"os": "linux", "architecture": "amd64"})
        manifest = text("", {"schemaVersion": 2, "config": config, "layers": layers})
        text("index.json", {"schemaVersion": 2, "manifests": [manifest]})
        text("oci-layout", {"imageLayoutVersion": "1.0.0"})


def main(folder: str, packing: str = "gzip", headers: str = "gnu") -> None:
    with tempfile.TemporaryDirectory() as made:
        image = Path(made) / "image.tar"
        image_of(Path(folder), packing, HEADERS[headers], image)
        ours = Peer("inspect", [sys.executable, "-m", "ltocompat", "inspect", str(image)])
        layers = Peer("layers", [sys.executable, "-c", LAYERS_ALONE, str(image)])
        plain = Peer("plain inflation", [sys.executable, "-c", INFLATE, str(image)])
        for number in range(ROUNDS + 1):
            for peer in (ours, layers, plain):
                peer.run()
                if number == 0:  # the first round warms the caches
                    peer.cpu.clear()
                    peer.peak.clear()
        for peer in (ours, layers, plain):
            times = " ".join(f"{second:.2f}" for second in peer.cpu)
            print(
                f"  {peer.name:<16} median {statistics.median(peer.cpu):6.2f} s of CPU   "
                f"peak {max(peer.peak) >> 10:4} MiB   ({times})"
            )
        for peer in (ours, layers):
            ratios = [a / b for a, b in zip(peer.cpu, plain.cpu, strict=True)]
            print(f"  {peer.name}: ratio {statistics.median(ratios):.2f} (budget {BUDGET})")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Every reader of what others wrote: how it is called, and sound bytes to begin with.

A reader takes any bytes and ends in a value or in an error of ours, in time.
"""

from __future__ import annotations

import functools
import gzip
import io
import json
import os
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import packages_made
from fatbin_writer import KINDS, EntrySpec, entry, region
from package_writer import tar_of, zip_of, zstd
from reading import records_of
from samples import ALL

from ltocompat.commands.explain import explain
from ltocompat.commands.policy.reading import read_policy
from ltocompat.files.archives import CONTAINERS
from ltocompat.files.byteview import ByteView
from ltocompat.files.codec import Payload
from ltocompat.files.images import cubin, cubin_symbols, ltoir, ptx, tileir
from ltocompat.files.images.cubin_notes import Notes
from ltocompat.files.objects.coff import read_coff
from ltocompat.files.objects.elf_host import read_elf
from ltocompat.files.objects.pe import read_pe
from ltocompat.model.image import Compression
from ltocompat.model.limits import Budget, Limits
from ltocompat.model.place import Place
from ltocompat.packages.conda import alternatives
from ltocompat.packages.metadata import read_metadata
from ltocompat.packages.reading import package_of
from ltocompat.packages.resolving import leads, ways_to
from ltocompat.targets import parse
from ltocompat.targets.linkers import Machine
from ltocompat.targets.machine.probe import probe

LIMITS = Limits(seconds=5.0, total_bytes=1 << 28, unpacked_bytes=1 << 28)
_DATA = Path(__file__).parent.parent / "data"


@dataclass(frozen=True, slots=True)
class Reader:
    """One reader.

    Attributes:
        read: takes the bytes.
        seeds: makes sound bytes.
        words: what its inputs are made of, for insertions.
    """

    read: Callable[[bytes], object]
    seeds: Callable[[], Iterator[bytes]]
    words: tuple[bytes, ...] = ()


def _samples(*folders: str, most: int = 40_000) -> Callable[[], Iterator[bytes]]:
    def found() -> Iterator[bytes]:
        for sample in ALL:
            data = sample.path.read_bytes()
            if sample.path.parent.name in folders and 0 < len(data) <= most:
                yield data

    return found


def _budget() -> Budget:
    return Budget(LIMITS)


def _host(read: Callable[[ByteView, Budget], object]) -> Callable[[bytes], object]:
    def called(data: bytes) -> object:
        read(ByteView.of(data), _budget())
        return records_of(data, limits=LIMITS, detail=True)

    return called


def _container(number: int) -> Callable[[bytes], object]:
    def called(data: bytes) -> object:
        view = ByteView.of(data)
        form = CONTAINERS[number]
        if not form.sniff(view):
            return None
        found = form.members(view, Place("input"), Place("input"), _budget())
        return [list(records_of_member(member)) for member in found]

    return called


def records_of_member(member: object) -> Iterator[object]:
    """What is read of a member, to its end."""
    view = getattr(member, "view", None)
    if isinstance(view, ByteView):
        yield view.peek(0, 1 << 20)


def _decoded(data: bytes) -> object:
    compression = Compression.LZ4 if data[:1] == b"L" else Compression.ZSTD
    declared = int.from_bytes(data[1:4], "little")
    payload = Payload(ByteView.of(data[4:]), compression, declared, _budget())
    payload.prefix().grow(1000)
    return payload.decode()


def _payloads() -> Iterator[bytes]:
    import lz4.block
    import lz4.frame

    for text in (b".version 8.4\n.target sm_80\n" * 40, bytes(70_000), os.urandom(3000)):
        size = len(text).to_bytes(3, "little")
        yield b"L" + size + lz4.block.compress(text, store_size=False)
        yield b"L" + size + lz4.frame.compress(text)
        yield b"Z" + size + zstd(text)


def _regions() -> Iterator[bytes]:
    yield from _samples("fatbin", "fatbin-ltoir")()
    text = b".version 8.4\n.target sm_80\n.visible .entry k() { ret; }"
    for compression in ("none", "lz4", "zstd"):
        yield region([entry(EntrySpec(KINDS["ptx"], text, compression=compression))])


def _cubin(data: bytes) -> object:
    found = cubin.Cubin.parse(ByteView.of(data), LIMITS)
    return found.kernels(), found.registers(), cubin_symbols.read(found)


def _ptx(data: bytes) -> object:
    return ptx.parse(data), ptx.kernels(data), ptx.only_empty_kernels(data), ptx.read(data)


def _file(name: str, read: Callable[[str], object]) -> Callable[[bytes], object]:
    def called(data: bytes) -> object:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, name)
            Path(path).write_bytes(data)
            return read(path)

    return called


def _package(path: str) -> object:
    found = package_of(path, LIMITS)
    return None if found is None else (leads(found), ways_to("nvjitlink", found))


_INDEX = {"name": "x", "version": "1.0", "build": "cuda12_0"}
_DEPENDS = ["cuda-version >=12.4,<13", "__cuda >=12", "libnvjitlink >=12.4"]


def _conda_packages() -> Iterator[bytes]:
    index = json.dumps({**_INDEX, "depends": _DEPENDS}).encode()
    info = tar_of(("info/index.json", index))
    code = tar_of(("lib/x.fatbin", next(_regions())))
    parts = (("metadata.json", b'{"conda_pkg_format_version": 2}'),)
    members = (*parts, ("info-x.tar.zst", zstd(info)), ("pkg-x.tar.zst", zstd(code)))
    yield zip_of(*members, method=zipfile.ZIP_STORED)


def _metadata(data: bytes) -> object:
    text = data.decode("utf-8", "replace")
    return read_metadata(data), [alternatives(line) for line in text.splitlines()[:50]]


_MARKED = 'nvidia-nvjitlink-cu12>=12.4; extra == "a" and python_version < "3.13"'
_METADATA = packages_made.metadata("x", "1.0", [_MARKED, "torch"], ["a"])
_REQUIREMENTS = (
    b"nvidia-nvjitlink-cu12==12.4.127 ; sys_platform == 'linux' \\\n --hash=sha256:0\n-r x\n"
)


def _wheels() -> Iterator[bytes]:
    code = next(_regions())
    wheel = b"Wheel-Version: 1.0\nTag: py3-none-manylinux_2_28_x86_64\n"
    names = ("METADATA", _METADATA), ("WHEEL", wheel), ("RECORD", b"")
    yield zip_of(("x/y.fatbin", code), *((f"x-1.0.dist-info/{n}", d) for n, d in names))
    yield zip_of(*((f"x-1.0.dist-info/{n}", d) for n, d in names), method=zipfile.ZIP_STORED)


def _streams() -> Iterator[bytes]:
    yield zstd(bytes(5000))
    yield gzip.compress(b"x" * 5000)


def _notes() -> Iterator[bytes]:
    for data in _samples("cubin")():
        yield data[data.find(b"NVIDIA Corp") - 12 :]


def _target(text: str) -> object:
    return parse([text])


def _tars() -> Iterator[bytes]:
    members = ("a/x.fatbin", next(_regions())), ("b" * 150, b"long"), ("c", bytes(1000))
    yield tar_of(*members)
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in members:
            info = tarfile.TarInfo(f"ü{name}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    yield file.getvalue()


def _locks(*endings: str) -> Callable[[], Iterator[bytes]]:
    def found() -> Iterator[bytes]:
        for path in sorted((_DATA / "locks").rglob("*")):
            if path.is_file() and path.name.endswith(endings) and path.stat().st_size < 100_000:
                yield path.read_bytes()

    return found


def _lock(path: str) -> object:
    return parse([f"lock={path},gpu=h100"])


_POLICY = b"""
[tool.ltocompat.targets]
old = "driver=550,gpu=h100"
new = { driver = "580.95.05", gpu = ["h100", "sm_120"], nvjitlink = ">=13.0,<14" }
[tool.ltocompat.audit]
fail-on = "unknown"
require-gpus = ["sm_90"]
trial-link = ["13.0"]
[[tool.ltocompat.audit.ignore]]
rule = "PTX-01"
path = "*.so"
kernel = "saxpy*"
until = 2030-01-01
reason = "known"
"""
_TARGETS = (
    b"driver=580.95.05,gpu=h100,nvjitlink=13.0",
    b"stock=12.4,gpu=hopper",
    b"compat=580.95.05,driver=550,gpu=sm_90a",
    b"R550,h100",
    b"12.4",
    b"nvlink=13.5,gpu=all,name=x",
)
_PLACES = (b"libx.a::m.o@0x1f40.3", b"a%20b.whl::x/y.so@0x0.1.2", b"-", b"x@0x0")
_TEXTS = (
    b"undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12",
    b"CUDA error: no kernel image is available for execution on the device (209)",
    b"ptxas fatal   : Unsupported .version 9.2; current version is '8.4'",
    b"nvlink fatal : Input file 'a.o' newer than toolkit (130 vs 124)",
)


def _text(read: Callable[[str], object]) -> Callable[[bytes], object]:
    return lambda data: read(data.decode("utf-8", "surrogateescape"))


def _listed(*texts: bytes) -> Callable[[], Iterator[bytes]]:
    return lambda: iter(texts)


_ROOT_FILES = {
    "/proc/driver/nvidia/version": (
        b"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n"
        b"GCC version: gcc 11\n"
    ),
    "/etc/os-release": b'ID=ubuntu\nVERSION_ID="22.04"\n',
    "/usr/local/cuda/version.json": b'{"cuda": {"version": "13.0.1"}}',
    "/etc/ld.so.conf": b"include /etc/ld.so.conf.d/*.conf\n/usr/local/cuda/lib64\n",
    "/etc/nv_tegra_release": b"# R36 (release), REVISION: 4.3, GCID: 1\n",
    "/var/lib/dpkg/status": (
        b"Package: cuda-compat-13-0\nStatus: install ok installed\nVersion: 580.95.05-1\n\n"
    ),
    "/proc/driver/nvidia/gpus/0000:01:00.0/information": (
        b"Model: \t\t NVIDIA H100\nDevice Minor: \t 0\n"
    ),
}


def _root(data: bytes) -> object:
    """All files of a machine, one after the other: name, a zero byte, size, content."""
    with tempfile.TemporaryDirectory() as folder:
        position = 0
        for name in _ROOT_FILES:
            size = int.from_bytes(data[position : position + 2], "little")
            path = Path(folder + name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data[position + 2 : position + 2 + size])
            position += 2 + size
        return probe(Machine(folder))


def _roots() -> Iterator[bytes]:
    yield b"".join(len(text).to_bytes(2, "little") + text for text in _ROOT_FILES.values())


_MARKERS = (b"; extra ==", b" or ", b" and ", b"python_version", b">=", b"~=", b"[a]")
_OF_PTX = (b".version ", b".target ", b".entry ", b".func ", b".extern ", b"/*", b"*/", b"//", b'"')

READERS: dict[str, Reader] = {
    "elf": Reader(_host(read_elf), _samples("objects")),
    "pe": Reader(_host(read_pe), _samples("objects")),
    "coff": Reader(_host(read_coff), _samples("objects")),
    "ar": Reader(_container(0), _samples("objects", most=200_000)),
    "fatbin": Reader(lambda data: records_of(data, limits=LIMITS, detail=True), _regions),
    "payload": Reader(_decoded, _payloads),
    "cubin": Reader(_cubin, _samples("cubin")),
    "notes": Reader(Notes.parse, _notes),
    "ptx": Reader(_ptx, _samples("ptx"), _OF_PTX),
    "ltoir": Reader(ltoir.parse, _samples("ltoir")),
    "tileir": Reader(tileir.parse, _samples("objects", "tileir")),
    "zip": Reader(_container(3), _wheels),
    "tar": Reader(_container(1), _tars, (b"path=", b"size=", b"10 a=b\n")),
    "compressed": Reader(_container(2), _streams),
    "conda": Reader(_file("x-1.0-0.conda", _package), _conda_packages),
    "wheel": Reader(_file("x-1.0-py3-none-any.whl", _package), _wheels),
    "metadata": Reader(_metadata, _listed(_METADATA), _MARKERS),
    "toml lock": Reader(_file("pylock.toml", _lock), _locks(".toml", ".lock"), _MARKERS),
    "requirements": Reader(_file("requirements.txt", _lock), _listed(_REQUIREMENTS), _MARKERS),
    "yaml lock": Reader(_file("conda-lock.yml", _lock), _locks(".yml", ".yaml", "pixi.lock")),
    "policy": Reader(_file("ltocompat.toml", read_policy), _listed(_POLICY)),
    "target": Reader(_text(_target), _listed(*_TARGETS), (b",", b"=", b"gpu=", b"all")),
    "place": Reader(_text(Place.parse), _listed(*_PLACES), (b"::", b"@0x", b"%", b".")),
    "explain": Reader(_text(explain), _listed(*_TEXTS)),
    "root": Reader(_root, _roots),
}


@functools.cache
def seeds(name: str) -> tuple[bytes, ...]:
    """Sound inputs of one reader."""
    return tuple(READERS[name].seeds())

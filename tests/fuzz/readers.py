"""Every reader of what others wrote: how it is called, and sound bytes to begin with.

A reader takes any bytes and ends in a value or in an error of ours, in time and memory.
"""

from __future__ import annotations

import bz2
import functools
import gzip
import hashlib
import importlib
import importlib.util
import io
import json
import lzma
import os
import pkgutil
import random
import struct
import tarfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import lz4.block
import lz4.frame
from fatbin_writer import KINDS, EntrySpec, concatenated, entry, region
from package_writer import ENCRYPTED, UTF8, Raw, pax, raw_zip, tar_header, tar_of, zip_of, zstd
from reading import records_of
from samples import ALL, FOLDER

from fuzz.files import folder, written
from fuzz.members import Entries, Entry
from fuzz.structure import WRAPPERS, Form, Part, rearranging
from ltocompat.commands.env import problems_of
from ltocompat.commands.explain import explain
from ltocompat.commands.policy.reading import read_policy
from ltocompat.files.archives import ContainerFormat
from ltocompat.files.archives.archive import ArchiveFormat
from ltocompat.files.archives.compressed import CompressedFormat
from ltocompat.files.archives.member import Member
from ltocompat.files.archives.tar import TarFormat
from ltocompat.files.archives.zip import ZipFormat
from ltocompat.files.byteview import ByteView
from ltocompat.files.codec import Payload, zstd_frame
from ltocompat.files.images import cubin, cubin_symbols, ltoir, ptx, ptx_symbols, tileir
from ltocompat.files.images.cubin_notes import Notes
from ltocompat.files.objects import ObjectFile
from ltocompat.files.objects.coff import read_coff
from ltocompat.files.objects.elf_host import read_elf
from ltocompat.files.objects.pe import read_pe
from ltocompat.files.objects.structure import ObjectReader
from ltocompat.model.image import Compression
from ltocompat.model.limits import Budget, Limits
from ltocompat.model.place import Place
from ltocompat.packages import conda
from ltocompat.packages.metadata import python_and_platforms, read_metadata, read_tags
from ltocompat.packages.promise import read_promise
from ltocompat.packages.python_packages import owner, read_installed, read_wheel
from ltocompat.packages.resolving import leads, ways_to
from ltocompat.packages.values import Package
from ltocompat.targets import parse
from ltocompat.targets.linkers import Machine
from ltocompat.targets.linkers.searching import find
from ltocompat.targets.machine.compilers import compilers
from ltocompat.targets.machine.driver import compat_folders, kernel_driver, user_driver
from ltocompat.targets.machine.driver_probe import Answers, gpus
from ltocompat.targets.machine.ldcache import cached
from ltocompat.targets.machine.library_search import picks
from ltocompat.targets.machine.loader import Loader
from ltocompat.targets.machine.platform import container, is_wsl2, jetson, system
from ltocompat.targets.machine.probe import probe
from ltocompat.targets.machine.toolkits import conda as conda_of
from ltocompat.targets.machine.toolkits import toolkits, wheels

LIMITS = Limits(
    seconds=1.0,
    image_bytes=64 << 20,
    window_bytes=16 << 20,
    total_bytes=128 << 20,
    unpacked_bytes=128 << 20,
)
_DATA = Path(__file__).parent.parent / "data"
Read = Callable[[bytes], object]
Seeds = Callable[[], Iterator[bytes]]


@dataclass(frozen=True, slots=True)
class Reader:
    """One reader.

    Attributes:
        read: takes the bytes.
        seeds: makes sound bytes.
        modules: what it is made of, below ``ltocompat``: files, or rooms with all in them.
        words: what its inputs are made of, for insertions.
        text: whether its inputs are lines of words.
        wraps: whether it enters containers.
        form: of its inputs, where no bytes of them tell it.
        seconds: of CPU that an input may take.
    """

    read: Read
    seeds: Seeds
    modules: tuple[str, ...] = ()
    words: tuple[bytes, ...] = ()
    text: bool = False
    wraps: bool = False
    form: Form | None = None
    seconds: float = 2.0

    def files(self) -> set[str]:
        """The files of its modules."""
        found = set()
        for name in self.modules:
            module = importlib.import_module(f"ltocompat.{name}")
            found.add(str(module.__file__))
            inside = getattr(module, "__path__", ())
            for inner in pkgutil.walk_packages(inside, module.__name__ + "."):
                found.add(str(importlib.import_module(inner.name).__file__))
        return found


def _budget() -> Budget:
    return Budget(LIMITS)


def _records(data: bytes) -> object:
    return records_of(data, limits=LIMITS, detail=True)


def _text(read: Callable[[str], object]) -> Read:
    return lambda data: read(data.decode("utf-8", "surrogateescape"))


def _file(name: str, read: Callable[[str], object]) -> Read:
    return lambda data: read(written(name, data))


def _listed(*texts: bytes) -> Seeds:
    return lambda: iter(texts)


def _samples(*folders: str, most: int = 40_000, starts: tuple[bytes, ...] = (b"",)) -> Seeds:
    def found() -> Iterator[bytes]:
        for sample in ALL:
            data = sample.path.read_bytes()
            wanted = sample.path.parent.name in folders and 0 < len(data) <= most
            if wanted and data.startswith(starts):
                yield data

    return found


# Host files


def _host(read: Callable[[ByteView, Budget], ObjectReader | None]) -> Read:
    def called(data: bytes) -> object:
        view, budget = ByteView.of(data), _budget()
        structure = read(view, budget)
        if structure is not None:
            host = ObjectFile(view, budget, structure)
            host.describe(Place("input"), exports=True)
            host.registration().registered(data.find(_REGION))
            host.symbol_size(len(data) // 2)
        return records_of(data, limits=LIMITS)

    return called


_REGION = b"\x50\xed\x55\xba"
_OF_HOSTS = (
    *(b"\0libnvJitLink.so.12\0", b"\0libnvrtc.so.13\0", b"Failed to load libcuda.so.1\0", b"def "),
    *("\0nvrtc64_120_0.dll\0".encode("utf-16-le"), b"\0cublas64_13.dll\0"),
    *(b"\0Cuda compilation tools, release 12.4, V12.4.127\0", b"__nvJitLinkCreate_12_4\0"),
    *(b"\xb1\x43\x62\x46\1\0\0\0", b"\xb1\x43\x62\x46\2\0\0\0", _REGION),
)
_OBJECT_MODULES = ("structure", "host_file", "libraries", "wrappers", "relocations")

# Archives


def _container(form: ContainerFormat) -> Read:
    def called(data: bytes) -> object:
        view, place = ByteView.of(data), Place("input")
        if not form.sniff(view, _budget()):
            return None
        for member in form.members(view, place, place, _budget()):
            if isinstance(member, Member):
                member.view.peek(0, 1 << 20)
        return None

    return called


def _tars() -> Iterator[bytes]:
    members = ("a/x.fatbin", next(_regions())), ("b" * 150, b"long"), ("c", bytes(1000))
    yield tar_of(*members)
    yield tar_of(*members, kind=tarfile.GNU_FORMAT)
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in members:
            info = tarfile.TarInfo(f"ü{name}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        for name, kind, target in (("l", b"2", "üa"), ("h", b"1", "üc"), ("d", b"5", "")):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            tar.addfile(info)
    yield file.getvalue()
    sparse = tar_header(b"s", 512, b"S")
    yield sparse + bytes(512) + bytes(1024)
    kinds = (bytes([kind]) for kind in b"0123456DMV7L")
    yield b"".join(tar_header(b"../" + kind, 0, kind, b"../x") for kind in kinds) + bytes(1024)
    yield pax([("GNU.sparse.major", "1"), ("size", "3")]) + tar_header(b"x", 9) + bytes(1536)


_WHEEL_INFO = b"Wheel-Version: 1.0\nTag: py3-none-manylinux_2_28_x86_64\n"
_VARIANT = (
    b'{"variants": {"a": {"nvidia": {"sm_arch": ["90_real"], "cuda_version_lower": ["12"]}}}}'
)


def _wheels() -> Iterator[bytes]:
    code = ("x/y.fatbin", next(_regions()))
    info = (
        ("x-1.0.dist-info/METADATA", _METADATA),
        ("x-1.0.dist-info/WHEEL", _WHEEL_INFO),
        ("x-1.0.dist-info/RECORD", b"x/y.fatbin,,\n"),
    )
    yield zip_of(code, *info, ("x-1.0.dist-info/variant.json", _VARIANT))
    yield zip_of(*info, method=zipfile.ZIP_STORED)
    yield zip_of(code, *info, method=zipfile.ZIP_BZIP2)
    yield zip_of(code, *info, method=zipfile.ZIP_LZMA)
    yield raw_zip(
        Raw(b"a.so", code[1], flags=UTF8),
        Raw(b"a.so", b"../b", method=0, mode=0o120777),
        Raw(b"../e", b"x", flags=ENCRYPTED),
        Raw(b"d/", b""),
        Raw(b"large", hashlib.shake_128(b"").digest(70_000)),
        Raw(b"zstd", code[1], method=93, stored=zstd(code[1])),
        front=b"#!",
    )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive, archive.open("w", "w", force_zip64=True) as member:
        member.write(code[1])
    data = file.getvalue()
    yield data
    # The same with an end of 64 bits, which zipfile writes beyond 4 GiB alone.
    end, size, start = len(data) - 22, *struct.unpack_from("<II", data, len(data) - 10)
    yield (
        data[:end]
        + struct.pack(
            "<4sQ2H2L4Q4sLQL", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, size, start, b"PK\6\7", 0, end, 1
        )
        + data[end:]
    )


def _streams() -> Iterator[bytes]:
    text = hashlib.shake_128(b"").digest(70_000) + bytes(5000)
    for pack in (zstd, gzip.compress, bz2.compress, lzma.compress, lz4.frame.compress):
        yield pack(text)
        yield pack(tar_of(("a", text)))


def _nested() -> Iterator[bytes]:
    """Containers in containers, with device code in the innermost."""
    code = next(_regions())
    for outer in WRAPPERS:
        yield outer(code)
        for inner in WRAPPERS:
            yield outer(inner(code))


_UNPACKING = ("files.archives.unpacking", "files.archives.member", "files.archives.spool")
_OF_TAR = (b"path=", b"size=", b"10 a=b\n", b"0 ", b"linkpath=", b"GNU.sparse.name=", b"ustar")

# Device code


def _decoded(data: bytes) -> object:
    """A byte that names the compression, three of the size, and the payload."""
    compression = Compression.LZ4 if data[:1] in (b"L", b"l") else Compression.ZSTD
    declared = int.from_bytes(data[1:4], "little") << (8 if data[:1] in (b"l", b"z") else 0)
    payload = Payload(ByteView.of(data[4:]), compression, declared, _budget())
    with suppress(Exception):  # what follows doesn't depend on it, and fails alike
        zstd_frame(ByteView.of(data), 4, _budget())
    prefix = payload.prefix()
    prefix.grow(1000)
    prefix.grow(70_000)
    return payload.decode()


def _payloads() -> Iterator[bytes]:
    for text in (b".version 8.4\n.target sm_80\n" * 40, bytes(70_000), bytes(range(256)) * 1000):
        size = len(text).to_bytes(3, "little")
        yield b"L" + size + lz4.block.compress(text, store_size=False)
        yield b"L" + size + lz4.frame.compress(text)
        yield b"Z" + size + zstd(text)
    # Large, and packed so well only that it is no bomb.
    large = bytes(range(256)) * (1 << 14) + hashlib.shake_128(b"").digest(1 << 13)
    size = (len(large) >> 8).to_bytes(3, "little")
    yield b"z" + size + zstd(large)
    yield b"l" + size + lz4.block.compress(large, store_size=False)


def _regions() -> Iterator[bytes]:
    yield from _samples("fatbin", "fatbin-ltoir", most=6_000)()
    text = b".version 8.4\n.target sm_80\n.visible .entry k() { ret; }"
    specs = [EntrySpec(KINDS["ptx"], text, compression=c) for c in ("none", "lz4", "zstd")]
    yield region([entry(spec) for spec in specs])
    yield region([concatenated(specs, "lz4")])
    yield region([entry(EntrySpec(KINDS["ptx"], text * 30_000, compression="zstd"))])


def _cubin(data: bytes) -> object:
    cubin.early_api_versions(data)
    found = cubin.Cubin.parse(ByteView.of(data), _budget())
    said = found.problem, found.debug, found.notes(), found.api_versions(), found.accelerated()
    return said, found.kernels(), found.kernel_sizes(), found.registers(), cubin_symbols.read(found)


def _notes_of(data: bytes) -> object:
    return Notes.parse(data).suffix(), Notes.find(data)


def _notes() -> Iterator[bytes]:
    for data in _samples("cubin")():
        yield data[max(0, data.find(b"NVIDIA Corp") - 12) :]


def _ptx(data: bytes) -> object:
    budget = _budget()
    data = ptx.without_comments(data, budget)
    symbols = ptx_symbols.read(data, budget)
    used = ptx_symbols.used(data, symbols, (*symbols.kernels, *symbols.bodiless), budget)
    kernels = ptx.kernels(data, budget), ptx.only_empty_kernels(data, budget)
    return ptx.parse(data), kernels, used


_OF_PTX = (
    *(b".version ", b".target ", b".entry ", b".func ", b".extern ", b"/*", b"*/", b"//", b'"'),
    *(b".visible .global .u32 a[] = {1, 2}, b = 3;\n", b".alias a, b;\n", b".common .shared "),
    *(b".visible ", b"{", b"}", b"call ", b"ret;", b".address_size 32", b".weak ", b".pragma "),
)

# Packages


def _means(package: Package | None) -> object:
    if package is None:
        return None
    budget = _budget()
    return leads(package, budget=budget), ways_to("nvjitlink", package, budget=budget)


def _wheel(data: bytes) -> object:
    return _means(read_wheel(ByteView.of(data), "x-1.0-py3-none-any.whl", _budget()))


def _conda(data: bytes) -> object:
    return _means(conda.read(ByteView.of(data), "x-1.0-0.conda", _budget()))


_DEPENDS = ["cuda-version >=12.4,<13", "__cuda >=12", "libnvjitlink >=12.4", "a 1.*|>2,!=3 *_0"]
_INDEX = {"name": "x", "version": "1.0", "build": "cuda12_0", "depends": _DEPENDS}


def _conda_packages() -> Iterator[bytes]:
    info, code = ("info/index.json", json.dumps(_INDEX).encode()), ("x.fatbin", next(_regions()))
    paths = ("info/paths.json", b'{"paths": [{"_path": "x.fatbin"}], "paths_version": 1}')
    yield zip_of(
        ("metadata.json", b'{"conda_pkg_format_version": 2}'),
        ("info-x.tar.zst", zstd(tar_of(info, paths))),
        ("pkg-x.tar.zst", zstd(tar_of(code))),
        method=zipfile.ZIP_STORED,
    )
    yield bz2.compress(tar_of(info, paths, code))


def _metadata(data: bytes) -> object:
    lines = data.decode("utf-8", "replace").splitlines()[:50]
    tags = python_and_platforms(read_tags(data))
    return read_metadata(data, _budget()), tags, [conda.alternatives(line) for line in lines]


def _installed(data: bytes) -> object:
    """METADATA, RECORD and WHEEL of a distribution, separated by a line of dashes."""
    parts = dict(zip(("METADATA", "RECORD", "WHEEL"), data.split(b"\n---\n"), strict=False))
    site = os.path.join(folder(), "site-packages")
    info = os.path.join(site, "x-1.0.dist-info")
    os.makedirs(info, exist_ok=True)
    for name in ("METADATA", "RECORD", "WHEEL"):
        Path(info, name).write_bytes(parts.get(name, b""))
    return _means(read_installed(info, _budget())), owner(os.path.join(site, "x/y.so"), _budget())


_METADATA = b"""\
Metadata-Version: 2.4
Name: x
Version: 1.0
Provides-Extra: a
Classifier: Environment :: GPU :: NVIDIA CUDA :: 12 :: 12.4
Requires-Dist: nvidia-nvjitlink-cu12>=12.4,!=12.5.*; extra == "a" and python_version < "3.13"
Requires-Dist: torch[b] (~=2.4) ; sys_platform == 'linux' or (os_name in 'nt posix')
Requires-Dist: cuda-toolkit @ https://x.y/z.whl
Requires-Python: >=3.9
Tag: cp311-cp311-linux_x86_64
Classifier: Environment :: GPU :: NVIDIA CUDA :: 13

text
"""
_RECORD = b'x/y.so,sha256=0,12\n"x/a,b.so",,\nx-1.0.dist-info/METADATA,,\n../../bin/z,,\n'
_MARKERS = (
    *(b"; extra ==", b" or ", b" and ", b"python_version", b">=", b"~=", b"[a]", b"sys_platform"),
    *(
        b"===",
        b" not in ",
        b"Requires-Dist: x",
        b"Provides-Extra: a",
        b"platform_machine",
        b"!=1.*",
    ),
)

# What a project writes


def _locks(*endings: str) -> Seeds:
    def found() -> Iterator[bytes]:
        for path in sorted((_DATA / "locks").rglob("*")):
            if path.is_file() and path.name.endswith(endings):
                yield _short(path.read_bytes())

    return found


def _short(lock: bytes) -> bytes:
    """Of a long lock its head, and the packages around the one that is looked for."""
    if len(lock) < 8_000:
        return lock
    mark = b"\n[[package"
    at = lock.rfind(mark, 0, max(0, lock.find(b'"nvidia-nvjitlink')))
    return lock[: lock.find(mark)] + lock[at : at + 5_000].rpartition(mark)[0] + b"\n"


def _lock(path: str) -> object:
    return parse([f"lock={path},gpu=h100"])


_REQUIREMENTS = (
    b"nvidia-nvjitlink-cu12==12.4.127 ; sys_platform == 'linux' \\\n --hash=sha256:0\n-r x\n",
    b"nvidia-nvjitlink-cu12>=12.4,<13\nnvidia-cuda-nvrtc-cu12===12.4.127\n# x\n-i https://x\n",
)
_OF_TOML = (
    *(b"[[package]]\n", b"[a.b]\n", b" = ", b"'''", b'"""', b"{", b"}", b"name", b"version"),
    *(
        b"[]",
        b"1979-05-27T07:32:00Z",
        b"true",
        b"inf",
        b"''",
        b"-1",
        b"0x7f",
        b"*",
        b"marker",
        b"\\u0000",
    ),
)
_POLICY = b"""
[tool.ltocompat.targets]
old = "driver=550,gpu=h100"
new = { driver = "580.95.05", gpu = ["h100", "sm_120"], nvjitlink = ">=13.0,<14" }
edge = { compat = "580.95.05", driver = "R550", os = "wsl2", nvrtc = "12.4" }
[tool.ltocompat.promise]
sass = ["sm_80", 90]
ptx = ["compute_90"]
driver = "525.60.13"
nvjitlink = "12.4"
[tool.ltocompat.audit]
targets = ["old", "new"]
fail-on = "unknown"
require-gpus = ["sm_90"]
require-archs = ["sm_80", "compute_90", "lto_90"]
least-driver = "580"
trial-link = ["13.0"]
no-device-code = "pass"
variants = ["libx_cuda*.so"]
provided-by = { torch = ["libcudart.so.*"] }
[[tool.ltocompat.audit.ignore]]
rule = "PTX-01"
path = "*.so"
kernel = "saxpy*"
expires = 2030-01-01
reason = "known"
"""
_OF_POLICY = (
    *(b"[tool.ltocompat]\n", b"targets", b"gpu", b"driver", b"nvjitlink", b"expires", b"lock"),
    *(b"no-device-code", b"variants", b"provided-by", b"promise", b"least-driver", b"ignore"),
)


def _policy(path: str) -> object:
    return read_policy(path), read_promise(path)


_TARGETS = (
    b"driver=580.95.05,gpu=h100,nvjitlink=13.0",
    b"stock=12.4,gpu=hopper",
    b"compat=580.95.05,driver=550,gpu=sm_90a",
    b"R550,h100",
    b"12.4",
    b"nvlink=13.5,gpu=all,name=x",
    b"container=cuda>=12.4 brand=tesla",
    b"driver=550,gpu=h100+l4,nvrtc=12.4,os=windows,python=3.12",
)
_OF_TARGET = (
    *(b",", b"=", b"gpu=", b"all", b"+", b"driver=", b"nvjitlink>=", b"sm_", b"name=", b"lock="),
    *(b"stock=", b"container=", b"compat=", b"R", b"h100", b"hopper", b"os=", b"nvlink="),
)


def _target(text: str) -> object:
    return parse([text])


_PLACES = (b"libx.a::m.o@0x1f40.3", b"a%20b.whl::x/y.so@0x0.1.2", b"-", b"x@0x0")


def _place(text: str) -> object:
    place = Place.parse(text)
    return Place.parse(str(place)), place.contains(place)


# Other people's texts, and their machines


def _messages() -> Iterator[bytes]:
    """Texts as users saw them."""
    rows = tomllib.loads((_DATA / "explain_messages.toml").read_text("utf-8"))
    for kind in ("message", "held_out", "seen"):
        yield from (str(row["text"]).encode()[:2000] for row in rows.get(kind, ()))


def _loader_cache() -> bytes:
    """A ld.so.cache of two libraries, one of them in a folder for certain processors."""
    texts = b"libcuda.so.1\0/usr/lib/libcuda.so.1\0"
    linker = b"libnvJitLink.so.12\0/usr/lib/libnvJitLink.so.12\0"
    start = 48 + 2 * 24
    rows = struct.pack("<iIIIQ", 0x303, start, start + 13, 0, 0)
    rows += struct.pack("<iIIIQ", 0x303, start + 35, start + 54, 0, 1 << 62)
    more = start + len(texts) + len(linker)
    extension = struct.pack("<II", 0xEAA42174, 1) + struct.pack("<IIII", 1, 0, more + 24, 4)
    names = struct.pack("<I", start)
    head = struct.pack("<20sIIB3xI12x", b"glibc-ld.so.cache1.1", 2, more - start, 2, more)
    return head + rows + texts + linker + extension + names


_LINK = b"\0-> "
# A case that was kept has them in this order: new ones come at the end.
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
    "/etc/ld.so.cache": _loader_cache(),
    "/usr/lib/libcuda.so.580.95.05": b"",
    "/usr/lib/libcuda.so.1": _LINK + b"libcuda.so.580.95.05",
    "/usr/lib/libnvJitLink.so.12": b"",
    "/proc/1/cgroup": b"0::/docker/x\n",
    "/opt/conda/conda-meta/libnvjitlink-12.4.json": (
        b'{"name": "libnvjitlink", "version": "12.4.127", "files": ["lib/libnvJitLink.so.12"]}'
    ),
    "/opt/conda/lib/libnvJitLink.so.12": b"",
    "/usr/local/cuda/version.txt": b"CUDA Version 12.4.1\n",
    "/usr/local/cuda/include/cuda.h": b"#define CUDA_VERSION 12040\n",
    "/usr/local/cuda/compat/libcuda.so.1": b"",
    "/usr/local/cuda/lib64/libnvrtc.so.12.4.127": b"",
    "/usr/bin/nvcc": b"#!/bin/sh\nexec /usr/local/cuda/bin/nvcc\n",
    "/usr/bin/python3": b"",
    "/usr/lib/python3/dist-packages/nvidia_cuda_nvrtc_cu12-12.4.dist-info/METADATA": _METADATA,
}
_written: dict[str, bytes] = {}


def machine_in(data: bytes) -> str:
    """The root of a machine; all its files come one after the other: size, content."""
    root = os.path.join(folder(), "root")
    position = 0
    for name in _ROOT_FILES:
        size = int.from_bytes(data[position : position + 2], "little")
        _put(root + name, data[position + 2 : position + 2 + size])
        position += 2 + size
    return root


def _put(path: str, content: bytes) -> None:
    """Write a file, or a link, where it is not what it was for the last input."""
    if _written.get(path) == content:
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with suppress(FileNotFoundError):
        os.unlink(path)
    target = content[len(_LINK) :][:200]
    if content.startswith(_LINK) and target and b"\0" not in target:
        os.symlink(target, os.fsencode(path))
    else:
        Path(path).write_bytes(content)
    _written[path] = content


_ENVIRON = {
    "PATH": "/usr/bin:/usr/local/cuda/bin",
    "LD_LIBRARY_PATH": "/usr/local/cuda/lib64::lib:/opt/$LIB",
    "CONDA_PREFIX": "/opt/conda",
    "CUDA_HOME": "/usr/local/cuda",
    "LD_PRELOAD": "libcuda.so.1",
}


def _contents(data: bytes) -> Iterator[tuple[int, int]]:
    """Where the content of each file begins and ends."""
    position = 0
    for _ in _ROOT_FILES:
        start = position + 2
        position = start + int.from_bytes(data[position:start], "little")
        yield start, position


def _files_of_machine(data: bytes, _: random.Random) -> Iterator[Part]:
    for start, end in _contents(data):
        yield Part(data[start:end], _put_file(data[: start - 2], data[end:]))


def _put_file(before: bytes, after: bytes) -> Callable[[bytes], bytes]:
    return lambda new: before + _sized(new) + after


def _sized(content: bytes) -> bytes:
    return min(len(content), 0xFFFF).to_bytes(2, "little") + content[:0xFFFF]


def _entries_of_machine(data: bytes) -> Entries:
    found = []
    for name, (start, end) in zip(_ROOT_FILES, _contents(data), strict=True):
        content = data[start:end]
        link = content.startswith(_LINK)
        found.append(Entry(name.encode(), content.removeprefix(_LINK), link=link))
    return found


def _machine_of(entries: Entries, _: random.Random) -> bytes:
    """Of its files alone: it has no others, and each of them once."""
    named = {entry.name: entry for entry in reversed(entries)}
    found = []
    for name in _ROOT_FILES:
        entry = named.get(name.encode(), Entry(b"", b""))
        found.append(_sized(_LINK + entry.data if entry.link else entry.data))
    return b"".join(found)


MACHINE = Form(
    lambda _: True,
    parts=_files_of_machine,
    rearrange=rearranging(_entries_of_machine, _machine_of),
)
"""The form of what ``machine_in`` takes."""


def _root(data: bytes) -> object:
    machine = Machine(machine_in(data), _ENVIRON, python="/usr/bin/python3")
    found = probe(machine)
    if any("can't be found out" in problem for problem in found.problems):
        _root_in_parts(machine)
    return problems_of(found)


def _root_in_parts(machine: Machine) -> None:
    """The parts of a probe, which tells an error of any kind as a problem of the machine."""
    kernel = kernel_driver(machine, Answers())
    user_driver(machine, Loader(machine, machine.python), kernel, Answers(), [])
    compat_folders(machine, None, kernel, [])
    known = tuple(entry.path for entry in cached(machine) or ())
    tools, packages = toolkits(machine), wheels(machine)
    list(picks(machine, {linker.path: linker.version for linker in find(machine)}))
    compilers(machine, tools, packages, known)
    conda_of(machine)
    system(machine, wsl2=is_wsl2(machine))
    container(machine)
    gpus(machine, Answers(), jetson(machine))


def roots() -> Iterator[bytes]:
    """Machines with and without libraries that are some."""
    files = dict(_ROOT_FILES)
    library = (FOLDER / "objects" / "libsaxpy.so").read_bytes()
    banner = b"\0Cuda compilation tools, release 12.4, V12.4.127\0NVIDIA UNIX x86_64 580.95.05\0"
    for _ in range(2):
        yield b"".join(map(_sized, files.values()))
        for name in ("/usr/lib/libcuda.so.580.95.05", "/usr/lib/libnvJitLink.so.12"):
            files[name] = library[:-600] + banner
    for name in ("/opt/conda/lib/libnvJitLink.so.12", "/usr/bin/python3"):
        files[name] = library
    files["/usr/local/cuda/compat/libcuda.so.1"] = _LINK + b"/usr/lib/libcuda.so.580.95.05"
    files["/usr/local/cuda/lib64/libnvrtc.so.12.4.127"] = _LINK + b"/usr/lib/libnvJitLink.so.12"
    yield b"".join(map(_sized, files.values()))


_MACHINE = (
    *("targets.machine." + name for name in ("probe", "ldcache", "loader", "layout", "platform")),
    *("targets.machine." + name for name in ("driver", "toolkits", "compilers", "objects")),
    *("targets.machine.library_search", "targets.linkers.machine", "targets.linkers.searching"),
)

READERS: dict[str, Reader] = {
    "elf": Reader(
        _host(read_elf),
        _samples("objects", starts=(b"\x7fELF",)),
        (
            *("files.objects.elf", "files.objects.elf_host", "files.objects.elf_symbols"),
            *(f"files.objects.{name}" for name in _OBJECT_MODULES),
        ),
        _OF_HOSTS,
    ),
    "pe": Reader(
        _host(read_pe), _samples("objects", starts=(b"MZ",)), ("files.objects.pe",), _OF_HOSTS
    ),
    "coff": Reader(
        _host(read_coff),
        _samples("objects", starts=(b"\x64\x86", b"\0\0\xff\xff")),
        ("files.objects.coff",),
        _OF_HOSTS,
    ),
    "ar": Reader(
        _container(ArchiveFormat()),
        _samples("objects", most=200_000, starts=(b"!<",)),
        ("files.archives.archive",),
    ),
    "fatbin": Reader(_records, _regions, ("files.fatbin", "scan.describe")),
    "payload": Reader(_decoded, _payloads, ("files.codec",)),
    "cubin": Reader(
        _cubin,
        _samples("cubin"),
        ("files.images.cubin", "files.images.cubin_header", "files.images.cubin_symbols"),
    ),
    "notes": Reader(_notes_of, _notes, ("files.images.cubin_notes",)),
    "ptx": Reader(_ptx, _samples("ptx"), ("files.images.ptx",), _OF_PTX),
    "ltoir": Reader(ltoir.parse, _samples("ltoir"), ("files.images.ltoir",)),
    "tileir": Reader(tileir.parse, _listed(tileir.MAGIC + bytes(100)), ("files.images.tileir",)),
    "zip": Reader(_container(ZipFormat()), _wheels, ("files.archives.zip",)),
    "tar": Reader(_container(TarFormat()), _tars, ("files.archives.tar",), _OF_TAR),
    "compressed": Reader(_container(CompressedFormat()), _streams, ("files.archives.compressed",)),
    "containers": Reader(_records, _nested, _UNPACKING, wraps=True),
    "conda": Reader(_conda, _conda_packages, ("packages.conda", "packages.members")),
    "wheel": Reader(_wheel, _wheels, ("packages.declared",)),
    "installed": Reader(
        _installed,
        _listed(_METADATA + b"\n---\n" + _RECORD + b"\n---\n" + _WHEEL_INFO),
        ("packages.python_packages",),
        (*_MARKERS, b"site-packages", b"../", b",,", b'"'),
        text=True,
    ),
    "metadata": Reader(_metadata, _listed(_METADATA), ("packages.metadata",), _MARKERS, text=True),
    "toml lock": Reader(
        _file("pylock.toml", _lock),
        _locks(".toml", ".lock"),
        ("targets.lock_tables", "targets.lockfiles", "targets.text_file"),
        (*_MARKERS, *_OF_TOML),
        text=True,
    ),
    "requirements": Reader(
        _file("requirements.txt", _lock),
        lambda: iter((*_REQUIREMENTS, *_locks(".txt")())),
        ("targets.requirements_txt", "targets.pins"),
        _MARKERS,
        text=True,
    ),
    "yaml lock": Reader(
        _file("conda-lock.yml", _lock),
        _locks(".yml", "pixi.lock"),
        ("targets.lock_tables",),
        _MARKERS,
        text=True,
    ),
    "policy": Reader(
        _file("ltocompat.toml", _policy),
        _listed(_POLICY),
        (
            *(f"commands.policy.{name}" for name in ("reading", "values", "forms", "keys")),
            *(f"commands.policy.{name}" for name in ("ignores", "variants", "provided")),
            "packages.promise",
        ),
        (*_OF_TOML, *_OF_POLICY),
        text=True,
    ),
    "target": Reader(
        _text(_target),
        _listed(*_TARGETS),
        (
            *("targets.inline", "targets.reading", "targets.building", "targets.versions"),
            "targets.gpu_groups",
        ),
        _OF_TARGET,
        text=True,
    ),
    "place": Reader(
        _text(_place), _listed(*_PLACES), ("model.place",), (b"::", b"@0x", b"%", b"."), text=True
    ),
    "explain": Reader(
        _text(explain),
        _messages,
        ("commands.explain", "rules.messages", "rules.message_values"),
        text=True,
    ),
    "root": Reader(
        _root,
        roots,
        _MACHINE,
        (
            *(_LINK, b"/", b"..", b"include ", b"580.95.05", b"{", b"[", b"\n"),
            *(_LINK + os.path.basename(name).encode() for name in _ROOT_FILES),
        ),
        form=MACHINE,
    ),
}
if importlib.util.find_spec("yaml") is None:  # an extra of the package, as of this fuzzer
    del READERS["yaml lock"]


@functools.cache
def seeds(name: str) -> tuple[bytes, ...]:
    """Sound inputs of one reader."""
    return tuple(READERS[name].seeds())

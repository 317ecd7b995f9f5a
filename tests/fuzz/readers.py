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
import struct
import tarfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import lz4.block
import lz4.frame
import packages_made
from container_images_made import archive, docker_archive, oci_layout
from elf_writer import (
    CUDA,
    ET_REL,
    RELA,
    STRTAB,
    SYMTAB,
    Part,
    addends_in_place,
    elf,
    linked,
    object_file,
    two_device_links,
)
from fatbin_writer import KINDS, EntrySpec, concatenated, entry, region
from machines import shared
from package_writer import ENCRYPTED, UTF8, Raw, pax, raw_zip, tar_header, tar_of, zip_of, zstd
from reading import records_of
from samples import ALL, FOLDER
from summaries import summaries

from fuzz import documents, machine
from fuzz.files import folder, written
from fuzz.structure import WRAPPERS, Form
from ltocompat.commands.explain import explain
from ltocompat.commands.policy.baseline import Baseline
from ltocompat.commands.policy.gate import audited
from ltocompat.commands.policy.provided import without_provided
from ltocompat.commands.policy.reading import find_policy, read_policy
from ltocompat.commands.policy.variants import with_named_variants
from ltocompat.commands.read_artifacts import ScanOptions
from ltocompat.files import images
from ltocompat.files.archives import ContainerFormat, compressed, container_image, tar
from ltocompat.files.archives import archive as static_archive
from ltocompat.files.archives import rpm as rpm_archive
from ltocompat.files.archives import zip as zips
from ltocompat.files.archives.member import Member
from ltocompat.files.byteview import ByteView
from ltocompat.files.codec import Payload, zstd_frame
from ltocompat.files.images import cubin, cubin_symbols, ltoir, ptx, ptx_symbols, tileir
from ltocompat.files.images.cubin_notes import Notes
from ltocompat.files.objects.coff import read_coff
from ltocompat.files.objects.elf_host import read_elf
from ltocompat.files.objects.host_file import ObjectFile
from ltocompat.files.objects.pe import read_pe
from ltocompat.files.objects.structure import ObjectReader
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.errors import UsageError
from ltocompat.model.image import Compression
from ltocompat.model.limits import Budget, Limits
from ltocompat.model.location import Location
from ltocompat.model.target import Target
from ltocompat.model.verdict import LEVELS, Coverage, Finding, Result, Verdict
from ltocompat.packages import conda, debian, rpm
from ltocompat.packages.metadata import python_and_platforms, read_metadata, read_tags
from ltocompat.packages.python_packages import read_installed, read_wheel
from ltocompat.packages.reading import owner, package_in, package_of
from ltocompat.packages.resolving import leads, ways_to
from ltocompat.packages.values import Package
from ltocompat.scan.walk import ScanSettings
from ltocompat.targets import parse

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
        guided: whether what ``read`` returns says how an input is new.
    """

    read: Read
    seeds: Seeds
    modules: tuple[str, ...] = ()
    words: tuple[bytes, ...] = ()
    text: bool = False
    wraps: bool = False
    form: Form | None = None
    seconds: float = 2.0
    guided: bool = False

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
        structure = read(ByteView.of(data), _budget())
        if structure is not None:
            host = ObjectFile(structure)
            host.describe(Location("input"), exports=True)
            host.registration().registered(data.find(_REGION))
            host.symbol_size(len(data) // 2)
        return records_of(data, limits=LIMITS)

    return called


def _elfs() -> Iterator[bytes]:
    """Samples, and each kind of relocation and device link in files of a few hundred bytes."""
    yield from _samples("objects", starts=(b"\x7fELF",))()
    yield from (linked(), linked(headers=False), object_file())
    yield from (addends_in_place(packed=True), addends_in_place(packed=False))
    for ids in (b"_a\0def _a\0\0_b\0def _b\0", b"_a\0def _a\0def _b\0\0_b\0"):
        yield two_device_links(ids)
    marks = b"text\0nvrtc: error: failed to load builtins\0libcuda.so.1\0"
    yield shared("libx.so", marks, *_OF_HOSTS, needed=["libnvrtc.so.12", "libcudart.so.12"])


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
        view, place = ByteView.of(data), Location("input")
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
    b'{"variants": {"a": {"nvidia": {"sm_arch": ["90_real", "80", "x"],'
    b' "cuda_version_lower_bound": ["12.4", "13", "x"]}}}}'
)
_OTHER_VARIANTS = (
    b'{"variants": {"a": {"nvidia": {"sm_arch": "90"}}}}',
    b'{"variants": {"a": {}}}',
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
    for variant in _OTHER_VARIANTS:
        yield zip_of(*info, ("x-1.0.dist-info/variant.json", variant), method=zipfile.ZIP_STORED)
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


def _rpms() -> Iterator[bytes]:
    for path in sorted((Path(__file__).parents[1] / "data" / "rpm").glob("*.rpm")):
        yield path.read_bytes()


def _nested() -> Iterator[bytes]:
    """Containers in containers, with device code in the innermost."""
    code = next(_regions())
    for outer in WRAPPERS:
        yield outer(code)
        for inner in WRAPPERS:
            yield outer(inner(code))


def _image(data: bytes) -> object:
    """The files of a container image, and what it says of drivers."""
    _container(container_image)(data)
    return package_in(ByteView.of(data), "input.tar")


def _images() -> Iterator[bytes]:
    config = {"os": "linux", "config": {"Env": ["NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla"]}}
    lower = {"a/x.fatbin": next(_regions()), "a/b/y": b"y", "c": b"c"}
    upper = {"a/.wh.x.fatbin": b"", "a/b/.wh..wh..opq": b"", "d": b"d"}
    yield oci_layout([*map(archive, (lower, upper)), next(_tars())], config)
    yield docker_archive([*map(archive, (lower, upper, lower))])


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
    first = cubin.kernel_names(ByteView.of(data), _budget(), first=True)
    kernels = first, found.kernels(), found.kernel_sizes(), found.registers()
    return said, kernels, cubin_symbols.read(found)


def _cubins() -> Iterator[bytes]:
    """Samples, and a kernel that calls a function which the cubin lacks."""
    yield from _samples("cubin")()
    symbols = struct.pack("<24xIBBHQQIBBHQQ", 1, 0x12, 0x10, 1, 0, 8, 3, 0x12, 0, 0, 0, 0)
    parts = [
        Part(".text.k", bytes(8)),
        Part(".rela.text.k", struct.pack("<QQq", 0, 2 << 32 | 1, 0), RELA, 0, 3, 1),
        Part(".symtab", symbols, SYMTAB, 0, 4),
        Part(".strtab", b"\0k\0f\0", STRTAB, 0),
    ]
    yield elf(parts, ET_REL, CUDA)


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
    return leads(package, (), budget), ways_to("nvjitlink", package, budget=budget)


def _wheel(data: bytes) -> object:
    return _means(read_wheel(ByteView.of(data), "x-1.0-py3-none-any.whl", _budget()))


def _conda(data: bytes) -> object:
    return _means(conda.read(ByteView.of(data), "x-1.0-0.conda", _budget()))


def _debian(data: bytes) -> object:
    return _means(debian.read(ByteView.of(data), "x_1.0-1_amd64.deb", _budget()))


def _debians() -> Iterator[bytes]:
    needs = "libcufft11 (>= 11), libcublas-12-4 | libnvjitlink12, libc6, cuda-libraries-12-4"
    yield packages_made.debian(Path(folder()), {"./x": b""}, needs).read_bytes()


def _rpm(data: bytes) -> object:
    _container(rpm_archive)(data)
    return _means(rpm.read(ByteView.of(data), "x-1.0-1.x86_64.rpm", _budget()))


_DEPENDS = [
    *("cuda-version >=12.4,<13", "__cuda >=12", "libnvjitlink >=12.4", "a 1.*|>2,!=3 *_0"),
    *("cuda-arch 8.0", "__cuda_arch >=8.0,<9", "cuda-version", "cuda-toolkit >=12.4|13.*"),
]
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
    tags = python_and_platforms(read_tags(data) or ())
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
provided-by = { torch = ["libcudart.so.*"], nvidia-nvjitlink-cu12 = ["libcud*"] }
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


@functools.cache
def _judged() -> tuple[ArtifactSummary, Package | None, Finding]:
    """A package with a library of variants, and what is wrong with it."""
    library = ("x/libx_cuda12.so", (FOLDER / "objects" / "libsaxpy.so").read_bytes())
    path = written(
        "x-1.0-py3-none-any.whl", zip_of(library, ("x-1.0.dist-info/METADATA", _METADATA))
    )
    (summary,) = summaries([path], ScanOptions(ScanSettings()))
    finding = Finding(
        rule="PTX-01",
        verdict=Verdict.FAIL,
        level=LEVELS[Verdict.FAIL],
        message="",
        remedy="",
        evidence="",
        source="",
        module_count=1,
        example=Location.parse("x.whl::x/libx_cuda12.so@0x10.0"),
        kernels=("saxpy", "_Z5saxpyPf"),
    )
    return summary, package_of(path), finding


def _policy(path: str) -> object:
    """Read it, and hold a package to its patterns."""
    summary, package, finding = _judged()
    policy = read_policy(path)
    target = Target(name="old")
    result = Result(
        summary.path, target, None, None, finding.verdict, Coverage(1), (), (finding,), ()
    )
    audited([result], policy, Baseline())
    changed = with_named_variants(without_provided(summary, policy, package), policy.variants)
    nearest = find_policy(os.path.dirname(path))
    return nearest, policy.given, policy.table, policy.every_target, changed, policy.promise


_PROJECT = b"""
[targets.prod]
driver = 550
gpu = ["h100", "l4"]
compat = "13-0"
[targets]
edge = "cuda=12.4,t4"
"""
_TARGETS = (
    b"driver=580.95.05,gpu=h100,nvjitlink=13.0",
    b"stock=12.4,gpu=hopper",
    b"compat=580.95.05,driver=550,gpu=sm_90a",
    b"R550,h100",
    b"12.4",
    b"nvlink=13.5,gpu=all,name=x",
    b"container=cuda>=12.4 brand=tesla",
    b"driver=550,gpu=h100+l4,nvrtc=12.4,os=windows,python=3.12",
    b"driver=550+535,gpu=datacenter",
    b"driver>=535,<551,gpu=geforce",
    b"driver~=550.54,nvjitlink~=12.4,nvrtc!=12.4.*,gpu=jetson,os=linux-aarch64",
    b"driver<100",
    b"driver>=999,nvjitlink=12",
    b"nvjitlink=9&nvrtc=12.99",
    b"nvjitlink>=12.4.100,<13,compat=12",
    b"compat>=12.4,nvlink=13.0|12.4",
    b"compat=999.1",
    b"nvjitlink>99.0,<99.0",
    b"driver=400,gpu=datacenter",
    b"container=cuda>=99",
    b"container=cuda>=12.4,driver=550",
    b"name=x,driver=550 & name=x,driver=535",
    b"a.so & requirements.txt & ltocompat.toml",
    *(name + b"\n" + _PROJECT for name in (b"prod", b"edge", b"prot", b"a.so", b"none.lock")),
    b"ltocompat.toml\n" + _PROJECT,
    b"ltocompat.toml:edge\n" + _PROJECT,
    b"ltocompat.toml:eg\n" + _PROJECT,
    b"ltocompat.toml\ntargets = 1\n",
    b"ltocompat.toml\n[targets]\na = 1.5\n[targets.b]\ndriver = 550.5\n",
    b"ltocompat.toml\n[targets.b]\ncuda = '12.4'\nstock = '12.4'\n",
    b"ltocompat.toml\nlock-version = '1.0'\n[[packages]]\nname = 'x'\n",
)
_OF_TARGET = (
    *(b",", b"=", b"gpu=", b"all", b"+", b"driver=", b"nvjitlink>=", b"sm_", b"name=", b"lock="),
    *(b"stock=", b"container=", b"compat=", b"R", b"h100", b"hopper", b"os=", b"nvlink="),
)


def _inventories() -> Iterator[bytes]:
    """Outputs that tell of machines, and Dockerfiles."""
    text = (Path(__file__).parents[1] / "data" / "inventory.toml").read_text("utf-8")
    yield from (output["text"].encode() for output in tomllib.loads(text)["output"])
    yield b"ARG V=12.4.1\nFROM nvidia/cuda:${V}-devel-ubi8 AS a\nFROM a\nRUN pip install torch\n"


def _target(text: str) -> object:
    """Values of --deploy-target in the first line; below it what the project says."""
    texts, _, project = text.partition("\n")
    where = os.path.join(folder(), "project")
    os.makedirs(where, exist_ok=True)
    Path(where, "ltocompat.toml").write_text(project, "utf-8", "surrogateescape")
    return parse(texts.split(" & "), where=where)


_PLACES = (b"libx.a::m.o@0x1f40.3", b"a%20b.whl::x/y.so@0x0.1.2", b"-", b"x@0x0")


def _place(text: str) -> object:
    place = Location.parse(text)
    return Location.parse(str(place)), place.contains(place)


# Other people's texts


def _messages() -> Iterator[bytes]:
    """Texts as users saw them, and what they may write in place of one."""
    yield from (b"209", b"CUDA_ERROR_NO_BINARY_FOR_GPU", b"cudaErrorNoKernelImageForDevice", b" ")
    yield from (b"PTX-01", b"PTX-01 and lto-02", b"PTX-99", b"ptxas fatal" * 400)
    rows = tomllib.loads((_DATA / "explain_messages.toml").read_text("utf-8"))
    for kind in ("message", "held_out", "seen"):
        yield from (str(row["text"]).encode()[:2000] for row in rows.get(kind, ()))


_MACHINE = (
    *("targets.machine." + name for name in ("probe", "loader", "layout")),
    "targets.linkers.ldcache",
    *("targets.machine." + name for name in ("driver", "toolkits", "compilers", "objects")),
    *(
        "targets.machine.library_search",
        "targets.linkers.machine",
        "targets.linkers.searching",
        "files.inside",
    ),
)

# They read nothing that others wrote: what this very machine has, or what a user names.
NO_READERS = {
    "targets.linkers.machine": (
        *("here", "_current_folder", "_output_of"),
        *("program_folders", "_is_trusted", "_is_inside", "program_path"),
        *("environment_of_libraries", "_environment_of_programs"),
    ),
    "targets.linkers.searching": ("resolve", "_at"),
}
"""Functions, by their modules, of which no lines are counted."""

READERS: dict[str, Reader] = {
    "elf": Reader(
        _host(read_elf),
        _elfs,
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
        _container(static_archive),
        _samples("objects", most=200_000, starts=(b"!<",)),
        ("files.archives.archive",),
    ),
    "fatbin": Reader(_records, _regions, ("files.fatbin", "scan.describe")),
    "payload": Reader(_decoded, _payloads, ("files.codec",)),
    "cubin": Reader(
        _cubin,
        _cubins,
        ("files.images.cubin", "files.images.cubin_header", "files.images.cubin_symbols"),
    ),
    "notes": Reader(_notes_of, _notes, ("files.images.cubin_notes",)),
    "ptx": Reader(_ptx, _samples("ptx"), ("files.images.ptx",), _OF_PTX),
    "ltoir": Reader(ltoir.parse, _samples("ltoir"), ("files.images.ltoir",)),
    "tileir": Reader(tileir.parse, _listed(images.TILEIR + bytes(100)), ("files.images.tileir",)),
    "zip": Reader(_container(zips), _wheels, ("files.archives.zip",)),
    "tar": Reader(_container(tar), _tars, ("files.archives.tar",), _OF_TAR),
    "image": Reader(
        _image, _images, ("files.archives.container_image", "packages.container_images"), _OF_TAR
    ),
    "compressed": Reader(_container(compressed), _streams, ("files.archives.compressed",)),
    "containers": Reader(_records, _nested, _UNPACKING, wraps=True),
    "debian": Reader(_debian, _debians, ("packages.debian", "packages.members")),
    "rpm": Reader(_rpm, _rpms, ("files.archives.rpm", "packages.rpm")),
    "conda": Reader(_conda, _conda_packages, ("packages.conda", "packages.members")),
    "wheel": Reader(_wheel, _wheels, ("packages.declared",)),
    "installed": Reader(
        _installed,
        _listed(_METADATA + b"\n---\n" + _RECORD + b"\n---\n" + _WHEEL_INFO),
        ("packages.python_packages", "packages.resolving"),
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
        _listed(_POLICY, b"[project]\nname = 'x'\n", b"[tool.ltocompat]\n"),
        (
            *(f"commands.policy.{name}" for name in ("reading", "values", "keys")),
            *(f"commands.policy.{name}" for name in ("exceptions", "gate", "variants", "provided")),
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
    "inventory": Reader(
        _file("machine", lambda path: parse([path])),
        _inventories,
        (
            *(f"targets.inventory.{name}" for name in ("collect_env", "dockerfile", "kubernetes")),
            *(f"targets.inventory.{name}" for name in ("node", "nvidia_smi", "reading", "slurm")),
            "model.paste",
        ),
        (b"NVIDIA-SMI", b"nvidia.com/gpu.", b"FROM ", b"${", b"nodes=", b"580.95.05", b"> "),
        text=True,
    ),
    "place": Reader(
        _text(_place),
        _listed(*_PLACES),
        ("model.location",),
        (b"::", b"@0x", b"%", b"."),
        text=True,
    ),
    "explain": Reader(
        _text(explain),
        _messages,
        ("commands.explain", "rules.messages", "rules.message_values"),
        text=True,
    ),
    "root": Reader(
        machine.reader(LIMITS),
        machine.machines,
        _MACHINE,
        (*(b"/", b"..", b"include ", b"580.95.05", b"{", b"[", b"\n"), *machine.WORDS),
        form=machine.MACHINE,
    ),
}
READERS |= {
    "baseline": Reader(
        _file("baseline.json", documents.baseline),
        lambda: iter(documents.baselines()),
        ("commands.policy.baseline", "commands.policy.extent"),
    ),
    "index": Reader(
        documents.page,
        documents.pages,
        ("packages.index_answers", "commands.survey.index"),
        (b"<a href=", b"data-yanked", b"sha256=", b"&gt;", b"2024-01-02T03:04:05Z"),
        form=documents.NUMBERED,
    ),
    "survey": Reader(
        documents.survey,
        documents.surveys,
        ("commands.survey.dataset",),
        form=documents.NUMBERED,
    ),
}
if importlib.util.find_spec("pyarrow") is None:  # an extra, too
    del READERS["survey"]
if importlib.util.find_spec("yaml") is None:  # an extra of the package, as of this fuzzer
    del READERS["yaml lock"]
# What a user writes may be wrong usage; what lies in a file that was named never is.
_OF_USERS = {
    "baseline",
    "toml lock",
    "requirements",
    "yaml lock",
    "policy",
    "target",
    "inventory",
    "place",
    "explain",
}


def _blaming_nobody(read: Read) -> Read:
    """A reader whose error of usage is a failure: its caller would tell the user of a mistake."""

    def blaming_nobody(data: bytes) -> object:
        try:
            return read(data)
        except UsageError as error:
            raise AssertionError("bytes of a file are called a mistake of the user") from error

    return blaming_nobody


READERS = {
    name: reader if name in _OF_USERS else replace(reader, read=_blaming_nobody(reader.read))
    for name, reader in READERS.items()
}


@functools.cache
def seeds(name: str) -> tuple[bytes, ...]:
    """Sound inputs of one reader."""
    return tuple(READERS[name].seeds())

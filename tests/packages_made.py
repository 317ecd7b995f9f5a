"""Packages made for tests: real libraries by gcc and real device code from the samples, zipped."""

from __future__ import annotations

import functools
import hashlib
import json
import lzma
import struct
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from libraries_made import build
from package_writer import tar_of, zip_of, zstd
from samples import FOLDER
from summaries import summaries

from ltocompat.commands.read_artifacts import ScanOptions
from ltocompat.model.policy import Promise
from ltocompat.model.verdict import Verdict
from ltocompat.packages.reading import package_of
from ltocompat.packages.values import Package
from ltocompat.rules.engine.collect_requirements import required
from ltocompat.rules.engine.judge_package import problems, shipped_of
from ltocompat.rules.rule import Problem
from ltocompat.scan.walk import ScanSettings
from ltocompat.targets.linkers import obtain
from ltocompat.trial.narrow_makers import MakerNarrower

LINUX = "py3-none-manylinux_2_28_x86_64"
LTOIR_12_4 = (FOLDER / "ltoir" / "nvrtc-12.4-lto_80.ltoir").read_bytes()
LTOIR_13_5 = (FOLDER / "ltoir" / "nvrtc-13.5-lto_80.ltoir").read_bytes()
CUBIN_13_5 = (FOLDER / "cubin" / "nvrtc-13.5-sm_80.cubin").read_bytes()
CUBIN_12_4 = (FOLDER / "cubin" / "nvrtc-12.4-sm_80.cubin").read_bytes()

Members = Mapping[str, bytes]


def metadata(
    name: str,
    version: str,
    requires: Sequence[str] = (),
    extras: Sequence[str] = (),
    classifiers: Sequence[str] = (),
) -> bytes:
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Provides-Extra: {extra}" for extra in extras]
    lines += [f"Classifier: {classifier}" for classifier in classifiers]
    lines += [f"Requires-Dist: {require}" for require in requires]
    return ("\n".join(lines) + "\n\nRequires-Dist: not-a-header\n").encode()


def wheel(
    folder: Path,
    members: Members,
    requires: Sequence[str] = (),
    *,
    name: str = "libx",
    version: str = "1.0",
    tag: str = LINUX,
    extras: Sequence[str] = (),
    classifiers: Sequence[str] = (),
) -> Path:
    """A wheel; ``members`` by their paths."""
    stem = f"{name.replace('-', '_')}-{version}"
    path = folder / f"{stem}-{tag}.whl"
    inside = "-".join(tag.split("-")[:3])  # without the label of a variant
    files = {
        **members,
        f"{stem}.dist-info/METADATA": metadata(name, version, requires, extras, classifiers),
        f"{stem}.dist-info/WHEEL": f"Wheel-Version: 1.0\nTag: {inside}\n".encode(),
        f"{stem}.dist-info/RECORD": b"",
    }
    path.write_bytes(zip_of(*files.items()))
    return path


def conda(
    folder: Path,
    members: Members,
    depends: Sequence[str] = (),
    constrains: Sequence[str] = (),
    *,
    name: str = "libx",
    subdir: str = "linux-64",
    old: bool = False,
    sums: bool = False,
) -> Path:
    """A conda package of the second format, or of the first; with sums as conda writes them."""
    index = {
        "name": name,
        "version": "1.0",
        "depends": list(depends),
        "constrains": list(constrains),
        "subdir": subdir,
    }
    rows = [
        {"_path": path, "sha256": hashlib.sha256(data).hexdigest(), "size_in_bytes": len(data)}
        for path, data in members.items()
    ]
    paths = {"paths": rows if sums else [{"_path": path} for path in members], "paths_version": 1}
    info = (
        ("info/index.json", json.dumps(index).encode()),
        ("info/paths.json", json.dumps(paths).encode()),
    )
    if old:
        import bz2

        path = folder / f"{name}-1.0-0.tar.bz2"
        path.write_bytes(bz2.compress(tar_of(*info, *members.items())))
        return path
    path = folder / f"{name}-1.0-0.conda"
    data = zip_of(
        ("metadata.json", b'{"conda_pkg_format_version": 2}'),
        (f"pkg-{name}-1.0-0.tar.zst", zstd(tar_of(*members.items()))),
        (f"info-{name}-1.0-0.tar.zst", zstd(tar_of(*info))),
        method=zipfile.ZIP_STORED,
    )
    path.write_bytes(data)
    return path


def debian(folder: Path, members: Members, depends: str, *, machine: str = "amd64") -> Path:
    """A Debian package (deb(5)), as dpkg-deb writes it."""
    control = f"Package: libx1\nVersion: 1.0-1\nArchitecture: {machine}\nDepends: {depends}\n"
    parts = {
        "debian-binary": b"2.0\n",
        "control.tar.xz": lzma.compress(tar_of(("./control", control.encode()))),
        "data.tar.xz": lzma.compress(tar_of(*members.items())),
    }
    path = folder / "libx1_1.0-1_amd64.deb"
    data = b"!<arch>\n"
    for name, content in parts.items():
        head = f"{name:16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n"
        data += head.encode() + content + b"\n" * (len(content) % 2)
    path.write_bytes(data)
    return path


def rpm(
    folder: Path, members: Members, requires: Sequence[str], *, machine: str = "x86_64"
) -> Path:
    """An RPM package (rpm's manual, "RPM V4 Package format"), without the sums of rpmbuild."""
    texts = {1000: ["libx1"], 1001: ["1.0"], 1022: [machine], 1049: list(requires)}
    cpio = b"".join(map(_cpio, members, members.values())) + _cpio("TRAILER!!!", b"")
    path = folder / "libx1-1.0-1.x86_64.rpm"
    lead = struct.pack(">4sBBHH66sHH16x", b"\xed\xab\xee\xdb", 3, 0, 0, 1, b"libx1", 1, 5)
    path.write_bytes(lead + _rpm_header({}) + _rpm_header(texts) + lzma.compress(cpio))
    return path


def _rpm_header(texts: Mapping[int, Sequence[str]]) -> bytes:
    index = store = b""
    for tag, values in texts.items():
        index += struct.pack(">IIII", tag, 8, len(store), len(values))
        store += b"".join(value.encode() + b"\0" for value in values)
    return struct.pack(">4s4xII", b"\x8e\xad\xe8\1", len(texts), len(store)) + index + store


def _cpio(name: str, data: bytes, mode: int = 0o100644) -> bytes:
    numbers = (1, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08x" % number for number in numbers) + name.encode() + b"\0"
    return head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)


def library(
    folder: Path,
    *,
    needs: Sequence[str] = (),
    opens: Sequence[str] = (),
    imports: Sequence[str] = (),
    runpath: str | None = None,
) -> bytes:
    """A shared library libx.so that asks for others."""
    stubs = []
    for name in needs:
        functions = "".join(f"void {text}(void) {{}}\n" for text in imports)
        stubs.append(build(folder / "stubs" / name, source=functions))
    source = "".join(f"void {each_import}(void);\n" for each_import in imports)
    source += "void x(void) {" + "".join(f"{name}();" for name in imports) + "}\n"
    source += "".join(f'const char *n{i} = "{each_text}";\n' for i, each_text in enumerate(opens))
    return build(folder / "libx.so", needs=stubs, runpath=runpath, source=source).read_bytes()


def judged(
    path: Path | str,
    *,
    others: Sequence[Package] = (),
    promise: Promise | None = None,
    trial: bool = False,
) -> tuple[Problem, ...]:
    """The problems of a package; ``trial`` asks real nvJitLinks first."""
    with ExitStack() as stack:
        narrower = None
        if trial:
            ask = functools.partial(obtain, install_missing=True)
            narrower = stack.enter_context(MakerNarrower(ask))
        (summary,) = summaries([path], ScanOptions(ScanSettings(), narrower=narrower))
    package = package_of(str(path))
    if package is None:
        return ()
    find = functools.cache(functools.partial(required, summary))
    shipped = shipped_of(package, summary, find, others=others, promise=promise)
    return problems(shipped)


def told(problems: Sequence[Problem]) -> dict[str, Verdict]:
    """Rule -> verdict, where each speaks once."""
    assert len({problem.rule for problem in problems}) == len(problems), problems
    return {each_problem.rule: each_problem.verdict for each_problem in problems}

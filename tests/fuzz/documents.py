"""Readers of documents that others keep or serve: baselines, pages of an index, surveys."""

from __future__ import annotations

import functools
import importlib.util
import json
import shutil
import struct
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path

import msgspec
from samples import FOLDER

from fuzz.files import folder
from fuzz.structure import Form, Part
from ltocompat.cli import run
from ltocompat.commands.policy.baseline import read_baseline
from ltocompat.commands.survey.dataset import MANIFEST, Dataset
from ltocompat.commands.survey.index import chosen
from ltocompat.commands.survey.options import Choice
from ltocompat.commands.survey.tables import TABLES
from ltocompat.model.errors import UnreadableInput, UsageError
from ltocompat.packages.index_answers import JSON_TYPE, project_files, project_names
from ltocompat.packages.requested import Requested

# -- baselines


def baseline(path: str) -> object:
    """Read a baseline, and ask it for each finding that it has."""
    known = read_baseline(path)
    for fingerprint in known.findings:
        for gpu, extent in known.extents(fingerprint).items():
            assert known.knows(fingerprint, gpu, extent)
    return known


@functools.cache
def baselines() -> tuple[bytes, ...]:
    """Baselines of a policy's audit of two samples."""
    found = []
    for name in ("nvcc-13.0-default.fatbin", "nvcc-13.2-none.fatbin"):
        path = Path(folder(), "written.json")
        path.unlink(missing_ok=True)
        target = ("--deploy-target", "driver=535.54.03,gpu=a100+sm_120")
        words = ["audit", str(FOLDER / "fatbin" / name), *target, "--write-baseline", str(path)]
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            run(words)
        found.append(path.read_bytes())
    return tuple(found)


# -- pages of an index

_URL = "https://index.example/simple/x/"
_TYPES = (JSON_TYPE, "text/html")


def page(data: bytes) -> object:
    """A byte that chooses the type, and a page of a project or a list of all."""
    kind = _TYPES[data[0] % 2] if data else _TYPES[0]
    content = data[1:]
    names = files = []
    with suppress(UnreadableInput):
        names = list(project_names(content, kind, _URL))
    with suppress(UnreadableInput):
        files = project_files(content, kind, _URL)
    for wanted in ("x", "x>=1,<3", *names[:1]):
        try:
            requested = Requested.parse(wanted)
        except UsageError:
            continue
        chosen(files, requested, Choice())
    for file in files:
        msgspec.json.encode(file)
    return names, len(files)


def pages() -> Iterator[bytes]:
    """A project and a list, in both forms."""
    name = "x-1.0-py3-none-manylinux_2_28_x86_64.whl"
    file = {
        "filename": name,
        "url": f"../../files/{name}",
        "hashes": {"sha256": "0" * 64},
        "requires-python": ">=3.8",
        "core-metadata": {"sha256": "1" * 64},
        "yanked": "broken",
        "size": 123,
        "upload-time": "2024-01-02T03:04:05.123456Z",
    }
    more = {**file, "filename": name.replace("1.0", "2.0rc1"), "yanked": False}
    yield b"\0" + json.dumps({"meta": {}, "name": "x", "files": [file, more]}).encode()
    yield b"\0" + json.dumps({"projects": [{"name": "X.y"}, {"name": "z_z"}]}).encode()
    link = (
        f'<a href="../../files/{name}#sha256={"0" * 64}" data-requires-python="&gt;=3.8"'
        f' data-core-metadata="sha256={"1" * 64}" data-yanked="">{name}</a>\n'
    )
    yield b"\1<!DOCTYPE html><html><body>" + link.encode() + b"</body></html>"
    yield b'\1<a href="/simple/x/">X</a><br><a href="/simple/y-y/">Y_y</a>'


# -- surveys

_FILES = (*TABLES, MANIFEST)


@functools.cache
def _survey() -> Path | None:
    """A dataset with some rows; None where pyarrow is missing."""
    if importlib.util.find_spec("pyarrow") is None:
        return None
    import pyarrow as pa
    import surveys_made

    # The stacks of a thread a core don't fit into the bound of memory on a machine with many.
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    where = Path(folder(), "made")
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        return surveys_made.example(where)


def survey(data: bytes) -> object:
    """A byte that chooses a file of a survey, and its bytes, in the place of its own."""
    whole = _survey()
    assert whole is not None
    copy = Path(folder(), "survey")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(whole, copy)
    name = _FILES[data[0] % len(_FILES)] if data else MANIFEST
    _file_of(copy, name).write_bytes(data[1:])
    found = Dataset(str(copy))
    return sum(1 for _ in found.surveyed())


def _file_of(where: Path, name: str) -> Path:
    return where / name if name == MANIFEST else min((where / name).glob("part-*"))


def surveys() -> Iterator[bytes]:
    """Each file of a survey behind its number."""
    whole = _survey()
    if whole is not None:
        for number, name in enumerate(_FILES):
            yield bytes([number]) + _file_of(whole, name).read_bytes()


# -- a number in front of a document


def _parts(data: bytes, _: object) -> Iterator[Part]:
    yield Part(data[1:], lambda new: data[:1] + new)


def _footer(data: bytes) -> Iterator[tuple[int, int]]:
    """Fields of Parquet: lengths of its end, and bytes of its Thrift, which have no fixed place."""
    if data[1:5] == b"PAR1" and len(data) > 12:
        yield len(data) - 8, 4
        size = min(struct.unpack_from("<I", data, len(data) - 8)[0], len(data) - 12)
        yield from ((at, 1) for at in range(len(data) - 8 - size, len(data) - 8, 3))
    yield 0, 1


NUMBERED = Form(lambda _: True, _footer, _parts)

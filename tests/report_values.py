"""Hand-made values that reports are tested with: what the readers would have found."""
# ruff: noqa: ANN401 - any field of a value may be given, and a document holds anything

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator

from ltocompat.model.arch import Release, SmArch
from ltocompat.model.image import (
    Artifact,
    Compression,
    CubinFacts,
    CudaLibrary,
    HostBinary,
    Image,
    ImageKind,
    LtoIrVersions,
    Module,
    Needs,
    Producer,
    Record,
    Role,
    Skipped,
)
from ltocompat.model.location import Location
from ltocompat.report import Failure, Options, Report, writer
from ltocompat.report.streams import PIPED

PTXAS = Producer(Role.COMPILER, "ptxas", "13.0.88", (Release(13, 0),), "tkinfo note")
NVLINK = Producer(Role.LINKER, "nvlink", "13.0.88", (Release(13, 0),), "tkinfo note")
STRADDLING = Producer(
    Role.COMPILER,
    None,
    None,
    (Release(13, 3), Release(13, 4), Release(13, 5)),
    "LTO-IR container 1.67",
)
LIBRARY = Location("lib/libx.so")
HOSTILE = "evil\x1b[31m\r\n\u202e|`<b>@someone\udcff"


def sass(place: Location, arch: str = "sm_80", **facts: Any) -> Image:
    values: dict[str, Any] = {
        "place": place,
        "kind": ImageKind.SASS,
        "kind_number": 2,
        "arch": SmArch.parse(arch),
        "section": ".nv_fatbin",
        "made_by": (PTXAS,),
        "cubin": CubinFacts(2, SmArch.parse(arch.replace("sm", "compute"))),
        "compression": Compression.ZSTD,
        "stored_size": 70_000,
        "size": 300_000,
        "relocatable": False,
        "debug": False,
        "host_os": "linux",
    }
    return Image(**(values | facts))


def ptx(place: Location, **facts: Any) -> Image:
    values: dict[str, Any] = {
        "place": place,
        "kind": ImageKind.PTX,
        "kind_number": 1,
        "arch": SmArch.parse("compute_90"),
        "section": ".nv_fatbin",
        "needs": Needs(ptx_isa="8.4"),
        "compression": Compression.LZ4,
        "stored_size": 1_500,
        "size": 9_000,
    }
    return Image(**(values | facts))


def ltoir(place: Location, **facts: Any) -> Image:
    values: dict[str, Any] = {
        "place": place,
        "kind": ImageKind.LTOIR,
        "kind_number": 8,
        "arch": SmArch.parse("lto_75"),
        "section": ".rodata",
        "made_by": (STRADDLING,),
        "ltoir": LtoIrVersions("1.67"),
        "compression": Compression.ZSTD,
        "scrambled": True,
        "stored_size": 4_000,
        "size": None,
    }
    return Image(**(values | facts))


def library() -> Iterator[Record]:
    """A shared library with every sort of thing in it."""
    yield HostBinary(
        place=LIBRARY,
        format="ELF",
        machine="x86-64",
        type="shared library",
        undefined_registrations=tuple(f"__cudaRegisterLinkedBinary_{n:08x}_x" for n in range(5)),
        nvjitlink_imports=("__nvJitLinkAddData_12_4", "__nvJitLinkCreate_12_0"),
        libraries=(
            CudaLibrary("libcudart", "static", None, "13.0.48", "version string in .rodata"),
            CudaLibrary("libnvrtc", "opened", "libnvrtc.so.13", None, "string in .rodata"),
        ),
    )
    yield from _modules()
    yield Skipped(LIBRARY.at(0x70000), "the chain of entries breaks off", 4096)
    yield Artifact(str(LIBRARY), 1_300_000, 7, 12, 1)


def _modules() -> Iterator[Module]:
    for number, archs in enumerate((("sm_90a", "sm_80", "sm_86"), ("sm_80", "sm_100f"))):
        region = LIBRARY.at(0x1F40 + number * 0x10000)
        images = [
            sass(LIBRARY.at(region.offset or 0, index), arch) for index, arch in enumerate(archs)
        ]
        yield Module(region, ".nv_fatbin", number == 0, (*images, ptx(LIBRARY.at(0x1F40, 9))))
    linked = sass(LIBRARY.at(0x40000, 0), made_by=(PTXAS, NVLINK), kernels=("saxpy", "_Z4axpyPf"))
    yield Module(LIBRARY.at(0x40000), ".nv_fatbin", registered=True, images=(linked,))
    for number in range(3):
        place = LIBRARY.at(0x50000 + number * 0x1000)
        yield Module(
            place, ".rodata", registered=False, images=(ltoir(place.at(place.offset or 0, 0)),)
        )
    bare = Image(
        place=LIBRARY.at(0x60000),
        kind=ImageKind.UNKNOWN,
        kind_number=0x200,
        stored_size=None,
        size=None,
        problems=("its header and its payload disagree about the architecture",),
    )
    yield Module(bare.place, None, None, (bare,))


def hostile() -> Iterator[Record]:
    """A file whose every name tries to do something to the reader's terminal or page."""
    place = Location(HOSTILE, (HOSTILE,), 0x40)
    maker = Producer(Role.COMPILER, HOSTILE, HOSTILE, (), HOSTILE)
    image = sass(
        place.at(0x40, 0),
        section=HOSTILE,
        made_by=(maker,),
        options=HOSTILE,
        identifier=HOSTILE,
        kernels=(HOSTILE,),
        problems=(HOSTILE,),
    )
    library = CudaLibrary(HOSTILE, "opened", HOSTILE, HOSTILE, HOSTILE)
    yield HostBinary(
        place=Location(HOSTILE),
        format="ELF",
        machine=HOSTILE,
        type="object",
        undefined_registrations=(HOSTILE,),
        nvjitlink_imports=(HOSTILE,),
        libraries=(library,),
    )
    yield Module(place, HOSTILE, None, (image,))
    yield Skipped(place, HOSTILE)
    yield Artifact(HOSTILE, 10, 1, 1, 1)


def bare_file(path: str, size: int = 100) -> Artifact:
    """A file without device code."""
    return Artifact(path, size, 0, 0, 0)


def written(
    form: str, report: Report[Any], records: Iterable[Any | Failure], options: Options | None = None
) -> str:
    """The text of a report."""
    stream = io.StringIO()
    writer(form)(report, records, stream, options or Options())
    return stream.getvalue()


def at(width: int, text_at: Callable[[int | None], str]) -> str:
    """A text as a terminal shows it; a pipe gets that of the widest."""
    text = text_at(width)
    assert width != PIPED or text_at(None) == text
    return text


@cache
def _validator(schema: str) -> Draft202012Validator:
    verb = schema.split("/")[1]
    text = (files("ltocompat.report") / "schemas" / f"{verb}-v1.json").read_text()
    value = json.loads(text)
    Draft202012Validator.check_schema(value)
    assert value["$id"] == schema
    return Draft202012Validator(value)


def valid_json(text: str) -> Any:
    """The document in ``text``, which must be valid by the schema that it names."""
    value = json.loads(text)
    _validator(value["schema"]).validate(value)
    return value

"""The tables of a survey's dataset: one row type each, with the meaning of every column.

The types say what a column may hold, so that whatever is read back (a kept answer, a Parquet file)
is checked against them; the Arrow schemas and the page ``docs/survey.md`` are made from them.
"""

from __future__ import annotations

import typing
from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, Struct

from ltocompat.model.projection import From

SCHEMA_VERSION = 1
"""Counts up where a column changes its meaning or goes; a new column leaves it as it is."""


def _is(text: str, *words: str) -> Meta:
    """The meaning of a column, and the words that it holds where these are known."""
    extra = {"enum": list(words)} if words else None
    return Meta(description=text, extra_json_schema=extra)


def _measured(text: str) -> Meta:
    """The meaning of a column that two runs over the same packages may fill differently."""
    return Meta(description=text, extra={"measured": True})


Count = Annotated[int, Meta(ge=0)]
_GPU = _is("The GPU as the target names it, `h100`; null: the target names none.")
_TARGET = _is(
    "The deploy target as it was given; `any target`: it holds wherever the package goes."
)
_VERDICTS = ("ok", "jit", "undocumented", "unknown", "fail")
_KINDS = ("ltoir", "ptx", "sass", "tileir", "unknown")
_ROUTE = _is(
    "How the code gets onto the GPU; null where each module has only one way.", "load", "link"
)
_RULE = _is("ID of the rule; `ltocompat explain ID` says more.")
_PLACE = _is("Where the first of them lies: `x.whl::lib/libx.so@0x1f40.3`.")


class Row(Struct, frozen=True, kw_only=True, gc=False):
    """Columns of every row of every table."""

    sha256: Annotated[
        str | None, _is("SHA-256 of the distribution's file; null where it was never read whole.")
    ]
    facts: Annotated[
        str, _is("Version of ltocompat and of its tables and rules: `1.0.0+5d41402abc4b`.")
    ]


class DistributionRow(Row, frozen=True, kw_only=True):
    """One distribution: a wheel, a conda package or another file that was surveyed.

    A distribution is its bytes: the same file in two places is one row.
    """

    filename: Annotated[str, _is("Name of the file.")]
    source: Annotated[str, _is("Its path or address.")]
    index: Annotated[str | None, _is("The index that it comes from; null for a file of a folder.")]
    project: Annotated[
        str | None, _is("Normalized name of the project; null where nothing names one.")
    ]
    version: Annotated[str | None, _is("Its version, as written.")]
    tags: Annotated[
        tuple[str, ...], _is("Tags of the file name: `cp311-cp311-manylinux_2_28_x86_64`.")
    ]
    platforms: Annotated[tuple[str, ...], _is("Platforms: `manylinux_2_28_x86_64`, `win_amd64`.")]
    requires_python: Annotated[str | None, _is("Versions of Python that the index says it is for.")]
    requires_dist: Annotated[tuple[str, ...], _is("Its lines `Requires-Dist`.")] = ()
    extras: Annotated[tuple[str, ...], _is("Names of its extras.")] = ()
    declared: Annotated[tuple[str, ...], _is("Its classifiers about GPUs and CUDA.")] = ()
    upload_time: Annotated[
        datetime | None, _is("When the index got it; null where nothing says so.")
    ]
    yanked: Annotated[bool, _is("Its project withdrew it.")]
    yanked_reason: Annotated[str | None, _is("Why, where the project said so.")]
    size: Annotated[Count | None, _is("Bytes of the file.")]
    status: Annotated[
        str,
        _is(
            "`read`: it was read and judged. `no device code`: nothing in it is, as its list of "
            "members shows or its bytes do. `failed`: `errors` says why.",
            "read",
            "no device code",
            "failed",
        ),
    ]
    looked_at: Annotated[
        str | None,
        _is(
            "How much of the file was read for that: all of it, or the zip's list of members.",
            "whole",
            "members",
        ),
    ]
    files: Annotated[Count, _is("Libraries, objects and images in it that hold device code.")] = 0
    modules: Annotated[Count, _is("Modules in it.")] = 0
    images: Annotated[Count, _is("Images in it.")] = 0
    skipped: Annotated[Count, _is("Places in it that could not be read; `errors` has them.")] = 0
    sass: Annotated[tuple[str, ...], _is("Architectures of its SASS: `sm_80`.")] = ()
    ptx: Annotated[tuple[str, ...], _is("Architectures of its PTX: `compute_80`.")] = ()
    ltoir: Annotated[tuple[str, ...], _is("Architectures of its LTO-IR: `lto_80`.")] = ()
    device_code: Annotated[Count, _is("Bytes of device code in the unpacked files.")] = 0
    saved: Annotated[Count, _is("Bytes inside that could be saved; `weight` says how.")] = 0
    worst: Annotated[
        str | None,
        _is("The worst verdict of all targets; null where nothing was judged.", *_VERDICTS),
    ] = None
    bytes_fetched: Annotated[Count, _measured("Bytes that came over the network for it.")]
    requests: Annotated[Count, _measured("Requests that were sent for it.")]
    seconds: Annotated[float, _measured("Wall-clock time of its task.")]
    cpu_seconds: Annotated[float, _measured("Processor time of its task.")]
    peak_memory: Annotated[
        Count, _measured("Largest resident memory of the worker so far, bytes; 0 where not known.")
    ]
    surveyed: Annotated[datetime, _measured("When its task ended.")]


class ImageRow(Row, frozen=True, kw_only=True):
    """Images of one file in a distribution that are alike, counted together."""

    file: Annotated[str, _is("The innermost file: `x.whl::lib/libx.so`."), From("traits.file")]
    kind: Annotated[str, _is("What sort of device code.", *_KINDS), From("traits.kind")]
    arch: Annotated[
        str | None, _is("Architecture: `sm_90a`, `compute_80`, `lto_80`."), From("traits.arch")
    ]
    made_by: Annotated[
        tuple[str, ...],
        _is("Tools that made them, oldest first: `ptxas 13.0.88`."),
        From("traits.made_by"),
    ]
    releases: Annotated[
        tuple[str, ...],
        _is("CUDA releases of which one compiled them, as far as bytes tell."),
        From("traits.releases"),
    ]
    ptx_isa: Annotated[str | None, _is("PTX ISA version."), From("traits.ptx_isa")]
    compression: Annotated[
        str, _is("How they are stored.", "none", "lz4", "zstd"), From("traits.compression")
    ]
    scrambled: Annotated[
        bool, _is("The vendor hides the payload of LTO-IR."), From("traits.scrambled")
    ]
    relocatable: Annotated[
        bool | None,
        _is("They need a device link first; null: not known."),
        From("traits.relocatable"),
    ]
    debug: Annotated[
        bool | None,
        _is("They carry device debug information; null: not known."),
        From("traits.debug"),
    ]
    registered: Annotated[
        bool | None,
        _is("The CUDA runtime loads their module; null: not known."),
        From("traits.registered"),
    ]
    images: Annotated[Count, _is("How many.")]
    stored: Annotated[Count, _is("Bytes that they take in the file, without headers and padding.")]
    size: Annotated[Count, _is("Bytes once decoded, of those whose size is known.")]
    example: Annotated[str, _PLACE]


class NeedRow(Row, frozen=True, kw_only=True):
    """A need of a distribution wherever it goes, as `ltocompat require` says it."""

    what: Annotated[
        str,
        _is(
            "`floor`: the least version of a component with which all of it works on one GPU "
            "architecture. `requirement`: what a rule asks for some of its modules. `library`: a "
            "CUDA library that its host code loads, opens or has inside.",
            "floor",
            "requirement",
            "library",
        ),
    ]
    component: Annotated[str, _is("`driver`, `nvJitLink`, `link options`, `libcudart` ..")]
    arch: Annotated[
        str | None, _is("Of a floor: the GPU architecture, `sm_90`; `next`: the one to come.")
    ] = None
    route: Annotated[str | None, _ROUTE] = None
    served_by: Annotated[
        str | None,
        _is("Of a floor: what that GPU gets, at best.", "sass", "ptx", "link", "none"),
    ] = None
    least: Annotated[str | None, _is("The least version that works; null where none is known.")] = (
        None
    )
    constraint: Annotated[str | None, _is("What a requirement says: `>= 550.54.14`.")] = None
    rule: Annotated[str | None, _RULE] = None
    subject: Annotated[
        str | None, _is("What asks: `PTX 9.2`; of a library, the file name asked for.")
    ] = None
    consequence: Annotated[str | None, _is("What happens otherwise.")] = None
    evidence: Annotated[str | None, _is("The bytes that say so.")] = None
    how: Annotated[
        str | None,
        _is("How host code gets at a library.", "needed", "opened", "static"),
    ] = None
    modules: Annotated[Count, _is("How many modules ask for it; 0 for a library.")] = 0
    example: Annotated[str | None, _PLACE] = None


class VerdictRow(Row, frozen=True, kw_only=True):
    """The verdict on a distribution for one target, GPU and route, as `ltocompat check` says it."""

    target: Annotated[str, _TARGET, From("target.name")]
    driver: Annotated[str | None, _is("The target's driver, as it was given.")]
    gpu: Annotated[str | None, _GPU]
    arch: Annotated[str | None, _is("The GPU's architecture: `sm_90`.")]
    route: Annotated[str | None, _ROUTE]
    verdict: Annotated[str, _is("From the best to the worst.", *_VERDICTS)]
    modules_with_verdict: Annotated[
        Count,
        _is("Modules that have this verdict; 0: it is that of the whole."),
        From("extent.modules"),
    ]
    modules_judged: Annotated[
        Count, _is("Modules that are for the GPU and were judged."), From("extent.judged")
    ]
    sass: Annotated[Count, _is("Modules served by SASS."), From("coverage.sass")]
    ptx: Annotated[Count, _is("Modules served by PTX."), From("coverage.ptx")]
    link: Annotated[Count, _is("Modules linked for the GPU."), From("coverage.link")]
    none: Annotated[Count, _is("Modules with nothing for the GPU."), From("coverage.none")]
    not_judged: Annotated[tuple[str, ...], _is("Halves that the target says too little for.")]
    rules: Annotated[tuple[str, ...], _is("Rules that make it worse than `jit`, the worst first.")]


class FindingRow(Row, frozen=True, kw_only=True):
    """One finding of a rule, for one target, GPU and route."""

    target: Annotated[str, _TARGET]
    gpu: Annotated[str | None, _GPU]
    route: Annotated[str | None, _ROUTE]
    rule: Annotated[str, _RULE]
    verdict: Annotated[str, _is("What the rule makes of the modules.", *_VERDICTS)]
    level: Annotated[str, _is("How loud it is.", "error", "warning", "note")]
    headline: Annotated[str, _is("What is wrong in a few words; empty where the message says it.")]
    message: Annotated[str, _is("What is wrong, with the values.")]
    remedy: Annotated[str, _is("What to do; empty where there is nothing to do.")]
    evidence: Annotated[str, _is("The bytes that say so.")]
    modules: Annotated[
        Count, _is("How many modules it holds for; 0: it is about the whole."), From("module_count")
    ]
    example: Annotated[str | None, _PLACE]


class WeightRow(Row, frozen=True, kw_only=True):
    """Bytes of a distribution's device code, unpacked, as `ltocompat inspect --weigh` says them."""

    what: Annotated[
        str,
        _is(
            "`images`: those of one kind and architecture. `overhead`: fatbin headers and padding. "
            "With it, `images` add up to all device code. `library`: the device code of one "
            "library, again. `saving`: bytes that could be saved for one reason, again.",
            "images",
            "overhead",
            "library",
            "saving",
        ),
    ]
    kind: Annotated[str | None, _is("What sort of device code.", *_KINDS)] = None
    arch: Annotated[str | None, _is("Its architecture.")] = None
    library: Annotated[str | None, _is("The library: `x.whl::lib/libx.so`.")] = None
    machine: Annotated[str | None, _is("The library's CPU: `x86-64`.")] = None
    waste: Annotated[
        str | None,
        _is(
            "Why bytes could be saved; a byte counts for the first of these alone.",
            "copy-in-another-library",
            "copy-in-the-library",
            "other-cpu",
            "never-taken",
            "prelinked",
            "compression",
            "host-debug",
        ),
    ] = None
    images: Annotated[Count, _is("How many images.")] = 0
    stored: Annotated[Count, _is("Bytes that they take; of a saving, bytes saved.")]
    saved: Annotated[Count, _is("Of a library or a saving: bytes that could be saved.")] = 0
    estimated: Annotated[
        bool, _is("A part was not compressed to see, but taken to pack as the rest.")
    ] = False
    text: Annotated[str | None, _is("Of a saving: what it is about.")] = None
    fix: Annotated[str | None, _is("Of a saving: what to do.")] = None


class ErrorRow(Row, frozen=True, kw_only=True):
    """A project, a distribution or a place inside one that could not be read, and why."""

    source: Annotated[str, _is("The path or address, or the name of a project.")]
    filename: Annotated[
        str | None, _is("Name of the distribution's file; null: it is not about one.")
    ]
    project: Annotated[str | None, _is("Normalized name of the project, where it is known.")]
    step: Annotated[
        str,
        _is(
            "`list`: what there is was asked for. `fetch`: bytes were. `read`: they were read. "
            "`worker`: the process that did one of these ended.",
            "list",
            "fetch",
            "read",
            "worker",
        ),
    ]
    reason: Annotated[str, _is("One sentence.")]
    passing: Annotated[
        bool,
        _is("It may be another time, as with a slow server; the next run over it tries again."),
    ]
    place: Annotated[
        str | None, _is("Where inside the distribution; null: it is about all of it.")
    ] = None
    limit: Annotated[str | None, _is("Name of the limit that was hit, where one was.")] = None


class Column(typing.NamedTuple):
    """One column of a table.

    Attributes:
        name: its name.
        type: the Python type of its values, without ``None``.
        nullable: whether it may be null.
        meaning: one or two sentences.
        words: those that it holds, where they are known; more may come.
        measured: two runs over the same packages may fill it differently.
    """

    name: str
    type: Any
    nullable: bool
    meaning: str
    words: tuple[str, ...]
    measured: bool


def columns(table: str) -> tuple[Column, ...]:
    """The columns of a table, in their order."""
    hints = typing.get_type_hints(TABLES[table], include_extras=True)
    names = TABLES[table].__struct_fields__
    return tuple(_column(name, hints[name]) for name in names)


def _column(name: str, hint: Any) -> Column:  # noqa: ANN401 - an annotation is anything
    meta = next(meta for meta in hint.__metadata__ if meta.description is not None)
    kind = hint.__origin__
    options = [each for each in typing.get_args(kind) if each is not type(None)]
    nullable = type(None) in typing.get_args(kind)
    plain = options[0] if nullable else kind
    plain = getattr(plain, "__origin__", plain) if hasattr(plain, "__metadata__") else plain
    words = tuple((meta.extra_json_schema or {}).get("enum", ()))
    measured = bool((meta.extra or {}).get("measured"))
    return Column(name, plain, nullable, meta.description or "", words, measured)


class Surveyed(Struct, frozen=True, kw_only=True, gc=False):
    """All rows of one distribution, or of one failure; they enter the dataset together."""

    distributions: tuple[DistributionRow, ...] = ()
    images: tuple[ImageRow, ...] = ()
    needs: tuple[NeedRow, ...] = ()
    verdicts: tuple[VerdictRow, ...] = ()
    findings: tuple[FindingRow, ...] = ()
    weight: tuple[WeightRow, ...] = ()
    errors: tuple[ErrorRow, ...] = ()

    @property
    def passing(self) -> bool:
        """Return whether it failed and may succeed next time, or is about no distribution."""
        return not self.distributions or any(error.passing for error in self.errors)


TABLES: dict[str, type[Row]] = {
    name: typing.get_args(hint)[0] for name, hint in typing.get_type_hints(Surveyed).items()
}
"""Names of the tables, and of their folders -> what a row of it is."""

"""Records that every verb has, and `ltocompat/error/v1`: nothing but errors."""

from __future__ import annotations

import enum
import functools
import operator
from collections.abc import Callable, Sequence
from types import GenericAlias, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct

from ltocompat.model import image
from ltocompat.model.arch import Release, SmArch
from ltocompat.model.location import Location
from ltocompat.model.projection import From
from ltocompat.model.target import DriverVersion
from ltocompat.model.verdict import Verdict


class Record(Struct, gc=False):
    """A JSON object of which every member is always written; it lives for one line of output.

    The docstrings of its subclasses are published: they are the descriptions in the JSON Schemas.
    """


class TablesEnd(Record):
    """The newest entries of the compatibility tables that were used for an answer.

    Attributes:
        cuda: The newest CUDA release in the tables.
        driver: The newest driver branch in the tables.
        date: The date of the newest row about CUDA releases or drivers.
    """

    cuda: str
    driver: int
    date: str


class Document(Record, tag_field="schema", kw_only=True):
    """A whole answer; its tag is its schema's name.

    Attributes:
        facts: The newest entries of the compatibility tables; null if there are only errors.
    """

    facts: TablesEnd | None = None


def one_of(*words: str) -> Meta:
    """The words that a text can be; readers take others, which may be added later."""
    return Meta(extra_json_schema={"enum": list(words)})


Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(ge=0)]
PlaceText = Annotated[str, Meta(description="A shell-safe place in a file: libx.a::m.o@0x1f40.3")]
ArchText = Annotated[str, Meta(pattern="^(sm|compute|lto)_[0-9]+[af]?$")]
ReleaseText = Annotated[str, Meta(pattern=r"^[0-9]+\.[0-9]+$")]


VerdictWord = Annotated[
    str,
    one_of("ok", "jit", "undocumented", "unknown", "fail"),
    Meta(
        description=(
            "One of five verdicts, here from best to worst. ok: documented to work. jit: works; "
            "the driver compiles PTX at load. undocumented: works in tests, but NVIDIA doesn't "
            "promise it. unknown: a fact is missing, and the finding names the fact. fail: will "
            "not link or load."
        )
    ),
]

R = TypeVar("R", bound=Record)
# The record type of each model type; ``published`` adds structs.
_TYPES: dict[Any, Any] = {
    **{plain: plain for plain in (bool, str, float, type(None), ...)},
    int: Count,
    Location: PlaceText,
    image.PtxText: str,
    SmArch: ArchText,
    Release: str,
    DriverVersion: str,
    Verdict: VerdictWord,
}


def published(model: type[Struct], *hidden: str) -> Callable[[type[R]], type[R]]:
    """Give a record the fields of a model, in their order.

    The class of the record defines only the fields that differ. A renamed or retyped field takes
    the place of the model's field. A new field follows the field above it, or is the first field.
    After a field with a default, the model's fields keep their defaults: older documents lack them.

    Args:
        model: the struct.
        hidden: its fields that are not published.
    """

    def with_fields(record: type[R]) -> type[R]:
        order = [name for name in model.__struct_fields__ if name not in hidden]
        spelled = {}
        hints = get_type_hints(record, include_extras=True)
        above = -1
        for member in msgspec.structs.fields(record):
            written = [part for part in get_args(hints[member.name])[1:] if isinstance(part, From)]
            renamed = [part.path.split(".")[0] for part in written if part.through is None]
            source = next(filter(None, renamed), member.name)
            if source in order:
                above = order.index(source)
            else:
                source = member.name
                above += 1
                order.insert(above, source)
            spelled[source] = (member.name, hints[member.name], member.default)
        types = get_type_hints(model)
        defaults = {member.name: member.default for member in msgspec.structs.fields(model)}
        fields = list[tuple[str, Any, Any]]()
        later: object = msgspec.NODEFAULT
        for name in order:
            default = defaults.get(name) if later is not msgspec.NODEFAULT else later
            fields.append(spelled.get(name) or (name, published_type(types[name]), default))
            later = fields[-1][-1]
        define: Any = msgspec.defstruct  # it does not say which struct it makes
        made: type[R] = define(
            record.__name__,
            fields,
            bases=(Record,),
            namespace={"__doc__": record.__doc__},
            module=record.__module__,
        )
        _TYPES[model] = made
        return made

    return with_fields


def published_unchanged(*models: type[Struct]) -> None:
    """Give models records with all their fields, and with the first sentence about them."""
    define: Any = msgspec.defstruct  # it does not say which struct it makes
    for model in models:
        namespace = {"__doc__": " ".join((model.__doc__ or "").partition("\n\n")[0].split())}
        published(model)(define(model.__name__, (), bases=(Record,), namespace=namespace))


def published_type(hint: Any) -> Any:  # noqa: ANN401 - type hints
    """The type as which a record has what a model has by a type."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return functools.reduce(operator.or_, map(published_type, parts))
    if origin in (tuple, Sequence):
        return GenericAlias(tuple, tuple(map(published_type, (*parts, ...)[:2])))
    if isinstance(hint, type) and issubclass(hint, enum.StrEnum):
        return Annotated[str, one_of(*hint)]
    if (origin or hint) not in _TYPES:
        raise TypeError(f"{hint} has no record; write one above, with @published({hint.__name__})")
    return _TYPES[origin or hint]


class Failure(Record):
    """An error in one sentence."""

    kind: Annotated[
        str, one_of("usage", "unreadable", "malformed", "limit", "missing", "failed", "internal")
    ]
    message: str


class RunSummary(Record, kw_only=True):
    """The end of an answer: what it counts, and behind it the errors of the run."""

    errors: tuple[Failure, ...]


@published(image.Skipped)
class Skipped(Record):
    """A place that was not read.

    Attributes:
        limit: Name of the limit that was reached; null if no limit was reached.
    """


class Error(Document, tag="ltocompat/error/v1"):
    """The errors of a run that has no other answer."""

    error: Failure
    others: tuple[Failure, ...]

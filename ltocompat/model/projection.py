"""A value as another struct says it: a model as its published record, and a record as its model.

The mapping is derived from the fields of the struct that is made: each is read from the attribute
of its name, and its type says how. Only differences are written down, by ``From``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import starmap
from operator import attrgetter
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from msgspec import Struct, UnsetType

S = TypeVar("S", bound=Struct)
_Convert = Callable[[Any], object]


class From(Struct, frozen=True):
    """The source of a field, given as its last annotation.

    Attributes:
        path: the attribute: ``stored``, ``answer.outcome``; empty: the attribute with the field's
            name.
        through: converts the attribute to the field; None: convert by type.
    """

    path: str = ""
    through: Callable[[Any], object] | None = None


def project(made: type[S], value: Any, /, **given: object) -> S:  # noqa: ANN401 - any class
    """Make a struct from the attributes of a value.

    A field keeps its default if the value's class has no such attribute; None stays None.

    Args:
        made: the struct.
        value: an object with the fields as attributes.
        given: fields that are not read from the value.
    """
    make: Callable[..., S] = _projection(made, value.__class__, *given)
    return make(value, **given)


def from_rows(made: type[S], rows: Sequence[Mapping[str, Any]]) -> tuple[S, ...]:
    """Make a struct from each row of a table; its keys are the fields or the paths of ``From``.

    A key that a row doesn't have is None.
    """
    make: Callable[..., S] = made
    hints = _hints(made)
    sources = [*map(_source, made.__struct_fields__, map(hints.get, made.__struct_fields__))]
    values = ([row.get(come.path) for come in sources] for row in rows)
    return tuple(starmap(make, map(_converter(sources), values)))


@functools.cache
def _projection(made: type[S], source: type, *given: str) -> Callable[..., S]:
    """The function that makes a struct of values of a class; ``given``: fields that it is given."""
    hints, known = _hints(made), _hints(source)
    names = [name for name in made.__struct_fields__ if name not in given]
    sources = ((name, _source(name, hints[name], known)) for name in names)
    fields = {name: come for name, come in sources if hasattr(source, come.path.split(".")[0])}
    paths = [come.path for come in fields.values()]
    get: Callable[[object], Sequence[Any]] = (
        attrgetter(*paths)
        if len(paths) > 1  # of one attribute it gives no tuple
        else lambda value: [attrgetter(path)(value) for path in paths]
    )
    convert = _converter(fields.values())
    converts = any(come.through for come in fields.values())
    members = (lambda value: convert(get(value))) if converts else get
    if tuple(fields) == made.__struct_fields__:
        # By position is faster: there may be a million images.
        return lambda value: made(*members(value))
    return lambda value, **others: made(**dict(zip(fields, members(value), strict=True)), **others)


def _converter(sources: Iterable[From]) -> Callable[[Iterable[Any]], list[Any]]:
    """The function that makes the values of fields of those of their sources."""
    converts = [(index, come.through) for index, come in enumerate(sources) if come.through]

    def converted(values: Iterable[Any]) -> list[Any]:
        found = [*values]
        for index, convert in converts:
            if (member := found[index]) is not None:
                found[index] = convert(member)
        return found

    return converted


def _hints(kind: type) -> dict[str, Any]:
    with suppress(NameError):  # a type that only the type checker imports
        return get_type_hints(kind, include_extras=True)
    return {}


def _source(name: str, hint: Any, known: Mapping[str, Any] = {}) -> From:  # noqa: ANN401
    """The source of a field, with all that its annotation, a type hint, leaves open."""
    parts = get_args(hint)
    written = parts[-1] if parts and isinstance(parts[-1], From) else From()
    path = written.path or name
    plain = hint.__origin__ if get_origin(hint) is Annotated else hint
    there = known.get(path)
    text = plain is str and isinstance(there, type) and issubclass(there, str)
    same = text or there == plain  # then it is taken as it is
    return From(path, written.through or (None if same else _convert(plain)))


def _convert(kind: Any) -> _Convert | None:  # noqa: ANN401, PLR0911 - a type hint; a case each
    """The function that makes a value of a type of an attribute; None: it is the attribute."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _convert(parts[0])
    if origin in (Union, UnionType):
        kinds = [part for part in parts if part not in (NoneType, UnsetType)]
        return _convert(kinds[0]) if len(kinds) == 1 else None
    if origin in (tuple, Sequence):
        each = _convert(parts[0])
        return tuple if each is None else lambda values: tuple([each(value) for value in values])
    if origin is dict:
        return dict
    if kind is str:
        return str
    if hasattr(kind, "parse"):  # what has a spelling is published as text
        return kind.parse  # type: ignore[no-any-return]
    if isinstance(kind, type) and issubclass(kind, Struct):
        return lambda value: _projection(kind, value.__class__)(value)
    return None

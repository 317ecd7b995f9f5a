"""JSON as it comes: documents that are never held whole."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, TypeGuard

from msgspec import Struct, field, to_builtins

from ltocompat.model.generic import R
from ltocompat.model.projection import project
from ltocompat.model.records_v1 import base
from ltocompat.model.records_v1.base import Error
from ltocompat.report import Failure, Options, Report, Writable
from ltocompat.report.text import escape


# msgspec's own encoder writes UTF-8 and refuses half a surrogate pair; the standard library's takes
# the dicts that msgspec makes of a record, and escapes all that is not ASCII.
def _builtins(value: object) -> object:
    # An error rests on no table, and may be that they can't be read.
    if isinstance(value, base.Document) and not isinstance(value, Error):
        value.facts = _tables_end()
    return to_builtins(value)


def _tables_end() -> base.TablesEnd:
    # Imported here: nothing else in this room needs a table.
    from ltocompat.facts.horizon import tables_end

    return project(base.TablesEnd, tables_end())


_json = json.JSONEncoder(default=_builtins).encode
_SURROGATE = re.compile(r"\\ud[89a-f]")
_OBEYED = re.compile("#(?=#)")  # of ``##[``, ``##vso[`` and the like


def write(report: Report[Any], records: Iterable[Any], stream: Writable, options: Options) -> None:
    """Write the document of ``records`` piece by piece."""
    for piece in report.document(records, options):
        stream.write(piece)


def encode(value: object) -> str:
    """Return a value as ASCII JSON on one line, valid for any bytes in names."""
    text = _json(value)
    if _SURROGATE.search(text):
        # Half a pair is no Unicode and many readers refuse it: show it as its byte instead.
        text = _json(_without_surrogates(json.loads(text)))
    # A command to CI systems, wherever they see it; as JSON it is the same text.
    return _OBEYED.sub(r"\\u0023", text) if "##" in text else text


def _without_surrogates(value: Any) -> Any:  # noqa: ANN401 - whatever JSON can say
    match value:
        case str():
            return "".join(escape(char) if 0xD800 <= ord(char) < 0xE000 else char for char in value)
        case dict():
            return {key: _without_surrogates(each_value) for key, each_value in value.items()}
        case list():
            return [_without_surrogates(member) for member in value]
        case _:
            return value


def error_document(failures: Iterable[Failure]) -> str:
    """Return the document for an answer that has only errors."""
    first, *others = failure_values(failures)
    return encode(Error(first, tuple(others))) + "\n"


def failure_values(failures: Iterable[Failure]) -> tuple[base.Failure, ...]:
    """Return failures as JSON."""
    return tuple(project(base.Failure, failure) for failure in failures)


class Array(Struct):
    """A writer of one array, one element per line, with commas between them."""

    _empty: bool = True

    def element(self, text: str) -> str:
        """Return the text of one more element, or its beginning."""
        comma = "" if self._empty else ","
        self._empty = False
        return f"{comma}\n{text}"


def members_after(record: base.Record, array: str) -> Iterator[str]:
    """Yield each member of ``record`` after its array, which is written already."""
    names = record.__struct_fields__
    for name in names[names.index(array) + 1 :]:
        yield f'"{name}": {encode(getattr(record, name))}'


class Rows(Struct):
    """A document around one array, whose elements are written one by one.

    Attributes:
        failures: the failures among the records, for the document's summary.
        begun: True if an element was written.
    """

    _document: type[base.Document]
    _name: str
    _array: Array = field(default_factory=Array)
    failures: list[Failure] = field(default_factory=list)
    begun: bool = False

    def answers(self, records: Iterable[R | Failure]) -> Iterator[R]:
        """Yield records without failures, which are kept."""

        def is_answer(record: R | Failure) -> TypeGuard[R]:
            if isinstance(record, Failure):
                self.failures.append(record)
            return not isinstance(record, Failure)

        return filter(is_answer, records)  # as in ``answers`` of all reports

    @property
    def errors(self) -> tuple[base.Failure, ...]:
        """The failures as JSON."""
        return failure_values(self.failures)

    def row(self, value: base.Record, **members: object) -> Iterator[str]:
        """Yield one more element; the first also writes ``members``, which precede the array."""
        yield from self.element(f"  {encode(value)}", **members)

    def element(self, text: str, **members: object) -> Iterator[str]:
        """Return the text of one more element, or its beginning."""
        yield from self._head(members)
        yield self._array.element(text)

    def _head(self, members: dict[str, object]) -> Iterator[str]:
        """The beginning of the document, up to its array, once; ``members`` come before that."""
        if not self.begun:
            self.begun = True
            before = "".join(f'"{name}": {encode(value)},\n' for name, value in members.items())
            schema = encode(self._document.__struct_config__.tag)
            yield f'{{"schema": {schema}, {before}"{self._name}": ['

    def end(self, whole: base.Document, *, empty: bool = False, **members: object) -> Iterator[str]:
        """Yield the rest of the document, from ``whole``; for errors alone, an error document.

        ``empty``: True if something without an element was read.
        """
        if self.failures and not self.begun and not empty:
            yield error_document(self.failures)
            return
        yield from self._head(members)
        yield "\n]"
        whole.facts = _tables_end()
        for member in members_after(whole, self._name):
            yield f",\n{member}"
        yield "}\n"

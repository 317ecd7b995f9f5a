"""The JSON Schemas of the documents, from the types that write them.

``schemas/`` holds what this makes, to be read and linked to; a test keeps both the same.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

from ltocompat.model.described import described
from ltocompat.model.records_v1.base import Document, Record

# The verbs that write JSON, and ``error``: the answer of any of them if there is only an error.
DOCUMENTS = (
    "check", "audit", "require", "matrix", "diff", "explain", "inspect", "weigh", "extract", "slim",
    "repair", "link", "linkers", "env", "selftest", "targets", "facts", "error",
)  # fmt: skip

_MODULES = {"error": "base"}  # else the document's own name
_TITLES = {
    "error": "Errors of a run that has no other answer",
    "weigh": "ltocompat inspect --weigh --format json",
}


def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a document.

    Args:
        name: one of ``DOCUMENTS``.
    """
    from msgspec.json import schema_components

    module = importlib.import_module(f"ltocompat.model.records_v1.{_MODULES.get(name, name)}")
    document: type[Document] = getattr(module, name.capitalize())
    _, parts = schema_components([document], ref_template="#/$defs/{name}")
    for record in _records(document):
        part = parts[record.__name__]
        part.pop("title", None)  # the name of the part
        part["description"], members = described(record)
        for key, member in part["properties"].items():
            if key in members:
                words = {"enum": member["enum"]} if "enum" in member else {}
                told = {"description": members[key]}
                part["properties"][key] = words | told | member | told
    if name == "facts":
        # Imported here: all other schemas need no table.
        from ltocompat.facts.exchange import tables_type

        (tables,), more = schema_components([tables_type()], ref_template="#/$defs/{name}")
        told = parts[document.__name__]["properties"]["tables"]["description"]
        parts[document.__name__]["properties"]["tables"] = {"description": told} | tables
        parts |= more
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": document.__struct_config__.tag,
        "title": _TITLES.get(name, f"ltocompat {name} --format json"),
        **parts.pop(document.__name__),
        "$defs": parts,
    }


def _records(kind: Any) -> Iterator[type[Record]]:  # noqa: ANN401 - a type hint
    """The records that a type hint leads to; one that it leads to twice comes twice."""
    if isinstance(kind, type) and issubclass(kind, Record):
        yield kind
        for hint in get_type_hints(kind).values():
            yield from _records(hint)
    for part in get_args(kind):
        yield from _records(part)

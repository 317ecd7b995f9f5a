"""The JSON Schemas of the documents, from the types that write them.

``schemas/`` holds what this makes, to be read and linked to; a test keeps both the same.
"""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ltocompat.model.records_v1.base import Document

DOCUMENTS = (
    "check",
    "audit",
    "require",
    "matrix",
    "diff",
    "explain",
    "inspect",
    "weigh",
    "extract",
    "link",
    "linkers",
    "nvjitlink",
    "env",
    "selftest",
    "targets",
    "error",
)
"""The verbs that write JSON, and ``error``: what any of them writes where there is nothing else."""

_MODULES = {"error": "base"}  # else the document's own name
_TITLES = {
    "error": "An error that stands alone",
    "weigh": "ltocompat inspect --weigh --format json",
}
_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a document.

    Args:
        name: one of ``DOCUMENTS``.
    """
    from msgspec.json import schema_components

    module = importlib.import_module(f"ltocompat.model.records_v1.{_MODULES.get(name, name)}")
    document: type[Document] = getattr(module, name.capitalize())
    _, parts = schema_components([document], ref_template="#/$defs/{name}")
    for part in parts.values():
        del part["title"]  # the name of the part
    title = _TITLES.get(name, f"ltocompat {name} --format json")
    return {
        "$schema": _DRAFT,
        "$id": document.__struct_config__.tag,
        "title": title,
        **parts.pop(document.__name__),
        "$defs": parts,
    }


def schema_text(name: str) -> str:
    """The JSON Schema of a document as text, as ``schemas/`` holds it."""
    return json.dumps(schema(name), indent=2) + "\n"

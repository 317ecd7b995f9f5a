"""Sentences about the fields of a class, out of its docstring: help and schemas show them."""

from __future__ import annotations

import inspect
import re

_FIELD = re.compile(r"^ {4}(\w+): (.+(?:\n {8}.+)*)", re.MULTILINE)


def described(kind: type) -> tuple[str, dict[str, str]]:
    """Return the sentence about a class, and the sentences about all its fields by name."""
    fields: dict[str, str] = {}
    title = ""
    for base in reversed(kind.__mro__):
        title, _, attributes = inspect.cleandoc(base.__doc__ or "").partition("\n\nAttributes:\n")
        fields |= {name: " ".join(text.split()) for name, text in _FIELD.findall(attributes)}
    return title, fields

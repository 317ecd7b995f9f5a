"""Device functions that the driver provides, so that no linker asks for their definition."""

from __future__ import annotations

import functools

from ltocompat.facts.tables import table


@functools.cache
def _provided() -> tuple[frozenset[str], tuple[str, ...]]:
    tables = table("device_functions")
    names = frozenset(name for row in tables["provided"] for name in row["names"])
    return names, tuple(row["prefix"] for row in tables["provided_prefix"])


def is_provided(name: str) -> bool:
    """Whether a device function is there without a definition, as ``vprintf`` is."""
    names, prefixes = _provided()
    return name in names or name.startswith(prefixes)

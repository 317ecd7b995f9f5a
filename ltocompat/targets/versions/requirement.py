"""A line that asks for a package (PEP 508), as metadata, requirements and lock files have it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.requirements import Requirement

# More digits than in any version: Python refuses thousands, and packaging checks late.
ENDLESS = re.compile(r"[0-9]{100}")


def requirement_of(text: str) -> Requirement:
    """Read such a line.

    Raises:
        ValueError: it is not a requirement, has an endless number, or is nested too deeply.
    """
    from packaging.requirements import Requirement

    if ENDLESS.search(text):
        raise ValueError(f"a number with more than 100 digits in {text[:40]!r}")
    try:
        with unwarned():
            return Requirement(text)
    except RecursionError as error:
        raise ValueError(f"too many nested brackets in {text[:40]!r}") from error


@contextlib.contextmanager
def unwarned() -> Iterator[None]:
    r"""Suppress Python's warnings about strings in a marker.

    They are parsed as Python strings, and 3.12 and later warn about invalid backslashes:
    ``python_version == "\."``.
    """
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield

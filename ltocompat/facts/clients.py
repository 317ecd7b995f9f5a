"""Packages of Python that link or compile device code at run time, and by what."""

from __future__ import annotations

import re

from msgspec import Struct

from ltocompat.facts import rows
from ltocompat.model.arch import Release


class Client(Struct, frozen=True, tag="clients.client"):
    """The linker that a package's releases use.

    Attributes:
        package: its normalized name.
        first: the oldest release that does so.
        least_nvjitlink: the minimum nvJitLink that it accepts; None if it has none.
        ltoir: who takes LTO-IR from it: ``nvJitLink``, ``pynvjitlink`` or ``none``.
    """

    package: str
    first: str
    least_nvjitlink: Release | None
    ltoir: str


def client(package: str, version: str) -> Client | None:
    """Find the row of a release; a release newer than the tables gets the last row.

    Args:
        package: its normalized name: ``cuda-core``.
        version: ``1.2.2``.
    """
    known = [row for row in rows(Client) if row.package == package]
    older = [row for row in known if _numbers(row.first) <= _numbers(version)]
    return older[-1] if older else None


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"[0-9]{1,9}", version)[:4]]

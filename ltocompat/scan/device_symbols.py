"""Symbols of images, without the names that the driver provides."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import asdict

from ltocompat.facts import is_provided
from ltocompat.files.byteview import contains
from ltocompat.files.images import cubin_symbols, ptx_symbols
from ltocompat.files.images.cubin import Cubin
from ltocompat.files.images.ptx import without_comments
from ltocompat.model.limits import Budget
from ltocompat.model.symbols import DeviceSymbols


def of_ptx(data: bytes, budget: Budget) -> DeviceSymbols:
    """Return the symbols of PTX text with comments."""
    text = without_comments(data, budget)
    found = ptx_symbols.read(text, budget)
    absent = _sorted(found.bodiless)
    functions, needed = ptx_symbols.used(text, found, absent, budget) if absent else ((), ())
    linked = {*functions, *found.defined, *found.weak}
    return DeviceSymbols(
        undefined_functions=functions,
        needed_by_kernels=needed,
        undefined_variables=_sorted(found.undefined_variables),
        defined=_sorted(found.defined),
        weak=_sorted(found.weak),
        kernels=_sorted(found.kernels),
        prototypes=_prototypes(
            (each.name, each.prototype)
            for each in found.functions
            if each.name in linked and not each.is_kernel
        ),
    )


def undefined_in_ptx(data: bytes, budget: Budget) -> DeviceSymbols:
    """Read the undefined symbols of PTX text; most text has none, and is not parsed."""
    if not contains(b".func", data):
        return DeviceSymbols()
    return of_ptx(data, budget).without_definitions()


def of_cubin(cubin: Cubin) -> DeviceSymbols:
    """Return the symbols of a cubin.

    Raises:
        Malformed: its tables do not fit into it.
    """
    found = cubin_symbols.read(cubin)
    names = {name: _sorted(each) for name, each in asdict(found).items() if name != "prototypes"}
    return DeviceSymbols(**names, prototypes=_prototypes(found.prototypes))


def _prototypes(found: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted({pair for pair in found if not is_provided(pair[0])}))


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(name for name in names if not is_provided(name)))

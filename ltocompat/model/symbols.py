"""Names by which images are linked with each other: what each defines, and what it leaves open."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

_ONE_BYTE = re.compile(r"b1(?![0-9])")


class DeviceSymbols(Struct, frozen=True, repr_omit_defaults=True):
    """The functions and variables through which images are linked together; all lists are sorted.

    The lists leave out names that the driver and every linker provide, such as ``vprintf``.

    Attributes:
        undefined_functions: functions that the image uses but does not define: it calls them or
            takes their address.
        needed_by_kernels: the undefined functions that a kernel of the image reaches through calls.
        undefined_variables: variables that are declared ``extern`` and not defined.
        defined: names with a strong definition; a link can't have two strong definitions of one
            name.
        weak: names with a weak definition, which a definition in a different image may replace.
        kernels: the definitions that are kernels.
        prototypes: functions that the image shares with other images. The types of each function
            are in the encoding of the cubin. In ``("helper", "#vil")``, the function ``helper``
            returns nothing and takes an int and a long.
    """

    undefined_functions: tuple[str, ...] = ()
    needed_by_kernels: tuple[str, ...] = ()
    undefined_variables: tuple[str, ...] = ()
    defined: tuple[str, ...] = ()
    weak: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    prototypes: tuple[tuple[str, str], ...] = ()

    @property
    def undefined(self) -> tuple[str, ...]:
        """The symbols that other images have to define."""
        return (*self.undefined_functions, *self.undefined_variables)

    def without_definitions(self) -> DeviceSymbols:
        """Return the symbols that matter if an image is loaded alone."""
        return replace(self, defined=(), weak=(), kernels=(), prototypes=())

    @property
    def callable(self) -> tuple[str, ...]:
        """The definitions that code of other images can use: functions and variables."""
        return tuple(sorted({*self.defined, *self.weak} - {*self.kernels}))


class SymbolsToRead(Struct, frozen=True):
    """Numbers of a module's images whose symbols affect verdicts.

    Attributes:
        undefined: images of which only undefined symbols count, since they are loaded alone.
        every: images whose definitions count, too, since they are linked with others.
    """

    undefined: Sequence[int] = ()
    every: Sequence[int] = ()


def defined_twice(images: Iterable[tuple[DeviceSymbols, int]]) -> tuple[str, ...]:
    """Return the sorted names that more than one image of a link defines.

    Args:
        images: the symbols of each kind of image, and the number of such images.
    """
    counts: Counter[str] = Counter()
    for symbols, number in images:
        for name in symbols.defined:
            counts[name] += number
    return tuple(sorted(name for name, count in counts.items() if count > 1))


def declared_otherwise(images: Iterable[DeviceSymbols]) -> tuple[str, ...]:
    """Return the sorted functions that two images of a link declare with different parameters.

    A parameter of one byte may be an empty class, which linkers accept for a block of any size.
    """
    pairs = {pair for symbols in images for pair in symbols.prototypes}
    found = Counter(name for name, prototype in pairs if not _ONE_BYTE.search(prototype))
    return tuple(sorted(name for name, prototypes in found.items() if prototypes > 1))


def defined_nowhere(images: Iterable[DeviceSymbols]) -> DeviceSymbols:
    """Return the symbols that no image of a link defines, although one of them needs the symbol.

    A linker refuses a missing variable, and a missing function that a kernel needs. It leaves out
    code that no kernel reaches. So missing symbols of such code do no harm. If one weak definition
    replaces another, the functions that a kernel needs are unknown.
    """
    known = tuple(images)
    names = Counter(name for symbols in known for name in (*symbols.defined, *symbols.weak))
    there = names.keys()
    replaced = any(names[name] > 1 for symbols in known for name in symbols.weak)

    def missing(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted({*names} - there))

    return DeviceSymbols(
        missing(name for symbols in known for name in symbols.undefined_functions),
        () if replaced else missing(n for symbols in known for n in symbols.needed_by_kernels),
        missing(name for symbols in known for name in symbols.undefined_variables),
    )

"""A host file on a machine: what it asks for, and what the loader gives it; nothing is loaded.

Of several symbols that are missing, the loader names the first that it binds:
glibc works through DT_RELA, then DT_JMPREL, each from its start (``elf/do-rel.h``), and stops at
the first symbol that nothing has (with RTLD_NOW or LD_BIND_NOW; else at the first call).
"""

from __future__ import annotations

import os
import struct
from collections.abc import Collection, Iterator
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.facts import SITES
from ltocompat.files.elf_layout import Tag
from ltocompat.files.objects import elf
from ltocompat.files.objects.elf import ElfTables
from ltocompat.files.objects.elf_symbols import SymbolTable, dynamic_symbols, symbol_tables
from ltocompat.files.objects.structure import short_text, windows
from ltocompat.model.environment import Environment
from ltocompat.model.errors import LtocompatError
from ltocompat.model.image import HostBinary
from ltocompat.model.library_name import NVJITLINK
from ltocompat.model.limits import Budget
from ltocompat.model.linker import Linker
from ltocompat.model.location import folders_around
from ltocompat.targets.linkers.machine import Machine
from ltocompat.targets.linkers.searching import read_linker
from ltocompat.targets.machine.loaded import BindRule, Library, Resolved
from ltocompat.targets.machine.loader import Loader
from ltocompat.targets.machine.objects import read_object

_ENTRY = struct.Struct("<QQq")
_TABLES = ((Tag.RELA, Tag.RELASZ), (Tag.JMPREL, Tag.PLTRELSZ))
_LONGEST_NAME = 512


def _in_order_of_binding(machine: Machine, path: str, names: Collection[str]) -> tuple[str, ...]:
    """The names as the loader meets them; those that no relocation needs come last, sorted.

    Args:
        machine: where the file is.
        path: a library or program of 64 bits.
        names: imported symbols.

    Raises:
        UnreadableInput: the file can't be opened.
        Malformed: it is not an ELF file.
        LimitExceeded: its tables are over the limits.
    """
    found: list[str] = []
    with machine.viewed(path) as view:
        tables = elf.read_tables(view, Budget())
        if tables is not None and tables.bits == 64:
            symbols = dynamic_symbols(tables, symbol_tables(tables))
            if symbols is not None:
                found = [*_bound(tables, symbols, set(names))]
    return tuple(dict.fromkeys([*found, *sorted(names)]))


def _bound(tables: ElfTables, symbols: SymbolTable, names: set[str]) -> Iterator[str]:
    for symbol in map(symbols.at, dict.fromkeys(_indexes(tables))):
        if symbol is not None:
            name = short_text(tables.view, symbols.strings + symbol.name, _LONGEST_NAME)
            if name in names:
                yield name


def _indexes(tables: ElfTables) -> Iterator[int]:
    """The symbols of all relocations, by their place in the table of symbols."""
    for start, length in _TABLES:
        offset, size = tables.start_of(start), tables.tag(length)
        if offset is None or not size:
            continue
        for _, piece in windows(tables.view, tables.budget, offset, size, row=_ENTRY.size):
            # The upper half of r_info is the symbol; 0 is none.
            yield from (info >> 32 for _, info, _ in _ENTRY.iter_unpack(piece) if info >> 32)


_IN_WHEELS = ("nvidia/nvjitlink/lib", "nvidia/cu13/lib")
# Rules by which a library finds what anybody put there, rather than what it names itself.
_BY_CHANCE = (BindRule.CACHE, BindRule.CONF, BindRule.DEFAULT)


def look_at(machine: Machine, environment: Environment, path: str, host: HostBinary) -> Library:
    """Find the libraries of a program, or of a library that a program opens by its path.

    Args:
        machine: the machine with the file.
        environment: the machine's facts from ``probe``.
        path: the absolute path of the file.
        host: the requirements in its headers.
    """
    asking = replace(host, nvjitlink_imports=_ordered(machine, path, host))
    look = _Look(machine, environment, path, asking)
    loader, resolved = look.load()
    found = _nvjitlink(loader, resolved, asking)
    linker = look.copy(found.real, found.found_by) if found else None
    return Library(
        path=path,
        host=asking,
        resolved=resolved,
        nvjitlink=linker,
        declared=look.declared(found) if linker else None,
        environment=environment,
    )


def _ordered(machine: Machine, path: str, host: HostBinary) -> tuple[str, ...]:
    """The imports as the loader binds them; as they were where that can't be told."""
    names = host.nvjitlink_imports
    with suppress(LtocompatError):
        if names and host.format == "ELF":
            return _in_order_of_binding(machine, path, names)
    return names


class _Look(Struct, frozen=True):
    """A look at one file of a machine.

    Attributes:
        machine: the machine with the file.
        environment: the machine's facts.
        path: the file.
        host: the requirements in its headers.
    """

    machine: Machine
    environment: Environment
    path: str
    host: HostBinary

    def load(self) -> tuple[Loader, tuple[Resolved, ...]]:
        """Return the process after the load, and what the file brought into it."""
        machine, path = self.machine, self.path
        try:
            file = read_object(machine, machine.real(path))
        except LtocompatError as error:
            return Loader(machine), (Resolved(path, problem=f"{path}: {error}"),)
        if file.program:
            loader = Loader(machine, path)
            return loader, tuple(loader.history)
        loader = Loader(machine, self.environment.python, file.machine)
        return loader, loader.load(path)

    def copy(self, path: str | None, via: str) -> Linker | None:
        """Return the copy at a path; None if none is there, or its bytes don't tell a version."""
        if path is None:
            return None
        for nvjitlink in self.environment.nvjitlinks:
            if nvjitlink.path == path:
                return replace(nvjitlink, found_via=via)
        with suppress(LtocompatError):
            return read_linker(self.machine, path, via)
        return None

    def declared(self, found: Resolved | None) -> Linker | None:
        """Resolve it without the variables of the loader, or from the file's own packages."""
        if found is None or found.loaded is None:
            return None
        variables = ("LD_LIBRARY_PATH", "LD_PRELOAD")
        machine = self.machine
        clean = {name: text for name, text in machine.environ.items() if name not in variables}
        loader, resolved = replace(self, machine=replace(machine, environ=clean)).load()
        meant = _nvjitlink(loader, resolved, self.host)
        if meant is not None and meant.loaded is not None and meant.rule not in _BY_CHANCE:
            other = self.copy(meant.real, meant.found_by)
        else:
            beside = _in_packages(machine, self.path, found.loaded.name)
            other = self.copy(beside, "its own packages")
        return None if other is None or other.path == found.real else other


def _nvjitlink(loader: Loader, resolved: tuple[Resolved, ...], host: HostBinary) -> Resolved | None:
    """The answer for nvJitLink: what is needed, else what the file itself would open by name."""
    own = resolved[0].loaded if resolved else None
    if own is None:
        return None
    asked = [(lib.how, lib.file) for lib in host.libraries if lib.name == NVJITLINK and lib.file]
    for answer in resolved:
        if answer.needed_by == own.path and ("needed", answer.asked) in asked:
            return _first_answer(loader, answer)
    names = [file for how, file in asked if how == "opened"]
    newest_first = sorted(names, key=lambda name: (len(name), name), reverse=True)
    answers = [loader.resolve(name, by=own) for name in newest_first]
    found = next((answer for answer in answers if answer.loaded), None)
    return _first_answer(loader, found) if found else next(iter(answers), None)


def _first_answer(loader: Loader, resolved: Resolved) -> Resolved:
    """The rule by which a library that was there already came into the process."""
    if resolved.rule is not BindRule.LOADED:
        return resolved
    same = (other for other in loader.history if other.real == resolved.real)
    return next((other for other in same if other.rule != resolved.rule), resolved)


def _in_packages(machine: Machine, path: str, soname: str) -> str | None:
    """The nvJitLink of the site-packages that the file lies in."""
    site = next((each for each in folders_around(path) if os.path.basename(each) in SITES), "")
    copies = (os.path.join(site, folder, soname) for folder in _IN_WHEELS if site)
    return next((machine.real(copy) for copy in copies if machine.is_file(copy)), None)

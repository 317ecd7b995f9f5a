"""The dynamic loader of Linux as data: which file a library's name means, and by which rule.

The rules are those of glibc (``elf/dl-load.c``, ld.so(8)); no file is loaded. They are tested
against what ``LD_DEBUG=libs`` says of libraries that are built for the tests.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from msgspec import Struct

from ltocompat.model.errors import LtocompatError, Malformed
from ltocompat.model.generic import grouped
from ltocompat.targets.linkers.ldcache import FLAGS, CacheEntry, cached, conf_folders
from ltocompat.targets.linkers.machine import Machine
from ltocompat.targets.machine.layout import Layout, layout, processor_of
from ltocompat.targets.machine.loaded import BindRule, Loaded, Resolved
from ltocompat.targets.machine.objects import SharedObject, read_object

_NO_FILE = "cannot open shared object file: No such file or directory"
_MOST_OBJECTS = 2000  # in one process; CUDA's largest bring some 50


class _Place(Struct, frozen=True):
    """A folder (or a cached file) to look into, and why."""

    folder: str
    rule: BindRule
    owner: str | None = None
    file: str | None = None


class Loader:
    """One simulated process; each library name is resolved as by ld.so.

    Attributes:
        machine: the machine.
        program: the program of the process; None for a program without an RPATH.
        loaded: the loaded files, in order.
        history: every answer so far, in order.
        problems: differences from ld.so that could not be avoided.
    """

    def __init__(
        self, machine: Machine, program: str | None = None, processor: str | None = None
    ) -> None:
        self.machine = machine
        self.loaded: list[Loaded] = []
        self.history: list[Resolved] = []
        self.problems: list[str] = []
        self._names: dict[str, Loaded] = {}
        self._files: dict[str, SharedObject | str] = {}
        self._entries: dict[str, list[CacheEntry]] | None = None
        self._conf: tuple[tuple[str, str], ...] = ()
        self.program: Loaded | None = None
        self._processor = processor or processor_of(machine)
        if program:
            self._start(program)
        self._layout: Layout = layout(machine, self._processor)
        preloads = machine.environ.get("LD_PRELOAD", "").replace(":", " ").split()
        first = [self.resolve(library, by=self.program).loaded for library in preloads]
        self._bring_needed([loaded for loaded in (self.program, *first) if loaded])

    def _start(self, path: str) -> None:
        real = self.machine.real(path)
        file = self._read(real)
        if isinstance(file, str):
            self.problems.append(f"the program {path!r} can't be read: {file}")
            return
        self.program = Loaded(path, real, file)
        self._processor = file.machine
        self.loaded.append(self.program)
        self.history.append(Resolved(path, None, self.program, BindRule.PATH))

    def load(self, library: str, by: Loaded | None = None) -> tuple[Resolved, ...]:
        """Load a library with everything that it needs, breadth first like ld.so and dlopen."""
        before = len(self.history)
        first = self.resolve(library, by=by)
        if first.loaded and first.rule is not BindRule.LOADED:
            self._bring_needed([first.loaded])
        return tuple(self.history[before:])

    def _bring_needed(self, todo: list[Loaded]) -> None:
        seen = {loaded.real for loaded in todo}
        while todo and len(self.loaded) < _MOST_OBJECTS:
            by = todo.pop(0)
            for name in by.file.needed:
                resolved = self.resolve(name, by=by)
                new = None if resolved.rule is BindRule.LOADED else resolved.loaded
                if new and new.real not in seen:
                    seen.add(new.real)
                    todo.append(new)

    def resolve(self, library: str, by: Loaded | None = None) -> Resolved:
        """Load one library without the libraries that it needs."""
        answer = self._resolve(library, by)
        self.history.append(answer)
        return answer

    def _resolve(self, library: str, by: Loaded | None) -> Resolved:
        needed_by = by.path if by else None
        name = self._layout.expand(library, by.origin) if by else library
        if there := self._in_process(name):
            return Resolved(library, needed_by, there, BindRule.LOADED)
        for place in self._places(name, by or self.program):
            found = self._take(place, name, by or self.program)
            if isinstance(found, str):
                return Resolved(library, needed_by, problem=f"{library}: {found}")
            if found:
                self._names.setdefault(name, found)
                return Resolved(library, needed_by, found, place.rule, place.owner)
        return Resolved(library, needed_by, problem=f"{library}: {_NO_FILE}")

    def _in_process(self, name: str) -> Loaded | None:
        """Find it by the names that it was asked for, then by soname, in the order of loading."""
        called = (each for each in self.loaded if name in (each.file.soname, each.path))
        return self._names.get(name) or next(called, None)

    def _take(self, place: _Place, name: str, by: Loaded | None) -> Loaded | str | None:
        """Load the file of that name in a place; a sentence where the loader would give up."""
        for path in self._candidates(place, name):
            if not self.machine.exists(path):
                continue
            real = self.machine.real(path)
            if same := next((loaded for loaded in self.loaded if loaded.real == real), None):
                return same
            file = self._read(real)
            if isinstance(file, str):
                return f"{path}: {file}"
            if file.machine != self._processor:
                if place.rule is BindRule.PATH:
                    return f"{path}: wrong ELF class or machine: {file.machine}"
                continue
            loaded = Loaded(path, real, file, by)
            self.loaded.append(loaded)
            return loaded
        return None

    def _candidates(self, place: _Place, name: str) -> Iterator[str]:
        if place.file is not None:
            yield place.file
            return
        for level in self._layout.hwcaps:
            yield f"{place.folder}/glibc-hwcaps/{level}/{name}"
        yield f"{place.folder}/{name}" if place.folder != "/" else f"/{name}"
        if place.rule is BindRule.CONF:
            # ldconfig enters a library under its soname, whatever its file is called.
            stem = name.partition(".so")[0]
            for path in self.machine.files(place.folder, f"{stem}.so*"):
                file = self._read(self.machine.real(path))
                if not isinstance(file, str) and file.soname == name:
                    yield path

    def _read(self, real: str) -> SharedObject | str:
        if real not in self._files:
            try:
                self._files[real] = read_object(self.machine, real)
            except LtocompatError as error:
                self._files[real] = str(error)
        return self._files[real]

    def _places(self, name: str, by: Loaded | None) -> Iterator[_Place]:
        """Yield the places where ld.so looks, in its order."""
        if "/" in name:
            yield _Place("", BindRule.PATH, file=os.path.join(self.machine.folder, name))
            return
        if by is None or by.file.runpath is None:
            yield from self._inherited(by)
        path = self.machine.environ.get("LD_LIBRARY_PATH", "")
        yield from self._listed(path, BindRule.LIBRARY_PATH, self.program)
        if by:
            yield from self._listed(by.file.runpath or "", BindRule.RUNPATH, by)
        yield from self._cached(name, no_default=bool(by and by.file.no_default))
        if not (by and by.file.no_default):
            yield from (_Place(folder, BindRule.DEFAULT) for folder in self._layout.default)

    def _inherited(self, by: Loaded | None) -> Iterator[_Place]:
        """RPATH of the asking file, of what brought it, and so on up; at last the program's."""
        chain: list[Loaded] = []
        loaded = by
        while loaded and loaded not in chain:
            chain.append(loaded)
            loaded = loaded.loader
        if self.program and self.program not in chain:
            chain.append(self.program)
        for loaded in chain:
            yield from self._listed(loaded.file.rpath or "", BindRule.RPATH, loaded)

    def _listed(self, text: str, rule: BindRule, by: Loaded | None) -> Iterator[_Place]:
        """A search path; an empty part is the current folder."""
        owner = by.name if by and rule is not BindRule.LIBRARY_PATH else None
        separators = "[:;]" if rule is BindRule.LIBRARY_PATH else ":"
        for part in re.split(separators, text) if text else ():
            expanded = self._layout.expand(part, by.origin) if by else part
            folder = os.path.join(self.machine.folder, expanded).rstrip("/") or "/"
            yield _Place(folder, rule, owner)

    def _cached(self, name: str, *, no_default: bool) -> Iterator[_Place]:
        if self._entries is None:
            self._entries = self._read_cache()
        entries = [
            entry
            for entry in self._entries.get(name, ())
            if not entry.legacy
            and entry.flags == FLAGS.get(self._processor, entry.flags)
            and entry.hwcaps in ("", *self._layout.hwcaps)
            and not (no_default and os.path.dirname(entry.path) in self._layout.default)
        ]
        # The best folder that the processor takes, else the first entry; never a second one.
        order = (*self._layout.hwcaps, "")
        for entry in sorted(entries, key=lambda entry: order.index(entry.hwcaps))[:1]:
            yield _Place("", BindRule.CACHE, file=entry.path)
        for folder, _ in self._conf:
            yield _Place(folder, BindRule.CONF)

    def _read_cache(self) -> dict[str, list[CacheEntry]]:
        try:
            entries = cached(self.machine)
        except Malformed as error:
            self.problems.append(str(error))
            entries = ()
        if entries is None and self.machine.root != "/":
            # An image's cache is written when a container starts; ld.so itself reads no conf.
            self._conf = conf_folders(self.machine)
        return grouped((entry.name, entry) for entry in entries or ())

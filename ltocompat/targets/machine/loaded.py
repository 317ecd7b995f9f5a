"""Loaded files of a process, the loader's answers, and a library with what it gets, as values."""

from __future__ import annotations

import enum
import os

from msgspec import Struct

from ltocompat.model.environment import Environment
from ltocompat.model.image import HostBinary
from ltocompat.targets.linkers import Linker
from ltocompat.targets.machine.objects import SharedObject


class BindRule(enum.StrEnum):
    """The rule by which the loader found a library."""

    LOADED = "already loaded"
    PATH = "path"
    RPATH = "RPATH"
    LIBRARY_PATH = "LD_LIBRARY_PATH"
    RUNPATH = "RUNPATH"
    CACHE = "ld.so.cache"
    CONF = "ld.so.conf"
    DEFAULT = "default folders"


class Loaded(Struct, frozen=True):
    """One library or program in a process.

    Attributes:
        path: its path in the loader's spelling.
        real: the file itself, after all links are followed.
        file: its headers.
        loader: the file that loaded it first, whose RPATH it inherits; None for the program.
    """

    path: str
    real: str
    file: SharedObject
    loader: Loaded | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return self.file.soname or os.path.basename(self.path)

    @property
    def origin(self) -> str:
        """The value of ``$ORIGIN`` in it: its folder as found; for a program, the real one."""
        return os.path.dirname(self.real if self.file.program else self.path)


class Resolved(Struct, frozen=True):
    """The loader's answer for one name.

    Attributes:
        asked: the name: a soname, or a path.
        needed_by: path of the file that needs it; None for a program's own dlopen.
        loaded: the loaded file; None if nothing is found or can be loaded.
        rule: the search rule; None if nothing is found.
        owner: name of the file with that RPATH or RUNPATH.
        problem: the loader's error.
    """

    asked: str
    needed_by: str | None = None
    loaded: Loaded | None = None
    rule: BindRule | None = None
    owner: str | None = None
    problem: str | None = None

    @property
    def path(self) -> str | None:
        """The path at which the loader found it."""
        return self.loaded.path if self.loaded else None

    @property
    def real(self) -> str | None:
        """The file after all links are followed."""
        return self.loaded.real if self.loaded else None

    @property
    def found_by(self) -> str:
        """The rule in words: ``RUNPATH of libcusparse.so.12``."""
        if self.rule is None:
            return self.problem or "not found"
        return f"{self.rule} of {self.owner}" if self.owner else str(self.rule)


class Library(Struct, frozen=True):
    """A host file with device code, on the machine where it will run.

    Attributes:
        path: the file.
        host: the requirements in its headers.
        resolved: the files that the loader loads for it, itself first; empty if it can't be loaded.
        nvjitlink: the nvJitLink that it really loads; None if it needs none, or finds none.
        declared: the nvJitLink that its own RUNPATH or package intends, if that differs; else None.
        environment: the machine.
    """

    path: str
    host: HostBinary
    resolved: tuple[Resolved, ...]
    nvjitlink: Linker | None
    declared: Linker | None
    environment: Environment

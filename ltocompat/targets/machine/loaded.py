"""Loaded files of a process, the loader's answers, and a library with what it gets, as values."""

from __future__ import annotations

import enum
import os

from msgspec import Struct

from ltocompat.model.arch import Release
from ltocompat.model.environment import Environment
from ltocompat.model.image import HostBinary
from ltocompat.targets.linkers import Linker
from ltocompat.targets.machine.objects import SharedObject


class BindRule(enum.StrEnum):
    """The rule by which the loader looked where it found a library."""

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
        path: where the loader found it, in the loader's own spelling.
        real: the file itself, after all links are followed.
        file: what is in it.
        loader: what brought it first, whose RPATH it inherits; None for the program.
    """

    path: str
    real: str
    file: SharedObject
    loader: Loaded | None = None

    @property
    def name(self) -> str:
        """The name to call it by."""
        return self.file.soname or os.path.basename(self.path)

    @property
    def origin(self) -> str:
        """The value of ``$ORIGIN`` in it: its folder as found; a program's is the real one."""
        return os.path.dirname(self.real if self.file.program else self.path)


class Resolved(Struct, frozen=True):
    """The loader's answer for one name.

    Attributes:
        asked: the name: a soname, or a path.
        needed_by: path of the file that asked; None for a program's own dlopen.
        loaded: what it gets; None if nothing is found or can be loaded.
        rule: what made the loader look there; None if nothing is found.
        owner: name of the file whose RPATH or RUNPATH it was.
        problem: why it gets nothing, in the loader's own words.
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
        """The file behind all links."""
        return self.loaded.real if self.loaded else None

    @property
    def found_by(self) -> str:
        """The rule in words: ``RUNPATH of libcusparse.so.12``."""
        if self.rule is None:
            return self.problem or "not found"
        return f"{self.rule} of {self.owner}" if self.owner else str(self.rule)


class Library(Struct, frozen=True):
    """A host file with device code, on the machine where it is to run.

    Attributes:
        path: the file.
        host: what its headers ask for.
        resolved: what the loader brings for it, itself first; empty if it can't be loaded.
        nvjitlink: the nvJitLink that it really gets; None if it asks for none, or gets none.
        declared: the nvJitLink that its own RUNPATH or package means it to get, where that is
            another one; None otherwise.
        environment: the machine.
    """

    path: str
    host: HostBinary
    resolved: tuple[Resolved, ...]
    nvjitlink: Linker | None
    declared: Linker | None
    environment: Environment

    @property
    def release(self) -> Release | None:
        """Minor release of the nvJitLink that it gets."""
        return None if self.nvjitlink is None else self.nvjitlink.release

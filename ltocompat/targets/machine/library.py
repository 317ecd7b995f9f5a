"""A library on a machine: what it asks for, and what the loader gives it."""

from __future__ import annotations

from dataclasses import dataclass

from ltocompat.model.arch import Release
from ltocompat.model.image import Host
from ltocompat.targets.linkers import Linker
from ltocompat.targets.machine.environment import Environment
from ltocompat.targets.machine.loaded import Resolved


@dataclass(frozen=True, slots=True)
class Library:
    """A host file with device code, on the machine where it is to run.

    Attributes:
        path: the file.
        host: what its headers ask for.
        resolved: what the loader brings for it, itself first; empty where it can't be loaded.
        nvjitlink: the nvJitLink that it really gets; None where it asks for none, or gets none.
        declared: the nvJitLink that its own RUNPATH or package means it to get, where that is
            another one; None otherwise.
        environment: the machine.
    """

    path: str
    host: Host
    resolved: tuple[Resolved, ...]
    nvjitlink: Linker | None
    declared: Linker | None
    environment: Environment

    @property
    def release(self) -> Release | None:
        """Minor release of the nvJitLink that it gets."""
        return None if self.nvjitlink is None else self.nvjitlink.release

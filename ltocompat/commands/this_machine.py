"""This machine as a deploy target: each library is judged with what the loader really gives it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from msgspec.structs import replace

from ltocompat.commands.deployment_target import DeploymentTarget
from ltocompat.commands.env import problems_of
from ltocompat.facts.libraries import packages_with
from ltocompat.model.arch import Release
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.environment import Environment
from ltocompat.model.errors import LtocompatError, UnreadableInput
from ltocompat.model.failure import Failure
from ltocompat.model.library_name import LDSO, PATHFINDER
from ltocompat.model.target import THIS_MACHINE, Quantifier, Target, VersionSet, exactly
from ltocompat.model.verdict import Result, Route
from ltocompat.rules.catalogue import found_about
from ltocompat.rules.engine.findings import machine_result, with_problems
from ltocompat.rules.engine.judge_artifact import ArtifactJudge
from ltocompat.targets.linkers import Linker, Machine
from ltocompat.targets.machine.library_on_machine import look_at
from ltocompat.targets.machine.loaded import Library
from ltocompat.targets.machine.probe import probe
from ltocompat.targets.machine.python_environment import NAMED, Installation, chosen
from ltocompat.targets.machine.save import target_of

MACHINE = "this-machine"


class ThisMachine(DeploymentTarget, frozen=True, kw_only=True):
    """An examined machine with an environment of packages.

    Attributes:
        machine: access to the machine.
        environment: the facts that were found.
    """

    machine: Machine
    environment: Environment
    installation: Installation
    here: bool = True

    @classmethod
    def of(cls, machine: Machine, installation: Installation) -> ThisMachine:
        """Examine a machine as the programs of an environment see it."""
        if installation.python is not None:
            search = installation.folders
            machine = machine.running(installation.python)
            machine = replace(machine, python=installation.python, search_path=search)
        elif installation.because == NAMED:
            machine = replace(machine, search_path=installation.folders)
        found = probe(machine)
        target = target_of(found, THIS_MACHINE)
        return cls(target=target, machine=machine, environment=found, installation=installation)

    @classmethod
    def now(cls, python: str | None) -> ThisMachine:
        """Examine this machine with the environment of an interpreter; None: the active one.

        Raises:
            UsageError: ``python`` does not run.
        """
        machine = Machine.here()
        return cls.of(machine, chosen(python, machine.environ, machine))

    def own_result(self) -> Result:
        """The problems of the machine itself."""
        looked = f"checked with the packages of {self.installation}"
        return machine_result(MACHINE, self.target, problems_of(self.environment), looked)

    def results(self, summary: ArtifactSummary, route: Route | None) -> Iterator[Result | Failure]:
        """Yield the verdicts on an artifact with the nvJitLink that it would load here.

        If that nvJitLink is unknown, yield a ``Failure``, and assume the machine's own nvJitLink.
        """
        library = None
        try:
            library = self.library(summary)
        except LtocompatError as error:
            yield Failure.of(
                UnreadableInput(
                    f"the loader's search for {summary.path!r} can't be followed: {error}"
                )
            )
        problems = tuple(found_about("Library", library)) if library else ()
        target = _linked_by(library.nvjitlink if library else None, self.target)
        for result in ArtifactJudge(summary, self.engine).results(target, route):
            yield with_problems(replace(result, target=self.target), problems)

    def brought(self, summary: ArtifactSummary) -> frozenset[str]:
        """Return the CUDA libraries that the loader finds for a file anywhere."""
        return frozenset(asked for asked, _ in self.found(summary))

    def found(self, summary: ArtifactSummary) -> Iterator[tuple[str, str]]:
        """Yield the CUDA libraries that the loader finds for a file, with their paths."""
        if not any(packages_with(name) for host in summary.hosts for name in host.needed):
            return
        with suppress(LtocompatError):  # what it gets can't be told: its metadata is judged
            library = self.library(summary)
            for each in library.resolved if library else ():
                if each.path is not None:
                    yield each.asked, each.path

    def is_packaged(self, path: str) -> bool:
        """Return whether a file belongs to the packages of the environment."""
        folders = map(os.path.realpath, self.installation.folders)
        return any(os.path.realpath(path).startswith(folder + os.sep) for folder in folders)

    def packaged(self, library: str) -> VersionSet[Release] | None:
        """Return the ``nvJitLink`` or ``nvrtc`` that programs load from these packages, if any."""
        for way in (PATHFINDER, LDSO):
            for pick in self.environment.picked(library, way):
                if pick.version and pick.path and self.is_packaged(pick.path):
                    release = Release.parse(pick.version)
                    return VersionSet(str(release), (release,), Quantifier.ONE_OF, pick.path)
        return None

    def packages_on(self, target: Target) -> PackagesElsewhere:
        """Return the packages of this machine, moved to a target."""
        packaged = self.packaged("nvJitLink")
        nvrtc = target.nvrtc or self.packaged("nvrtc")
        moved = replace(target, nvjitlink=target.nvjitlink or packaged, nvrtc=nvrtc)
        own = target.nvjitlink in (None, packaged)  # equal nodes of two fleets were moved before
        return PackagesElsewhere(moved, machine=self, installation=self.installation, own=own)

    def library(self, summary: ArtifactSummary) -> Library | None:
        """Return the artifact as a library of this machine; None if it needs no libraries.

        Raises:
            LtocompatError: it can't be read, or reading takes too long.
        """
        asking = [host for host in summary.hosts if not host.place.members]
        path = os.path.abspath(summary.path)
        if not asking or not os.path.isfile(path):
            return None
        return look_at(self.machine, self.environment, path, asking[0])


def _linked_by(linker: Linker | None, target: Target) -> Target:
    """A target with a copy of nvJitLink, where there is one."""
    if linker is None:
        return target
    return replace(target, nvjitlink=exactly(linker.release, linker.path, linker.version))


class PackagesElsewhere(DeploymentTarget, frozen=True, kw_only=True):
    """The packages of an environment of this machine, moved to a target.

    The packages supply the libraries that the target doesn't name.

    Attributes:
        machine: the machine on which they are now.
        own: True if each file links with the nvJitLink that it loads from the packages, since the
            target names none.
    """

    machine: ThisMachine
    installation: Installation
    own: bool

    def brought(self, summary: ArtifactSummary) -> frozenset[str]:
        """Return the CUDA libraries that the loader finds for a file in other packages."""
        found = self.machine.found(summary)
        return frozenset(asked for asked, path in found if self.machine.is_packaged(path))

    def results(self, summary: ArtifactSummary, route: Route | None) -> Iterator[Result]:
        """Yield the verdicts on an artifact with the nvJitLink from its packages."""
        target = self.target
        if self.own:
            with suppress(LtocompatError):  # what it gets can't be told, and isn't judged
                library = self.machine.library(summary)
                # LD_LIBRARY_PATH of this shell may hide the copy that the packages have.
                copies = (library.nvjitlink, library.declared) if library else ()
                packaged = (each for each in copies if each and self.machine.is_packaged(each.path))
                target = _linked_by(next(packaged, None), target)
        for result in ArtifactJudge(summary, self.engine).results(target, route):
            yield replace(result, target=self.target)

"""A look at a machine: what its device code will meet, and what is wrong there."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.commands.options import EnvOptions
from ltocompat.files.output import write_named
from ltocompat.model.errors import UsageError
from ltocompat.model.target import Target
from ltocompat.rules.catalogue import found_about
from ltocompat.rules.rule import Problem
from ltocompat.targets.linkers import Machine
from ltocompat.targets.machine.environment import Environment
from ltocompat.targets.machine.probe import probe
from ltocompat.targets.machine.save import target_of


class Surroundings(Struct, frozen=True):
    """The state of a machine.

    Attributes:
        environment: the facts.
        target: the deploy target that it is.
        problems: what is wrong there, worst first.
        sandbox: the mechanisms of this machine that confine trials; None for another machine.
    """

    environment: Environment
    target: Target
    problems: tuple[Problem, ...]
    sandbox: tuple[str, ...] | None = None


def env(root: str | os.PathLike[str] | None = None) -> Surroundings:
    """Look at this machine, or at the file system of another one.

    Nothing is loaded into this process; commands are run and libraries opened in children only.

    Args:
        root: folder that stands for ``/`` of the other machine, such as an unpacked image; then
            neither variables nor commands of this one count.

    Raises:
        UsageError: ``root`` is no folder.
    """
    if root is not None and not os.path.isdir(root):
        raise UsageError(f"{os.fspath(root)!r} is no folder; give the root of a file system")
    machine = Machine.here() if root is None else Machine(root=os.path.abspath(root))
    found = probe(machine)
    name = "this machine" if root is None else os.path.basename(machine.root)
    sandbox = _mechanisms() if root is None else None
    return Surroundings(found, target_of(found, name), problems_of(found), sandbox)


def _mechanisms() -> tuple[str, ...]:
    """Return what confines trials here; nothing on other systems than Linux."""
    if sys.platform != "linux":
        return ()
    from ltocompat.trial.sandbox import available

    return available()


def run(options: EnvOptions) -> Iterator[Surroundings]:
    """The look at the machine; then it is saved, where that is wanted.

    Raises:
        UsageError: the root is no folder.
        LtocompatError: the file is there already, or can't be written.
    """
    found = env(options.root)
    yield found
    if options.save is not None:
        save(found, options.save)


def problems_of(found: Environment) -> tuple[Problem, ...]:
    """Problems of a machine by all rules, worst first."""
    problems = found_about("Environment", found)
    return tuple(sorted(problems, key=lambda problem: -problem.verdict))


def save(found: Surroundings, path: str | os.PathLike[str]) -> str:
    """Write the machine as a named target into a new TOML file; the name is the file's.

    Raises:
        LtocompatError: the file is there already, or can't be written.
    """
    from ltocompat.targets.writing import as_toml

    name = os.path.splitext(os.path.basename(path))[0]
    text = as_toml(replace(found.target, name=name))
    write_named(os.fspath(path), text.encode())
    return name

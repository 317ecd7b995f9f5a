"""A look at a machine: what its device code will meet, and what is wrong there."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.commands.options import EnvOptions, checked
from ltocompat.files.inside import BY_DESCRIPTOR
from ltocompat.files.output import scratch_folder, write_named, writing
from ltocompat.model.environment import Environment
from ltocompat.model.errors import UsageError
from ltocompat.model.limits import Budget
from ltocompat.model.location import Location
from ltocompat.model.target import Target
from ltocompat.rules.catalogue import found_about
from ltocompat.rules.rule import Problem
from ltocompat.targets.linkers import Machine
from ltocompat.targets.machine.probe import probe
from ltocompat.targets.machine.save import target_of

# The PATH that Docker sets if an image sets none.
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Surroundings(Struct, frozen=True):
    """A machine, the deploy target for it, and its problems.

    Attributes:
        environment: the facts.
        target: the deploy target for this machine.
        problems: the problems of the machine, the worst first.
        sandbox: the mechanisms with which this machine confines trials; None if the facts are from
            another machine.
    """

    environment: Environment
    target: Target
    problems: tuple[Problem, ...]
    sandbox: tuple[str, ...] | None = None


@checked
def env(root: str | os.PathLike[str] | None = None) -> Surroundings:
    """Show the driver, GPUs and CUDA libraries of this machine, or of one whose files are given.

    This process loads nothing: child processes run commands and open libraries.

    Args:
        root: the root folder (``/``) of the other machine, or a saved container image. For an
            image, the files that the loader reads are unpacked into a temporary folder. The
            environment variables of the image are used. The variables and commands of this machine
            are not used.

    Raises:
        UsageError: ``root`` is not a folder or an image, or is an archive that holds several
            images.
        UnreadableInput: the image can't be read.
    """
    with _machine(root) as (machine, unread):
        found = probe(machine)
        found = replace(found, problems=(*unread, *found.problems))
    name = "this machine" if root is None else os.path.basename(os.path.abspath(root))
    sandbox = _mechanisms() if root is None else None
    return Surroundings(found, target_of(found, name), problems_of(found), sandbox)


def _machine(
    root: str | os.PathLike[str] | None,
) -> AbstractContextManager[tuple[Machine, list[str]]]:
    """The machine to look at, and what of it can't be read."""
    # Imported here: most looks are at this machine.
    from ltocompat.files.archives.layout_folder import is_layout

    if root is None:
        return nullcontext((Machine.here(), []))
    if os.path.isdir(root) and not is_layout(os.fspath(root)):
        return nullcontext((Machine(root=os.path.abspath(root), environ={"PATH": _PATH}), []))
    return _of_image(os.fspath(root))


@contextmanager
def _of_image(path: str) -> Iterator[tuple[Machine, list[str]]]:
    from ltocompat.files.archives.compressed import plain_image
    from ltocompat.files.archives.container_image import archive_of, images_in
    from ltocompat.files.archives.image_root import write_root
    from ltocompat.packages.container_images import variables
    from ltocompat.scan.walk import opened

    if not BY_DESCRIPTOR:
        raise UsageError(f"images can be read only on Linux; unpack {path!r} and give the folder")
    if not os.path.exists(archive_of(path)):
        raise UsageError(f"there is no {path!r}; give the root of a file system, or an image")
    budget, at = Budget(), Location(path)
    with opened(path, budget.limits) as view, scratch_folder() as folder, writing(folder):
        images = images_in(plain_image(view, budget), at, budget)
        if len(images) != 1:
            names = " or ".join(f"{path}:{image.name}" for image in images)
            hint = f"name one image: {names}" if images else "docker save writes one"
            raise UsageError(f"{path!r} is neither a folder nor a single image; {hint}")
        unread = [f"{s.place}: {s.reason}" for s in write_root(images[0], at, folder, budget)]
        environ = {"PATH": _PATH, "container": "image"} | variables(images[0].config)
        yield Machine(root=os.path.realpath(folder), environ=environ), unread


def _mechanisms() -> tuple[str, ...]:
    """Return what confines trials here; nothing on other systems than Linux."""
    if sys.platform != "linux":
        return ()
    from ltocompat.trial.sandbox import available

    return available()


def run(options: EnvOptions) -> Iterator[Surroundings]:
    """Yield the state of the machine, and save it if requested.

    Raises:
        UsageError: the root is not a folder.
        LtocompatError: the file is there already, or can't be written.
    """
    found = env(options.root)
    yield found
    if options.save is not None:
        save(found, options.save)


def problems_of(found: Environment) -> tuple[Problem, ...]:
    """Return the problems of a machine by all rules, worst first."""
    return tuple(sorted(found_about("Environment", found), key=lambda problem: -problem.verdict))


def save(found: Surroundings, path: str | os.PathLike[str]) -> str:
    """Write the machine as a named target into a new TOML file; the name is the file's.

    Raises:
        LtocompatError: the file is there already, or can't be written.
    """
    from ltocompat.targets.writing import as_toml

    name = os.path.splitext(os.path.basename(path))[0]
    write_named(os.fspath(path), as_toml(replace(found.target, name=name)).encode())
    return name

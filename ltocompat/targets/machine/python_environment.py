"""The environment whose packages are checked when no path is named, and its binary files."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from ltocompat.facts import SITES, among_tests, is_device_library
from ltocompat.files.archives.folder import CONDA_META, sites_of
from ltocompat.model.errors import UsageError

if TYPE_CHECKING:
    from ltocompat.targets.linkers import Machine

# Files of an environment that hold no device code, by far the most.
_TEXTS = (".py", ".pyc", ".pyi", ".pxd", ".pyx", ".h", ".hpp", ".cuh", ".txt", ".md", ".rst")
_OURS = __name__.partition(".")[0]
_ASK = (
    "import sysconfig; print(sysconfig.get_path('purelib')); print(sysconfig.get_path('platlib'))"
)


NAMED = "a folder of packages"


class Installation(Struct, frozen=True):
    """An environment of packages.

    Attributes:
        name: its name: its folder, or the interpreter.
        because: why it was chosen: ``a folder of packages``, ``--python``, ``VIRTUAL_ENV``,
            ``CONDA_PREFIX`` or ``this Python``.
        folders: the folders with its files.
        python: its interpreter; None if it runs this program or is unknown.
    """

    name: str
    because: str
    folders: tuple[str, ...]
    python: str | None = None

    def __str__(self) -> str:
        return f"{self.name} ({self.because})"


def chosen(python: str | None, environ: Mapping[str, str], machine: Machine) -> Installation:
    """Return the requested environment: ``--python``, else an active one, else this interpreter's.

    A Python that the user named or activated is run, in any folder. Files in a folder that the user
    named are not run.

    Raises:
        UsageError: ``python`` does not run, and is not a folder of packages.
    """
    if python is not None and (sites := sites_of(os.path.join(machine.folder, python))):
        conda = os.path.isdir(os.path.join(machine.folder, python, CONDA_META))
        folders = (os.path.join(machine.folder, python, "lib"),) if conda else sites
        return Installation(python, NAMED, tuple(map(os.path.normpath, folders)))
    if python is not None:
        program = _typed(python, environ, machine)
        folders = _folders_of(program, machine)
        if not folders:
            raise UsageError(
                f"{python!r} does not run as Python; give the path of an interpreter, as in "
                "--python .venv/bin/python"
            )
        return Installation(python, "--python", folders, program)
    active = environ.get("VIRTUAL_ENV")
    if active and os.path.isabs(active):
        interpreter = os.path.join(active, "bin", "python")
        folders = _folders_of(interpreter, machine)
        python = interpreter if folders else None
        return Installation(active, "VIRTUAL_ENV", folders or (active,), python)
    prefix = environ.get("CONDA_PREFIX")
    if prefix:
        return Installation(prefix, "CONDA_PREFIX", (os.path.join(prefix, "lib"),))
    paths = (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    return Installation(sys.prefix, "this Python", tuple(dict.fromkeys(paths)))


def _typed(python: str, environ: Mapping[str, str], machine: Machine) -> str:
    """The program that a user names, as a shell finds it; not in the current folder by chance."""
    if os.path.dirname(python):
        return os.path.join(machine.folder, python)
    folders = filter(os.path.isabs, os.get_exec_path(environ))
    return shutil.which(python, path=os.pathsep.join(folders)) or python


def _folders_of(python: str, machine: Machine) -> tuple[str, ...]:
    words = machine.running(python).run([python, "-I", "-c", _ASK]).split("\n")
    return tuple(dict.fromkeys(line for line in words if os.path.isdir(line)))


def binary_files(installation: Installation) -> Iterator[str]:
    """Yield the files that may have device code, each once even with several links.

    Files of this tool, which may be installed there, are left out.
    """
    seen: set[str] = set()
    for folder in installation.folders:
        for where, folders, files in os.walk(folder):
            site = where == folder or os.path.basename(where) in SITES
            folders[:] = sorted(name for name in folders if not (site and name == _OURS))
            for name in sorted(files):
                path = os.path.join(where, name)
                if name.endswith(_TEXTS) or not os.path.isfile(path):
                    continue
                if (real := os.path.realpath(path)) not in seen:
                    seen.add(real)
                    yield path


_LOOSE = (".fatbin", ".cubin", ".ptx", ".ltoir")


def decides_nothing(path: str, installation: Installation) -> bool:
    """Return whether nobody runs a file of an environment.

    This applies to bare images of a package's own tests, and to NVIDIA's device libraries, which
    are for links by others.
    """
    if is_device_library(os.path.basename(path)):
        return True
    inside = (path.removeprefix(folder + os.sep) for folder in installation.folders)
    return path.endswith(_LOOSE) and among_tests(min(inside, key=len).split(os.sep)[:-1])

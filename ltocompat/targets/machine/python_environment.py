"""The environment whose packages are checked when no path is named, and its binary files."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator, Mapping

from msgspec import Struct

from ltocompat.facts import set_aside
from ltocompat.model.errors import UsageError
from ltocompat.targets.linkers import Machine

# What holds device code: libraries, extension modules, and loose images.
_SUFFIXES = (".so", ".pyd", ".dll", ".fatbin", ".cubin", ".ptx", ".ltoir", ".a", ".lib")
_ASK = (
    "import sysconfig; print(sysconfig.get_path('purelib')); print(sysconfig.get_path('platlib'))"
)


class Installation(Struct, frozen=True):
    """An environment of packages.

    Attributes:
        name: what to call it: its folder, or the interpreter.
        because: why it was chosen: ``--python``, ``VIRTUAL_ENV``, ``CONDA_PREFIX`` or
            ``this Python``.
        folders: where its files are.
        python: its interpreter; None where it is the one that runs this program, or unknown.
    """

    name: str
    because: str
    folders: tuple[str, ...]
    python: str | None = None

    def __str__(self) -> str:
        return f"{self.name} ({self.because})"


def chosen(python: str | None, environ: Mapping[str, str], machine: Machine) -> Installation:
    """The environment that is meant: ``--python``, else an active one, else this interpreter's.

    Raises:
        UsageError: ``python`` does not run.
    """
    if python is not None:
        folders = _folders_of(python, machine)
        if not folders:
            raise UsageError(f"{python!r} is no Python that runs; give the path of one to --python")
        return Installation(python, "--python", folders, python)
    active = environ.get("VIRTUAL_ENV")
    if active:
        interpreter = os.path.join(active, "bin", "python")
        folders = _folders_of(interpreter, machine)
        python = interpreter if folders else None
        return Installation(active, "VIRTUAL_ENV", folders or (active,), python)
    prefix = environ.get("CONDA_PREFIX")
    if prefix:
        return Installation(prefix, "CONDA_PREFIX", (os.path.join(prefix, "lib"),))
    paths = (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    return Installation(sys.prefix, "this Python", tuple(dict.fromkeys(paths)))


def _folders_of(python: str, machine: Machine) -> tuple[str, ...]:
    words = machine.run([python, "-I", "-c", _ASK]).split("\n")
    return tuple(dict.fromkeys(line for line in words if os.path.isdir(line)))


def binary_files(installation: Installation) -> Iterator[str]:
    """The files there that can hold device code, each once however many links lead to it."""
    seen: set[str] = set()
    for folder in installation.folders:
        for where, folders, files in os.walk(folder):
            folders.sort()
            for name in sorted(files):
                path = os.path.join(where, name)
                if _is_binary(name) and (real := os.path.realpath(path)) not in seen:
                    seen.add(real)
                    yield path


_LOOSE = (".fatbin", ".cubin", ".ptx", ".ltoir")


def decides_nothing(path: str, installation: Installation) -> bool:
    """Whether users of an environment don't run a file.

    So it is with loose images of a package's own tests, and with NVIDIA's device runtime, which is
    for links that others make.
    """
    if set_aside.is_device_runtime(os.path.basename(path)):
        return True
    inside = (path.removeprefix(folder + os.sep) for folder in installation.folders)
    parts = min(inside, key=len).split(os.sep)
    return path.endswith(_LOOSE) and set_aside.among_tests(parts[:-1])


def _is_binary(name: str) -> bool:
    return name.endswith(_SUFFIXES) or ".so." in name

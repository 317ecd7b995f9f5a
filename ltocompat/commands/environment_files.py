"""The environments and lock files among the inputs of a verb."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from ltocompat.commands.options import DEPLOY_TARGET, CheckOptions, MatrixOptions, RequireOptions
from ltocompat.model.errors import LtocompatError, UsageError
from ltocompat.model.failure import Note
from ltocompat.model.limits import Limits
from ltocompat.model.words import count
from ltocompat.scan.sources import Source

if TYPE_CHECKING:
    from ltocompat.targets.machine.python_environment import Installation

OptionsT = TypeVar("OptionsT", CheckOptions, MatrixOptions, RequireOptions)


def of_environment(options: OptionsT) -> OptionsT:
    """Return the options with ``python`` instead of the path, if that is a folder of packages."""
    together = getattr(options, "together", False)
    if len(options.paths) == 1 and options.python is None and not together:
        (path,) = options.paths
        if isinstance(path, str | os.PathLike) and os.path.isdir(path):
            from ltocompat.files.archives.folder import sites_of

            folder = os.fspath(path)
            return replace(options, paths=(), python=folder) if sites_of(folder) else options
    return options


def with_files(options: OptionsT, *, locks: bool = True) -> tuple[OptionsT, bool, Iterator[Note]]:
    """Return the options with the files of an environment as paths, if they name no path.

    Args:
        options: the options.
        locks: False if lock files need no notes.

    Returns:
        The options, whether they name paths, and notes about the inputs.

    Raises:
        UsageError: ``python`` does not run, and is not a folder of packages.
    """
    options = of_environment(options)
    if options.paths:
        return options, True, lock_notes(options.paths if locks else (), options.limits)
    # Imported here: most inputs are files.
    from ltocompat.targets.linkers import Machine
    from ltocompat.targets.machine.python_environment import chosen

    files, note = files_of(chosen(options.python, os.environ, Machine.here()))
    return replace(options, paths=files), False, iter((note,))


def files_of(installation: Installation | None) -> tuple[tuple[str, ...], Note]:
    """Return the files there that can have device code, and a note about them.

    Raises:
        UsageError: neither is a target this machine, nor is an environment named.
    """
    if installation is None:
        raise UsageError(
            "there is nothing to check; name a file, a folder or a package, or an environment with "
            "--python"
        )
    from ltocompat.targets.machine.python_environment import binary_files, decides_nothing

    files = list(binary_files(installation))
    kept = tuple(file for file in files if not decides_nothing(file, installation))
    others = count(len(files) - len(kept), "file")
    kinds = "device code of tests, or NVIDIA's device libraries by themselves"
    left_out = f"; {others} left out: nobody runs {kinds}" if len(kept) < len(files) else ""
    return kept, Note(f"reading the packages of {installation}{left_out}")


_LOCKS = (".toml", ".lock", ".txt", ".yml", ".yaml")


def lock_notes(paths: Iterable[Source], limits: Limits) -> Iterator[Note]:
    """Yield a note for each path of a lock file: it is a part of a target, and has no code."""
    for path in paths:
        if not isinstance(path, str | os.PathLike) or not os.fspath(path).endswith(_LOCKS):
            continue
        from ltocompat.packages.resolved import resolved_packages

        with suppress(LtocompatError, OSError, ValueError):
            if resolved_packages(os.fspath(path), limits, None):
                yield Note(
                    f"{path} is a lock file, which has no code: name the wheels that it pins, or "
                    "an environment installed from it; to check other code with what it pins, "
                    f"add {DEPLOY_TARGET} lock={path}"
                )

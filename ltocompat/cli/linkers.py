"""``ltocompat linkers list``, ``install`` and ``remove``."""

from __future__ import annotations

from ltocompat.cli.group import Group
from ltocompat.cli.options import Format
from ltocompat.cli.run_verb import in_format, run_verb
from ltocompat.cli.verb import verb
from ltocompat.commands.options import InstallOptions, RemoveOptions
from ltocompat.report.exit_status import ExitStatus


@verb
def list_(*, form: Format = ()) -> int:
    """List the nvJitLinks and nvlinks on this machine.

    For example: ltocompat linkers list --format json

    The search covers wheels, conda, CUDA_HOME and CUDA_PATH, /usr/local/cuda*, the loader's cache,
    LD_LIBRARY_PATH and PATH. Versions are read from the files; nothing is loaded.
    """
    from ltocompat.commands import linkers as command
    from ltocompat.report.verbs.linkers import LISTING

    return run_verb(command.run_list, command.ListOptions(), in_format(form, LISTING), ExitStatus())


@verb
def install(*, options: InstallOptions, form: Format = ()) -> int:
    """Install linkers for trials into a separate cache.

    For example: ltocompat linkers install nvjitlink=13.4 nvlink=13.5

    Your own pip or uv downloads the linkers, with your index, mirror and proxy. Each file is
    checked against its SHA-256 sum. nvlink is available from 13.0 on: NVIDIA's packages for CUDA 12
    have no nvlink.
    """
    from ltocompat.commands import linkers as command
    from ltocompat.report.verbs.linkers import CHANGES

    return run_verb(command.run_install, options, in_format(form, CHANGES), ExitStatus())


@verb
def remove(*, options: RemoveOptions, form: Format = ()) -> int:
    """Remove linkers that were installed for trials.

    For example: ltocompat linkers remove nvjitlink=all
    """
    from ltocompat.commands import linkers as command
    from ltocompat.report.verbs.linkers import CHANGES

    return run_verb(command.run_remove, options, in_format(form, CHANGES), ExitStatus())


linkers = Group(
    "linkers",
    help="List, install and remove nvJitLinks and nvlinks.",
    commands=[list_, install, remove],
)

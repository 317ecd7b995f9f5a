"""What artifacts ask of wherever they go: the inverse of a check."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack

from ltocompat.commands.read_artifacts import ScanOptions, summaries
from ltocompat.model.limits import DEFAULT_LIMITS, Limits
from ltocompat.model.requirement import Required
from ltocompat.rules.engine.collect_requirements import required
from ltocompat.scan.parallel import OnError
from ltocompat.scan.progress import Progress, reporter
from ltocompat.scan.walk import ScanSettings


def require(
    *paths: str | os.PathLike[str],
    trial_link: bool = False,
    install_missing: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    progress: Callable[[Progress], None] | None = None,
    on_error: OnError | None = None,
) -> Iterator[Required]:
    """Say what every file at these paths asks of drivers, GPUs and nvJitLinks.

    Args:
        paths: files, folders, places, or ``-`` for standard input.
        trial_link: narrow sets of makers by asking nvJitLinks which of them first takes the code.
        install_missing: install nvJitLinks that are needed and not at hand.
        limits: what reading one file may cost.
        progress: called as files are read.
        on_error: gets what goes wrong with one of the paths; None: it is raised.

    Raises:
        UnreadableInput: a path can't be opened.
        UsageError: nothing lies at a place.
        Missing: an nvJitLink that must be asked is not at hand.
    """
    settings = ScanSettings(limits=limits, progress=reporter(progress))
    with ExitStack() as stack:
        narrow = None
        if trial_link:
            from ltocompat.targets.nvjitlink import obtain
            from ltocompat.trial.narrow_makers import MakerNarrower

            ask = functools.partial(obtain, install_missing=install_missing)
            narrow = stack.enter_context(MakerNarrower(ask)).narrow
        for summary in summaries(paths, ScanOptions(settings, narrow=narrow), on_error):
            yield required(summary)

"""Ask linkers and drivers what they do with device code, as the options of a command say."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from ltocompat.commands.options import AuditOptions, CheckOptions, InspectOptions, SummaryOptions
from ltocompat.model.arch import Release
from ltocompat.model.target import Target

if TYPE_CHECKING:
    from ltocompat.trial.module_trial import Tries
    from ltocompat.trial.narrow_makers import MakerNarrower
    from ltocompat.trial.trial_run import TrialRun
    from ltocompat.trial.try_links import LinkTrial, OneLinkTrial


class Trials(ExitStack):
    """The linkers and drivers that a command asks; their processes end with it.

    Args:
        options: of the command.
    """

    def __init__(
        self, options: CheckOptions | AuditOptions | SummaryOptions | InspectOptions
    ) -> None:
        super().__init__()
        self._options = options
        self._asked: list[Tries] = []

    @functools.cached_property
    def _run(self) -> TrialRun:
        # Imported here, as all below: most commands ask nobody.
        from ltocompat.trial.trial_run import TrialRun

        return TrialRun.of(self._options.limits, self._options.progress)

    def ask_linkers(
        self, targets: Sequence[Target], only: Collection[Release] | None = None
    ) -> LinkTrial:
        """Ask the nvJitLinks that targets name about each file; of them those in ``only``."""
        from ltocompat.trial.cached_linker import TrialCache
        from ltocompat.trial.try_links import LinkTrial

        options = self._options
        cached = isinstance(options, CheckOptions | AuditOptions) and options.cache
        trial = LinkTrial(
            targets,
            install_missing=options.install_linkers,
            cache=TrialCache.of() if cached else None,
            only=only,
            trial_run=self._run,
        )
        self._asked.append(self.enter_context(trial).for_file)
        return trial

    def ask_linkers_once(self, targets: Sequence[Target]) -> OneLinkTrial:
        """Ask the nvJitLinks that targets name about all files together."""
        from ltocompat.trial.try_links import OneLinkTrial

        install = self._options.install_linkers
        return OneLinkTrial(targets, install_missing=install, trial_run=self._run)

    def ask_driver(self, machine: Target) -> None:
        """Ask the driver of this machine, which is a target."""
        from ltocompat.trial.try_loads import LoadTrial

        self._asked.append(self.enter_context(LoadTrial(machine.name, self._run)).for_file)

    @property
    def tries(self) -> Tries | None:
        """Asks all of them about a file; None where nobody is asked."""
        if not self._asked:
            return None
        from ltocompat.trial.module_trial import all_of

        return all_of(self._asked)

    def narrower(self) -> MakerNarrower:
        """Asks nvJitLinks which of them first takes LTO-IR, which tells who made it."""
        from ltocompat.targets.linkers import obtain
        from ltocompat.trial.narrow_makers import MakerNarrower

        ask = functools.partial(obtain, install_missing=self._options.install_linkers)
        return self.enter_context(MakerNarrower(ask, self._run))

"""Ask linkers and drivers what they do with device code, as the options of a command say."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ltocompat.commands.options import AuditOptions, CheckOptions, InspectOptions, SummaryOptions
from ltocompat.model.arch import Release
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.failure import Failure
from ltocompat.model.target import Target
from ltocompat.model.trial_answer import AUTO
from ltocompat.model.trial_answer import Trials as Answers
from ltocompat.model.verdict import Route, Verdict

if TYPE_CHECKING:
    from ltocompat.commands.read_artifacts import ScanOptions, Summaries
    from ltocompat.trial.link_job import JobLinkers
    from ltocompat.trial.module_trial import Tries
    from ltocompat.trial.narrow_makers import MakerNarrower
    from ltocompat.trial.trial_run import TrialRun
    from ltocompat.trial.try_links import LinkTrial


class Trials(ExitStack):
    """The linkers and drivers that a command tries; their processes end with the command.

    Args:
        options: the options of the command.
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

    def _linkers(self, *, only_at_hand: bool = False) -> JobLinkers:
        from ltocompat.trial.link_job import JobLinkers

        return JobLinkers(self._options.install_linkers, self._run, only_at_hand)

    def ask_linkers(
        self, targets: Sequence[Target], only: Collection[Release] | None = None
    ) -> LinkTrial:
        """Try each file with the nvJitLinks that targets name, as far as they are in ``only``."""
        from ltocompat.trial.cached_linker import TrialCache
        from ltocompat.trial.try_links import LinkTrial

        cached = isinstance(self._options, CheckOptions | AuditOptions) and self._options.cache
        cache = TrialCache.of() if cached else None
        trial = LinkTrial(targets, self._linkers(), cache=cache, only=only)
        self._asked.append(self.enter_context(trial).for_file)
        return trial

    def settled(
        self,
        found: Summaries,
        targets: Sequence[Target],
        read: ScanOptions,
        route: Route | None = None,
    ) -> Summaries:
        """Yield summaries; if a verdict is unknown, with the answers of installed linkers.

        Args:
            found: summaries of files.
            targets: the deploy targets.
            read: the options with which the files were read.
            route: the route that is checked; None for both.
        """
        from ltocompat.commands.read_artifacts import summaries
        from ltocompat.trial.module_trial import all_of
        from ltocompat.trial.try_links import LinkTrial

        for summary in found:
            if isinstance(summary, Failure) or not (open_ := unknown_on(summary, targets, route)):
                yield summary
                continue
            with LinkTrial(open_, self._linkers(only_at_hand=True)) as trial:
                again = replace(read, tries=all_of([*self._asked, trial.for_file]))
                answered = list(summaries([summary.path], again))
            asked = [each for each in answered if isinstance(each, ArtifactSummary)]
            yield asked[0] if len(answered) == len(asked) == 1 else summary

    def answers_on_link(
        self, whole: ArtifactSummary, read: ScanOptions, texts: Sequence[str], route: Route | None
    ) -> Answers:
        """Return linkers' answers to one link; ``auto``: only if needed, from installed ones."""
        from ltocompat.trial.try_single_link import try_single_link

        at_hand, targets = self._options.trial_link == AUTO, read.targets or ()
        asked = unknown_on(whole, targets, route) if at_hand else targets
        if not asked:
            return {}
        linkers = self._linkers(only_at_hand=at_hand)
        return try_single_link(texts, asked, linkers, read.settings)

    def ask_driver(self, machine: Target) -> None:
        """Try the driver of this machine, which is a target."""
        from ltocompat.trial.try_loads import LoadTrial

        self._asked.append(self.enter_context(LoadTrial(machine.name, self._run)).for_file)

    @property
    def tries(self) -> Tries | None:
        """Tries all of them with a file; None if there is none."""
        if not self._asked:
            return None
        from ltocompat.trial.module_trial import all_of

        return all_of(self._asked)

    def narrower(self) -> MakerNarrower:
        """Finds the first nvJitLink that accepts LTO-IR, which shows its producer."""
        from ltocompat.targets.linkers import obtain
        from ltocompat.trial.narrow_makers import MakerNarrower

        install, report = self._options.install_linkers, self._run.progress
        ask = functools.partial(obtain, install_missing=install, report=report)
        return self.enter_context(MakerNarrower(ask, self._run))


def unknown_on(
    summary: ArtifactSummary, targets: Sequence[Target], route: Route | None = None
) -> list[Target]:
    """Return targets, each with the GPUs for which a linker would settle unknown verdicts."""
    from ltocompat.rules.engine.engine import Engine
    from ltocompat.rules.engine.judge_artifact import ArtifactJudge

    artifact, found = ArtifactJudge(summary, Engine(), advises=False), []
    for target in targets:
        gpus = [
            result.gpu
            for result in artifact.results(target, route)
            if result.verdict is Verdict.UNKNOWN
            and result.gpu is not None
            and any(finding.decided_by_trial for finding in result.findings)
        ]
        if gpus:
            found.append(replace(target, gpus=tuple(dict.fromkeys(gpus))))
    return found

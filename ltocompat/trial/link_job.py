"""Links that are tried: each linker with what it links for, and how the linkers are found."""

from __future__ import annotations

from contextlib import suppress

from msgspec import Struct, field

from ltocompat.model.arch import Release, SmArch
from ltocompat.model.errors import Missing
from ltocompat.model.signature import ModuleSignature
from ltocompat.model.trial_answer import TrialKey, link_key
from ltocompat.rules.link_selection import pick_for_linker
from ltocompat.rules.selection import Pick
from ltocompat.targets.linkers import Linker, Tool, obtain, resolve
from ltocompat.trial.trial_run import TrialRun


class LinkJob(Struct, frozen=True):
    """A linker and what it links for."""

    tool: Tool
    release: Release
    arch: SmArch
    lto: bool = True

    @property
    def offline(self) -> bool:
        """Return whether nvlink links it."""
        return self.tool is Tool.NVLINK

    @property
    def key(self) -> TrialKey:
        """The key of its answers."""
        return link_key(self.release, self.arch, offline=self.offline, lto=self.lto)

    def pick(self, signature: ModuleSignature) -> Pick:
        """The images that the linker uses."""
        return pick_for_linker(signature, self.arch, self.release, lto=self.lto)


class JobLinkers(Struct, frozen=True):
    """Finds the linkers of jobs.

    Args:
        install_missing: install those that are missing.
        trial_run: what all trials of this run may cost.
        only_at_hand: use those alone that are at hand, or can be installed.
    """

    install_missing: bool
    trial_run: TrialRun = field(default_factory=TrialRun)
    only_at_hand: bool = False

    def may_ask(self, job: LinkJob) -> bool:
        """Return whether its linker is used."""
        if self.install_missing or not self.only_at_hand:
            return True
        return linker_at_hand(job.tool, job.release) is not None

    def linker(self, job: LinkJob) -> Linker:
        """Return its linker.

        Raises:
            Missing: it is missing, and is not to be installed or can't be.
        """
        report = self.trial_run.progress
        return obtain(
            str(job.release), install_missing=self.install_missing, tool=job.tool, report=report
        )


def linker_at_hand(tool: Tool, release: Release) -> Linker | None:
    """Return a linker that is installed; None if there is none of this release."""
    with suppress(Missing):
        return resolve(str(release), tool=tool)
    return None


def link_options(arch: SmArch, *, lto: bool) -> tuple[str, ...]:
    """Return the options of a linker for a target."""
    return (f"-arch={arch}", *(("-lto",) if lto else ()))

"""The trial of one link (``--together``): all inputs are handed to each linker at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from ltocompat.model.arch import Release, SmArch
from ltocompat.model.image import PRELINKED_SECTIONS, ImageKind
from ltocompat.model.signature import ModuleSignature, module_signature
from ltocompat.model.target import Target
from ltocompat.model.trial_answer import TrialKey, TrialOutcome, Trials, link_key
from ltocompat.model.verdict import Route
from ltocompat.rules.engine.ways import possible_ways
from ltocompat.rules.selection import Missed, Pick, pick_for_linker
from ltocompat.scan.walk import Modules
from ltocompat.targets.linkers import Tool, obtain
from ltocompat.trial import Answer, LinkOutcome, Pool, Request, TrialInput, explain
from ltocompat.trial.module_trial import TryModules
from ltocompat.trial.try_links import inputs_of


@dataclass(frozen=True, slots=True)
class _Part:
    """A module that goes into the link, as the linker gets it."""

    signature: ModuleSignature
    inputs: tuple[TrialInput, ...]


class OneLinkTrial:
    """Gathers the inputs of one link as files are read, and asks when all of them are there.

    Args:
        targets: whose linkers are asked, for their GPUs; of a range every release.
        install_missing: install those that are not at hand.
    """

    def __init__(self, targets: Sequence[Target], *, install_missing: bool) -> None:
        self._targets = tuple(targets)
        self._install = install_missing
        self._parts: list[_Part] = []

    def for_file(self) -> TryModules:
        """Keeps what a linker gets of a file; the answers come when all files are read."""
        return self._gather

    def _gather(self, modules: Modules) -> list[Trials]:
        for stored, module in modules:
            # Whether a device link has used it shows when its file was read to the end.
            waiting = module.section in PRELINKED_SECTIONS
            signature = replace(module_signature(module), needs_device_link=waiting)
            if Route.LINK in possible_ways(signature):
                self._parts.append(_Part(signature, inputs_of(stored)))
        return [{} for _ in modules]

    def answers(self) -> Trials:
        """What each linker does with all inputs: nvlink with objects, where a target names one.

        None of a link that can't be tried: bytes of an input can't be had, or it is final SASS,
        which newer linkers leave out without a word.

        Raises:
            Missing: a linker is not at hand.
            TrialImpossible: it can't be loaded.
        """
        found: dict[TrialKey, TrialOutcome] = {}
        if not self._parts or not all(part.inputs for part in self._parts):
            return found
        for tool, release, arch in dict.fromkeys(self._goals()):
            picks = [pick_for_linker(part.signature, arch, release) for part in self._parts]
            if all(pick.missed is not Missed.FINAL for pick in picks):
                outcome = self._ask(tool, release, arch, picks)
                if outcome is not None:
                    found[link_key(release, arch, offline=tool is Tool.NVLINK)] = outcome
        return found

    def _goals(self) -> Iterator[tuple[Tool, Release, SmArch]]:
        waiting = any(part.signature.needs_device_link for part in self._parts)
        for target in self._targets:
            offline = waiting and target.nvlink is not None
            tool = Tool.NVLINK if offline else Tool.NVJITLINK
            known = target.nvlink if offline else target.nvjitlink
            for release in known.values if known else ():
                yield from ((tool, release, gpu.arch) for gpu in target.gpus)

    def _ask(
        self, tool: Tool, release: Release, arch: SmArch, picks: Sequence[Pick]
    ) -> TrialOutcome | None:
        """What one linker does; None where its answer says nothing."""
        linker = obtain(str(release), install_missing=self._install, tool=tool)
        kinds = {image.kind for pick in picks for image in pick.images}
        taken = zip(self._parts, picks, strict=True)
        # nvlink leaves an object out that has nothing for its target, and refuses a fatbin.
        offline = tool is Tool.NVLINK
        inputs = tuple(i for part, pick in taken if pick.images or not offline for i in part.inputs)
        options = (f"-arch={arch}", *(("-lto",) if ImageKind.LTOIR in kinds else ()))
        with Pool(linker.path, workers=1, tool=tool) as pool:
            (answer,) = pool.run([Request(inputs, options)])
        if offline and _misses_device_runtime(answer, kinds):
            return None
        return _outcome(str(linker), answer, tool)


def _misses_device_runtime(answer: Answer, kinds: Collection[ImageKind]) -> bool:
    """Whether names may be missing only because nvlink was not given libcudadevrt.

    Builds give it; without it nvlink drops functions of LTO-IR that only other code calls.
    """
    if answer.outcome is not LinkOutcome.UNRESOLVED:
        return False
    mixed = ImageKind.LTOIR in kinds and len(kinds) > 1
    return mixed or any(name.startswith("cuda") for name in answer.unresolved)


def _outcome(who: str, answer: Answer, tool: Tool) -> TrialOutcome:
    """What an answer says of the link as a whole, of which nothing may be left open."""
    # nvlink may have left out all that has kernels: without any, its success proves nothing.
    empty = (LinkOutcome.ACCEPTED, *((LinkOutcome.COMPILED,) if tool is Tool.NVLINK else ()))
    if answer.outcome in (*empty, LinkOutcome.COMPILED, LinkOutcome.LINKED):
        return TrialOutcome(who, "accepted" if answer.outcome in empty else "linked")
    if answer.outcome is LinkOutcome.CRASHED:
        return TrialOutcome(who, "crashed", None, str(answer.signal or answer.exit_status))
    if answer.outcome is LinkOutcome.TIMED_OUT:
        return TrialOutcome(who, "timed out", None, "it used up its time limit")
    reason = explain(answer.log, tool.label)
    if reason is not None:
        return TrialOutcome(who, "refused", reason.cause, reason.sentence)
    lines = (line.strip() for line in answer.log.splitlines() if line.strip())
    first = next(lines, "it gave no reason")
    return TrialOutcome(who, "refused", None, f"{answer.code_name or answer.code}: {first}")

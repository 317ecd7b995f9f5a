"""The trial of one link (``--together``): all inputs are handed to each nvJitLink at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ltocompat.model.arch import Release, SmArch
from ltocompat.model.image import ImageKind
from ltocompat.model.signature import ModuleSignature, module_signature
from ltocompat.model.target import Target
from ltocompat.model.trial_answer import TrialKey, TrialOutcome, Trials, link_key
from ltocompat.model.verdict import Route
from ltocompat.rules.engine.judge_module import possible_ways
from ltocompat.rules.selection import Missed, Pick, pick_for_linker
from ltocompat.scan.walk import Modules
from ltocompat.targets.linkers import obtain
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
        targets: whose nvJitLinks are asked, for their GPUs; of a range every release.
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
            signature = module_signature(module)
            if Route.LINK in possible_ways(signature):
                self._parts.append(_Part(signature, inputs_of(stored)))
        return [{} for _ in modules]

    def answers(self) -> Trials:
        """What each nvJitLink does with all inputs.

        None of a link that can't be tried: bytes of an input can't be had, or it is final SASS,
        which newer linkers leave out without a word.

        Raises:
            Missing: an nvJitLink is not at hand.
            TrialImpossible: it can't be loaded.
        """
        found: dict[TrialKey, TrialOutcome] = {}
        if not self._parts or not all(part.inputs for part in self._parts):
            return found
        for release, arch in dict.fromkeys(self._goals()):
            picks = [pick_for_linker(part.signature, arch, release) for part in self._parts]
            if all(pick.missed is not Missed.FINAL for pick in picks):
                found[link_key(release, arch)] = self._ask(release, arch, picks)
        return found

    def _goals(self) -> Iterator[tuple[Release, SmArch]]:
        waiting = any(part.signature.needs_device_link for part in self._parts)
        for target in self._targets:
            if target.nvjitlink is None or (waiting and target.nvlink is not None):
                continue  # the objects are for nvlink
            for release in target.nvjitlink.values:
                yield from ((release, gpu.arch) for gpu in target.gpus)

    def _ask(self, release: Release, arch: SmArch, picks: Sequence[Pick]) -> TrialOutcome:
        library = obtain(str(release), install_missing=self._install)
        lto = any(image.kind is ImageKind.LTOIR for pick in picks for image in pick.images)
        inputs = tuple(given for part in self._parts for given in part.inputs)
        options = (f"-arch={arch}", *(("-lto",) if lto else ()))
        with Pool(library.path, workers=1) as pool:
            (answer,) = pool.run([Request(inputs, options)])
        return _outcome(f"nvJitLink {library.version}", answer)


def _outcome(who: str, answer: Answer) -> TrialOutcome:
    """What an answer says of the link as a whole, of which nothing may be left open."""
    if answer.outcome is LinkOutcome.ACCEPTED:
        return TrialOutcome(who, "accepted")
    if answer.outcome in (LinkOutcome.COMPILED, LinkOutcome.LINKED):
        return TrialOutcome(who, "linked")
    if answer.outcome is LinkOutcome.CRASHED:
        return TrialOutcome(who, "crashed", None, str(answer.signal or answer.exit_status))
    if answer.outcome is LinkOutcome.TIMED_OUT:
        return TrialOutcome(who, "timed out", None, "it used up its time limit")
    reason = explain(answer.log)
    if reason is not None:
        return TrialOutcome(who, "refused", reason.cause, reason.sentence)
    lines = (line.strip() for line in answer.log.splitlines() if line.strip())
    first = next(lines, "it gave no reason")
    return TrialOutcome(who, "refused", None, f"{answer.code_name or answer.code}: {first}")

"""Trials of one link of all inputs, as ``link`` gives them to a linker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from ltocompat.model.arch import ArchForm
from ltocompat.model.image import ImageKind
from ltocompat.model.target import Target
from ltocompat.model.trial_answer import TrialKey, TrialOutcome, Trials
from ltocompat.rules.engine.implied_gpus import gpus_to_judge
from ltocompat.rules.selection import SelectionFailure
from ltocompat.scan.walk import ScanSettings
from ltocompat.targets.linkers import Tool
from ltocompat.trial.cached_linker import outcome_of
from ltocompat.trial.link_inputs import LinkInput, SingleLink, gather_all
from ltocompat.trial.link_job import JobLinkers, LinkJob, link_options
from ltocompat.trial.link_pool import Pool
from ltocompat.trial.trial_run import Watch
from ltocompat.trial.values import Answer, LinkOutcome, Request

_ONE_LINK = "one link"
# Then its kernels can't be counted, which nvlink 13.0 to 13.4 may have lost.
ALONE_REFUSED = "its output may lack kernels of the LTO-IR, which it refuses to link alone"


def try_single_link(
    texts: Sequence[str], targets: Sequence[Target], linkers: JobLinkers, settings: ScanSettings
) -> Trials:
    """Ask linkers about one link of all inputs; nvlink, if a target names one, with objects.

    No linker is tried if a part of the inputs can't be read, or with final SASS, which newer
    linkers leave out silently.

    Args:
        texts: the inputs, as for ``link``.
        targets: whose linkers are asked, for their GPUs; of a range every release.
        linkers: finds them.
        settings: settings for reading the inputs.

    Raises:
        Missing: a linker is missing.
        TrialImpossible: it can't be loaded.
        UnreadableInput: a path can't be opened.
    """
    inputs = gather_all(texts, settings)
    found: dict[TrialKey, TrialOutcome] = {}
    jobs = dict.fromkeys(_jobs(targets, inputs)) if inputs else ()
    for job in filter(linkers.may_ask, jobs):
        linked = (each.signature for input_ in inputs for each in input_.modules)
        final = any(job.pick(each).missed is SelectionFailure.FINAL for each in linked)
        if not final and (outcome := _ask(job, inputs, linkers)) is not None:
            found[job.key] = outcome
    return found


def _jobs(targets: Iterable[Target], inputs: Sequence[LinkInput]) -> Iterator[LinkJob]:
    waiting = any(m.signature.needs_device_link for each in inputs for m in each.modules)
    for target in targets:
        known, offline = target.linker_of(objects=waiting)
        tool = Tool.NVLINK if offline else Tool.NVJITLINK
        for release in known.values if known else ():
            for gpu in gpus_to_judge(target, single_link=True):
                if target.gpus or any(each.read(gpu.arch, release) for each in inputs):
                    yield LinkJob(tool, release, gpu.arch, target.lto)


def _ask(job: LinkJob, inputs: Sequence[LinkInput], linkers: JobLinkers) -> TrialOutcome | None:
    """Ask one linker; None if its answer says nothing."""
    linker, trial_run = linkers.linker(job), linkers.trial_run
    link = SingleLink(inputs, job.arch, job.release, job.lto)
    link = replace(link, lto=job.lto and ImageKind.LTOIR in link.kinds)
    size = sum(len(each.trial.data) for each in inputs)
    watch = trial_run.watch(f"{inputs[0].place} ..: {linker}", size)
    with Pool(linker.path, workers=1, tool=job.tool, trial_run=trial_run) as pool:
        answer = link_all(pool, link, watch=watch)
        if pool.lacks_device_runtime and _misses_device_runtime(answer):
            return None
    return outcome_of(linker, answer, whole=True)


def link_all(
    pool: Pool, link: SingleLink, *, keep_output: bool = False, watch: Watch | None = None
) -> Answer:
    """Link all inputs at once; a missing kernel in the output makes the answer ``lost``.

    LTO-IR shows no names. If a linker can't see some of it, all of it is linked again, region by
    region, and the kernels of both outputs are counted; if nvlink may lose it, it is linked by
    itself.

    Args:
        pool: the linker's processes.
        link: the link.
        keep_output: True to return the output in the answer.
        watch: called with the bytes done.
    """
    options = link_options(replace(link.arch, form=ArchForm.REAL), lto=link.lto)
    # Without its device runtime nvlink refuses LTO-IR of objects, where nothing else is linked, and
    # takes it out of fatbins, unless another input has nothing for the target, which builds leave
    # out. With PTX or SASS it takes the objects, and loses LTO-IR of fatbins.
    apart = link.lto and pool.lacks_device_runtime and link.kinds == {ImageKind.LTOIR}
    kernels = link.kernels()
    request = Request(
        tuple(link.regions if apart else (each.trial for each in link.inputs)),
        options,
        keep_output=keep_output,
        file=_ONE_LINK,
        kernels=kernels,
    )
    (answer,) = pool.run([request], watch)
    if not link.lto or answer.failed or answer.outcome is LinkOutcome.UNRESOLVED:
        return answer
    shown, hidden = 0, link.unread_ltoir()
    again = (*link.regions, *hidden)
    if not hidden and pool.tool is Tool.NVLINK:
        shown, again = len(kernels), link.ltoir_apart()
        hidden = again
    if not hidden:
        return answer
    (read,) = pool.run([Request(again, options, file=_ONE_LINK)])
    if read.outcome is LinkOutcome.REFUSED:
        # It may be lost, or have no kernel that could be.
        return replace(answer, outcome=LinkOutcome.COMPILED, note=ALONE_REFUSED)
    # Only what a kernel calls is missed.
    most = read.kernels_in_output or int(read.outcome is LinkOutcome.UNRESOLVED)
    if shown + most <= (answer.kernels_in_output or 0) or not most:
        return answer
    lost = tuple(f"of {each.name}" for each in hidden)
    return replace(answer, outcome=LinkOutcome.LOST, lost=(*answer.lost, *lost))


def _misses_device_runtime(answer: Answer) -> bool:
    """Whether nvlink may refuse a link only because it has no libcudadevrt, as builds have.

    All else is the same without it: 14 mixtures of LTO-IR, PTX and SASS with nvlink 13.0 to 13.5.
    """
    return "expected libcudadevrt object" in answer.log or any(
        name.startswith("cuda") for name in answer.unresolved
    )

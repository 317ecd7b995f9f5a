"""Trial links of modules with the linkers of targets, while the modules' bytes are at hand.

Adding a fragment tells whether the linker takes its version, architecture and compression, and
costs a tenth of a millisecond; linking it costs up to a tenth of a second. So every module is
added, and those are linked of which the rules can't say whether their code goes: LTO-IR for one
architecture (``a``, ``f``) on its way to another; besides the first of every signature in a file.
nvlink, which takes what needs a device link, does nothing but link: it is asked about those alone.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, suppress

from msgspec import Struct, field
from msgspec.structs import replace

from ltocompat.files.fatbin import StoredModule
from ltocompat.model.arch import ArchForm, Release, SmArch
from ltocompat.model.errors import Malformed, Missing
from ltocompat.model.image import PRELINKED_SECTIONS, ImageKind, Module
from ltocompat.model.signature import ModuleSignature, module_signature
from ltocompat.model.target import Gpu, Target
from ltocompat.model.trial_answer import TrialKey, TrialOutcome, Trials, link_key
from ltocompat.model.verdict import Route, Verdict
from ltocompat.rules.catalogue import requirements_of
from ltocompat.rules.constraints import FixedVerdict, LinkerOfMajor
from ltocompat.rules.engine.implied_gpus import gpus_to_judge
from ltocompat.rules.engine.routes import routes
from ltocompat.rules.link_selection import pick_for_linker
from ltocompat.rules.linker_traits import traits_of
from ltocompat.rules.rule import Component, Requirement, Subject
from ltocompat.rules.selection import Pick, SelectionFailure
from ltocompat.scan.extract_bytes import cut
from ltocompat.scan.walk import Modules, ScanSettings
from ltocompat.targets.linkers import Linker, Tool, obtain, resolve
from ltocompat.trial.cached_linker import LEFT_OUT, CachedLinker, TrialCache, outcome_of
from ltocompat.trial.link_inputs import (
    LinkInput,
    SingleLink,
    gather_all,
    trial_input,
)
from ltocompat.trial.link_pool import Pool
from ltocompat.trial.module_trial import TryModules
from ltocompat.trial.trial_run import TrialRun, Watch
from ltocompat.trial.values import Answer, InputKind, LinkOutcome, Request, TrialInput

_ONE_LINK = "one link"
# NCCL's 10 MB of LTO-IR takes minutes; what the rules are sure of need not be linked for that.
_SMALL = 1 << 20


class _LinkJob(Struct, frozen=True):
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


# A linked signature: its innermost file in the current file, and the target.
_Linked = tuple[tuple[str, ...], ModuleSignature, _LinkJob]


class LinkTrial(ExitStack):
    """Asks the linkers of targets; use it as a context manager, which ends their processes.

    Args:
        targets: whose linkers are asked, for their GPUs; of a range every release.
        install_missing: install the missing linkers.
        cache: answers of earlier runs; None to ask everything anew.
        only: ask none but these releases; None: all.
        trial_run: what all trials of this run may cost.
        at_hand: ask those alone that are at hand, or can be installed.
    """

    def __init__(
        self,
        targets: Sequence[Target],
        *,
        install_missing: bool,
        cache: TrialCache | None = None,
        only: Collection[Release] | None = None,
        trial_run: TrialRun | None = None,
        at_hand: bool = False,
    ) -> None:
        super().__init__()
        self._trial_run = trial_run or TrialRun()
        goals = dict.fromkeys(_goals(targets))
        self._install = install_missing
        self._goals = tuple(
            goal
            for goal in goals
            if (only is None or goal.release in only)
            and (not at_hand or _at_hand(goal.tool, goal.release) or install_missing)
        )
        self._cache = cache
        # A library has thousands of modules and dozens of signatures.
        self._plan = functools.lru_cache(maxsize=8192)(_plan)
        self._linkers: dict[tuple[Tool, Release], CachedLinker] = {}
        self._version = functools.cache(_version)

    def identity(self) -> str:
        """Return the identity of the trials: each linker version with its architecture."""
        goals = ((self._version(goal.tool, goal.release), goal.arch) for goal in self._goals)
        return ", ".join(f"{version} {arch}" for version, arch in goals)

    def for_file(self) -> TryModules:
        """Return a trial of the modules of one file, whose answers depend on no other file.

        It returns the linkers' answers to each module, none for modules that are not linked, and
        raises ``Missing`` if a linker is missing.
        """
        return functools.partial(self._try_links, set())

    def _try_links(self, linked: set[_Linked], modules: Modules) -> list[Trials]:
        found: list[dict[TrialKey, TrialOutcome]] = [{} for _ in modules]
        candidates = [
            (number, _Candidate(stored, module.place.members, signature))
            for number, (stored, module) in enumerate(modules)
            if (signature := _linked_signature(module)) is not None
        ]
        for goal in self._goals:
            rows = [
                (number, request)
                for number, candidate in candidates
                if (request := self._request(candidate, goal, linked)) is not None
            ]
            if not rows:
                continue
            answers = self._linker(goal).ask([request for _, request in rows])
            for (number, _), answer in zip(rows, answers, strict=True):
                if answer.outcome != LEFT_OUT:
                    found[number][goal.key] = answer
        return list(found)

    def _linker(self, goal: _LinkJob) -> CachedLinker:
        key = goal.tool, goal.release
        if key not in self._linkers:
            linker = obtain(
                str(goal.release),
                install_missing=self._install,
                tool=goal.tool,
                report=self._trial_run.progress,
            )
            self._linkers[key] = CachedLinker(linker, self._cache, self, self._trial_run)
        return self._linkers[key]

    def _request(
        self, candidate: _Candidate, goal: _LinkJob, linked: set[_Linked]
    ) -> Request | None:
        plan = self._plan(candidate.signature, goal)
        if plan is None or not (inputs := candidate.inputs):
            return None
        small = sum(len(input_.data) for input_ in inputs) <= _SMALL
        alike = (candidate.members, candidate.signature, goal)
        complete = plan.code_decides or (small and alike not in linked)
        if goal.offline and not complete:
            return None
        options = plan.options
        if complete:
            linked.add(alike)
            # Else a fragment that has no kernel would not be compiled at all. All that is in it is
            # compiled then, which takes minutes of a library of functions (libmathdx 0.4.1), so
            # that it is done where the rules leave something open.
            if plan.compiled and self._linker(goal).compiles_relocatable:
                options += ("-r",)
        return Request(inputs, options, complete=complete, file=candidate.stored.place.path)


class _Candidate(Struct, frozen=True, dict=True):
    """A module that may be linked, whose bytes are read once for all linkers and targets.

    Attributes:
        stored: its bytes.
        members: the innermost file that it lies in.
        signature: the module as rules see it.
    """

    stored: StoredModule
    members: tuple[str, ...]
    signature: ModuleSignature

    @functools.cached_property
    def inputs(self) -> tuple[TrialInput, ...]:
        """Its fatbin region or bare image; nothing if its bytes can't be read."""
        name = str(self.stored.place)
        if self.stored.region is not None:
            return (TrialInput(name, InputKind.FATBIN, self.stored.region.all()),)
        try:
            given = [trial_input(name, cut(image)) for image in self.stored.images]
        except Malformed:
            return ()
        inputs = tuple(filter(None, given))
        return inputs if len(inputs) == len(given) else ()


class _Plan(Struct, frozen=True):
    """How modules of a signature are tried with a linker.

    Attributes:
        options: of the linker.
        code_decides: the rules can't say whether the code goes, which adding doesn't show.
        compiled: all of it is to be compiled, since the rules leave something open.
    """

    options: tuple[str, ...]
    code_decides: bool
    compiled: bool


def _linked_signature(module: Module) -> ModuleSignature | None:
    """The signature of a module that may be linked; None of others."""
    # Whether a device link has used it shows when its file was read to the end: what lies where
    # relocatable code does is asked about.
    waiting = module.section in PRELINKED_SECTIONS
    signature = replace(module_signature(module), needs_device_link=waiting)
    return signature if Route.LINK in routes(signature) else None


def _plan(signature: ModuleSignature, goal: _LinkJob) -> _Plan | None:
    """How such modules are tried; None if nothing of them is linked."""
    pick = goal.pick(signature)
    if not pick.images or (goal.offline and not signature.needs_device_link):
        return None
    lto = goal.lto and any(image.kind is ImageKind.LTOIR for image in pick.images)
    subject = Subject(
        signature, Route.LINK, Gpu("", goal.arch), pick.images, None, traits_of(goal.release)
    )
    asked = requirements_of(subject) if lto else ()
    code_decides = any(_only_a_link_decides(requirement, goal.release) for requirement in asked)
    # Else the rules may not know what this linker does.
    compiled = code_decides or any(
        each.constraint.judge(goal.release) is Verdict.UNKNOWN
        for each in asked
        if each.component in (Component.LINKER, Component.NONE)
    )
    return _Plan(_options(goal.arch, lto=lto), code_decides, compiled)


def _goals(targets: Sequence[Target]) -> Iterator[_LinkJob]:
    for target in targets:
        for tool, known in ((Tool.NVJITLINK, target.nvjitlink), (Tool.NVLINK, target.nvlink)):
            for release in known.values if known else ():
                for gpu in gpus_to_judge(target):
                    yield _LinkJob(tool, release, gpu.arch, target.lto)


def _options(arch: SmArch, *, lto: bool) -> tuple[str, ...]:
    return (f"-arch={arch}", *(("-lto",) if lto else ()))


def _only_a_link_decides(requirement: Requirement, linker: Release) -> bool:
    """Return whether it is about code that adding doesn't show: instructions, or IR of CUDA 11."""
    constraint = requirement.constraint
    if isinstance(constraint, LinkerOfMajor):
        return constraint.judge(linker) is Verdict.FAIL
    return isinstance(constraint, FixedVerdict) and constraint.trial_decides


class OneLinkTrial(Struct):
    """Asks linkers about one link of all inputs, as ``link`` gives them to it.

    Args:
        targets: whose linkers are asked, for their GPUs; of a range every release.
        install_missing: install the missing linkers.
        trial_run: what all trials of this run may cost.
        at_hand: ask those alone that are at hand, or can be installed.
    """

    targets: Sequence[Target]
    install_missing: bool
    trial_run: TrialRun = field(default_factory=TrialRun)
    at_hand: bool = False

    def answers(self, texts: Sequence[str], settings: ScanSettings) -> Trials:
        """Try each linker with all inputs; nvlink, if a target names one, with objects.

        No linker is tried if a part of the inputs can't be read, or with final SASS, which newer
        linkers leave out silently.

        Args:
            texts: the inputs, as for ``link``.
            settings: settings for reading them.

        Raises:
            Missing: a linker is missing.
            TrialImpossible: it can't be loaded.
            UnreadableInput: a path can't be opened.
        """
        inputs = gather_all(texts, settings)
        found: dict[TrialKey, TrialOutcome] = {}
        for job in dict.fromkeys(self._goals(inputs)) if inputs else ():
            if self.at_hand and not (_at_hand(job.tool, job.release) or self.install_missing):
                continue
            linked = (each.signature for input_ in inputs for each in input_.modules)
            final = any(job.pick(each).missed is SelectionFailure.FINAL for each in linked)
            if not final and (outcome := self._ask(job, inputs)) is not None:
                found[job.key] = outcome
        return found

    def _goals(self, inputs: Sequence[LinkInput]) -> Iterator[_LinkJob]:
        waiting = any(m.signature.needs_device_link for each in inputs for m in each.modules)
        for target in self.targets:
            known, offline = target.linker_of(objects=waiting)
            tool = Tool.NVLINK if offline else Tool.NVJITLINK
            for release in known.values if known else ():
                for gpu in gpus_to_judge(target, single_link=True):
                    if target.gpus or any(each.read(gpu.arch, release) for each in inputs):
                        yield _LinkJob(tool, release, gpu.arch, target.lto)

    def _ask(self, job: _LinkJob, inputs: Sequence[LinkInput]) -> TrialOutcome | None:
        """Ask one linker; None if its answer says nothing."""
        linker = obtain(
            str(job.release),
            install_missing=self.install_missing,
            tool=job.tool,
            report=self.trial_run.progress,
        )
        link = SingleLink(inputs, job.arch, job.release, job.lto)
        link = replace(link, lto=job.lto and ImageKind.LTOIR in link.kinds)
        size = sum(len(each.trial.data) for each in inputs)
        watch = self.trial_run.watch(f"{inputs[0].place} ..: {linker}", size)
        with Pool(linker.path, workers=1, tool=job.tool, trial_run=self.trial_run) as pool:
            answer = link_all(pool, link, watch=watch)
            if pool.lacks_device_runtime and _misses_device_runtime(answer):
                return None
        return outcome_of(linker, answer, whole=True)


def _version(tool: Tool, release: Release) -> str:
    linker = _at_hand(tool, release)
    return f"{linker} {linker.machine}" if linker else f"no {tool.label} {release}"


def _at_hand(tool: Tool, release: Release) -> Linker | None:
    with suppress(Missing):
        return resolve(str(release), tool=tool)
    return None


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
    options = _options(replace(link.arch, form=ArchForm.REAL), lto=link.lto)
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

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
from contextlib import ExitStack

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.files.fatbin import StoredModule
from ltocompat.model.arch import Release
from ltocompat.model.errors import Malformed
from ltocompat.model.image import PRELINKED_SECTIONS, ImageKind, Module
from ltocompat.model.signature import ModuleSignature, module_signature
from ltocompat.model.target import Gpu, Target
from ltocompat.model.trial_answer import TrialKey, TrialOutcome, Trials
from ltocompat.model.verdict import Route, Verdict
from ltocompat.rules.catalogue import requirements_of
from ltocompat.rules.constraints import FixedVerdict, LinkerOfMajor
from ltocompat.rules.engine.implied_gpus import gpus_to_judge
from ltocompat.rules.engine.routes import routes
from ltocompat.rules.linker_traits import traits_of
from ltocompat.rules.rule import Component, Requirement, Subject
from ltocompat.scan.extract_bytes import cut
from ltocompat.scan.walk import Modules
from ltocompat.targets.linkers import Tool
from ltocompat.trial.cached_linker import LEFT_OUT, CachedLinker, TrialCache
from ltocompat.trial.link_inputs import trial_input
from ltocompat.trial.link_job import JobLinkers, LinkJob, link_options, linker_at_hand
from ltocompat.trial.module_trial import TryModules
from ltocompat.trial.values import InputKind, Request, TrialInput

# NCCL's 10 MB of LTO-IR takes minutes; what the rules are sure of need not be linked for that.
_SMALL = 1 << 20


# A linked signature: its innermost file in the current file, and the target.
_Linked = tuple[tuple[str, ...], ModuleSignature, LinkJob]


class LinkTrial(ExitStack):
    """Asks the linkers of targets; use it as a context manager, which ends their processes.

    Args:
        targets: whose linkers are asked, for their GPUs; of a range every release.
        linkers: finds them.
        cache: answers of earlier runs; None to ask everything anew.
        only: ask none but these releases; None: all.
    """

    def __init__(
        self,
        targets: Sequence[Target],
        linkers: JobLinkers,
        *,
        cache: TrialCache | None = None,
        only: Collection[Release] | None = None,
    ) -> None:
        super().__init__()
        self._linkers = linkers
        self._jobs = tuple(
            job
            for job in dict.fromkeys(_jobs(targets))
            if (only is None or job.release in only) and linkers.may_ask(job)
        )
        self._cache = cache
        # A library has thousands of modules and dozens of signatures.
        self._plan = functools.lru_cache(maxsize=8192)(_plan)
        self._asked: dict[tuple[Tool, Release], CachedLinker] = {}

    @functools.cached_property
    def identity(self) -> str:
        """The identity of the trials: each linker version with its architecture."""
        version = functools.cache(_version)
        return ", ".join(f"{version(job.tool, job.release)} {job.arch}" for job in self._jobs)

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
        for job in self._jobs:
            rows = [
                (number, request)
                for number, candidate in candidates
                if (request := self._request(candidate, job, linked)) is not None
            ]
            if not rows:
                continue
            answers = self._linker(job).ask([request for _, request in rows])
            for (number, _), answer in zip(rows, answers, strict=True):
                if answer.outcome != LEFT_OUT:
                    found[number][job.key] = answer
        return list(found)

    def _linker(self, job: LinkJob) -> CachedLinker:
        key = job.tool, job.release
        if key not in self._asked:
            linker, trial_run = self._linkers.linker(job), self._linkers.trial_run
            self._asked[key] = CachedLinker(linker, self._cache, self, trial_run)
        return self._asked[key]

    def _request(self, candidate: _Candidate, job: LinkJob, linked: set[_Linked]) -> Request | None:
        plan = self._plan(candidate.signature, job)
        if plan is None or not (inputs := candidate.inputs):
            return None
        small = sum(len(input_.data) for input_ in inputs) <= _SMALL
        alike = (candidate.members, candidate.signature, job)
        complete = plan.code_decides or (small and alike not in linked)
        if job.offline and not complete:
            return None
        options = plan.options
        if complete:
            linked.add(alike)
            # Else a fragment that has no kernel would not be compiled at all. All that is in it is
            # compiled then, which takes minutes of a library of functions (libmathdx 0.4.1), so
            # that it is done where the rules leave something open.
            if plan.compiled and self._linker(job).compiles_relocatable:
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


def _plan(signature: ModuleSignature, job: LinkJob) -> _Plan | None:
    """How such modules are tried; None if nothing of them is linked."""
    pick = job.pick(signature)
    if not pick.images or (job.offline and not signature.needs_device_link):
        return None
    lto = job.lto and any(image.kind is ImageKind.LTOIR for image in pick.images)
    subject = Subject(
        signature, Route.LINK, Gpu("", job.arch), pick.images, None, traits_of(job.release)
    )
    asked = requirements_of(subject) if lto else ()
    code_decides = any(_only_a_link_decides(requirement, job.release) for requirement in asked)
    # Else the rules may not know what this linker does.
    compiled = code_decides or any(
        each.constraint.judge(job.release) is Verdict.UNKNOWN
        for each in asked
        if each.component in (Component.LINKER, Component.NONE)
    )
    return _Plan(link_options(job.arch, lto=lto), code_decides, compiled)


def _jobs(targets: Sequence[Target]) -> Iterator[LinkJob]:
    for target in targets:
        for tool, known in ((Tool.NVJITLINK, target.nvjitlink), (Tool.NVLINK, target.nvlink)):
            for release in known.values if known else ():
                for gpu in gpus_to_judge(target):
                    yield LinkJob(tool, release, gpu.arch, target.lto)


def _only_a_link_decides(requirement: Requirement, linker: Release) -> bool:
    """Return whether it is about code that adding doesn't show: instructions, or IR of CUDA 11."""
    constraint = requirement.constraint
    if isinstance(constraint, LinkerOfMajor):
        return constraint.judge(linker) is Verdict.FAIL
    return isinstance(constraint, FixedVerdict) and constraint.trial_decides


def _version(tool: Tool, release: Release) -> str:
    linker = linker_at_hand(tool, release)
    return f"{linker} {linker.machine}" if linker else f"no {tool.label} {release}"

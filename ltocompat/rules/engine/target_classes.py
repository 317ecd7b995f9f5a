"""Classes of targets that no rule tells apart for an artifact: one of each is judged for all.

Of a few hundred pairs of a driver and an nvJitLink on two dozen GPUs, an artifact meets a few
dozen different answers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain

from msgspec import Struct

from ltocompat.model.arch import Release
from ltocompat.model.artifact_summary import ArtifactSummary, own_linker
from ltocompat.model.target import DriverVersion, Gpu
from ltocompat.model.trial_answer import link_key
from ltocompat.model.verdict import Route, Verdict
from ltocompat.rules.engine.engine import Engine
from ltocompat.rules.engine.evaluate import Values, verdict_on
from ltocompat.rules.engine.picked_code import PickedCode, without_concatenated
from ltocompat.rules.engine.routes import possible_routes, routes
from ltocompat.rules.linker_traits import LinkerTraits, traits_of
from ltocompat.rules.rule import OF_DRIVERS, Component, Constraint, Requirement
from ltocompat.rules.selection import SERVING, Selection


class _Picked(Struct, frozen=True):
    """The picked images of all modules for a GPU, and constraints that tell targets apart there.

    Attributes:
        codes: what is picked, each once.
        order: of each module the number of its code, on each route.
        misses: on some route modules have nothing for the GPU, and none serves it.
        of_drivers: what rules ask of a driver, each once.
        of_linkers: what they ask of a linker.
    """

    codes: tuple[PickedCode, ...]
    order: tuple[int, ...]
    misses: bool
    of_hosts: tuple[Requirement, ...]
    of_drivers: tuple[Constraint, ...]
    of_linkers: tuple[Constraint, ...]


class TargetClasses:
    """Classes of targets that have only a GPU, an nvJitLink, and perhaps a driver.

    Args:
        summary: the artifact.
        engine: the memory of judging.
    """

    def __init__(self, summary: ArtifactSummary, engine: Engine) -> None:
        self._engine = engine
        signatures = tuple(dict.fromkeys(group.signature for group in summary.groups))
        going = possible_routes if summary.single_link else routes
        self._loaded = [each for each in signatures if Route.LOAD in going(each)]
        old = map(without_concatenated, self._loaded)
        self._loaded_by_old_drivers = [left for left in old if left is not None]
        self._linked = [each for each in signatures if Route.LINK in going(each)]
        # Whether code after the first region of an object is lost is asked of the whole.
        hidden = any(each.behind_first for each in signatures)
        self._single_link = summary.single_link or hidden
        self._uneven = any(each.uneven for each in signatures)
        self._tried = {*summary.link_trials}.union(*(group.trials for group in summary.groups))
        self._own = own_linker(summary)
        self._summary = summary
        self._picked: dict[tuple[str, LinkerTraits | None], _Picked] = {}
        self._classes: dict[Hashable, int] = {}
        self._answers: dict[Hashable, int] = {}

    def of(self, gpu: Gpu, driver: DriverVersion | None, linker: Release) -> Hashable:
        """A key that two targets share only if equal rules give them equal verdicts.

        Args:
            gpu: the GPU.
            driver: the driver; None if the target names none.
            linker: the nvJitLink, which doesn't count if the artifact has its own.
        """
        used = self._own.value if self._own else linker
        if link_key(used, gpu.arch) in self._tried:  # the linker has answered for itself
            return (gpu.name, driver, used)
        traits = traits_of(used) if self._linked else None  # nothing of it meets a linker
        if (gpu.name, traits) not in self._picked:
            self._picked[gpu.name, traits] = self._pick(gpu, traits)
        picked = self._picked[gpu.name, traits]
        key = (
            gpu.name,
            # Rules of one link ask linkers themselves; else only what is picked does.
            used if self._single_link else traits,
            None if driver is None else tuple(each.judge(driver) for each in picked.of_drivers),
            tuple(each.judge(used) for each in picked.of_linkers),
        )
        if key not in self._classes:
            answers = self._all_answers(gpu, picked, driver, used)
            self._classes[key] = self._answers.setdefault(answers, len(self._answers))
        return self._classes[key]

    def _pick(self, gpu: Gpu, linker: LinkerTraits | None) -> _Picked:
        engine = self._engine
        loaded = [engine.loaded_code(signature, gpu) for signature in self._loaded]
        by_old_drivers = [engine.loaded_code(left, gpu) for left in self._loaded_by_old_drivers]
        linked = [engine.linked_code(signature, gpu, linker) for signature in self._linked]
        codes = [*loaded, *by_old_drivers, *linked]
        unique = {_content(code): code for code in codes}
        numbers = {content: number for number, content in enumerate(unique)}
        of_hosts = tuple(chain.from_iterable(engine.host_needs(self._summary, gpu).values()))
        needs = [*of_hosts, *(need for code in unique.values() for need in code.requirements)]
        return _Picked(
            tuple(unique.values()),
            tuple(numbers[_content(code)] for code in codes),
            any(map(_misses_all, (loaded, by_old_drivers, linked))),
            of_hosts,
            _constraints(needs, OF_DRIVERS),
            _constraints(needs, (Component.LINKER,)),
        )

    def _all_answers(
        self, gpu: Gpu, picked: _Picked, driver: DriverVersion | None, linker: Release
    ) -> Hashable:
        """All that the fold of an artifact's verdict reads, without the numbers and names."""
        values = dict.fromkeys(OF_DRIVERS, driver) | {Component.LINKER: linker}
        answers = tuple(
            (
                code.selection,
                code.missed,
                code.without_kernels,
                _seen_in_link(code),
                tuple(_answers(code.requirements, values)),
            )
            for code in picked.codes
        )
        # Where nothing serves, or every input has to, the rules that exclude images have the word.
        # Of images with different kernels each tells what its own GPUs lose.
        name = gpu.name if picked.misses or self._single_link or self._uneven else None
        release = linker if self._single_link else None
        of_hosts = tuple(_answers(picked.of_hosts, values))
        return (answers, picked.order, of_hosts, name, release, driver is None)


def _seen_in_link(code: PickedCode) -> Hashable:
    """A key of what rules on links look at; of loaded code, whether its kernels are empty."""
    if code.selection is not Selection.LINK:
        return any(image.empty_kernels for image in code.images)
    return tuple((image.kind, image.symbols, image.options) for image in code.images)


def _constraints(
    requirements: Iterable[Requirement], components: tuple[Component, ...]
) -> tuple[Constraint, ...]:
    return tuple(dict.fromkeys(r.constraint for r in requirements if r.component in components))


def _answers(
    requirements: Iterable[Requirement], values: Values
) -> Iterator[tuple[str, str, Component, Verdict | None]]:
    """Yield what isn't simply met of requirements: rule, evidence, component, verdict."""
    for requirement in requirements:
        verdict = verdict_on(requirement, values)
        if verdict is not Verdict.OK:
            yield (requirement.rule, requirement.evidence, requirement.component, verdict)


def _content(code: PickedCode) -> Hashable:
    """A key that two codes share only where equal images are picked."""
    return (code.selection, code.missed, code.without_kernels, code.subject)


def _misses_all(codes: Sequence[PickedCode]) -> bool:
    found = {code.selection for code in codes}
    return Selection.NONE in found and found.isdisjoint(SERVING)

"""The minimum drivers of the code that drivers load, whatever the GPU.

They are found from what SASS and PTX ask each for itself, and not from verdicts: a GPU that is
served by SASS of one toolkit and PTX of another has one floor for both, and that of a GPU is no
lower than the first driver that knows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from ltocompat.facts import drivers
from ltocompat.facts.gpus import gpus_in_use
from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup, variant_parts
from ltocompat.model.target import DriverVersion, Gpu
from ltocompat.model.verdict import Route, Verdict
from ltocompat.rules.constraints import least_version
from ltocompat.rules.engine.engine import Engine
from ltocompat.rules.engine.picked_code import PickedCode
from ltocompat.rules.engine.routes import routes
from ltocompat.rules.rule import Component, Constraint, Unbounded


class DriverFloors(Struct, frozen=True):
    """The minimum drivers for SASS and for PTX, and whether the PTX is newer than all drivers.

    Attributes:
        or_older: ``sass``, ``ptx`` or both, for which a driver before all tables may be enough.
    """

    sass: DriverVersion | None
    ptx: DriverVersion | None
    beyond: bool
    or_older: tuple[str, ...] = ()


def driver_floors(summary: ArtifactSummary, engine: Engine) -> DriverFloors:
    """Find the minimum drivers of an artifact; with variants, of the least demanding one."""
    variants = [_floors_of(engine, parts.used.groups) for parts in variant_parts(summary)]
    if asking := [(least, floors) for floors in variants if (least := floors.sass or floors.ptx)]:
        return min(asking, key=lambda pair: pair[0])[1]
    return _floors_of(engine, summary.groups)


def _floors_of(engine: Engine, groups: Sequence[ModuleGroup]) -> DriverFloors:
    """The minimum drivers of modules, of what each use of code asks of them."""
    asked: dict[str, list[Constraint]] = {"sass": [], "ptx": []}
    for gpu in gpus_in_use():
        for code in (code for group in groups for code in loaded(engine, group, gpu)):
            for requirement in code.requirements:
                if requirement.component is Component.DRIVER and not requirement.constraint.of_gpu:
                    asked.setdefault(str(code.images[0].kind), []).append(requirement.constraint)
    found = {use: least_version(asked[use]) for use in ("sass", "ptx")}
    first = (min(drivers.earlier_drivers().values()), drivers.production_drivers()[0])
    or_older = tuple(
        use
        for use, floor in found.items()
        if floor in first
        and all(each.judge(drivers.before_tables()) is not Verdict.FAIL for each in asked[use])
    )
    sass, ptx = (None if isinstance(floor, Unbounded) else floor for floor in found.values())
    return DriverFloors(sass, ptx, found["ptx"] is Unbounded.NONE_KNOWN, or_older)


def loaded(engine: Engine, group: ModuleGroup, gpu: Gpu) -> Iterator[PickedCode]:
    """Yield the code of a module that a driver loads."""
    if Route.LOAD in routes(group.signature):
        code = engine.loaded_code(group.signature, gpu)
        if code.images and (group.named or not code.without_kernels):
            yield code

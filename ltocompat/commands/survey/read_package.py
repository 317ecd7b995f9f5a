"""One package, read once in this process alone, and asked all that a survey asks: its rows.

Places begin with the name of the package's file, wherever it lay when it was read: rows are the
same on every machine.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ltocompat.commands.read import read_known_file
from ltocompat.commands.survey.default_targets import default_targets
from ltocompat.commands.survey.distribution import Measures
from ltocompat.commands.survey.image_groups import ImageGroups
from ltocompat.commands.survey.options import TaskOptions
from ltocompat.commands.survey.rows import RowMaker, about_gpus
from ltocompat.commands.survey.tables import (
    FindingRow,
    NeedRow,
    Surveyed,
    VerdictRow,
    WeightRow,
)
from ltocompat.model.distribution import Distribution
from ltocompat.model.image import CudaLibrary, HostBinary, Module, Skipped
from ltocompat.model.limits import KIB, MIB
from ltocompat.model.location import Location
from ltocompat.model.requirement import NEXT, Required
from ltocompat.model.row import text_or_none
from ltocompat.model.target import Target
from ltocompat.model.verdict import Result, Verdict
from ltocompat.model.weight import Weight
from ltocompat.targets import parse

_LARGEST_KEPT = 32 * MIB - 64 * KIB  # the block that counts has a header, and ends with a page


def read_package(
    file: io.FileIO, make: RowMaker, measures: Callable[[], Measures], options: TaskOptions
) -> Surveyed:
    """Read a package and answer all questions of a survey, in this process only.

    Args:
        file: its open file, whose SHA-256 ``make`` has.
        make: makes its rows.
        measures: returns the cost of the task; called at its end.
        options: the limits for reading it, and the deploy targets; none: those of its platforms.

    Raises:
        UnreadableInput: it can't be read to its end.
        UsageError: a target is invalid.
    """
    _keep_memory()
    file.name = make.distribution.filename  # what places begin with
    reading = read_known_file(file, make.sha256 or "", limits=options.limits)
    groups, hosts, skipped = ImageGroups(), list[HostBinary](), list[Skipped]()
    for record in reading.records():
        if isinstance(record, Module):
            groups.take(record)
        elif isinstance(record, HostBinary):
            hosts.append(record)
        elif isinstance(record, Skipped):
            skipped.append(record)
    package, required, weight = reading.distribution, reading.require(), reading.weigh()
    whole = Location(make.distribution.filename)
    failed = not required.modules and any(place.place == whole for place in skipped)
    platforms = package.platforms if package is not None else ()
    goals = options.targets or _parsed(default_targets(platforms))
    results = [] if failed else [r for r in reading.check(goals) if not r.without_device_code]
    row = make.distribution_row(
        measures(),
        **_metadata(package, make),
        status="failed" if failed else "read" if groups.found or skipped else "no device code",
        size=reading.size,
        **groups.columns(),
        modules=required.modules,
        skipped=len(skipped),
        device_code=weight.stored,
        saved=weight.saved,
        worst=str(max(result.verdict for result in results)) if results else None,
    )
    return Surveyed(
        distributions=(row,),
        images=tuple(group.row(make) for group in groups.found.values()),
        needs=tuple(_needs(make, required, hosts)),
        verdicts=tuple(_verdict(make, result) for result in results),
        findings=tuple(row for result in results for row in _findings(make, result)),
        weight=tuple(_weight(make, weight)) if weight.stored else (),
        errors=tuple(make.error(place, "read", passing=False) for place in skipped),
    )


def _metadata(package: Distribution | None, make: RowMaker) -> dict[str, Any]:
    """The columns that a package's metadata fill."""
    if package is None:
        return {}
    return {
        "project": package.name or make.distribution.project,
        "version": package.version or make.distribution.version,
        "tags": package.tags,
        "platforms": package.platforms,
        "requires_dist": package.requires,
        "extras": package.extras,
        "declared": about_gpus(package.classifiers),
    }


@functools.cache
def _keep_memory() -> None:
    """Have memory of unpacked images used again, which else goes back to the system with each.

    glibc gives a block back at once unless a larger one was freed before: here one of the largest
    size that counts. It is never written to, so that it takes no memory itself.
    """
    bytes(_LARGEST_KEPT)


@functools.cache
def _parsed(spellings: tuple[str, ...]) -> tuple[Target, ...]:
    """Default targets, which are the same for all packages of a system."""
    return tuple(parse(list(spellings)))


def _verdict(make: RowMaker, result: Result) -> VerdictRow:
    driver = result.target.driver
    rules = [finding.rule for finding in result.findings if finding.verdict > Verdict.JIT]
    return make.make(
        VerdictRow,
        result,
        driver=None if driver is None else driver.text,
        arch=None if result.gpu is None else str(result.gpu.arch),
        rules=tuple(dict.fromkeys(rules)),
    )


def _findings(make: RowMaker, result: Result) -> Iterator[FindingRow]:
    for finding in result.findings:
        yield make.make(
            FindingRow,
            finding,
            target=result.target.name,
            gpu=text_or_none(result.gpu),
            route=text_or_none(result.route),
        )


def _needs(make: RowMaker, required: Required, hosts: Iterable[HostBinary]) -> Iterator[NeedRow]:
    for found in _floors(required) if required.modules else ():
        least = text_or_none(found.pop("least"))
        yield make.make(NeedRow, None, what="floor", least=least, **found)
    for asked in required.asked:
        yield make.make(NeedRow, asked, what="requirement", modules=asked.module_count)
    libraries: dict[object, tuple[CudaLibrary, HostBinary]] = {}
    for host in hosts:
        for library in host.libraries:
            key = (library.name, library.how, library.file, library.version)
            libraries.setdefault(key, (library, host))
    for library, host in libraries.values():
        yield make.make(
            NeedRow,
            library,
            what="library",
            component=library.name,
            subject=library.file,
            least=library.version,
            example=str(host.place),
        )


def _floors(required: Required) -> Iterator[dict[str, Any]]:
    """Columns of the minimum versions on each GPU architecture."""
    linker = required.nvjitlink
    if linker is not None:
        yield {"component": "nvJitLink", "least": linker.possible, "modules": required.modules}
    for service in required.services:
        for floor in service.routes:
            common = {
                "arch": service.name if service.name == NEXT else f"sm_{service.number}",
                "route": text_or_none(floor.route),
                "served_by": service.how,
                "modules": floor.coverage.served,
            }
            yield {"component": "driver", "least": floor.driver, **common}
            if floor.nvjitlink is not None:
                yield {"component": "nvJitLink", "least": floor.nvjitlink, **common}


def _weight(make: RowMaker, weight: Weight) -> Iterator[WeightRow]:
    for arch in weight.archs:
        yield make.make(WeightRow, arch, what="images")
    yield make.make(WeightRow, None, what="overhead", stored=weight.overhead)
    for library in weight.libraries:
        yield make.make(WeightRow, library, what="library", library=str(library.place))
    for saving in weight.savings:
        yield make.make(WeightRow, saving, what="saving", stored=saving.saved, text=saving.what)

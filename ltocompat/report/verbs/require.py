"""The answer of ``require``: floors, GPUs served, lines to paste; ``ltocompat/require/v1``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ltocompat.facts import nvjitlink_minors
from ltocompat.facts.drivers import driver_branches
from ltocompat.model.arch import Release
from ltocompat.model.place import Place
from ltocompat.model.requirement import (
    Asked,
    LinkerFloor,
    PasteLine,
    Required,
    RouteFloor,
    Service,
)
from ltocompat.model.target import DriverVersion
from ltocompat.report import Failure, Options, Report
from ltocompat.report.document import Block, Code, Column, Heading, Items, Paragraph, Table
from ltocompat.report.text import brief, count

_GPU_COLUMNS = (
    Column("GPUs", width=20),
    Column("served by", width=8),
    Column("modules"),
    Column("driver from"),
    Column("nvJitLink from"),
    Column("set by"),
)
_NEXT = "next"
_MOST = 20


def blocks(records: Iterable[Required | Failure], _: Options) -> Iterator[Block]:
    """For each artifact what it needs at least, which GPUs it serves, and what to paste."""
    empty = number = 0
    for record in records:
        if isinstance(record, Failure):
            continue
        if has_nothing(record):
            empty += 1
            continue
        number += 1
        yield from _artifact(record)
    if empty:
        yield Paragraph((f"{count(empty, 'file')} without device code",))
    if not number and not empty:
        yield Paragraph(("nothing was read",))


def has_nothing(required: Required) -> bool:
    """There is no device code, and nothing that hides some."""
    return not required.modules and not required.skipped


def _artifact(required: Required) -> Iterator[Block]:
    unread = f"; {count(required.skipped, 'place')} not read, so that all this may be too little"
    text = count(required.modules, "module") if required.modules else "no module was read"
    yield Heading((Code(Place(required.path)), f": {text}", unread if required.skipped else ""))
    yield Table((Column("needs"), Column("at least", width=24)), tuple(_floors(required)))
    if required.services:
        yield Table(_GPU_COLUMNS, tuple(_gpus(required)))
    if required.lines:
        yield Items("to paste", tuple(_line(line) for line in required.lines))
    if required.asked:
        left_out = len(required.asked) - _MOST
        more = f"and {left_out:,} more; --format json lists all" if left_out > 0 else None
        yield Items("because", tuple(map(_reason, required.asked[:_MOST])), more)


def _floors(required: Required) -> Iterator[tuple[str, str]]:
    nothing = required.no_nvjitlink or "nothing is linked"
    yield "nvJitLink", nothing if required.nvjitlink is None else _linker(required.nvjitlink)
    yield "driver for SASS", _driver(required.driver_sass, required.services, "sass")
    beyond = "newer than every known driver" if required.ptx_beyond else None
    yield "driver for PTX", beyond or _driver(required.driver_ptx, required.services, "ptx")
    if required.link_options:
        yield "link options", " ".join(required.link_options)


def _linker(floor: LinkerFloor) -> str:
    rules = f" ({', '.join(floor.rules)})" if floor.rules else ""
    end = f"documented up to the last {floor.ceiling - 1}.x{rules}"
    if floor.exact:
        tried = ", as a trial link showed" if floor.tried else ""
        return f"{floor.possible}{tried}; {end}"
    hint = "no trial could tell" if floor.tried else "--trial-link tells"
    if floor.sure is None:
        return f"{floor.possible}, perhaps a newer one than all that are known ({hint}); {end}"
    return f"{floor.possible} possibly, {floor.sure} surely ({hint}); {end}"


def _driver(floor: DriverVersion | None, services: Iterable[Service], how: str) -> str:
    if floor is not None:
        return str(floor)
    used = any(getattr(service, how) for service in services)
    return "no floor is known" if used else f"no {how.upper()} is loaded"


def _gpus(required: Required) -> Iterator[tuple[str, ...]]:
    """A row for architectures that fare alike, and for each way that they are served."""
    alike: dict[tuple[str, ...], list[Service]] = {}
    for service in required.services:
        served = [route for route in service.routes if route.coverage.served]
        for cells in map(_route, served) if served else [("nothing", "", "", "", "")]:
            alike.setdefault(cells, []).append(service)
    for cells, several in alike.items():
        yield (_archs(several), *cells)


def _archs(several: list[Service]) -> str:
    known = ", ".join(str(service.number) for service in several if service.name != _NEXT)
    coming = "".join(f"sm_{service.number} to come" for service in several if service.name == _NEXT)
    return ", ".join(part for part in (f"sm_{known}" if known else "", coming) if part)


def _route(floor: RouteFloor) -> tuple[str, ...]:
    """By what, how many modules, from which versions on, and which rules say so."""
    counts = floor.coverage
    ways = (("SASS", counts.sass), ("PTX", counts.ptx), ("link", counts.link))
    used = [(way, number) for way, number in ways if number]
    words = [way if number == counts.served else f"{way} {number:,}" for way, number in used]
    by = ", ".join(words)
    if floor.doubts and not floor.beyond:
        by += f" ({floor.verdict}: {', '.join(floor.doubts)})"
    return (
        by,
        f"{counts.served:,} of {counts.served + counts.none:,}",
        "none known" if floor.beyond else _span(floor.driver, floor.last_driver),
        _span(floor.nvjitlink, floor.last_nvjitlink),
        ", ".join(floor.set_by),
    )


def _span(first: DriverVersion | Release | None, last: DriverVersion | Release | None) -> str:
    """From the least version on; up to the newest that does, where a later one is known not to."""
    if first is None:
        return ""
    return f"{first} to {last}" if last is not None and _ends(last) else str(first)


def _ends(last: DriverVersion | Release) -> bool:
    """Whether a version is followed by others that are known not to do as well."""
    if isinstance(last, DriverVersion):
        return last.branch < driver_branches()[-1]
    return last < max(nvjitlink_minors())


def _line(line: PasteLine) -> tuple[str, ...]:
    note = f": {line.note}" if line.note else ""
    return (Code(line.text), f"  ({line.where}{note})")


def _reason(need: Asked) -> tuple[str, ...]:
    number = f"{count(need.module_count, 'module')}, first " if need.module_count > 1 else ""
    text = f"{need.component} {need.constraint} for {need.subject}, else {need.consequence}"
    evidence = brief(f"; evidence: {need.evidence}") if need.evidence else ""
    return (f"{need.rule}: ", brief(text), f" ({number}at ", Code(need.example), evidence, ")")


def _document(records: Iterable[Required | Failure], options: Options) -> Iterator[str]:
    # Imported here: a table needs no JSON.
    from ltocompat.report.verbs.require_json import document

    return document(records, options)


REPORT: Report[Required] = Report(blocks, _document)

"""Which GPU architectures an artifact serves, and by what, as a picture in an HTML page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter

from msgspec import Struct

from ltocompat.model.requirement import NEXT, Required
from ltocompat.model.verdict import Result
from ltocompat.model.words import count
from ltocompat.report.findings import SortedRecords
from ltocompat.report.formats.html.elements import Section, escaped, scrolling, table
from ltocompat.report.text import span

_OPEN = 4  # artifacts whose pictures are unfolded at first
_STEPS = 10


class _Column(Struct, frozen=True):
    """An architecture and what serves it.

    Attributes:
        arch: ``sm_90``, or ``next`` for the one after all that are known.
        name: the generation; empty where it isn't known.
        sass: number of modules by SASS.
        ptx: by PTX.
        link: by a link.
        driver: the least one there; empty where nothing serves or no floor is known.
    """

    arch: str
    name: str
    sass: int
    ptx: int
    link: int
    driver: str


_ROWS = (("SASS", "sass"), ("PTX", "ptx"), ("LTO-IR and other links", "link"))


def coverage_section(answer: SortedRecords) -> Iterator[Section]:
    """The section with a picture an artifact; none where nothing is known."""
    artifacts = answer.artifacts
    drawn: list[str] = []
    for path in dict.fromkeys((*artifacts, *answer.required)):
        required = answer.required.get(path)
        own = artifacts[path].results if path in artifacts else []
        columns = list(_required_columns(required) if required else _columns_of_targets(own))
        modules = required.modules if required else max(result.coverage.modules for result in own)
        if columns and modules:
            drawn.append(_picture(path, columns, modules, unfolded=len(drawn) < _OPEN))
    intro = (
        '<p class="intro">How many modules of an artifact serve an architecture, and by what: '
        "SASS runs as it is, PTX is compiled by the driver, LTO-IR is linked first.</p>"
    )
    if drawn:
        yield Section("coverage", "Coverage", [intro, *drawn])


def _required_columns(required: Required) -> Iterator[_Column]:
    for service in required.services:
        driver = f"{service.driver}" if service.driver else "none known" if service.beyond else ""
        arch = NEXT if service.name == NEXT else f"sm_{service.number}"
        name = "" if service.name == NEXT else service.name
        yield _Column(arch, name, service.sass, service.ptx, service.link, driver)


def _columns_of_targets(results: Iterable[Result]) -> Iterator[_Column]:
    """The architectures of the targets' GPUs; of several verdicts on one, the most modules."""
    found: dict[str, _Column] = {}
    for result in results:
        if result.gpu is None:
            continue
        arch, served = str(result.gpu.arch), result.coverage
        old = found.get(arch, _Column(arch, "", 0, 0, 0, ""))
        numbers = (max(old.sass, served.sass), max(old.ptx, served.ptx), max(old.link, served.link))
        found[arch] = _Column(arch, "", *numbers, "")
    yield from sorted(found.values(), key=lambda column: (len(column.arch), column.arch))


def _picture(path: str, columns: Sequence[_Column], modules: int, *, unfolded: bool) -> str:
    """A table in which neighbours that are served alike share a column."""
    alike = groupby(columns, key=attrgetter("sass", "ptx", "link", "driver"))
    runs = [tuple(run) for _, run in alike]
    heads = "".join(_head(run) for run in runs)
    rows = []
    for word, field in _ROWS:
        cells = "".join(_cell(getattr(run[0], field), modules) for run in runs)
        rows.append(f'<tr class="by-{field}"><th scope="row">{word}</th>{cells}</tr>')
    if any(column.driver for column in columns):
        cells = "".join(f"<td>{escaped(run[0].driver) or _nothing()}</td>" for run in runs)
        rows.append(f'<tr class="least"><th scope="row">least driver</th>{cells}</tr>')
    caption = f"Modules of {escaped(path)} that serve each architecture"
    drawn = table("coverage", f"<tr><td></td>{heads}</tr>", "".join(rows), caption)
    return (
        f'<details class="card"{" open" if unfolded else ""}><summary>'
        f'<span class="where">{escaped(path)}</span>: {count(modules, "module")}</summary>'
        f"{scrolling(f'Coverage of {path}', drawn)}</details>"
    )


def _head(run: Sequence[_Column]) -> str:
    archs = escaped(span([column.arch for column in run]))
    names = escaped(span(list(dict.fromkeys(column.name for column in run if column.name))))
    return f'<th scope="col">{archs} <small>{names}</small></th>'


def _cell(number: int, modules: int) -> str:
    if not number:
        return f"<td>{_nothing()}</td>"
    step = max(1, round(_STEPS * min(number / modules, 1)))
    return f'<td class="fill fill-{step}">{number:,}</td>'


def _nothing() -> str:
    dash = '<span aria-hidden="true">\u2013</span>'
    return f'<span class="none">{dash}<span class="unseen">none</span></span>'

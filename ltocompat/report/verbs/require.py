"""The answer of ``require``: floors, GPUs served, lines to paste; ``ltocompat/require/v1``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from msgspec.structs import replace

from ltocompat.facts import nvjitlink_minors
from ltocompat.facts.drivers import driver_branches
from ltocompat.model.arch import Release
from ltocompat.model.generic import grouped
from ltocompat.model.location import Location
from ltocompat.model.projection import project
from ltocompat.model.requirement import (
    NEXT,
    FloorSetter,
    GpuSupport,
    LinkerFloor,
    ModuleRequirement,
    PasteLine,
    Required,
    RouteFloor,
    VariantFloors,
)
from ltocompat.model.target import DriverVersion
from ltocompat.model.verdict import Coverage, Verdict
from ltocompat.model.words import count, truncate_list
from ltocompat.report import Failure, ListReport, Options, answers
from ltocompat.report.document import (
    Block,
    Code,
    Column,
    Entry,
    Heading,
    Items,
    Paragraph,
    Style,
    Styled,
    Table,
    first_lines,
    table_of,
)
from ltocompat.report.text import truncate
from ltocompat.rules.builtin_rules import NOTHING_SERVES
from ltocompat.rules.engine.joint_requirements import joint, one_of_variants
from ltocompat.rules.services import (
    installed_linker,
    lacks_kernels,
    least_driver,
    runs_anywhere,
    verdict_of,
)

_MOST = 20
Records = Iterable[Required | FloorSetter | Failure]


def blocks(records: Records, options: Options) -> Iterator[Block]:
    """Yield each artifact's requirements, its lines to paste, and the GPUs that it serves."""
    if options.paste_for:
        yield from _pasted(records, options.paste_for)
        return
    empty = 0
    several: list[Required] = []
    setters: list[FloorSetter] = []
    for record in answers(records):
        if isinstance(record, FloorSetter):
            setters.append(record)
        elif not isinstance(record, Required) or has_nothing(record):
            empty += 1
        else:
            several.append(record)
    # The answer for all of them comes first.
    yield from _totals(several, setters, empty)
    of_all = _texts(joint(several)) if len(several) > 1 else []
    for required in several:
        yield from _artifact(required, options, lines=_texts(required) != of_all)


def _totals(
    several: Sequence[Required], setters: Sequence[FloorSetter], empty: int
) -> Iterator[Block]:
    """The requirements of all artifacts together, and the files without any."""
    if len(several) > 1:
        yield from _summary(joint(several))
    if setters:
        yield first_lines("code that sets the minimum versions", [*_setters(setters)], _MOST)
    if empty:
        end = "" if several else ": nothing to require"
        yield Paragraph((f"{count(empty, 'file')} without device code{end}",))
    if not several and not empty:
        yield Paragraph(("nothing was read",))


# Properties of variant wheels are many, and few projects build any yet.
_VARIANT = "variant"


def _pasted(records: Records, where: str) -> Iterator[Block]:
    """The lines alone, as they go into a file; notes are comments there."""
    artifacts = [record for record in answers(records) if isinstance(record, Required)]
    coded = [required for required in artifacts if not has_nothing(required)]
    if where == "nfd" and coded:
        from ltocompat.rules.engine.node_features import specification

        yield from (Entry((Code(line),)) for line in specification(coded))
        return
    where = "container" if where == "dockerfile" else where
    lines = [line for line in joint(artifacts).lines if line.where == where] if artifacts else []
    notes = [*_left_out(artifacts), *(() if lines else (f"nothing to paste for {where}",))]
    yield from (Entry((f"# {note}",)) for note in notes if where != _VARIANT)
    for line in lines:
        yield from (Entry((Code(text),)) for text in _as_pasted(line, line.note))


def _left_out(artifacts: Sequence[Required]) -> Iterator[str]:
    """The artifacts and the variants whose requirements are not in the lines to paste."""
    used = one_of_variants(artifacts)
    for needs in (each for each in artifacts if each not in used):
        yield f"without {os.path.basename(needs.path)}, which is for another CUDA release"
    yield from (f"variants: {row}" for needs in used for row in _variants(needs))


def _as_pasted(line: PasteLine, note: str) -> Iterator[str]:
    """The line in a file of its kind, below its note; a met line is only a comment."""
    if line.where != _VARIANT:
        told = f"{line.text}: {note}" if line.met else note
        yield from (f"# {part}" for part in told.split("; ") if part)
    if line.text and not line.met:
        name, _, value = line.text.partition("=")
        forms = {"conda": f"- {line.text}", "container": f'ENV {name}="{value}"'}
        yield forms.get(line.where, line.text)


def has_nothing(required: Required) -> bool:
    """Return whether there is no device code, and no unread place that may have some."""
    return not required.modules and not required.skipped


def _texts(required: Required) -> list[str]:
    return [line.text for line in required.lines if line.where in _PASTED]


def _artifact(required: Required, options: Options, *, lines: bool) -> Iterator[Block]:
    """An artifact; its lines to paste are left out if they are those of all artifacts."""
    known = [service for service in required.services if service.name != NEXT]
    yield from _summary(required, lines=lines and not options.quiet)
    if options.quiet:
        return
    if required.variants:
        title = "the package loads one variant; the lines above are for the least demanding variant"
        yield Items(title, tuple((row,) for row in _variants(required)))
    if required.services and not lacks_kernels(required):
        yield _gpu_table(required.services, known, why=options.why)
    yield from _lost_kernels(known)
    yield from _sparse_coverage(known)
    if options.why:
        yield Table((Column("needs"), Column("at least", width=24)), tuple(_floors(required)))
        if required.asked:
            yield first_lines("because", [*_reasons(required.asked)], _MOST)


def _summary(required: Required, *, lines: bool = True) -> Iterator[Block]:
    """The driver and the nvJitLink, then the lines that metadata lack, and those that they have."""
    unread = f"; {count(required.skipped, 'place')} not read, so the real needs may be higher"
    text = count(required.modules, "module") if required.modules else "no device code was read"
    yield Heading((Code(truncate(required.path)), f": {text}", unread if required.skipped else ""))
    known = [service for service in required.services if service.name != NEXT]
    if required.services:
        yield Entry((Styled(_runs_with(required, known), Style.STRONG),))
    shown = required.lines if lines else ()
    for where, title in _PASTED.items():
        found = [line for line in shown if line.where == where and not line.met]
        if some := [text for line in found for text in _as_pasted(line, _brief(line))]:
            yield Items(f"to paste into {title}", tuple((Code(text),) for text in some))
    if met := [line for line in shown if line.met]:
        rows = ((Code(each.text), f"  ({each.where}: {_brief(each)})") for each in met)
        yield Items("in its metadata already", tuple(rows))


_PASTED = {"pip": "requirements", "conda": "a conda recipe", "container": "a Dockerfile"}


def _brief(line: PasteLine) -> str:
    # The headline and the table have the exceptions for GPUs.
    return "; ".join(note for note in line.note.split("; ") if not note.startswith("sm_"))


def _variants(needs: Required) -> Iterator[str]:
    """The minimum versions of the variants; equal ones are in one row."""

    def floors(variant: VariantFloors) -> str:
        driver = f"driver >= {variant.driver}" if variant.driver else ""
        linker = f"nvJitLink >= {variant.nvjitlink}" if variant.nvjitlink else ""
        return ", ".join(filter(None, (driver, linker))) or "no known driver requirement"

    alike = grouped((floors(variant), variant.name) for variant in needs.variants)
    return (f"{', '.join(names)}: {text}" for text, names in alike.items())


def _runs_with(required: Required, known: Sequence[GpuSupport]) -> str:
    """``Runs with driver >= 580.65.06 on sm_75-121 (sm_107: 615); links need ...``."""
    served = [service for service in known if service.how != "none" and not service.hardly]
    alike = grouped((_driver_of(service), service) for service in served)
    if not alike:
        least, links = least_driver(required, known), _links(required, known)
        if least is not None:
            return f"It has no kernels: any GPU that a driver >= {least} supports will do{links}"
        none = "It has no kernels, so any GPU and driver will do"
        return (none if runs_anywhere(required) else "It serves no known GPU") + links
    # Where some GPU has a driver, those without one are exceptions.
    most = max(alike, key=lambda driver: (bool(alike[driver][0].driver), len(alike[driver])))
    others = [
        f"{archs_range(several, known)}: {driver.removeprefix('>= ')}"
        for driver, several in alike.items()
        if driver != most
    ]
    except_ = f" ({'; '.join(others)})" if others else ""
    archs, links = archs_range(alike[most], known), _links(required, known)
    if alike[most][0].driver is None:
        return f"Can't run on {archs}: {most}{except_}{links}"
    sure = all(verdict_of(service) < Verdict.UNKNOWN for service in alike[most])
    return f"{'Runs' if sure else 'May run'} with driver {most} on {archs}{except_}{links}"


def _lost_kernels(known: Sequence[GpuSupport]) -> Iterator[Paragraph]:
    """``20 of 100 kernels have code for sm_75 (IMG-04)``."""
    alike = grouped((service.kernels, service) for service in known)
    for (here, most), several in alike.items():
        if here < most:
            archs = archs_range(several, known)
            yield Paragraph((f"{here:,} of {most:,} kernels have code for {archs} (IMG-04)",))


def _sparse_coverage(known: Sequence[GpuSupport]) -> Iterator[Paragraph]:
    """``few modules are for sm_52-75, and 241 for sm_100: probably not built for sm_52-75``."""
    sparse = [service for service in known if service.hardly and not service.kernels[1]]
    if not sparse:
        return
    most = max(known, key=_modules_of)
    archs = archs_range(sparse, known)
    few = _between([_modules_of(service) for service in sparse])
    text = (
        f"{few} of the modules {'is' if few == '1' else 'are'} for {archs}, and "
        f"{_modules_of(most):,} for sm_{most.number}: "
        f"the code was probably not built for {archs} (IMG-04)"
    )
    yield Paragraph((text,))


def _modules_of(service: GpuSupport) -> int:
    return service.sass + service.ptx + service.link


def _cause(routes: Iterable[RouteFloor]) -> str:
    """The reason why no known versions work on a GPU."""
    failing = [route for route in routes if route.beyond]
    if any(NOTHING_SERVES in route.set_by for route in failing):
        return _NO_CODE
    linked = any(route.coverage.link and route.nvjitlink is None for route in failing)
    return "no known nvJitLink" if linked else "no known driver"


_NO_CODE = "code missing"


def _driver_of(service: GpuSupport) -> str:
    """``>= 580.65.06``, ``450.80.02 to 580``, ``no known driver``."""
    if service.driver is None:
        return _cause(service.routes)
    span = _span(service.driver, service.last_driver, or_older=service.or_older)
    return span if service.last_driver and _ends(service.last_driver) else f">= {span}"


def _links(required: Required, known: Sequence[GpuSupport]) -> str:
    """Describe the nvJitLink that links need, and whether less may do."""
    floor = required.nvjitlink
    if floor is None:
        return f"; links: {required.no_nvjitlink}" if required.no_nvjitlink else ""
    notes = [f"{floor.possible} may be enough"] if floor.sure not in (None, floor.possible) else []
    notes += ["perhaps a newer one"] if floor.sure is None else []
    if floor.newest_producer is not None:
        notes.append(f"assumes that CUDA {floor.newest_producer} or older made the LTO-IR")
    served = [service for service in known if service.driver is not None and not service.hardly]
    others = grouped((_linkers_of(service, floor), service) for service in served)
    notes += [f"{archs_range(several, known)}: {span}" for span, several in others.items() if span]
    told = f" ({'; '.join(notes)})" if notes else ""
    nvlink = f"nvlink or nvJitLink >={floor.at_least},<{floor.ceiling}"
    return f"; links need {floor.wheel if installed_linker(required) else nvlink}{told}"


def _linkers_of(service: GpuSupport, floor: LinkerFloor) -> str:
    """Those that a GPU asks for beside that of the artifact; empty if it asks no other."""
    if service.unlinked:
        return "none known"
    first, last = service.nvjitlink, service.last_nvjitlink
    newest = max(release for release in nvjitlink_minors() if release.major < floor.ceiling)
    if first is None or (first <= floor.at_least and (last is None or last >= newest)):
        return ""
    return _span(first, last)


def archs_range(some: Iterable[GpuSupport], known: Sequence[GpuSupport]) -> str:
    """``sm_75-121``, ``sm_80-90, 120``: known neighbours form a range."""
    numbers = [service.number for service in known]
    held = {service.number for service in some}
    runs = ([*run] for there, run in groupby(numbers, held.__contains__) if there)
    words = [f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs]
    return f"sm_{', '.join(words)}"


def _floors(required: Required) -> Iterator[tuple[str, str]]:
    nothing = required.no_nvjitlink or "nothing is linked"
    yield "nvJitLink", nothing if required.nvjitlink is None else _linker(required.nvjitlink)
    older = required.driver_or_older
    yield "driver for all SASS", _span(required.driver_sass, None, or_older="sass" in older) or "-"
    ptx = _span(required.driver_ptx, None, or_older="ptx" in older) or "-"
    yield "driver for all PTX", "newer than every known driver" if required.ptx_beyond else ptx
    if required.link_options:
        yield "link options", " ".join(required.link_options)


def _linker(floor: LinkerFloor) -> str:
    rules = f" ({', '.join(floor.rules)})" if floor.rules else ""
    end = f"documented up to the last {floor.ceiling - 1}.x{rules}"
    if floor.exact:
        tried = ", as a trial link showed" if floor.tried else ""
        return f"{floor.possible}{tried}; {end}"
    hint = "no trial could show it" if floor.tried else "--trial-link shows it"
    if floor.sure is None:
        return f"{floor.possible}, or a release newer than all known ones ({hint}); {end}"
    return f"{floor.possible} may be enough; {floor.sure} is enough ({hint}); {end}"


def _gpu_table(services: Sequence[GpuSupport], known: Sequence[GpuSupport], *, why: bool) -> Table:
    """A row for architectures that fare alike; columns that say nothing are left out."""
    alike = grouped(
        (_way(route, why=why, sparse=service.hardly), (service, route.coverage))
        for service in services
        for route in service.routes
        if route.coverage.served
    )
    rows = [
        (
            _archs([service for service, _ in several], known),
            by,
            _served(coverage for _, coverage in several),
            *versions,
        )
        for (by, *versions), several in alike.items()
    ] or [("all", "nothing", "", "", "", "")]
    shown = [not set(column) <= {"", "1 of 1"} for column in zip(*rows, strict=True)]
    return table_of(_GPU_COLUMNS, rows, shown)


_GPU_COLUMNS = (
    Column("GPUs", width=16),
    Column("served by", width=14),
    Column("modules", width=11),
    Column("driver from", width=12),
    Column("nvJitLink from"),
    Column("set by", width=12),
)


def _archs(several: Sequence[GpuSupport], known: Sequence[GpuSupport]) -> str:
    now = [service for service in several if service.name != NEXT]
    coming = "".join(f"sm_{service.number} (future)" for service in several if service.name == NEXT)
    return ", ".join(part for part in (archs_range(now, known) if now else "", coming) if part)


def _served(coverages: Iterable[Coverage]) -> str:
    """``1,844-1,854 of 1,869``."""
    pairs = [(counts.served, counts.served + counts.none) for counts in coverages]
    served, every = zip(*pairs, strict=True)
    return f"{_between(served)} of {_between(every)}"


def _between(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,}-{high:,}"


def _way(floor: RouteFloor, *, why: bool, sparse: bool) -> tuple[str, str, str, str]:
    """By what, from which driver and nvJitLink on, and which rules say so."""
    counts = floor.coverage
    ways = (("SASS", counts.sass), ("PTX", counts.ptx), ("link", counts.link))
    by = ", ".join(way for way, number in ways if number)
    if floor.doubts and not floor.beyond:
        worse = [rule for rule in floor.doubts if rule not in floor.undocumented]
        told = [(floor.verdict, worse), (Verdict.UNDOCUMENTED, floor.undocumented)]
        doubts = "; ".join(f"{each}: {', '.join(found)}" for each, found in told if found)
        by += f" ({doubts})"
    if sparse:
        by += ", few modules"
    driver = _span(floor.driver, floor.last_driver, or_older=floor.or_older)
    linker = _span(floor.nvjitlink, floor.last_nvjitlink)
    set_by = ", ".join(floor.set_by) if why else ""
    if floor.beyond:
        driver = _NO_CODE if _cause([floor]) == _NO_CODE else "none known"
    return by, driver, linker, set_by


Version = DriverVersion | Release


def _span(first: Version | None, last: Version | None, *, or_older: bool = False) -> str:
    """From the least version on; up to the newest that does, where a later one is known not to."""
    if first is None:
        return ""
    least = f"{first} or older" if or_older else str(first)
    if last is None or not _ends(last):
        return least
    return f"{first} only" if first == last else f"{least} to {last}"


def _ends(last: Version) -> bool:
    """Return whether later known versions fail."""
    if isinstance(last, DriverVersion):
        return last.branch < driver_branches()[-1]
    return last < max(nvjitlink_minors())


def _reasons(asked: Sequence[ModuleRequirement]) -> Iterator[tuple[str, ...]]:
    """The code that needs minimum versions, then what happens without them, once."""
    for consequence, needs in grouped(((n.rule, n.consequence), n) for n in asked).items():
        for need in needs:
            first = f"{need.module_count:,} modules, first " if need.module_count > 1 else ""
            text = f"{need.subject} needs {need.component} {need.constraint} ({first}at "
            evidence = truncate(f"; evidence: {need.evidence}") if need.evidence else ""
            yield (f"{need.rule}: ", truncate(text), Code(need.example), evidence, ")")
        yield (truncate(f"  otherwise: {consequence[1]}"),)


def _setters(setters: Sequence[FloorSetter]) -> Iterator[tuple[str, ...]]:
    """``driver >= 580.65.06 on sm_80: cupy 13.6, SASS of CUDA 13 at x.so@0x40; without it ...``.

    Distributions that set the same minimum for the same reason are in one row.
    """
    rows = ((replace(each, distribution="", place=Location("")), each) for each in setters)
    for setter, alike in grouped(rows).items():
        archs = f" on sm_{', '.join(map(str, setter.archs))}" if setter.archs else ""
        rules = f" ({', '.join(setter.rules)})" if setter.rules else ""
        code = f", {setter.subject}{rules} at " if setter.subject else f"{rules} in "
        without = f"; without it: {setter.without}" if setter.without else ""
        without = "; others set the same minimum" if setter.without == setter.floor else without
        without = "" if alike[1:] else without
        release = f"; lower in {setter.release}" if setter.release else ""
        lacking = setter.floor.startswith("no ")
        yield (
            f"{setter.floor if lacking else f'{setter.component} {setter.floor}'}{archs}: ",
            Code(truncate(truncate_list([each.distribution for each in alike], 4))),
            truncate(code),
            Code(alike[0].place),
            f"{without}{release}",
        )


def _document(records: Records, _: Options) -> Iterator[str]:
    # Imported here: a table needs no JSON.
    from ltocompat.model.records_v1 import require as v1
    from ltocompat.report.formats.jsonstream import Rows

    rows = Rows(v1.Require, "artifacts")
    artifacts = empty = 0
    setters: list[v1.FloorSetter] = []
    for record in rows.answers(records):
        if isinstance(record, FloorSetter):
            setters.append(project(v1.FloorSetter, record))
        elif not isinstance(record, Required) or has_nothing(record):
            empty += 1
        else:
            artifacts += 1
            yield from rows.row(project(v1.Artifact, record))
    summary = v1.Summary(artifacts, empty, errors=rows.errors)
    yield from rows.end(v1.Require((), summary, tuple(setters)), empty=bool(empty))


REPORT: ListReport[Required | FloorSetter] = ListReport(
    blocks,
    _document,
    GpuSupport,
    lambda record: record.services if isinstance(record, Required) else (),
    ("path",),
)

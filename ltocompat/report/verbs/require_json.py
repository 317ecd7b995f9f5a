"""The answer of ``require`` as ``ltocompat/require/v1``, written as it comes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ltocompat.model.records_v1 import require as v1
from ltocompat.model.requirement import (
    Asked,
    LinkerFloor,
    PasteLine,
    Required,
    RouteFloor,
    Service,
    VariantFloors,
)
from ltocompat.model.row import text_or_none
from ltocompat.report import Failure, Options
from ltocompat.report.formats.jsonstream import Rows, failure_values
from ltocompat.report.verbs.check_json import coverage_value
from ltocompat.report.verbs.require import has_nothing


def document(records: Iterable[Required | Failure], _: Options) -> Iterator[str]:
    """The pieces of the JSON document."""
    rows = Rows(v1.Require, "artifacts")
    artifacts = empty = 0
    for record in records:
        if isinstance(record, Failure):
            rows.failures.append(record)
        elif has_nothing(record):
            empty += 1
        else:
            artifacts += 1
            yield from rows.row(_value(record))
    summary = v1.Summary(artifacts, empty, failure_values(rows.failures))
    yield from rows.end(v1.Require((), summary), empty=bool(empty))


def _value(required: Required) -> v1.Artifact:
    return v1.Artifact(
        path=required.path,
        modules=required.modules,
        nvjitlink=None if required.nvjitlink is None else _linker(required.nvjitlink),
        no_nvjitlink=required.no_nvjitlink,
        driver_sass=text_or_none(required.driver_sass),
        driver_ptx=text_or_none(required.driver_ptx),
        ptx_beyond=required.ptx_beyond,
        services=tuple(_service(service) for service in required.services),
        link_options=tuple(required.link_options),
        requirements=tuple(_requirement(asked) for asked in required.asked),
        lines=tuple(_line(line) for line in required.lines),
        skipped=required.skipped,
        variants=tuple(map(_variant, required.variants)),
    )


def _variant(variant: VariantFloors) -> v1.Variant:
    return v1.Variant(
        name=variant.name,
        modules=variant.modules,
        driver_sass=text_or_none(variant.driver_sass),
        driver_ptx=text_or_none(variant.driver_ptx),
        ptx_beyond=variant.ptx_beyond,
        nvjitlink=text_or_none(variant.nvjitlink),
    )


def _linker(floor: LinkerFloor) -> v1.LinkerFloor:
    return v1.LinkerFloor(
        possible=str(floor.possible),
        sure=text_or_none(floor.sure),
        exact=floor.exact,
        ceiling=floor.ceiling,
        tried=floor.tried,
        rules=floor.rules,
    )


def _service(service: Service) -> v1.Service:
    return v1.Service(
        arch=f"sm_{service.number}",
        name=service.name,
        how=service.how,
        sass=service.sass,
        ptx=service.ptx,
        link=service.link,
        none=service.none,
        driver=text_or_none(service.driver),
        beyond=service.beyond,
        nvjitlink=text_or_none(service.nvjitlink),
        routes=tuple(map(_route, service.routes)),
        hardly=service.hardly,
    )


def _route(floor: RouteFloor) -> v1.RouteFloor:
    return v1.RouteFloor(
        route=text_or_none(floor.route),
        coverage=coverage_value(floor.coverage),
        driver=text_or_none(floor.driver),
        last_driver=text_or_none(floor.last_driver),
        nvjitlink=text_or_none(floor.nvjitlink),
        last_nvjitlink=text_or_none(floor.last_nvjitlink),
        verdict=str(floor.verdict),
        set_by=floor.set_by,
        doubts=floor.doubts,
    )


def _requirement(asked: Asked) -> v1.Requirement:
    return v1.Requirement(
        axis=asked.component,
        constraint=asked.constraint,
        rule=asked.rule,
        subject=asked.subject,
        consequence=asked.consequence,
        evidence=asked.evidence,
        module_count=asked.module_count,
        example=str(asked.example),
    )


def _line(line: PasteLine) -> v1.Line:
    return v1.Line(line.where, line.text, line.note)

"""The answer of ``link`` as ``ltocompat/link/v1``, written as it comes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ltocompat.commands.link import Linked
from ltocompat.model.image import Skipped
from ltocompat.model.link_options import Disagreement
from ltocompat.model.records_v1 import base
from ltocompat.model.records_v1 import link as v1
from ltocompat.model.row import text_or_none
from ltocompat.report import Failure, Options
from ltocompat.report.formats.jsonstream import Rows, failure_values
from ltocompat.report.link_costs import LinkCost, LinkCosts
from ltocompat.report.verbs.inspect_json import skipped_value
from ltocompat.targets.linkers import Linker, Tool


def document(
    records: Iterable[Linked | Disagreement | Skipped | Failure], _: Options
) -> Iterator[str]:
    """The pieces of the JSON document."""
    rows = Rows(v1.Link, "results")
    skipped: list[base.Skipped] = []
    differing: list[v1.Disagreement] = []
    outcomes: dict[str, int] = {}
    costs = LinkCosts()
    for record in records:
        if isinstance(record, Failure):
            rows.failures.append(record)
        elif isinstance(record, Skipped):
            skipped.append(skipped_value(record))
        elif isinstance(record, Disagreement):
            differing.append(_disagreement(record))
        else:
            outcome = str(record.answer.outcome)
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
            costs.add(record)
            yield from rows.row(_result(record))
    summary = v1.Summary(
        outcomes, len(skipped), failure_values(rows.failures), tuple(map(_cost, costs.all()))
    )
    yield from rows.end(v1.Link((), tuple(differing), tuple(skipped), summary))


def _result(linked: Linked) -> v1.Result:
    answer = linked.answer
    return v1.Result(
        nvjitlink=_nvjitlink(linked.linker),
        way=linked.way,
        arch=str(linked.arch),
        place=text_or_none(linked.place),
        outcome=str(answer.outcome),
        step=str(answer.step),
        input=answer.input_name,
        code=answer.code,
        code_name=answer.code_name,
        signal=answer.signal,
        reason=linked.reason,
        unresolved=tuple(answer.unresolved),
        log=answer.log,
        seconds=v1.LinkTimes(
            create=answer.seconds.create,
            add=answer.seconds.add,
            complete=answer.seconds.complete,
            again=linked.again_seconds,
        ),
        output_size=answer.output_size,
        kernels=answer.kernels_in_output,
        confirmed=answer.confirmed,
        linker=_linker(linked.linker),
        registers=answer.registers,
        sandbox=answer.sandbox,
    )


def _nvjitlink(linker: Linker) -> v1.NvJitLink | None:
    nvjitlink = linker.tool is Tool.NVJITLINK
    return v1.NvJitLink(linker.version, linker.path) if nvjitlink else None


def _linker(linker: Linker) -> v1.Linker:
    return v1.Linker(linker.tool, linker.version, linker.path)


def _cost(cost: LinkCost) -> v1.Cost:
    return v1.Cost(
        linker=_linker(cost.linker),
        way=cost.way,
        links=len(cost.times),
        kernels=cost.kernels,
        seconds=cost.total,
        median=cost.percentile(50),
        ninetieth=cost.percentile(90),
        slowest=cost.percentile(100),
    )


def _disagreement(disagreement: Disagreement) -> v1.Disagreement:
    values = (
        v1.OptionValue(value, tuple(str(place) for place in places))
        for value, places in disagreement.values
    )
    return v1.Disagreement(disagreement.option, tuple(values))

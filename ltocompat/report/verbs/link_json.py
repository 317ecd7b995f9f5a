"""The answer of ``link`` as ``ltocompat/link/v1``, written as it comes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ltocompat.commands.link import Linked
from ltocompat.model.image import Skipped
from ltocompat.model.link_options import Disagreement
from ltocompat.model.records_v1 import base
from ltocompat.model.records_v1 import link as v1
from ltocompat.report import Failure, Options
from ltocompat.report.formats.jsonstream import Rows, failure_values
from ltocompat.report.verbs.inspect_json import skipped_value


def document(
    records: Iterable[Linked | Disagreement | Skipped | Failure], _: Options
) -> Iterator[str]:
    """The pieces of the JSON document."""
    rows = Rows(v1.Link, "results")
    skipped: list[base.Skipped] = []
    differing: list[v1.Disagreement] = []
    outcomes: dict[str, int] = {}
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
            yield from rows.row(_result(record))
    summary = v1.Summary(outcomes, len(skipped), failure_values(rows.failures))
    yield from rows.end(v1.Link((), tuple(differing), tuple(skipped), summary))


def _result(linked: Linked) -> v1.Result:
    answer = linked.answer
    return v1.Result(
        nvjitlink=v1.Linker(linked.nvjitlink.version, linked.nvjitlink.path),
        way=linked.way,
        arch=str(linked.arch),
        place=None if linked.place is None else str(linked.place),
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
            cached=linked.cached_seconds,
        ),
        output_size=answer.output_size,
        kernels=answer.kernels_in_output,
        confirmed=answer.confirmed,
    )


def _disagreement(disagreement: Disagreement) -> v1.Disagreement:
    values = (
        v1.OptionValue(value, tuple(str(place) for place in places))
        for value, places in disagreement.values
    )
    return v1.Disagreement(disagreement.option, tuple(values))

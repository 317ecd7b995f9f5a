"""The answer of ``link``: what each nvJitLink did, its cost, and why not; ``ltocompat/link/v1``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ltocompat.model.image import Skipped
from ltocompat.report import Failure, Options, Report
from ltocompat.report.document import Block, Code, Column, Items, Paragraph, Table
from ltocompat.report.formats.jsonstream import (
    Array,
    encode,
    error_document,
    failure_value,
    head,
    tail,
)
from ltocompat.report.text import binary_size, brief, count
from ltocompat.report.verbs.inspect_json import skipped_value

if TYPE_CHECKING:
    from ltocompat.commands.link import Linked
    from ltocompat.model.link_options import Disagreement

SCHEMA = "ltocompat/link/v1"

_TOGETHER = (
    Column("nvJitLink"),
    Column("way"),
    Column("target"),
    Column("result"),
    Column("first", right=True),
    Column("again", right=True),
    Column("cached", right=True),
    Column("size", right=True),
    Column("kernels", right=True),
)
_EACH = (
    Column("nvJitLink"),
    Column("way"),
    Column("result"),
    Column("images", right=True),
    Column("why", width=24),
)
_MOST = 20


@dataclass(slots=True)
class _Fold:
    """What is kept until the end: results of whole links, counts of single images."""

    together: list[Linked] = field(default_factory=list)
    each: dict[tuple[str, str, str, str], tuple[int, str]] = field(default_factory=dict)
    disagreements: list[Disagreement] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    skipped_count: int = 0

    def add(self, record: Linked | Disagreement | Skipped) -> None:
        from ltocompat.model.link_options import Disagreement

        if isinstance(record, Skipped):
            self.skipped_count += 1
            if len(self.skipped) < _MOST:
                self.skipped.append(record)
        elif isinstance(record, Disagreement):
            self.disagreements.append(record)
        elif record.place is None:
            self.together.append(record)
        else:
            outcome = str(record.answer.outcome)
            key = (record.nvjitlink.version, record.way, outcome, record.reason or "")
            number, example = self.each.get(key, (0, str(record.place)))
            self.each[key] = (number + 1, example)


def blocks(
    records: Iterable[Linked | Disagreement | Skipped | Failure], _: Options
) -> Iterator[Block]:
    """A row a link, then why some failed, then what the linker does not say."""
    fold = _Fold()
    for record in records:
        if not isinstance(record, Failure):
            fold.add(record)
    if fold.together:
        yield Table(_TOGETHER, tuple(_row(linked) for linked in fold.together))
        reasons = tuple(_why(each_linked) for each_linked in fold.together if each_linked.reason)
        if reasons:
            yield Items("why not", reasons)
    if fold.each:
        yield Table(_EACH, tuple(_count_row(key, value) for key, value in fold.each.items()))
    if fold.disagreements:
        lines = tuple(_differ(disagreement) for disagreement in fold.disagreements)
        yield Items("compile options that differ (nvJitLink links them without a word)", lines)
    if fold.skipped:
        more = fold.skipped_count - len(fold.skipped)
        rows = tuple((Code(skipped.place), ": ", brief(skipped.reason)) for skipped in fold.skipped)
        yield Items("skipped", rows, f"and {more} more" if more else None)
    if not fold.together and not fold.each:
        yield Paragraph(("nothing was linked",))


def _row(linked: Linked) -> tuple[str, ...]:
    from ltocompat.commands.link import seconds

    answer = linked.answer
    size = answer.output_size
    return (
        linked.nvjitlink.version,
        linked.way,
        str(linked.arch),
        str(answer.outcome),
        _milliseconds(None if size is None else seconds(answer)),
        _milliseconds(linked.again_seconds),
        _milliseconds(linked.cached_seconds),
        "" if size is None else binary_size(size),
        "" if answer.kernels_in_output is None else str(answer.kernels_in_output),
    )


def _milliseconds(time: float | None) -> str:
    return "" if time is None else f"{time * 1000:.1f} ms"


def _why(linked: Linked) -> tuple[str, ...]:
    at = (" at ", Code(linked.answer.input_name)) if linked.answer.input_name else ()
    return (f"{linked.nvjitlink.version}, {linked.way}: {linked.reason}", *at)


def _count_row(key: tuple[str, str, str, str], value: tuple[int, str]) -> tuple[str, ...]:
    version, way, outcome, reason = key
    number, example = value
    why = f"{reason}; e.g. {example}" if reason else ""
    return (version, way, outcome, f"{number:,}", why)


def _differ(disagreement: Disagreement) -> tuple[str, ...]:
    parts = []
    for value, places in disagreement.values:
        text = "not given" if value is None else value or "given"
        parts.append(f"{text} in {count(len(places), 'image')}, e.g. {places[0]}")
    return (disagreement.option, ": ", "; ".join(parts))


def document(
    records: Iterable[Linked | Disagreement | Skipped | Failure], _: Options
) -> Iterator[str]:
    """The pieces of the JSON document."""
    from ltocompat.model.link_options import Disagreement

    rows = Array()
    failures: list[Failure] = []
    skipped: list[dict[str, object]] = []
    differing: list[dict[str, object]] = []
    outcomes: dict[str, int] = {}
    begun = False
    for record in records:
        if isinstance(record, Failure):
            failures.append(record)
        elif isinstance(record, Skipped):
            skipped.append(skipped_value(record))
        elif isinstance(record, Disagreement):
            differing.append(_disagreement_value(record))
        else:
            if not begun:
                yield head(SCHEMA, "results")
                begun = True
            outcome = str(record.answer.outcome)
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
            yield rows.element(f"  {encode(_value(record))}")
    if failures and not begun:
        yield error_document(failures)
        return
    if not begun:
        yield head(SCHEMA, "results")
    errors = [failure_value(failure) for failure in failures]
    summary = {"outcomes": outcomes, "skipped": len(skipped), "errors": errors}
    yield from tail(disagreements=differing, skipped=skipped, summary=summary)


def _value(linked: Linked) -> dict[str, object]:
    answer = linked.answer
    return {
        "nvjitlink": {"version": linked.nvjitlink.version, "path": linked.nvjitlink.path},
        "way": linked.way,
        "arch": str(linked.arch),
        "place": None if linked.place is None else str(linked.place),
        "outcome": str(answer.outcome),
        "step": str(answer.step),
        "input": answer.input_name,
        "code": answer.code,
        "code_name": answer.code_name,
        "signal": answer.signal,
        "reason": linked.reason,
        "unresolved": list(answer.unresolved),
        "log": answer.log,
        "seconds": {
            "create": answer.seconds.create,
            "add": answer.seconds.add,
            "complete": answer.seconds.complete,
            "again": linked.again_seconds,
            "cached": linked.cached_seconds,
        },
        "output_size": answer.output_size,
        "kernels": answer.kernels_in_output,
        "confirmed": answer.confirmed,
    }


def _disagreement_value(disagreement: Disagreement) -> dict[str, object]:
    values = [{"value": v, "places": [str(p) for p in places]} for v, places in disagreement.values]
    return {"option": disagreement.option, "values": values}


REPORT: Report[Linked | Disagreement | Skipped] = Report(blocks, document)

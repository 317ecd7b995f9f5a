"""The faces of the answer of a verb that has findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from ltocompat.model.generic import R
from ltocompat.report import FINDING_FORMATS, Failure, Report
from ltocompat.report.findings import FindingRecord, SortedRecords, sort_records


class FindingReport(Report[R], frozen=True):
    """The reports of a verb with findings; every format can write them.

    Attributes:
        finding_records: collects the records for formats that write findings.
    """

    formats: ClassVar[tuple[str, ...]] = FINDING_FORMATS
    columns: ClassVar[Sequence[str]] = (  # noqa: SIM905 - shorter than a list
        "artifact place level verdict rule title target gpus routes modules message remedy "
        "evidence fingerprint judged kernels kernel_count kernel_modules"
    ).split()
    finding_records: Callable[[Iterable[R | Failure]], Iterable[FindingRecord]]

    def sorted_records(self, records: Iterable[R | Failure]) -> SortedRecords:
        """Return all records, sorted by class."""
        return sort_records(self.finding_records(records))

    def rows(self, records: Iterable[R | Failure]) -> Iterator[Failure | Mapping[str, object]]:
        """Yield failures, then a row for each finding."""
        # Imported here: a table needs no rows.
        from ltocompat.report.finding_rows import finding_rows

        answer = self.sorted_records(records)
        yield from answer.failures
        for row in finding_rows(answer.results):
            yield {name: getattr(row, name) for name in self.columns}

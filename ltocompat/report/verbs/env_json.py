"""A machine as ``ltocompat/env/v1``."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ltocompat.model.arch import Release, SmArch
from ltocompat.model.target import DriverVersion, System
from ltocompat.report import Failure, Options
from ltocompat.report.formats.jsonstream import encode, error_document, failure_value
from ltocompat.report.verbs.check_json import target_value

if TYPE_CHECKING:
    from ltocompat.commands.env import Surroundings
    from ltocompat.rules.rule import Problem

SCHEMA = "ltocompat/env/v1"


def document(records: Iterable[Surroundings | Failure], _: Options) -> Iterator[str]:
    """The document: one machine, or an error."""
    failures: list[Failure] = []
    found: Surroundings | None = None
    for record in records:
        if isinstance(record, Failure):
            failures.append(record)
        else:
            found = record
    if found is None:
        yield error_document(failures)
        return
    value = {
        "schema": SCHEMA,
        "environment": _plain(found.environment),
        "target": target_value(found.target),
        "findings": [_flaw(problem) for problem in found.problems],
        "errors": [failure_value(failure) for failure in failures],
    }
    yield encode(value) + "\n"


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a machine's values hold
    """A value as JSON can say it: small values of ours as text, the others member by member."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str | enum.Enum | Release | SmArch | DriverVersion | System):
        return str(value)
    if dataclasses.is_dataclass(value):
        return {
            field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    return [_plain(each_value) for each_value in value]


def _flaw(problem: Problem) -> dict[str, object]:
    return {
        "rule": problem.rule,
        "verdict": str(problem.verdict),
        "message": problem.message,
        "remedy": problem.remedy,
        "evidence": problem.evidence,
    }

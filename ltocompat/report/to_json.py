"""Records of the public functions as the JSON document that their verb writes."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from itertools import chain

from ltocompat.model.errors import UsageError
from ltocompat.model.verdict import Result
from ltocompat.report import Options, Report

# The class of the first record -> the verb whose answer it is.
_VERBS = {
    "Artifact": "inspect", "HostBinary": "inspect", "Module": "inspect", "Skipped": "inspect",
    "Diff": "diff", "Disagreement": "link", "Explained": "explain", "Extracted": "extract",
    "Linked": "link", "Matrix": "matrix", "Required": "require", "Result": "check",
    "SelfTestStep": "selftest", "Slimmed": "slim", "Surroundings": "env", "Weight": "weigh",
}  # fmt: skip


def to_json(records: object) -> str:
    """Return the JSON document of the records that ``inspect``, ``check`` and other functions give.

    Args:
        records: one record, or all records of one call.

    Returns:
        ASCII text, equal to the verb's output with ``--format json``. ``ltocompat schema VERB``
        prints its schema.

    Raises:
        UsageError: there is no record, or no verb writes such a record. Records of ``audit`` need
            the policy: use ``ltocompat audit --format json``.
    """
    several = iter(records) if isinstance(records, Iterable) else iter((records,))
    first = next(several, None)
    verb = _VERBS.get(type(first).__name__)
    if verb is None:
        raise UsageError(
            f"{type(first).__name__} has no JSON document; give what inspect, check, require, "
            "matrix, link, diff, extract, slim, weigh, explain, env or selftest returned"
        )
    report: Report[object] = importlib.import_module(f"ltocompat.report.verbs.{verb}").REPORT
    found: list[object] = [first, *several]
    targets = dict.fromkeys(record.target for record in found if isinstance(record, Result))
    return "".join(report.document(chain(targets, found), Options()))

"""Records of the public functions as the JSON document that their verb writes."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from itertools import chain

from ltocompat.model.errors import UsageError
from ltocompat.model.verdict import Result
from ltocompat.report import Options, Report

# The class of a record -> the verb whose answer it is.
_VERBS = {
    "Artifact": "inspect", "HostBinary": "inspect", "Module": "inspect", "Skipped": "inspect",
    "Diff": "diff", "Disagreement": "link", "Explained": "explain", "Extracted": "extract",
    "Linked": "link", "Matrix": "matrix", "Required": "require", "Result": "check",
    "SelfTestStep": "selftest", "Slimmed": "slim", "Surroundings": "env", "Weight": "weigh",
}  # fmt: skip


def to_json(records: object) -> str:
    """Return the JSON document for records that ``inspect``, ``check`` or others returned.

    Args:
        records: one record, or all records of one call.

    Returns:
        ASCII text, the same as the output of the command with ``--format json``. ``ltocompat schema
        VERB`` prints its schema.

    Raises:
        UsageError: there is no record, or no command writes records of this type. Records of
            ``audit`` can't be written without the policy; use ``ltocompat audit --format json``.
    """
    found: list[object] = [*(records if isinstance(records, Iterable) else (records,))]
    kinds = [type(record).__name__ for record in found] or ["an empty answer"]
    verbs = {_VERBS.get(kind): kind for kind in kinds}
    if None in verbs or len(verbs) > 1:
        kind = verbs.get(None) or " with ".join(verbs.values())
        raise UsageError(f"{kind} has no JSON document; give the records of one verb, not of audit")
    (verb,) = verbs
    report: Report[object] = importlib.import_module(f"ltocompat.report.verbs.{verb}").REPORT
    targets = dict.fromkeys(record.target for record in found if isinstance(record, Result))
    return "".join(report.document(chain(targets, found), Options()))

"""The exceptions of a policy: ignores, which end on a day, and what it allows for good."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from msgspec.structs import asdict

from ltocompat.commands.policy.extent import ANY_GPU, gpu_key
from ltocompat.commands.policy.key_list import EXCEPTIONS, AllowTable, AuditTable, IgnoreTable
from ltocompat.commands.policy.keys import PolicyFile
from ltocompat.commands.policy.values import PolicyException
from ltocompat.model.errors import UsageError, did_you_mean
from ltocompat.model.policy import ANY
from ltocompat.model.verdict import Verdict
from ltocompat.rules.prose import rule_ids


def read_exceptions(
    file: PolicyFile, audit: AuditTable, today: dt.date
) -> Iterator[PolicyException]:
    """Yield the exceptions that hold today.

    Raises:
        UsageError: one is invalid, or has expired.
    """
    for kind in EXCEPTIONS:
        for number, table in enumerate(getattr(audit, kind)):
            found = _exception(file, f"audit.{kind}[{number}]", table)
            if found.expires is not None and found.expires < today:
                raise UsageError(
                    f"{file.path}: {found} expired on {found.expires}; fix the finding and delete "
                    f"the exception, or extend the exception (reason: {found.reason})"
                )
            yield found


def _exception(file: PolicyFile, key: str, table: IgnoreTable | AllowTable) -> PolicyException:
    values = asdict(table)
    values |= {name: text.strip() for name, text in values.items() if isinstance(text, str)}
    values |= {
        "rule": _rule(file, f"{key}.rule", values["rule"]),
        "verdict": Verdict[table.verdict.upper()],
        "asks": (ANY,) if table.asks is None else table.asks or ("",),
        "gpus": file.parsed(f"{key}.gpu", _gpus, values.pop("gpu")),
    }
    return PolicyException(**values, key=key)


def _rule(file: PolicyFile, place: str, rule: str) -> str:
    known = {rule_id.upper(): rule_id for rule_id in rule_ids(built=True)}
    if rule.upper() not in known:
        near = did_you_mean(rule.upper(), known)
        raise file.wrong(place, f"is {rule!r}{near}", "list all with: ltocompat explain --all")
    return known[rule.upper()]


def _gpus(value: str | int | tuple[str, ...] | None) -> tuple[str, ...] | None:
    if value is None:
        return None
    # Imported here: most exceptions name none.
    from ltocompat.facts.gpus import find_gpu

    texts = value if isinstance(value, tuple) else (str(value),)
    named = (gpu_key(find_gpu(name)) for text in texts for name in text.split("+"))
    return tuple(dict.fromkeys(named)) or (ANY_GPU,)

"""The exceptions of a policy: ignores, which end on a day, and what it allows for good."""

from __future__ import annotations

import datetime as dt
import re

from ltocompat.commands.policy.extent import ANY_GPU, ANYTHING, gpu_key
from ltocompat.commands.policy.key_list import names
from ltocompat.commands.policy.keys import PolicyTable
from ltocompat.commands.policy.values import ANY, PolicyException
from ltocompat.model.errors import UsageError, did_you_mean
from ltocompat.model.verdict import Verdict
from ltocompat.rules.prose import rule_ids

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_EXAMPLES = {
    "ignore": "[{rule = ..., reason = ..., expires = 2027-01-31}]",
    "allow": "[{rule = ..., reason = ..., path = ..., verdict = ...}]",
}
WORSE_THAN_OK = {str(verdict): verdict for verdict in reversed(Verdict) if verdict > Verdict.OK}
_ROUTES: dict[str, str | None] = {route: route for route in ("load", "link", "")}


def read_exceptions(audit: PolicyTable, today: dt.date) -> tuple[PolicyException, ...]:
    """The exceptions that hold today.

    Raises:
        UsageError: one says too little, means nothing, or has expired.
    """
    return tuple(
        _exception(kind, table, today) for kind in _EXAMPLES for table in _tables(audit, kind)
    )


def _tables(audit: PolicyTable, kind: str) -> list[PolicyTable]:
    listed = audit.values.get(kind, [])
    if not isinstance(listed, list) or not all(isinstance(value, dict) for value in listed):
        raise audit.wrong(kind, "is not a list of tables", f"write {kind} = {_EXAMPLES[kind]}")
    keys = (f"{audit.key}.{kind}[{number}]" for number in range(len(listed)))
    return [
        PolicyTable(audit.path, key, value, key) for key, value in zip(keys, listed, strict=True)
    ]


def _exception(kind: str, table: PolicyTable, today: dt.date) -> PolicyException:
    table.only(names(f"audit.{kind}"))
    forever = kind == "allow"
    found = PolicyException(
        rule=_rule(table),
        reason=table.text("reason"),
        expires=None if forever else _expires(table),
        path=_pattern(table, "path", needed=forever),
        target=_pattern(table, "target"),
        kernel=_pattern(table, "kernel"),
        about=_pattern(table, "about"),
        route=table.choice("route", _ROUTES, None),
        gpus=_gpus(table),
        verdict=_verdict(table, needed=forever),
        modules=table.number("modules", 0),
        asks=_asks(table),
        key=table.key,
    )
    if found.expires is not None and found.expires < today:
        raise UsageError(
            f"{table.path}: {found} expired on {found.expires}; its reason was: {found.reason}: "
            "mend what it hides and take it out, or write a later expires"
        )
    return found


def _rule(table: PolicyTable) -> str:
    rule = table.text("rule")
    known = {rule_id.upper(): rule_id for rule_id in rule_ids(built=True)}
    if rule.upper() not in known:
        near = did_you_mean(rule.upper(), known)
        raise table.wrong("rule", f"is {rule!r}{near}", "list all with: ltocompat explain --all")
    return known[rule.upper()]


def _pattern(table: PolicyTable, key: str, *, needed: bool = False) -> str:
    return table.text(key) if needed or table.values.get(key) is not None else ANY


def _gpus(table: PolicyTable) -> tuple[str, ...] | None:
    value = table.values.get("gpu")
    if value is None:
        return None
    # Imported here: most exceptions name none.
    from ltocompat.facts.gpus import find_gpu

    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    texts = [value] if isinstance(value, str) else table.texts("gpu") or ()
    named = (gpu_key(find_gpu(name)) for text in texts for name in text.split("+"))
    return table.parsed("gpu", lambda: tuple(dict.fromkeys(named))) or (ANY_GPU,)


def _verdict(table: PolicyTable, *, needed: bool) -> Verdict:
    if needed:
        table.text("verdict")
    return table.choice("verdict", WORSE_THAN_OK, Verdict.FAIL)


def _asks(table: PolicyTable) -> tuple[str, ...]:
    listed = table.texts("asks")
    return (ANYTHING,) if listed is None else listed or ("",)


def _expires(table: PolicyTable) -> dt.date:
    value = table.values.get("expires")
    example = "write expires = 2027-01-31"
    if value is None:
        raise UsageError(f"{table.path}: {table.key} has no expires; {example}")
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value
    text = value if isinstance(value, str) and _DAY.fullmatch(value) else ""
    try:
        return dt.date.fromisoformat(text)
    except ValueError as error:
        raise table.wrong("expires", f"is {value!r}, which is not a day", example) from error

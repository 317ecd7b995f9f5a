"""The ignores of a policy: each with a reason and a day on which it ends."""

from __future__ import annotations

import datetime as dt
import re

from ltocompat.commands.policy.key_list import names
from ltocompat.commands.policy.keys import PolicyTable
from ltocompat.commands.policy.values import Ignore
from ltocompat.model.errors import UsageError, did_you_mean
from ltocompat.rules.catalogue import RULES

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_EXAMPLE = "ignore = [{rule = ..., reason = ..., expires = 2027-01-31}]"


def read_ignores(audit: PolicyTable, today: dt.date) -> tuple[Ignore, ...]:
    """The ignores that hold today.

    Raises:
        UsageError: one says too little, means nothing, or has expired.
    """
    listed = audit.value("ignore")
    if listed is None:
        return ()
    if not isinstance(listed, list) or not all(isinstance(value, dict) for value in listed):
        raise audit.wrong("ignore", "is not a list of tables", f"write {_EXAMPLE}")
    keys = (f"{audit.key}.ignore[{number}]" for number in range(len(listed)))
    tables = [
        PolicyTable(audit.path, key, each_value, key)
        for key, each_value in zip(keys, listed, strict=True)
    ]
    return tuple(_ignore(table, today) for table in tables)


def _ignore(table: PolicyTable, today: dt.date) -> Ignore:
    table.only(names("audit.ignore"))
    rule = table.text("rule", '"PTX-06"')
    known = {each_rule.id.upper(): each_rule.id for each_rule in RULES}
    if rule.upper() not in known:
        near = did_you_mean(rule.upper(), known)
        raise table.wrong("rule", f"is {rule!r}{near}", "list all with: ltocompat explain --all")
    found = Ignore(
        rule=known[rule.upper()],
        reason=table.text("reason", '"why, and until what is done"'),
        expires=_expires(table),
        path=_pattern(table, "path", '"libx*.so"'),
        target=_pattern(table, "target", '"edge"'),
        kernel=_pattern(table, "kernel", '"*nopHardware*"'),
        key=table.key,
    )
    if found.expires < today:
        raise UsageError(
            f"{table.path}: {found} expired on {found.expires}; its reason was: {found.reason}: "
            "mend what it hides and take it out, or write a later expires"
        )
    return found


def _pattern(table: PolicyTable, key: str, example: str) -> str:
    return table.text(key, example) if table.value(key) is not None else "*"


def _expires(table: PolicyTable) -> dt.date:
    value = table.value("expires")
    example = "write expires = 2027-01-31"
    if value is None:
        raise UsageError(f"{table.path}: {table.key} has no expires; {example}")
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value
    text = value if isinstance(value, str) and _DAY.fullmatch(value) else ""
    try:
        return dt.date.fromisoformat(text)
    except ValueError as error:
        raise table.wrong("expires", f"is {value!r}, which is no day", example) from error

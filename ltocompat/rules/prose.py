"""What rules say of themselves: the tables in ``catalogue/prose``, each read when first needed."""

from __future__ import annotations

import functools
import tomllib
from importlib import resources
from typing import Any, NamedTuple


class Prose(NamedTuple):
    """What a rule says of itself.

    Attributes:
        title: what is wrong, in a few words.
        statement: what holds, in full sentences.
        condition: when the rule speaks.
        evidence: which bytes or facts it goes by.
        verdict: what it says then.
        messages: what users see: exact error texts, without the parts that vary.
        remedy: what to do.
        source: where the rule comes from, and what was measured.
    """

    title: str
    statement: str
    condition: str
    evidence: str
    verdict: str
    messages: tuple[str, ...]
    remedy: str
    source: str


class LeftOut(NamedTuple):
    """A rule that is not built.

    Attributes:
        id: its ID.
        title: what is wrong, in a few words.
        why: why it is not built, as a sentence.
    """

    id: str
    title: str
    why: str


@functools.cache
def family_prose(family: str) -> dict[str, Prose]:
    """The prose of a family's rules by ID, in the order of its table."""
    return {rule_id: _prose(row) for rule_id, row in _table(family).items()}


@functools.cache
def rules_left_out() -> tuple[LeftOut, ...]:
    """The rules that are not built, in the order of the catalogue."""
    rows = _table("left_out").items()
    return tuple(LeftOut(rule_id, _line(row["title"]), _line(row["why"])) for rule_id, row in rows)


def _prose(row: dict[str, Any]) -> Prose:
    messages = tuple(row.pop("messages"))  # exact texts, whose spaces count
    return Prose(messages=messages, **{key: _line(text) for key, text in row.items()})


def _line(text: str) -> str:
    """A text that its table breaks into lines."""
    return " ".join(text.split())


def _table(name: str) -> dict[str, dict[str, Any]]:
    folder = resources.files("ltocompat.rules.catalogue")
    return tomllib.loads(folder.joinpath("prose", f"{name}.toml").read_text("utf-8"))

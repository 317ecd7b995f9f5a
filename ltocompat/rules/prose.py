"""The catalogue's tables, whose rows are read when they are needed, and the prose of rules."""

from __future__ import annotations

import functools
import pkgutil
import re
import tomllib
from contextlib import suppress
from typing import Any

from msgspec import Struct
from msgspec.json import decode

from ltocompat.model.verdict import Prose

# The tables of the families' prose, in the order of the catalogue.
FAMILIES = (
    "driver", "ptx", "sass", "ltoir", "fatbin", "cuda_compat", "nvjitlink_loading", "device_link",
    "machine", "package_dependencies", "package_contents", "package_promises", "policy", "image",
)  # fmt: skip


class Row(Struct, frozen=True):
    """A row of a table, with a blank line before it.

    Attributes:
        text: its lines, without the first bracket.
    """

    text: bytes

    @property
    def head(self) -> str:
        """The name in its brackets: the ID of a rule, or the name of its array."""
        return self.text.partition(b"\n")[0].strip(b"[]").decode()

    def line(self, key: str) -> Any:  # noqa: ANN401 - the caller knows the table
        """Return the value of a key that is a list of texts, or a text, in one line."""
        value = self.text.partition(b"\n%b = " % key.encode())[2].partition(b"\n")[0]
        return value[3:-3].decode() if value.startswith(b"'''") else decode(value)

    def values(self) -> dict[str, Any]:
        """Return all values."""
        (found,) = tomllib.loads(f"[{self.text.decode()}").values()
        row: dict[str, Any] = found[0] if isinstance(found, list) else found
        return row


@functools.cache
def rows(*names: str) -> tuple[Row, ...]:
    """Return the rows of a table, ``clients`` or ``prose``, ``ptx``."""
    return tuple(map(Row, (b"\n\n" + _file(*names)).split(b"\n\n[")[1:]))


@functools.cache
def table(name: str) -> dict[str, Any]:
    """Return the values of a table that is needed as a whole."""
    return tomllib.loads(_file(name).decode())


def _file(*names: str) -> bytes:
    """A table's text; naming the package that has the file would import all of its rules."""
    # importlib.resources would take as long to import as all of the prose to read.
    data = pkgutil.get_data("ltocompat.rules", f"catalogue/{'/'.join(names)}.toml")
    return (data or b"").replace(b"\r\n", b"\n")


class BuiltRule(Prose, frozen=True):
    """The prose of an implemented rule, and the texts of its findings without values.

    Attributes:
        finding_consequence: the consequence if a requirement is not met, as the end of a sentence.
        finding_doubt: the consequence if the verdict is unknown.
        finding_evidence: the evidence inside a sentence.
        finding_remedy: the remedy inside a sentence, which no table has.
        finding_choice: what those who can't rebuild the code can install or use instead.
    """

    finding_consequence: str = ""
    finding_doubt: str = ""
    finding_evidence: str = ""
    finding_remedy: str = ""
    finding_choice: str = ""


@functools.cache
def topic_rows() -> dict[str, Row]:
    """Return the rows of topics by each of their names, in lower case with spaces for dashes."""
    table = rows("prose", "topics")
    return {topic_name(word): row for row in table for word in (row.head, *row.line("called"))}


def topic_name(text: str) -> str:
    """Return a text in the form of topic names: ``-dlto`` is ``dlto``."""
    return re.sub(r"[\s_-]+", " ", text.lower()).strip()


def rules() -> tuple[BuiltRule, ...]:
    """Return every implemented rule, in the order of the catalogue."""
    return tuple(map(rule_prose, _built()))


@functools.cache
def _built() -> dict[str, Row]:
    return {row.head: row for family in FAMILIES for row in rows("prose", family)}


def rule_ids(*, built: bool = False) -> tuple[str, ...]:
    """Return the IDs of all implemented rules, then of others, without reading their prose."""
    return (*_built(), *(row.head for row in (() if built else rows("prose", "left_out"))))


@functools.cache
def rule_prose(rule_id: str) -> BuiltRule:
    """The prose of a rule.

    Raises:
        KeyError: no table has this ID.
    """
    values = _built()[rule_id].values()
    messages = tuple(values.pop("messages"))  # exact texts, whose spaces count
    texts = {key: " ".join(text.split()) for key, text in values.items()}
    for key in ("evidence", "remedy"):  # a finding has it within a sentence
        whole = texts[key].removesuffix(".")
        texts.setdefault(f"finding_{key}", f"{whole[:1].lower()}{whole[1:]}")
    return BuiltRule(id=rule_id, messages=messages, **texts)


@functools.cache
def prose_of(rule_id: str) -> BuiltRule | None:
    """Return the prose of a rule in the catalogue; None for a rule of a policy."""
    with suppress(KeyError):
        return rule_prose(rule_id)
    return None


def title_of(rule_id: str) -> str:
    """Return the title of a rule; empty for a rule outside of the catalogue."""
    prose = prose_of(rule_id)
    return "" if prose is None else prose.title


@functools.cache
def rules_left_out() -> dict[str, Prose]:
    """Return the rules that are not implemented, by ID, each with the reason as its statement."""
    table = {row.head: row.values() for row in rows("prose", "left_out")}
    return {id_: Prose(id_, of["title"], " ".join(of["why"].split())) for id_, of in table.items()}

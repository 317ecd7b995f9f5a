"""The prose of rules: the tables in ``catalogue/prose``, each read when first needed."""

from __future__ import annotations

import functools
import pkgutil
import re
import tomllib

from msgspec import Struct

from ltocompat.model.verdict import Prose

FAMILIES = (
    "driver", "ptx", "sass", "ltoir", "fatbin", "cuda_compat", "nvjitlink_loading", "device_link",
    "machine", "package_dependencies", "package_contents", "package_promises", "policy", "image",
)  # fmt: skip
"""The tables of the families' prose, in the order of the catalogue."""


class BuiltRule(Prose, frozen=True):
    """The prose of a rule that is built, and what its findings say that name no values.

    Attributes:
        finding_consequence: what happens where a requirement is not met, as the end of a sentence.
        finding_doubt: the same where that is unknown.
        finding_evidence: the evidence within a sentence.
        finding_remedy: the remedy within one, which no table has.
    """

    finding_consequence: str = ""
    finding_doubt: str = ""
    finding_evidence: str = ""
    finding_remedy: str = ""


class Topic(Struct, frozen=True):
    """An idea that people ask about, rather than an error.

    Attributes:
        id: its word, in small letters.
        title: the word as people write it.
        text: up to six sentences, a line each.
        rules: the IDs of the rules that are about it.
        source: who documents it.
    """

    id: str
    title: str
    text: str
    rules: tuple[str, ...]
    source: str


@functools.cache
def topics() -> dict[str, Topic]:
    """All topics, by each of their names: in small letters, with a space for any dash."""
    found = dict[str, Topic]()
    for word, row in tomllib.loads(_text("topics")).items():
        called = (word, *row.pop("called"))
        topic = Topic(id=word, rules=tuple(row.pop("rules")), **row)
        found |= dict.fromkeys(map(topic_name, called), topic)
    return found


def topic_name(text: str) -> str:
    """Return a text as topics are called: ``-dlto`` is ``dlto``."""
    return re.sub(r"[\s_-]+", " ", text.lower()).strip()


@functools.cache
def family_prose(family: str) -> dict[str, BuiltRule]:
    """The prose of a family's rules by ID, in the order of its table."""
    found = dict[str, BuiltRule]()
    for rule_id, row in tomllib.loads(_text(family)).items():
        messages = tuple(row.pop("messages"))  # exact texts, whose spaces count
        texts = {key: " ".join(text.split()) for key, text in row.items()}
        for key in ("evidence", "remedy"):  # a finding has it within a sentence
            whole = texts[key].removesuffix(".")
            texts.setdefault(f"finding_{key}", f"{whole[:1].lower()}{whole[1:]}")
        found[rule_id] = BuiltRule(id=rule_id, messages=messages, **texts)
    return found


@functools.cache
def rules() -> tuple[BuiltRule, ...]:
    """Every rule that is built, in the order of the catalogue."""
    return tuple(prose for family in FAMILIES for prose in family_prose(family).values())


@functools.cache
def rule_ids(*, built: bool = False) -> tuple[str, ...]:
    """The IDs of all rules, then of those that are not built, without reading what they say."""
    heads = re.compile(r"^\[([^\]]+)\]$", re.MULTILINE)
    names = FAMILIES if built else (*FAMILIES, "left_out")
    return tuple(rule_id for name in names for rule_id in heads.findall(_text(name)))


@functools.cache
def rule_prose(rule_id: str) -> BuiltRule:
    """The prose of a rule, read from the one table that has it.

    Raises:
        KeyError: no table has this ID.
    """
    for family in FAMILIES:
        if f"[{rule_id}]" in _text(family):
            return family_prose(family)[rule_id]
    raise KeyError(rule_id)


@functools.cache
def rules_left_out() -> tuple[Prose, ...]:
    """The rules that are not built, each with the reason as its statement."""
    rows = tomllib.loads(_text("left_out")).items()
    return tuple(Prose(id_, row["title"], " ".join(row["why"].split())) for id_, row in rows)


def catalogue_file(*names: str) -> str:
    """The text of a file of the catalogue.

    Named by the room above: naming the catalogue's package would import all of its rules.
    """
    # importlib.resources would take as long to import as all of the prose to read.
    data = pkgutil.get_data("ltocompat.rules", "/".join(("catalogue", *names)))
    return (data or b"").decode("utf-8").replace("\r\n", "\n")


@functools.cache
def _text(name: str) -> str:
    return catalogue_file("prose", f"{name}.toml")

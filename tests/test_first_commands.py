"""The first command of a fix is one that the reader's installer, build tool, shell or system takes.

Each row's message is put into what texts show of an ecosystem (``data/ecosystems.toml``). Which
command a sentence has is told by words, not by the program's tables.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from test_explain import TEXTS, found_in

from ltocompat.commands.explain import explain
from ltocompat.rules.messages import matches

TABLE: dict[str, Any] = tomllib.loads(
    (Path(__file__).parent / "data" / "ecosystems.toml").read_text("utf-8")
)
COMMANDS: dict[str, str] = TABLE["commands"]
LONGEST = 1500


def kinds_of(text: str) -> set[str]:
    """What a message is about by its words: Python, a compiler, a build system, or none of it."""
    found = {name for name, words in TABLE["texts"].items() if re.search(words, text)}
    return found - {"build"} if found & {"python", "buildsystem"} else found


@cache
def texts_by_row() -> dict[str, str]:
    """A text of each message: its line alone where that is enough to find it."""
    found: dict[str, str] = {}
    for text in TEXTS:
        for match in found_in(text):
            name = match.message.name
            alone = next(matches(match.line), None)
            best = match.line if alone and alone.message.name == name else text
            found[name] = min(found.get(name, best), best, key=len)
    return found


def pastes(ecosystem: dict[str, Any], every: int) -> Iterator[tuple[str, str]]:
    """Each row that can stand in an ecosystem, with a paste of it there."""
    windows = ecosystem.get("windows", False)
    for number, (name, text) in enumerate(texts_by_row().items()):
        kinds = kinds_of(text)
        kind = next((kind for kind in ("python", "buildsystem", "build") if kind in kinds), "plain")
        alien = {"foreign", "unix" if windows else "windows"}
        if (
            number % every
            or len(text) > LONGEST
            or kinds & alien
            or kind not in ecosystem["beside"]
        ):
            continue
        for before, after in ecosystem["evidence"]:
            yield name, f"{before}\n{text}\n{after}".strip()


def first_command(fix: str) -> tuple[str, str] | None:
    """The name of the command that stands first in a fix, and the clause up to it.

    What says that it is typed elsewhere (on the host, in WSL) is left out.
    """
    for place, name in sorted(
        (found.start(), name)
        for name, pattern in COMMANDS.items()
        for found in re.finditer(pattern, fix)
    ):
        clause = re.split(r"\. |; |\(", fix[:place])[-1]
        command = fix[place : place + 60]
        if not re.search(TABLE["places"]["elsewhere"], clause) and not re.match(
            TABLE["places"]["host"], command
        ):
            return name, command
    return None


def strangers(ecosystem: dict[str, Any], every: int) -> list[tuple[str, str]]:
    """The rows whose fix begins with what nobody can type in an ecosystem."""
    found = []
    for name, paste in pastes(ecosystem, every):
        match = next(matches(paste), None)
        if match is None or match.message.name != name:
            continue
        fix = explain(paste)[0].fix or ""
        first = first_command(fix)
        if first and first[0] in ecosystem["never"]:
            own = rf"\b{re.escape(first[0])}\b|{TABLE['of'].get(first[0], '(?!)')}"
            if not re.search(own, f"{name} {texts_by_row()[name]}"):
                found.append((name, fix))
    return found


@pytest.mark.parametrize("ecosystem", TABLE["ecosystem"], ids=lambda row: row["name"])
def test_a_sample_of_fixes_begins_with_what_its_reader_can_type(ecosystem: dict[str, Any]) -> None:
    assert strangers(ecosystem, every=23) == []


@pytest.mark.slow
@pytest.mark.parametrize("ecosystem", TABLE["ecosystem"], ids=lambda row: row["name"])
def test_a_fix_begins_with_what_its_reader_can_type(ecosystem: dict[str, Any]) -> None:
    assert strangers(ecosystem, every=1) == []

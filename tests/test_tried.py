"""A fix doesn't ask for what its text shows done."""

from __future__ import annotations

import re
from functools import cache

import pytest
from test_explain import TEXTS

from ltocompat.commands.explain import explain
from ltocompat.model.errors import Missing, UsageError
from ltocompat.rules.literals import compiled
from ltocompat.rules.message_values import values_known
from ltocompat.rules.tried import untried

TRIED = values_known()["tried"]
SHOWN = {
    "behind a prompt": "\n$ {}",
    "behind a prompt with names": "\n(env) me@host:~/src$ {}",
    "at the beginning of a line": "\n{}\n",
    "in a container's file": "\nRUN {}",
    "in a notebook": "\n!{}",
    "in a sentence": "\nI tried `{}` without success.",
}
ASKED = {
    "by an error": "\nERROR: please run: {}",
    "by the next line": "\nInstall it with:\n  {}",
    "in a question": "\nDo I have to call `{}` first?",
}


def _first_part(fix: str) -> str:
    found = compiled(TRIED["part"]).match(fix)
    assert found is not None
    return found[0]


@cache
def asking() -> dict[str, list[str]]:
    """Fixes of all texts whose first part asks for commands of more than one word."""
    found = {}
    for text in TEXTS:
        try:
            fix = explain(text)[0].fix or ""
        except (Missing, UsageError):
            continue
        part = re.sub(r" \((?:[^()]|\([^()]*\))*\)", "", _first_part(fix)) if fix else ""
        commands = compiled(TRIED["command"]).findall(part)
        if commands and all(len(words.removeprefix("sudo ").split()) > 1 for words in commands):
            found[fix] = commands
    return found


def test_many_fixes_begin_with_commands() -> None:
    assert len(asking()) > 300


@pytest.mark.parametrize("how", SHOWN)
def test_what_a_text_shows_done_doesnt_lead_its_fix(how: str) -> None:
    found = []
    for fix, commands in asking().items():
        text = "an error" + "".join(map(SHOWN[how].format, commands))
        if untried(fix, text).startswith(_first_part(fix)):
            found.append(fix)
    assert found == []


@pytest.mark.parametrize("how", ASKED)
def test_what_is_only_asked_for_is_not_done(how: str) -> None:
    for fix, commands in asking().items():
        text = "an error" + "".join(map(ASKED[how].format, commands))
        assert untried(fix, text) == fix


def test_a_fix_of_which_all_is_done_says_that_it_was_not_enough() -> None:
    for fix, commands in asking().items():
        if fix.rstrip(".") in commands:
            assert untried(fix, f"$ {fix}") == TRIED["enough"] + fix


@pytest.mark.parametrize(
    ("fix", "text", "left"),
    [
        (
            "Start it with --nv: apptainer exec --nv IMAGE.sif (singularity). Or bind /usr/lib64.",
            "singularity -s exec --nv /cvmfs/cc7:amd64 bash",
            "Bind /usr/lib64.",
        ),
        (
            "pip install -U bitsandbytes. To make this permanent, pin it. Or conda install cuda.",
            "(env) C:\\work> python -m pip install --upgrade bitsandbytes",
            "conda install cuda.",
        ),
        (
            "unset LD_LIBRARY_PATH, or install the driver.",
            "$ unset LD_LIBRARY_PATH",
            "Install the driver.",
        ),
        ("pip install a b. Or install c.", "$ pip install a", "pip install a b. Or install c."),
        ("", "$ pip install a", ""),
    ],
)
def test_the_next_part_leads(fix: str, text: str, left: str) -> None:
    assert untried(fix, text) == left

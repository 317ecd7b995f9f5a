"""Explaining: by ID, and by what users paste."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from every_case import every
from hypothesis import given
from hypothesis import strategies as st

from ltocompat.commands.explain import explain, explain_all
from ltocompat.model.errors import UsageError
from ltocompat.rules.catalogue import RULES
from ltocompat.rules.prose import LeftOut, rules_left_out
from ltocompat.rules.rule import Rule

with (Path(__file__).parent / "data" / "incidents.toml").open("rb") as _file:
    INCIDENTS: list[dict[str, Any]] = tomllib.load(_file)["incident"]
BUILT = [incident for incident in INCIDENTS if incident["built"]]
LATER = [table for table in INCIDENTS if not table["built"]]
IDS = [rule.id for rule in RULES]
NOISE = """\
Collecting environment information...
  File "/opt/venv/lib/python3.12/site-packages/torch/cuda/__init__.py", line 372, in _lazy_init
    torch._C._cuda_init()
2026-03-04 12:00:01,337 [INFO] worker-3: loaded 1,549 modules in 0.37 s (/usr/lib/libfoo.so.1.2)
"""


def ids(text: str) -> list[str]:
    return [entry.id for entry in explain(text)]


@every("incident", BUILT)
def test_the_text_of_an_incident_finds_its_rules_first(incident: dict[str, Any]) -> None:
    found = explain(incident["text"])
    first = {entry.id for entry in found if entry.score == found[0].score}
    assert first & set(incident["rules"])
    assert set(incident["rules"]) <= {each_entry.id for each_entry in found}


@every("incident", BUILT)
def test_a_long_log_around_it_changes_nothing(incident: dict[str, Any]) -> None:
    log = NOISE * 9 + incident["text"].replace("\n", "\n\t> ") + "\n" + NOISE * 9
    assert ids(log) == ids(incident["text"])


def test_every_incident_is_there_and_names_rules_that_exist_where_they_are_built() -> None:
    assert [incident["id"] for incident in INCIDENTS] == [
        f"I-{number:02}" for number in range(1, 53)
    ]
    for table in BUILT:
        assert set(table["rules"]) <= set(IDS)
    for table in LATER:
        assert not set(table["rules"]) & set(IDS), "it is built now"


@pytest.mark.parametrize(
    "text",
    [
        "Segmentation fault (core dumped)",
        "make: *** [Makefile:12: all] Error 2",
        "ImportError: cannot import name 'foo' from 'bar'",
        "out of memory",
    ],
)
def test_what_no_rule_knows_is_a_mistake_of_usage(text: str) -> None:
    with pytest.raises(UsageError, match=r"no rule knows .*ltocompat explain --all"):
        explain(text)


@every("rule_id", IDS)
def test_an_id_finds_its_rule_alone_in_any_case(rule_id: str) -> None:
    (found,) = explain(f"  {rule_id.lower()}\n")
    assert (found.id, found.score, found.matched, found.built) == (rule_id, 1.0, None, True)
    assert found.statement


@every("left_out", rules_left_out())
def test_a_rule_that_is_not_built_says_why(left_out: LeftOut) -> None:
    (found,) = explain(left_out.id.lower())
    assert not found.built
    assert left_out.why in found.statement


def test_ids_in_a_pasted_report_come_first() -> None:
    assert ids("error: LTO-01: PTX 9.2 was fine, see cmp-02; error 804")[:2] == ["LTO-01", "CMP-02"]


@every("rule", RULES)
def test_every_message_finds_its_rule(rule: Rule) -> None:
    for message in rule.messages:
        assert rule.id in ids(message)


@pytest.mark.parametrize(
    ("text", "rule_id"),
    [
        ("CUDA error 209", "SASS-06"),
        ("cuInit returned 803", "CMP-03"),
        ("[804]", "CMP-02"),
        ("error code 222", "PTX-01"),
    ],
)
def test_the_number_of_a_cuda_error_is_enough(text: str, rule_id: str) -> None:
    assert rule_id in ids(text)


@pytest.mark.parametrize(
    "text",
    [
        # other versions, names, paths, quotes and line ends than in the catalogue
        "(4) in\n  nvvmAddNVVMContainerToProgram,  may need newer\n  version of nvJitLink library",
        "libnvJitLink.so.13 is too old; it is version 13.1, need at least version 13.3",
    ],
)
def test_details_make_no_difference(text: str) -> None:
    assert ids(text)[0] == "LTO-01"


def test_what_nvjitlink_says_of_ptx_is_told_from_what_the_driver_says() -> None:
    log = "ptxas application ptx input, line 9; fatal   : Unsupported .version 9.5; current version"
    assert ids(f"NVJITLINK_ERROR_PTX_COMPILE\n{log} is '9.4'")[0] == "PTX-02"
    assert ids(f"CUDA_ERROR_UNSUPPORTED_PTX_VERSION\n{log} is '9.4'")[0] == "PTX-01"


def test_the_best_match_is_told() -> None:
    found = explain("nvlink fatal : Input file 'x/liby.a:z.o' newer than toolkit (130 vs 129)")[0]
    assert found.id == "BLD-02"
    assert found.matched == "nvlink fatal : Input file 'a.o' newer than toolkit (129 vs 120)"
    assert 0 < found.score < 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n",
        "hello",
        "XYZ-99",
        "segmentation fault (core dumped)",
        "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 7.93 GiB total)",
        "fatal error: cuda_runtime.h: No such file or directory",
        "CUDA error 700: an illegal memory access was encountered",
    ],
)
def test_nothing_to_find(text: str) -> None:
    with pytest.raises(UsageError):
        explain(text)


def test_a_huge_text_is_read_at_both_ends() -> None:
    middle = NOISE * 1000
    assert ids(f"error 804\n{middle}") == ids("error 804")
    assert ids(f"{middle}\nerror 804") == ids("error 804")


def test_all_rules_are_listed_in_order() -> None:
    left_out = [rule.id for rule in rules_left_out()]
    assert [entry.id for entry in explain_all()] == IDS + left_out


@given(st.text(max_size=300))
def test_any_text_ends_in_rules_or_in_one_sentence(text: str) -> None:
    try:
        assert explain(text)
    except UsageError as error:
        assert "\n" not in str(error)  # noqa: PT017 - both ends are fine

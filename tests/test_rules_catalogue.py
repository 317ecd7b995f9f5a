"""The catalogue as a whole: every rule can be told apart, read, and found in its own file."""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path

import pytest
from rules import image, loading, sample

from ltocompat.model.image import ImageKind
from ltocompat.model.verdict import Verdict
from ltocompat.rules import catalogue
from ltocompat.rules.catalogue import LEFT_OUT, RULES, requirements_of, rule
from ltocompat.rules.rule import Rule

ROOM = Path(catalogue.__file__).parent
# Families of the catalogue that are built: every ID has to be a rule, or to be left out with a why.
CATALOGUE = {
    "DRV": ["01", "02", "03", "04", "05"],
    "PTX": ["01", "02", "03", "04", "05", "06", "07", "08"],
    "SASS": ["01", "02", "03", "04", "05", "06", "07", "08"],
    "LTO": [*(f"{n:02}" for n in range(1, 17)), "10b"],
    "FB": ["01", "02", "03"],
    "CMP": ["01", "02", "03", "04", "05", "06", "07"],
    "NJL": [f"{n:02}" for n in range(1, 10)],
    "BLD": [*(f"{n:02}" for n in range(1, 8)), "05b"],
    "ENV": ["01", "02", "03", "04"],
}
# A rule may be seen by nobody before it strikes; these have no message.
SILENT = {"PTX-07", "LTO-12", "FB-03", "CMP-07", "IMG-02", "TRIAL", "TRIAL-DISAGREES", "TGT-01"} | {
    *("CMP-06", "ENV-02", "ENV-03", "NJL-09"),
}


def files_of_rules() -> dict[str, Path]:
    """ID -> file, by the first word of each docstring."""
    found = {}
    for path in ROOM.glob("*.py"):
        docstring = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        if "\nRULE = Rule(" in path.read_text("utf-8"):
            found[docstring.split(":")[0]] = path
    return found


def test_every_rule_of_the_catalogue_is_built_or_left_out_with_a_reason() -> None:
    wanted = {f"{family}-{number}" for family, numbers in CATALOGUE.items() for number in numbers}
    built = {each_rule.id for each_rule in RULES}
    left_out = {each_left_out.id for each_left_out in LEFT_OUT}
    assert wanted <= built | left_out
    assert not built & left_out
    assert left_out <= wanted


def test_every_rule_has_an_id_of_its_own_and_a_file_that_begins_with_it() -> None:
    files = files_of_rules()
    assert sorted(files) == sorted(each_rule.id for each_rule in RULES)
    assert len({one.id for one in RULES}) == len(RULES)


@pytest.mark.parametrize("one", RULES, ids=lambda one: one.id)
def test_every_rule_says_what_it_is_about(one: Rule) -> None:
    for field in dataclasses.fields(Rule):
        value = getattr(one, field.name)
        if isinstance(value, str):
            assert value.strip(), field.name
            assert "  " not in value, field.name
    assert bool(one.messages) is (one.id not in SILENT)
    assert len(set(one.messages)) == len(one.messages)


@pytest.mark.parametrize("left_out", LEFT_OUT, ids=lambda value: value.id)
def test_every_rule_that_is_left_out_says_why(left_out: catalogue.left_out.LeftOut) -> None:
    assert left_out.title
    assert left_out.why.endswith(".")


def test_a_rule_is_found_by_its_id() -> None:
    assert rule("LTO-01").title == "LTO-IR newer than the linker"


def test_equal_images_ask_once() -> None:
    twice = (image(ImageKind.PTX, "compute_80", isa="9.0", prelinked=True),) * 2
    subject = loading(*twice, on="sm_90")
    assert len(subject.picked) == 2
    found = requirements_of(subject)
    assert len(found) == len(set(found))
    assert [requirement.rule for requirement in found].count("PTX-01") == 1


def test_a_picked_image_with_a_problem_is_unknown() -> None:
    (corrupt, _) = sample("broken/zstd-cut.fatbin")
    (found,) = rule("IMG-01").requirements(loading(corrupt, on="sm_80"))
    assert found.constraint.judge(None) is Verdict.UNKNOWN
    assert "did not decompress full frame" in found.consequence
    assert not list(rule("IMG-01").requirements(loading(corrupt, on="sm_70")))


def test_no_requirement_has_an_empty_part_and_each_belongs_to_its_rule() -> None:
    subjects = [
        loading(*sample("objects/nvcc-13.0-plain.o"), on="sm_80"),
        loading(*sample("objects/nvcc-13.0-plain.o"), on="sm_90"),
        loading(*sample("objects/nvcc-13.0-plain.o"), on="sm_120"),
    ]
    for subject in subjects:
        for one in RULES:
            for found in one.requirements(subject):
                assert found.rule == one.id
                parts = (found.subject, found.consequence, found.remedy, found.evidence)
                assert all(parts)
                assert not any(part.endswith(".") for part in parts)
                assert str(found.constraint)

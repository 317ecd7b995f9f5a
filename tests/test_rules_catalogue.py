"""The catalogue as a whole: every rule can be told apart, read, and found in its family."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from every_case import every
from msgspec.structs import asdict
from rules import image, loading, rule, sample
from samples import FOLDER

from ltocompat.model.image import ImageKind
from ltocompat.model.verdict import Level, Verdict
from ltocompat.model.version import SITE_URL, rule_url
from ltocompat.rules import catalogue
from ltocompat.rules.catalogue import FAMILIES, RULES, requirements_of, rules_about
from ltocompat.rules.catalogue.family import Family
from ltocompat.rules.prose import LeftOut, family_prose, rules_left_out
from ltocompat.rules.rule import Rule

ROOM = Path(catalogue.__file__).parent
# The catalogue as it was planned: every ID has to be a rule, or to be left out with a why.
CATALOGUE = {
    "DRV": ["01", "02", "03", "04", "05"],
    "PTX": ["01", "02", "03", "04", "05", "06", "07", "08"],
    "SASS": ["01", "02", "03", "04", "05", "06", "07", "08"],
    "LTO": [*(f"{n:02}" for n in range(1, 17)), "10b"],
    "FB": ["01", "02", "03"],
    "CMP": ["01", "02", "03", "04", "05", "06", "07"],
    "NJL": [f"{n:02}" for n in range(1, 10)],
    "BLD": [*(f"{n:02}" for n in range(1, 8)), "05b", "11", "12", "13"],
    "ENV": ["01", "02", "03", "04"],
}
# A rule may be seen by nobody before it strikes; these have no message.
SILENT = {
    "BLD-14",
    "BLD-15",
    "FB-03",
    "FB-04",
    "FB-06",
    "FB-05",
    "POL-04",
    "CMP-07",
    "ENV-10",
    "IMG-02",
    "IMG-05",
    "IMG-06",
    "IMG-07",
    "LTO-17",
    "LTO-18",
    "PTX-07",
    "PTX-12",
    "SASS-09",
    "PKG-14",
    "PKG-17",
    "TRIAL",
    "TRIAL-DISAGREES",
    "TGT-01",
    "TGT-02",
    "TGT-03",
    "VAR-01",
} | {
    *("CMP-06", "ENV-02", "ENV-03", "NJL-09"),
}


# Rules that stand in the module of another family: the metadata of packages break NJL-06.
ELSEWHERE = {"NJL-06": "package_dependencies"}
_ID = re.compile(r"[A-Z]{2,5}-[0-9]{2}[a-z]?|TRIAL(?:-DISAGREES)?")


def ids_in(family: Family) -> set[str]:
    """The IDs that a module of the catalogue names in its code, outside of sentences."""
    tree = ast.parse((ROOM / f"{family.name}.py").read_text("utf-8"))
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    return {text for text in texts if isinstance(text, str) and _ID.fullmatch(text)}


def test_every_rule_of_the_catalogue_is_built_or_left_out_with_a_reason() -> None:
    wanted = {f"{family}-{number}" for family, numbers in CATALOGUE.items() for number in numbers}
    built = {rule.id for rule in RULES}
    left_out = {rule.id for rule in rules_left_out()}
    assert wanted <= built | left_out
    assert not built & left_out
    assert left_out <= wanted


def test_every_rule_has_an_id_of_its_own() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)


def test_every_module_of_the_catalogue_is_a_family_with_a_table_of_prose() -> None:
    modules = {path.stem for path in ROOM.glob("*.py")} - {"__init__", "family", "library_problems"}
    tables = {path.stem for path in (ROOM / "prose").glob("*.toml")} - {"left_out"}
    assert modules == tables == {family.name for family in FAMILIES}


@every("kind", sorted({kind for rule in RULES for kind in rule.functions}))
def test_rules_are_looked_up_by_what_they_look_at(kind: str) -> None:
    looking = [rule for rule in RULES if kind in rule.functions]
    assert {rule.id for rule in rules_about(kind)} == {rule.id for rule in looking}


WITHOUT_LINKS = """
import ltocompat, sys
list(ltocompat.check(sys.argv[1], "driver=580.95.05,gpu=h100"))
print(*(name for name in sys.modules if name.startswith("ltocompat.rules.catalogue.")))
"""


def test_code_that_is_loaded_meets_no_rule_on_links_host_files_or_packages() -> None:
    sample = FOLDER / "fatbin" / "nvcc-13.2-none.fatbin"
    command = [sys.executable, "-c", WITHOUT_LINKS, str(sample)]
    modules = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    families = {name.rsplit(".", 1)[1] for name in modules} - {"family"}
    assert families == {"cuda_compat", "driver", "fatbin", "image", "ptx", "sass"}


@every("family", FAMILIES)
def test_code_and_prose_of_a_family_have_the_same_rules_in_the_same_order(family: Family) -> None:
    assert [rule.id for rule in family.rules] == list(family_prose(family.name))


@every("family", FAMILIES)
def test_the_functions_of_a_family_speak_for_its_own_rules_alone(family: Family) -> None:
    assert ids_in(family) == {rule.id for rule in family.rules}


def test_the_rules_of_one_prefix_stand_in_one_module() -> None:
    places = {
        # Those of packages (PKG) in three, which are called so.
        (each.id.split("-")[0], re.sub(r"^package_\w+", "packages", each.family))
        for each in RULES
        if ELSEWHERE.get(each.id) != each.family
    }
    assert len({prefix for prefix, _ in places}) == len(places)


def test_a_rule_is_added_once() -> None:
    family = Family("ptx")
    family.declare("PTX-01", Level.ERROR)
    with pytest.raises(ValueError, match="PTX-01 is declared twice in ptx"):
        family.declare("PTX-01", Level.NOTE)


@every("rule", RULES)
def test_every_rule_says_what_it_is_about(rule: Rule) -> None:
    for field, value in asdict(rule.prose).items():
        if isinstance(value, str):
            assert value.strip(), field
            assert "  " not in value, field
    assert bool(rule.prose.messages) is (rule.id not in SILENT)
    assert len(set(rule.prose.messages)) == len(rule.prose.messages)


@every("rule", RULES)
def test_the_level_of_a_rule_is_that_of_the_verdict_that_it_names_first(rule: Rule) -> None:
    first = re.split(r"[\s:;,(]", rule.prose.verdict)[0]
    levels = {"fail": Level.ERROR, "unknown": Level.WARNING, "undocumented": Level.WARNING}
    assert rule.level is levels.get(first, Level.NOTE)


@every("left_out", rules_left_out())
def test_every_rule_that_is_left_out_says_why(left_out: LeftOut) -> None:
    assert left_out.title
    assert left_out.why.endswith(".")


def test_prose_is_read_when_a_finding_needs_it_and_not_before() -> None:
    code = """
import sys
import ltocompat
from ltocompat.rules.prose import family_prose
path = sys.argv[1]
(judged,) = ltocompat.check([path], ["driver=580,gpu=sm_80"])
assert (str(judged.verdict), judged.findings) == ("ok", ())
assert family_prose.cache_info().currsize == 0
(judged,) = ltocompat.check([path], ["driver=470,gpu=sm_80"])
assert str(judged.verdict) == "fail"
assert family_prose.cache_info().currsize == 1
"""
    path = str(FOLDER / "objects" / "nvcc-13.0-plain.o")
    subprocess.run([sys.executable, "-c", code, path], check=True)


def test_the_address_of_a_rule_is_one_base_and_its_id() -> None:
    assert rule_url("LTO-10b") == f"{SITE_URL}rules/lto-10b.html"


def test_a_rule_is_found_by_its_id() -> None:
    assert rule("LTO-01").prose.title == "LTO-IR newer than the linker"


def test_equal_images_ask_once() -> None:
    twice = (image(ImageKind.PTX, "compute_80", isa="9.0", prelinked=True),) * 2
    subject = loading(*twice, on="sm_90")
    assert len(subject.picked) == 2
    found = requirements_of(subject)
    assert len(found) == len(set(found))
    assert [requirement.rule for requirement in found].count("PTX-01") == 1


def test_a_picked_image_with_a_problem_is_unknown() -> None:
    (corrupt, sound) = sample("broken/zstd-cut.fatbin")
    (found,) = rule("IMG-01").ask("requirements", loading(corrupt, on="sm_80"))
    assert found.constraint.judge(None) is Verdict.UNKNOWN
    assert "did not decompress full frame" in found.consequence
    assert not list(rule("IMG-01").ask("requirements", loading(corrupt, sound, on="sm_90")))
    # Where nothing is picked, it may be for the damage.
    assert list(rule("IMG-01").ask("requirements", loading(corrupt, on="sm_70")))


def test_no_requirement_has_an_empty_part_and_each_belongs_to_its_rule() -> None:
    subjects = [
        loading(*sample("objects/nvcc-13.0-plain.o"), on="sm_80"),
        loading(*sample("objects/nvcc-13.0-plain.o"), on="sm_90"),
        loading(*sample("objects/nvcc-13.0-plain.o"), on="sm_120"),
    ]
    for subject in subjects:
        for each_rule in RULES:
            if "requirements" not in each_rule.functions:
                continue
            for found in each_rule.ask("requirements", subject):
                assert found.rule == each_rule.id
                parts = (found.subject, found.consequence, found.remedy, found.evidence)
                assert all(parts)
                assert not any(part.endswith(".") for part in parts)
                assert str(found.constraint)

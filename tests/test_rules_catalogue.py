"""The catalogue as a whole: every rule can be told apart, read, and found in its family."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from every_case import every
from msgspec.structs import asdict
from rule_cases import spares, strikes
from rules import ask, image, loading, sample
from samples import FOLDER

from ltocompat.model.generic import grouped
from ltocompat.model.image import ImageKind
from ltocompat.model.verdict import Prose, Verdict
from ltocompat.rules import catalogue, prose
from ltocompat.rules.catalogue import requirements_of, rules_about
from ltocompat.rules.prose import (
    FAMILIES,
    rules,
    rules_left_out,
)
from ltocompat.rules.rule import Rule

ROOM = Path(catalogue.__file__).parent
_ID = re.compile(r"[A-Z]{2,5}-[0-9]{2}[a-z]?|TRIAL(?:-DISAGREES)?")


def ids_in(family: str) -> set[str]:
    """The IDs that a module of the catalogue names in its code, outside of sentences."""
    tree = ast.parse((ROOM / f"{family}.py").read_text("utf-8"))
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    return {text for text in texts if isinstance(text, str) and _ID.fullmatch(text)}


def test_every_rule_has_an_id_of_its_own() -> None:
    assert len({rule.id for rule in rules()}) == len(rules())


def test_every_module_of_the_catalogue_is_a_family_with_a_table_of_prose() -> None:
    modules = {path.stem for path in ROOM.glob("*.py")} - {"__init__", "library_problems"}
    tables = {path.stem for path in (ROOM / "prose").glob("*.toml")} - {"left_out", "topics"}
    assert modules == tables == {*FAMILIES}


def functions_of(family: str) -> list[Rule]:
    """The rules that a module of the catalogue has functions of, in its order."""
    module = importlib.import_module(f"ltocompat.rules.catalogue.{family}")
    return [found for found in vars(module).values() if isinstance(found, Rule)]


WITHOUT_LINKS = """
import ltocompat, sys
list(ltocompat.check(sys.argv[1], "driver=580.95.05,gpu=h100"))
print(*(name for name in sys.modules if name.startswith("ltocompat.rules.catalogue.")))
"""


def test_code_that_is_loaded_meets_no_rule_on_links_host_files_or_packages() -> None:
    sample = FOLDER / "fatbin" / "nvcc-13.2-none.fatbin"
    command = [sys.executable, "-c", WITHOUT_LINKS, str(sample)]
    modules = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    families = {name.rsplit(".", 1)[1] for name in modules}
    assert families == {"cuda_compat", "driver", "fatbin", "image", "ptx", "sass"}


@every("family", FAMILIES)
def test_the_functions_of_a_family_speak_for_its_own_rules_alone(family: str) -> None:
    assert ids_in(family) == {found.id for found in functions_of(family)}


@every("rule", rules())
def test_every_rule_says_what_it_is_about(rule: Prose) -> None:
    for field, value in asdict(rule).items():
        if isinstance(value, str) and field not in (
            "finding_consequence",
            "finding_doubt",
            "finding_choice",
        ):
            assert value.strip(), field
            assert "  " not in value, field
    assert len(set(rule.messages)) == len(rule.messages)


@every("left_out", rules_left_out().values())
def test_every_rule_that_is_left_out_says_why(left_out: Prose) -> None:
    assert left_out.title
    assert left_out.statement.endswith(".")


@every("path", [path.relative_to(ROOM) for path in ROOM.rglob("*.toml")])
def test_a_table_is_the_same_row_by_row_as_it_is_as_a_whole(path: Path) -> None:
    whole = tomllib.loads((ROOM / path).read_text("utf-8"))
    if path.stem in ("machine_patterns", "values"):
        assert prose.table(path.stem) == whole
        return
    rows = prose.rows(*path.with_suffix("").parts)
    assert grouped((row.head, row.values()) for row in rows) == {
        head: found if isinstance(found, list) else [found] for head, found in whole.items()
    }
    for row in rows:
        for key in {"find", "called", "name"} & row.values().keys():
            assert row.line(key) == row.values()[key]


def test_prose_is_read_when_a_finding_needs_it_and_not_before() -> None:
    code = """
import sys
import ltocompat
from ltocompat.rules.prose import rule_prose
path = sys.argv[1]
(judged,) = ltocompat.check([path], ["driver=580,gpu=sm_80"])
assert (str(judged.verdict), judged.findings) == ("ok", ())
assert rule_prose.cache_info().currsize == 0
(judged,) = ltocompat.check([path], ["driver=470,gpu=sm_80"])
assert str(judged.verdict) == "fail"
assert rule_prose.cache_info().currsize == len({found.rule for found in judged.findings})
"""
    path = str(FOLDER / "objects" / "nvcc-13.0-plain.o")
    subprocess.run([sys.executable, "-c", code, path], check=True)


@strikes("IMG-01")
@spares("IMG-01")
def test_a_picked_image_with_a_problem_is_unknown() -> None:
    (corrupt, sound) = sample("broken/zstd-cut.fatbin")
    (found,) = ask("IMG-01", loading(corrupt, on="sm_80"))
    assert found.constraint.judge(None) is Verdict.UNKNOWN
    assert "did not decompress full frame" in found.consequence
    assert not list(ask("IMG-01", loading(corrupt, sound, on="sm_90")))
    # Where nothing is picked, it may be for the damage.
    assert list(ask("IMG-01", loading(corrupt, on="sm_70")))


@pytest.mark.parametrize(("release", "told"), [("12.9", 0), ("13.0", 1)])
def test_picked_code_by_a_toolkit_that_left_its_architecture_is_unknown(
    release: str, told: int
) -> None:
    """As two cubins of cuDNN 9.13.0.50, which no GPU but those of sm_70 to sm_72 loads."""
    old = image(ImageKind.SASS, "sm_70", release)
    found = [each.constraint.judge(None) for each in ask("IMG-01", loading(old, on="sm_70"))]
    assert found == [Verdict.UNKNOWN] * told
    assert not ask("IMG-01", loading(old, on="sm_80"))


def test_no_requirement_has_an_empty_part_and_each_belongs_to_its_rule() -> None:
    subjects = [
        loading(*sample("objects/nvcc-13.0-plain.o"), on="sm_80"),
        loading(*sample("objects/nvcc-13.0-plain.o"), on="sm_90"),
        loading(*sample("objects/nvcc-13.0-plain.o"), on="sm_120"),
    ]
    speaking = {rule.id for what in ("Subject", "Gpu") for rule in rules_about(what)}
    for subject in subjects:
        for found in requirements_of(subject):
            assert found.rule in speaking
            told = map(found.text, ("consequence", "remedy", "evidence"))
            parts = (found.subject, *told)
            assert all(parts)
            assert not any(part.endswith(".") for part in parts)
            assert str(found.constraint)

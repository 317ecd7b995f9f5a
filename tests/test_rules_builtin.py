"""The engine knows rules by their fields; an ID stands in the catalogue, or where it is named."""

from __future__ import annotations

import ast
from pathlib import Path

import ltocompat
from ltocompat.rules import builtin_rules
from ltocompat.rules.prose import rules

PACKAGE = Path(ltocompat.__file__).parent
AT_HOME = (PACKAGE / "rules" / "catalogue", PACKAGE / "rules" / "builtin_rules.py")
IDS = {rule.id for rule in rules()}


def rule_ids(path: Path) -> set[str]:
    source = path.read_text(encoding="utf-8")
    if not any(rule in source for rule in IDS):  # to parse every module takes seconds
        return set()
    tree = ast.parse(source)
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    return {text for text in texts if isinstance(text, str)} & IDS


def test_no_rule_id_stands_outside_of_the_catalogue_and_the_module_that_names_them() -> None:
    modules = [
        path
        for path in PACKAGE.rglob("*.py")
        if not any(home == path or home in path.parents for home in AT_HOME)
    ]
    assert len(modules) > 200
    assert {str(path): rule_ids(path) for path in modules if rule_ids(path)} == {}


def test_every_name_is_that_of_a_rule() -> None:
    names = {value for name, value in vars(builtin_rules).items() if name.isupper()}
    assert {name for name in names if isinstance(name, str)} <= IDS
    assert builtin_rules.ASKED_BY_PROJECT <= IDS

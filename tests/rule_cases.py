"""Marks of tests: the rules that strike in them, and those that spare. Pages of rules name them."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

HERE = Path(__file__).parent
WORDS = ("strikes", "spares")

TestT = TypeVar("TestT", bound=Callable[..., object])


def strikes(*rule_ids: str) -> Callable[[TestT], TestT]:
    """Say that these rules speak in a test."""
    del rule_ids  # read where it stands
    return lambda test: test


spares = strikes
"""Say that these rules keep silent in a test, where they might be thought to speak."""


@functools.cache
def marked() -> dict[tuple[str, str], str]:
    """The first test of each rule and word: ``("SASS-01", "strikes")`` -> ``file::test``."""
    found: dict[tuple[str, str], str] = {}
    for path in sorted(HERE.glob("test_*.py")):
        text = path.read_text("utf-8")
        if "from rule_cases import" in text:
            for name, word, rule_id in _marks(ast.parse(text)):
                found.setdefault((rule_id, word), f"{path.stem}::{name}")
    return found


def _marks(tree: ast.Module) -> Iterator[tuple[str, str, str]]:
    for node in tree.body:
        for mark in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
            if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name):
                for rule_id in mark.args if mark.func.id in WORDS else ():
                    assert isinstance(node, ast.FunctionDef)
                    yield node.name, mark.func.id, ast.literal_eval(rule_id)

"""Mutants change what a program does, and neither its messages nor its types."""

from __future__ import annotations

import ast
from textwrap import dedent

from mutants import mutants_of

SOURCE = dedent("""\
    LIMIT = 3

    @cache(9)
    def f(a: Literal[1], b: int = 2) -> int:
        if a < b and g(a, b):
            note(max(a, b))
        elif a:
            raise ValueError(f"{a + 1}")
        kept: Literal[5] = b
        return kept if a else 7
    """)

EXPECTED = {
    ("a bound moved", "(a <= b)"),
    ("and/or exchanged", "(a < b or g(a, b))"),
    ("arguments swapped", "(g(b, a))"),
    ("a call dropped", "pass"),
    ("a branch dropped", "(7)"),
    ("a number one off", "(8)"),
}


def test_each_change_is_of_code_that_decides() -> None:
    found = mutants_of("f.py", SOURCE)
    branches = [each for each in found if each.text.startswith(("if ", "elif "))]
    assert {(each.what, each.text) for each in found if each not in branches} == EXPECTED
    assert [each.text.splitlines()[0] for each in branches] == ["if a < b and g(a, b):", "elif a:"]
    for each in found:
        assert ast.dump(ast.parse(each.applied(SOURCE))) != ast.dump(ast.parse(SOURCE))

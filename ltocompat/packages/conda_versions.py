"""Versions as conda writes them (``>=12.4,<13``, ``12.9.*``, ``=12.9``, ``12|13.*``), as PEP 440's.

Source: conda documentation, "Package match specifications": a comma means and, a bar or; a bare
version is exact, one with a single ``=`` or an asterisk means everything that begins so.
"""

from __future__ import annotations

import re

_CLAUSE = re.compile(r"(==|!=|>=|<=|~=|=|>|<)?\s*([0-9][\w.+!]*?)(\.?\*)?")


def alternatives(text: str) -> tuple[str, ...] | None:
    """The specifiers of which one has to hold; None where the text can't be read.

    Any version: ``("",)``.
    """
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    found = []
    for part in text.split("|"):
        clauses = [_clause(each_text.strip()) for each_text in part.split(",")]
        if None in clauses:
            return None
        joined = ",".join(clause for clause in clauses if clause)
        try:
            SpecifierSet(joined)
        except InvalidSpecifier:
            return None
        found.append(joined)
    return tuple(found)


def _clause(text: str) -> str | None:
    """One comparison; empty for any version, None where it can't be read."""
    if text in ("", "*"):
        return ""
    match = _CLAUSE.fullmatch(text)
    if match is None:
        return None
    operator, version, star = match.groups()
    if operator in (None, "=", "=="):
        # ==12.4.* is what both write; a bare 12.4 is exact.
        fuzzy = star or operator == "="
        return f"=={version}.*" if fuzzy else f"=={version}"
    # Behind other operators an asterisk means nothing: >=12.4.* is >=12.4.
    return f"{operator}{version}.*" if operator == "!=" and star else f"{operator}{version}"

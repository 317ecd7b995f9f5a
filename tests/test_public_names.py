from __future__ import annotations

import subprocess
import sys

import pytest

import ltocompat

VERBS = (
    "audit",
    "check",
    "diff",
    "explain",
    "extract",
    "inspect",
    "link",
    "matrix",
    "require",
    "selftest",
)


@pytest.mark.parametrize("name", ltocompat.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(ltocompat, name) is not None


@pytest.mark.parametrize("verb", VERBS)
def test_no_module_hides_a_verb(verb: str) -> None:
    """A module of the same name would stand in its place as soon as anyone imports it."""
    code = (
        f"import sys, ltocompat, ltocompat.cli; ltocompat.{verb}; "
        f"assert 'ltocompat.{verb}' not in sys.modules; assert callable(ltocompat.{verb})"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

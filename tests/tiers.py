"""The part of many cases that every change meets, and the rest, which meets it at night."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

left_out = {"nightly": False}
"""Whether a run is without them: they would be collected in vain (`conftest.py`)."""


def sampled(cases: Iterable[Any], every: int) -> list[ParameterSet]:
    """Leave one case in ``every`` to the slow tier, and the others to ``nox -s nightly``."""
    return [
        pytest.param(case, marks=pytest.mark.nightly if number % every else ())
        for number, case in enumerate(cases)
        if not (number % every and left_out["nightly"])
    ]

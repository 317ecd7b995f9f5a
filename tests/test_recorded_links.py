"""What real nvJitLinks and nvlinks did with hundreds of made-up links, and what ``check`` says.

The links, and who was asked how, are in ``tests/oracle``. A verdict that the linker contradicts is
a bug of ours, whatever else is true.
"""

from __future__ import annotations

import pytest
import recorded
from held_against import DISAGREE, Held, held
from link_cases import STRATA
from measure import described

# Where bytes can't tell: code for one architecture on its way to another, headers that lie, crashes
# at random.
_UNSEEN = ("suffixes", "damaged headers", "cubin headers", "copied SASS")
# nvlink goes on without an object that has nothing for its target, which matters where others need
# it.
_SHARE = {"nvlink": 0.15}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[Held]:
    return list(held(recorded.stored(), tmp_path_factory.mktemp("links")))


@pytest.mark.parametrize("stratum", STRATA)
def test_no_verdict_is_contradicted_by_the_linker(rows: list[Held], stratum: str) -> None:
    some = [row for row in rows if row.case.stratum == stratum]
    assert some
    contradicted = [described(row) for row in some if row.outcome == DISAGREE]
    assert not contradicted


@pytest.mark.parametrize("stratum", [name for name in STRATA if name not in _UNSEEN])
def test_few_verdicts_are_unknown(rows: list[Held], stratum: str) -> None:
    # LTO-IR shows no names: of a whole link with some, only a linker tells.
    some = [row for row in rows if row.case.stratum == stratum and not row.case.lto]
    unknown = [described(row) for row in some if row.outcome == "unknown"]
    assert len(unknown) <= _SHARE.get(stratum, 0.05) * len(some), unknown

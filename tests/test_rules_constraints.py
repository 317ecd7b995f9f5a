"""A constraint answers both questions: what `check` makes of a version, what `require` prints."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from newest import NEWEST

from ltocompat.facts import drivers, nvjitlink_minors
from ltocompat.model.arch import Release
from ltocompat.model.target import DriverVersion
from ltocompat.model.verdict import Verdict
from ltocompat.rules import constraints
from ltocompat.rules.constraints import (
    FIRST_NVJITLINK,
    DriverOfCuda,
    DriverSureFrom,
    FixedVerdict,
    Informational,
    KernelKnows,
    LinkerExporting,
    LinkerFinding,
    LinkerNamed,
    LinkerNotOlderThan,
    LinkerOfCubin,
    LinkerOfKnownMaker,
    LinkerOfMajor,
    LinkerTargets,
    LinkerTolerating,
    Threshold,
    UnknownConstraint,
)
from ltocompat.rules.engine.driver_floors import least_version
from ltocompat.rules.rule import Component, Constraint, Floor, Unbounded

WITHOUT_FLOOR = """
from typing import ClassVar

from ltocompat.model.arch import Release
from ltocompat.model.verdict import Verdict
from ltocompat.rules.rule import Component, Constraint


class EvenMinor(Constraint):
    component: ClassVar = Component.LINKER

    def __str__(self) -> str:
        return "of an even minor"

    def judge(self, value: Release, /) -> Verdict:
        return Verdict.FAIL if value.minor % 2 else Verdict.OK


EvenMinor()
"""

BOUNDED = [
    Threshold(DriverVersion((460, 27, 3)), open_below=True),
    Threshold(DriverVersion((525, 60, 13))),
    DriverOfCuda(Release(12, 4)),
    DriverSureFrom(Release(13, 4), Release(13, 0)),
    KernelKnows(100),
    LinkerExporting(Release(12, 4)),
    Threshold(Release(12, 4)),
    LinkerNamed((12, 13), certain=True),
    LinkerNamed((13,), certain=False),
    LinkerNotOlderThan((Release(13, 1), Release(13, 2), Release(13, 3))),
    LinkerOfCubin(Release(13, 0), tolerated=True),
    LinkerOfCubin(Release(13, 0)),
    Threshold(Release(12, 1), open_below=True, nondeterministic=True),
    Threshold(Release(12, 3), open_below=True),
    LinkerTargets(100),
    LinkerTargets(100, family=True),
    LinkerFinding(tuple(r for r in nvjitlink_minors() if r >= Release(13, 2)), FIRST_NVJITLINK),
]

UNBOUNDED = [
    (Informational(), Unbounded.ANY),
    (FixedVerdict(Verdict.UNKNOWN), Unbounded.ANY),
    (UnknownConstraint(Component.DRIVER), Unbounded.NOT_KNOWN),
    (LinkerNotOlderThan(()), Unbounded.NOT_KNOWN),
    (LinkerNotOlderThan((), NEWEST), Unbounded.NONE_KNOWN),
    (LinkerNotOlderThan((), Release(12, 9)), Unbounded.NOT_KNOWN),
    (LinkerOfKnownMaker(Release(13, 5)), Unbounded.ANY),
    (DriverOfCuda(Release(13, 0), surely=False), Unbounded.NOT_KNOWN),
    (LinkerOfMajor((Release(11, 8),)), Unbounded.NONE_KNOWN),
    (LinkerOfMajor((Release(12, 4),)), Unbounded.ANY),
    (DriverOfCuda(Release(99, 0)), Unbounded.NONE_KNOWN),
    (KernelKnows(990), Unbounded.NONE_KNOWN),
    (LinkerTargets(990), Unbounded.NONE_KNOWN),
    (LinkerTolerating(Release(12, 6)), Unbounded.ANY),
]


def known_versions(constraint: Constraint) -> list[Release] | list[DriverVersion]:
    if constraint.component is Component.LINKER:
        return list(nvjitlink_minors())
    return [drivers.first_production(branch) for branch in drivers.driver_branches()]


def test_a_constraint_without_a_floor_can_not_be_made() -> None:
    with pytest.raises(TypeError, match=r"abstract method '?floor"):
        exec(WITHOUT_FLOOR, {"__name__": "made_up"})  # noqa: S102 - mypy reads the same text


@pytest.mark.slow
def test_a_constraint_without_a_floor_fails_type_checking(tmp_path: Path) -> None:
    snippet = tmp_path / "made_up.py"
    snippet.write_text(WITHOUT_FLOOR, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", str(snippet)]
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert found.returncode == 1
    assert 'Cannot instantiate abstract class "EvenMinor"' in found.stdout
    assert '"floor"' in found.stdout


@pytest.mark.parametrize("constraint", BOUNDED, ids=repr)
def test_what_require_prints_is_what_check_takes(constraint: Constraint) -> None:
    floor = constraint.floor()
    assert isinstance(floor, Floor)
    assert constraint.judge(floor.sure) is Verdict.OK
    assert constraint.judge(floor.possible) in (Verdict.OK, Verdict.UNKNOWN)
    for version in known_versions(constraint):
        if version < floor.possible:
            assert constraint.judge(version) >= Verdict.UNDOCUMENTED
        elif version < floor.sure:
            assert constraint.judge(version) is Verdict.UNKNOWN


@pytest.mark.parametrize("major", range(7, 15))
def test_code_of_any_cuda_release_needs_the_first_known_driver_that_check_takes(major: int) -> None:
    known = [drivers.first_production(branch) for branch in drivers.driver_branches()]
    for minor in range(10):
        constraint = DriverOfCuda(Release(major, minor))
        enough = [v for v in known if constraint.judge(v) is Verdict.OK]
        floor = constraint.floor()
        if enough:
            assert isinstance(floor, Floor)
            assert floor.sure == enough[0]
            assert str(constraint).startswith(">=")
        else:
            assert floor is Unbounded.NONE_KNOWN


@pytest.mark.parametrize(("constraint", "reason"), UNBOUNDED, ids=repr)
def test_where_there_is_no_floor_the_reason_is_what_check_finds(
    constraint: Constraint, reason: Unbounded
) -> None:
    assert constraint.floor() is reason
    verdicts = {constraint.judge(version) for version in known_versions(constraint)}
    if reason is Unbounded.NONE_KNOWN:
        assert verdicts == {Verdict.FAIL}
    elif reason is Unbounded.NOT_KNOWN:
        # Older ones than something that can't be used may fail; none is sure to work.
        assert verdicts in ({Verdict.UNKNOWN}, {Verdict.UNKNOWN, Verdict.FAIL})


def test_every_constraint_is_among_those_that_are_tried() -> None:
    tried = {type(each) for each in (*BOUNDED, *(constraint for constraint, _ in UNBOUNDED))}
    # These bound nothing by a least version: a newest driver, a package, one minor of NVRTC.
    others = {
        constraints.CompatNewerThanKernel,
        constraints.CompatOnLinux,
        constraints.CompatOnSupportedGpu,
        constraints.CompatPairProvided,
        constraints.DriverOfWriter,
        constraints.KernelStillServes,
        constraints.NvrtcOfMinor,
    }
    every = {each for each in vars(constraints).values() if isinstance(each, type)}
    assert every == tried | others


def test_the_floors_of_several_constraints_fold_into_one_that_all_take() -> None:
    several = [Threshold(Release(12, 4)), LinkerNotOlderThan((Release(12, 6), Release(12, 8)))]
    least = least_version(several)
    assert (least.possible, least.sure) == (Release(12, 6), Release(12, 8))


def test_constraints_that_exclude_each_other_have_no_least_version() -> None:
    several = [LinkerExporting(Release(12, 4)), Threshold(Release(13, 2))]
    assert least_version(several).unbounded is Unbounded.NONE_KNOWN

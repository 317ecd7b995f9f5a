"""What `require` prints of a constraint follows from what `check` makes of known versions."""

from __future__ import annotations

import pytest
from every_case import every
from newest import NEWEST

from ltocompat.facts import drivers
from ltocompat.model.arch import Release
from ltocompat.model.target import DriverVersion
from ltocompat.model.verdict import Verdict
from ltocompat.rules.constraints import (
    COMPAT_LINUX,
    FIRST_NVJITLINK,
    DriverOfWriter,
    FixedVerdict,
    Informational,
    LinkerOfKnownMaker,
    LinkerOfMajor,
    LinkerTargets,
    LinkerThatPicks,
    at_least,
    driver_of_cuda,
    driver_still_serves,
    driver_sure_from,
    kernel_knows,
    least_version,
    linker_exporting,
    linker_named,
    linker_not_older_than,
    linker_of_cubin,
    nvrtc_of_minor,
    tolerated_from,
    unknown_version,
)
from ltocompat.rules.rule import Component, Constraint, Unbounded

# The floors by the documents and measurements that the tables name.
FLOORS: list[tuple[Constraint, DriverVersion | Release | Unbounded]] = [
    (at_least(DriverVersion((460, 27, 3)), open_below=True), DriverVersion((460, 27, 3))),
    (at_least(DriverVersion((525, 60, 13))), DriverVersion((525, 60, 13))),
    (driver_of_cuda(Release(12, 4)), DriverVersion((550, 54, 14))),
    (driver_of_cuda(Release(7, 0)), DriverVersion((346, 46))),
    (driver_sure_from(Release(13, 4), Release(13, 0)), DriverVersion((615,))),
    (kernel_knows(100), DriverVersion((570, 26))),
    (kernel_knows(990), Unbounded.NONE_KNOWN),
    (driver_still_serves(70), Unbounded.ANY),
    (DriverOfWriter(Release(12, 4)), Unbounded.ANY),
    (driver_of_cuda(Release(13, 0), surely=False), Unbounded.NOT_KNOWN),
    (driver_of_cuda(Release(99, 0)), Unbounded.NONE_KNOWN),
    (unknown_version(Component.DRIVER), Unbounded.NOT_KNOWN),
    (linker_exporting(Release(12, 4)), Release(12, 4)),
    (linker_exporting(Release(13, 3), by_name=True), Release(13, 3)),
    (at_least(Release(12, 4)), Release(12, 4)),
    (at_least(Release(12, 3), open_below=True), Release(12, 3)),
    (linker_named((12, 13), certain=True), FIRST_NVJITLINK),
    (linker_named((13,), certain=False), Release(13, 0)),
    (
        linker_not_older_than((Release(13, 1), Release(13, 2), Release(13, 3))),
        Release(13, 3),
    ),
    (linker_not_older_than(()), Unbounded.NOT_KNOWN),
    (linker_not_older_than((), NEWEST), Unbounded.NONE_KNOWN),
    (linker_not_older_than((), Release(12, 9)), Unbounded.NOT_KNOWN),
    (linker_of_cubin(Release(13, 0), tolerated=True, doubtful=False), Release(13, 0)),
    (LinkerTargets(100), Release(12, 8)),
    (LinkerTargets(100, family=True), Release(12, 9)),
    (LinkerTargets(990), Unbounded.NONE_KNOWN),
    (LinkerThatPicks((Release(13, 2), NEWEST), FIRST_NVJITLINK), NEWEST),
    (LinkerOfMajor((Release(12, 4),)), Unbounded.ANY),
    (LinkerOfKnownMaker(Release(13, 5)), Unbounded.ANY),
    (tolerated_from(Release(12, 6), Verdict.UNDOCUMENTED), Unbounded.ANY),
    (nvrtc_of_minor(Release(12, 4)), Release(12, 4)),
    (Informational(), Unbounded.ANY),
    (FixedVerdict(Verdict.FAIL), Unbounded.ANY),
    (COMPAT_LINUX, Unbounded.ANY),
]


@every("constraint, floor", FLOORS)
def test_the_floor_of_a_constraint_is_what_the_documents_say(
    constraint: Constraint, floor: object
) -> None:
    assert least_version([constraint]) == floor


@pytest.mark.parametrize(
    ("constraint", "said"),
    [
        # sm_70 came with CUDA 9.0 and sm_90 with 11.8, but nvJitLink with 12.0.
        (LinkerTargets(70), ">= 12.0, <= 12.9"),
        (LinkerTargets(90), ">= 12.0, < 14"),
        (LinkerTargets(100), ">= 12.8, < 14"),
        (LinkerTargets(100, family=True), ">= 12.9, < 14"),
    ],
)
def test_no_floor_of_a_target_is_older_than_the_first_linker(
    constraint: Constraint, said: str
) -> None:
    assert str(constraint) == said


@pytest.mark.parametrize("major", range(7, 15))
def test_code_of_any_cuda_release_needs_the_first_known_driver_that_check_takes(major: int) -> None:
    """Those of CUDA 7.0 to 10.2 are older than every branch."""
    known = [*sorted(drivers.earlier_drivers().values()), *drivers.production_drivers()]
    for minor in range(10):
        constraint = driver_of_cuda(Release(major, minor))
        enough = [v for v in known if constraint.judge(v) is Verdict.OK]
        assert least_version([constraint]) == (enough[0] if enough else Unbounded.NONE_KNOWN)
        assert not enough or str(constraint).startswith(">=")
        own = drivers.earlier_driver(Release(major, minor))
        assert own is None or str(constraint) == f">= {enough[0]} (CUDA {major}.{minor})"


@pytest.mark.parametrize(
    ("kind", "some"), [("tolerated", Verdict.UNDOCUMENTED), ("doubtful", Verdict.UNKNOWN)]
)
def test_older_linkers_of_12_take_some_cubins_from_12_5_on(kind: str, some: Verdict) -> None:
    """Measured: nvJitLink 12.5 to 12.9 link sm_80 cubins of 13.x, and 12.0 to 12.4 refuse them."""
    kinds = {"tolerated": False, "doubtful": False, kind: True}
    constraint = linker_of_cubin(Release(13, 2), **kinds)
    of_12 = [constraint.judge(Release(12, minor)) for minor in range(10)]
    assert of_12 == [Verdict.FAIL] * 5 + [some] * 5
    of_13 = [constraint.judge(Release(13, minor)) for minor in range(4)]
    assert of_13 == [Verdict.FAIL] * 2 + [Verdict.OK] * 2

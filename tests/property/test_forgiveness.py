"""Law 9: a baseline forgives on each GPU what stood there with no less extent, and nothing else.

The oracle counts modules one by one: each of today has to find one of its own in the release before
that fared as badly and asked for as much.
"""

from __future__ import annotations

import datetime as dt
import json
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec.structs
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ltocompat.commands.policy.baseline import Baseline, read_baseline, write_baseline
from ltocompat.commands.policy.draft import DraftTarget, ignored_findings
from ltocompat.commands.policy.extent import extent_of, no_worse
from ltocompat.commands.policy.gate import Audited, audited
from ltocompat.commands.policy.reading import read_policy
from ltocompat.commands.policy.values import Policy
from ltocompat.model.location import Location
from ltocompat.model.target import DriverVersion
from ltocompat.model.verdict import LEVELS, Coverage, Finding, Result, Route, Verdict
from ltocompat.targets import parse

TODAY = dt.date(2026, 11, 23)
(TARGET,) = parse(["name=oldest,driver=525,gpu=h100+l4+b200"])


@dataclass(frozen=True)
class Told:
    """A finding: what it is, how bad, of how many modules, and the version that it asks for."""

    rule: str
    file: str
    about: str
    verdict: Verdict
    modules: int
    version: tuple[int, ...] = ()

    @property
    def identity(self) -> tuple[str, str, str]:
        return self.rule, self.file, self.about

    def finding(self, wheel: str) -> Finding:
        place = Location(wheel).member(self.file).at(0x40)
        asked = (f"driver {'.'.join(map(str, self.version))}",) if self.version else ()
        message = f"{self.about} needs {asked} in {self.modules}"
        return Finding(
            self.verdict,
            message,
            rule=self.rule,
            level=LEVELS[self.verdict],
            source="",
            module_count=self.modules,
            example=place,
            subject=self.about,
            asked=asked,
        )


VERDICTS = st.sampled_from([each for each in Verdict if each >= Verdict.OK])
VERSIONS = st.sampled_from([(), (525, 60, 13), (525, 60, 13, 0), (550, 54), (550, 163), (580, 65)])
TOLD = st.builds(
    Told,
    st.sampled_from(["PTX-01", "DRV-01"]),
    st.sampled_from(["pkg/liba.so", "pkg/libb.so"]),
    st.sampled_from(["PTX compute_80", "PTX compute_90"]),
    VERDICTS,
    st.integers(0, 3),
    VERSIONS,
)
CELLS = st.tuples(
    st.sampled_from([*TARGET.gpus, None]), st.sampled_from([None, Route.LOAD, Route.LINK])
)
RELEASES = st.dictionaries(CELLS, st.lists(TOLD, max_size=5), min_size=1, max_size=4)
Release = dict[tuple[object, Route | None], list[Told]]


def padded(version: tuple[int, ...]) -> tuple[int, ...]:
    """550.54 is 550.54.0."""
    return (*version, 0, 0, 0, 0)[:4]


def as_bad(now: Told, then: Told) -> bool:
    """Whether a module of today fares no worse than one of before."""
    older = padded(now.version) <= padded(then.version)
    asks = older if now.version and then.version else now.version == then.version
    return asks and now.verdict <= then.verdict and bool(now.modules) == bool(then.modules)


def matched(now: Sequence[Told], then: Sequence[Told]) -> bool:
    """Whether each module of today has one of its own before: augmenting paths over single ones."""
    today = [told for told in now for _ in range(told.modules)]
    before = [told for told in then for _ in range(told.modules)]
    owner: dict[int, int] = {}

    def places(number: int, seen: set[int]) -> bool:
        for index, told in enumerate(before):
            if index not in seen and as_bad(today[number], told):
                seen.add(index)
                if index not in owner or places(owner[index], seen):
                    owner[index] = number
                    return True
        return False

    whole = [told for told in now if not told.modules]
    return all(any(as_bad(told, known) for known in then) for told in whole) and all(
        places(number, set()) for number in range(len(today))
    )


def counting(told: Iterable[Told], fail_on: Verdict) -> list[Told]:
    return [each for each in told if each.verdict in range(fail_on, 5) or each.verdict == 3]


def stood(now: Release, then: Release, fail_on: Verdict) -> bool:
    """Whether all that counts today stood before, file by file, GPU by GPU, route by route."""
    return all(
        matched(
            [told for told in counting(findings, fail_on) if told.identity == identity],
            [
                told
                for told in then.get(cell, ())
                if told.identity == identity and told.verdict is not Verdict.OK
            ],
        )
        for cell, findings in now.items()
        for identity in {told.identity for told in counting(findings, fail_on)}
    )


def results(release: Release, version: str) -> list[Result]:
    wheel = f"dist/pkg-{version}-py3-none-manylinux_2_28_x86_64.whl"
    return [
        Result(
            *(wheel, TARGET, gpu, route),  # type: ignore[arg-type] # cells hold GPUs
            max((told.verdict for told in every), default=Verdict.OK),
            Coverage(9),
            (),
            tuple(told.finding(wheel) for told in every),
            (),
        )
        for (gpu, route), every in release.items()
    ]


def green(release: Release, policy: Policy, baseline: Baseline) -> bool:
    found = audited(results(release, "2.0"), policy, baseline)
    return not any(each.failed or each.undecided for each in found)


EXTENTS = st.lists(
    st.builds(
        Told, st.just("r"), st.just("f"), st.just("a"), VERDICTS, st.integers(0, 3), VERSIONS
    ),
    max_size=5,
)
ONE = Told("PTX-01", "pkg/liba.so", "PTX compute_80", Verdict.FAIL, 1, (525, 60, 13))
H100, L4, _ = TARGET.gpus


@settings(max_examples=2000, deadline=None)
@given(EXTENTS, EXTENTS)
@example(
    # Two values are no order: each quadrant holds enough, and both modules need the same one.
    [replace(ONE, version=(525, 1)), replace(ONE, verdict=Verdict.JIT, version=(580, 1))],
    [
        replace(ONE, version=(580, 1)),
        replace(ONE, verdict=Verdict.UNKNOWN, version=(550, 1)),
    ],
)
def test_an_extent_is_no_worse_just_where_each_module_had_its_like(
    now: list[Told], then: list[Told]
) -> None:
    extents = [extent_of(told.finding("x") for told in each) for each in (now, then)]
    assert no_worse(extents[0], extents[1]) is matched(now, then)


@settings(max_examples=600, deadline=None)
@given(RELEASES, RELEASES, st.sampled_from([Verdict.FAIL, Verdict.UNKNOWN, Verdict.UNDOCUMENTED]))
@example({(H100, None): [ONE]}, {(H100, None): [ONE], (L4, None): [ONE]}, Verdict.FAIL)
@example({(H100, None): [ONE]}, {(H100, None): [replace(ONE, modules=6)]}, Verdict.FAIL)
@example({(H100, None): [ONE]}, {(H100, None): [replace(ONE, version=(580, 65))]}, Verdict.FAIL)
@example({(H100, None): [ONE]}, {(H100, Route.LINK): [ONE]}, Verdict.FAIL)
@example({(H100, None): [ONE]}, {(H100, None): [replace(ONE, about="SASS")]}, Verdict.FAIL)
@example(
    {(H100, None): [replace(ONE, verdict=Verdict.UNKNOWN)]}, {(H100, None): [ONE]}, Verdict.FAIL
)
@example({(H100, None): [ONE]}, {(H100, None): [ONE]}, Verdict.FAIL)
def test_a_release_is_green_just_where_all_of_it_stood_in_the_one_before(
    then: Release, now: Release, fail_on: Verdict
) -> None:
    policy = Policy(source="x.toml", targets=(TARGET,), fail_on=fail_on)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "known.json")
        write_baseline(path, results(then, "1.0"))
        baseline = read_baseline(path)
    assert green(now, policy, baseline) is stood(now, then, fail_on)
    assert green(then, policy, baseline)


@settings(max_examples=200, deadline=None)
@given(RELEASES, RELEASES)
@example({(H100, None): [ONE]}, {(H100, None): [ONE], (L4, None): [ONE]})
@example({(H100, None): [ONE]}, {(H100, None): [replace(ONE, file="pkg/libb.so")]})
@example({(H100, None): [ONE]}, {(H100, None): [replace(ONE, version=(580, 65))]})
@example({(H100, None): [ONE]}, {(H100, None): [replace(ONE, modules=6)]})
@example({(H100, None): [replace(ONE, modules=0)]}, {(H100, None): [ONE]})
@example({(H100, None): [ONE]}, {(H100, Route.LOAD): [ONE]})
@example({(H100, None): [ONE]}, {(H100, None): [replace(ONE, about="SASS")]})
def test_what_init_ignores_is_just_what_there_was(then: Release, now: Release) -> None:
    open_ = audited(results(then, "1.0"), Policy(source="x.toml", targets=(TARGET,)), Baseline())
    draft = DraftTarget(DriverVersion((525, 60, 13)), ignored=ignored_findings(open_))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ltocompat.toml"
        path.write_text(draft.text(TODAY), "utf-8")
        policy = msgspec.structs.replace(read_policy(str(path), TODAY), targets=(TARGET,))
    was = {cell: counting(every, Verdict.FAIL) for cell, every in then.items()}
    assert green(now, policy, Baseline()) is stood(now, was, Verdict.FAIL)
    assert green(then, policy, Baseline())


def test_a_baseline_says_what_it_forgives_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    then: Release = {(H100, None): [ONE], (L4, None): [replace(ONE, modules=2, version=())]}
    assert write_baseline(str(path), results(then, "1.0")) == 1
    value = json.loads(path.read_text("utf-8"))
    (row,) = value["findings"]
    assert value["schema"] == "ltocompat/baseline/v2"
    assert row["extent"] == {
        "h100": [{"verdict": "fail", "modules": 1, "asked": "driver 525.60.13"}],
        "l4": [{"verdict": "fail", "modules": 2, "asked": ""}],
    }
    assert (row["distribution"], row["member"]) == ("pkg", "pkg/liba.so")
    assert (row["subject"], row["target"]) == ("PTX compute_80", "os=linux,driver=525")


def test_what_grew_is_told_with_what_was_known(tmp_path: Path) -> None:
    path = str(tmp_path / "known.json")
    write_baseline(path, results({(H100, None): [ONE], (L4, None): [ONE]}, "1.0"))
    *_, b200 = TARGET.gpus
    now: Release = {
        (H100, None): [ONE],
        (L4, None): [replace(ONE, modules=6, version=(550, 54))],
        (b200, None): [ONE],
    }
    policy = Policy(source="x.toml", targets=(TARGET,))
    found: tuple[Audited, ...] = audited(results(now, "2.0"), policy, read_baseline(path))
    assert [each.failed for each in found] == [False, True, True]
    said = (
        "(known on h100; new on b200; more on l4: fail of 6 modules asking for driver 550.54, "
        "after fail of 1 module asking for driver 525.60.13)"
    )
    for each in found[1:]:
        assert each.result.findings[0].message.endswith(said)
    assert "known on" not in found[0].result.findings[0].message

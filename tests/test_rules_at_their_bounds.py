# ruff: noqa: SLF001 - what a private function decides, no answer shows at its very bound.
"""Rules of packages, each asked by itself, on both sides of what decides."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import re
import tomllib
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import verdict_values
from msgspec.structs import replace
from verdict_values import H100, ONE

from ltocompat.commands import (
    audit,
    diff,
    explain,
    extract,
    link,
    losses,
    read_artifacts,
    selftest,
    trials,
    variants_of_files,
)
from ltocompat.commands.comparison import release_side
from ltocompat.commands.files_at_fault import _before
from ltocompat.commands.kernel_names import _is_of_modules
from ltocompat.commands.policy import gate, problems
from ltocompat.commands.policy.baseline import Baseline
from ltocompat.commands.policy.draft import DraftTarget
from ltocompat.commands.policy.values import Policy
from ltocompat.commands.survey import task
from ltocompat.commands.survey.report import _chart
from ltocompat.commands.survey.run import Tally
from ltocompat.commands.survey.storage import copy_file
from ltocompat.facts.drivers import cuda_branch, driver_branches, first_production
from ltocompat.model.arch import Release, SmArch
from ltocompat.model.errors import LtocompatError, Missing, UnreadableInput, UsageError
from ltocompat.model.failure import Failure, Note
from ltocompat.model.image import KERNEL_KINDS, Skipped
from ltocompat.model.library_name import PATHFINDER
from ltocompat.model.limits import Budget
from ltocompat.model.linker import Tool
from ltocompat.model.location import Location
from ltocompat.model.target import DriverVersion, Gpu
from ltocompat.model.verdict import Coverage, Extent, Level, Route, Verdict
from ltocompat.packages.values import Kind
from ltocompat.rules.builtin_rules import SPARSE_COVERAGE
from ltocompat.rules.catalogue import (
    library_problems,
    package_contents,
    package_dependencies,
    package_promises,
)
from ltocompat.rules.engine import artifact_findings, judge_artifact
from ltocompat.rules.engine.arch_parts import stem
from ltocompat.rules.literals import Index
from ltocompat.rules.needed_compilers import Strength
from ltocompat.scan.walk import ScanSettings
from ltocompat.trial.cached_linker import lost_kernels
from ltocompat.trial.logs import explain as explained_log
from ltocompat.trial.values import Answer, LinkOutcome, Step

Patch = pytest.MonkeyPatch
OK, JIT, UNDOCUMENTED, UNKNOWN, FAIL = (each for each in Verdict if each >= Verdict.OK)


def some(**values: object) -> Any:  # noqa: ANN401 - stands for whatever a function looks at
    return SimpleNamespace(**values)


def driver(text: str) -> DriverVersion | None:
    return DriverVersion(tuple(map(int, text.split(".")))) if text else None


@pytest.mark.parametrize(
    ("sass", "ptx", "beyond", "promise", "told"),
    [
        ("550.54", "", False, "550.54", {}),
        ("550.54", "", False, "550.40", {"driver": FAIL}),
        ("", "550.54", False, "550.40", {"driver": FAIL}),
        ("550.54", "570.26", False, "550.54", {"driver of PTX": OK}),
        ("550.54", "570.26", False, "570.26", {}),
        ("550.54", "570.26", False, "570.10", {"driver of PTX": OK}),
        ("550.54", "550.54", False, "550.40", {"driver": FAIL}),
        ("550.54", "570.26", False, "525", {"driver": FAIL, "driver of PTX": OK}),
        ("550.54", "", True, "550.54", {"": OK}),
        ("", "", True, "550.54", {"": FAIL}),
        ("", "", True, f"{driver_branches()[-1]}", {"": FAIL}),
        ("", "", True, f"{driver_branches()[-1] + 1}", {"": UNKNOWN}),  # which may compile it
        ("", "", False, "550.54", {}),
        ("550.54", "570.26", True, "", {}),
    ],
)
def test_a_promise_of_a_driver_is_held_against_each_kind_of_code(
    sass: str, ptx: str, beyond: bool, promise: str, told: dict[str, Verdict]
) -> None:
    required = some(driver_sass=driver(sass), driver_ptx=driver(ptx), ptx_beyond=beyond)
    found = [
        *package_promises.driver_problems(required, driver(promise), "it is", "driver", "a.toml")
    ]
    assert {each.subject: each.verdict for each in found} == told
    assert {each.evidence for each in found} <= {"a.toml"}
    if "driver" in told:
        assert ("the SASS needs" if sass else "the PTX needs") in found[0].message


@pytest.mark.parametrize(
    ("path", "size", "told"),
    [
        ("/usr/lib64/libcuda.so", 0, True),
        ("/usr/lib64/libcuda.so", 9, False),  # cut, which is told as such
        ("/usr/lib64/libfoo.so", 0, False),
        ("/opt/stubs/libcuda.so", 0, False),
    ],
)
def test_docker_commit_leaves_empty_files_where_a_driver_was_mounted(
    path: str, size: int, told: bool
) -> None:
    skipped = Skipped(Location("image.tar", (path,)), "it is too short", size)
    image = some(hosts=(), skipped=(skipped,), package=some(name="image.tar"))
    found = [*package_promises.driver_in_image.function(image)]
    assert [each.subject for each in found] == ["empty libcuda"] * told


@pytest.mark.parametrize(
    ("more", "binding", "compat", "verdict"),
    [
        (0, True, False, None),
        (1, True, False, FAIL),
        (1, False, False, UNDOCUMENTED),
        (1, True, True, OK),
    ],
)
def test_metadata_admit_the_first_driver_of_their_cuda(
    monkeypatch: Patch, more: int, binding: bool, compat: bool, verdict: Verdict | None
) -> None:
    least = first_production(cuda_branch(Release(12, 4)) or 0)
    floor = DriverVersion((*least.numbers[:-1], least.numbers[-1] + more))
    monkeypatch.setattr(package_promises, "_floor", lambda _, **_possible: floor)
    monkeypatch.setattr(package_promises, "least_cuda", lambda *_: None)
    declared = some(cuda=Release(12, 4), binding=binding, source="__cuda >=12.4")
    package = some(name="a", kind=Kind.CONDA, on_windows=False, declared=[declared])
    shipped = some(package=package, promise=None, compat=compat, required=some(services=()))
    rule = package_promises.admitted_driver_refused.function
    assert [each.verdict for each in rule(shipped)] == ([] if verdict is None else [verdict])
    for facts in (
        {"promise": some(driver=floor)},
        {"package": some(**vars(package) | {"on_windows": True})},
    ):
        assert [*rule(some(**vars(shipped) | facts))] == []


@pytest.mark.parametrize(
    ("name", "version", "extra", "verdict"),
    [
        ("numpy", "1.0", False, OK),
        ("numpy", "2.0", False, None),
        ("numpy", "who knows", False, None),
        ("nvidia-nvjitlink", "1.0", False, UNDOCUMENTED),
        ("nvidia-nvjitlink", "1.0", True, OK),
        ("nvidia-nvjitlink", "2.0", True, None),
        ("numpy", "1.0", True, None),  # nothing tells that somebody asked for the extra
    ],
)
def test_what_is_installed_is_what_the_metadata_ask_for(
    monkeypatch: Patch, name: str, version: str, extra: bool, verdict: Verdict | None
) -> None:
    require = some(name=name, versions=(">=2",), line=f"{name}>=2")
    monkeypatch.setattr(
        package_promises,
        "dependencies_always",
        lambda _, __, extras: [require] if not extra or "x" in extras else [],
    )
    package = some(name="a", extras=("x",))
    other = some(name=name, version=version)
    asked: dict[str, tuple[str, ...]] = {} if extra else {name: ()}
    shipped = some(package=package, others=[other], asked=asked, budget=Budget())
    found = [*package_promises.installed_dependency_refused.function(shipped)]
    assert [each.verdict for each in found] == ([] if verdict is None else [verdict])
    if extra and verdict is not None:  # whoever asks for it by name has asked for the version
        shipped.asked = {name: ()}
        assert [*package_promises.installed_dependency_refused.function(shipped)] == []


def test_a_library_that_another_package_has_loads_after_it(monkeypatch: Patch) -> None:
    monkeypatch.setattr(library_problems, "not_at_hand", lambda *_: [])
    monkeypatch.setattr(library_problems, "_majors", lambda *_: ())
    monkeypatch.setattr(library_problems, "are_beside_torch", lambda _: False)
    monkeypatch.setattr(library_problems, "brought_by_nothing", lambda _: (FAIL, "none", ""))
    other = some(name="b", files=("b/lib/libx.so.1",))
    for file, verdict in (("libx.so.1", OK), ("libx.so", FAIL)):
        shipped = some(others=[other], package=some(), budget=Budget())
        assert library_problems.not_brought(shipped, [], file)[0] is verdict


@pytest.mark.parametrize(
    ("least", "sure", "maker", "verdict"),
    [
        ("12.3", "12.6", None, FAIL),
        ("12.4", "12.6", None, UNKNOWN),
        ("12.5", "12.6", "12.5", OK),
        ("12.5", "12.6", "12.4", OK),
        ("12.5", "12.6", "12.6", UNKNOWN),
        ("12.5", "12.6", "12.3", UNKNOWN),
        ("12.6", "12.6", None, None),
        ("12.6", None, None, UNKNOWN),
    ],
)
def test_an_admitted_linker_is_as_new_as_the_code(
    monkeypatch: Patch, least: str, sure: str | None, maker: str | None, verdict: Verdict | None
) -> None:
    way = some(package="n", allowed=some(releases=[Release.parse(least)]), line="", extra=None)
    monkeypatch.setattr(package_dependencies, "ways_of", lambda *_: [way])
    monkeypatch.setattr(package_dependencies, "admits_right_major", lambda *_: True)
    monkeypatch.setattr(package_dependencies, "siblings", lambda *_: [])
    monkeypatch.setattr(package_dependencies, "_asked", lambda _: ())
    made = Release.parse(maker) if maker else None
    monkeypatch.setattr(package_dependencies, "_maker_of_sass", lambda _: made)
    need = some(part="", why="", doubt="", tried=False, hard=True, mend=lambda **_: None)
    need.sure = Release.parse(sure) if sure else None
    need.problem = lambda verdict, *_, **__: verdict
    for strength in (Strength.LOADED, Strength.HANDED_OUT):
        need.strength = strength
        eased = verdict is FAIL and strength is Strength.HANDED_OUT
        found: list[Any] = [*package_dependencies._too_old(need, Release(12, 4), some())]
        assert found == ([] if verdict is None else [UNKNOWN if eased else verdict])


@pytest.mark.parametrize("hard", [True, False])
@pytest.mark.parametrize("extra", [None, "x"])
@pytest.mark.parametrize("elsewhere", [["b"], []])
def test_a_dependency_of_another_major_fails_where_nothing_else_may_bring_it(
    monkeypatch: Patch, hard: bool, extra: str | None, elsewhere: list[str]
) -> None:
    way = some(package="n", allowed=some(), line="", extra=extra)
    monkeypatch.setattr(package_dependencies, "ways_of", lambda *_: [way])
    monkeypatch.setattr(package_dependencies, "admits_right_major", lambda *_: False)
    monkeypatch.setattr(library_problems, "not_at_hand", lambda *_: elsewhere)
    monkeypatch.setattr(package_dependencies, "_asked", lambda _: ())
    monkeypatch.setattr(library_problems, "of_another_major", lambda _: [])
    need = some(part="", majors=(12,), hard=hard, why="", mend=lambda *_: None)
    need.problem = lambda verdict, *_, **__: verdict
    monkeypatch.setattr(package_dependencies, "needed_compilers", lambda _: [need])
    shipped = some(package=some(name="a"), others=[], in_environment=False, budget=Budget())
    (found,) = package_dependencies.dependency_of_another_major.function(shipped)
    assert found is (OK if extra and elsewhere else FAIL if hard else UNKNOWN)


@pytest.mark.parametrize(("form", "told"), [("ELF", 1), ("PE", 0)])
def test_only_elf_has_a_runpath_that_misses_conda(monkeypatch: Patch, form: str, told: int) -> None:
    need = some(strength=Strength.LOADED)
    monkeypatch.setattr(
        package_contents, "needed_compiler", lambda part, _: need if part == "nvjitlink" else None
    )
    monkeypatch.setattr(package_contents, "ways_of", lambda *_: ["n"])
    monkeypatch.setattr(package_contents, "files_of", lambda *_: ("libnvJitLink.so.12",))
    monkeypatch.setattr(package_contents, "_searched", lambda *_: {"lib/here"})
    monkeypatch.setattr(package_contents, "_runpath_problem", lambda *words: words)
    shipped = some(hosts=[some(format=form)], package=some())
    assert len([*package_contents._runpath_misses_conda(shipped)]) == told


@pytest.mark.parametrize(
    ("verdict", "gpu", "by_trial", "asked"),
    [
        (UNKNOWN, True, True, True),
        (FAIL, True, True, False),
        (UNKNOWN, False, True, False),
        (UNKNOWN, True, False, False),
    ],
)
def test_a_linker_is_asked_about_what_it_can_settle(
    monkeypatch: Patch, verdict: Verdict, gpu: bool, by_trial: bool, asked: bool
) -> None:

    found = [some(decided_by_trial=False), some(decided_by_trial=by_trial)]
    result = some(verdict=verdict, gpu=H100 if gpu else None, findings=found)
    judge = some(results=lambda _, route: [result, result] if route is Route.LINK else [])
    monkeypatch.setattr(judge_artifact, "ArtifactJudge", lambda *_, **__: judge)
    told = trials.unknown_on(some(), [ONE], Route.LINK)
    gpus: list[tuple[Gpu, ...]] = [target.gpus for target in told]
    assert gpus == ([(H100,)] if asked else [])


def test_a_library_without_a_file_is_told_by_name_and_version() -> None:
    noted = list[str]()
    side = some(_file=lambda _: some(note=lambda *words: noted.append(words[2])))
    libraries = [
        some(file=file, name="libx", version=version, how="static")
        for file, version in (("libx.so.1", "1.2"), (None, "1.2"), (None, None))
    ]
    host = some(nvjitlink_imports=(), libraries=libraries, place=None)
    release_side.Side._host(side, host)
    assert noted == ["libx.so.1", "libx 1.2", "libx"]
    release_side.Side._host(side, some(nvjitlink_imports=(), libraries=()))


def test_a_linker_without_a_name_is_older_than_its_version() -> None:
    for version, before in (("12.4", "12.3"), ("12.0", ""), ("13.0", "12.9")):
        major, minor = version.split(".")
        assert _before({"symbol": "x", "major": major, "minor": minor}) == before
    assert _before({"major": "12", "minor": "4"}) == _before({"symbol": "x"}) == ""


def test_kernels_are_named_where_modules_are_at_fault() -> None:
    for verdict in (OK, JIT, UNDOCUMENTED, UNKNOWN, FAIL):
        for modules in (0, 1):
            for count in (0, 1):
                result = some(extent=Extent(modules, 5))
                told = _is_of_modules(result, some(module_count=count, verdict=verdict))
                assert told == (verdict >= UNKNOWN and bool(modules and count))


def test_a_chart_of_shares_has_a_cell_for_each_row_and_column() -> None:
    rows = [("R550", "h100", 1, 4), ("R550", "b200", 2, 5), ("R580", "h100", 0, 0)]
    found = some(fetchall=lambda: rows, description=[("label",), ("a",), ("b",), ("c",)])
    query = {"chart": "", "chart_title": "t", "unit": "shares"}
    chart = _chart(some(execute=lambda _: found), query)
    assert chart.columns == ("h100", "b200")
    assert [*chart.rows] == [("R550", ((1, 4), (2, 5))), ("R580", (None, None))]
    rows[:] = [("a", 1, 4, 2), ("b", 0, 7, 3)]  # type: ignore[list-item]
    chart = _chart(some(execute=lambda _: found), query | {"unit": "packages"})
    assert chart.columns == ("a", "b", "c")
    assert [*chart.rows] == [("a", ((1, 7), (4, 7), (2, 7))), ("b", ((0, 7), (7, 7), (3, 7)))]


@pytest.mark.parametrize("loud", [Level.NOTE, Level.WARNING, Level.ERROR])
def test_a_finding_is_as_loud_as_what_becomes_of_it(loud: Level) -> None:
    finding = replace(verdict_values.finding(UNKNOWN), level=loud, remedy="update it")
    for standing in gate.Standing:
        assessed = gate.Assessed(standing, "")
        told = gate._with_standing(finding, assessed, Baseline(source="b.json"))
        level, forgiven = loud, ""
        if standing is gate.Standing.COUNTS:
            level = Level.ERROR
        elif standing is gate.Standing.UNDECIDED:
            level = Level.ERROR if loud is Level.ERROR else Level.WARNING
        elif standing in gate.FORGIVEN:
            level, forgiven = Level.NOTE, str(standing)
        assert (told.level, told.forgiven) == (level, forgiven)
        assert told.remedy.endswith("update it")
        assert told.remedy.startswith("known (b.json)") == bool(forgiven)


def test_a_loss_names_the_newest_version_that_cures_all_of_it() -> None:
    def failing(*asked: str, verdict: Verdict = FAIL) -> Any:  # noqa: ANN401
        return some(verdict=verdict, asked=asked)

    def told(*findings: object) -> tuple[str, ...]:
        return losses._asked([some(findings=findings)])

    drivers = failing("driver 550.54"), failing("driver 570.26"), failing("driver 9.1")
    assert told(*drivers) == ("driver 570.26",)
    assert {*told(*drivers, failing("nvJitLink 12.4"))} == {"nvJitLink 12.4", "driver 570.26"}
    assert told(*drivers, failing()) == ()
    assert told(*drivers, failing(verdict=UNKNOWN)) == ("driver 570.26",)


@pytest.mark.parametrize(
    ("served", "verdicts", "decides"),
    [
        ((1, 1), (OK, OK), 1),  # of equals the newest
        ((1, 1), (OK, FAIL), 0),
        ((0, 1), (OK, FAIL), 1),  # what has nothing for the GPU is no choice
        ((0, 0), (OK, FAIL), 0),
        ((0, 0), (OK, OK), 1),
    ],
)
def test_the_variant_that_serves_and_fits_best_decides(
    served: tuple[int, ...], verdicts: tuple[Verdict, ...], decides: int
) -> None:
    found = {
        version: [verdict_values.result(verdict, ONE, coverage=Coverage(9, sass=count))]
        for version, verdict, count in zip(("12", "13"), verdicts, served, strict=True)
    }
    variants = [some(name=f"cu{version}", version=version) for version in ("12", "13", "14")]
    outcome = variants_of_files._outcome(found, variants)
    assert [each.decides for each in outcome] == [number == decides for number in (0, 1)]
    assert [each.serves for each in outcome] == [bool(n) or not any(served) for n in served]


def test_an_extracted_file_is_named_by_place_and_architecture() -> None:
    for arch, end in ((SmArch(90, "a"), ".sm_90a"), (None, "")):
        for offset, at in ((0x40, "@0x40"), (None, "")):
            place = Location("d/.l i/x.so", ("a/b.cubin",), offset, (3,))
            image = some(place=place, arch=arch)
            assert extract._stem(image) == f"x.so-a_b.cubin{at}.3{end}"


def test_what_was_copied_can_be_read_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    with (tmp_path / "b").open("wb") as file:
        copy_file(f"file://{tmp_path / 'a'}", file)
        assert (tmp_path / "b").read_bytes() == b"abc"


@pytest.mark.parametrize(
    ("demands", "asked"),
    [
        ({}, []),
        ({"trial_links": True}, ["linkers"]),
        ({"trial_links": True, "targets": ()}, ["narrower"]),
        ({"trial_links": True, "here": ONE}, ["linkers", "driver"]),
        ({"trial_auto": True}, ["settled"]),
    ],
)
def test_a_policy_asks_linkers_and_drivers_as_it_says(
    monkeypatch: Patch, demands: dict[str, Any], asked: list[str]
) -> None:
    called = list[tuple[Any, ...]]()
    names = ("ask_linkers", "ask_driver", "narrower", "settled")
    calls = {name: lambda *words, name=name: called.append((name, *words)) for name in names}
    monkeypatch.setattr(audit, "summaries", lambda *words: words)
    monkeypatch.setattr(audit, "_kept_summaries", lambda *words: words)
    options = some(settings=ScanSettings(), allow_empty=False, cache=False)
    policy = Policy(**{"source": "", "targets": (ONE,)} | demands)
    found = audit.policy_summaries(some(tries=None, **calls), options, ["a"], policy)
    assert [name.removeprefix("ask_") for name, *_ in called] == asked
    words: Any = called[-1][1:] if "settled" in asked else found
    reading = words[2] if "settled" in asked else words[-1]
    assert reading.targets == (policy.every_target or None)
    if "settled" in asked:
        assert words[1] == policy.targets
        assert words[0][0] == ["a"]
    else:
        assert words[0] == ["a"]


def test_a_program_gets_the_linker_that_pathfinder_finds(monkeypatch: Patch) -> None:
    picks = [
        some(library=library, way=way, real=real)
        for library, way, real in (
            ("nvrtc", PATHFINDER, "/nvrtc"),
            ("nvJitLink", "ld.so", "/by-name"),
            ("nvJitLink", PATHFINDER, "/found"),
        )
    ]
    monkeypatch.setattr(selftest, "picks", lambda *_: picks)
    monkeypatch.setattr(selftest, "resolve", lambda path: path)
    kept = ["12.4", "12.9", "13.0"]
    monkeypatch.setattr(selftest, "Cache", some(of=lambda: some(installed=lambda: kept)))
    assert selftest._of_programs() == "/found"  # type: ignore[comparison-overlap]
    picks[-1].real = None
    assert selftest._of_programs() == "13.0"  # type: ignore[comparison-overlap]
    kept.clear()
    with pytest.raises(Missing):
        selftest._of_programs()


class Piece(SimpleNamespace):
    """Stands for an input of a link."""


def test_each_image_is_tried_with_each_linker(monkeypatch: Patch) -> None:
    skipped = Skipped(Location("c"), "it is cut off")
    found: dict[str, list[object]] = {"c": [skipped]}
    for name in "ab":
        found[name] = [Piece(trial=some(data=b"abc"), place=Location(name))]
    monkeypatch.setattr(link, "LinkInput", Piece)
    monkeypatch.setattr(link, "gather_each", lambda place, *_: found.get(place.path, []))
    monkeypatch.setattr(link, "_alone", lambda *_, **__: ("plain", SmArch(90), None))
    monkeypatch.setattr(link, "_reason", lambda *_: "")
    monkeypatch.setattr(link, "compiles_relocatable", lambda *_: False)
    pool = contextlib.nullcontext(some(run=lambda requests: ["answer" for _ in requests]))
    monkeypatch.setattr(link, "Pool", lambda *_, **__: pool)
    told = list[tuple[object, ...]]()
    settings = some(progress=lambda *words: told.append(words))
    options = some(where=None, add_only=False, settings=settings)
    linkers: list[Any] = [some(path=path, tool=None, __str__=str) for path in ("12", "13")]

    def tried(*places: str) -> list[Any]:
        return [*link._each(options, [*map(Location, places)], linkers, None)]

    first, *links = tried("a", "b", "c")
    assert first == skipped
    assert [(each.linker.path, each.place.path) for each in links] == [
        (path, place) for path in ("12", "13") for place in "ab"
    ]
    assert [words[1:] for words in told] == [(3, 12), (6, 12), (9, 12), (12, 12)]
    with pytest.raises(UnreadableInput, match="no image in these paths could be read"):
        tried("c")
    with pytest.raises(UsageError, match="there is no image to try"):
        tried("d")


@pytest.mark.parametrize("add_only", [False, True])
@pytest.mark.parametrize("relocatable", [False, True])
def test_an_image_without_kernels_is_compiled_where_a_linker_keeps_it(
    monkeypatch: Patch, *, add_only: bool, relocatable: bool
) -> None:
    """By -r, which a linker that only adds images has no use for."""
    piece = Piece(trial=some(data=b"abc"), place=Location("a"))
    asked, told = list[object](), list[object]()

    def alone(*words: object, complete: bool) -> tuple[str, SmArch, str]:
        asked.append((*words, complete))
        return "plain", SmArch(90), "request"

    monkeypatch.setattr(link, "LinkInput", Piece)
    monkeypatch.setattr(link, "gather_each", lambda *_: [piece])
    monkeypatch.setattr(link, "_alone", alone)
    monkeypatch.setattr(link, "_reason", lambda *words: told.append(words))
    monkeypatch.setattr(link, "compiles_relocatable", lambda *_: relocatable)
    pool = contextlib.nullcontext(some(run=lambda requests: ["answer" for _ in requests]))
    monkeypatch.setattr(link, "Pool", lambda *_, **__: pool)
    linker: Any = some(path="12", tool=None)
    target = SmArch(89)
    options = some(where=None, add_only=add_only, settings=some(progress=None))
    assert len([*link._each(options, [Location("a")], [linker], target)]) == 1
    extra = ("-r",) if relocatable and not add_only else ()
    assert asked == [(piece, target, extra, not add_only)]
    assert told == [("answer", linker, "plain", SmArch(90), (piece,))]


@pytest.mark.parametrize("output", [None, "x.cubin"])
@pytest.mark.parametrize("made", [[None, None], [None, b"2"], [b"1", b"2"]])
def test_a_link_writes_the_first_output_of_all_ways(
    monkeypatch: Patch, output: str | None, made: list[bytes | None]
) -> None:
    asked, wrote = list[object](), list[object]()
    inputs: list[Any] = [some(ltoir=(some(options="-g", place="a"),)), some(ltoir=())]
    linker: Any = some(path="12", tool=None)
    told = dict(zip(("lto", "plain"), made, strict=True))

    def timed(*words: object, keep: bool) -> Any:  # noqa: ANN401
        asked.append((*words, keep))
        return some(answer=some(output=told[str(words[-1])]))

    def ways(*words: object) -> list[str]:
        assert words == (inputs, SmArch(90), linker)
        return [*told]

    def pool(*words: object, **options: object) -> Any:  # noqa: ANN401
        assert (words, options) == (("12",), {"workers": 1, "tool": None})
        return contextlib.nullcontext("pool")

    monkeypatch.setattr(link, "disagreements", lambda pairs: [*pairs])
    monkeypatch.setattr(link, "Pool", pool)
    monkeypatch.setattr(link, "_ways", ways)
    monkeypatch.setattr(link, "_timed", timed)
    monkeypatch.setattr(link, "write_named", lambda *words: wrote.append(words))
    found: list[Any] = [*link._together(inputs, [linker], SmArch(90), output=output)]
    assert found[0] == ("-g", "a")
    assert [each.answer.output for each in found[1:] if not isinstance(each, Note)] == made
    first = next(filter(None, made), None)
    assert wrote == [(output, first)] * bool(output and first)
    how = "linked with -lto" if made[0] else "linked"
    notes = [each.message for each in found if isinstance(each, Note)]
    assert notes == [f"wrote x.cubin: 1 bytes for sm_90, {how}"] * len(wrote)
    keeps = [output is not None, output is not None and made[0] is None]
    assert asked == [
        ("pool", linker, inputs, SmArch(90), way, keep)
        for way, keep in zip(told, keeps, strict=True)
    ]


LOGS = (
    "",
    "strange words",
    "nvlink error: Multiple definition of 'f' in 'a.o'",
    "LTOIR arch newer than target arch",
)


@pytest.mark.parametrize("outcome", [*LinkOutcome])
@pytest.mark.parametrize("tool", [*Tool])
@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize("empty", [None, "it is empty"])
def test_a_link_that_is_wrong_has_one_reason(
    monkeypatch: Patch, outcome: LinkOutcome, tool: Tool, log: str, empty: str | None
) -> None:
    """What is lost or empty; what the log is known to say; how it ended; its first line."""
    answer = Answer(
        outcome=outcome,
        step=Step.ADD,
        log=log,
        release=Release(12, 8),
        code=3,
        code_name="NVJITLINK_ERROR",
        input_name="b",
        signal="SIGSEGV",
        lost=("k",),
    )
    linker: Any = some(tool=tool, release=Release(12, 8))
    inputs: list[Any] = [
        some(trial=some(name=name), ltoir=ltoir, plain=(f"plain {name}",))
        for name, ltoir in (("a", ("lto a",)), ("b", ("lto b",)), ("c", ()))
    ]
    known = explained_log(log, tool.label)
    asked = list[object]()

    def sharpened(*words: object) -> Any:  # noqa: ANN401
        asked.append(words)
        return some(sentence="sharp")

    monkeypatch.setattr(link, "sharpened", sharpened)
    monkeypatch.setattr(
        link,
        "why_empty",
        lambda *words: empty if words == (linker, SmArch(90), inputs) else "swapped",
    )
    found = link._reason(answer, linker, "lto", SmArch(90), inputs)
    if outcome is LinkOutcome.LOST:
        assert found == lost_kernels(answer)
    elif outcome is LinkOutcome.ACCEPTED and empty:
        assert found == (known.sentence if known else empty)
    elif not answer.failed and outcome is not LinkOutcome.UNRESOLVED:
        doubled = known is not None and known.cause == "duplicate symbol"
        assert found == (known.sentence if known and doubled else None)
    elif known is not None:
        assert (found, asked) == ("sharp", [(known, ["lto b"], linker, SmArch(90))])
        for way, name, images in (
            ("plain", "b", ["plain b"]),
            ("lto", "c", ["plain c"]),
            ("lto", None, ["lto a", "lto b", "plain c"]),
        ):
            other = msgspec.structs.replace(answer, input_name=name)
            assert link._reason(other, linker, way, SmArch(90), inputs) == "sharp"
            assert asked[-1] == (known, images, linker, SmArch(90))
    else:
        ends = {
            LinkOutcome.CRASHED: "its process ended (SIGSEGV)",
            LinkOutcome.TIMED_OUT: answer.why_ended,
        }
        assert found == ends.get(outcome, f"NVJITLINK_ERROR: {log or 'it gave no reason'}")


@pytest.mark.parametrize("tool", [*Tool])
@pytest.mark.parametrize("unread", [False, True])
def test_an_output_without_code_is_wrong_where_code_was_passed_over(
    monkeypatch: Patch, tool: Tool, *, unread: bool
) -> None:
    monkeypatch.setattr(link, "SingleLink", lambda *_: some(unread_ltoir=lambda: unread))
    found = link.why_empty(some(tool=tool, release=Release(12, 4)), SmArch(90), [])
    expected = link._PASSED_OVER if unread else None
    assert found == (link._LEFT_OUT if tool is Tool.NVLINK else expected)


def test_an_error_of_the_program_sends_to_what_it_did_before() -> None:
    told = explain._unknown("CUDA_ERROR_INVALID_VALUE")
    earlier = "is not about compatibility: look at the program's earlier actions"
    assert told.startswith(f'"CUDA_ERROR_INVALID_VALUE" {earlier} (CUDA_ERROR_INVALID_VALUE, 1, ')


def test_lost_kernels_count_below_the_share_that_a_policy_asks_for() -> None:
    for rule in (SPARSE_COVERAGE, "PTX-01"):
        for coverage in (None, 50):
            for kernels in (49, 50, 51):
                for modules, names in ((0, ()), (1, ()), (0, ("f",))):
                    result = verdict_values.result(
                        OK, ONE, coverage=Coverage(9, kernels=kernels, best_kernels=100)
                    )
                    finding = verdict_values.finding(OK, rule=rule, count=modules, kernels=names)
                    policy = Policy(source="", targets=(), coverage=coverage)
                    lost = rule == SPARSE_COVERAGE and coverage is not None
                    few = kernels < 50 or not (modules or names)
                    assert gate._counts(result, finding, policy) == (lost and few)


def test_a_comparison_says_what_it_can_not_know() -> None:
    def side(**facts: object) -> Any:  # noqa: ANN401
        known = {"size": 1, "metadata": None, "saved": False, "complete": True, "skipped": 0}
        more = {"files": {}, "overflowed": False, "knows_kernels": lambda _: True, "kernels": 3}
        return some(**known | more | {"unnamed": dict.fromkeys(KERNEL_KINDS, 0)} | facts)

    def told(old: Any, new: Any, *, kernels: bool = True) -> list[str]:  # noqa: ANN401
        lines = diff._unknown(old, new, kernels=kernels)
        return [re.split(" one| release", line)[0] for line in lines]

    plain, package = side(), side(metadata="a 1.0")
    assert told(plain, plain) == []
    assert told(plain, side(overflowed=True), kernels=False) == ["kernels: not requested"]
    assert (
        told(side(size=None), plain)
        == told(plain, side(size=None))
        == ["size: unknown on at least"]
    )
    assert told(package, plain) == ["metadata: the new"]
    assert told(plain, package) == ["metadata: the old"]
    assert told(package, package) == []
    assert told(side(saved=True), plain) == ["metadata: the old"]
    assert told(plain, side(overflowed=True)) == ["kernels: the new"]
    assert told(side(complete=False), side(skipped=2)) == ["the old", "the new"]
    assert len(told(side(knows_kernels=lambda _: False), plain)) == len(KERNEL_KINDS)
    assert len(told(plain, side(unnamed=dict.fromkeys(KERNEL_KINDS, 1)))) == len(KERNEL_KINDS)


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_of_a_long_text_both_ends_are_read(monkeypatch: Patch, more: int) -> None:
    read = list[str]()

    def causes(_: str, short: str, __: object) -> list[Any]:
        read.append(short)
        return [some()]

    monkeypatch.setattr(explain, "_causes", causes)
    monkeypatch.setattr(explain, "_LONGEST", 10)
    text = "abcdefghijk"[: 10 + more]
    explain.explain(text)
    assert read == [text if more < 1 else "abcde\nghijk"]


@pytest.mark.parametrize("worked", [*LinkOutcome])
def test_a_link_that_worked_is_timed_a_second_time(monkeypatch: Patch, worked: LinkOutcome) -> None:
    asked = list[bool]()

    def link_all(_: object, __: object, *, keep_output: bool = False) -> Any:  # noqa: ANN401
        asked.append(keep_output)
        return some(outcome=worked, seconds=some(create=1.0, add=None, complete=0.5))

    monkeypatch.setattr(link, "link_all", link_all)
    monkeypatch.setattr(link, "_reason", lambda *_: "why")
    monkeypatch.setattr(link, "SingleLink", lambda *_: None)
    linker: Any = some(release=Release(12, 4))
    found = link._timed(some(), linker, [], SmArch(90), "lto", keep=True)
    twice = worked in {LinkOutcome.LINKED, LinkOutcome.COMPILED, LinkOutcome.ACCEPTED}
    assert asked == [True, False][: 1 + twice]
    assert found.again_seconds == (1.5 if twice else None)
    assert (found.linker, found.way, found.arch, found.reason) == (
        linker,
        "lto",
        SmArch(90),
        "why",
    )


@pytest.mark.parametrize("lto", [True, False])
@pytest.mark.parametrize("own", [SmArch(80), None])
@pytest.mark.parametrize("target", [SmArch(90), None])
def test_an_image_is_linked_for_the_target_or_for_its_own_architecture(
    lto: bool, own: SmArch | None, target: SmArch | None
) -> None:
    image = some(arch=own)
    piece: Any = some(images=(image,), ltoir=lto, trial="trial", place=Location("a"))
    if target is None and own is None:
        with pytest.raises(UsageError, match="names no architecture"):
            link._alone(piece, target, ("-r",), complete=True)
        return
    way, arch, request = link._alone(piece, target, ("-r",), complete=True)
    assert (way, arch) == (link.LTO if lto else link.PLAIN, target or own)
    assert request.options == (f"-arch={arch}", *(("-lto", "-r") if lto else ()))
    assert [*map(str, request.inputs)] == ["trial"]
    assert (request.complete, request.file) == (True, "a")


def test_a_draft_has_the_keys_that_are_given_and_no_others() -> None:
    today, whole = dt.date(2026, 11, 29), DraftTarget(DriverVersion((550, 54)))
    for facts in ({}, {"nvjitlink": Release(12, 4), "system": "windows", "gpus": ("sm_90",)}):
        for more in ({}, {"trial": True, "no_code": True, "variants": ("x*.so",)}):
            draft = replace(whole, **facts, **more)
            found = tomllib.loads(draft.text(today))
            target: dict[str, object] = {"driver": "550.54"}
            if facts:  # the branch, since Windows has other drivers of it
                target = {"driver": "R550", "nvjitlink": "12.4", "os": "windows", "gpu": ["sm_90"]}
            audit_table: dict[str, object] = {"require-gpus": ["sm_90"]} if facts else {}
            if more:
                keys = {"trial-link": True, "no-device-code": "pass", "variants": ["x*.so"]}
                audit_table |= keys
            assert [*found.get("targets", {}).values()] == ([] if more else [target])
            assert found["audit"] == audit_table


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_file_may_have_as_many_bytes_as_the_limit_says(tmp_path: Path, more: int) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("small", b"1")
        file.writestr("large", b"1" * 100)
    for key, most in (("max_bytes", path.stat().st_size), ("max_member_bytes", 100)):
        limits: dict[str, Any] = {key: most - more}
        policy = Policy(source="", targets=(), **limits)
        found = [*problems._size(policy, some(path=str(path), hosts=()))]
        assert [each.subject for each in found] == (
            [] if more < 1 else ["size" if key == "max_bytes" else "largest file"]
        )


def test_the_newest_libcuda_of_a_folder_in_front_is_the_one_that_is_loaded() -> None:
    def told(*paths: str, searched: tuple[str, ...] = ()) -> tuple[Any, Any]:
        hosts = [some(place=Location("image", (path,))) for path in paths]
        summary: Any = some(hosts=hosts, searched=searched, compat=None, own_driver=None)
        read_artifacts._add_libcuda(summary)
        return tuple(
            place and place.innermost.rpartition("libcuda.so.")[2]
            for place in (summary.compat, summary.own_driver)
        )

    compat, system, other = "/usr/local/cuda/compat", "/usr/lib/x86_64-linux-gnu", "/opt/here"
    assert told(f"{compat}/libcuda.so.550.54.14") == ("550.54.14", None)
    assert told(f"{compat}/libcuda.so.580.9.1", f"{compat}/libcuda.so.580.65.06") == (
        "580.65.06",
        None,
    )
    assert told(f"{system}/libcuda.so.550.54.14") == (None, "550.54.14")
    assert told(f"{system}/libcuda.so.550.54.14", searched=(system,)) == (None, "550.54.14")
    assert told(f"{other}/libcuda.so.550.54.14") == (None, None)
    both = f"{other}/libcuda.so.550.54.14", f"{compat}/libcuda.so.580.65.06"
    assert told(*both, searched=(other,)) == ("550.54.14", None)
    assert told(*both) == ("580.65.06", None)
    assert told(f"{compat}/libcuda.so.1", f"{compat}/libcudart.so.12.1") == (None, None)


def test_an_index_knows_who_looks_for_a_string() -> None:
    strings = ("", "a", "ab", "abc", "abcd", "bcd", "x")
    index = Index([string] for string in strings)
    for text in ("", "a", "abc", "zabcdz", "xbc", "xx"):
        assert {strings[number] for number in index.numbers(text)} == {
            string for string in strings if string in text
        }


@pytest.mark.parametrize(
    ("kernel", "template"),
    [
        ("_ZN7cutlass6KernelINS_4gemm6kernel7EllGemmEEEvv", "cutlass.Kernel.gemm.kernel.EllGemm"),
        ("_Z3fooIiEvT_", "foo"),
        ("k_sm80", "k_*"),
        ("k_sm_90a", "k_*"),
        ("plain", "plain"),
    ],
)
def test_kernels_of_one_template_have_one_stem(kernel: str, template: str) -> None:
    assert stem(kernel) == template


@pytest.mark.parametrize("verdict", [OK, JIT, UNDOCUMENTED, UNKNOWN, FAIL])
def test_a_link_without_lto_is_advised_where_it_works(monkeypatch: Patch, verdict: Verdict) -> None:
    results = {
        True: verdict_values.result(FAIL, ONE, findings=(verdict_values.finding(FAIL),)),
        False: verdict_values.result(verdict, ONE, findings=()),
    }
    monkeypatch.setattr(judge_artifact, "Case", lambda _, target, __: some(target=target))
    by_lto: Any = lambda case, *_, **__: results[case.target.lto]  # noqa: E731
    monkeypatch.setattr(judge_artifact, "aggregate", by_lto)
    part: Any = some(summary=some(single_link=False, groups=()), engine=None, mixed=True)
    part.with_own_libraries, part.missing, part.kernels = (lambda target: target), (), None
    linked = replace(ONE, nvjitlink=verdict_values.linker("13.5"), lto=True)
    judge: Any = object.__new__(judge_artifact.ArtifactJudge)
    judge._advises = True
    for route in (Route.LINK, Route.LOAD):
        found = judge._on_gpu(part, linked, H100, route, route_given=True)
        (finding,) = found.findings
        advised = route is Route.LINK and verdict <= UNDOCUMENTED
        assert (finding.remedy == judge_artifact._WITHOUT_LTO) == advised
        assert found.verdict is FAIL


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize(
    ("halves", "facts", "told"),
    [
        ({"link"}, {}, "linking can't be checked: the target has no nvjitlink="),
        (
            {"link"},
            {"objects": True},
            "linking can't be checked: the target has no nvlink= or nvjitlink=",
        ),
        ({"load"}, {}, "loading can't be checked: the target has no gpu= and no driver="),
        ({"load"}, {"gpu": H100}, "loading can't be checked: the target has no driver="),
        ({"load"}, {"driver": 1}, "loading can't be checked: the target has no gpu="),
        (
            {"load", "link"},
            {"gpu": H100, "driver": 1},
            "linking and loading can't be checked: the target has no nvjitlink=",
        ),
    ],
)
def test_a_target_that_lacks_a_key_is_told_which(
    monkeypatch: Patch, halves: set[str], facts: dict[str, Any], told: str, alone: bool
) -> None:
    monkeypatch.setattr(artifact_findings, "_takes", lambda *_: True)
    case: Any = some(gpu=facts.get("gpu"), target=some(driver=facts.get("driver"), name=""))
    group = some(signature=some(needs_device_link=facts.get("objects", False)))
    summary: Any = some(groups=[group])
    found = artifact_findings.left_open(case, summary, frozenset(halves), alone=alone)
    assert (found.message, found.asked) == (told, tuple(sorted(halves)))
    assert found.verdict is (UNKNOWN if alone else OK)


def test_an_audit_counts_what_stands_what_was_needed_and_what_was_not_read() -> None:
    tally = audit.AuditTally(some(policy=Policy(source="", targets=())))
    assert tally.empty
    exception: Any = object()
    assessed = [
        gate.Assessed(gate.Standing.PASSES, ""),
        gate.Assessed(gate.Standing.IGNORED, "", exception=exception),
    ]
    result = verdict_values.result(FAIL, ONE)
    tally.take(gate.Audited(result, result, tuple(assessed), failed=True))
    assert {**tally.standings} == {gate.Standing.PASSES: 1, gate.Standing.IGNORED: 1}
    assert not tally.empty
    failure = Failure("missing", "it is not there")
    tally.take(failure)
    assert (tally.failures, tally._used) == ([failure], {exception})


def test_a_survey_adds_up_what_it_read() -> None:
    rows = [
        some(status=status, size=size, bytes_fetched=fetched, worst=worst)
        for status, size, fetched, worst in (
            ("read", 5, 3, "fail"),
            ("read", None, 4, None),
            ("failed", 7, 0, "fail"),
        )
    ]
    tally = Tally("folder")
    tally.take(some(distributions=rows[:2]))
    tally.take(some(distributions=rows[2:]))
    assert (tally.size, tally.fetched) == (12, 7)
    assert ({**tally.statuses}, {**tally.worst}) == ({"read": 2, "failed": 1}, {"fail": 2})


def test_a_download_needs_a_file_without_a_name(monkeypatch: Patch) -> None:
    with task._unnamed_file() as file:
        file.write(b"abc")
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: contextlib.nullcontext(io.BytesIO()))
    with pytest.raises(LtocompatError, match="unnamed temporary files"), task._unnamed_file():
        pass

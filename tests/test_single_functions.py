# ruff: noqa: SLF001 - what a private function decides, no answer shows at its very bound.
"""Small functions at the value where two conditions meet, each asked by itself."""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import itertools
import os
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import msgspec
import pytest
import verdict_values
from fatbin_writer import KINDS, EntrySpec, entry, region
from hypothesis import given
from hypothesis import strategies as st
from samples import FOLDER

import ltocompat
from ltocompat.commands import (
    audit,
    check,
    diff,
    env,
    explain,
    files_at_fault,
    floor_setters,
    linkable,
    linkers,
    repair,
    trials,
)
from ltocompat.commands.comparison import release_side
from ltocompat.commands.init import _Drafting
from ltocompat.commands.link import _reason
from ltocompat.commands.options import CheckOptions, ExplainOptions, SlimOptions
from ltocompat.commands.policy import draft, gate
from ltocompat.commands.policy.baseline import Baseline
from ltocompat.commands.policy.draft import DraftTarget, IgnoredFinding
from ltocompat.commands.policy.extent import ANY_GPU, ExtentPart
from ltocompat.commands.policy.values import NO_POLICY, Policy
from ltocompat.commands.selftest import _link
from ltocompat.commands.slim import _packing
from ltocompat.commands.survey import dataset, engine, fetch
from ltocompat.commands.survey.http import FetchFailed
from ltocompat.commands.survey.index import Index
from ltocompat.commands.survey.tables import Surveyed
from ltocompat.commands.variants_of_files import may_be_variants
from ltocompat.facts.drivers import branch_cuda, driver_branches
from ltocompat.files.byteview import ByteView
from ltocompat.files.fatbin import StoredModule
from ltocompat.files.images.cubin import Cubin
from ltocompat.model.arch import Release, SmArch, version_numbers
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.errors import LtocompatError, Missing, UnreadableInput, UsageError
from ltocompat.model.explained import Explained
from ltocompat.model.failure import Failure
from ltocompat.model.image import ImageKind, Skipped
from ltocompat.model.library_name import PATHFINDER
from ltocompat.model.limits import Limits
from ltocompat.model.linker import Tool
from ltocompat.model.location import Location
from ltocompat.model.target import ANY_TARGET, THIS_MACHINE, DriverVersion, System
from ltocompat.model.verdict import Extent, Route, Verdict
from ltocompat.packages.index_answers import IndexFile
from ltocompat.packages.values import Kind
from ltocompat.packages.wheel_name import WheelName
from ltocompat.rules import needed_compilers
from ltocompat.rules.builtin_rules import TARGET_LEAVES_OPEN
from ltocompat.rules.catalogue import machine, package_contents, ptx
from ltocompat.rules.engine import coverage, judge_artifact, paste_lines
from ltocompat.rules.engine.findings import with_problems
from ltocompat.rules.message_values import _driver_suffices
from ltocompat.rules.picked import Found
from ltocompat.rules.rule import Problem
from ltocompat.scan import module_reader, weigh, workers
from ltocompat.scan.describe import describe_module
from ltocompat.scan.shipped_linker import shipped_major
from ltocompat.scan.summary_cache import SummaryCache
from ltocompat.scan.walk import ScanSettings, stored_in_file
from ltocompat.trial.values import Answer, LinkOutcome, Step

Patch = pytest.MonkeyPatch


def some(**values: object) -> Any:  # noqa: ANN401 - stands for whatever a function looks at
    return SimpleNamespace(**values)


def test_a_library_of_an_artifact_is_judged_with_its_own_host_file(monkeypatch: Patch) -> None:
    monkeypatch.setattr(floor_setters, "required", lambda part: part)
    places = [("a.whl", "x.so"), ("b.whl", "x.so"), ("b.whl", "y.so")]
    summary = ArtifactSummary(
        "image.tar",
        [some(example=Location("image.tar", place)) for place in places],
        hosts=[some(place=Location("image.tar", place)) for place in places],
    )
    package = some(kind=Kind.IMAGE, name="", version="")
    found = floor_setters.libraries_of(summary, some(), package, System())
    hosts = [[host.place.members for host in some(n=each.needs).n.hosts] for each in found]
    assert hosts == [places[:1], places[1:]]


def test_nvrtc_is_asked_for_from_the_first_release_of_its_major(monkeypatch: Patch) -> None:
    monkeypatch.setattr(needed_compilers, "needed_compiler", lambda *_: None)
    monkeypatch.setattr(needed_compilers, "_own_files", lambda *_: [])
    shipped = some(hosts=(), package=some(kind=Kind.WHEEL))
    host = some(place=Location("x.so"))
    strength = needed_compilers.Strength.LOADED
    need = needed_compilers._nvrtc(shipped, strength, [(host, "libnvrtc.so.12")])
    assert need is not None
    assert (need.possible, need.sure) == (Release(12, 0), Release(12, 0))


@pytest.mark.parametrize(("day", "ended"), [("-1", True), ("-31", True), ("", False)])
def test_a_branch_has_not_ended_in_the_month_of_its_end(
    monkeypatch: Patch, day: str, *, ended: bool
) -> None:
    row = some(eol="2026-08", branch=570, kind="production")
    monkeypatch.setattr(machine, "branch_end", lambda _: row)
    monkeypatch.setattr(machine, "branch_of", lambda _: 570)
    date = {"": "2026-08-31", "-1": "2026-09-01", "-31": "2027-01-01"}[day]
    monkeypatch.setattr(machine, "horizon", some(tables_end=lambda: some(date=date)))
    driver = some(version="570.1", source="given")
    found = [*machine.driver_branch_has_ended.function(some(kernel_driver=driver))]
    assert bool(found) == ended


def found_at(release: str) -> Found:
    return Found(Release.parse(release), release, f"/{release}", "by")


def test_a_compiler_is_told_once_however_many_ways_find_it(monkeypatch: Patch) -> None:
    pair = found_at("12.9"), found_at("12.4")
    monkeypatch.setattr(machine, "_pairs", lambda *_: [pair, pair])
    problems = [*machine.compiler_newer_than_linker.function(some())]
    assert len(problems) == len({problem.message for problem in problems}) == 2


def test_pathfinder_takes_the_first_and_a_soname_that_of_its_major(monkeypatch: Patch) -> None:
    found = {"NVRTC": ["12.9", "13.0"], "nvJitLink": ["13.1", "12.4"]}
    every = {library: [*map(found_at, releases)] for library, releases in found.items()}
    monkeypatch.setattr(machine, "picked", some(every=lambda _, library, __: every[library]))
    pairs = {
        way: [(str(a.release), str(b.release)) for a, b in machine._pairs(some(), "NVRTC", way)]
        for way in (PATHFINDER, "soname")
    }
    assert pairs == {PATHFINDER: [("12.9", "13.1")], "soname": [("12.9", "12.4"), ("13.0", "13.1")]}


@pytest.mark.parametrize(
    ("said", "yanked", "reason"),
    [(False, False, None), (True, True, None), ("", True, None), ("broken", True, "broken")],
)
def test_a_yanked_file_has_the_reason_that_is_given(
    said: bool | str,
    yanked: bool,
    reason: str | None,
) -> None:
    file = IndexFile(filename="a-1.0-py3-none-any.whl", url="https://x.example/a.whl", yanked=said)
    name = WheelName.parse("a-1.0-py3-none-any.whl")
    assert name is not None
    made = Index._distribution(some(url="https://x.example"), file, name)
    assert (made.yanked, made.yanked_reason) == (yanked, reason)


@pytest.mark.parametrize("suffix", ["a", ""])
def test_a_cubin_is_for_one_architecture_by_its_header_alone(suffix: str) -> None:
    cubin = some(header=some(arch=SmArch(90, suffix)), _of_type=lambda _: [])
    assert Cubin.accelerated(cubin) == (suffix == "a")


def test_a_system_that_tells_no_cores_has_one(monkeypatch: Patch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    for told, cores in [(None, 1), (1, 1), (8, 8)]:
        monkeypatch.setattr(os, "cpu_count", lambda told=told: told)
        assert workers.cores() == cores


def test_the_cores_of_this_process_are_those_that_it_may_run_on(monkeypatch: Patch) -> None:
    """sched_setaffinity(2): 0 is the process that asks; 1 is another one."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(3 if pid == 0 else 64)))
    monkeypatch.setattr(workers, "_quotas", lambda: ())
    assert workers.cores() == 3


def test_a_draft_says_why_the_first_trial_was_not_made() -> None:
    failures = [Failure("missing", text) for text in ("first", "second")]
    drafting = some(summaries=lambda _: failures, missing="")
    assert _Drafting._tried(drafting, NO_POLICY) == []
    assert drafting.missing == "first"


@pytest.mark.parametrize(("more", "flushed"), [(1, 0), (0, 1), (-1, 1)])
def test_rows_are_written_once_they_have_their_size(
    monkeypatch: Patch, more: int, flushed: int
) -> None:
    found, calls = Surveyed(), list[int]()
    monkeypatch.setattr(dataset, "_MOST_BYTES", len(msgspec.json.encode(found)) + more)
    writer = some(_adding=contextlib.nullcontext(), _size=0, flush=lambda: calls.append(1))
    writer._waiting = {dataset._prefix(found): []}
    dataset.DatasetWriter.add(writer, found)
    assert len(calls) == flushed
    monkeypatch.setattr(dataset, "_MOST", 3)
    writer._waiting = {dataset._prefix(found): []}
    for number in range(1, 4):
        calls.clear()
        writer._size = -(10**6)
        dataset.DatasetWriter.add(writer, found)
        assert len(calls) == (number == 3)


def test_a_summary_is_kept_by_path_and_by_how_it_is_read(monkeypatch: Patch) -> None:
    asked = list[tuple[str, str]]()
    cache = some(key=lambda path, how: asked.append((path, how)))
    monkeypatch.setattr(audit, "summaries", lambda *_: [])
    reading = some(targets=None, settings=some(limits=1))
    assert [*audit._kept_summaries(["a"], reading, some(identity="12.4"), cache)] == []
    assert asked == [("a", "(None, 1) 12.4")]


@pytest.mark.parametrize("key", [None, "key"])
@pytest.mark.parametrize("kept", [None, ["kept"]])
@pytest.mark.parametrize("failed", [False, True])
def test_files_that_have_not_changed_are_not_read_again(
    monkeypatch: Patch, key: str | None, kept: list[str] | None, *, failed: bool
) -> None:
    """What can't be read is tried again the next time."""
    now = ArtifactSummary("a")
    read = [now, Failure("unreadable", "it is gone")] if failed else [now]
    monkeypatch.setattr(audit, "summaries", lambda *_: read)
    reading = some(targets=None, settings=some(limits=1))
    new = list[object]()
    cache = some(key=lambda *_: key, get=lambda _: kept, keep=lambda *words: new.append(words))
    linkers = some(identity="12.4")
    found: Any = [*audit._kept_summaries(["a"], reading, linkers, cache)]
    known = key is not None and kept is not None
    assert found == (kept if known else read)
    assert new == [("key", [now])] * (key is not None and kept is None and not failed)
    assert [*audit._kept_summaries(["a"], reading, linkers, None)] == read


def test_the_key_of_a_file_is_of_all_its_bytes(tmp_path: Path) -> None:
    keys = set()
    for data in (b"abc", b"xbc", b"abx"):
        (tmp_path / "file").write_bytes(data)
        key = SummaryCache.key(some(), str(tmp_path / "file"), "")
        assert key is not None
        keys.add(key[0] if isinstance(key, tuple) else getattr(key, key.__struct_fields__[0]))
    assert len(keys) == 3


@pytest.mark.parametrize(("log", "told"), [("", "it gave no reason"), ("why\nmore", "why")])
def test_a_refusal_has_the_first_line_of_its_log(log: str, told: str) -> None:
    answer = Answer(
        outcome=LinkOutcome.REFUSED, step=Step.ADD, log=log, code=4, release=Release(12, 8)
    )
    linker = some(tool=Tool.NVJITLINK, release=Release(12, 8))
    assert str(_reason(answer, linker, "plain", SmArch(90), ())).endswith(f": {told}")


def test_a_selftest_tells_what_the_linker_said() -> None:
    answer = Answer(
        outcome=LinkOutcome.CRASHED, step=Step.ADD, signal="SIGSEGV", release=Release(12, 8)
    )
    pool, way = some(run=lambda _: (answer,)), some(name="lto", options=())
    linking = some(release=Release(12, 8)), pool
    (step,) = _link(linking, SmArch(90), way, [], Release(12, 4))
    assert "SIGSEGV" in str(step)


@pytest.mark.parametrize(("more", "sure"), [(-1, False), (0, False), (1, True)])
@pytest.mark.parametrize("relocatable", [False, True])
@pytest.mark.parametrize("kernels", [0, 7])
def test_a_large_cubin_with_constants_of_kernels_has_kernels_unless_it_is_an_object(
    more: int, kernels: int, *, sure: bool, relocatable: bool
) -> None:
    size = module_reader._LARGE + more
    for kind in (ImageKind.SASS, ImageKind.PTX):
        final = relocatable if kind is ImageKind.SASS else None
        image = some(kind=kind, stored_size=size, relocatable=final, kernel_set=kernels)
        found = module_reader._surely_has_kernels(image)
        large = sure and kind is ImageKind.SASS and not relocatable
        assert found == (large and bool(kernels))


def test_files_beyond_the_most_are_compared_as_one(monkeypatch: Patch) -> None:
    monkeypatch.setattr(release_side, "_MOST_FILES", 2)
    side = some(files={}, _roots=(), skipped=0, _file_at_hand=some(take=lambda _: None))
    for name in ("a", "b", "a", "c", "d"):
        release_side.Side._file(side, Location(name))
    assert [*side.files] == ["a", "b", release_side._REST]
    release_side.Side.take(side, Skipped(Location("a"), "it is cut off"))
    assert side.skipped == 1


@pytest.mark.parametrize(("own", "enough"), [("569", False), ("570", True), ("571", True)])
def test_a_driver_of_the_branch_that_is_needed_is_enough(own: str, *, enough: bool) -> None:
    values = {"made": "12.8", "made_branch": "570", "driver_own_branch": own}
    assert _driver_suffices(values) == enough


@pytest.mark.parametrize(
    ("files", "variants"),
    [
        (("a/libx_cuda118.so",), 0),
        (("a/libx_cuda118.so", "a/libx_cuda130.so", "a/liby.so"), 2),
        # Where paths differ in a version, all that name one may be variants, and no folder is.
        (("a/libx_cuda118.so", "a/libx_cuda130.so", "a/cu12/libcublas.so.12"), 3),
        (("a/x_cuda118.so", "a/x_cuda130.so", "b/o/libcublas.so.12", "b/n/libcublas.so.13"), 2),
        (("a/cu12/libcublas.so.12",), 0),
        (("a/cu12/libcublas.so.12", "a/more/libcublas.so.12"), 0),
        (("a/cu12/libcublas.so.12", "a/cu13/libcublas.so.13"), 2),
        (("a/o/libcublas.so.12", "a/n/libcublas.so.13", "a/n/x.so", "a/news.so"), 3),
    ],
)
def test_variants_are_of_two_versions_at_least(files: tuple[str, ...], variants: int) -> None:
    found = may_be_variants(files)
    assert found <= {*files}
    assert len(found) == variants


def test_copies_are_counted_by_the_pair_of_their_libraries(monkeypatch: Patch) -> None:
    monkeypatch.setattr(weigh, "_MOST_PAIRS", 1)
    copies, first = dict[object, int](), Location("first")
    scale = some(measured=some(copies=copies), kernels=False, _first_with=lambda *_: first)
    tally = some(images=0, unsized=0, stored=0, copied_within=0, copied_between=0)
    for name in ("a", "a", "b", "first"):
        weigh.Weigher._image(scale, Location(name), some(), some(stored_size=5), tally)
    assert copies == {(first, Location("a")): 10}
    assert (tally.copied_between, tally.copied_within, tally.images) == (15, 5, 4)


@pytest.mark.parametrize(
    ("tags", "told"),
    [
        (("py3-none-any",), None),
        (("py2.py3-none-any",), "WHEEL and the file name differ"),
        (("py3-none",), "WHEEL has the tag 'py3-none'"),
        (("py3--any",), "WHEEL has the tag 'py3--any'"),
        (("py3-none-any-",), "WHEEL has the tag 'py3-none-any-'"),
        ((), "WHEEL has no tag"),
    ],
)
def test_tags_that_are_none_or_of_another_file_are_told(
    tags: tuple[str, ...], told: str | None
) -> None:
    package = some(tags_inside=tags, tags=("py3-none-any",), name="a", path="a.whl")
    messages = [problem.message for problem in package_contents._tags_disagree(package)]
    assert [message.startswith(told or "-") for message in messages] == [True] * bool(told)


@pytest.mark.parametrize(
    ("source", "options", "named"),
    [("pyproject.toml", (), True), ("pyproject.toml", ("targets",), False), ("", (), False)],
)
def test_a_table_of_a_target_is_named_where_the_file_has_it(
    monkeypatch: Patch, source: str, options: tuple[str, ...], *, named: bool
) -> None:
    target = some(name="prod")
    finding = some(rule=TARGET_LEAVES_OPEN, remedy="add a driver")
    monkeypatch.setattr(gate, "replace", lambda _, remedy: some(remedy=remedy))
    policy = some(source=source, options=options, targets=(target,), prefix="tool.ltocompat.")
    for asked, told in ((target, named), (some(name="other"), False)):
        found = gate._with_table(finding, some(target=asked), policy)
        assert ("[tool.ltocompat.targets.prod]" in found.remedy) == told


LEVELS = (Verdict.JIT, Verdict.UNDOCUMENTED, Verdict.UNKNOWN, Verdict.FAIL)


@pytest.mark.parametrize("explained", [False, True])
def test_a_verdict_counts_from_the_level_at_which_the_policy_fails(*, explained: bool) -> None:
    for fail_on, verdict in itertools.product(LEVELS, (Verdict.OK, *LEVELS)):
        findings = (verdict_values.finding(verdict),) if explained else ()
        result = verdict_values.result(verdict, verdict_values.ONE, findings=findings)
        policy = Policy(source="", targets=(), fail_on=fail_on)
        (found,) = gate.audited([result], policy, Baseline())
        assert found.failed == (verdict >= fail_on)
        assert found.undecided == (verdict is Verdict.UNKNOWN and not found.failed)


@pytest.mark.parametrize("gpus", [("sm_80",), (ANY_GPU,)])
@pytest.mark.parametrize("target", ["prod", ANY_TARGET.name])
def test_an_exception_names_the_gpus_that_it_is_for(gpus: tuple[str, ...], target: str) -> None:
    extent = (ExtentPart(Verdict.OK, 2), ExtentPart(Verdict.FAIL, 1, "driver 550"))
    finding = IgnoredFinding("PTX-01", "a.so", "PTX", "", target, gpus, extent, "it fails", "")
    drawn = tomllib.loads("\n".join(finding.lines(dt.date(2027, 1, 31))))["audit"]["ignore"]
    named = [*gpus] if gpus != (ANY_GPU,) else None if target == ANY_TARGET.name else []
    assert [each.get("gpu") for each in drawn] == [named, named]
    assert [(each["verdict"], each["modules"], each["asks"]) for each in drawn] == [
        ("jit", 2, []),
        ("fail", 1, ["driver 550"]),
    ]


@pytest.mark.parametrize("verdict", [Verdict.OK, *LEVELS])
def test_a_problem_around_an_artifact_is_of_all_its_modules(verdict: Verdict) -> None:
    finding = verdict_values.finding(Verdict.UNKNOWN, rule="NJL-03")
    kept = verdict_values.finding(Verdict.UNKNOWN, rule="LTO-01")
    result = verdict_values.result(
        Verdict.UNKNOWN, verdict_values.ONE, findings=(finding, kept), extent=Extent(3, 9)
    )
    found = with_problems(result, [Problem(verdict, "it is missing", rule="NJL-03")])
    assert found.verdict is max(verdict, Verdict.UNKNOWN)
    assert found.extent == Extent(0 if verdict >= Verdict.UNKNOWN else 3, 9)
    assert {each.rule for each in found.findings} == {"NJL-03", "LTO-01"}
    assert "it is missing" in {each.message for each in found.findings}
    assert with_problems(result, ()) == result


def test_levels_of_compression_are_from_1_to_19() -> None:
    for level in range(-1, 102):
        with contextlib.nullcontext() if 1 <= level <= 19 else pytest.raises(UsageError):
            packing = _packing(SlimOptions(paths=("x",), output="y", pack=f"{level}"))
            assert packing is not None
            assert packing.level == level


@pytest.mark.parametrize("digest", [None, "right", "wrong"])
def test_metadata_have_the_digest_that_the_index_says(
    monkeypatch: Patch, digest: str | None
) -> None:
    data = b"Metadata-Version: 2.1\nName: a\nVersion: 1.0\n"
    known = {"right": hashlib.sha256(data).hexdigest(), "wrong": "0" * 64}
    wheel = some(has_metadata=True, source="https://x.example/a.whl", metadata_sha256=None)
    wheel.metadata_sha256 = known.get(digest or "")
    http = some(page=lambda *_: some(data=data))
    read = list[bytes]()
    monkeypatch.setattr(fetch, "read_metadata", lambda told, _: read.append(told))
    with pytest.raises(FetchFailed) if digest == "wrong" else contextlib.nullcontext():
        fetch.fetch_metadata(wheel, http, some(), some())
    assert read == [data] * (digest != "wrong")
    assert fetch.fetch_metadata(some(has_metadata=False), http, some(), some()) is None


def test_the_release_that_runs_is_named_once_for_a_target_and_gpu(monkeypatch: Patch) -> None:
    asked = list[tuple[object, ...]]()

    def newest(*words: object) -> str:
        asked.append(words)
        return "1.5"

    monkeypatch.setattr(audit, "Audited", SimpleNamespace)

    def failing(name: str = "a 2.0", system: str = "linux", **facts: object) -> Any:  # noqa: ANN401
        target = some(name="prod", system=some(name=system))
        target.driver = some(values=[some(numbers=(580, 65, 6)), some(numbers=(570, 86))])
        gpu = verdict_values.H100
        result = some(verdict=Verdict.FAIL, distribution=name, target=target, gpu=gpu)
        return some(result=some(**(vars(result) | facts)))

    silent = [
        failing(""),
        failing(system="windows"),
        failing(gpu=None),
        failing(verdict=Verdict.UNKNOWN),
        failing(target=some(name="x", driver=None, system=some(name="linux"))),
        Skipped(Location("x"), "it is cut off"),
    ]
    records = [*silent, failing(), failing(), failing("b 1.0"), failing()]
    told = [
        each
        for each in audit._with_releases(records, some(newest=newest), "d")
        if each not in records
    ]
    assert [getattr(each, "message", "") for each in told] == [
        f"1.5 is the newest release of {name} in 'd' whose code runs on prod (h100)"
        for name in "ab"
    ]
    assert [words[:4] for words in asked] == [
        ("a", "driver", ["sm_90"], (570, 86, 0)),
        ("b", "driver", ["sm_90"], (570, 86, 0)),
    ]


@pytest.mark.parametrize(
    ("toolkits", "wheel", "verdict"),
    [
        (["12.4 PATH"], None, None),
        (["12.4 PATH", "12.4 CUDA_HOME"], "12.4.127", None),
        (["12.4 PATH", "12.6 CUDA_HOME"], None, Verdict.OK),
        (["12.4 PATH", "13.0 CUDA_HOME"], None, Verdict.UNKNOWN),
        (["12.4 PATH", "13.0 /usr/local/cuda"], None, None),  # nobody chose that one
        (["12.4 PATH", " CUDA_HOME"], None, None),
        ([], "12.4.127", None),
        (["12.4 PATH"], "12.6.20", Verdict.OK),
        (["12.4 PATH"], "13.0.48", Verdict.UNKNOWN),
    ],
)
def test_toolkits_are_in_conflict_where_their_releases_differ(
    toolkits: list[str], wheel: str | None, verdict: Verdict | None
) -> None:
    pairs = (toolkit.split(" ") for toolkit in toolkits)
    found = [some(version=version or None, root="/c", reached=(way,)) for version, way in pairs]
    wheels = [some(name="nvidia-cuda-nvcc-cu12", version=wheel, folder="/s")] if wheel else []
    environment = some(toolkits=found, wheels=wheels, conda=None)
    problems = [*machine.toolkits_in_conflict.function(environment)]
    assert [problem.verdict for problem in problems] == ([] if verdict is None else [verdict])


@pytest.mark.parametrize(
    ("kernel", "user", "container", "verdict"),
    [
        ("580.65.06", "580.65.06", False, None),
        ("580.65.06", "575.51.02", False, Verdict.FAIL),
        ("580.65.06", "590.44.01", False, Verdict.UNKNOWN),
        (None, "580.65.06", True, Verdict.UNKNOWN),
        (None, "580.65.06", False, None),
    ],
)
def test_both_halves_of_a_driver_are_of_one_version(
    kernel: str | None, user: str, container: str, verdict: Verdict | None
) -> None:
    driver = kernel and some(version=DriverVersion(version_numbers(kernel)), source="s")
    own = some(
        version=DriverVersion(version_numbers(user)), real="/l", stub=False, is_compat_package=False
    )
    facts = some(kernel_driver=driver, user_driver=own, container=container)
    facts.wsl2 = facts.jetson = False
    problems = [*machine.driver_halves_differ.function(facts)]
    assert [problem.verdict for problem in problems] == ([] if verdict is None else [verdict])


def test_an_answer_of_a_lost_worker_is_a_row_and_of_a_lost_cluster_the_end(
    monkeypatch: Patch,
) -> None:
    class Killed(Exception):
        pass

    monkeypatch.setattr(engine, "extra", lambda _: some(KilledWorker=Killed))
    rows = some(failed=lambda kind, reason, _, *, passing: (kind, reason, passing))
    monkeypatch.setattr(engine, "RowMaker", lambda *_: rows)

    def told(status: str, raised: Exception, answer: bytes = b"") -> Any:  # noqa: ANN401
        future = some(status=status, exception=lambda: raised)
        return engine._decoded(future, answer, some(), some(facts=None))

    assert told("finished", Killed(), msgspec.msgpack.encode(Surveyed())) == Surveyed()
    assert told("finished", Killed())[1].startswith("its worker's answer can't be read")
    assert told("error", ValueError("x")) == ("worker", "its worker failed: ValueError: x", True)
    assert told("error", Killed())[1].startswith("several workers died")
    with pytest.raises(LtocompatError, match="the cluster is gone"):
        told("cancelled", Killed())


def test_a_failure_of_the_network_is_one_short_sentence() -> None:
    assert len(str(FetchFailed("x" * 100_000, passing=True))) < 10_000


def test_a_loss_of_kernels_has_a_module_as_its_example() -> None:
    group = some(example=Location("a.so"), places=(Location("a.so"), Location("b.so")))
    lost = coverage.KernelCoverage(SmArch(80), 3, ("f",), (group,), ())
    for found in (lost, msgspec.structs.replace(lost, missing=())):
        case = some(gpu=verdict_values.H100)
        (finding,) = coverage.findings_of_coverage(case, (), found)
        assert finding.example == (group.example if found.missing else None)
        assert finding.message.startswith("2 of 3 kernels for sm_80 also have code for sm_90")
        assert (finding.places, finding.kernels) == (group.places * bool(found.missing), ("f",))
        assert [*coverage.findings_of_coverage(some(gpu=None), (), found)] == []
    assert [*coverage.findings_of_coverage(case, (), msgspec.structs.replace(lost, lost=()))] == []


def test_a_variant_is_not_held_against_what_is_only_compiled() -> None:
    findings = [verdict_values.finding(each, rule=f"{each}") for each in (*LEVELS, *LEVELS)]
    result = some(findings=findings, verdict=Verdict.FAIL)
    variant = some(name="cu12", version=None)
    found = judge_artifact.variant_verdict(variant, (result,), serves=True)
    assert found.rules == ("undocumented", "unknown", "fail")


@pytest.mark.parametrize(
    ("isa", "told"),
    [
        (None, "can't be read"),
        ("7.9", "no such version"),  # 8.0 came after 7.8
        ("1.9", "no such version"),
        ("99.0", "newer than the tables"),
        ("x", "no such version"),
    ],
)
def test_a_version_of_ptx_is_unknown_for_a_reason(isa: str | None, told: str) -> None:
    assert told in ptx._doubt(some(isa=isa))


def test_a_line_of_drivers_ends_before_the_branch_that_serves_no_more() -> None:
    services = verdict_values.required().services
    served = next(each for each in services if each.driver)
    branches = driver_branches()
    for last, later in itertools.pairwise([*branches[branches.index(580) :], None]):
        ended = msgspec.structs.replace(served, last_driver=DriverVersion((last or 0,)))
        lines = [*paste_lines._driver_lines(verdict_values.required(), [ended])]
        conda, container = [(line.where, line.text) for line in lines]
        below = (
            ("", "")
            if later is None
            else (f",<{branch_cuda(later)}", f",cuda<{branch_cuda(later)}")
        )
        assert conda == ("conda", f"__cuda >=13.0{below[0]}")
        assert container == ("container", f"NVIDIA_REQUIRE_CUDA=cuda>=13.0{below[1]}")


def test_linkers_are_asked_only_where_a_verdict_is_unknown(monkeypatch: Patch) -> None:
    asked = list[object]()
    monkeypatch.setattr(trials, "unknown_on", lambda *words: asked.append(words))
    found, goals = [some(path="a"), Failure("missing", "b")], [verdict_values.ONE]
    settled = trials.Trials.settled(some(), iter(found), goals, some(), Route.LINK)
    assert [*settled] == found
    assert asked == [(found[0], goals, Route.LINK)]


LINKERS = st.sampled_from(
    [
        ("libnvJitLink", "needed", "libnvJitLink.so.12"),
        ("libnvJitLink", "opened", "libnvJitLink.so.12"),
        ("libnvJitLink", "opened", "libnvJitLink.so.13"),
        ("libnvJitLink", "opened", None),
        ("libnvJitLink", "static", "libnvJitLink.so.13"),
        ("libcudart", "needed", "libcudart.so.13"),
    ]
)


@given(
    st.lists(LINKERS, max_size=3),
    st.sampled_from(["libcusparse.so.12", "libcufft.so.11", "libx.so.1", None]),
)
def test_a_library_of_cuda_ships_with_the_linker_whose_only_file_it_names(
    needs: list[tuple[str, str, str | None]], soname: str | None
) -> None:
    libraries = [some(name=name, how=how, file=file) for name, how, file in needs]
    own = {file for name, how, file in needs if "Link" in name and file and how != "static"}
    known = len(own) == 1 and soname in ("libcusparse.so.12", "libcufft.so.11")
    found = shipped_major(some(libraries=libraries, soname=soname))
    assert found == (int(own.pop().rpartition(".")[2]) if known else None)


@pytest.mark.parametrize("driver", [None, "580.95.05"])
@pytest.mark.parametrize("gpus", [(), ("h100",)])
def test_this_machine_is_a_target_with_a_driver_or_a_gpu(
    driver: str | None, gpus: tuple[str, ...]
) -> None:
    expected = pytest.raises(Missing, match="name the target") if not (driver or gpus) else None
    with expected or contextlib.nullcontext():
        check._need_a_driver(some(driver=driver, gpus=gpus))


def test_what_was_read_of_a_file_that_breaks_off_is_compared() -> None:
    side = release_side.Side("x", ["x"], Limits(), names=False, saved=False)
    data = (FOLDER / "fatbin" / "nvcc-13.0-none.fatbin").read_bytes()
    for record in ltocompat.inspect(data):
        if isinstance(record, ltocompat.Module):
            side.take(record)
    side.broken_off()
    assert [summary.modules for summary in side._summaries] == [1]
    assert (side.complete, side.sizes) == (False, [None])


VERSIONS_HERE = st.lists(
    st.tuples(st.sampled_from(["nvJitLink", "NVRTC"]), st.sampled_from(["12.4", "13.0", ""])),
    max_size=3,
)
GPUS_HERE = st.lists(st.sampled_from([("H100", 90), ("L4", 89), ("?", None)]), max_size=3)


@given(st.sampled_from([None, "580.95.05"]), GPUS_HERE, VERSIONS_HERE)
def test_this_machine_explains_by_what_it_has_only_one_of(
    driver: str | None, gpus: list[tuple[str, int | None]], picks: list[tuple[str, str]]
) -> None:
    here = some(
        kernel_driver=driver and some(version=driver),
        gpus=[some(name=name, arch=number and some(number=number)) for name, number in gpus],
        picks=[some(library=library, version=version) for library, version in picks],
    )
    known = {gpu for gpu in gpus if gpu[1] is not None}
    linkers = {version for library, version in picks if library == "nvJitLink" and version}
    expected = {"driver": driver} if driver else {}
    if len(known) == 1:
        expected |= {"gpu": [*known][0][0], "gpu_sm": str([*known][0][1])}  # noqa: RUF015
    if len(linkers) == 1:
        expected |= {"nvjitlink": linkers.pop()}
    with mock.patch("ltocompat.commands.env.env", return_value=some(environment=here)):
        assert explain._this_machine() == expected


GONE = Failure("unreadable", "it is gone")


@pytest.mark.parametrize("faults", [[], [GONE], [("a", "x")], [GONE, ("a", "x"), ("b", "y")]])
def test_the_first_cause_has_the_files_at_fault(monkeypatch: Patch, faults: list[Any]) -> None:
    asked = list[object]()

    def at_fault(*words: object) -> list[Any]:
        asked.append(words)
        return faults

    monkeypatch.setattr(files_at_fault, "files_at_fault", at_fault)
    first = Explained("A-1", "", "", also=("B-1",), values={"sm": "90"})
    second, third = Explained("B-1", "", ""), Explained("C-1", "", "")
    options = some(places=("p",), python="python3")
    *said, told, other, last = explain._with_files([first, second, third], options)
    assert asked == [(("A-1", "B-1"), {"sm": "90"}, options)]
    assert (other, last) == (second, third)
    assert isinstance(told, Explained)
    found = [fault for fault in faults if fault is not GONE]
    assert [(each.place, each.reason) for each in told.at_fault] == found
    assert [each for each in said if isinstance(each, Failure)] == [GONE] * (GONE in faults)
    assert len(said) == (GONE in faults) + (not found)


@pytest.mark.parametrize("places", [(), ("p",)])
@pytest.mark.parametrize("packages", [(), ("q", "r")])
@pytest.mark.parametrize("targets", [(), ("gpu=sm_90",)])
def test_files_at_fault_are_of_the_named_places_or_of_the_packages(
    monkeypatch: Patch, places: tuple[str, ...], packages: tuple[str, ...], targets: tuple[str, ...]
) -> None:
    """On the target that the text tells; else here, with the libraries of that Python."""
    asked = list[Any]()

    def checked(options: CheckOptions) -> list[object]:
        asked.append(options)
        rows = [(Verdict.JIT, "A-1", "a"), (Verdict.FAIL, "B-1", "b"), (Verdict.FAIL, "A-1", "c")]
        rows.append((Verdict.FAIL, "A-1", "a"))
        findings = [
            some(
                rule=rule,
                verdict=verdict,
                example=place,
                message=f"{number} of {rule}",
                asked=(),
            )
            for number, (verdict, rule, place) in enumerate(rows)
        ]
        row = verdict_values.result(Verdict.FAIL, verdict_values.PROD, findings=tuple(findings))
        return [GONE, row]

    monkeypatch.setattr(files_at_fault, "check", checked)
    monkeypatch.setattr(files_at_fault, "_targets", lambda _: targets)
    monkeypatch.setattr(
        files_at_fault, "_packages_of", lambda *words: packages if words == ("py", {}) else None
    )
    options = ExplainOptions(places=places, python="py")
    found = [*files_at_fault.files_at_fault(["A-1"], {}, options)]
    files = places or packages
    worst = [("c", "2 of A-1 (A-1)"), ("a", "3 of A-1 (A-1)")]
    assert found == ([GONE, *worst] if files else [])
    assert [(each.paths, each.targets, each.python) for each in asked] == [
        (files, targets or (THIS_MACHINE,), None if targets else "py")
    ][: len(files)]


@pytest.mark.parametrize("system", ["linux", "darwin", "win32"])
def test_trials_are_confined_on_linux_alone(monkeypatch: Patch, system: str) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr("ltocompat.trial.sandbox.available", lambda: ("Landlock",))
    assert env._mechanisms() == (("Landlock",) if system == "linux" else ())


def test_a_comparison_reads_the_kernels_of_ptx() -> None:
    data = (FOLDER / "fatbin" / "nvcc-13.0-none.fatbin").read_bytes()
    settings = ScanSettings()
    (stored,) = stored_in_file(ByteView.of(data), Location("x"), settings)
    assert isinstance(stored, StoredModule)
    module, _ = describe_module(stored, settings.detail)
    found = diff._with_ptx(stored, module)
    kinds = {image.kind for image in module.images}
    assert kinds == {ImageKind.PTX, ImageKind.SASS}
    for before, image in zip(module.images, found.images, strict=True):
        if image.kind is ImageKind.PTX:
            assert image.kernels
        assert image.kind is ImageKind.PTX or image == before


DRAFTS = st.builds(
    DraftTarget,
    st.sampled_from([DriverVersion((570, 26)), DriverVersion((580, 65, 6))]),
    st.sampled_from([None, Release(12, 8), Release(13, 0)]),
    st.sampled_from(["linux", "linux-aarch64"]),
    st.lists(st.sampled_from(["sm_80", "sm_90"]), unique=True).map(tuple),
    ignored=st.lists(
        st.builds(
            IgnoredFinding,
            st.sampled_from(["PTX-01", "LTO-01"]),
            st.just("a.so"),
            st.just("PTX"),
            st.just(""),
            st.just("oldest"),
            st.just(("sm_80",)),
            st.sampled_from([Verdict.UNKNOWN, Verdict.FAIL]).map(lambda v: (ExtentPart(v, 1),)),
            st.just("it fails"),
            st.just(""),
        ),
        max_size=2,
    ).map(tuple),
)


@given(DRAFTS, DRAFTS, st.booleans())
def test_a_policy_is_told_what_a_draft_would_have_otherwise(
    old: DraftTarget, new: DraftTarget, empty: bool
) -> None:
    """Findings that it excepts at their verdict, or a worse one, are no news."""
    today = dt.date(2026, 11, 29)
    policy = old.policy(today, "policy.toml")
    assert not [*draft.moved(policy, old, today)]
    new = msgspec.structs.replace(new, no_code=empty)
    found = [*draft.moved(policy, new, today)]
    pairs = {
        "os": (old.system, new.system),
        "driver": (old.driver, new.driver),
        "nvjitlink": (old.nvjitlink or "none", new.nvjitlink or "none"),
    }
    news = {key: pair for key, pair in pairs.items() if pair[0] != pair[1] and not empty}
    assert [line for line in found if " -> " in line] == [
        f"{key}: {before} -> {after}" for key, (before, after) in news.items()
    ]
    assert ("there is no device code" in found) == empty
    lost, gained = (
        [] if empty else [*dict.fromkeys(x for x in a if x not in b)]
        for a, b in ((old.gpus, new.gpus), (new.gpus, old.gpus))
    )
    for words, gpus in (("no longer", lost), ("now also", gained)):
        (line,) = [each for each in found if f"GPUs: {words}" in each] or [""]
        assert bool(line) == bool(gpus)
    excepted = {each.rule: Verdict.OK for each in old.ignored}
    for each in old.ignored:
        excepted[each.rule] = max(excepted[each.rule], each.verdict)
    told = [each for each in new.ignored if each.verdict > excepted.get(each.rule, Verdict.OK)]
    assert [line for line in found if "it fails" in line] == [
        *dict.fromkeys(f"{each.rule}: it fails" for each in told)
    ]


@pytest.mark.parametrize("linker", ["12.4", ">=12.4", "==12.4", "~=12.4", "<13", "=12.4", "!=13.0"])
@pytest.mark.parametrize("driver", [None, "580"])
def test_fragments_are_linked_by_a_version_or_by_one_in_a_range(
    monkeypatch: Patch, linker: str, driver: str | None
) -> None:
    monkeypatch.setattr(linkable, "Evaluator", lambda spelled, **_: spelled)
    found: object = linkable._evaluator.__wrapped__(linker, "sm_90", driver, Limits())
    written = f"={linker}" if linker[0].isdigit() else linker
    assert found == f"nvjitlink{written},gpu=sm_90{f',driver={driver}' if driver else ''}"


@pytest.mark.parametrize("places", [(), ("a",), ("a", "c")])
@pytest.mark.parametrize("example", [None, "b"])
def test_a_finding_is_about_the_fragments_of_its_places_or_of_its_example(
    places: tuple[str, ...], example: str | None
) -> None:
    finding = some(
        places=tuple(some(path=path) for path in places), example=example and some(path=example)
    )
    paths = places or ((example,) if example else ())
    assert linkable._at_fault(finding, "abcab") == {
        at for at, name in enumerate("abcab") if name in paths
    }


@pytest.mark.parametrize("there", [(), (0,), (1,), (0, 1, 2)])
def test_linkers_that_are_missing_are_installed_one_after_the_other(
    monkeypatch: Patch, there: tuple[int, ...]
) -> None:
    wanted = [some(tool=None, number=number) for number in range(3)]
    cache = some(size_of=len)
    monkeypatch.setattr(linkers, "Cache", some(of=lambda **_: cache))
    monkeypatch.setattr(
        linkers, "present", lambda each, _: f"old {each.number}" if each.number in there else None
    )
    monkeypatch.setattr(linkers, "install_one", lambda each, *_, **__: f"new {each.number}")
    plan: Any = some(wanted=wanted, size=111)
    found: Any = [*linkers.install_linkers(plan)]
    assert [(each.action, each.linker) for each in found] == [
        ("kept", f"old {number}") if number in there else ("installed", f"new {number}")
        for number in range(3)
    ]


def test_the_producers_of_all_images_are_told_once() -> None:
    """In file order; of what can't be read nothing is said."""
    data = (FOLDER / "cubin" / "nvrtc-12.4-sm_80.cubin").read_bytes()
    other = (FOLDER / "ptx" / "nvrtc-13.5-compute_80.ptx").read_bytes()
    versions = [[maker.version for maker in ltocompat.producer(each)] for each in (data, other)]
    assert all(versions)
    specs = [EntrySpec(KINDS["sass"], data), EntrySpec(KINDS["ptx"], other)]
    both = region([entry(spec) for spec in (*specs, specs[0])])
    assert [maker.version for maker in ltocompat.producer(both)] == [
        version for each in versions for version in each
    ]
    with pytest.raises(UnreadableInput, match="can't be read"):
        ltocompat.producer(both[:-8])


@pytest.mark.parametrize("address", ["s3://bucket/new", "https://example.org/new"])
def test_repair_writes_to_no_address(address: str) -> None:
    with pytest.raises(UsageError, match="output"):
        ltocompat.repair("x-1-py3-none-any.whl", output=address)


@pytest.mark.parametrize("libraries", [0, 1])
@pytest.mark.parametrize("images", [0, 1])
@pytest.mark.parametrize("left", [(), ("PKG-01",), ("PKG-04",)])
@pytest.mark.parametrize("news", [(), ("PKG-07",)])
def test_a_repaired_wheel_is_what_was_planned(
    monkeypatch: Patch, libraries: int, images: int, left: tuple[str, ...], news: tuple[str, ...]
) -> None:
    """PKG-01 was to go, PKG-04 was known to stay; nothing else is another."""
    monkeypatch.setattr(repair, "_loaded", lambda shipped: shipped)
    monkeypatch.setattr(repair, "key_of", lambda each: each.rule)
    monkeypatch.setattr(
        repair, "new_problems", lambda *_: [some(rule=each, message="") for each in news]
    )
    old = some(path="x.whl", findings=(), images=lambda: 0)
    findings = [some(rule=each, message="") for each in left]
    new = some(shipped=libraries, findings=findings, images=lambda: images)
    mended: Any = [some(rule="PKG-01", reason=""), some(rule="PKG-04", reason="no package")]
    fails = "PKG-01" in left or news or libraries or images
    expected = pytest.raises(LtocompatError, match="is not repaired") if fails else None
    planned: Any = 0
    with expected or contextlib.nullcontext():
        repair._prove(old, new, planned, mended)


@pytest.mark.parametrize("diff", [(), ("+ line",)])
def test_a_wheel_that_stays_loses_no_signature_and_needs_no_licence(
    monkeypatch: Patch, diff: tuple[str, ...]
) -> None:
    edits = some(diff=lambda: diff, name="x.whl", signatures=("RECORD.jws",))
    monkeypatch.setattr(repair, "_Read", lambda *_: some(shipped=None, problems=(), verdict=None))
    monkeypatch.setattr(repair, "plan", lambda *_: (None, []))
    monkeypatch.setattr(repair, "edits_between", lambda *_: edits)
    monkeypatch.setattr(repair, "licence_notes", lambda _: ["a note"])
    options: Any = some(only=(), limits=Limits(), output=None, dry_run=True)
    found: list[Any] = [*repair._repaired("x.whl", options)]
    *notes, told = found
    assert notes == (["a note"] if diff else [])
    assert (told.path, told.output, told.diff) == ("x.whl", None, diff)
    assert told.void == (("RECORD.jws",) if diff else ())

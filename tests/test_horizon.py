"""Numbers that the tables don't have: newer than all, between two, and code of a release to come.

What real linkers did is in ``data/ltoir_links.json`` and ``data/link_answers.json``. Each release
is taken out of the tables in turn, with all that came after it, so that the program knows as much
of it as it knows today of the next one.
"""

from __future__ import annotations

import json
from pathlib import Path

import measure_links
import pytest
import recorded
from as_of import as_of
from generated_artifacts import ARTIFACTS
from generated_targets import targets
from held_against import DISAGREE, held
from hypothesis import given, settings
from hypothesis import strategies as st
from measure import described
from msgspec.structs import replace
from newest import NEWEST, NEXT
from rule_cases import spares, strikes
from rules import driver, gpu, image, judged, linking, loading, sample
from samples import FOLDER

import ltocompat
from ltocompat import Verdict, cli
from ltocompat.facts import drivers, horizon, ltoir, nvjitlink_minors, rows
from ltocompat.model.arch import Release, SmArch
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.image import ImageKind
from ltocompat.model.signature import ModuleSignature
from ltocompat.model.target import DriverVersion, Quantifier, Target, VersionSet
from ltocompat.model.trial_answer import TOO_NEW, TrialOutcome, link_key
from ltocompat.model.verdict import Finding, Level, Result, worst
from ltocompat.rules.engine.engine import Case, Engine
from ltocompat.rules.engine.judge_artifact import results
from ltocompat.rules.engine.judge_module import judge_linked

LTOIR, PTX = "ltoir/nvrtc-13.5-lto_80.ltoir", "ptx/nvrtc-12.9-compute_80.ptx"
SCRAMBLED = "fatbin-ltoir/nvfatbin-13.5-of-13.5-lto_80.fatbin"
SASS = "cubin/nvrtc-12.4-sm_80-rdc.cubin"


def check(name: str, target: str, route: str | None = None) -> Result:
    (result,) = ltocompat.check(str(FOLDER / name), [target], route=route)
    return result


def found(result: Result, rule_id: str) -> list[Finding]:
    return [finding for finding in result.findings if finding.rule == rule_id]


@given(st.integers(0, 30), st.frozensets(st.integers(0, 30), min_size=1))
def test_a_number_is_a_row_or_lies_between_its_nearest_rows(
    number: int, rows: frozenset[int]
) -> None:
    where = horizon.position(number, rows)
    assert where.known == (number in rows)
    assert where.beyond == (number > max(rows))
    assert (where.below is None) == (number < min(rows))
    if not where.known and where.below is not None and where.above is not None:
        assert where.below < number < where.above
        assert not {row for row in rows if where.below < row < where.above}


@pytest.mark.parametrize("release", ["14.0", "99.9"])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_120"])
@pytest.mark.parametrize("name", [LTOIR, SCRAMBLED, PTX, "ptx/hand-written-compute_75.ptx"])
def test_what_a_new_major_of_a_linker_takes_is_unknown(name: str, arch: str, release: str) -> None:
    result = check(name, f"nvjitlink={release},gpu={arch}", "link")
    assert result.verdict is Verdict.UNKNOWN
    assert "every measured case" not in " ".join(finding.message for finding in result.findings)
    assert any(finding.decided_by_trial for finding in result.findings)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_a_new_major_of_nvlink_is_no_better_known(arch: str) -> None:
    result = check("objects/nvcc-13.5-lto.o", f"nvlink=14.0,gpu={arch}")
    assert result.verdict is Verdict.UNKNOWN
    assert found(result, "LTO-15")


def test_a_new_major_brings_nothing_back_that_was_dropped() -> None:
    assert check(PTX, "nvjitlink=14.0,gpu=sm_70", "link").verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("name", "verdict"),
    [(LTOIR, Verdict.OK), (PTX, Verdict.OK), (SASS, Verdict.OK)],
)
def test_a_later_minor_of_a_linker_is_judged_by_what_is_documented(
    name: str, verdict: Verdict
) -> None:
    result = check(name, f"nvjitlink={NEXT},gpu=sm_80", "link")
    assert result.verdict is verdict
    (note,) = found(result, "TGT-03")
    said = f"nvJitLink {NEXT} is newer than {NEWEST}, the newest entry in our tables"
    assert note.message.startswith(said)
    assert note.message.endswith("this version may have dropped sm_80")


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("driver=700,gpu=sm_90", f"driver 700 is newer than {drivers.driver_branches()[-1]},"),
        ("driver=540.1.0,gpu=sm_90", "driver 540.01.00 is not in our tables: it counts as"),
        ("nvjitlink=12.7,gpu=sm_90", "nvJitLink 12.7 is not in our tables: it counts as"),
        ("nvjitlink=12.10,gpu=sm_90", "counts as between 12.9 and 13.0"),
    ],
)
@strikes("TGT-03")
def test_a_version_that_no_table_has_is_noted(target: str, said: str) -> None:
    route = "load" if "driver" in target else "link"
    (note,) = found(check("ptx/nvrtc-12.0-compute_80.ptx", target, route), "TGT-03")
    assert said in note.message
    assert (note.verdict, note.level) == (Verdict.OK, Level.NOTE)
    assert not note.counts_from(Verdict.UNDOCUMENTED)


@pytest.mark.parametrize("target", ["driver=551.61", "driver=615", "driver=580.65.06"])
@spares("TGT-03")
def test_a_version_of_the_tables_is_not_noted(target: str) -> None:
    result = check(PTX, f"{target},nvjitlink=13.5,gpu=sm_90", "load")
    assert not found(result, "TGT-03")


def test_drivers_for_windows_are_of_the_branches_that_came_with_their_toolkits() -> None:
    pairs = [(row.windows, row.linux) for row in rows(drivers.ToolkitDriver)]
    for windows, linux in pairs:
        if windows and linux:
            assert drivers.branch_of(driver(windows)) == driver(linux).branch


@strikes("LTO-18")
def test_scrambled_ltoir_of_the_newest_container_is_ok_with_its_condition(
    capsys: pytest.CaptureFixture[str],
) -> None:
    target = f"nvjitlink={NEWEST},gpu=sm_90"
    (warning,) = found(check(SCRAMBLED, target, "link"), "LTO-18")
    assert (warning.verdict, warning.level) == (Verdict.OK, Level.WARNING)
    assert f"if CUDA {NEWEST} or older made it (as of {ltoir.newest_date()})" in warning.headline
    command = ["check", str(FOLDER / SCRAMBLED), "--route", "link", "--deploy-target", target]
    assert cli.run(command) == 0
    shown = capsys.readouterr().out
    assert f"if CUDA {NEWEST} or older made it (as of {ltoir.newest_date()})" in shown
    assert "--trial-link" in shown
    assert cli.run([*command, "--strict"]) == 1


def test_a_matrix_names_the_condition_of_its_cells(capsys: pytest.CaptureFixture[str]) -> None:
    condition = f"if CUDA {NEWEST} or older made it (as of {ltoir.newest_date()}) (LTO-18)"
    cli.run(["matrix", str(FOLDER / SCRAMBLED)])
    assert condition in capsys.readouterr().out.replace("\n", " ")
    cli.run(["matrix", str(FOLDER / LTOIR)])
    assert "LTO-18" not in capsys.readouterr().out


@spares("LTO-18")
def test_ltoir_that_shows_its_release_has_no_condition() -> None:
    target = f"nvjitlink={NEWEST},gpu=sm_90"
    for name in (LTOIR, "fatbin-ltoir/nvfatbin-13.2-of-13.2-lto_80.fatbin"):
        assert not found(check(name, target, "link"), "LTO-18")


def test_a_policy_that_fails_on_undocumented_minds_the_condition(tmp_path: Path) -> None:
    for fail_on, status in (("fail", 0), ("undocumented", 1)):
        (tmp_path / "ltocompat.toml").write_text(
            f'[audit]\nfail-on = "{fail_on}"\ntargets = ["t"]\n'
            f'[targets.t]\nnvlink = "{NEWEST}"\ndriver = "615"\ngpu = "sm_80"\n',
            "utf-8",
        )
        policy = str(tmp_path / "ltocompat.toml")
        waiting = str(FOLDER / "objects" / "nvcc-13.5-lto.o")
        assert cli.run(["audit", waiting, "--config", policy]) == status


@pytest.mark.parametrize(
    ("outcome", "cause", "verdict", "rules"),
    [
        ("linked", None, Verdict.OK, {"TRIAL"}),
        ("refused", TOO_NEW, Verdict.FAIL, {"TRIAL"}),
        ("refused", None, Verdict.FAIL, {"LTO-18", "TRIAL-DISAGREES"}),
    ],
)
def test_a_trial_settles_who_made_scrambled_ltoir(
    outcome: str, cause: str | None, verdict: Verdict, rules: set[str]
) -> None:
    signature = ModuleSignature(sample(SCRAMBLED), registered=None)
    versions = VersionSet(str(NEWEST), (NEWEST,), Quantifier.ALL, "given")
    target = Target(name="t", nvjitlink=versions)
    answer = TrialOutcome("nvJitLink", outcome, cause, "new")
    trials = {link_key(NEWEST, SmArch(90)): answer}
    after = judge_linked(Case(Engine(), target, gpu("sm_90")), signature, trials)
    about = {"LTO-18", "TRIAL", "TRIAL-DISAGREES"}
    assert after.verdict is verdict
    assert {finding.rule for finding in after.findings} & about == rules


@pytest.mark.parametrize(("cuda", "verdict"), [("13.6", None), ("14.0", Verdict.UNKNOWN)])
def test_sass_of_a_new_major_is_not_taken_for_that_of_13(
    cuda: str, verdict: Verdict | None
) -> None:
    subject = loading(image(ImageKind.SASS, "sm_90", cuda, generation=2), on="sm_90")
    assert judged("DRV-01", subject, driver("615.10.01")) is verdict


@pytest.mark.parametrize(
    ("cuda", "verdict"), [(NEWEST, Verdict.UNDOCUMENTED), (NEXT, Verdict.UNKNOWN)]
)
def test_sass_that_nobody_tried_with_old_linkers_is_not_said_to_be_taken(
    cuda: Release, verdict: Verdict
) -> None:
    cubin = image(
        ImageKind.SASS, "sm_80", str(cuda), generation=2, relocatable=True, in_fatbin=False
    )
    assert judged("BLD-02", linking(cubin, on="sm_80", linker="12.9"), Release(12, 9)) is verdict


def _on_linker(target: Target, linker: Release) -> Target:
    versions = VersionSet(str(linker), (linker,), Quantifier.ALL, "given")
    return replace(target, nvjitlink=versions)


def _fold(summary: ArtifactSummary, target: Target) -> Verdict:
    return worst(result.verdict for result in results(summary, target))


def _alike_beyond(known: Verdict, beyond: Verdict) -> bool:
    """Nothing gets worse; and better only what is as new as the target, which is then unknown."""
    return beyond is known or (known is Verdict.FAIL and beyond is Verdict.UNKNOWN)


some = settings(max_examples=60)


@some
@given(ARTIFACTS, targets(), st.integers(1, 90))
def test_a_later_minor_takes_what_the_newest_known_one_takes(
    summary: ArtifactSummary, target: Target, more: int
) -> None:
    known = _fold(summary, _on_linker(target, NEWEST))
    later = Release(NEWEST.major, NEWEST.minor + more)
    assert _alike_beyond(known, _fold(summary, _on_linker(target, later)))


@some
@given(ARTIFACTS, targets(), st.integers(1, 85))
def test_nothing_links_for_certain_with_a_new_major(
    summary: ArtifactSummary, target: Target, more: int
) -> None:
    new = _on_linker(target, Release(NEWEST.major + more, 0))
    for result in results(summary, new):
        if result.coverage.link:
            assert result.verdict >= Verdict.UNKNOWN


@some
@given(ARTIFACTS, targets(), st.integers(1, 400), st.integers(0, 300))
def test_a_later_driver_runs_what_the_newest_known_one_runs(
    summary: ArtifactSummary, target: Target, more: int, patch: int
) -> None:
    newest = drivers.driver_branches()[-1]
    folds = []
    for version in (DriverVersion((newest, patch)), DriverVersion((newest + more, patch))):
        versions = VersionSet(str(version), (version,), Quantifier.ALL, "given")
        folds.append(_fold(summary, replace(target, driver=versions)))
    assert _alike_beyond(*folds)


@some
@given(ARTIFACTS, targets(), st.sampled_from([Release(12, 7), Release(12, 10), Release(12, 77)]))
def test_a_release_between_two_is_judged_as_one_of_them(
    summary: ArtifactSummary, target: Target, between: Release
) -> None:
    where = horizon.of_linker(between)
    assert where.below is not None
    assert where.above is not None
    around = {_fold(summary, _on_linker(target, each)) for each in (where.below, where.above)}
    assert _fold(summary, _on_linker(target, between)) in around


RELEASES = nvjitlink_minors()[1:]


@pytest.mark.slow
@pytest.mark.parametrize("hidden", RELEASES, ids=str)
def test_no_link_of_a_release_to_come_is_said_to_work_for_certain(hidden: Release) -> None:
    """Hold verdicts of the program as of before a release against LTO-IR of all, linked by all."""
    tables = json.loads(measure_links.STORED.read_text("utf-8"))["tables"]
    held_against = 0
    for folder, table in tables.items():
        samples = measure_links.producers(folder)
        for producer, row in table.items():
            newer = [
                linker
                for linker in row
                if max(Release.parse(linker), Release.parse(producer)) >= hidden
            ]
            asked = [f"name={linker},nvjitlink={linker},gpu=sm_80" for linker in newer]
            with as_of(hidden):
                for result in ltocompat.check(
                    str(samples[producer].path), asked, route="link", cache=False
                ):
                    linked = row[result.target.name] == "linked"
                    pair = (folder, producer, result.target.name, result.findings)
                    if linked:
                        assert result.verdict is not Verdict.FAIL, pair
                    elif result.verdict < Verdict.UNKNOWN:
                        assert found(result, "LTO-18"), pair
                    held_against += 1
    assert held_against >= 56  # 28 images with the newest linker, and the newest with all


@pytest.mark.slow
@pytest.mark.parametrize("hidden", RELEASES, ids=str)
def test_no_recorded_link_contradicts_what_was_said_before_its_release(
    hidden: Release, tmp_path: Path
) -> None:
    links = recorded.stored()
    with as_of(hidden):
        rows = list(held(links, tmp_path))
    wrong = [row for row in rows if row.outcome == DISAGREE and "LTO-18" not in row.why]
    assert not wrong, [described(row) for row in wrong]


def test_what_was_hidden_is_back() -> None:
    before = (horizon.of_linker(NEWEST), drivers.driver_branches(), ltoir.writers("container"))
    with as_of(Release(13, 0)):
        assert nvjitlink_minors()[-1] == Release(12, 9)
        assert drivers.driver_branches()[-1] == 575
        assert horizon.of_linker(NEWEST).beyond
    assert (
        horizon.of_linker(NEWEST),
        drivers.driver_branches(),
        ltoir.writers("container"),
    ) == before

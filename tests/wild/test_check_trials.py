"""Verdicts after trial links with every nvJitLink, which settle what bytes leave open."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
import wheels
from samples import FOLDER
from summaries import summaries
from test_check_links import FATBIN, LINKED, MINORS, RAW, sample, targets

from ltocompat.commands.check import check
from ltocompat.commands.read_artifacts import ScanOptions
from ltocompat.model.arch import Release
from ltocompat.model.verdict import Verdict
from ltocompat.scan.walk import ScanSettings
from ltocompat.targets import parse
from ltocompat.trial.link_job import JobLinkers
from ltocompat.trial.try_links import LinkTrial

pytestmark = pytest.mark.wild


@pytest.mark.parametrize("folder", ["ltoir/", "fatbin-ltoir/"])
def test_with_a_trial_nothing_is_unknown_and_every_verdict_is_what_was_measured(
    folder: str,
) -> None:
    table = RAW if folder == "ltoir/" else FATBIN
    for release, row in table.items():
        found = check(
            sample(folder, release),
            targets=targets(),
            route="link",
            trial_link=True,
            install_linkers=True,
        )
        for linker, result in zip(MINORS, found, strict=True):
            crossing = linker.major != Release.parse(release).major
            works = Verdict.UNDOCUMENTED if crossing else Verdict.OK
            expected = works if row[str(linker)] in LINKED else Verdict.FAIL
            textses = [(finding.rule, finding.message) for finding in result.findings]
            assert result.verdict is expected, (release, linker, textses)
            assert "TRIAL-DISAGREES" not in [
                each_finding.rule for each_finding in result.findings
            ], textses


@pytest.mark.parametrize("name", ["nvcc-13.5-lto.o", "nvcc-13.5-lto+sass.o"])
@pytest.mark.parametrize(("linker", "verdict"), [("13.4", Verdict.FAIL), ("13.5", Verdict.OK)])
def test_scrambled_ltoir_of_an_object_is_settled_as_that_of_a_fatbin_is(
    name: str, linker: str, verdict: Verdict
) -> None:
    """An object waits for a link: by nvJitLink where that is the target's linker."""
    target = f"nvjitlink={linker},gpu=sm_80"
    path = str(FOLDER / "objects" / name)
    (without,) = check(path, [target], route="link")
    (result,) = check(path, [target], route="link", trial_link=True, install_linkers=True)
    assert (without.verdict is Verdict.UNKNOWN) is (linker == "13.4")
    assert result.verdict is verdict, result.findings


def test_what_is_tried_of_a_file_depends_on_no_other(tmp_path: Path) -> None:
    data = Path(sample("fatbin-ltoir/", "12.9")).read_bytes()
    package = tmp_path / "package.zip"
    with zipfile.ZipFile(package, "w") as archive:
        for name in ("a.fatbin", "b.fatbin"):
            (tmp_path / name).write_bytes(data)
            archive.writestr(name, data)
    goals = parse(["nvjitlink=12.9,gpu=sm_90"])
    with LinkTrial(goals, JobLinkers(install_missing=True)) as link_trial:
        reading = ScanOptions(ScanSettings(), tuple(goals), link_trial.for_file, apart=True)
        found = [group for summary in summaries([tmp_path], reading) for group in summary.groups]
    assert [group.count for group in found] == [1, 1, 1, 1]
    assert [tried.outcome for group in found for tried in group.trials.values()] == ["linked"] * 4


def test_ltoir_of_cuda_11_fails_as_often_as_it_stands_there(tmp_path: Path) -> None:
    """Adding is no answer: these are refused when they are compiled."""
    one = (FOLDER / "fatbin-ltoir" / "nvfatbin-12.4-of-11.8-lto_80.fatbin").read_bytes()
    path = tmp_path / "two.fatbin"
    path.write_bytes(one + bytes(-len(one) % 8) + one)
    (result,) = check(
        str(path), ["nvjitlink=12.4,gpu=sm_80"], route="link", trial_link=True, install_linkers=True
    )
    failed = {finding.rule: finding.module_count for finding in result.findings}
    assert result.verdict is Verdict.FAIL
    assert failed["LTO-02"] == 2
    assert "TRIAL-DISAGREES" not in failed


def test_ltoir_from_before_cuda_11_7_is_for_the_driver_alone() -> None:
    """34 modules; cuSPARSE 11 opens libcuda, and nvJitLink refuses their IR of version 1.7."""
    path = wheels.member("nvidia-cusparse-cu11==11.7.5.86", "nvidia/cusparse/lib/libcusparse.so.11")
    (result,) = check(str(path), ["driver=580.65.06,nvjitlink=12.4,gpu=sm_90"])
    asked = {f.rule: f.module_count for f in result.findings if f.verdict > Verdict.JIT}
    assert asked == {"LTO-02": 34}
    assert result.verdict is Verdict.UNKNOWN

"""Audits that ask real nvJitLinks: what is kept of them says the same as asking again.

The nvJitLinks are those of the user's cache; missing ones are installed.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from kernels_project import Project

import ltocompat
from ltocompat.cli import run
from ltocompat.commands.policy.gate import Audited
from ltocompat.model.verdict import Verdict
from ltocompat.scan.summary_cache import SummaryCache
from ltocompat.targets.linkers import Cache, obtain

pytestmark = pytest.mark.wild
SET = "fatbin-ltoir/nvfatbin-13.3-of-13.3-lto_80.fatbin"  # made by 13.3, 13.4 or 13.5


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Its scale.ltoir is a set that only a trial settles; the cache is empty but for linkers."""
    for release in ("13.2", "13.3"):
        obtain(release, install_missing=True)
    ours = tmp_path / "cache" / "ltocompat"
    ours.mkdir(parents=True)
    (ours / "nvjitlink").symlink_to(Cache.of().folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    copy = Project.copy(tmp_path / "kernels")
    copy.code["scale.ltoir"] = SET
    copy.edit('nvjitlink = "13.2"', 'nvjitlink = "13.3"')
    copy.edit('nvjitlink = ">=13.2,<14"', 'nvjitlink = "13.3"')
    copy.edit('fail-on = "unknown"', 'fail-on = "unknown"\ntrial-link = true')
    copy.build()
    monkeypatch.chdir(copy.folder)
    return copy


def audits(*, cache: bool = True) -> list[Audited]:
    found = ltocompat.audit("dist", cache=cache), ltocompat.audit(_wheel(), cache=cache)
    return [record for some in found for record in some if isinstance(record, Audited)]


def _wheel() -> str:
    (name,) = os.listdir("dist")
    return os.path.join("dist", name)


def linked(audited: list[Audited]) -> set[Verdict]:
    return {
        each_audited.result.verdict
        for each_audited in audited
        if each_audited.result.target.name == "edge"
    }


def test_a_trial_settles_what_the_rules_leave_open(project: Project) -> None:
    assert linked(audits()) == {Verdict.OK}
    project.edit("trial-link = true", "trial-link = false")
    assert linked(audits()) == {Verdict.UNKNOWN}


def test_the_option_settles_it_as_the_key_does(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.edit("nvidia-nvjitlink>=13.2,<14", "nvidia-nvjitlink>=13.3,<14")
    project.build()
    assert run(["audit"]) == 0
    by_key = capsys.readouterr().out
    project.edit("trial-link = true", "trial-link = false")
    assert run(["audit"]) == 1
    assert "what to do: let the linker decide: add --trial-link, or" in capsys.readouterr().out
    assert run(["audit", "--trial-link"]) == 0
    assert capsys.readouterr().out == by_key


def test_without_a_policy_a_trial_settles_what_the_metadata_admit(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """The LTO-IR is that of 13.3, and so is the lower bound."""
    project.edit("nvidia-nvjitlink>=13.2,<14", "nvidia-nvjitlink>=13.3,<14")
    wheel = str(project.build().resolve())
    (project.folder / "pyproject.toml").unlink()
    assert run(["audit", wheel]) == 3
    said = capsys.readouterr().out
    assert said.startswith(
        "audit undecided: 1 finding needs a trial link: the metadata allows nvidia-nvjitlink 13.3, "
        "but the package has LTO-IR made by 13.3, 13.4 or 13.5; "
    )
    assert "\nwhat to do: let the linker decide: add --trial-link\n" in said
    assert run(["audit", wheel, "--trial-link"]) == 0
    assert capsys.readouterr().out.startswith(f"audit passed: {wheel}; no policy was used\n")


def test_a_second_audit_says_the_same(project: Project) -> None:
    assert project
    fresh = audits(cache=False)
    assert not _kept(f"{SummaryCache.NAME}/*")
    assert audits() == fresh
    assert len(_kept(f"{SummaryCache.NAME}/*")) == 1  # folders are read again
    assert audits() == fresh
    shutil.rmtree(_kept(SummaryCache.NAME)[0])
    assert audits() == fresh
    assert _kept("trials-*/*")


def test_check_finds_the_same_with_its_trial_links(project: Project) -> None:
    assert project
    wanted = [
        {(finding.rule, finding.verdict, finding.message) for finding in audited.result.findings}
        for audited in audits()
        if audited.result.target.name != "every target"
    ]
    found = ltocompat.check([_wheel()], ["prod", "edge"], trial_link=True)
    rowses = [
        {
            (each_finding.rule, each_finding.verdict, each_finding.message)
            for each_finding in result.findings
        }
        for result in found
        if result.target.name != "every target"
    ]
    assert rowses * 2 == wanted


def _kept(pattern: str) -> list[Path]:
    return list(Path(os.environ["XDG_CACHE_HOME"], "ltocompat").glob(pattern))

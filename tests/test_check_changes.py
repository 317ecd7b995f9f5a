"""A change of drivers, planned: what an environment does elsewhere, and what of it differs."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from linker_trees import IN_WHEEL, put
from msgspec.structs import replace
from samples import FOLDER
from test_rules_loader import nvjitlink, user
from test_targets_inventory import nodes

from ltocompat.cli import run
from ltocompat.commands.check import check
from ltocompat.commands.this_machine import ThisMachine
from ltocompat.model.environment import Environment, LibraryPick
from ltocompat.model.library_name import PATHFINDER
from ltocompat.model.target import THIS_MACHINE, Quantifier, Target
from ltocompat.model.verdict import Verdict
from ltocompat.targets import parse
from ltocompat.targets.linkers import Machine
from ltocompat.targets.machine.python_environment import Installation

PTX_13 = FOLDER / "ptx" / "nvcc-13.0-compute_80.ptx"
PTX_12 = FOLDER / "ptx" / "nvrtc-12.0-compute_80.ptx"
LTOIR = FOLDER / "ltoir" / "nvrtc-12.9-lto_80.ltoir"
TARGETS = ["--deploy-target", "driver=550,gpu=h100", "--deploy-target", "driver=580,gpu=h100"]


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = run(["check", *words, "--route", "load"])
    return code, capsys.readouterr().out


def test_only_what_differs_between_the_targets_is_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = (str(PTX_13), str(PTX_12), *TARGETS, "--changes")
    code, text = answer(capsys, *words)
    assert code == 1
    assert PTX_13.name in text
    assert PTX_12.name not in text
    assert text.endswith("no difference between the targets in 1 artifact: 1 jit\n")
    value = json.loads(answer(capsys, *words, "--format", "json")[1])
    assert [(row["path"], row["verdict"]) for row in value["results"]] == [
        (str(PTX_13), "fail"),
        (str(PTX_13), "jit"),
    ]


def test_where_nothing_differs_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = answer(capsys, str(PTX_12), *TARGETS, "--changes")
    assert (code, text) == (0, "no difference between the targets in 1 artifact: 1 jit\n")


def test_findings_that_are_alike_everywhere_are_where_changes_are_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    targets = [word.replace("580", "545") for word in TARGETS]
    code, text = answer(capsys, str(PTX_13), *targets, "--changes")
    alike = "no difference between the targets in 1 artifact: 1 fail"
    assert (code, text) == (1, f"{alike}; to see their findings, leave out --changes\n")


def test_a_note_alone_is_no_difference(capsys: pytest.CaptureFixture[str]) -> None:
    """Minor-version compatibility runs SASS of 12.9 on 550, where a note tells it."""
    cubin = FOLDER / "cubin" / "nvrtc-12.9-sm_90.cubin"
    code, text = answer(capsys, str(cubin), *TARGETS, "--changes")
    assert (code, text) == (0, "no difference between the targets in 1 artifact: 1 ok\n")


def test_changes_need_targets(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", str(PTX_12), "--changes"]) == 2
    assert "give --deploy-target at least twice" in capsys.readouterr().err


def picked(library: str, path: str, version: str) -> LibraryPick:
    return LibraryPick(library, PATHFINDER, Path(path).name, path, path, "made up", version)


@pytest.fixture
def machine(tmp_path: Path) -> ThisMachine:
    """An environment with LTO-IR and nvJitLink 12.4, on a machine with one of 13.0 beside it."""
    linker = tmp_path / "nvidia" / "libnvJitLink.so.12"
    linker.parent.mkdir()
    linker.touch()
    shutil.copy(LTOIR, tmp_path)
    picks = (
        picked("nvJitLink", str(linker), "12.4.127"),
        picked("nvrtc", "/usr/local/cuda/lib64/libnvrtc.so.13", "13.0.48"),
    )
    packages = Installation("venv", "--python", (str(tmp_path),))
    target = Target(name=THIS_MACHINE)
    return ThisMachine(
        target=target,
        machine=Machine.here(),
        environment=Environment(picks=picks),
        installation=packages,
    )


def test_packages_bring_their_linker_along_and_leave_the_machine_behind(
    machine: ThisMachine,
) -> None:
    (described,) = parse(["driver=580.95.05,gpu=h100"])
    moved = machine.packages_on(described).target
    assert moved.nvjitlink is not None
    assert [str(release) for release in moved.nvjitlink.values] == ["12.4"]
    assert moved.nvjitlink.quantifier is Quantifier.ONE_OF
    assert moved.nvrtc is None
    assert replace(moved, nvjitlink=None) == described
    results = list(check(targets=[machine.packages_on(described)]))
    assert [(os.path.basename(r.path), r.verdict) for r in results] == [(LTOIR.name, Verdict.FAIL)]


def test_files_of_an_environment_name_the_package_that_installed_them(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    (site / "sums-1.0.dist-info").mkdir(parents=True)
    (site / "sums-1.0.dist-info" / "METADATA").write_text("Name: sums\nVersion: 1.0\n\n")
    (site / "sums-1.0.dist-info" / "RECORD").write_text(f"sums/{PTX_12.name},,\n")
    (site / "sums").mkdir()
    shutil.copy(PTX_12, site / "sums")
    shutil.copy(PTX_13, site / "loose.ptx")
    (site / "sums" / "tests").mkdir()
    shutil.copy(PTX_13, site / "sums" / "tests")  # which nobody runs but its developers
    packages = Installation("venv", "--python", (str(site),))
    machine = ThisMachine(
        target=Target(name=THIS_MACHINE),
        machine=Machine.here(),
        environment=Environment(),
        installation=packages,
    )
    (described,) = parse(["driver=580.95.05,gpu=h100"])
    results = list(check(targets=[machine.packages_on(described)], route="load"))
    assert {(os.path.basename(r.path), r.distribution) for r in results} == {
        (PTX_12.name, "sums 1.0"),
        ("loose.ptx", ""),
    }


def test_what_a_target_says_itself_beats_what_the_packages_bring(machine: ThisMachine) -> None:
    (described,) = parse(["driver=580.95.05,nvjitlink=12.9,gpu=h100"])
    elsewhere = machine.packages_on(described)
    assert elsewhere.target == described
    assert [r.verdict for r in check(targets=[elsewhere])] == [Verdict.OK]


def test_a_library_links_with_the_nvjitlink_of_its_own_major_wherever_its_packages_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside one of another major, which cuda-pathfinder finds for the programs that ask it."""
    site = tmp_path / "lib" / "python3.12" / "site-packages"
    put(tmp_path, "pyvenv.cfg", "home = /usr/bin\n")
    for minor, name in (("12.9", IN_WHEEL["12"]), ("13.5", IN_WHEEL["13"])):
        nvjitlink((site / name).parent, minor)
    path = site / "user" / "libuser.so"
    calls, runpath = ["__nvJitLinkCreate_12_4"], "$ORIGIN/../nvidia/nvjitlink/lib"
    user(path, calls, site / IN_WHEEL["12"], runpath=runpath)

    def failing(targets: str | list[str]) -> set[tuple[str, str]]:
        found = check(targets=targets, python=str(tmp_path), floors=False)
        rows = [(r, each) for r in found for each in r.findings if each.verdict is Verdict.FAIL]
        return {(os.path.basename(result.path), finding.rule) for result, finding in rows}

    assert failing("driver=580.65.06,gpu=h100") == set()
    # The old copy that hides it here stays here.
    nvjitlink(tmp_path / "old", "12.1")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path / "old"))
    assert failing("driver=580.65.06,gpu=h100") == set()
    # As equal nodes of two files, which are one target.
    fleet = tmp_path / "nodes.json"
    fleet.write_text(nodes((2, "580.65.06", "NVIDIA-L4")))
    assert failing([str(fleet), f"nodes={fleet},driver=580.65.06"]) == set()
    # A linker that the target names itself is the only one there.
    named = failing("driver=580.65.06,gpu=h100,nvjitlink=13.5")
    assert named == {("libuser.so", "NJL-03")}


def test_an_environment_is_judged_on_a_target_that_is_not_this_machine(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ("--python", sys.executable, str(PTX_13), "--deploy-target", "driver=550,gpu=h100")
    code, text = answer(capsys, *words)
    assert code == 1
    assert "PTX-01" in text
    assert THIS_MACHINE not in text

"""The verbs ``linkers list``, ``install`` and ``remove``, with a stand-in for pip."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from linker_trees import library, program, put, wheel
from report_values import HOSTILE, valid_json, written

from ltocompat.cli import run
from ltocompat.commands.linkers import InstallChange, Plan
from ltocompat.model.arch import Release
from ltocompat.model.errors import Missing
from ltocompat.model.image import Skipped
from ltocompat.model.location import Location
from ltocompat.report import FORMATS
from ltocompat.report.verbs.linkers import CHANGES, LISTING
from ltocompat.targets.linkers import Linker, Machine

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with an empty cache, on a machine with one library and one file that is none."""
    put(tmp_path, "/lib/libnvJitLink.so.12", library("12.6.85"))
    put(tmp_path, "/lib/libnvJitLink.so.13", "text")
    machine = Machine(str(tmp_path), {"LD_LIBRARY_PATH": "/lib"})
    monkeypatch.setattr(Machine, "here", lambda: machine)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "cache"))
    return tmp_path


def bring(requirement: str, folder: str) -> None:
    """Instead of pip: it knows nvJitLink 12.4.130 and 14.1.2, and nvlink 14.1.2."""
    package, _, wanted = requirement.partition("==")
    for version in ("12.4.130", "14.1.2"):
        if version.startswith(wanted.removesuffix(".*")):
            put(Path(folder), "x.whl", PACKAGES[package.removesuffix("-cu12")](version))
            return
    raise Missing(f"{requirement} can't be downloaded: the index lacks it")


PACKAGES: dict[str, Callable[[str], bytes]] = {
    "nvidia-nvjitlink": lambda version: wheel(library(version)),
    "nvidia-cuda-nvcc": lambda version: wheel(program(version), "nvidia/cu14/bin/nvlink"),
    "nvidia-nvvm": lambda _: wheel(b"libnvvm", "nvidia/cu14/lib/libnvvm.so.5"),
}


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = (bring, None)
    monkeypatch.setattr("ltocompat.targets.linkers.installing.install_one.__defaults__", defaults)
    monkeypatch.setattr("sysconfig.get_platform", lambda: "linux-x86_64")


@pytest.mark.usefixtures("pip")
def test_install_list_remove(home: Path, capsys: Captured) -> None:
    path = home / "cache/ltocompat/nvjitlink/12.4.130/libnvJitLink.so.12"
    assert run(["linkers", "install", "nvjitlink=12.4.130", "--allow-unknown"]) == 0
    out, told = capsys.readouterr()
    assert told == f"ltocompat: downloading nvJitLink 12.4.130 to {path.parents[1]}\n"
    assert out.startswith("nvJitLink 12.4.130: installed, ")
    assert out.endswith(f"iB, {path}\n")
    assert run(["linkers", "install", "nvjitlink=12.4.130", "--allow-unknown"]) == 0
    assert capsys.readouterr().out.startswith("nvJitLink 12.4.130: already there, ")
    assert run(["linkers", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split() == [
        *("nvJitLink", "12.6.85", "file", "banner", "LD_LIBRARY_PATH", "programs", "on", "x86-64"),
        "/lib/libnvJitLink.so.12",
    ]
    assert lines[3].split()[-3:] == ["trials", "only", str(path)]
    assert lines[4:] == [
        "skipped:",
        "  /lib/libnvJitLink.so.13: it is not a library for Linux or Windows",
    ]
    assert run(["linkers", "remove", "nvjitlink=12.4"]) == 0
    assert capsys.readouterr().out.startswith("nvJitLink 12.4.130: removed, ")
    assert not path.exists()


@pytest.mark.usefixtures("pip")
def test_an_nvlink_is_installed_with_its_libnvvm(home: Path, capsys: Captured) -> None:
    folder = home / "cache/ltocompat/nvlink/14.1.2"
    assert run(["linkers", "install", "nvlink=14.1", "--allow-unknown"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("nvlink 14.1.2: installed, ")
    assert sorted(os.listdir(folder)) == ["libnvvm.so.5", "nvlink", "origin.json", "seal"]
    assert os.access(folder / "nvlink", os.X_OK)
    assert run(["linkers", "list"]) == 0
    assert "nvlink     14.1.2" in capsys.readouterr().out
    (folder / "libnvvm.so.5").write_bytes(b"cut")  # as good as not installed
    assert run(["linkers", "remove", "nvlink=all"]) == 4
    assert "no nvlink 'all' is installed" in capsys.readouterr().err


@pytest.mark.usefixtures("home", "pip")
def test_json_says_what_was_done(capsys: Captured) -> None:
    arguments = ["nvjitlink=14.1", "nvlink=14.1", "--allow-unknown", "--format", "json"]
    assert run(["linkers", "install", *arguments]) == 0
    value = valid_json(capsys.readouterr().out)
    assert [(row["tool"], row["version"], row["action"]) for row in value["linkers"]] == [
        ("nvjitlink", "14.1.2", "installed"),
        ("nvlink", "14.1.2", "installed"),
    ]
    assert run(["linkers", "list", "--format", "json"]) == 0
    value = valid_json(capsys.readouterr().out)
    assert [row["for_trials"] for row in value["linkers"]] == [False, True, True]
    assert [row["found_via"] for row in value["linkers"]] == [
        ["LD_LIBRARY_PATH"],
        ["trial cache"],
        ["trial cache"],
    ]
    assert value["summary"]["skipped"] == 1


@pytest.mark.usefixtures("home", "pip")
@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["install", "nvjitlink=12.4.131", "--allow-unknown"], 4, "the index lacks it"),
        (["install", "nvjitlink=12.4.131"], 2, "--allow-unknown"),
        (
            ["install", "nvlink=12.4"],
            4,
            "CUDA 12 contain ptxas and libnvvm, but no nvlink",
        ),
        (
            ["install", "12.4"],
            2,
            "write a linker with its version, as in",
        ),
        (["install", "nvcc=13.5"], 2, "as in nvjitlink=13.4, not 'nvcc=13.5'"),
        (["install", "nvlink==13.5", "nvlink==x"], 2, "'x' is not a version"),
        (["install", "nvjitlink==12.4.131"], 2, "--allow-unknown"),
        (["remove", "nvjitlink=12.4"], 4, "no nvJitLink '12.4' is installed for trials"),
        (["list", "--format", "xml"], 2, "--format 'xml' is not known"),
    ],
)
def test_what_cannot_be_had_is_one_sentence(
    arguments: list[str], code: int, text: str, capsys: Captured
) -> None:
    assert run(["linkers", *arguments]) == code
    captured = capsys.readouterr()
    assert text in captured.err
    messages = [line for line in captured.err.splitlines() if "downloading" not in line]
    assert len(messages) == 1
    if "--format" not in arguments:
        assert run(["linkers", *arguments, "--format", "json"]) == code
        kind = {2: "usage", 4: "missing"}[code]
        assert valid_json(capsys.readouterr().out)["error"]["kind"] == kind


@pytest.mark.usefixtures("home", "pip")
def test_what_was_installed_before_a_failure_stays(capsys: Captured) -> None:
    arguments = ["nvjitlink=14.1", "nvjitlink=12.4.131", "--allow-unknown", "--format", "json"]
    assert run(["linkers", "install", *arguments]) == 4
    value = valid_json(capsys.readouterr().out)
    assert [row["version"] for row in value["linkers"]] == ["14.1.2"]
    assert [error["kind"] for error in value["summary"]["errors"]] == ["missing"]


def test_nothing_at_hand_names_the_command(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Machine, "here", lambda: Machine(str(tmp_path)))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert run(["linkers", "list"]) == 0
    assert capsys.readouterr().out == (
        "no linker is installed; get one for trials with: "
        "ltocompat linkers install nvjitlink=12.4\n"
    )


LINKER = Linker(Release(12, 4), "12.4", HOSTILE, HOSTILE, HOSTILE, machine=HOSTILE)


@pytest.mark.parametrize("form", FORMATS)
def test_hostile_names_are_escaped(form: str) -> None:
    for text in (
        written(form, LISTING, [LINKER, Skipped(Location(HOSTILE), HOSTILE)]),
        written(form, CHANGES, [Plan((), 3 << 20), InstallChange("kept", LINKER, 5)]),
    ):
        assert "\x1b" not in text
        assert "\u202e" not in text
        if form == "json":
            assert valid_json(text)["summary"]["linkers"] == 1


def test_help_of_the_group_imports_nothing_slow() -> None:
    code = (
        "import sys; from ltocompat.cli import run\n"
        "for words in ([], ['list'], ['install'], ['remove']):\n"
        "    assert run(['linkers', *words, '--help']) == 0\n"
        "bad = {'ltocompat.facts', 'ltocompat.targets.linkers', 'elftools'} & {*sys.modules}\n"
        "assert not bad, bad\n"
    )
    command = [sys.executable, "-c", code]
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Usage: ltocompat linkers") == 4

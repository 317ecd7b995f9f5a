"""``check``, ``require``, ``matrix`` and ``explain`` on the samples, and their exit codes."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest
from machines import shared
from packages_made import wheel
from report_values import valid_json
from samples import FOLDER

import ltocompat
from ltocompat.cli import run, verb_command
from ltocompat.commands.this_machine import ThisMachine
from ltocompat.model.environment import Environment
from ltocompat.model.errors import UsageError
from ltocompat.model.target import THIS_MACHINE, Target
from ltocompat.targets.linkers import Machine
from ltocompat.targets.machine.python_environment import Installation

SASS = str(FOLDER / "fatbin" / "nvfatbin-13.5-mixed-makers.fatbin")
PTX = str(FOLDER / "ptx" / "nvrtc-12.4-compute_80.ptx")
NEW_PTX = str(FOLDER / "ptx" / "nvrtc-13.5-compute_80.ptx")
LTOIR = str(FOLDER / "fatbin-ltoir" / "nvfatbin-13.1-of-13.1-lto_80.fatbin")
BROKEN = str(FOLDER / "broken" / "empty.bin")
H100 = "driver=580.95.05,nvjitlink=13.1,gpu=h100"

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([SASS], 0),
        ([NEW_PTX], 1),
        ([PTX], 0),
        ([PTX, "--fail-on", "jit"], 1),
        ([PTX, "--fail-on=undocumented"], 0),
        ([LTOIR], 3),  # unknown, and nothing else
        ([LTOIR, SASS], 3),  # however many others are ok
        ([LTOIR, "--strict"], 1),
        ([LTOIR, "--fail-on", "unknown"], 1),
        ([str(FOLDER / "README.md")], 3),
        (["gone.so"], 3),
        (["gone.so", SASS], 3),
        (["gone.so", NEW_PTX], 1),
        ([SASS, "--fail-on", "ok"], 2),
        ([SASS, "--route", "walk"], 2),
        ([SASS, "--strict", "--fail-on", "fail"], 2),
        ([SASS, "--format", "yaml"], 2),
    ],
)
def test_check_ends_in_the_code_of_its_verdicts(
    arguments: list[str], code: int, capsys: Captured
) -> None:
    assert run(["check", *arguments, "--deploy-target", H100]) == code
    assert "Traceback" not in capsys.readouterr().err


def test_what_has_no_device_code_passes_where_that_is_allowed(
    tmp_path: Path, capsys: Captured
) -> None:
    goal = ["--deploy-target", H100]
    unseen = "there is no device code (code that a program compiles at run time is not seen)"
    nothing = f"nothing was checked: {unseen}; if that is right, add --allow-empty"
    no_file = f"'{tmp_path}' has no file; build or unpack it, or name another path"
    for path, text in ((str(FOLDER / "README.md"), nothing), (str(tmp_path), no_file)):
        assert run(["check", path, *goal]) == 3
        assert capsys.readouterr().err == f"ltocompat: {text}\n"
        assert run(["check", path, *goal, "--allow-empty"]) == 0
        assert not capsys.readouterr().err
    unread = str(FOLDER / "broken" / "cubin-shoff-outside.cubin")
    for path in (LTOIR, unread, "gone.so"):
        assert run(["check", path, *goal, "--allow-empty"]) == 3
        assert "--allow-empty" not in capsys.readouterr().err


def test_a_problem_of_metadata_makes_no_pass_of_a_package_without_device_code(
    tmp_path: Path, capsys: Captured
) -> None:
    paths = {29: "$ORIGIN/../nvidia/cu13/lib"}  # DT_RUNPATH
    members = {"x/libx.so": shared("libx.so", needed=["libcufft.so.12"], paths=paths)}
    package = wheel(tmp_path, members, ["nvidia-cufft"])  # which may be one of CUDA 14
    command = ["check", str(package), "--deploy-target", H100]
    for options, code in (([], 3), (["--strict"], 1), (["--allow-empty"], 0)):
        assert run([*command, *options]) == code
        assert "undocumented[PKG-02]" in capsys.readouterr().out


def test_a_saved_inspection_is_told_by_what_it_is(tmp_path: Path, capsys: Captured) -> None:
    """It was "no device code"."""
    assert run(["inspect", str(FOLDER / "cubin/nvrtc-12.4-sm_80.cubin"), "--format", "json"]) == 0
    saved = tmp_path / "saved.json"
    saved.write_text(capsys.readouterr().out, "utf-8")
    for words in (["check", "--deploy-target", "cuda=12.4,gpu=a100"], ["require"], ["matrix"]):
        assert run([*words, str(saved)]) == 3
        assert "is a saved inspection, not device code" in capsys.readouterr().err
    with pytest.raises(ltocompat.UnreadableInput, match="is a saved inspection, not device code"):
        list(ltocompat.read(saved))


def test_a_target_without_a_value_is_this_machine(capsys: Captured) -> None:
    assert run(["check", SASS, "--format", "json", "--deploy-target"]) in (0, 1, 3)
    value = valid_json(capsys.readouterr().out)
    assert [target["name"] for target in value["targets"]] == ["this machine"]
    assert value["results"][0]["path"] == "this-machine"
    assert {result["path"] for result in value["results"]} == {"this-machine", SASS}


def test_without_a_target_a_machine_without_a_driver_asks_for_one(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    packages = Installation("venv", "VIRTUAL_ENV", ())
    bare = ThisMachine(
        target=Target(name=THIS_MACHINE),
        machine=Machine.here(),
        environment=Environment(),
        installation=packages,
    )
    monkeypatch.setattr(ThisMachine, "now", lambda _: bare)
    monkeypatch.chdir(tmp_path)
    assert run(["check", SASS]) == 4
    assert "as in --deploy-target cuda=12.4,gpu=h100" in capsys.readouterr().err
    (tmp_path / "ltocompat.toml").write_text("[targets]\nprod = 'R550,h100'\n")
    assert run(["check", SASS]) == 4
    assert "as in --deploy-target prod (" in capsys.readouterr().err
    (tmp_path / "ltocompat.toml").write_text("[targets]\n'our fleet' = 'R550,h100'\n")
    assert run(["check", SASS]) == 4
    assert "as in --deploy-target 'our fleet' (" in capsys.readouterr().err
    assert run(["check", SASS, "--deploy-target"]) == 3


def test_no_path_means_the_packages_of_the_environment(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    site = tmp_path / "site-packages" / "mine"
    site.mkdir(parents=True)
    (site / "kernels.fatbin").write_bytes(Path(SASS).read_bytes())
    (site / "plain.so").write_bytes(b"no device code")
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path))
    assert run(["check", "--format", "json"]) in (0, 1, 3)
    capture_result = capsys.readouterr()
    paths = [result["path"] for result in valid_json(capture_result.out)["results"]]
    assert paths[:2] == ["this-machine", str(site / "kernels.fatbin")]
    assert f"reading the packages of {tmp_path} (VIRTUAL_ENV)" in capture_result.err


def test_no_path_means_the_packages_of_the_environment_on_a_named_target_too(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "kernels.fatbin").write_bytes(Path(SASS).read_bytes())
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path))
    assert run(["check", "--deploy-target", H100, "--format", "json"]) == 0
    found = capsys.readouterr()
    (result,) = valid_json(found.out)["results"]
    assert (result["path"], result["gpu"]) == (str(tmp_path / "kernels.fatbin"), "h100")
    assert f"reading the packages of {tmp_path} (VIRTUAL_ENV)" in found.err


@pytest.mark.parametrize("spelling", ["VIRTUAL_ENV", "--python", "path"])
@pytest.mark.parametrize("verb", ["require", "matrix", "matrix --deploy-target R580"])
def test_require_and_matrix_read_an_environment_as_check_does(
    verb: str, spelling: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    (site / "kernels.fatbin").write_bytes(Path(SASS).read_bytes())
    (tmp_path / "pyvenv.cfg").touch()
    words = {"--python": ["--python", str(tmp_path)], "path": [str(tmp_path)]}
    if spelling == "VIRTUAL_ENV":
        monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path))
    assert run([*verb.split(), *words.get(spelling, [])]) == 0
    found = capsys.readouterr()
    assert "kernels.fatbin" in found.out
    assert f"reading the packages of {tmp_path} " in found.err
    function = ltocompat.require if verb == "require" else ltocompat.matrix
    (answer, *_) = function(python=str(tmp_path))
    assert answer.path == str(site / "kernels.fatbin")
    with pytest.raises(UsageError, match="no path is named"):
        function(*[])


@pytest.mark.parametrize("verb", ["check --deploy-target R580", "matrix", "require"])
def test_a_lock_file_is_told_to_be_a_target(verb: str, capsys: Captured) -> None:
    for lock in ("toolkit/uv.lock", "by_system/poetry.lock", "pip_freeze.txt"):
        path = str(Path(__file__).parent / "data" / "locks" / lock)
        assert run([*verb.split(), path]) == 3
        told = " ".join(capsys.readouterr().err.split())
        assert "is a lock file, which has no code: name the wheels" in told
        assert f"add --deploy-target lock={path}" in told
    run([*verb.split(), str(FOLDER / "README.md")])
    assert "lock file" not in capsys.readouterr().err


def test_what_is_no_target_is_named(capsys: Captured) -> None:
    assert run(["check", "--deploy-target", "a.so"]) == 2
    assert run(["check", "b.so", "--deploy-target", "a.so"]) == 2
    assert (
        "a.so is not a deploy target; to check it: ltocompat check a.so" in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("typed", "targets", "paths"),
    [
        ("a --deploy-target", ["HERE"], ["a"]),
        ("--deploy-target --why a", ["HERE"], ["a"]),
        ("--deploy-target x a", ["x"], ["a"]),
        ("--deploy-target=x a", ["x"], ["a"]),
        ("a --deploy-target x --deploy-target", ["x", "HERE"], ["a"]),
        ("-- --deploy-target", [], ["--deploy-target"]),
        ("a", [], ["a"]),
    ],
)
def test_a_bare_deploy_target_is_this_machine(
    typed: str, targets: list[str], paths: list[str]
) -> None:
    context = verb_command("check").make_context("check", typed.split())
    found = context.params["options"]
    assert [*found.targets] == [each.replace("HERE", "this machine") for each in targets]
    assert [*found.paths] == paths


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([LTOIR], 0),
        ([str(FOLDER / "README.md")], 3),
        ([BROKEN], 3),
        (["gone.so", LTOIR], 3),
        ([LTOIR + "@0x123"], 2),
        (["--python", "nowhere"], 2),
        (["--python", str(FOLDER)], 2),
    ],
)
@pytest.mark.parametrize("verb", ["require", "matrix"])
def test_require_and_matrix_end_in_3_when_there_is_nothing_to_tell(
    verb: str, arguments: list[str], code: int, capsys: Captured
) -> None:
    assert run([verb, *arguments]) == code
    assert "Traceback" not in capsys.readouterr().err


def test_a_picture_needs_a_name_that_no_library_has(tmp_path: Path, capsys: Captured) -> None:
    library = tmp_path / "libx.so"
    library.write_text("precious")
    assert run(["matrix", LTOIR, "--svg", str(library)]) == 2
    assert library.read_text() == "precious"
    assert "give a file name that does" in capsys.readouterr().err
    assert run(["matrix", LTOIR, "--svg", os.path.join(tmp_path, "gone", "x.svg")]) == 3
    assert "can't be written (No such file or directory)" in capsys.readouterr().err


def test_a_rule_is_explained_by_its_id_in_any_case(capsys: Captured) -> None:
    assert run(["explain", "ptx-01"]) == 0
    assert capsys.readouterr().out.startswith("PTX-01: ")


def test_an_error_text_is_read_from_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    piped = io.TextIOWrapper(io.BytesIO(b"\xff LTO-01 \xff"))
    monkeypatch.setattr(sys, "stdin", piped)
    assert run(["explain", "-"]) == 0
    assert capsys.readouterr().out.startswith("LTO-01: ")


def test_every_rule_can_be_listed(capsys: Captured) -> None:
    assert run(["explain", "--all"]) == 0
    assert "\nPTX-01 " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code"), [([], 2), (["no such thing"], 4), (["--all", "LTO-01"], 2), ([""], 2)]
)
def test_what_nobody_knows_is_missing_and_no_text_is_wrong_usage(
    words: list[str], code: int, capsys: Captured
) -> None:
    """One sentence: that no rule knows a text is the answer, on standard output."""
    assert run(["explain", *words]) == code
    told = capsys.readouterr()
    answer, silent = (told.out, told.err) if code == 4 else (told.err, told.out)
    assert (len(answer.splitlines()), silent) == (1, "")


def test_strict_says_which_route_was_not_checked(capsys: Captured) -> None:
    ltoir = str(FOLDER / "ltoir" / "nvrtc-13.0-lto_80.ltoir")
    words = ["check", ltoir, "--strict", "--deploy-target", "nvjitlink=13.0,gpu=h100"]
    assert run(words) == 3
    assert "exit code 3, not checked: load (--notes shows why)" in capsys.readouterr().err
    assert run(["check", *words[1:2], *words[3:]]) == 0
    assert not capsys.readouterr().err

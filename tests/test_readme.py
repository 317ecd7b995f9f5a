"""The README and the guide tell the truth: their commands run, and give what they show."""

from __future__ import annotations

import re
import shlex
from contextlib import chdir
from pathlib import Path

import pytest
import readme
from kernels_project import Project
from packages_made import wheel
from readme import Session
from samples import FOLDER

from ltocompat.cli import run

AT_ONCE = [session for session in readme.sessions() if not session.trial]
TRIALS = [session for session in readme.sessions() if session.trial]


@pytest.mark.parametrize("session", AT_ONCE, ids=lambda s: s.command)
def test_a_session_is_what_happens(session: Session) -> None:
    assert session.output() == session.shown


@pytest.mark.wild
@pytest.mark.parametrize("session", TRIALS, ids=lambda s: s.command)
def test_a_trial_is_what_happens(session: Session) -> None:
    assert session.output() == session.shown


def test_no_line_is_wider_than_120_columns() -> None:
    lines = readme.README.read_text("utf-8").splitlines()
    assert not [line for line in lines if len(line) > 120]


def test_every_link_leads_to_a_file_of_the_project() -> None:
    for page in (*readme.PAGES, readme.CI):
        links = re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8"))
        assert all((page.parent / link).exists() for link in links if "://" not in link)


@pytest.mark.parametrize("picture", [readme.PICTURE, readme.PAGE_PICTURE], ids=lambda p: p.name)
def test_a_picture_is_found_below_the_address_of_the_project(picture: Path) -> None:
    assert picture.is_file()
    assert f"]({readme.picture_address(picture)})" in readme.README.read_text("utf-8")


def test_the_page_has_the_verdicts_that_its_picture_shows(tmp_path: Path) -> None:
    readme.page(tmp_path / "page.html")
    text = re.sub(r"<[^>]+>", " ", (tmp_path / "page.html").read_text("utf-8"))
    top = " ".join(text.partition("Deploy targets")[0].split())
    assert "4 artifacts on 2 deploy targets" in top
    assert re.search(r"fail 1 artifact .*unknown 1 artifact .*jit 1 artifact .*ok 1 artifact", top)


def test_ci_runs_the_very_test_command_of_the_readme() -> None:
    text = readme.README.read_text("utf-8")
    (command,) = [line.strip() for line in text.splitlines() if "pytest -n auto" in line]
    own_folder = command.replace(".venv", ".venv-ci")
    assert own_folder in (readme.ROOT / ".ci" / "run").read_text("utf-8")


def test_the_command_that_installs_ends_in_the_main_job_on_a_bundled_artifact() -> None:
    text = readme.README.read_text("utf-8")
    (command,) = [line for line in text.splitlines() if "pip install -q . &&" in line]
    words = command.rpartition(".venv/bin/ltocompat ")[2].split()
    assert words[0] in ("inspect", "check", "require")
    assert (readme.ROOT / words[1]).exists()
    with chdir(readme.ROOT):
        assert run(words) == 0


def test_every_verb_is_in_the_readme() -> None:
    from ltocompat.cli import VERBS

    text = readme.README.read_text("utf-8")
    assert all(f"`ltocompat {verb} " in text for verb in VERBS)


def test_the_picture_is_what_matrix_draws(tmp_path: Path) -> None:
    drawn = tmp_path / "matrix.svg"
    readme.draw(drawn)
    assert drawn.read_text("utf-8") == readme.PICTURE.read_text("utf-8")


@pytest.fixture
def pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose pyproject.toml is the policy, where commands run."""
    (tmp_path / "pyproject.toml").write_text(readme.policy(), "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_policy_to_paste_fails_what_is_wrong(
    pasted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pasted
    assert run(["audit", str(FOLDER / "objects" / "libsaxpy.so")]) == 1
    assert "sm_90" in capsys.readouterr().out


@pytest.mark.parametrize("newest", ["sm_90", "sm_90a"])
def test_the_policy_to_paste_passes_what_serves_its_gpus(newest: str, pasted: Path) -> None:
    """Whoever has SASS of sm_90a has none of sm_90, and H100 runs either."""
    cubins = [FOLDER / "cubin" / f"nvrtc-13.0-{text}.cubin" for text in ("sm_80", newest)]
    path = wheel(pasted, {f"libx/{cubin.name}": cubin.read_bytes() for cubin in cubins})
    assert run(["audit", path.name]) == 0


@pytest.mark.parametrize("keys", readme.cibuildwheel(), ids=["one line", "policy"])
def test_cibuildwheel_keeps_its_own_audit(
    keys: dict[str, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands first is its default, word by word (its resources/defaults.toml of 4.3.5)."""
    assert keys["audit-requires"] == ["abi3audit", "ltocompat"]
    default, ours = keys["audit-command"]
    assert default == "abi3audit --strict --report {abi3_wheel}"
    project = Project.copy(tmp_path / "kernels")
    monkeypatch.chdir(project.folder)
    if "--require-archs" in ours:
        ptx = ".version 8.0\n.target sm_90\n.address_size 64\n.entry f() { bar.sync 0; ret; }\n"
        (tmp_path / "x.ptx").write_text(ptx, "utf-8")
        project.code = {f"{sm}.cubin": f"cubin/nvrtc-13.0-{sm}.cubin" for sm in ("sm_80", "sm_90")}
        project.code["x.ptx"] = str(tmp_path / "x.ptx")
    name, *words = shlex.split(ours.replace("{wheel}", str(project.build())))
    if "--require-archs" in ours:
        (project.folder / "pyproject.toml").unlink()
    assert name == "ltocompat"
    assert run(words) == 0

"""``init``: what it writes is passed, and a release that got worse fails it."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest
import readme
import yaml
from kernels_project import Project
from libraries_made import needs_gcc
from packages_made import library, wheel
from samples import FOLDER

from ltocompat.cli import run

ROOT = Path(__file__).parent.parent
Captured = pytest.CaptureFixture[str]


pytestmark = pytest.mark.usefixtures("folder")


def package(folder: Path, *paths: str, tag: str = "py3-none-manylinux_2_28_x86_64") -> str:
    members = {f"k/{Path(path).name}": (FOLDER / path).read_bytes() for path in paths}
    return wheel(folder, members, tag=tag).name


@pytest.mark.parametrize(
    ("paths", "tag"),
    [
        (["cubin/nvrtc-13.0-sm_90.cubin"], "py3-none-manylinux_2_28_x86_64"),
        (["cubin/nvrtc-12.4-sm_80.cubin", "ptx/nvrtc-12.4-compute_80.ptx"], "py3-none-any"),
        (["fatbin-ltoir/nvfatbin-13.1-of-13.1-lto_80.fatbin"], "py3-none-manylinux_2_28_x86_64"),
        (["objects/libsaxpy.so"], "py3-none-manylinux_2_28_aarch64"),
        (["cubin/nvrtc-13.0-sm_90.cubin"], "cp312-cp312-win_amd64"),
        (["README.md"], "py3-none-manylinux_2_28_x86_64"),
        (["ptx/nvrtc-13.5-compute_80.ptx"], "py3-none-manylinux_2_28_x86_64"),  # for no driver yet
        (["cubin/nvcc-13.0-sm_80-without-kernels.cubin"], "py3-none-manylinux_2_28_x86_64"),
        (["ptx/nvcc-13.0-compute_80-without-kernels.ptx"], "py3-none-manylinux_2_28_x86_64"),
        (
            ["cubin/nvcc-13.0-sm_80-without-kernels.cubin", "cubin/nvrtc-13.0-sm_90.cubin"],
            "py3-none-manylinux_2_28_x86_64",
        ),
    ],
)
def test_a_package_passes_what_was_written_for_it(
    paths: list[str], tag: str, folder: Path, capsys: Captured
) -> None:
    name = package(folder, *paths, tag=tag)
    assert run(["init", name]) == 0
    line = capsys.readouterr().out.partition("\n")[0]
    opening, _, command = line.partition(": ")
    assert opening == "wrote ltocompat.toml; these packages pass it; to check again"
    assert run(shlex.split(command.removeprefix("ltocompat "))) == 0


def test_packages_for_several_majors_of_nvjitlink_are_said_to_need_a_policy_each(
    folder: Path, capsys: Captured
) -> None:
    names = [
        wheel(folder, {"k/x": (FOLDER / f"ltoir/nvrtc-{of}-lto_80.ltoir").read_bytes()}, name=name)
        for of, name in (("12.4", "libx-cu12"), ("13.0", "libx-cu13"))
    ]
    assert run(["init", *(path.name for path in names)]) == 0
    assert "ltocompat init PACKAGE -o NEW.toml" in capsys.readouterr().err
    for path in names:
        assert run(["init", path.name, "-o", f"{path.stem}.toml"]) == 0
        assert capsys.readouterr().err == ""


def test_the_command_that_is_shown_names_a_policy_that_audit_would_not_find(
    folder: Path, capsys: Captured
) -> None:
    name = package(folder, "cubin/nvrtc-13.0-sm_90.cubin")
    assert run(["init", name, "-o", "of libx.toml"]) == 0
    line = capsys.readouterr().out.partition("\n")[0]
    assert line.endswith(f": ltocompat audit --config 'of libx.toml' {name}")
    assert run(shlex.split(line.rpartition(": ltocompat ")[2])) == 0


def test_a_policy_in_pyproject_is_compared_by_what_its_words_mean(
    folder: Path, capsys: Captured
) -> None:
    """A second policy in an ltocompat.toml would replace it unseen."""
    name = package(folder, "cubin/nvrtc-13.0-sm_90.cubin")
    (folder / "pyproject.toml").write_text(
        '[tool.ltocompat.targets]\nprod = "driver=R580,gpu=h100"\n', "utf-8"
    )
    assert run(["init", name]) == 0
    assert capsys.readouterr().out == "pyproject.toml exists, and these packages still pass it\n"
    assert not (folder / "ltocompat.toml").exists()
    lost = package(folder, "cubin/nvrtc-13.0-sm_80.cubin")
    assert run(["init", lost]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert "  GPUs: no longer h100" in shown
    assert shown[-1].endswith(f": ltocompat audit {lost}")


def test_a_windows_target_names_the_branch_of_its_driver(folder: Path) -> None:
    """580.65.06 is a driver for Linux; no driver for Windows has such a number."""
    name = package(folder, "cubin/nvrtc-13.0-sm_90.cubin", tag="cp312-cp312-win_amd64")
    assert run(["init", name]) == 0
    (target,) = tomllib.loads(Path("ltocompat.toml").read_text("utf-8"))["targets"].values()
    assert (target["os"], target["driver"]) == ("windows", "R580")
    assert run(["audit", name]) == 0


@needs_gcc
def test_a_finding_about_several_libraries_is_one_exception(folder: Path, capsys: Captured) -> None:
    needs = ("libcublas.so.12", "libcufft.so.11")
    name = wheel(folder, {"k/libx.so": library(folder, needs=needs)}, ["numpy"]).name
    assert run(["init", name]) == 0
    (ignored,) = tomllib.loads((folder / "ltocompat.toml").read_text())["audit"]["ignore"]
    assert ignored["asks"] == ["libcublas 12", "libcufft 11"]
    told = f"until {ignored['expires']}, it ignores 1 finding; after each fix, delete its exception"
    assert told in capsys.readouterr().out
    assert run(["audit", name]) == 0
    out = capsys.readouterr().out
    assert "no finding needs this" not in out
    assert "(already present when the policy was written): unknown PKG-01 on " in out


@pytest.fixture
def project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project without a policy, and the one that its first release gets."""
    copy = Project.copy(folder / "kernels")
    copy.code.pop("libaxpy.so")
    text = (copy.folder / "pyproject.toml").read_text("utf-8")
    (copy.folder / "pyproject.toml").write_text(text.partition("[tool.ltocompat")[0], "utf-8")
    monkeypatch.chdir(copy.folder)
    copy.build()
    assert run(["init"]) == 0
    assert run(["audit"]) == 0
    return copy


def test_a_lost_architecture_fails(folder: Path, capsys: Captured) -> None:
    both = package(folder, *(f"cubin/nvrtc-13.0-{arch}.cubin" for arch in ("sm_80", "sm_90")))
    assert run(["init", both]) == 0
    assert run(["audit", both]) == 0
    capsys.readouterr()
    assert run(["audit", package(folder, "cubin/nvrtc-13.0-sm_80.cubin")]) == 1
    out = capsys.readouterr().out
    assert out.startswith("audit failed: no code for sm_90")
    assert "no code for sm_90, which require-gpus lists" in out


def test_a_lost_family_is_asked_of_its_lowest_gpu_alone(folder: Path, capsys: Captured) -> None:
    """Law 7: nvcc 13.0 knows no compute_107, and SASS for sm_100 runs there."""
    name = package(folder, "cubin/nvrtc-13.0-sm_80.cubin")
    asked = '[audit]\nrequire-gpus = ["sm_107", "sm_103", "b200", "h100"]\n'
    Path("ltocompat.toml").write_text(asked, "utf-8")
    assert run(["audit", name]) == 1
    options = "arch=compute_90,code=sm_90 -gencode arch=compute_100,code=sm_100"
    assert f"compile with -gencode {options}" in (out := capsys.readouterr().out)
    assert "compute_103" not in out


def test_a_gpu_that_needs_a_newer_driver_than_the_target_is_required_too(
    folder: Path, capsys: Captured
) -> None:
    """Minor-version compatibility covers SASS of CUDA 12.4 on R525, and not its PTX."""
    whole = package(folder, "fatbin/nvfatbin-12.4.fatbin")
    assert run(["init", whole]) == 0
    written = tomllib.loads(Path("ltocompat.toml").read_text("utf-8"))
    target, required = written["targets"]["oldest"], written["audit"]["require-gpus"]
    assert target["driver"] == "525.60.13"
    assert "sm_90" not in target["gpu"]
    assert {"sm_90", *target["gpu"]} < set(required)
    capsys.readouterr()
    assert run(["init", whole]) == 0
    assert capsys.readouterr().out == "ltocompat.toml exists, and these packages still pass it\n"
    by_hand = '[targets.oldest]\ndriver = "525.60.13"\ngpu = ["a100", "h100"]\n'
    Path("by hand.toml").write_text(by_hand, "utf-8")
    assert run(["init", whole, "-o", "by hand.toml"]) == 0
    out = capsys.readouterr().out
    assert "  GPUs: not with driver 525.60.13: h100\n" in out
    assert "no longer" not in out
    without_ptx = package(folder, "cubin/nvrtc-12.4-sm_80.cubin")
    assert run(["audit", without_ptx]) == 1
    assert "audit failed: no code for sm_90" in capsys.readouterr().out


def test_run_again_it_shows_what_moved_and_changes_nothing(
    project: Project, capsys: Captured
) -> None:
    written = Path("ltocompat.toml").read_text("utf-8")
    capsys.readouterr()
    assert run(["init"]) == 0
    assert capsys.readouterr().out == "ltocompat.toml exists, and these packages still pass it\n"
    project.code["scale.ltoir"] = "ltoir/nvrtc-13.5-lto_80.ltoir"
    project.edit("nvidia-nvjitlink>=13.2,<14", "nvidia-nvjitlink>=13.5,<14")
    project.build()
    assert run(["init"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("ltocompat.toml exists and is not changed; these packages differ")
    assert "  nvjitlink: 13.2 -> 13.5" in lines
    assert Path("ltocompat.toml").read_text("utf-8") == written


def test_a_path_that_cannot_be_read_and_no_path_at_all_write_nothing(folder: Path) -> None:
    assert run(["init", "gone.whl"]) == 3
    assert run(["init"]) == 2
    assert not (folder / "ltocompat.toml").exists()


def shown(ci: str, folder: Path, capsys: Captured) -> str:
    name = package(folder, "cubin/nvrtc-13.0-sm_90.cubin")
    capsys.readouterr()
    assert run(["init", name, "--ci", ci]) == 0
    _, _, lines = capsys.readouterr().out.partition("\n\n# " if ci == "none" else "\n# .")
    return lines.partition("\n")[2]


def test_the_lines_for_github_give_inputs_that_the_action_has(
    folder: Path, capsys: Captured
) -> None:
    ours, upload = yaml.safe_load(shown("github", folder, capsys))["steps"]
    action = yaml.safe_load((ROOT / ".github/actions/ltocompat/action.yml").read_text("utf-8"))
    assert set(ours["with"]) <= set(action["inputs"])
    assert upload["with"]["sarif_file"] == ours["with"]["sarif"]


def test_the_lines_for_gitlab_and_pre_commit_name_what_there_is(
    folder: Path, capsys: Captured
) -> None:
    ((_, job),) = yaml.safe_load(shown("gitlab", folder, capsys)).items()
    template = (ROOT / "templates" / "ltocompat.gitlab-ci.yml").read_text("utf-8")
    whole = yaml.safe_load(template)[".ltocompat"]
    assert job.pop("variables").items() <= whole["variables"].items()
    # The template pins what the job to paste, which stays short, takes as it is today.
    assert job.pop("before_script")[:2] == whole["before_script"][:2]
    assert job == {key: whole[key] for key in job}
    (Path("ltocompat.toml")).unlink()
    lines = shown("pre-commit", folder, capsys)
    page = (ROOT / "docs" / "ci.md").read_text("utf-8")
    assert lines.rpartition("has no public one yet.\n")[2] in page
    (repo,) = yaml.safe_load(lines)["repos"]
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert {hook["id"] for hook in repo["hooks"]} <= {hook["id"] for hook in hooks}


def test_the_lines_for_cibuildwheel_keep_its_own_audit(folder: Path, capsys: Captured) -> None:
    name = package(folder, "cubin/nvrtc-13.0-sm_90.cubin")
    assert run(["init", name, "--ci", "cibuildwheel"]) == 0
    (text,) = re.findall(r"\[tool\.cibuildwheel\].*", capsys.readouterr().out, re.DOTALL)
    keys = tomllib.loads(text)["tool"]["cibuildwheel"]
    assert keys == readme.cibuildwheel()[-1]


def test_standard_output_is_no_file_for_a_policy(folder: Path, capsys: Captured) -> None:
    name = package(folder, "cubin/nvrtc-13.0-sm_80.cubin")
    assert run(["init", name, "-o", "-"]) == 2
    assert "--output '-' is not a file; name a file" in capsys.readouterr().err
    assert not (folder / "-").exists()


def test_nothing_is_asked_that_no_package_can_do(folder: Path) -> None:
    """PTX for sm_80 reaches Jetson, on which an x86-64 wheel is never installed."""
    gpus = {}
    for tag in ("manylinux_2_28_x86_64", "manylinux_2_28_aarch64"):
        name = package(folder, "ptx/nvrtc-12.4-compute_80.ptx", tag=f"py3-none-{tag}")
        assert run(["init", name, "-o", f"{tag}.toml"]) == 0
        written = tomllib.loads((folder / f"{tag}.toml").read_text("utf-8"))
        gpus[tag] = set(written["audit"]["require-gpus"])
    only_arm = {"sm_87", "sm_88", "sm_101", "sm_110", "sm_121"}
    assert gpus["manylinux_2_28_aarch64"] - gpus["manylinux_2_28_x86_64"] == only_arm
    assert "sm_90" in gpus["manylinux_2_28_x86_64"]
    assert run(["init", package(folder, "README.md"), "-o", "none.toml"]) == 0
    assert "targets" not in tomllib.loads((folder / "none.toml").read_text("utf-8"))


@pytest.mark.parametrize("ptx", ["12.9", "13.5"])
def test_a_target_on_which_nothing_passes_is_no_driver_that_the_gpus_work_with(
    ptx: str, folder: Path
) -> None:
    """No driver in the tables reads the PTX of CUDA 13.5, so the exceptions are for the target."""
    assert run(["init", package(folder, f"ptx/nvrtc-{ptx}-compute_80.ptx")]) == 0
    text = (folder / "ltocompat.toml").read_text("utf-8")
    passes = 'target = "oldest"' not in text
    assert passes == (ptx == "12.9")
    assert ("  # with this driver" in text) == passes
    assert ("# no known driver and GPU pass: the exceptions below are" in text) != passes


def test_an_audit_that_forgives_alone_is_a_policy(folder: Path) -> None:
    name = package(folder, "cubin/nvrtc-13.0-sm_90.cubin")
    for text in (
        'provided-by = {torch = ["*"]}',
        'variants = ["x*.so"]',
        '[[audit.ignore]]\nrule = "PTX-06"\nreason = "soon"\nexpires = 2099-12-31',
    ):
        (folder / "p.toml").write_text(f"[audit]\n{text}\n", "utf-8")
        assert run(["audit", name, "--config", "p.toml"]) == 0, text


def test_probes_of_cmake_are_no_part_of_a_build(folder: Path) -> None:
    build = folder / "build"
    probe = build / "CMakeFiles" / "3.28.3" / "CompilerIdCUDA"
    probe.mkdir(parents=True)
    other = (FOLDER / "cubin" / "nvrtc-12.4-sm_80.cubin").read_bytes()
    (probe / "a.out").write_bytes(other)
    # CMake 4.4.5 leaves it for the languages of a project, as CMakeDetermineCompilerABI.cmake says.
    (probe.parent / "CMakeDetermineCompilerABI_CUDA.bin").write_bytes(other)
    (build / "x.cubin").write_bytes((FOLDER / "cubin" / "nvrtc-13.0-sm_90.cubin").read_bytes())
    target = ["--deploy-target", "driver=580.65.06,gpu=h100"]
    assert run(["check", str(build), *target]) == 0
    assert run(["check", str(probe), *target]) == 1

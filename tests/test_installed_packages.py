"""An environment has one answer, wherever it lies and however it is named; its metadata count.

What is installed decides, as `pip check` and the loader see it: the versions that lie there are
held against what packages ask for and what their files import.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from container_images_made import docker_archive, layer_of
from every_case import every
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from libraries_made import build, needs_gcc
from packages_made import CUBIN_12_4, LINUX, LTOIR_12_4, library, wheel
from packaging.requirements import Requirement
from samples import FOLDER

from ltocompat.cli import run
from ltocompat.commands.check import run as check
from ltocompat.commands.options import CheckOptions
from ltocompat.model.limits import DEFAULT_LIMITS
from ltocompat.model.verdict import Result, Verdict
from ltocompat.packages.reading import owner, packages_at

TARGET = "driver=580.65.06,gpu=h100"
Findings = set[tuple[str, Verdict]]


def installed(site: Path, *wheels: Path) -> None:
    """The wheels as pip leaves them: unzipped, with a RECORD of their files."""
    site.mkdir(parents=True, exist_ok=True)
    for path in wheels:
        with zipfile.ZipFile(path) as packed:
            packed.extractall(site)
            names = packed.namelist()
        (record,) = (name for name in names if name.endswith("/RECORD"))
        (site / record).write_text("".join(f"{name},,\n" for name in names))


def nvjitlink(folder: Path, version: str) -> Path:
    """NVIDIA's package as far as metadata tells; its library is not read for a target elsewhere."""
    return wheel(folder, {}, name="nvidia-nvjitlink-cu12", version=version)


def linking(folder: Path, *requires: str) -> Path:
    """A package with LTO-IR of 12.4 that its library links by libnvJitLink.so.12."""
    host = library(folder, needs=["libnvJitLink.so.12"], imports=["__nvJitLinkCreate_12_4"])
    members = {"libx/x.so": host, "libx/k.ltoir": LTOIR_12_4}
    return wheel(folder, members, requires)


def findings(*paths: Path, python: Path | None = None, target: str = TARGET) -> Findings:
    options = CheckOptions(
        tuple(map(str, paths)), targets=(target,), python=str(python) if python else None
    )
    results = [record for record in check(options) if isinstance(record, Result)]
    return {
        (finding.rule, finding.verdict)
        for result in results
        for finding in result.findings
        if finding.rule.startswith(("PKG", "NJL")) and finding.verdict > Verdict.OK
    }


CASES: dict[str, tuple[tuple[str, ...], str | None, Findings]] = {
    "right": (("nvidia-nvjitlink-cu12",), "12.9.86", set()),
    "right, from another package": ((), "12.9.86", set()),
    "exact": (("nvidia-nvjitlink-cu12==12.4.127",), "12.4.127", set()),
    "too old": (("nvidia-nvjitlink-cu12",), "12.1.105", {("NJL-06", Verdict.FAIL)}),
    "refused": (
        ("nvidia-nvjitlink-cu12>=12.6",),
        "12.4.127",
        {("PKG-12", Verdict.UNDOCUMENTED)},
    ),
    "missing": (
        ("nvidia-nvjitlink-cu12>=12.6",),
        None,
        {("PKG-12", Verdict.UNDOCUMENTED), ("PKG-01", Verdict.UNKNOWN)},
    ),
}


@needs_gcc
@pytest.mark.parametrize("case", CASES)
def test_an_environment_has_one_answer_from_everywhere(case: str, tmp_path: Path) -> None:
    requires, version, expected = CASES[case]
    wheels = [linking(tmp_path, *requires), wheel(tmp_path, {}, name="pip", version="24.0")]
    if version is not None:
        wheels.append(nvjitlink(tmp_path, version))
    virtual, folder = tmp_path / "a virtual one", tmp_path / "vendored here"
    site = virtual / "lib" / "python3.11" / "site-packages"
    # Names that say something else of a folder: metadata, a build's probes, tests, a project.
    names = (
        "x-1.0.dist-info",
        "CMakeFiles/3.28.3",
        "meson-private",
        "tests",
        "x.whl",
        "a.egg-info",
    )
    told = case in {"right", "too old"}  # nothing and something is found, whatever the name
    others = [tmp_path / "named" / name for name in names if told]
    for where in (site, folder, *others):
        installed(where, *wheels)
    (virtual / "pyvenv.cfg").write_text("home = /usr/bin\n")
    answers = [findings(virtual), findings(site), findings(folder), findings(python=virtual)]
    answers += map(findings, others)
    assert answers == [expected] * len(answers)


def test_conflicts_are_named_of_packages_without_device_code_too(tmp_path: Path) -> None:
    """`pip check` names them: what one asks for is there in another version, or not at all."""
    wheels = [
        wheel(tmp_path, {}, ["nvidia-nvjitlink-cu12>=12.9", "beta<2"], name="alpha"),
        wheel(tmp_path, {}, ["gamma", "delta; python_version < '3'"], name="beta", version="2.1"),
        nvjitlink(tmp_path, "12.4.127"),
    ]
    installed(tmp_path / "site", *wheels)
    options = CheckOptions((str(tmp_path / "site"),), targets=(TARGET,))
    told = [
        finding.message
        for record in check(options)
        if isinstance(record, Result)
        for finding in record.findings
    ]
    assert [text.partition(",")[0] for text in told] == [
        "alpha 1.0 requires nvidia-nvjitlink-cu12 >=12.9",
        "alpha 1.0 requires beta <2",
        "beta 2.1 requires gamma",
    ]


TOOLKIT = [
    "nvidia-cuda-nvrtc-cu12==12.9.86.*; (sys_platform == 'linux') and extra == 'all'",
    "nvidia-cuda-nvrtc-cu12==12.9.86.*; (sys_platform == 'linux') and extra == 'nvrtc'",
    "nvidia-nvjitlink-cu12==12.9.86.*; (sys_platform == 'linux') and extra == 'nvjitlink'",
]
OF_EXTRA = "cuda-toolkit 12.9.1 requires nvidia-cuda-nvrtc-cu12 ==12.9.86.*{}, but "


@pytest.mark.parametrize(
    ("asking", "expected"),
    [
        # As libraft-cu12 26.4.0 asks for the toolkit, whose lines are those of 12.9.1 on PyPI.
        (["cuda-toolkit[nvrtc]==12.*"], (Verdict.UNDOCUMENTED, "")),
        ([], (Verdict.OK, " in an extra")),  # a user may have asked for it
        (["nvidia-cuda-nvrtc-cu12==12.4.127"], None),
    ],
)
def test_what_extras_ask_for_is_held_against_what_is_installed(
    asking: list[str], expected: tuple[Verdict, str] | None, tmp_path: Path
) -> None:
    wheels = [
        wheel(tmp_path, {}, ["older[all]", *asking], name="asking"),
        wheel(tmp_path, {}, TOOLKIT, name="cuda-toolkit", version="12.9.1", extras=("nvrtc",)),
        wheel(tmp_path, {}, name="nvidia-cuda-nvrtc-cu12", version="12.4.127"),
    ]
    site = tmp_path / "env/lib/python3.9/site-packages"
    installed(site, *wheels)
    # As Debian has packages of setuptools, in the base that the environment takes over.
    base = tmp_path / "usr/lib/python3.9/dist-packages/older-1.0.egg-info"
    base.mkdir(parents=True)
    (base / "PKG-INFO").write_text("Metadata-Version: 1.2\nName: older\nVersion: 1.0\n")
    text = "asking\n\n[all]\nasking[x]\n\n[all:python_version < '3.10']\ngone\n"
    (base / "requires.txt").write_text(f"{text}\n[:os_name=='nt']\nno\n")
    config = "home = {}/bin\ninclude-system-site-packages = true\n"
    (tmp_path / "env/pyvenv.cfg").write_text(config.format(tmp_path / "usr"))
    options = CheckOptions((str(tmp_path / "env"),), targets=(TARGET,), allow_empty=True)
    results = [record for record in check(options) if isinstance(record, Result)]
    told = {(each.verdict, each.message) for result in results for each in result.findings}
    wanted = {(Verdict.OK, "older 1.0 requires gone, but none is installed")}
    if expected is not None:
        message = OF_EXTRA.format(expected[1]) + "nvidia-cuda-nvrtc-cu12 12.4.127 is installed"
        wanted.add((expected[0], message))
    assert told == wanted


def test_the_first_line_says_what_an_environment_runs_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same report from its prefix, its folder of packages and --python."""
    folder = tmp_path / "lib" / "python3.11" / "site-packages"
    for name, sample in (("alpha", "nvrtc-12.4-sm_80"), ("beta", "nvcc-13.0-sm_80")):
        code = {f"{name}/k.cubin": (FOLDER / "cubin" / f"{sample}.cubin").read_bytes()}
        installed(folder, wheel(tmp_path, code, name=name))
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\n")
    goals = ["driver=580.65.06,gpu=a100", "driver=550.54.14,gpu=a100", "driver=580.65.06,gpu=h100"]
    targets = [word for goal in goals for word in ("--deploy-target", goal)]
    reports = set()
    for where in ([str(tmp_path)], [str(folder)], ["--python", str(tmp_path)]):
        assert run(["check", *where, *targets]) == 1
        reports.add(capsys.readouterr().out)
    (report,) = reports
    assert report.splitlines()[0] == (
        "runs on A; on B, beta fails: it needs driver 580.65.06; on C, alpha, beta fail"
    )
    assert run(["check", str(tmp_path), *targets[2:4]]) == 1
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first == "does not run on the target; beta fails: it needs driver 580.65.06"
    assert second.startswith("target driver=550.54.14,gpu=a100")
    some = ["--deploy-target", "driver=580.65.06,gpu=a100+h100", *targets[:2]]
    assert run(["check", str(tmp_path), *some]) == 1
    first, *_ = capsys.readouterr().out.splitlines()
    assert first == "runs on B; on A (h100), alpha, beta fail"
    nodes = tmp_path / "nodes.txt"
    nodes.write_text("NodeName=n1\n  Gres=gpu:a100:4\nNodeName=n2\n  Gres=gpu:4\n")
    assert run(["check", str(tmp_path), "--deploy-target", f"slurm={nodes},driver=R580"]) == 3
    first, *_ = capsys.readouterr().out.splitlines()
    assert first == "runs on A; on B, no GPU is named"


def test_users_of_an_environment_are_told_what_to_choose(tmp_path: Path) -> None:
    """A developer rebuilds a wheel; whoever installed it, or got it in an image, can't."""
    cubin = (FOLDER / "cubin" / "nvcc-13.0-sm_80.cubin").read_bytes()
    path = wheel(tmp_path, {"alpha/k.cubin": cubin}, name="alpha")
    installed(site := tmp_path / "lib/python3.11/site-packages", path)
    image = tmp_path / "image.tar"
    image.write_bytes(docker_archive([layer_of({"usr/lib/k.cubin": cubin})]))
    target = "driver=580.65.06,gpu=v100"
    rebuild = "with CUDA 12.9 or older, rebuild with SASS for the GPU"
    choose = "install a release or build of the package with code for the GPU, or use a GPU "
    for where, begins in ((path, rebuild), (site, choose), (image, choose)):
        records = check(CheckOptions((str(where),), targets=(target,)))
        fixes = [
            finding.remedy
            for record in records
            if isinstance(record, Result)
            for finding in record.findings
            if finding.rule == "SASS-06"
        ]
        assert fixes, where
        assert all(fix.startswith(begins) and rebuild in fix for fix in fixes), where


def test_the_first_line_asks_for_the_driver_of_the_finding_from_before_cuda_11(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """PTX 6.5 came with CUDA 10.2, whose driver is older than every branch from 450 on."""
    code = ".address_size 64\n.visible .entry k() { membar.gl; ret; }"
    ptx = f".version 6.5\n.target sm_60\n{code}\n".encode()
    installed(tmp_path / "lib/python3.11/site-packages", wheel(tmp_path, {"libx/k.ptx": ptx}))
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\n")
    assert run(["check", str(tmp_path), "--deploy-target", "driver=418.39,gpu=p100"]) == 1
    report = capsys.readouterr().out
    assert report.startswith("does not run on the target; libx fails: it needs driver 440.33\n")
    assert "PTX 6.5 needs driver >= 440.33 (CUDA 10.2)" in report


@needs_gcc
def test_an_unzipped_wheel_is_what_the_wheel_is(tmp_path: Path) -> None:
    for number, requires in enumerate(((), ("nvidia-nvjitlink-cu12",), ("torch",))):
        path = linking(tmp_path, *requires)
        folder = tmp_path / f"unzipped {number}"
        installed(folder, path)
        assert findings(folder) == findings(path), requires
        assert str(owner(str(folder / "libx" / "x.so"))) == "libx 1.0"


@needs_gcc
def test_what_is_given_beside_may_be_what_an_installer_resolved(tmp_path: Path) -> None:
    """A report of pip, a lock file, an environment and a folder of wheels say the same."""
    path = linking(tmp_path, "libx-runtime")
    runtime = wheel(tmp_path, {}, ["nvidia-nvjitlink-cu12>=12.4,<13"], name="libx-runtime")
    linker = nvjitlink(tmp_path, "12.9.86")
    wheels, site = tmp_path / "wheels", tmp_path / "site"
    wheels.mkdir()
    for each in (runtime, linker):
        (wheels / each.name).write_bytes(each.read_bytes())
    installed(site, runtime, linker)
    report = tmp_path / "report.json"
    rows = [
        {"name": "libx-runtime", "version": "1.0", "requires_dist": ["nvidia-nvjitlink-cu12"]},
        {"name": "nvidia_nvjitlink_cu12", "version": "12.9.86"},
    ]
    report.write_text(json.dumps({"version": "1", "install": [{"metadata": r} for r in rows]}))
    lock = tmp_path / "requirements.txt"
    lock.write_text("libx-runtime==1.0\nnvidia-nvjitlink-cu12==12.9.86\n")
    for beside in (wheels, site, report, lock):
        names = {package.name for package in packages_at(str(beside), DEFAULT_LIMITS)}
        assert names == {"libx-runtime", "nvidia-nvjitlink-cu12"}, beside
        arguments = ["check", str(path), "--deploy-target", TARGET, "--with", str(beside)]
        options = CheckOptions((str(path),), targets=(TARGET,), beside=(str(beside),))
        told = {
            finding.rule
            for record in check(options)
            if isinstance(record, Result)
            for finding in record.findings
        }
        assert "PKG-01" not in told, beside
        assert run([*arguments, "--quiet"]) in (0, 3)


def test_what_is_no_report_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = wheel(tmp_path, {"a/b.py": b""})
    for text in ("", "[]", "{}", '{"install": 3}', '{"install": [{"metadata": {}}]}', "[" * 9999):
        other = tmp_path / "r.json"
        other.write_text(text)
        assert run(["check", str(path), "--deploy-target", TARGET, "--with", str(other)]) == 2
        assert "is not a pip report" in capsys.readouterr().err


def test_a_prefix_of_conda_is_its_conda_meta(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As conda writes it; with Python in it or without, and whatever else lies in conda-meta."""
    (tmp_path / "conda-meta").mkdir()
    for name, sample in (("libalpha", "nvrtc-12.4-sm_80"), ("libbeta", "nvcc-13.0-sm_80")):
        (tmp_path / "lib" / name).mkdir(parents=True)
        code = (FOLDER / "cubin" / f"{sample}.cubin").read_bytes()
        (tmp_path / "lib" / name / "k.cubin").write_bytes(code)
        record = {"name": name, "version": "1.2", "files": [f"lib/{name}/k.cubin", 3]}
        (tmp_path / "conda-meta" / f"{name}-1.2-h0_0.json").write_text(json.dumps(record))
    for name, text in (("history", ""), ("a.json", "["), ("b.json", '{"files": 3}')):
        (tmp_path / "conda-meta" / name).write_text(text)
    goals = ("driver=580.65.06,gpu=a100", "driver=550.54.14,gpu=a100")
    targets = [word for goal in goals for word in ("--deploy-target", goal)]
    first, reports = "runs on A; on B, libbeta fails: it needs driver 580.65.06", set()
    for site in (None, tmp_path / "lib" / "python3.11" / "site-packages"):
        if site is not None:
            site.mkdir(parents=True)
        for where in ([str(tmp_path)], [f"{tmp_path}/"], ["--python", str(tmp_path)]):
            assert run(["check", *where, *targets]) == 1
            reports.add(capsys.readouterr().out)
    (report,) = reports
    assert report.startswith(f"{first}\n")
    assert "libalpha 1.2" in report
    file = str(tmp_path / "lib" / "libbeta" / "k.cubin")
    assert str(owner(file)) == "libbeta 1.2"
    results = list(check(CheckOptions((file,), targets=goals)))
    assert {each.verdict for each in results if isinstance(each, Result)} >= {Verdict.FAIL}


@needs_gcc
def test_a_fleet_is_told_that_packages_lack_something_on_every_node(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    build(tmp_path / "libcufft.so.11")
    code = {"libx/x.so": library(tmp_path, needs=["libcufft.so.11"]), "libx/k.cubin": CUBIN_12_4}
    installed(site, wheel(tmp_path, code))
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\n")
    nodes = tmp_path / "nodes.txt"
    nodes.write_text("NodeName=n1\n  Gres=gpu:a100:4\n")
    assert run(["check", str(tmp_path), "--deploy-target", f"slurm={nodes},driver=R580"]) == 3
    *_, last = capsys.readouterr().out.splitlines()
    assert last == "1 node: ok; packaging, on every node: unknown"


@needs_gcc
@pytest.mark.parametrize("there", [True, False])
def test_an_environment_is_told_of_the_torch_that_is_installed(
    there: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without torch, it says so: the newest release is one that pip would install."""
    needs = ["libcufft.so.11", "libtorch_cuda.so"]
    for name in needs:
        build(tmp_path / name)
    libx = wheel(tmp_path, {"libx/x.so": library(tmp_path, needs=needs)}, ["torch"])
    torch = wheel(tmp_path, {}, name="torch", version="2.14.1")
    other = torch if there else wheel(tmp_path, {}, name="liby")
    installed(tmp_path / "lib/python3.11/site-packages", libx, other)
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\n")
    run(["check", str(tmp_path), "--deploy-target", "driver=R580,gpu=a100"])
    report = " ".join(capsys.readouterr().out.split())
    told = (
        "2.14.1, which is installed,"
        if there
        else ("is not installed, and torch 2.14.1, the newest allowed,")
    )
    assert f"x.so needs libcufft.so.11, but torch {told} installs CUDA 13 " in report
    assert "or limit torch to releases for its CUDA" in report
    assert "the metadata" not in report


NEEDS: dict[tuple[str, ...], Findings] = {
    (): {("PKG-01", Verdict.UNKNOWN)},
    ("nvidia-cufft",): {("PKG-04", Verdict.FAIL)},  # as openmm-cuda-12 8.4.0.post1 has it
    ("nvidia-cufft-cu12",): {("PKG-07", Verdict.UNKNOWN)},
    ("nvidia-cublas-cu12",): {("PKG-01", Verdict.FAIL)},
    ("torch",): {("PKG-01", Verdict.FAIL)},
}


@needs_gcc
@pytest.mark.parametrize("requires", NEEDS, ids=str)
def test_a_library_without_device_code_says_what_its_package_needs(
    requires: tuple[str, ...], tmp_path: Path
) -> None:
    path = wheel(tmp_path, {"libx/x.so": library(tmp_path, needs=["libcufft.so.11"])}, requires)
    installed(tmp_path / "site", path)
    assert findings(path) == findings(tmp_path / "site") == NEEDS[requires]


LDD = shutil.which("ldd") or ""


def _not_found(file: Path) -> set[str]:
    """What the loader doesn't find, as ldd says."""
    told = subprocess.run([LDD, file], capture_output=True, text=True, check=False).stdout
    return {line.split()[0] for line in told.splitlines() if line.endswith("not found")}


@needs_gcc
def test_an_unzipped_wheel_may_have_had_the_right_name(tmp_path: Path) -> None:
    """WHEEL says any, as in openmm-cuda-12: installers went by the file name."""
    path = wheel(tmp_path, {"libx/x.so": library(tmp_path)}, tag="py3-none-any")
    installed(tmp_path / "site", path)
    assert findings(path) == {("PKG-06", Verdict.FAIL)}
    right = path.rename(path.with_name(f"libx-1.0-{LINUX}.whl"))
    assert findings(right) == findings(tmp_path / "site") == {("PKG-06", Verdict.UNDOCUMENTED)}


PLACES = {"nvidia-cufft-cu12": "nvidia/cufft/lib", "bundle": "bundle/lib"}


@needs_gcc
@pytest.mark.slow
@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(
    requires=st.sampled_from([(), ("numpy",), ("nvidia-cublas-cu12",), ("nvidia-cufft-cu12",)]),
    code=st.booleans(),
    brings=st.sampled_from(["", *PLACES]),
    finds=st.sampled_from(["", *PLACES]),
    others=st.sets(st.sampled_from(["nvidia-cublas-cu12", "nvidia-nccl-cu12"])),
)
def test_what_is_installed_is_a_question_to_the_loader(
    requires: tuple[str, ...], brings: str, finds: str, others: set[str], *, code: bool
) -> None:
    """ldd and the files of the environment say whether a library is there, from every folder."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        runpath = f"$ORIGIN/../{PLACES[finds]}" if finds else None
        stub = build(folder / "libcufft.so.11").read_bytes()
        members = {"libx/x.so": library(folder, needs=["libcufft.so.11"], runpath=runpath)}
        members |= {"libx/k.cubin": CUBIN_12_4} if code else {}
        path = wheel(folder, members, requires)
        beside = [wheel(folder, {}, name=each) for each in sorted(others)]
        if brings:
            beside.append(wheel(folder, {f"{PLACES[brings]}/libcufft.so.11": stub}, name=brings))
        installed(folder / "alone", path)
        assert findings(folder / "alone") == findings(path)
        if not beside:
            return
        virtual, target = folder / "a virtual one", folder / "vendored"
        site = virtual / "lib" / "python3.11" / "site-packages"
        for where in (site, target):
            installed(where, path, *beside)
        (virtual / "pyvenv.cfg").write_text("home = /usr/bin\n")
        answers = [findings(virtual), findings(site), findings(target), findings(python=virtual)]
        assert answers == answers[:1] * 4
        missing = {verdict for rule, verdict in answers[0] if rule == "PKG-01"}
        assert not missing or _not_found(site / "libx" / "x.so") == {"libcufft.so.11"}
        if brings:
            assert not missing
        else:  # what metadata requires is not there either, where it is not installed
            elsewhere = requires == ("nvidia-cublas-cu12",)
            assert missing == {Verdict.FAIL if elsewhere else Verdict.UNKNOWN}


ABSENT = {
    ("libcublas.so.13",): ("nvidia-cublas", "nvidia-cublas>=13", "cuda-toolkit[cublas]==13.*"),
    ("libcublas.so.12",): (
        "nvidia-cublas-cu12",
        "nvidia-cudnn-cu12",
        "nvidia-cublas-cu12; extra == 'e'",
    ),
    ("libcudnn.so.9",): ("nvidia-cudnn-cu12>=9", "nvidia-cudnn-cu13"),
    ("libnvJitLink.so.12",): ("nvidia-nvjitlink-cu12", "nvidia-cusparse-cu12"),
    ("libnvrtc.so.13",): ("nvidia-cuda-nvrtc>=13",),
    ("libcublas.so.13", "libcusparse.so.12", "libnvJitLink.so.13"): (
        "cuda-toolkit[cublas,cusparse]==13.*",
    ),
}


@needs_gcc
@every("case", [(needs, line) for needs, lines in ABSENT.items() for line in lines])
def test_what_an_environment_lacks_is_installed_not_written(
    tmp_path: Path, case: tuple[tuple[str, ...], str]
) -> None:
    """Law 7: PKG-01 names requirements of pip, and where they are met it says nothing.

    Whoever looks at an environment writes no metadata, whether or not these name what is absent.
    """
    needs, line = case
    folder = tmp_path / re.sub(r"\W", "_", f"{needs} {line}")
    named, alone = folder / "named", folder / "alone"
    older = [wheel(tmp_path, {}, name=name) for name in ("pip", "nvidia-cublas-cu11")]
    library_of = {"libx/x.so": library(tmp_path, needs=needs)}
    installed(alone, wheel(tmp_path, library_of), *older)
    assert remedies(alone)
    assert all(remedy.startswith("run pip install '") for remedy in remedies(alone))
    installed(named, wheel(tmp_path, library_of, [line], extras=["e"]), *older)
    assert remedies(named)
    for remedy in remedies(named):
        command = remedy.removesuffix(", or tell users to install a CUDA toolkit")
        assert command.startswith("run pip install '")
        for name in shlex.split(command.removeprefix("run pip install ")):
            requirement = Requirement(name)
            version = min(each.version for each in requirement.specifier)
            installed(named, wheel(tmp_path, {}, name=requirement.name, version=version))
    assert not remedies(named)


def remedies(site: Path) -> set[str]:
    """What PKG-01 and PKG-04 advise."""
    options = CheckOptions((str(site),), targets=(TARGET,))
    results = [record for record in check(options) if isinstance(record, Result)]
    every = (finding for result in results for finding in result.findings)
    return {each.remedy for each in every if each.rule in ("PKG-01", "PKG-04")}


@needs_gcc
def test_a_toolkit_counts_where_this_machine_is_the_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LD_LIBRARY_PATH finds it here, as ldd says; of a target elsewhere nobody knows that."""
    stub = build(tmp_path / "toolkit" / "libcufft.so.11")
    site = tmp_path / "site"
    installed(site, wheel(tmp_path, {"libx/x.so": library(tmp_path, needs=[stub.name])}))
    missing = ("PKG-01", Verdict.UNKNOWN)
    for folder, here in ((tmp_path, {missing}), (stub.parent, set())):
        monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))
        assert bool(_not_found(site / "libx" / "x.so")) == bool(here)
        assert findings(site, target="this machine") & {missing} == here
        assert findings(site) & {missing} == {missing}


@needs_gcc
def test_what_happens_to_be_installed_does_not_say_for_which_cuda_a_package_is(
    tmp_path: Path,
) -> None:
    """libcutensor.so.2 is of CUDA 12 beside libcublas.so.12, whatever else the environment has."""
    site = tmp_path / "venv" / "lib" / "python3.12" / "site-packages"
    host = library(tmp_path, needs=["libcublas.so.12", "libcutensor.so.2"])
    there = [
        wheel(tmp_path, {}, name=name, version=version)
        for name, version in (("nvidia-nvjitlink", "13.5.37"), ("nvidia-nvjitlink-cu12", "12.9.86"))
    ]
    installed(site, wheel(tmp_path, {"libx/x.so": host}, name="xlib"), *there)
    (tmp_path / "venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    options = CheckOptions((), targets=(TARGET,), python=str(tmp_path / "venv"))
    remedies = {
        finding.remedy
        for result in check(options)
        if isinstance(result, Result)
        for finding in result.findings
        if finding.rule == "PKG-01"
    }
    (remedy,) = remedies
    assert "nvidia-cublas-cu12>=12,<13" in remedy
    assert "cutensor-cu12>=2,<3" in remedy
    assert "cu13" not in remedy

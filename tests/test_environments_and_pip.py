"""Twenty environments of real metadata and stub libraries: one answer each, and pip knows no more.

Metadata is those of torch 2.9.1 and what it asks for, as PyPI has them; libraries are stubs that
need and import what the real ones do. What is planted is named: by the rule that pip check knows,
and by the rules on what files import, of which pip knows nothing. Of extras, pip check knows
nothing either: what is drawn with them is held against pip's resolver.
"""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from libraries_made import build, needs_gcc
from packages_made import library, wheel
from test_installed_packages import installed
from tiers import sampled

from ltocompat.commands.check import run as check
from ltocompat.commands.options import CheckOptions
from ltocompat.model.verdict import Finding, Result, Verdict
from ltocompat.rules.catalogue import library_problems
from ltocompat.rules.rule import Problem

pytestmark = [pytest.mark.slow, needs_gcc]
TARGET = "driver=580.65.06,gpu=h100"
# Name -> version, and what it asks for, without markers that do not hold.
PACKAGES: dict[str, tuple[str, list[str]]] = {
    "torch": (
        "2.9.1",
        [
            *("nvidia-cublas-cu12==12.8.4.1", "nvidia-cusparse-cu12==12.5.8.93"),
            *("nvidia-nvjitlink-cu12==12.8.93", "nvidia-cuda-nvrtc-cu12==12.8.93"),
            *("triton==3.5.1", "numpy>=1.22"),
        ],
    ),
    "nvidia-cublas-cu12": ("12.8.4.1", []),
    "nvidia-cusparse-cu12": ("12.5.8.93", ["nvidia-nvjitlink-cu12"]),
    "nvidia-cusolver-cu12": (
        "11.7.3.90",
        ["nvidia-cublas-cu12", "nvidia-nvjitlink-cu12", "nvidia-cusparse-cu12"],
    ),
    "nvidia-nvjitlink-cu12": ("12.8.93", []),
    "nvidia-cuda-nvrtc-cu12": ("12.8.93", []),
    "triton": ("3.5.1", ["importlib-metadata; python_version < '3.10'"]),
    "numpy": ("2.1.0", []),
    "torchvision": ("0.24.1", ["torch==2.9.1", "numpy"]),
    "numba-cuda": ("0.20.0", ["numpy>=1.22", "cuda-bindings>=12.9.1,<14"]),
    "cuda-bindings": ("12.9.2", ["cuda-pathfinder~=1.1"]),
    "cuda-pathfinder": ("1.3.0", []),
    "libx": ("1.0", ["nvidia-cublas-cu12", "nvidia-cusparse-cu12"]),
}
# What is done to an environment, and the rules of which one has to name it.
PLANTED = {
    "another version of a dependency": ("PKG-12",),
    "no nvJitLink": ("PKG-12", "NJL-03"),
    "nvJitLink older than cuSPARSE": ("NJL-06", "NJL-01", "NJL-02"),
    "cuBLAS of CUDA 13": ("PKG-01", "PKG-04"),
    "no cuBLAS": ("PKG-01", "PKG-12"),
}
ORACLE = """
import json, sys
from pip._internal.metadata import get_environment
from pip._internal.operations.check import PackageDetails, check_package_set
found = get_environment([sys.argv[1]]).iter_installed_distributions(local_only=False, skip=())
missing, wrong = check_package_set(
    {each.canonical_name: PackageDetails(each.version, list(each.iter_dependencies()))
     for each in found})
print(json.dumps([[name, row[0]] for name, rows in missing.items() for row in rows]
                 + [[name, row[0]] for name, rows in wrong.items() for row in rows]))
"""


def stubs(folder: Path) -> dict[str, dict[str, bytes]]:
    """The libraries of packages: cuSPARSE imports names of nvJitLink 12.8, libx needs two."""
    plain = {
        name: build(folder / name.rpartition("/")[2]).read_bytes()
        for name in ("nvidia/cublas/lib/libcublas.so.12", "nvidia/nvjitlink/lib/libnvJitLink.so.12")
    }
    (cublas, of_cublas), (linker, of_linker) = plain.items()
    cusparse = library(
        folder / "cusparse",
        needs=["libnvJitLink.so.12"],
        imports=["__nvJitLinkCreate_12_8"],
        runpath="$ORIGIN/../../nvjitlink/lib",
    )
    way = "$ORIGIN/../nvidia/cublas/lib:$ORIGIN/../nvidia/cusparse/lib"
    needing = library(folder / "x", needs=["libcublas.so.12", "libcusparse.so.12"], runpath=way)
    return {
        "nvidia-cublas-cu12": {cublas: of_cublas},
        "nvidia-nvjitlink-cu12": {linker: of_linker},
        "nvidia-cusparse-cu12": {"nvidia/cusparse/lib/libcusparse.so.12": cusparse},
        "libx": {"libx/libx.so": needing},
    }


def environment(folder: Path, number: int, planted: str) -> list[Path]:
    """Draw packages with all that they ask for, plant a fault, and install them in three folders.

    Returns:
        How the three can be named: the virtual environment, and a folder of each.
    """
    order = sorted(PACKAGES, key=lambda name: hashlib.sha256(f"{name}{number}".encode()).digest())
    names = {"libx", *order[: 3 + number % 6]}
    if planted == "another version of a dependency":
        names.add("torch")
    for _ in PACKAGES:
        asked = {text.split(";")[0] for name in names for text in PACKAGES[name][1]}
        names |= {name for name in PACKAGES for text in asked if text.startswith(name)}
    have = {name: PACKAGES[name] for name in names}
    if planted == "another version of a dependency":
        have["triton"] = ("3.4.0", [])
    elif planted == "nvJitLink older than cuSPARSE":
        have["nvidia-nvjitlink-cu12"] = ("12.4.127", [])
    elif planted in ("no nvJitLink", "no cuBLAS", "cuBLAS of CUDA 13"):
        del have["nvidia-nvjitlink-cu12" if "Link" in planted else "nvidia-cublas-cu12"]
        if planted.startswith("cuBLAS"):
            have["nvidia-cublas"] = ("13.1.0.3", [])
    files = stubs(folder / "build")
    wheels = [
        wheel(folder, files.get(name, {}), requires, name=name, version=version)
        for name, (version, requires) in sorted(have.items())
    ]
    virtual = folder / "a b" / ".venv"
    sites = [virtual / "lib/python3.11/site-packages", folder / "über libs", folder / "_internal.d"]
    for site in sites:
        installed(site, *wheels)
    (virtual / "pyvenv.cfg").write_text("home = /usr/bin\n")
    return [virtual, *sites]


def answer(path: Path) -> set[Finding]:
    """All findings above a note, and those of PKG-12, with no word about where it lies."""
    options = CheckOptions((str(path),), targets=(TARGET,), allow_empty=True)
    results = [record for record in check(options) if isinstance(record, Result)]
    return {each for result in results for each in result.findings}


@pytest.mark.parametrize("number", sampled(range(20), 10))
def test_an_environment_has_one_answer_and_pip_knows_no_more(tmp_path: Path, number: int) -> None:
    planted = list(PLANTED)[number // 2 % len(PLANTED)] if number % 2 == 0 else ""
    paths = environment(tmp_path, number, planted)
    told = []
    for path in paths:
        rows = {
            (each.rule, each.verdict, each.message)
            for each in answer(path)
            if each.verdict not in (None, Verdict.OK) or each.rule == "PKG-12"
        }
        told.append(rows)
    assert all(rows == told[0] for rows in told), planted
    assert bool(told[0]) is bool(planted), told[0]
    if planted:
        assert {rule for rule, _, _ in told[0]} & set(PLANTED[planted]), told[0]
    oracle = [sys.executable, "-c", ORACLE, str(paths[1])]
    said = subprocess.run(oracle, check=True, capture_output=True, text=True).stdout
    sentences = [message for rule, _, message in told[0] if rule == "PKG-12"]
    for name, asked in json.loads(said):
        assert any(
            message.startswith(f"{name} ") and f"requires {asked}" in message
            for message in sentences
        ), (name, asked, sentences)


NAMES = [f"nvidia-of-{letter}" for letter in "abcdef"]
MARKERS = [
    *("", "", "", "python_version < '3.7'", "python_version >= '3.7'", "sys_platform == 'linux'"),
    *("extra == 'a'", "extra == 'a'", "extra == 'b'", "python_version < '3.7' and extra == 'b'"),
    "sys_platform == 'linux' and (extra == 'a' or extra == 'b')",
]


def drawn(draw: random.Random, name: str, versions: dict[str, str]) -> list[str]:
    """Lines of Requires-Dist on others and on extras of the package itself; few are unfulfilled."""
    lines = [f"{name}[a,b]; extra == 'all'"]
    for _ in range(draw.randrange(5)):
        other = draw.choice([each for each in NAMES if each != name])
        asks = draw.choice(["", "", "[a]", "[b]", "[all]", "[a,none-such]"])
        there = versions.get(other, "1.0")
        wanted = draw.choice(["", ">=1.0", f"=={there}", f"=={there}.*", ">=1.0", "==1.9"])
        lines.append(f"{other}{asks}{wanted}; {draw.choice(MARKERS)}".rstrip("; "))
    return lines


@pytest.mark.parametrize("number", sampled(range(60), 10))
def test_conflicts_through_extras_are_those_that_pip_refuses(tmp_path: Path, number: int) -> None:
    draw = random.Random(number)  # noqa: S311, drawn anew from its number
    versions = {name: f"1.{draw.randrange(3)}" for name in NAMES if draw.randrange(12)}
    requires = {name: drawn(draw, name, versions) for name in versions}
    (dist := tmp_path / "dist").mkdir()
    wheels = [
        wheel(dist, {}, requires[name], name=name, version=version, extras=("a", "b", "all"))
        for name, version in versions.items()
    ]
    site = tmp_path / f"lib/python3.{sys.version_info.minor}/site-packages"
    installed(site, *wheels)
    named = {each.message for each in answer(site) if each.rule == "PKG-12"}
    pip = [sys.executable, "-m", "pip", "install", "-q", "--dry-run", "--no-index"]
    pip += ["--ignore-installed", "--disable-pip-version-check", "--find-links", str(dist)]
    asked = [f"{name}=={version}" for name, version in versions.items()]
    refused = subprocess.run([*pip, *asked], check=False, capture_output=True, text=True)
    assert bool(named) is bool(refused.returncode), (requires, named, refused.stderr)


@pytest.mark.parametrize(
    ("remedies", "whole"),
    [
        (["'a'", "'b'"], "run pip install 'a' 'b'"),
        (
            ["'a'", "'x-cu12' or pip install 'x-cu13', whichever is for your CUDA", "'b'"],
            (
                "run pip install 'x-cu12' or pip install 'x-cu13', whichever is for your CUDA, "
                "pip install 'a' 'b'"
            ),
        ),
    ],
)
def test_requirements_are_one_command_of_pip_but_for_alternatives(
    remedies: list[str], whole: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library_problems, "nothing_brings", lambda _: "nothing brings")
    end = ", or tell users to install a CUDA toolkit"
    found = [Problem(Verdict.FAIL, "x", remedy=f"run pip install {each}{end}") for each in remedies]
    shipped: Any = None
    (problem,) = library_problems.of_one_cause(found, shipped)
    assert problem.remedy == whole + end

"""The law of versions: no fix names a release that nobody published."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest
from every_case import every
from test_explain import TEXTS
from test_fixes_fit import SMI

from ltocompat.commands.explain import explain
from ltocompat.facts import table
from ltocompat.facts.drivers import branch_cuda
from ltocompat.facts.toolkits import pytorch_indexes
from ltocompat.model.errors import Missing, UsageError

RELEASES = [
    *("7.0", "7.5", "8.0", "9.0", "9.1", "9.2", "10.0", "10.1", "10.2"),
    *(f"11.{minor}" for minor in range(9)),
    *(f"12.{minor}" for minor in (0, 1, 2, 3, 4, 5, 6, 8, 9)),
    *(f"13.{minor}" for minor in range(6)),
]
"""The toolkits of NVIDIA's archive that fixes still name; 12.7 is none."""
WINGET = {  # winget-pkgs, manifests/n/Nvidia/CUDA
    *("11.3", "11.3.1", "11.5", "11.5.1", "11.6", "11.7", "11.8", "12.0.1", "12.1", "12.2.2"),
    *("12.3", "12.3.1", "12.3.2", "12.4", "12.4.1", "12.5", "12.6", "12.6.1", "12.8", "12.9"),
    *("13.0", "13.1", "13.2", "13.3", "13.4"),
}
OF_JAMMY = RELEASES.index("11.7")  # tags of nvidia/cuda
OF_FOCAL = {"11.3.1", "11.4.3", "11.5.2", "11.6.2"}
BRANCHES = (418, 440, 450, 455, 465, 470, 495, 510, 515, 530, 545, 555, 560, 565, 570, 580, 590)
COMPILERS = ("8.0", "9.0", "10.0", "10.2", "11.0", "11.2", "11.4", "11.6", "12.0", "12.2", "12.6")
SYSTEMS = (
    "", "OS: Windows 11 Pro", "PS C:\\src> python train.py", "I have no sudo", "docker compose up",
    "root@3f2a9c1b7d55:/app#", "Step 3/9 : RUN pip install x", "(base) me@box: conda install x",
    "uv sync", "poetry install", "pixi run train", "In [1]: import torch",
    "srun --gres=gpu:1 python train.py", "julia> using CUDA",
)  # fmt: skip


def lines(branch: int, compiler: str, system: str) -> str:
    """What a text says of its machine below the error; an empty text or 0: nothing."""
    earlier = {row["linux"][:3]: row["cuda"] for row in table("drivers")["earlier"]}
    cuda = branch_cuda(branch) or earlier.get(str(branch)) if branch else None
    seen = SMI.format(driver=f"{branch}.126", cuda=cuda, gpu="GPU") if cuda else ""
    nvcc = f"Cuda compilation tools, release {compiler}, V{compiler}.1" if compiler else ""
    return f"{seen}\n{nvcc}\n{system}"


def drawn(number: int, seed: int) -> list[str]:
    """Texts of rows, each on a machine."""
    numbers = random.Random(seed)  # noqa: S311 - drawn cases, no secret

    def one() -> str:
        branch, compiler = numbers.choice((0, *BRANCHES)), numbers.choice(("", *COMPILERS))
        said = lines(branch, compiler, numbers.choice(SYSTEMS))
        return f"{numbers.choice(TEXTS)}\n\n{said}\n"

    return [one() for _ in range(number)]


def at_least(least: str) -> set[str]:
    return {*RELEASES[RELEASES.index(least) :]}


PUBLISHED = [
    (r"Nvidia\.CUDA --version (\d[\d.]*\d)", WINGET),
    (r"'cuda-version=(\d{1,2}\.\d)'", at_least("9.2")),
    (r"\bcudatoolkit=(\d{1,2}\.\d)", {*RELEASES} - at_least("12.0")),
    (r"conda install -c nvidia cuda-(?:toolkit|libraries)=(\d{1,2}\.\d)", at_least("11.3")),
    (r"nvidia/label/cuda-(\d{1,2}\.\d)\.0\b", at_least("11.3")),
    (r"nvidia/cuda:(\d{1,2}\.\d\.\d)-\w+-ubuntu20\.04", OF_FOCAL),
    (r"nvidia/cuda:(\d{1,2}\.\d)\.\d-\w+-ubuntu2[24]\.04", {*RELEASES[OF_JAMMY:]}),
    (r'set_runtime_version!\(v"(\d{1,2}\.\d)"', at_least("10.2")),
    (r"/usr/local/cuda-(\d{1,2}\.\d)\b", {*RELEASES, "5.5", "6.0", "6.5"}),
    (
        r"(?<!flashinfer\.ai/)whl/cu(\d{2,3})\b",  # an index of its own, for other releases
        {"102", "110", *(f"{row.major}{row.minor}" for row in pytorch_indexes())},
    ),
    (r"-c conda-forge gxx=(\d{1,2})\b", {f"{gcc}" for gcc in range(8, 16)}),
    (r"nvidia-cudnn-cu\d\d>?==?(\d)\.", {"8", "9"}),
    (r"\bCUDA (\d{2}\.\d) (?:or|and) newer", {*RELEASES}),
    (r"\bCUDA (\d{2}\.\d) first on PATH", {*RELEASES}),
    (r"nvidia-nvjitlink(?:-cu\d\d)?>=(\d{2}\.\d)", at_least("12.0")),
]
"""Commands that name a release, and the releases that are there."""


def unpublished(text: str) -> Iterator[str]:
    try:
        fix = explain(text)[0].fix or ""
    except (Missing, UsageError):
        return
    for command, known in PUBLISHED:
        yield from (hit[0] for hit in re.finditer(command, fix) if hit[1] not in known)
    unquoted = re.sub(r'"[^"]*"', "", fix)  # a path with blanks stands in quotes
    if r"=C:\Program" in unquoted or '"C:\\Program"' in fix:
        yield f"no quotes: {fix}"


@every("text", drawn(60, seed=1))
def test_no_fix_names_a_release_that_is_not_there(text: str) -> None:
    assert [*unpublished(text)] == []


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2, 8))
def test_no_fix_of_any_row_names_a_release_that_is_not_there(seed: int) -> None:
    found = [(wrong, text) for text in drawn(1500, seed) for wrong in unpublished(text)]
    assert found == []


WINDOWS = "PS C:\\src> python train.py"
TOOLKIT = "nvcc fatal   : Unsupported gpu architecture 'compute_{sm}'\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        # nvidia-smi of R565 says 12.7, which no toolkit is.
        (
            f"conda-error\nPackagesNotFoundError: cudatoolkit=12.4\n{lines(565, '', '')}",
            "'cuda-version=12.6'",
        ),
        # So does PTX ISA 8.6, which a fix asks the next toolkit for.
        ("Feature '.cta' requires PTX ISA .version 8.6 or later", "CUDA 12.8 or newer"),
        (
            f"Unsupported .version 8.6; current version is '8.5'\n{lines(0, '12.6', '')}",
            "CUDA 12.8",
        ),
        (TOOLKIT.format(sm=75) + WINDOWS, "install CUDA 10.0 from"),
        (TOOLKIT.format(sm=75) + WINDOWS, '$env:CUDA_PATH = "C:\\Program Files\\NVIDIA GPU'),
        (TOOLKIT.format(sm=89) + "docker build -t x .", "nvidia/cuda:11.8.0-devel-ubuntu22.04"),
        (TOOLKIT.format(sm=90) + "docker build -t x .", "nvidia/cuda:11.8.0-devel-ubuntu22.04"),
        # What pip has of cuDNN begins with 8.
        (
            "Loaded runtime CuDNN library: 7.4.2 but source was compiled with: 7.6.0.",
            "conda install -c conda-forge 'cudnn>=7.6.0,7.*'. Otherwise",
        ),
        (
            "Loaded runtime CuDNN library: 8.0.5 but source was compiled with: 8.1.0.",
            "'nvidia-cudnn-cu12>=8.1.0,==8.*'",
        ),
    ],
)
def test_a_release_is_named_as_it_was_published(text: str, said: str) -> None:
    assert said in (explain(text)[0].fix or "")

"""The law of fixes: none asks for what the machine in the pasted text rules out."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest
from every_case import every
from msgspec import Struct
from test_explain import TEXTS, found_in

from ltocompat.commands.explain import explain
from ltocompat.facts import rows, table
from ltocompat.facts.drivers import branch_cuda, driver_releases
from ltocompat.facts.gpus import Sm, models_named, sm, sms
from ltocompat.facts.toolkits import HostCompilers
from ltocompat.model.arch import Release, version_numbers
from ltocompat.model.errors import Missing, UsageError
from ltocompat.model.generic import grouped
from ltocompat.rules.evidence import evidence

BRANCHES = (418, 440, 450, 470, 515, 525, 535, 550, 570, 580, 590)
GPUS = (
    "Tesla K80", "GeForce GTX 980", "GeForce GTX 1080 Ti", "Tesla V100-SXM2-16GB", "Tesla T4",
    "NVIDIA A100-SXM4-40GB", "NVIDIA GeForce RTX 4090", "NVIDIA H100 80GB HBM3", "NVIDIA B200",
    "NVIDIA GeForce RTX 5090",
)  # fmt: skip
SYSTEMS = {
    "": "",
    "Windows": "OS: Windows 11 Pro",
    "Docker": "root@3f2a9c1b7d55:/app#",
    "Colab or Kaggle": "running in Google Colab",
    "Slurm": "srun --gres=gpu:1 python train.py",
}
SMI = """\
| NVIDIA-SMI {driver}      Driver Version: {driver}     CUDA Version: {cuda}     |
|   0  {gpu}          Off | 00000000:01:00.0 Off |                  N/A |"""


class Machine(Struct, frozen=True):
    """What lines below an error say of the machine; an empty text or 0: nothing."""

    branch: int = 0
    gpu: str = ""
    system: str = ""
    python: str = ""

    @property
    def driver(self) -> str:
        known = driver_releases(self.branch)
        return str(known[0]) if known else f"{self.branch}.126"

    @property
    def cuda(self) -> Release:
        earlier = {row["linux"][:3]: row["cuda"] for row in table("drivers")["earlier"]}
        return branch_cuda(self.branch) or Release.parse(earlier[f"{self.branch}"])

    def lines(self) -> str:
        seen = f"GPU: {self.gpu}" if self.gpu else ""
        if self.branch:
            seen = SMI.format(driver=self.driver, cuda=self.cuda, gpu=self.gpu or "GPU")
        python = f"Python {self.python}.4" if self.python else ""
        return "\n".join((seen, SYSTEMS[self.system], python))


def drawn(numbers: random.Random) -> Machine:
    """A machine that can be: its driver is of a branch that the GPU has."""
    branch = numbers.choice((0, *BRANCHES))
    fit = [gpu for gpu in GPUS if not branch or lasts(gpu, branch)]
    python = numbers.choice(("", "3.7", "3.8", "3.9", "3.12"))
    return Machine(branch, numbers.choice(("", *fit)), numbers.choice([*SYSTEMS]), python)


def lasts(gpu: str, branch: int) -> bool:
    row = sm(models_named(gpu)[0].number)
    assert row is not None
    return (row.first_branch or 0) <= branch <= (row.last_branch or branch)


RELEASE = r"(?P<major>1[0-3]|9)(?:[.-]?(?P<minor>\d))?"
COMMANDS = [
    rf"download\.pytorch\.org/whl/cu{RELEASE}\b",
    rf"-cu{RELEASE}(?![\d])",
    rf"\[cu{RELEASE}\]",
    rf"cupy-cuda{RELEASE}x",
    rf"jax\[cuda{RELEASE}\]",
    rf"cuda-version={RELEASE}",
    rf"cudatoolkit={RELEASE}",
    rf"(?:cuda-toolkit|cuda-libraries)[-=]{RELEASE}",
    rf"/usr/local/cuda-{RELEASE}",
    rf"nvidia/cuda:{RELEASE}",
    rf"Nvidia\.CUDA --version {RELEASE}",
    rf'set_runtime_version!\(v"{RELEASE}',
    rf"\bCUDA/{RELEASE}",
    r"(?P<twelve>\[and-cuda\])",
]
MINIMUM = {  # the least Python that wheels of today are for, where none of an older release will do
    r"\bnumba-cuda\[": "3.9",
    r"\bjax\[cuda12": "3.9",
    r"\[and-cuda\]": "3.9",
    r"/whl/cu12[68]": "3.9",
    r"/whl/cu130": "3.10",
}
NOT_FOR_WINDOWS = r"\[and-cuda\]|jax\[cuda|cudf-cu|faiss-gpu-cu"


def asked(fix: str) -> Iterator[tuple[int, str, int, int | None]]:
    """Where a fix has something installed or used: the place, the words, and the CUDA release."""
    without = re.sub(r"pip uninstall -y [^,;&.]*", lambda place: " " * len(place[0]), fix)
    for command in COMMANDS:
        for place in re.finditer(command, without):
            found = place.groupdict()
            major, minor = found.get("major") or "12", found.get("minor")
            yield place.start(), place[0], int(major), None if minor is None else int(minor)


def contradictions(fix: str, machine: Machine) -> Iterator[str]:
    """What a fix asks for in vain there, by the tables of drivers and GPUs."""
    updated = re.search(r"[Uu]pdate (?:the (?:whole |host's )?driver|it to R\d{3})", fix)
    row = sm(models_named(machine.gpu)[0].number) if machine.gpu else None
    for place, words, major, minor in asked(fix):
        if machine.branch and not (updated and updated.start() < place):
            newest = (machine.cuda.major, 99 if machine.cuda.major > 10 else machine.cuda.minor)
            if (major, minor or 0) > newest:
                yield f"driver {machine.driver}: {words}"
        if row is not None and (why := without_code(row, words, major, minor)):
            yield f"{machine.gpu} {why}: {words}"
    if machine.system == "Colab or Kaggle" and re.search(
        r"ubuntu-drivers install|^Update the driver", fix
    ):
        yield "the driver of Colab is not updated"
    yield from without_wheels(fix, machine)


def without_wheels(fix: str, machine: Machine) -> Iterator[str]:
    """What a fix installs of which there are no wheels there."""
    if machine.system == "Windows" and "WSL" not in fix and re.search(NOT_FOR_WINDOWS, fix):
        yield "no wheel for Windows"
    python = version_numbers(machine.python or "99")
    for pattern, needed in MINIMUM.items():
        if python < version_numbers(needed) and "needs Python" not in fix:
            yield from (f"Python {machine.python}: {hit}" for hit in re.findall(pattern, fix))


def without_code(row: Sm, words: str, major: int, minor: int | None) -> str:
    """Return why a CUDA release has no code for a GPU; nothing where it can have."""
    last = row.last_toolkit
    if last and (major, minor or 0) > (last.major, last.minor):
        return "was dropped before"
    if last == Release(12, 9) and re.search(r"whl/cu12[89]", words):
        return "has no code in PyTorch's build"
    alike = [other for other in sms() if other.number // 10 == row.number // 10]
    first = min(other.first_toolkit for other in alike)
    return (
        "came after" if (major, 99 if minor is None else minor) < (first.major, first.minor) else ""
    )


BROKEN = r"\0|^[.,;:] |: [,.] |  |\(\s|\band \. |\bor \.|, ,"
"""What is left where a clause was cut badly."""


def cases(number: int, seed: int) -> list[tuple[str, Machine]]:
    """Texts of rows, each with machines; of each row the same number."""
    numbers = random.Random(seed)  # noqa: S311 - drawn cases, no secret
    by_row = grouped((found_in(text)[0].message.name, text) for text in TEXTS if found_in(text))
    picked = numbers.sample([*by_row.values()], min(number, len(by_row)))
    rounds = max(1, number // len(by_row))
    return [(numbers.choice(texts), drawn(numbers)) for texts in picked for _ in range(rounds)]


def wrong_with(text: str, machine: Machine) -> list[str]:
    """What is wrong with the fix for a text on a machine; nothing where the text names another."""
    whole = f"{text}\n\n{machine.lines()}\n"
    read = evidence(" ".join(whole.split()))
    try:
        first = explain(whole)[0]
    except (Missing, UsageError):
        return []
    told = {
        "driver": machine.driver if machine.branch else None,
        "gpu_sm": str(models_named(machine.gpu)[0].number) if machine.gpu else None,
        "python": machine.python or None,
        "system": machine.system or None,
    }
    known = {**read, **first.values, "cuda": first.values.get("driver_cuda", "")}
    told["cuda"] = str(machine.cuda) if machine.branch >= BRANCHES[2] else known["cuda"]
    if any(value is not None and known.get(name) != value for name, value in told.items()):
        return []
    fix = first.fix or ""
    broken = re.search(BROKEN, fix)
    return [*contradictions(fix, machine), *([f"broken: {broken[0]!r}"] if broken else [])]


@every("text, machine", cases(60, seed=1))
def test_no_fix_asks_for_what_the_machine_rules_out(text: str, machine: Machine) -> None:
    assert wrong_with(text, machine) == []


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2, 8))
def test_no_fix_of_any_row_asks_for_what_a_machine_rules_out(seed: int) -> None:
    found = [(wrong_with(*case), case) for case in cases(len(TEXTS), seed)]
    assert [case for case in found if case[0]] == []


JAX = """\
An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed. \
Falling back to cpu.
"""


@pytest.mark.parametrize(
    ("machine", "begins", "said"),
    [
        # What fits goes without a word.
        (Machine(550), "pip uninstall -y jax jaxlib, then pip install -U 'jax[cuda12]'", ""),
        (
            Machine(590),
            "pip uninstall -y jax jaxlib, then pip install -U 'jax[cuda12]'",
            "jax[cuda13]",
        ),
        # Nothing fits: it is said first, with the line for an update where there can be one.
        (
            Machine(440),
            "The driver 440.126 (CUDA 10.2) is too old for the next step. Update it to R525",
            "sudo",
        ),
        (
            Machine(440, system="Colab or Kaggle"),
            "The driver 440.126 (CUDA 10.2) is too old",
            "use a build",
        ),
        (Machine(0, "Tesla K80"), "The last CUDA for Tesla K80 (sm_37) is 11.8: use a build", ""),
        (
            Machine(550, system="Windows"),
            "The package has no wheels for Windows: use WSL",
            "jax[cuda12]",
        ),
        (
            Machine(550, python="3.8"),
            "The next step needs Python 3.9 or newer, but the text names Python 3.8",
            "uv",
        ),
    ],
)
def test_what_rules_a_fix_out_is_said_first(machine: Machine, begins: str, said: str) -> None:
    fix = explain(f"{JAX}{machine.lines()}\n")[0].fix or ""
    assert fix.startswith(begins)
    assert said in fix


DISTRIBUTIONS = {
    "Rocky Linux 8.7": "dnf", "AlmaLinux 9.4": "dnf", "CentOS Stream 9": "dnf",
    "CentOS Linux release 7.9.2009 (Core)": "yum", "Red Hat Enterprise Linux 8.6": "dnf",
    "Amazon Linux 2023": "dnf", "Amazon Linux 2": "yum", "Oracle Linux 9": "dnf",
    "Fedora Linux 40": "dnf", "openSUSE Leap 15.5": "zypper", "SLES 15 SP5": "zypper",
    "SUSE Linux Enterprise Server 15": "zypper", "Arch Linux": "pacman",
}  # fmt: skip
OF_ANOTHER_SYSTEM = (
    r"[Uu]buntu|[Dd]ebian|\bapt\b|apt-get|dpkg|Mint|Pop!|[Nn]ix|[Ww]indows|WSL|Jetson|[Ff]edora|CentOS"
    r"|Red Hat|RHEL|pacman|Arch\b|arch\d|Manjaro|PKGBUILD|dkms|[Rr]ocky|Alma|\.(?:el|fc)\d|dnf|yum"
    r"|zypper|No provider of|SUSE|macOS|\.dll|Colab|[Kk]aggle|[A-Z]:\\|-zen\d|mhwd|pamac"
)
MANAGERS = (
    r"\b(?:sudo |RUN |&& )(apt|dnf|yum|zypper|pacman)(?:-get)?\b|\b(?:(apt)-get install|(ubuntu)-)"
)


def other_managers(text: str, distribution: str) -> set[str]:
    """The package managers of a fix and its check that the distribution doesn't have."""
    try:
        first = explain(f"{text}\n\nOS: {distribution}\n")[0]
    except (Missing, UsageError):
        return set()
    found = re.finditer(MANAGERS, f"{first.fix or ''} {first.check or ''}")
    return {of for hit in found for of in hit.groups() if of} - {DISTRIBUTIONS[distribution]}


PLAIN = [text for text in TEXTS if not re.search(OF_ANOTHER_SYSTEM, text)]


@every("distribution", DISTRIBUTIONS)
def test_a_distribution_chooses_its_package_manager(distribution: str) -> None:
    of_docker = "docker run --gpus all image\n"
    texts = random.Random(distribution).sample(PLAIN, 150)  # noqa: S311 - drawn cases, no secret
    texts = [*texts, *(of_docker + text for text in texts[:50])]
    assert [text for text in texts if other_managers(text, distribution)] == []


@pytest.mark.nightly
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_a_distribution_chooses_it_in_any_row(distribution: str) -> None:
    assert [text for text in PLAIN if other_managers(text, distribution)] == []


TOOLKITS = ("8.0", "9.0", "10.0", "10.2", "11.0", "11.8", "12.4", "12.9", "13.0")
WITHOUT_CODE = (
    "no kernel image is available for execution on the device",
    "CUDA error: invalid device function",
    "OpenCV: cv::cuda::sum(): no kernel image is available for execution on the device",
    "make: *** [all] Error 1\n./app: no kernel image is available for execution on the device",
)


@every("toolkit", TOOLKITS)
def test_a_toolkit_without_code_for_the_gpu_is_said_with_the_release_that_has_it(
    toolkit: str,
) -> None:
    own = Release.parse(toolkit)
    for gpu in GPUS:
        row = sm(models_named(gpu)[0].number)
        assert row is not None
        needed = max(row.first_toolkit, min(own, row.last_toolkit or own))
        for text in WITHOUT_CODE:
            first = explain(f"{text}\nCUDA Toolkit {toolkit}\nGPU: {gpu}\n")[0]
            told = (
                f"names CUDA {toolkit}, which doesn't support the GPU: the GPU needs CUDA {needed}."
            )
            assert (told in (first.cause or "")) == (needed != own)
            assert needed == own or f"with CUDA {needed}" in (first.fix or "")
            ptx = re.search(r"arch=compute_(\d+),code=compute_\1", first.fix or "")
            assert (ptx is not None) == (own < row.first_toolkit)
            known = sm(int(ptx[1])) if ptx else None
            assert known is None or known.first_toolkit <= own


@every("toolkit", TOOLKITS)
def test_the_toolkit_for_several_gpus_has_code_for_each(toolkit: str) -> None:
    own = Release.parse(toolkit)
    for one in GPUS:
        for other in GPUS:
            both = [sm(models_named(gpu)[0].number) for gpu in (one, other)]
            known = [row for row in both if row is not None]
            first = max(row.first_toolkit for row in known)
            last = min(row.last_toolkit or Release(99, 9) for row in known)
            if known[0].number == known[1].number or first > last:
                continue
            values = explain(f"{WITHOUT_CODE[0]}\nCUDA Toolkit {toolkit}\n{one}\n{other}\n")[
                0
            ].values
            needed = max(first, min(own, last))
            assert values.get("gpu_needs", toolkit) == str(needed)


OF_HOSTS = [
    text
    for text in TEXTS
    if (found := found_in(text))
    and found[0].message.rule == "BLD-13"
    and not {"build", "host", "cuda"} & found[0].values.keys()
    and not re.search(r"(?:g\+\+|gcc)-?\d", found[0].message.fix)
]
"""Texts of compilers that name no CUDA, whose rows name no compiler themselves."""


@every("row", rows(HostCompilers))
def test_no_host_compiler_is_asked_for_that_the_nvcc_of_the_text_refuses(
    row: HostCompilers,
) -> None:
    for text in OF_HOSTS:
        first = explain(f"/usr/local/cuda-{row.cuda}/bin/nvcc\n{text}\n")[0]
        if first.values.get("build") == str(row.cuda) and "host" not in first.values:
            asked_for = re.findall(r"\b(?:g\+\+|gcc|gxx)[-=](\d{1,2})\b", first.fix or "")
            assert [number for number in asked_for if int(number) > row.gcc] == []


PACKAGED = {  # the CUDA releases that NVIDIA has packages of, by Ubuntu
    "14.04": ("6.5", "8.0"), "16.04": ("8.0", "9.2"), "18.04": ("9.2", "11.2"),
    "20.04": ("11.0", "12.9"), "22.04": ("11.7", "99.9"), "24.04": ("12.5", "99.9"),
}  # fmt: skip
ASKS_FOR_TOOLKITS = (
    "nvcc fatal   : Unsupported gpu architecture 'compute_{sm}'",
    "ptxas fatal   : Value 'sm_{sm}' is not defined for option 'gpu-name'",
    "error while loading shared libraries: libcudart.so.{cuda}: cannot open shared object file",
    "no kernel image is available for execution on the device\nCUDA Toolkit 8.0\ncapability {cc}",
)


@every("ubuntu", PACKAGED)
def test_no_package_of_cuda_is_asked_for_that_the_ubuntu_never_had(ubuntu: str) -> None:
    least, most = map(Release.parse, PACKAGED[ubuntu])
    for row in sms():
        known = {"sm": row.number, "cuda": row.first_toolkit, "cc": row.number / 10}
        for text in ASKS_FOR_TOOLKITS:
            try:
                fix = explain(f"{text.format(**known)}\nOS: Ubuntu {ubuntu} LTS\n")[0].fix or ""
            except Missing:
                continue
            for hit in re.finditer(r"cuda-(?:toolkit|libraries)(?:-dev)?-(\d+)-(\d+)", fix):
                assert least <= Release(int(hit[1]), int(hit[2])) <= most

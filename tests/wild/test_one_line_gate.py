"""The gate in one line on ten released wheels, in each spelling of architectures.

What is inside is said by cuobjdump, of each library that has device code.
"""

from __future__ import annotations

import re
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import cuobjdump
import pytest
from test_gate import ANY_LINUX, wheel_of

from ltocompat.cli import run
from ltocompat.facts.gpus import sms

pytestmark = [pytest.mark.wild, pytest.mark.usefixtures("folder")]

TEN = (
    "bitsandbytes==0.50.2",
    "cumm-cu120==0.6.3",
    "cupy-cuda12x==13.6.0",
    "nvidia-curand-cu12==10.3.10.19",
    "nvidia-cusparse==12.9.4.2",
    "nvidia-nvjpeg-cu12==12.4.0.76",
    "nvidia-nvjpeg2k-cu12==0.11.0.51",
    "nvidia-nvtiff-cu12==0.8.0.82",
    "torchvision==0.29.1",
    "xformers==0.0.34",
)
SASS, PTX = "sm_", "compute_"
_FORMS = {"sass": SASS, "ptx": PTX}
Archs = frozenset[str]
"""``sm_80`` and ``compute_80``."""


@cache
def inside(requirement: str) -> Archs:
    """The architectures in all libraries of a wheel that have device code."""
    wheel = wheel_of(requirement, ANY_LINUX)
    found: set[str] = set()
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as folder:
        for name in archive.namelist():
            if re.search(r"\.(so[.\d]*|a|fatbin|cubin)$", name):
                path = Path(archive.extract(name, folder))
                for kind, arch in cuobjdump.listed(path):
                    if kind in _FORMS:
                        found.add(f"{_FORMS[kind]}{arch}")
                path.unlink()
    return frozenset(found)


def digits(archs: Iterable[str], form: str) -> list[str]:
    """80 of sm_80, by number."""
    named = (arch.removeprefix(form) for arch in archs if arch.startswith(form))
    return sorted(named, key=lambda text: (int(text.rstrip("af")), text))


def torch(archs: Archs) -> str:
    """PyTorch has no word for PTX alone."""
    real, virtual = digits(archs, SASS), digits(archs, PTX)
    point = [
        f"{text.rstrip('af')[:-1]}.{text.rstrip('af')[-1]}{text.lstrip('0123456789')}"
        for text in real
    ]
    return ";".join(
        f"{dot}+PTX" if text in virtual else dot for text, dot in zip(real, point, strict=True)
    )


def cmake(archs: Archs) -> str:
    real, virtual = digits(archs, SASS), digits(archs, PTX)
    both = [text for text in real if text in virtual]
    words = [*both, *(f"{text}-real" for text in real if text not in both)]
    return ";".join([*words, *(f"{text}-virtual" for text in virtual if text not in both)])


def gencode(archs: Archs) -> str:
    lines = [f"-gencode arch=compute_{text},code=sm_{text}" for text in digits(archs, SASS)]
    lines += [f"-gencode arch=compute_{text},code=compute_{text}" for text in digits(archs, PTX)]
    return " ".join(lines)


def plain(archs: Archs) -> str:
    return ",".join(sorted(archs))


def names(archs: Archs) -> str:
    """GPUs by name, as far as a name is for one architecture."""
    known = {
        "80": "a100",
        "86": "a10",
        "89": "l40s",
        "90": "h100",
        "100": "b200",
        "120": "rtx 5090",
    }
    return ",".join(known[text] for text in digits(archs, SASS) if text in known)


SPELLINGS: tuple[Callable[[Archs], str], ...] = (torch, cmake, gencode, plain, names)


@pytest.mark.parametrize("requirement", TEN)
def test_what_is_inside_passes_and_one_more_fails_in_every_spelling(
    requirement: str, capsys: pytest.CaptureFixture[str]
) -> None:
    wheel = str(wheel_of(requirement, ANY_LINUX))
    there = inside(requirement)
    assert there
    missing = next(f"sm_{sm.number}" for sm in reversed(sms()) if f"sm_{sm.number}" not in there)
    told = {}
    for spelling in SPELLINGS:
        for lacks, archs in ((0, there), (1, there | {missing})):
            if not (text := spelling(archs)) or (lacks and spelling is names):
                continue
            told[spelling.__name__, lacks] = run(["audit", wheel, "--require-archs", text])
            out = capsys.readouterr().out
            assert (missing in out and "POL-01" in out) is bool(lacks), (text, out[:2000])
    # A wheel may have other things wrong, such as its metadata: the list decides between both.
    assert {lacks for _, lacks in told} == {0, 1}
    assert all(code == 1 for (_, lacks), code in told.items() if lacks)


def test_a_policy_of_require_archs_alone_is_one(folder: Path) -> None:
    wheel = str(wheel_of(TEN[5], ANY_LINUX))
    archs = sorted(inside(TEN[5]))
    policy = folder / "ltocompat.toml"
    policy.write_text(f"[audit]\nrequire-archs = {archs}\n", "utf-8")
    assert run(["audit", wheel]) == 0
    policy.write_text(f"[audit]\nrequire-archs = {[*archs, 'sm_107']}\n", "utf-8")
    assert run(["audit", wheel]) == 1

"""Trial links with NVIDIA's libraries, 12.0 .. 13.5.

What they wrote is kept in tests/data/nvjitlink_logs.json, with the version and the date, for the
tests that need no library; LTOCOMPAT_RECORD=1 writes it anew.
"""

from __future__ import annotations

import datetime as dt
import json
import os
from functools import cache
from pathlib import Path

import pytest
import samples
import wheels

from ltocompat.trial import cached_linker
from ltocompat.trial.cached_linker import compiles_relocatable
from ltocompat.trial.link_pool import Pool
from ltocompat.trial.values import Answer, InputKind, LinkOutcome, Request, Step, TrialInput

pytestmark = pytest.mark.wild

DATA = Path(__file__).parent.parent / "data"
RECORD = DATA / "nvjitlink_logs.json"
VERSIONS = (
    *("12.0.140", "12.1.105", "12.2.140", "12.3.101", "12.4.127", "12.5.82", "12.6.85", "12.8.93"),
    *("12.9.86", "13.0.88", "13.1.115", "13.2.86", "13.3.33", "13.4.92", "13.5.37"),
)

# One kernel that calls what no input defines, as PTX of CUDA 11.
UNDEFINED_PTX = b"""
.version 7.0
.target sm_75
.address_size 64
.extern .func absent;
.extern .func missing;
.visible .entry present()
{
    call absent;
    call missing;
    ret;
}
"""
UNDEFINED = TrialInput("undefined.ptx", InputKind.PTX, UNDEFINED_PTX)


def library(version: str) -> Path:
    major = version.partition(".")[0]
    name = "nvidia-nvjitlink-cu12" if major == "12" else "nvidia-nvjitlink"
    folder = "nvjitlink" if major == "12" else f"cu{major}"
    return wheels.member(f"{name}=={version}", f"nvidia/{folder}/lib/libnvJitLink.so.{major}")


def sample(name: str) -> TrialInput:
    folder, file = name.split("/")
    kind = InputKind.FATBIN if folder.startswith("fatbin") else InputKind[folder.upper()]
    return TrialInput(file, kind, (samples.FOLDER / name).read_bytes())


def data(name: str) -> TrialInput:
    """LTO-IR of NVRTC 12.0.140 for one kernel that uses an extern "C" function or a variable."""
    return TrialInput(name, InputKind.LTOIR, (DATA / name).read_bytes())


def link(*inputs: TrialInput, arch: str = "80", options: tuple[str, ...] = ("-lto",)) -> Request:
    return Request(inputs, (f"-arch=sm_{arch}", *options))


SAXPY = sample("ltoir/nvrtc-12.0-lto_80.ltoir")
CASES = {
    "links": link(SAXPY),
    "unresolved function in LTO": link(data("absent-function.ltoir")),
    "unresolved variable in LTO": link(data("absent-variable.ltoir")),
    "unresolved functions in PTX": link(UNDEFINED, options=()),
    "IR of 13.5": link(sample("ltoir/nvrtc-13.5-lto_80.ltoir")),
    "IR of 11.8": link(sample("ltoir/nvrtc-11.8-lto_80.ltoir")),
    "IR for a newer architecture": link(SAXPY, arch="75"),
    "PTX of 13.5": link(sample("ptx/nvrtc-13.5-compute_80.ptx"), options=()),
    "duplicate symbol in LTO": link(SAXPY, SAXPY),
    "duplicate symbol in PTX": link(*[sample("ptx/nvrtc-12.0-compute_80.ptx")] * 2, options=()),
    "no -lto": link(SAXPY, options=()),
    "-lto for PTX alone": link(sample("ptx/nvrtc-12.0-compute_80.ptx")),
    "cubin of 13.5": link(sample("cubin/nvrtc-13.5-sm_80-rdc.cubin"), options=()),
    "cubin of another architecture": link(
        sample("cubin/nvrtc-12.4-sm_80-rdc.cubin"), arch="90", options=()
    ),
    "target sm_70": link(SAXPY, arch="70"),
    "target sm_999": link(SAXPY, arch="999"),
    "unknown option": link(SAXPY, options=("-lto", "-nonsense")),
    "fatbin compressed by 13.5": link(sample("fatbin-ltoir/nvfatbin-13.5-of-12.4-lto_80.fatbin")),
    "fatbin compressed by 13.5, without -lto": link(
        sample("fatbin-ltoir/nvfatbin-13.5-of-12.4-lto_80.fatbin"), options=()
    ),
    "LTO-IR given as a cubin": link(TrialInput("ltoir", InputKind.CUBIN, SAXPY.data)),
    "-r of a fragment": link(
        TrialInput(
            "fragment.ltoir",
            InputKind.LTOIR,
            (Path(cached_linker.__file__).parent / "fragment.ltoir").read_bytes(),
        ),
        options=("-lto", "-r"),
    ),
}


@cache
def measured(version: str) -> dict[str, Answer]:
    with Pool(library(version)) as pool:
        return dict(zip(CASES, pool.run(CASES.values()), strict=True))


def row(answer: Answer) -> dict[str, object]:
    return {
        "outcome": str(answer.outcome),
        "step": str(answer.step),
        "code": answer.code,
        "code_name": answer.code_name,
        "unresolved": list(answer.unresolved),
        "kernels": answer.kernels_in_output,
        # 12.2 and 12.3 change the number from one run to the next.
        "log": answer.log.replace("ERROR 1: finish", "ERROR 9: finish"),
    }


def test_logs_are_as_recorded() -> None:
    found = {case: {v: row(measured(v)[case]) for v in VERSIONS} for case in CASES}
    if os.environ.get("LTOCOMPAT_RECORD"):
        today = dt.datetime.now(dt.UTC).date().isoformat()
        content = {"made_by": "tests/wild/test_trial_links.py", "date": today, "cases": found}
        RECORD.write_text(json.dumps(content, indent=1) + "\n")
    recorded = json.loads(RECORD.read_text())["cases"]
    for case in CASES:
        assert found[case] == recorded[case], case


@pytest.mark.parametrize("version", VERSIONS)
def test_probe_of_r(version: str) -> None:
    """-r is refused up to 12.9, has no effect in 13.0 .. 13.2, and compiles from 13.3 on."""
    major, minor, _ = map(int, version.split("."))
    assert compiles_relocatable(library(version)) is ((major, minor) >= (13, 3))
    answer = measured(version)["-r of a fragment"]
    if major == 12:
        assert (answer.outcome, answer.step) == (LinkOutcome.REFUSED, Step.CREATE)
        assert answer.code_name == "UNRECOGNIZED_OPTION"
    else:
        want = LinkOutcome.COMPILED if minor >= 3 else LinkOutcome.ACCEPTED
        assert (answer.outcome, answer.kernels_in_output) == (want, 0)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_law_of_ltoir(version: str) -> None:
    """IR links iff its release is not newer, nor older than 12.0 (compatibility.md 4.5)."""
    own = tuple(map(int, version.split(".")[:2]))
    made = [path.stem.split("-")[1] for path in samples.FOLDER.glob("ltoir/nvrtc-*-lto_80.ltoir")]
    with Pool(library(version)) as pool:
        answers = pool.run(
            link(sample(f"ltoir/nvrtc-{each_text}-lto_80.ltoir")) for each_text in made
        )
        for text, answer in zip(made, answers, strict=True):
            release = tuple(map(int, text.split(".")))
            wanted = LinkOutcome.LINKED if (12, 0) <= release <= own else LinkOutcome.REFUSED
            assert answer.outcome is wanted, text
            assert answer.confirmed is (wanted is LinkOutcome.REFUSED)
            if wanted is LinkOutcome.REFUSED:
                assert answer.step is (Step.COMPLETE if release < (12, 0) else Step.ADD)


@pytest.mark.parametrize("version", VERSIONS)
def test_names_in_the_log_are_those_of_the_inputs(version: str) -> None:
    """The library keeps pointers to names; cuda.bindings alone would free them."""
    ptx = sample("ptx/nvrtc-12.0-compute_80.ptx").data
    names = [f"{word}-{'x' * 50}.ptx" for word in ("one", "two")]
    inputs = [TrialInput(name, InputKind.PTX, ptx) for name in names]
    with Pool(library(version), workers=1) as pool:
        (answer,) = pool.run([link(*inputs, options=())])
    assert f"in '{names[1]}', first defined in '{names[0]}'" in answer.log

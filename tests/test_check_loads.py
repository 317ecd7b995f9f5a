"""The verdict on loading every sample, against what a real driver did with it.

tests/data/loads.json: an H100 with driver 580.159.04; measure_loads.py makes it.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import samples
from every_case import every

import ltocompat
from ltocompat.model.image import Module
from ltocompat.model.signature import module_signature
from ltocompat.model.verdict import Verdict
from ltocompat.rules.engine.engine import Case, Engine
from ltocompat.rules.engine.judge_module import judge_loaded
from ltocompat.rules.engine.module_verdict import ModuleVerdict
from ltocompat.rules.selection import Selection
from ltocompat.targets import parse

MEASURED = json.loads((Path(__file__).parent / "data" / "loads.json").read_text("utf-8"))
TARGET = "driver=580.159.04,gpu=sm_90"

# Why the driver's answer is not that of the rules, each for a reason that the trial brings along.
APART = {
    # It refuses the version before it looks at the architecture; no GPU of this sort runs it.
    "ptx/nvrtc-13.5-compute_100f.ptx",
    # The region alone, without the prelinked ones that a program registers with it.
    "objects/nvcc-13.0-rdc-sass+ptx@0x1b88",
    "objects/nvcc-13.5-rdc-sass+ptx@0x1b48",
    # Relocatable PTX of an object that waits for its device link, and calls into another one.
    "objects/nvcc-13.0-rdc-axpy.o@0x3f0",
}
CODES = {"PTX-01": 222, "FB-03": 209}


@cache
def modules(path: str) -> dict[str, Module]:
    """The modules of a sample by their places below the folder of samples."""
    start = f"{samples.FOLDER}/"
    return {
        str(record.place).removeprefix(start): record
        for record in ltocompat.inspect(samples.FOLDER / path, kernels=True)
        if isinstance(record, Module)
    }


def judged(place: str) -> tuple[Module, ModuleVerdict]:
    module = modules(place.split("@", maxsplit=1)[0].split("::", maxsplit=1)[0])[place]
    (target,) = parse([TARGET])
    signature = module_signature(module)
    return module, judge_loaded(Case(Engine(), target, target.gpus[0]), signature, {})


def predicted(module: Module, module_verdict: ModuleVerdict) -> int:
    """The error code that the verdict stands for; 0 for none."""
    if module_verdict.verdict is Verdict.NOT_FOR_GPU:
        return 0 if module_verdict.selection is Selection.WITHOUT_KERNELS else 209
    failing = [
        finding.rule for finding in module_verdict.findings if finding.verdict is Verdict.FAIL
    ]
    if failing == ["LTO-05"]:
        return 209 if module.images[0].kind_number is not None else 200
    return CODES[failing[0]] if failing else 0


@every("place", [place for place in MEASURED["modules"] if place not in APART])
def test_the_driver_does_what_the_verdict_says(place: str) -> None:
    row: dict[str, Any] = MEASURED["modules"][place]
    module, module_verdict = judged(place)
    if module_verdict.selection is Selection.WITHOUT_KERNELS:
        return  # whatever the driver says of it, no kernel is lost
    code = row.get("code") or 0
    if place.startswith("fatbin-ltoir") and "of-11.8" in place:
        assert predicted(
            module, module_verdict
        )  # an entry of a compiler that old is 200 instead of 209
        assert code == 200
    else:
        assert code == predicted(module, module_verdict), row


@every("place", MEASURED["broken"])
def test_of_a_damaged_file_nothing_is_said_that_the_driver_contradicts(place: str) -> None:
    row: dict[str, Any] = MEASURED["broken"][place]
    module, module_verdict = judged(place)
    if module_verdict.verdict in (Verdict.OK, Verdict.JIT):
        assert row["outcome"] == "loaded", row
    elif module_verdict.verdict is Verdict.NOT_FOR_GPU and module.images:
        assert row["outcome"] == "refused", row


def test_what_stands_apart_is_measured() -> None:
    assert set(MEASURED["modules"]) >= APART


def test_compat_older_than_the_kernel_driver_is_803() -> None:
    (tried,) = MEASURED["compat"]
    assert "803" in tried["said"]
    sample = samples.FOLDER / "cubin" / "nvrtc-12.4-sm_90.cubin"
    for package in ("13.0", "580.95.05"):  # by its release, and as its folder shows it
        target = f"driver=580.159.04,compat={package},gpu=h100"
        (result,) = ltocompat.check(sample, targets=[target])
        assert result.verdict is Verdict.FAIL
        assert [finding.rule for finding in result.findings] == ["CMP-03"]


def test_every_linked_cubin_of_an_older_compiler_runs_and_none_is_said_to_fail() -> None:
    for name, row in MEASURED["linked"].items():
        linker, maker = name.rsplit(".", 1)[0].split("-of-")
        if not name.endswith(".cubin"):
            continue
        assert row["outcome"] == "loaded"
        assert row["right"] is True
        sample = samples.FOLDER / "ltoir" / f"nvrtc-{maker}-lto_80.ltoir"
        target = f"driver=580.159.04,nvjitlink={linker},gpu=sm_90"
        (result,) = ltocompat.check(sample, targets=[target])
        assert result.verdict in (Verdict.OK, Verdict.UNDOCUMENTED), name

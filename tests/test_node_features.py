"""``require --for nfd``: a specification for Node Feature Discovery admits what check passes."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from machines import shared
from msgspec.structs import replace
from samples import FOLDER

from ltocompat import check, require
from ltocompat.cli import run
from ltocompat.model.arch import version_numbers
from ltocompat.model.requirement import RouteFloor
from ltocompat.model.target import DriverVersion
from ltocompat.model.verdict import Coverage, Verdict
from ltocompat.rules.engine.node_features import specification

DRIVERS = ("450.51.05", "525.60.13", "525.147.05", "550.120", "550.54.14", "550.54.15")
NEWER = ("570.26", "570.86.10", "575.51.03", "580.65.05", "580.65.06", "580.95.05", "615.10")
OPERATORS = {
    "In": lambda given, value: given in value,
    "Gt": lambda given, value: int(given) > int(value[0]),
    "GtLt": lambda given, value: int(value[0]) < int(given) < int(value[1]),
    "InRegexp": lambda given, value: any(re.search(text, given) for text in value),
}


def labels(driver: str, gpu: int) -> dict[str, str]:
    """As gpu-feature-discovery writes them; of 550.120 the third is empty."""
    major, minor, revision = (*driver.split("."), "")[:3]
    kinds = {"major": major, "minor": minor, "revision": revision}
    found = {f"nvidia.com/cuda.driver-version.{kind}": value for kind, value in kinds.items()}
    return found | {
        "nvidia.com/gpu.compute.major": str(gpu // 10),
        "nvidia.com/gpu.compute.minor": str(gpu % 10),
    }


def matches(rule: dict[str, Any], node: dict[str, str]) -> bool:
    """As NFD does: one of matchAny, all of whose expressions match; it stops at no error.

    Without any, a rule is met: ExecuteGroupRule in pkg/apis/nfd/nodefeaturerule/rule.go.
    """
    return not rule.get("matchAny") or any(
        all(OPERATORS[e["op"]](node[name], e["value"]) for name, e in f["matchExpressions"].items())
        for matcher in rule.get("matchAny", ())
        for f in matcher["matchFeatures"]
        if f["feature"] == "local.label"
    )


@pytest.mark.parametrize(
    "sample",
    [
        "objects/libsaxpy.so",
        pytest.param("fatbin/nvcc-13.5-many-arches.fatbin", marks=pytest.mark.slow),
        pytest.param("cubin/nvrtc-11.8-sm_80.cubin", marks=pytest.mark.slow),
    ],
)
def test_nodes_that_it_admits_are_those_that_pass(
    sample: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(FOLDER / sample)
    assert run(["require", path, "--for", "nfd"]) == 0
    document = yaml.safe_load(capsys.readouterr().out)
    assert document["version"] == "v1alpha1"
    (compatibility,) = document["compatibilities"]
    (rule,) = compatibility["rules"]
    assert rule["name"] == Path(path).name
    for driver in (*DRIVERS, *NEWER):
        for gpu in (75, 80, 90, 120):
            target = f"driver={driver},gpu=sm_{gpu}"
            passes = all(r.verdict <= Verdict.JIT for r in check(path, target, route="load"))
            assert matches(rule, labels(driver, gpu)) is passes, target


def test_files_without_device_code_keep_no_node_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As most extension modules of an environment are."""
    shutil.copy(FOLDER / "objects" / "libsaxpy.so", tmp_path)
    (tmp_path / "_util.so").write_bytes(shared("_util.so"))
    assert run(["require", str(tmp_path), "--for", "nfd"]) == 0
    (rule,) = yaml.safe_load(capsys.readouterr().out)["compatibilities"][0]["rules"]
    assert rule["name"] == "libsaxpy.so"
    assert run(["require", str(tmp_path / "_util.so"), "--for", "nfd"]) == 3
    assert capsys.readouterr().out == "# nothing to paste for nfd\n"


def test_no_node_has_a_gpu_for_code_that_serves_none() -> None:
    (required,) = require(FOLDER / "objects" / "libsaxpy.so")
    nothing = [replace(each, how="none", driver=None) for each in required.services]
    text = "\n".join(specification([replace(required, services=tuple(nothing))]))
    (rule,) = yaml.safe_load(text)["compatibilities"][0]["rules"]
    assert not any(matches(rule, labels("615.10", gpu)) for gpu in (50, 80, 90, 120))


@pytest.mark.parametrize("runtime", [None, "525.60.13"])
def test_every_gpu_will_do_for_code_without_kernels(runtime: str | None) -> None:
    (required,) = require(FOLDER / "objects" / "libsaxpy.so")
    least = None if runtime is None else DriverVersion(version_numbers(runtime))
    coverage = Coverage(1, without_kernels=1)
    floor = RouteFloor(None, coverage, least, None, None, None, Verdict.OK)
    idle = [
        replace(each, how="none", driver=least, last_driver=None, routes=(floor,))
        for each in required.services
    ]
    asked = required.asked if runtime else ()
    text = "\n".join(specification([replace(required, services=tuple(idle), asked=asked)]))
    (rule,) = yaml.safe_load(text)["compatibilities"][0]["rules"]
    for gpu in (50, 80, 90, 120):
        assert matches(rule, labels("550.54.14", gpu))
        assert matches(rule, labels("470.82.01", gpu)) is (runtime is None)


@pytest.mark.parametrize("revision", [1, 9, 10, 14, 89, 90, 95, 99])
def test_a_driver_is_as_new_as_the_floor_to_its_last_digit(revision: int) -> None:
    (required,) = require(FOLDER / "objects" / "libsaxpy.so")
    served = next(each for each in required.services if each.number == 80)
    least = replace(served, driver=DriverVersion((550, 54, revision)))
    text = "\n".join(specification([replace(required, services=(least,))]))
    (rule,) = yaml.safe_load(text)["compatibilities"][0]["rules"]
    for other in range(100):
        assert matches(rule, labels(f"550.54.{other:02}", 80)) == (other >= revision), other

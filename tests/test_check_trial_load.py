"""Verdicts beside the answers of a driver: recorded ones of a real one, made-up ones of a stand-in.

The process that asks is the real one; what it loads is built from ``fake_libcuda.c``, which does
what the first comment of a PTX text says.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import test_check_loads as recorded
from every_case import every
from libraries_made import build_libcuda, needs_gcc
from msgspec.structs import replace
from report_values import valid_json
from samples import FOLDER

import ltocompat
from ltocompat.cli import run
from ltocompat.commands.deployment_target import DeploymentTarget
from ltocompat.commands.this_machine import ThisMachine
from ltocompat.model.signature import module_signature
from ltocompat.model.target import THIS_MACHINE
from ltocompat.model.trial_answer import TrialOutcome, load_key
from ltocompat.model.verdict import Finding, Result, Verdict, worst
from ltocompat.rules.engine.engine import Case, Engine
from ltocompat.rules.engine.judge_module import judge_loaded
from ltocompat.rules.engine.module_verdict import ModuleVerdict
from ltocompat.targets import parse
from ltocompat.targets.machine.python_environment import Installation
from ltocompat.trial.load_pool import LoadPool
from ltocompat.trial.load_values import DEFAULT_LOAD_LIMITS

pytestmark = needs_gcc
DISAGREES = "TRIAL-DISAGREES"


def outcome(row: Mapping[str, Any], *, loading: str = "eagerly") -> TrialOutcome:
    """A recorded answer as a trial gives it; those were of eager loads."""
    reason = f"error {row.get('code')}" if row.get("code") else ""
    return TrialOutcome("CUDA 13.0 driver", row["outcome"], reason=reason, loading=loading)


def tried(place: str, answer: TrialOutcome) -> ModuleVerdict:
    module, _ = recorded.judged(place)
    (target,) = parse([recorded.TARGET])
    (gpu,) = target.gpus
    trials = {load_key(target.name, gpu.arch): answer}
    return judge_loaded(Case(Engine(), target, gpu), module_signature(module), trials)


def rules_of(verdict: ModuleVerdict) -> set[str]:
    return {finding.rule for finding in verdict.findings}


@every("place", [p for p in recorded.MEASURED["modules"] if p not in recorded.APART])
def test_no_answer_of_a_real_driver_contradicts_the_rules(place: str) -> None:
    answer = outcome(recorded.MEASURED["modules"][place])
    verdict = tried(place, answer)
    assert DISAGREES not in rules_of(verdict)
    if verdict.verdict is not Verdict.NOT_FOR_GPU:
        assert answer.worked == (verdict.verdict < Verdict.FAIL)


@pytest.mark.parametrize(
    "place",
    [
        "ptx/nvrtc-13.0-compute_80.ptx",
        "ptx/nvrtc-13.5-compute_80.ptx",
        "cubin/nvrtc-12.4-sm_80.cubin",
    ],
)
def test_the_reverse_of_a_real_answer_contradicts_them(place: str) -> None:
    row = recorded.MEASURED["modules"][place]
    worked = row["outcome"] == "loaded"
    reverse = {"outcome": "refused", "code": 200} if worked else {"outcome": "loaded"}
    verdict = tried(place, outcome(reverse))
    assert DISAGREES in rules_of(verdict)
    assert worst(finding.verdict for finding in verdict.findings) >= Verdict.UNKNOWN


@every("place", recorded.MEASURED["modules"])
@pytest.mark.parametrize("row", [{"outcome": "loaded"}, {"outcome": "refused", "code": 200}])
def test_no_answer_betters_what_the_rules_say(place: str, row: dict[str, Any]) -> None:
    _, by_rules = recorded.judged(place)
    after = tried(place, outcome(row))
    if by_rules.verdict is Verdict.NOT_FOR_GPU:
        assert after.verdict is Verdict.NOT_FOR_GPU
    elif by_rules.verdict is Verdict.UNKNOWN:
        assert after.verdict in {Verdict.UNDOCUMENTED, Verdict.FAIL}
    else:
        assert after.verdict is not Verdict.NOT_FOR_GPU
        assert after.verdict >= by_rules.verdict


def test_a_relocatable_cubin_is_settled_by_the_driver() -> None:
    place = "cubin/nvrtc-12.4-sm_80-rdc.cubin"
    module, _ = recorded.judged(place)
    (target,) = parse(["driver=580.159.04,gpu=a100"])
    (gpu,) = target.gpus
    key = load_key(target.name, gpu.arch)
    for row, verdict in (
        ({"outcome": "loaded"}, Verdict.UNDOCUMENTED),
        ({"outcome": "refused", "code": 200}, Verdict.FAIL),
    ):
        trials = {key: outcome(row, loading="lazily")}
        judged = judge_loaded(Case(Engine(), target, gpu), module_signature(module), trials)
        assert judged.verdict is verdict
        assert rules_of(judged) - {"DRV-01", "DRV-02"} <= {"TRIAL", "SASS-08"}


class MachineWithDriver(DeploymentTarget, frozen=True, kw_only=True):
    """A target that is this machine, with GPUs that nothing but the stand-in has."""

    installation: Installation
    here: bool = True


@pytest.fixture(scope="module")
def libcuda(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_libcuda(tmp_path_factory.mktemp("libcuda"))


@pytest.fixture
def log(libcuda: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(libcuda))
    monkeypatch.setenv("CUDA_FAKE_LOG", str(tmp_path / "log"))
    monkeypatch.setenv("CUDA_FAKE", "gpus=2")
    monkeypatch.delenv("CUDA_MODULE_LOADING", raising=False)
    open_to_all = replace(DEFAULT_LOAD_LIMITS, sandbox=())  # a sandbox would let it write no log
    monkeypatch.setattr(LoadPool.__init__, "__kwdefaults__", {"limits": open_to_all})
    return tmp_path / "log"


def ptx(folder: Path, words: str, body: str = ".visible .entry k() { ret; }") -> Path:
    path = folder / "code.ptx"
    path.write_text(f".version 8.0\n.target sm_80\n.address_size 64\n{body}\n// {words}")
    return path


def checked(path: Path) -> Result:
    (target,) = parse(["driver=580.159.04,gpu=sm_90"])
    machine = MachineWithDriver(target=target, installation=Installation("here", "made up", ()))
    (result,) = ltocompat.check(path, targets=[machine], route="load", trial_load=True)
    return result


def of_trial(result: Result) -> Finding:
    (finding,) = (each for each in result.findings if each.rule.startswith("TRIAL"))
    return finding


def calls(log: Path, start: str) -> list[str]:
    return [line for line in log.read_text().splitlines() if line.startswith(start)]


def test_ptx_without_kernels_is_tried_too(log: Path, tmp_path: Path) -> None:
    result = checked(ptx(tmp_path, "code 222", ".func f() { ret; }"))
    assert result.verdict is Verdict.FAIL
    assert calls(log, "load") == ["load code 222"]


def test_a_refusal_of_the_driver_is_told_as_its_own(log: Path, tmp_path: Path) -> None:
    del log
    finding = of_trial(checked(ptx(tmp_path, "code 222")))
    assert finding.message == (
        "the rules say jit, but the CUDA 13.0 driver, loading lazily, refuses it: "
        "error 222 CUDA_ERROR_UNSUPPORTED_PTX_VERSION: ptxas fatal: no"
    )
    assert (finding.evidence, finding.source) == ("a trial load", "the driver itself")
    crashed = of_trial(checked(ptx(tmp_path, "crash")))
    assert crashed.remedy.endswith("repeat the trial: ltocompat check --trial-load")
    assert "link" not in crashed.remedy


@pytest.mark.parametrize("loading", ["lazily", "eagerly"])
def test_an_answer_says_under_which_loading_it_holds(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loading: str
) -> None:
    del log
    if loading == "eagerly":
        monkeypatch.setenv("CUDA_MODULE_LOADING", "EAGER")
    body = ".visible .entry calls() { ret; }"
    message = of_trial(checked(ptx(tmp_path, "calls what is absent", body))).message
    assert f"loading {loading}, refuses it: error 500" in message
    assert message.endswith("at kernel calls") == (loading == "lazily")


def test_equal_gpus_are_asked_once(log: Path, tmp_path: Path) -> None:
    assert checked(ptx(tmp_path, "fine")).verdict is Verdict.JIT
    assert calls(log, "load") == ["load fine"]
    assert calls(log, "cuFuncLoad") == ["cuFuncLoad k"]


def audited(
    path: Path, capsys: pytest.CaptureFixture[str], *options: str
) -> tuple[int, dict[str, list[dict[str, Any]]]]:
    """The exit code, and the results by target."""
    code = run(["audit", str(path), *options, "--format", "json"])
    found: dict[str, list[dict[str, Any]]] = {}
    for result in valid_json(capsys.readouterr().out)["results"]:
        found.setdefault(result["target"], []).append(result)
    return code, found


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (target,) = parse(["driver=580.159.04,gpu=sm_90,nvjitlink=12.0"])
    named = replace(target, name=THIS_MACHINE)
    here = MachineWithDriver(target=named, installation=Installation("here", "made up", ()))
    monkeypatch.setattr(ThisMachine, "now", lambda _: here)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("machine")
def test_an_audit_has_this_machine_as_one_more_target(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = ptx(tmp_path, "code 222")
    assert audited(path, capsys)[0] == 0
    code, found = audited(path, capsys, "--trial-load")
    (result,) = found[THIS_MACHINE]
    assert (code, result["verdict"]) == (1, "fail")
    assert [f["standing"] for f in result["findings"] if f["rule"].startswith("TRIAL")] == [
        "counts"
    ]
    assert calls(log, "load") == ["load code 222"]
    assert audited(ptx(tmp_path, "fine"), capsys, "--trial-load")[0] == 0


@pytest.mark.usefixtures("machine", "log")
def test_a_policy_asks_for_trial_loads_by_the_name_of_the_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = "[targets.prod]\ndriver = '580'\nnvjitlink = '13.3'\ngpu = 'sm_90'\n"
    path = ptx(tmp_path, "code 222")
    (tmp_path / "ltocompat.toml").write_text(target, "utf-8")
    assert audited(path, capsys)[0] == 0
    (tmp_path / "ltocompat.toml").write_text(f"{target}[audit]\ntrial-load = true\n", "utf-8")
    code, found = audited(path, capsys)
    assert code == 1
    assert {result["verdict"] for result in found["prod"]} == {"jit", "ok"}
    assert [result["verdict"] for result in found[THIS_MACHINE]] == ["fail"]
    run(["audit", str(path)])
    text = " ".join(capsys.readouterr().out.split())
    assert f"to see only this file: ltocompat check {path} --trial-load" in text


@pytest.mark.usefixtures("machine", "log")
def test_what_is_linked_is_not_judged_by_what_lies_on_this_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its nvJitLink 12.0 would refuse LTO-IR of CUDA 13.5."""
    ltoir = FOLDER / "ltoir" / "nvcc-13.5-lto_80.ltoir"
    code, found = audited(ltoir, capsys, "--trial-load")
    assert (code, THIS_MACHINE in found) == (0, False)
    (tmp_path / "ltocompat.toml").write_text(
        f"[targets.'{THIS_MACHINE}']\ndriver = '580'\n", "utf-8"
    )
    assert run(["audit", str(ltoir), "--trial-load"]) == 2


def test_an_audit_without_a_driver_to_ask_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    assert run(["audit", str(ptx(tmp_path, "fine")), "--trial-load"]) == 4
    assert "libcuda" in capsys.readouterr().err


@pytest.mark.skipif(
    os.path.exists("/proc/driver/nvidia/version"), reason="this machine has NVIDIA's driver"
)
def test_without_a_driver_both_answers_lead_out_of_a_trial_load(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cubin = str(FOLDER / "cubin" / "nvcc-13.0-sm_80.cubin")
    assert run(["check", cubin, "--trial-load"]) == 4
    assert "or name a --deploy-target instead" in capsys.readouterr().err
    assert run(["check", cubin, "--trial-load", "--deploy-target", "driver=R580,gpu=a100"]) == 2
    assert "or leave out --trial-load" in capsys.readouterr().err

"""Incidents that users met, rebuilt from real pieces: each is told by the right rule."""

from __future__ import annotations

import pytest
import samples
from rule_cases import strikes

from ltocompat.commands.check import check
from ltocompat.model.verdict import Result, Verdict


def judged(sample: str, target: str, **options: object) -> Result:
    (result,) = check(samples.FOLDER / sample, targets=[target], **options)
    return result


def rules(result: Result, verdict: Verdict = Verdict.FAIL) -> set[str]:
    return {finding.rule for finding in result.findings if finding.verdict is verdict}


@pytest.mark.parametrize(
    ("sample", "target", "rule", "text"),
    [
        # cudf pull request 20873: LTO-IR of 12.9 met nvJitLink 12.2
        ("ltoir/nvrtc-12.9-lto_80.ltoir", "nvjitlink=12.2,gpu=a100", "LTO-01", "12.9"),
        # SimLOD issue 9: IR for a newer architecture than the GPU
        ("ltoir/nvrtc-13.0-lto_100.ltoir", "nvjitlink=13.0,gpu=h100", "LTO-03", "sm_90"),
        # cudf pull request 23506: only sm_120a in the fatbin, the linker asked for sm_120
        (
            "fatbin-ltoir/nvfatbin-13.0-of-13.0-lto_120a-none.fatbin",
            "nvjitlink=13.0,gpu=sm_120",
            "LTO-14",
            "sm_120a",
        ),
        # nvbandwidth issue 61: PTX of CUDA 13.2 on driver 580
        ("fatbin/nvcc-13.2-none.fatbin", "driver=580.95.05,gpu=h100", "PTX-01", "222"),
        # ollama issue 16449: Zstandard on driver 535
        ("fatbin/nvfatbin-12.9-size.fatbin", "driver=535.104.05,gpu=a100", "FB-01", "200"),
        # onnxruntime issue 21435: cuda-compat on a GeForce
        (
            "cubin/nvrtc-12.4-sm_80.cubin",
            "driver=535.104.05,compat=12.4,gpu=rtx3090",
            "CMP-02",
            "804",
        ),
        # vllm pull request 33992: cuda-compat older than the driver beneath it
        ("cubin/nvrtc-12.4-sm_80.cubin", "driver=595,compat=13.0,gpu=a100", "CMP-03", "803"),
        # nixos-hardware issue 1880: V100 on driver 590
        ("cubin/nvrtc-12.9-sm_70.cubin", "driver=590,gpu=v100", "DRV-04", "580"),
        # The libcuda of cuda-compat has dropped it, whatever the kernel driver still runs.
        ("cubin/nvrtc-12.9-sm_70.cubin", "driver=535,compat=13.1,gpu=v100", "DRV-04", "580"),
        # pytorch issue 149845: nothing for Blackwell
        ("cubin/nvrtc-13.0-sm_90a.cubin", "driver=580.95.05,gpu=b200", "SASS-06", "209"),
        # legion issue 1690: SASS of CUDA 13 on a driver of CUDA 12
        ("cubin/nvrtc-13.0-sm_80.cubin", "driver=550.54.15,gpu=a100", "SASS-07", "580"),
    ],
)
def test_an_incident_fails_with_its_rule_and_says_what_to_do(
    sample: str, target: str, rule: str, text: str
) -> None:
    result = judged(sample, target)
    assert result.verdict is Verdict.FAIL
    assert rules(result) == {rule}
    (finding,) = (each_finding for each_finding in result.findings if each_finding.rule == rule)
    assert text in finding.message + finding.remedy
    assert finding.remedy
    assert finding.source


@strikes("LTO-05")
def test_a_fatbin_with_only_ltoir_that_is_loaded_directly_fails_with_209() -> None:
    result = judged(
        "fatbin-ltoir/nvfatbin-12.4-of-12.4-lto_80.fatbin",
        "driver=580.95.05,gpu=a100",
        route="load",
    )
    assert rules(result) == {"LTO-05"}
    assert "209" in result.findings[0].message
    assert "nvJitLink" in result.findings[0].remedy


@pytest.mark.parametrize(
    ("sample", "target", "verdict"),
    [
        ("ltoir/nvrtc-12.4-lto_80.ltoir", "nvjitlink=12.4,driver=550,gpu=h100", Verdict.OK),
        (
            "ltoir/nvrtc-12.4-lto_80.ltoir",
            "nvjitlink=13.0,driver=580,gpu=h100",
            Verdict.UNDOCUMENTED,
        ),
        ("cubin/nvrtc-13.5-sm_90.cubin", "driver=580,gpu=h100", Verdict.OK),
        ("cubin/nvrtc-13.5-sm_80.cubin", "driver=580,gpu=rtx4090", Verdict.OK),
        ("ptx/nvrtc-12.4-compute_80.ptx", "driver=550.54.15,gpu=h100", Verdict.JIT),
        ("ptx/nvrtc-12.6-compute_80.ptx", "driver=555,gpu=h100", Verdict.JIT),
        ("cubin/nvrtc-12.4-sm_80.cubin", "driver=535,compat=12.4,gpu=a100", Verdict.OK),
        ("ptx/nvrtc-13.0-compute_80.ptx", "driver=535,compat=13.0,gpu=a100", Verdict.JIT),
    ],
)
def test_what_works_is_not_warned_about(sample: str, target: str, verdict: Verdict) -> None:
    result = judged(sample, target)
    assert result.verdict is verdict, result.findings

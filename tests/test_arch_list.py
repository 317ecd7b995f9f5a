"""Lists of architectures, as each build system spells them; nvcc itself compiles its own."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from every_case import every
from report_values import valid_json
from samples import FOLDER

import ltocompat
from ltocompat.cli import run
from ltocompat.facts.gpus import sms
from ltocompat.model.errors import UsageError
from ltocompat.targets.arch_list import arch_list

NVCC = shutil.which("nvcc") or ""
SAMPLE = str(FOLDER / "fatbin" / "nvcc-13.0-none.fatbin")  # SASS and PTX for sm_80


@every(
    "text, images",
    [
        # torch.utils.cpp_extension._get_cuda_arch_flags: SASS, and PTX behind +PTX
        ("7.5;8.0;8.6;9.0+PTX", "sm_75 sm_80 sm_86 sm_90 compute_90"),
        ("8.0 9.0a 10.0f+PTX", "sm_80 sm_90a sm_100f compute_100f"),
        # CMake's manual, CUDA_ARCHITECTURES: real, virtual, or both
        ("75-real;90a;120-virtual", "sm_75 sm_90a compute_90a compute_120"),
        # nvcc's manual: --generate-code, and what --gpu-architecture alone is short for
        ("-gencode arch=compute_80,code=sm_80", "sm_80"),
        ("-gencode=arch=compute_90,code=[sm_90,compute_90]", "sm_90 compute_90"),
        ('--generate-code arch=compute_90a,code="sm_90a,lto_90a"', "sm_90a lto_90a"),
        ("-arch=sm_86", "sm_86 compute_86"),
        ("-arch compute_80", "compute_80"),
        ("--gpu-architecture=compute_80 --gpu-code=sm_80,sm_86", "sm_80 sm_86"),
        # CUPY_NVCC_GENERATE_CODE, HERMETIC_CUDA_COMPUTE_CAPABILITIES
        ("arch=compute_70,code=sm_70;arch=compute_80,code=compute_80", "sm_70 compute_80"),
        ("sm_50,sm_60,compute_90", "sm_50 sm_60 compute_90"),
        ("sm_90", "sm_90"),
        ("SM90", "sm_90"),
        ("hopper", "sm_90"),
        ("Turing;Ampere", "sm_75 sm_80 sm_86"),
        ("h100, l4\nh100", "sm_90 sm_89"),
        # as deploy targets separate their GPUs
        ("8.0+9.0", "sm_80 sm_90"),
        ("8.0+9.0+PTX", "sm_80 sm_90 compute_90"),
        ("sm_80+compute_90", "sm_80 compute_90"),
    ],
)
def test_a_list_is_the_images_that_it_makes(text: str, images: str) -> None:
    assert " ".join(map(str, arch_list(text))) == images


@pytest.mark.parametrize("text", ["", " ; ", "all", "native", "all-major", "Common", "sm_85"])
def test_a_list_that_means_nothing_by_itself_is_refused(text: str) -> None:
    with pytest.raises(
        UsageError, match=r"; (write|near|name each)|is not an architecture|the nearest are"
    ):
        arch_list(text)


@pytest.mark.parametrize("text", ["-O3 -arch=sm_80", "-arch=native", "9.0PTX", "80 real", "x" * 99])
def test_what_is_no_architecture_is_never_passed_over(text: str) -> None:
    with pytest.raises(UsageError):
        arch_list(text)


def test_every_architecture_has_one_meaning_in_every_spelling() -> None:
    for sm in sms():
        number, capability = str(sm.number), f"{sm.number // 10}.{sm.number % 10}"
        sass, ptx = arch_list(f"sm_{number}"), arch_list(f"compute_{number}")
        assert arch_list(capability) == arch_list(f"{number}-real") == sass
        assert arch_list(f"{number}-virtual") == ptx
        gencode = f"-gencode arch=compute_{number},code=[sm_{number},compute_{number}]"
        spellings = (f"{capability}+PTX", number, gencode, f"-arch=sm_{number}")
        assert [arch_list(text) for text in spellings] == [sass + ptx] * len(spellings)


@pytest.mark.slow
@pytest.mark.skipif(not NVCC, reason="needs nvcc")
@pytest.mark.parametrize(
    "flags",
    [
        "-gencode arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=[sm_90,compute_90]",
        "--generate-code arch=compute_90a,code=sm_90a",
        "-arch=sm_86",
        "-arch=compute_80",
        "-arch=compute_80 -code=sm_80,sm_86",
    ],
)
def test_nvcc_compiles_what_its_flags_are_read_as(flags: str, tmp_path: Path) -> None:
    (tmp_path / "x.cu").write_text("__global__ void f(float *x) { x[0] += 1; }", "utf-8")
    command = [NVCC, *shlex.split(flags), "-fatbin", "x.cu", "-o", "x.fatbin"]
    subprocess.run(command, cwd=tmp_path, check=True)
    modules = [
        m for m in ltocompat.inspect(tmp_path / "x.fatbin") if isinstance(m, ltocompat.Module)
    ]
    assert {image.arch for module in modules for image in module.images} == set(arch_list(flags))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--require-archs", "8.0+PTX"], 0),
        (["--require-archs", "80", "--deploy-target", "R580", "--deploy-target", "driver=580"], 0),
        (["--require-archs", "8.0", "--require-archs", "hopper"], 1),
        (["--deploy-target", "driver=535"], 1),  # SASS of CUDA 13
        (["--max-bytes", "4KiB"], 1),  # 4,224 bytes
        (["--max-bytes", "5 kB"], 0),
        (["--max-bytes", "big"], 2),
        (["--max-member-bytes", "1kB"], 0),  # no file is inside
        (["--require-archs", ""], 2),  # as of a variable that is not set
        (["--require-archs", "native"], 2),
    ],
)
def test_a_gate_needs_no_policy(
    words: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["audit", SAMPLE, *words, "--format", "json"]) == code
    out = capsys.readouterr().out
    if words == ["--max-bytes", "4KiB"]:
        assert "the file has 4,224 bytes; the limit is 4,096" in out
    if code != 2:
        policy = valid_json(out)["policy"]
        assert (policy["source"], len(policy["options"])) == ("", len({*words[::2]}))


def test_options_beat_the_policy_and_its_other_keys_stay(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = '[targets]\nold = "driver=535"\nnew = "R580"\n[audit]\nrequire-archs = "9.0"\n'
    (folder / "ltocompat.toml").write_text(text, "utf-8")
    assert run(["audit", SAMPLE]) == 1
    for words in (["--deploy-target", "new"], ["--require-archs", "80"]):
        assert run(["audit", SAMPLE, *words]) == 1
    capsys.readouterr()
    assert run(["audit", SAMPLE, "--deploy-target", "new", "--require-archs", "80"]) == 0
    results = ltocompat.audit(SAMPLE, targets=["new"], require_archs="80-real", max_bytes=5000)
    assert not any(r.failed for r in results if isinstance(r, ltocompat.Audited))

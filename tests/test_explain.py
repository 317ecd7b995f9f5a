"""Explaining: what causes a text that users paste, in the values of the text; and rules by ID."""

from __future__ import annotations

import functools
import html
import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import pytest
from every_case import every
from hypothesis import assume, given
from hypothesis import strategies as st
from libraries_made import needs_gcc
from packages_made import library, wheel

from ltocompat.cli import app, run
from ltocompat.commands.explain import explain, explain_all
from ltocompat.commands.explain import run as run_command
from ltocompat.commands.options import ExplainOptions
from ltocompat.facts import rows as facts_rows
from ltocompat.facts import table
from ltocompat.facts.drivers import MajorFloor, errors_called
from ltocompat.facts.gpus import RENAMED, sms
from ltocompat.facts.libraries import library_packages
from ltocompat.facts.toolkits import HostCompilers
from ltocompat.model.arch import Release, SmArch
from ltocompat.model.environment import Environment, KernelDriver, LocalGpu
from ltocompat.model.errors import LtocompatError, Missing, UnreadableInput, UsageError
from ltocompat.model.explained import Explained
from ltocompat.model.generic import grouped
from ltocompat.model.paste import Paste, Reading
from ltocompat.model.target import DriverVersion, System
from ltocompat.model.verdict import Prose
from ltocompat.model.words import excerpt
from ltocompat.report import Options
from ltocompat.report.formats.table import write
from ltocompat.report.verbs.explain import REPORT
from ltocompat.rules.clients import Speaker, shown, speaker
from ltocompat.rules.evidence import evidence, of_another_vendor, patterns
from ltocompat.rules.literals import Index, literals, places, small
from ltocompat.rules.message_values import derived, filled
from ltocompat.rules.messages import Match, Message, matches, messages, pattern_of
from ltocompat.rules.prose import rows as table_rows
from ltocompat.rules.prose import rules, rules_left_out
from ltocompat.rules.services import capability
from ltocompat.trial.logs import explain as reason_of

DATA = Path(__file__).parent / "data"
SAMPLES = Path(__file__).parent.parent / "sample_artifacts"


def rows(name: str, key: str) -> list[dict[str, Any]]:
    with (DATA / f"{name}.toml").open("rb") as file:
        found: list[dict[str, Any]] = tomllib.load(file)[key]
        return found


INCIDENTS = rows("incidents", "incident")
BUILT = [incident for incident in INCIDENTS if incident["built"]]
LATER = [table for table in INCIDENTS if not table["built"]]
MESSAGES = rows("explain_messages", "message")
HELD_OUT = rows("explain_messages", "held_out")
COLLECTED = [*MESSAGES, *HELD_OUT, *rows("explain_messages", "seen")]
THREADS = rows("explain_threads", "paste")
UNRELATED = [
    *rows("explain_messages", "unrelated"),
    *rows("explain_pastes", "foreign"),
    *rows("explain_threads", "foreign"),
]
PASTES = [*rows("explain_pastes", "paste"), *THREADS]
IDS = [rule.id for rule in rules()]
NOISE = """\
Collecting environment information...
  File "/opt/venv/lib/python3.12/site-packages/torch/cuda/__init__.py", line 372, in _lazy_init
    torch._C._cuda_init()
2026-03-04 12:00:01,337 [INFO] worker-3: loaded 1,549 modules in 0.37 s (/usr/lib/libfoo.so.1.2)
"""
# Rows of the table of messages that none of the collected messages shows.
EXAMPLES = {
    "image-of-a-pytorch-for-a-newer-driver": "CUDA error: device kernel image is invalid\n"
    "driver 535.183.01, torch 2.9+cu130",
    "driver-not-passed-in": "$ singularity run solver.sif\nCUDA driver version is insufficient for "
    "CUDA runtime version",
    "no-driver-for-gpu": "GTX 560 Ti: CUDA driver version is insufficient for CUDA runtime version",
    "cutlass-for-newer-gpus": "Attempting to use SM89_16x8x32_F32E4M3E4M3F32_TN without "
    "CUTE_ARCH_MMA_F16_SM89_ENABLED",
    "feature-above-gpu-in-triton": "RuntimeError: Internal Triton PTX codegen error:\n"
    "ptxas /tmp/compile-ptx-src-9e79cc, line 59; error   : Feature '.bf16' requires .target sm_80 "
    "or higher",
    "libdevice-not-linked": "ptxas fatal   : Unresolved extern function '__nv_expf'",
    "host-math-in-device-code": "ptxas fatal   : Unresolved extern function '_Z3powdi'",
    "tensorflow-without-old-gpus": "NVIDIA GeForce GTX 960\n'cuLaunchKernel(function, gridX)' "
    "failed with 'CUDA_ERROR_INVALID_HANDLE'",
    "cudart-not-loaded": "ImportError: /x/gpu_nms.so: undefined symbol: __cudaRegisterFatBinaryEnd",
    "host-archive-skipped": "nvlink warning : Skipping incompatible '/usr/lib/libdl.a' when "
    "searching for -ldl",
    "visual-studio-newer-than-clang": "CUDA: static assertion failed: error STL1000: Unexpected "
    "compiler version, expected Clang 17.0.0 or newer.",
    "name-not-in-cccl": 'Cuda compilation tools, release 11.4, V11.4.48\nerror: namespace "cub" '
    'has no member "BlockReduceX"',
    "cuda-module-shadowed": "ImportError: cannot import name 'cuda' from 'cuda' (/home/me/cuda.py)",
    "removed-from-tensorrt-8": "AttributeError: 'tensorrt.tensorrt.Builder' object has no "
    "attribute 'max_workspace_size'",
    "half-operators-switched-off": "nvcc -D__CUDA_NO_HALF_OPERATORS__ x.cu\nx.cu(7): error: no "
    'operator "+" matches these operands operand types are: __half + __half',
    "xformers-does-not-load": "xFormers was built for: PyTorch 2.1.2+cu121 with CUDA 1201 (you "
    "have 2.1.2+cu121) Python 3.10.13 (you have 3.10.6)",
    "packages-of-two-cudas": "RuntimeError: Detected that PyTorch and torchvision were compiled "
    "with different CUDA major versions.",
    "nvenc-missing-on-gpu": "NVIDIA H100\n[h264_nvenc @ 0x55] OpenEncodeSessionEx failed: "
    "unsupported device (2): (no details)",
    "conda-lists-driver-and-need": "  - feature:/linux-64::__cuda==11.4=0\n  - cudatoolkit=12.1 "
    "-> __cuda[version='>=12.1']",
    "cuda-unknown-error-on-windows": "Windows 11\nCUDA_ERROR_UNKNOWN: unknown error",
    "driver-refused-by-secure-boot": "modprobe: ERROR: could not insert 'nvidia': Key was rejected "
    "by service",
    "docker-desktop-without-gpu": "Docker Desktop 4.30\ndocker: Error response from daemon: could "
    'not select device driver "" with capabilities: [[gpu]].',
    "dlib-without-host-compiler": "DISABLING CUDA SUPPORT: CUDA was found but your compiler failed "
    "to compile a simple CUDA program so dlib isn't going to use CUDA.",
    "faiss-without-gpu": "AttributeError: module 'faiss' has no attribute 'StandardGpuResources'",
    "gpu-hidden-from-process": "CUDA_VISIBLE_DEVICES=3 python x.py\nRuntimeError: No CUDA GPUs are "
    "available",
    "cutlass-above-gpu": "Tesla T4\nAttempting to use SM80_16x8x16_F32F16F16F32_TN without "
    "CUTE_ARCH_MMA_SM80_ENABLED",
    "loaded-library-of-another-release": "Could not load library libcudnn_cnn_infer.so.8. Error: "
    "/opt/cuda-8.0/lib64/libnvrtc.so: undefined symbol: nvrtcGetCUBIN",
    "mig-without-instances": "No CUDA GPUs are available\n|  No MIG devices found  |",
    "cuda-function-missing": "ImportError: /x/ops.so: undefined symbol: cudaMallocAsync",
    "bitsandbytes-without-arch": "Error named symbol not found at line 62 in file /src/csrc/ops.cu",
    "library-older-than-gpu": "torch 1.7.1+cu102, RTX 3090\nCUBLAS_STATUS_EXECUTION_FAILED",
    "wheel-takes-another-library": "file=libnvJitLink.so.12 [0];  needed by /x/site-packages/"
    "nvidia/cusparse/lib/libcusparse.so.12 [0]\n7: search path=/y/lib64 (LD_LIBRARY_PATH)\n"
    "7:  trying file=/y/lib64/libnvJitLink.so.12\n7:\n"
    "7: file=libnvJitLink.so.12 [0];  generating link map",
    "object-after-cudadevrt": "nvlink fatal   : unexpected object after cudadevrt",
    "openmp-device-runtime": "nvlink error   : Undefined reference to '__kmpc_kernel_parallel' in "
    "'/tmp/saxpy-0c5610.cubin'",
    "cub-and-thrust-differ": "config.h:78:2: error: #error The version of CUB in your include path "
    "is not compatible with this release of Thrust.",
    "java-without-cuda": "java.lang.UnsatisfiedLinkError: no JCudaDriver-11.1.1-windows-x86_64 in "
    "java.library.path: [C:\\WINDOWS\\system32]",
    "nvjitlink-version-node": "/x/libnvJitLink.so.12: version `libnvJitLink.so.12' not found "
    "(required by /x/libcusparse.so.12)",
    "driver-library-missing": "ImportError: libcuda.so.1: cannot open shared object file: No such "
    "file or directory",
    "ltoir-bitcode": "error: Invalid bitcode version (Producer: 'LLVM20.0.0' Reader: 'LLVM 7.0.1')",
    "cufft-callback": "cuFFT: this plan does not support LTO callbacks",
    "cufft-without-lto-callbacks": "error: cuFFT LTO callbacks not supported",
    "xformers-beside-rocm-pytorch": "xFormers wasn't build with CUDA support\ntorch 2.4.1+rocm6.1",
    "arch-unknown": "nvcc fatal   : Unsupported gpu architecture 'compute_92'",
    "linker-too-old-for-arch": "nvlink fatal   : Value 'sm_121' is not defined for option 'arch'",
    "changed-in-cuda-13": 'a.cu(5): error: no suitable constructor exists to convert from "int" to '
    '"cudaMemLocation"',
    "driver-not-loaded": "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA "
    "driver. Make sure that the latest NVIDIA driver is installed and running.",
    "jax-older-library": "RuntimeError: Outdated cuSPARSE installation found.\n"
    "Version JAX was built against: 12508",
    "host-headers": "/usr/include/c++/13/x.h:435: error: parameter packs not expanded with '...'",
    "headers-of-glibc-2.41": "/usr/include/bits/mathcalls.h(79): error: exception specification is "
    'incompatible with that of previous function "cospi"',
    "extension-without-dll": "ImportError: DLL load failed while importing flash_attn_2_cuda",
    "image-invalid-new-driver": "Driver Version: 570.26\n"
    "CUDA error: device kernel image is invalid",
    "container-ldconfig": "nvidia-container-cli: ldcache error: open failed: /sbin/ldconfig.real: "
    "no such file or directory: unknown",
    "kubernetes-runtime-unknown": 'rpc error: no runtime for "nvidia" is configured',
    "kubernetes-without-gpu": "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
    "container-nv-files": "WARNING: Could not find any nv files on this host!",
    "video-library-missing": "[hevc_cuvid @ 0x55] Cannot load libnvcuvid.so.1",
    "triton-without-libcuda": "AssertionError: libcuda.so cannot found!",
    "cudnn-parts-differ": "RuntimeError: cuDNN error: CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED",
    "libdevice-missing": "libdevice not found at ./libdevice.10.bc",
    "cupy-twice": "CuPy may not function correctly because multiple CuPy packages are installed",
    "cmake-findcuda-removed": 'By not providing "FindCUDA.cmake" in CMAKE_MODULE_PATH this project',
    "cmake-older-than-toolkit": "they are set to NOTFOUND.\nCUDA_cublas_device_LIBRARY (ADVANCED)",
    "cmake-target-missing": 'Target "x" links to: CUDA::cublas but the target was not found.',
    "cutlass-without-suffix": "ERROR : Arch conditional MMA instruction used without "
    "targeting sm90a compute capability. Aborting.",
    "visual-studio-without-cuda": "error MSB4019: The imported project "
    '"C:\\BuildCustomizations\\CUDA 11.8.props" was not found.',
    "cuda-language-unknown": 'Target "x" requires the language dialect "CUDA17" (with compiler '
    "extensions), but CMake does not know the compile flags to use to enable it.",
    "cudnn-header-missing": "a.cpp:3:10: fatal error: cudnn.h: No such file or directory",
    "host-compiler-missing": "nvcc fatal   : Cannot find compiler 'g++-11' in PATH",
    "hashcat-without-nvrtc": "Failed to initialize NVIDIA RTC library.",
    "dll-of-another-pytorch": "OSError: [WinError 127] The specified procedure could not be found. "
    'Error loading "C:\\x\\torch\\lib\\nvfuser_codegen.dll" or one of its dependencies.',
    "jax-plugin-of-another-release": "JAX plugin jax_cuda12_plugin version 0.4.30 is installed, "
    "but it is not compatible with the installed jaxlib version 0.4.26, so it will not be used.",
    "pip-without-cuda-build": "ERROR: No matching distribution found for torch==1.7.1+cu110",
    "pip-without-nvidia-wheel": "ERROR: No matching distribution found for "
    "nvidia-cublas-cu12==12.1.3.1",
    "llama-cpp-without-arch": "ERROR: CUDA kernel mul_mat_vec_q has no device code compatible with "
    "CUDA arch 520. ggml-cuda.cu was compiled for: 600,700",
    "tensorflow-without-arch": "'cuLaunchKernel(function, gridX)' failed with "
    "'CUDA_ERROR_INVALID_HANDLE'",
    "arch-deprecated": "nvcc warning : The 'compute_35' and 'sm_35' architectures are deprecated, "
    "and may be removed in a future release",
    "warp-functions-without-sync": 'a.cu(3): error: identifier "__shfl_down" is undefined',
    "atomic-of-newer-gpus": 'error: no instance of overloaded function "atomicAdd" matches the '
    "argument list argument types are: (double *, double)",
    "toolkit-incomplete": "nvcc fatal   : Path to libdevice library not specified",
    "gpu-not-of-this-driver": "NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:2684)\n"
    "NVRM: installed in this system is not supported by the\nNVRM: NVIDIA 515.65.01 driver",
    "nvml-older-than-program": "pynvml.NVMLError_FunctionNotFound: Function Not Found",
    "container-has-driver-files": "nvidia-container-cli: mount error: file creation failed: "
    "/var/lib/docker/overlay2/x/merged/usr/bin/nvidia-smi: file exists",
    "container-cgroup": "nvidia-container-cli: container error: cgroup subsystem devices not found",
    "docker-before-gpus": "unknown flag: --gpus",
    "pytorch-without-nccl": "RuntimeError: Distributed package doesn't have NCCL built in",
    "two-releases-linked": "/usr/bin/ld: warning: libcudart.so.11.0, needed by libfoo.so, may "
    "conflict with libcudart.so.12",
    "host-compiler-out-of-range": "RuntimeError: The current installed version of g++ (13.2.0) is "
    "greater than the maximum required version by CUDA 12.1. Please make sure to use an adequate "
    "version of g++ (>=6.0.0, <=12.0).",
    "header-of-newer-cuda": "fatal error: cuda_fp8.h: No such file or directory",
    "bazel-toolkit": "Could not find any cudnn.h matching version '8' in any subdirectory:",
    "extension-beside-cpu-pytorch": "OSError: libc10_cuda.so: cannot open shared object file: No "
    "such file or directory",
    "numba-newer-than-driver": "CudaDriverError: driver missing function: cuStreamBeginCapture",
    "debugger-back-end-missing": "Could not find CUDA Debugger back-end. Please try "
    "upgrading/re-installing the GPU driver",
    "tensorflow-of-cuda-9.0": "ImportError: libcublas.so.9.0: cannot open shared object file: No "
    "such file or directory\nFailed to load the native TensorFlow runtime.",
    "extension-of-another-pytorch-on-windows": "OSError: [WinError 127] The specified procedure "
    "could not be found: C:\\x\\Lib\\site-packages\\torchaudio\\lib\\libtorchaudio.pyd",
    "gromacs-without-arch": "compiled for a different architecture (compute cap.: 3.5); recompile "
    "with correct GMX_CUDA_TARGET_SM",
    "attention-kernel-for-others": "FATAL: kernel `fmha_cutlassF_f16_aligned_64x64_rf_sm80` is for "
    "sm80-sm100, but was built for sm37",
    "driver-is-new-enough": "NVIDIA-SMI 550.54.15   Driver Version: 550.54.15   CUDA Version: 12.4"
    "\nCuda compilation tools, release 12.1, V12.1.105\ncudaGetDeviceCount returned 35",
    "ltoir-refused-after-optimisation": "ERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX (ltoPtx)",
    "elflink-cubin": "nvlink error   : elfLink error cubin not relocatable",
    "nvhpc-without-toolkit": "nvc-Error-A CUDA toolkit matching the current driver version (0) or "
    "a supported older version (10.2) was not installed with this HPC SDK.",
    "dnf-without-cuda": "Error: Unable to find a match: cuda-toolkit-12-4",
    "backend-without-cudas-libraries": "load_backend: failed to load C:\\x\\ggml-cuda.dll",
    "poetry-without-nvidia-package": "Because torch (2.0.1) depends on nvidia-cublas-cu11 "
    "(11.10.3.66) which doesn't match any versions, version solving failed.",
    "openacc-for-another-gpu": "This file was compiled: -acc=gpu -gpu=cc70\nRebuild this file with "
    "-gpu=cc86 to use NVIDIA Tesla GPU 0",
    "gpu-needs-open-module": "NVRM: GPU 0000:01:00.0 installed in this system requires use of the "
    "NVIDIA open kernel modules.",
    "cccl-headers-not-searched": "fatal error: cuda/std/tuple: No such file or directory",
    "program-dll-of-another-cuda": "Unable to load DLL 'x64\\yolo_cpp_dll_gpu.dll': not found",
    "tensorrt-dll-missing": "ImportError: DLL load failed while importing tensorrt: The specified "
    "module could not be found.",
    "package-without-wheel-for-python": "ERROR: Package 'xformers' requires a different Python: "
    "3.13.1 not in '>=3.9,<3.13'",
    "apt-cuda-unmet": "The following packages have unmet dependencies:\n cuda-12-2 : Depends: "
    "cuda-runtime-12-2 (>= 12.2.0) but it is not going to be installed",
    "ptx-file-newer-than-driver": "cupy.cuda.function.Module.load_file\nCUDADriverError: "
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION: the provided PTX was compiled with an unsupported "
    "toolchain.",
    "glibc-too-new-for-nvcc": '/usr/include/bits/floatn.h(73): error: identifier "__float128" is '
    "undefined",
}


def speakers(table: str) -> dict[str, list[Speaker]]:
    return grouped((row.head, speaker(row)) for row in table_rows(table))


def ids(text: str) -> list[str]:
    return [entry.id for entry in explain(text)]


def stored_logs() -> Iterator[str]:
    """All that linkers and the driver wrote in trials that are kept."""
    for name in ("nvjitlink_logs", "link_answers", "loads"):
        yield from _logs(json.loads((DATA / f"{name}.json").read_text("utf-8")))


def _logs(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, below in value.items():
            if isinstance(below, str) and key == "log":
                yield below
            else:
                yield from _logs(below)
    elif isinstance(value, list):
        for below in value:
            if isinstance(below, str):
                yield below
            else:
                yield from _logs(below)


LOGS = sorted(set(stored_logs()))
TEXTS = [
    *(row["text"] for row in COLLECTED),
    *(row["text"] for row in PASTES),
    *(message for rule in rules() for message in rule.messages),
    *(incident["text"] for incident in BUILT),
    *EXAMPLES.values(),
    *LOGS,
]


@functools.cache
def found_in(text: str) -> tuple[Match, ...]:
    """Several tests look at all of these texts, and what is found is always the same."""
    return tuple(matches(text))


def test_the_cause_of_messages_that_users_met_comes_first() -> None:
    wrong = []
    for row in COLLECTED:
        first = next((match.message for match in found_in(row["text"])), None)
        if first is None or (first.rule not in row["rules"] and first.name != row.get("cause")):
            wrong.append(row["id"])
    assert wrong == []  # a message that is missed stays in the list, and is named here
    assert (len(MESSAGES), len(HELD_OUT)) == (62, 98)
    assert sum(not row["known_miss"] for row in MESSAGES) >= 40


@every("row", PASTES)
def test_a_paste_gets_its_settled_cause_and_a_fix_with_its_values(row: dict[str, Any]) -> None:
    first = explain(row["text"])[0]
    assert first.id in row["rules"]
    assert [words for words in row["fix"] if words not in (first.fix or "")] == []


def cut(width: int) -> Callable[[str], str]:
    return lambda text: "\n".join(
        line[start : start + width]
        for line in text.splitlines()
        for start in range(0, max(len(line), 1), width)
    )


def boxed(text: str) -> str:
    edge = "─" * 78
    lines = [f"│ {line.ljust(76)} │" for line in cut(76)(text).splitlines()]
    return "\n".join([f"╭{edge}╮", *lines, f"╰{edge}╯"])


def each_line(before: str, after: str = "") -> Callable[[str], str]:
    return lambda text: "\n".join(f"{before}{line}{after}" for line in text.splitlines())


LONG = "a log of 1,200 lines"
DISGUISES: dict[str, Callable[[str], str]] = {
    "cut at 80 columns": cut(80),
    "cut at 100 columns": cut(100),
    "a box of rich": boxed,
    "Markdown": lambda text: each_line("> ")(re.sub(r"([_*`])", r"\\\1", text)),
    "HTML": lambda text: f"<pre>{html.escape(text)}</pre>".replace("\n", "<br>\n"),
    "JSON": lambda text: json.dumps({"log": text}),
    "colours": lambda text: re.sub("(error|fatal|CUDA)", "\x1b[01;31m\\1\x1b[m\x1b[K", text),
    "a container's log": each_line("2026-11-25T17:00:01.123Z worker-1 | "),
    "a server's log": each_line("(EngineCore_0 pid=1234) ERROR 11-25 17:00:01 [core.py:708] "),
    "typographic quotes": lambda text: text.translate({0x27: 0x2019, 0x22: 0x201D}),
    LONG: lambda text: f"{NOISE * 150}\n{text}\n{NOISE * 150}",
}


DISGUISED = [row["text"] for row in (*COLLECTED, *PASTES)]


@every("name", DISGUISES)
def test_a_disguised_paste_keeps_its_answer(name: str) -> None:
    step = len(DISGUISES) * (8 if name == LONG else 1)  # which takes longer than all others
    texts = DISGUISED[list(DISGUISES).index(name) :: step]
    assert len(lost(name, texts)) <= 1, lost(name, texts)


@pytest.mark.nightly
@pytest.mark.parametrize("name", DISGUISES)
def test_98_of_100_pastes_keep_their_answer_in_any_disguise(name: str) -> None:
    assert len(lost(name, DISGUISED)) <= len(DISGUISED) // 50


def lost(name: str, texts: Sequence[str]) -> list[str]:
    """Return the texts whose answer is another in a disguise."""
    return [text for text in texts if found_rule(DISGUISES[name](text)) != found_rule(text)]


def found_rule(text: str) -> str | None:
    first = next(iter(found_in(text)), None)
    return None if first is None else first.message.rule


@every("row", UNRELATED)
def test_logs_that_have_nothing_to_do_with_it_get_no_rule(row: dict[str, Any]) -> None:
    with pytest.raises(Missing):
        explain(row["text"])


@every("incident", BUILT)
def test_the_text_of_an_incident_finds_its_rules_first(incident: dict[str, Any]) -> None:
    found = explain(incident["text"])
    first = {found[0].id, *found[0].also}
    assert first & set(incident["rules"])
    assert set(incident["rules"]) <= {each_entry.id for each_entry in found}


def test_every_incident_is_there_and_names_rules_that_exist_where_they_are_built() -> None:
    assert [incident["id"] for incident in INCIDENTS] == [
        f"I-{number:02}" for number in range(1, 53)
    ]
    for incident in BUILT:
        assert set(incident["rules"]) <= set(IDS)
    for incident in LATER:
        assert not set(incident["rules"]) & set(IDS), "it is built now"


# ---- What is said is in the text


def single_blanks(text: str) -> str:
    return " ".join(re.sub(r"^(?:[> \t]+|-{4,}$)", "", text, flags=re.MULTILINE).split())


@given(
    st.lists(
        st.sampled_from([*TEXTS, *(row["text"] for row in UNRELATED), NOISE])
        | st.text(max_size=40),
        max_size=4,
    ),
    st.integers(0, 60),
    st.sampled_from(["\n", "\n\n", " ", "\t", "\r\n", "\n> "]),
)
def test_what_is_quoted_is_a_line_of_the_text(parts: list[str], cut: int, glue: str) -> None:
    text = glue.join(parts)[cut:]
    lines = {line.strip() for line in text.splitlines()}
    for match in matches(text):
        assert match.line in lines
        assert match.found in single_blanks(text)
        assert match.found.split()[0] in match.line
        # What a pattern took from the text, tables aside, is there.
        for name in re.compile(pattern_of(match.message.pattern)).groupindex:
            value = match.values.get(name.rstrip("_"), "")
            assert value.replace(".", "") in text.replace(".", "")


@given(st.text(max_size=300))
def test_any_text_ends_in_rules_or_in_one_sentence(text: str) -> None:
    try:
        assert explain(text)
    except (Missing, UsageError) as error:
        assert "\n" not in str(error)  # noqa: PT017 - both ends are fine


def texts_of_rows() -> dict[str, str]:
    """A text of each message that was met."""
    return {match.message.name: text for text in TEXTS for match in found_in(text)}


def test_one_place_of_a_text_is_explained_once() -> None:
    for text in dict.fromkeys(texts_of_rows().values()):
        found = [match.message.rule for match in found_in(text)]
        log = f"{text}\n{text}"
        assert [match.message.rule for match in matches(log)] == found


# ---- The values decide


@every("row", sms())
@pytest.mark.parametrize(
    "text",
    [
        "nvcc fatal   : Unsupported gpu architecture 'compute_{0}'",
        "ptxas fatal   : Value 'sm_{0}' is not defined for option 'gpu-name'",
        "nvcc fatal   : Value 'sm_{0}' is not defined for option 'gpu-architecture'",
    ],
)
def test_an_architecture_is_too_new_or_dropped_as_the_tables_have_it(text: str, row: Any) -> None:  # noqa: ANN401 - a row of facts
    found = explain(text.format(row.number))[0]
    if (row.number == 101 and "gpu-name" not in text and "compute" in text) or row.number == 101:
        assert found.id == "SASS-05"
    elif row.last_toolkit is None:
        assert found.id == "BLD-07"
        assert f"CUDA supports from {row.first_toolkit} on" in (found.cause or "")
    else:
        assert found.id == "BLD-07"
        assert f"CUDA {row.last_toolkit} was the last" in (found.cause or "")


@pytest.mark.parametrize(
    ("gpu", "build", "index"),
    [
        ("RTX 5090", "cu124", "cu128"),
        ("RTX 5090", "cu128", None),
        ("RTX 5090", "cu130", None),
        ("GTX 1080", "cu128", "cu126"),
        ("GTX 1080", "cu126", None),
        ("GTX 760", "cu128", None),
    ],
)
def test_pytorchs_index_is_named_where_this_build_lacks_the_gpu(
    gpu: str, build: str, index: str | None
) -> None:
    """The RTX 50 begins with CUDA 12.8; PyTorch's last build with Pascal is that of 12.6."""
    error = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
    fix = explain(f"torch 2.9.0+{build}, NVIDIA GeForce {gpu}\n{error}")[0].fix or ""
    assert re.findall(r"pytorch\.org/whl/(\w+)", fix) == ([] if index is None else [index])


def test_a_place_of_joined_lines_leads_back_to_its_own_line() -> None:
    reading = Reading([("first ", 3), ("second", 7)])
    lines = [reading.line_of(place) for place in range(len(reading.flat))]
    assert lines == [3] * len("first ") + [7] * len("second")


@given(st.sampled_from(messages()), st.integers(40, 90), st.integers(0, 90))
def test_what_joined_lines_bring_stands_near_their_seams(
    message: Message, width: int, before: int
) -> None:
    text = "x" * before + " ".join(message.find) * 2
    lines = [text[start : start + width] for start in range(0, len(text), width)]
    readings = Paste("\n".join(lines)).readings
    index = Index(row.find for row in messages())
    near = set[int]().union(*(index.numbers(reading.own) for reading in readings))
    assert all(index.numbers(reading.flat) <= near for reading in readings)


# ---- Who speaks, and what is there


MISSING = "libcudnn.so.9: cannot open shared object file: No such file or directory"
MISSING_CUDART = "libcudart.so.%s: cannot open shared object file: No such file or directory"
TRACE = (
    "7: file=libcublasLt.so.12 [0];  needed by /x/site-packages/nvidia/cublas/lib/libcublas.so.12 "
    "[0]\n7: find library=libcublasLt.so.12 [0]; searching\n7:  search {}\n7:   trying "
    "file=/y/libcublasLt.so.12\n7:\n7: file=libcublasLt.so.12 [0];  generating link map"
)
NO_NVRTC = "nvrtc: error: invalid value for --gpu-architecture (-arch)"
NO_IMAGE = "no kernel image is available for execution on the device"


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        (TRACE.format("path=/y\t\t(LD_LIBRARY_PATH)"), "unset LD_LIBRARY_PATH "),
        (TRACE.format("cache=/etc/ld.so.cache"), "pip install nvidia-cublas-cu12, then export "),
        (f"x/site-packages/torch/nn/f.py\n{NO_NVRTC}\nRTX 5090", "pip install --force-reinstall"),
        (f"x/site-packages/torch/nn/f.py\n{NO_NVRTC}", "pip install --force-reinstall torch "),
        (f"numba/cuda/x.py\n{NO_NVRTC}\n4090, driver 550.54", "pip install -U 'numba-cuda[cu12]'"),
        (f"{NO_NVRTC}\nMy GPU is 4090", "PyTorch: pip install "),
        (f"ImportError: {MISSING_CUDART % '10.2'}", "conda install cudatoolkit=10.2, then export "),
        (f"ImportError: {MISSING_CUDART % '11.0'}", "pip install nvidia-cuda-runtime-cu11, then "),
        (f"$ python setup.py develop\n{MISSING_CUDART % '10.2'}", "Rebuild it for the installed "),
        ("Error 804: forward compatibility was attempted on non supported HW", "Update the driver"),
        ("NCCL WARN Cuda failure 'named symbol not found'", "If you built NCCL, build it again: "),
        ("/x/cuda/8.0/lib64/libnvrtc.so: undefined symbol: nvrtcGetCUBIN", "unset LD_LIBRARY_PATH"),
        ("libcuda.so: driver library failed to get device context 999", "sudo modprobe -r nvidia"),
        ("$ srun ./a\nno CUDA-capable device is detected", "Start it in a job with a GPU "),
        (
            "$ docker run x\nno CUDA-capable device is detected",
            "Start the container with the GPU: ",
        ),
        (
            "llama-server.exe: cublas64_12.dll was not found",
            "Unpack the release's archive of CUDA's libraries ",
        ),
        (f"CUDA kernel failed : {NO_IMAGE}", "Use a build with code for this GPU: FORCE_CUDA=1 "),
        (
            f"RuntimeError: CUDA error: {NO_IMAGE}\nRTX 3090",
            "Use a build with code for this GPU: pip install --force-reinstall torch ",
        ),
    ],
)
def test_the_first_advice_is_the_one_that_settled_such_threads(text: str, begins: str) -> None:
    assert (explain(text)[0].fix or "").startswith(begins)


@pytest.mark.parametrize(
    ("around", "words"),
    [
        (
            "{}\n$ find / -name 'libcudnn*'\n/opt/x/lib/libcudnn.so.9.1.0",
            "LD_LIBRARY_PATH=/opt/x/lib:",
        ),
        ("{}\nnvidia-cudnn-cu12==9.1.0.70", "import nvidia.cudnn as m"),
        (
            "{}\nlibcudnn.so.8 (libc6,x86-64) => /usr/lib/libcudnn.so.8",
            "pip install 'nvidia-cudnn-cu",
        ),
        ("onnxruntime: {}", "onnxruntime-gpu[cuda,cudnn]"),
        ("import jax\n{}\nDriver Version: 560.35.03", "'jax[cuda12]'"),
        (f"numba\n{'.' * 300}\ntorch/__init__.py\nImportError: {{}}", "torch --index-url"),
        (f"torch/__init__.py\n{'.' * 300}\nnumba/cuda: {{}}", "numba-cuda[cu12]"),
        ("torch/__init__.py\nvllm/x.py: {}", "uv pip install vllm"),
    ],
)
def test_the_fix_is_that_of_the_client_and_of_what_the_text_shows(around: str, words: str) -> None:
    first = explain(around.format(MISSING))[0]
    assert words in (first.fix or "")
    assert ("which the loader doesn't search" in (first.cause or "")) is (
        "LD_LIB" in words or "import" in words
    )


@pytest.mark.parametrize("builtins", ["11.2", "11.6", "11.7", "11.8", "12.0", "12.9", "13.0"])
def test_nvrtc_is_pinned_to_a_release_that_was_published(builtins: str) -> None:
    release = Release.parse(builtins)
    published = [
        package
        for name in ("nvidia-cuda-nvrtc-cu11", "nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc")
        for row in library_packages()[name]
        if Release.parse(row.first) <= release <= Release.parse(row.last)
        for package in [f"'{name}=={builtins}.*'"]
    ]
    text = f"nvrtc: error: failed to open libnvrtc-builtins.so.{builtins}"
    assert re.findall(r"'nvidia-cuda-nvrtc\S*'", explain(text)[0].fix or "") == published[:1]
    in_conda = explain(f"(base) conda activate x\n{text}")[0].fix or ""
    assert ("cudatoolkit=" in in_conda) == (release < Release(12, 0))


@pytest.mark.parametrize("escape", [str, lambda text: re.sub(r"([_*`])", r"\\\1", text)])
def test_backslashes_of_windows_and_of_markdown_are_told_apart(
    escape: Callable[[str], str],
) -> None:
    line = escape(r"Error: Could not find module 'C:\x\_ext\_b_c\cudart64_110.dll'")
    assert Paste(line).readings[0].flat.endswith(r"\x\_ext\_b_c\cudart64_110.dll'")


UNBOUNDED = re.compile(r"(?<!\\)[*+](?!\\)")
SPEAKERS = [
    row for name in ("clients", "apart") for rows in speakers(name).values() for row in rows
]


@pytest.mark.parametrize("folder", ["/x", f"/opt/{'a' * 90}", "/opt/site packages/of many words/x"])
def test_a_line_that_is_cut_keeps_the_symbol_at_its_end(folder: str) -> None:
    line = f"ImportError: {folder}/_C.abi3.so: undefined symbol: _ZN3c104cuda9SetDeviceEi"
    for most in range(50, 160):
        quoted = excerpt(line, line.index("undefined"), most)
        assert quoted.endswith("undefined symbol: _ZN3c104cuda9SetDeviceEi")
        assert len(quoted) <= most


@pytest.mark.parametrize(
    ("lines", "kept"),
    [
        ("nvidia-cublas-cu12==12.4.5", None),
        ("nvidia-cublas-cu12==12.4.5 nvidia-cublas-cu12==12.4.5", None),
        ("nvidia-cublas-cu12==12.4.5 nvidia-cublas-cu13==13.0.1", "nvidia-cublas-cu13"),
    ],
)
def test_a_library_is_there_twice_in_packages_of_two_majors(lines: str, kept: str | None) -> None:
    values = {"file": "libcublas.so.12", "file_package": "nvidia-cublas-cu12"}
    found = shown(lines, values | {"package_folder": "nvidia/cublas/lib"})
    assert found.get("kept") == kept
    assert ("twice" in found) == (kept is not None)


def test_what_clients_say_is_used() -> None:
    sentences = [(row.fix, row.check) for row in messages()] + [
        [*row.says.values()] for row in SPEAKERS
    ]
    used = {name for row in sentences for text in row for name in re.findall(r"\{(\w+)\}", text)}
    said = {name.partition("-")[0] for row in SPEAKERS for name in row.says}
    asked_otherwise = {"advice", "perhaps", "toolkit", "runtime", "elsewhere", "fixed_driver"}
    assert said - asked_otherwise <= used


# A line of each ecosystem, and what a fix says there of the GPU sm_86 and of CUDA 12.2.
ECOSYSTEMS = {
    "Rust": ("error: cargo build --release failed", "CUDA_COMPUTE_CAP=86", "cuda-12.2"),
    "EasyBuild": ("== building, see the log of easybuild", "capabilities=8.6", "12.2"),
    "HPC SDK": ("nvfortran -acc solver.f90", "-gpu=cc86", "-gpu=cuda12.2"),
    "Bazel": ("bazel build //solver", "CAPABILITIES=sm_86", "12.2"),
    "PyTorch": ("File setup.py, line 3, in CUDAExtension", "TORCH_CUDA_ARCH_LIST=8.6", "12.2"),
    "CMake": (
        "-- Build files written; see CMakeLists.txt",
        "ARCHITECTURES=86",
        "cuda-12.2/bin/nvcc",
    ),
    "Make": ("make: *** [Makefile:10: solver] Error 1", "compute_86", "cuda-12.2"),
    "Python": ('File "/x/site-packages/unheard/a/b.so"', "--no-binary :all: unheard", "12.2"),
    "anywhere": ("./solver", "-DCMAKE_CUDA_ARCHITECTURES=86", "12.2"),
}


@pytest.mark.parametrize("name", ECOSYSTEMS)
def test_a_program_that_nobody_knows_gets_its_ecosystems_line_with_the_values(name: str) -> None:
    line, gpu, release = ECOSYSTEMS[name]
    machine = f"{line}\nNVIDIA A10, Driver Version: 535.104.05   CUDA Version: 12.2\n"
    for error, words in (
        ("no kernel image is available for execution on the device", gpu),
        ("the provided PTX was compiled with an unsupported toolchain.", release),
    ):
        fix = explain(f"{machine}CUDA error: {error}")[0].fix or ""
        assert words in fix
        assert not re.search(r"\bX\.?Y\b|XYZ|PACKAGE", fix)


@pytest.mark.parametrize(
    ("text", "named", "never"),
    [
        (
            "openmm: cudaErrorInsufficientDriver\nDriver Version: 390.48  CUDA Version: 9.1",
            "'cuda-version=9.2'",
            "cuda-version=9.1",
        ),
        (
            "nvcc: release 10.2, V10.2.89\nsh: cicc: not found",
            "CUDA 10.2 from developer.nvidia.com",
            "cuda-nvcc=10.2",
        ),
        (
            "requires use of the NVIDIA open kernel modules.\nDriver Version: 470.256.02",
            "nvidia-driver-570-open",
            "470-open",
        ),
        (
            "CUDA_ERROR_SYSTEM_NOT_READY\nDriver Version: 440.64.00",
            "datacenter-gpu-manager-fabricmanager",
            "nvidia-fabricmanager-440",
        ),
    ],
)
def test_a_fix_names_no_package_older_than_the_first_of_its_kind(
    text: str, named: str, never: str
) -> None:
    fix = explain(text)[0].fix or ""
    assert named in fix
    assert never not in fix


@pytest.mark.parametrize(
    ("client", "command"),
    [
        ("EXLA.NIF", "mix deps"),
        ("jaxlib.xla_extension", "pip list"),
        ("conda list: jax", "conda list"),
    ],
)
def test_a_check_lists_the_packages_of_the_readers_own_ecosystem(client: str, command: str) -> None:
    assert explain(f"{client}\nUnable to load cuDNN. Is it installed?")[0].check == command


def test_an_error_that_only_rust_spells_keeps_the_machine_of_its_text() -> None:
    text = "panicked at 'called `Result::unwrap()` on an `Err` value: UnsupportedPtxVersion'"
    found = explain(f"{text}\nDriver Version: 525.105.17   CUDA Version: 12.0\nnvcc: 12.3")[0]
    assert "R545 or newer" in (found.fix or "")
    assert found.matched == "UnsupportedPtxVersion"


@pytest.mark.parametrize(
    ("around", "words"),
    [
        ("", "CUDA_HOME=/usr/local/cuda-11.8"),
        ("conda activate sim\n", "conda install -c nvidia cuda-toolkit=11.8"),
        ("module load GCC; sbatch job.sh\n", "module load CUDA/11.8"),
        ("FROM nvidia/cuda:11.1.1-devel-ubuntu20.04\n", "FROM nvidia/cuda:11.8.0-devel"),
        ("spack install amrex\n", "spack install cuda@11.8"),
        ("D:\\src> nmake\n", "winget install Nvidia.CUDA --version 11.8"),
    ],
)
def test_a_toolkit_is_brought_as_the_reader_brings_one(around: str, words: str) -> None:
    text = f"{around}nvcc fatal   : Unsupported gpu architecture 'compute_90'"
    assert words in (explain(text)[0].fix or "")


# ---- Values of a text, in each of their spellings

SPELLINGS = {
    ("driver", "535.104.05"): [
        "| NVIDIA-SMI 535.104.05   Driver Version: 535.104.05   CUDA Version: 12.2     |",
        "Nvidia driver version: 535.104.05",  # collect_env
        *("nvidia-smi: 535.104.05", "nvidia-smi says 535.104.05"),
        "- **NVIDIA Driver:** 535.104.05",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19",
        "driver 535.104.05, drivers 535.104.05, DRIVER_VERSION=535.104.05",
        "libcuda.so.535.104.05",
        "with the 535.104.05 driver",
    ],
    ("driver", "535"): [
        *("R535", "driver R535", "the 535 driver", "nvidia driver 535", "driver version is 535"),
        *("nvidia-driver-535", "nvidia-dkms-535", "nvidia-utils-535"),
    ],
    ("smi", "12.2"): [
        "| NVIDIA-SMI 535.104.05   Driver Version: 535.104.05   CUDA Version: 12.2     |",
        "CUDA Driver Version / Runtime Version          12.2 / 12.1",  # deviceQuery
        "CUDA Driver Version: 12.2",
        "DriverVersion: 12.2000",  # MATLAB
        "The NVIDIA driver on this system only supports up to CUDA 12.2.0.",  # CUDA.jl
        "- driver 535.104.5 for 12.2",  # CUDA.versioninfo()
    ],
    ("gpu_sm", "86"): [
        *("GPU 0: NVIDIA A10 (UUID: GPU-1)", "GPU models and configuration: GPU 0: NVIDIA A10"),
        *("GeForce RTX 3090", "rtx3090", "RTX-3090", "nvidia 3090", "a 3090", "my gpu is 3090"),
        *("3080 Ti", "two 3090s", "dual 3090", "3090 GPU", "RTX A6000", "an A6000 GPU"),
        *(
            "compute capability 8.6",
            "Compute Capability: 8.6",
            "compute_cap 8.6",
            "capability v8.6.0",
        ),
        "CUDA Capability Major/Minor version number:    8.6",  # deviceQuery
        "ComputeCapability: '8.6'",  # MATLAB
        "(sm_86, 23.6 GiB / 24.0 GiB available)",  # CUDA.versioninfo()
        *("major: 8 minor: 6", "device capability (8, 6)", "cc 8.6", "CC 8.6", "sm_86 GPU"),
        *("ARCH: 86", "arch:86", "cuda_arch=86", "CUDA_CC=86"),
    ],
    ("gpu_sm", "21"): ["GTX 460", "compute capability 2.1", "arch:21"],
    ("gpu_sms", "61;86"): ["a 1080 Ti and a 3090", "GTX 1080 Ti, RTX 3090"],
    ("gpu_sms", "89;90"): ["the new H20 nodes, but it works on the L40S pool"],
    ("gpu_sm", "75"): ["error 209 on T4", "on a T4", "on the T4s", "our T4 nodes", "the T4 pool"],
    ("gpu_sm", "89"): ["it fails on L4", "an L4 machine", "on the L40"],
    ("nvjitlink", "12.9"): [
        *("nvidia-nvjitlink-cu12    12.9.86", "nvJitLink 12.9", "nvjitlink=12.9.86"),
        *("nvJitLink version: 12.9", "with nvJitLink v12.9"),
    ],
    ("nvcc", "12.2"): [
        *("Cuda compilation tools, release 12.2, V12.2.140", "nvcc 12.2", "nvcc version: 12.2"),
        *("V12.2.140", "/usr/local/cuda-12.2/bin/nvcc", "Build cuda_12.2.r12.2/compiler.1"),
        "The CUDA compiler identification is NVIDIA 12.2.140",
    ],
    ("toolkit", "12.2"): [
        *("CUDA toolkit 12.2", "CUDA Toolkit (VERSION 12.2)", "ToolkitVersion: 12.2000"),
        *("cuda/12.2", "CUDA/12.2.0", "cuda@12.2.0", "nvidia/cuda:12.2.0-devel-ubuntu22.04"),
        'Found CUDAToolkit: /usr/local/cuda/include (found version "12.2.140")',
        "CUDA runtime version: 12.2.140",  # collect_env
    ],
    ("said", "12.2"): [
        *("CUDA 12.2", "cuda 12.2", "CUDA version: 12.2", "CUDA Version 12.2", "cuda12.2"),
        *("CUDA v12.2", "CUDA-12.2", "cuda_12.2"),
    ],
    ("torch", "12.1"): [
        *("torch 2.1.0+cu121", "torch 2.1+cu121"),
        "torch-2.1.0+cu121",
        "CUDA used to build PyTorch: 12.1",
        "Torch 2.1.0+cu121",
        "torch2.1.0+cuda121",
        "Name: torch Version: 2.1.0+cu121 Name: torchvision Version: 0.20.1+cu124",  # pip show
        "PyTorch Version:** 2.1.0+cu121",
        "torch.version.cuda is `12.1`",
    ],
    ("torch_release", "2.1"): [
        *("torch version is `2.1.0`", "Torch 2.1.0+cu121", "PyTorch 2.1.2", "torch v2.1.0"),
        *("PyTorch   : 2.1, Python 3.12", "Torch 2.1 and CUDA 12.1"),
    ],
}
NO_VALUES = [
    *("needs R525 or newer", "requires R525", "driver 525 or newer", "CUDA 12.0 or newer"),
    *("needs nvJitLink 12.9", "nvJitLink 12.9 or newer", "nvidia-nvjitlink-cu12==12.9.86"),
    *("on A1", "on T4.2", "Table T4", "on H2/x"),
    *("step 3090 of 5000", "port 3090", "arch=compute_86", "1080p video", "cudatoolkit 11.7.1"),
]


def test_a_value_is_read_in_each_of_its_spellings() -> None:
    wrong = [
        (name, value, text)
        for (name, value), texts in SPELLINGS.items()
        for text in texts
        if evidence(single_blanks(f"Error: it failed. {text}. Then more")).get(name) != value
    ]
    assert wrong == []


@every("text", NO_VALUES)
def test_no_value_is_read_where_none_is_told(text: str) -> None:
    found = evidence(f"RuntimeError: it failed. {text} and more")
    assert not found.keys() & {
        *("driver", "smi", "gpu_sm", "gpu_sms", "nvcc", "toolkit", "said", "nvjitlink")
    }


# What a fix asks for where the text names none, and the value that takes its place.
ASKED = {
    r"\bNNN\b": (("driver",), "535.104.05"),
    r"cuXYZ|X\.Y\b[^;.]{0,60}?(?:driver's CUDA|nvidia-smi)": (("driver", "smi"), "12.2"),
    r"\bXY\b|_XY\b|X\.Y[^;.]{0,30}compute_cap": (("gpu_sm",), "86"),
    r"X\.Y\b[^;]{0,40}nvcc --version": (("nvcc",), "12.2"),
}


def test_no_row_asks_for_a_value_that_the_text_names_and_every_row_for_one_that_it_doesnt() -> None:
    asked = 0
    for number, (name, text) in enumerate(texts_of_rows().items()):
        before = explain(text)[0]
        for place, (kinds, value) in ASKED.items():
            if not re.search(place, before.fix or ""):
                continue
            asked += 1
            spelled = [s for kind in kinds for s in SPELLINGS.get((kind, value), [])]
            # A sign between them, for "my GPU is 1080" and "rtx3090" in one line are "1080 rtx".
            after = explain(f"{text}\n;\n{spelled[number % len(spelled)]}\n")[0]
            if after.id == before.id:
                assert not re.search(place, after.fix or ""), (name, after.fix)
    assert asked > 40


# A value of its own, which no text has a spelling for: the release of another program, or which of
# several is installed.
ASKS = {
    *("get_release of RAPIDS Accelerator for Spark", "get_library of RAPIDS Accelerator for Spark"),
    *("get_library of Deeplearning4j", "get_release of Deeplearning4j"),
    *("cuda-library-missing-on-windows", "nvhpc-without-toolkit"),
    *("luxcore-program-compilation", "conda-driver-too-old", "visual-studio-without-cuda"),
    *("jax-plugin-of-another-release", "configure-older-than-cuda", "r-torch-without-that-cuda"),
    *("vllm-of-another-major", "tensorrt-engine-of-trtexec"),
}


def test_every_sentence_has_a_place_for_each_value_that_it_asks_for() -> None:
    values = {"driver": "535.104.05", "smi": "12.2", "gpu": "A10", "gpu_sm": "86", "sm": "86"}
    told = derived({**values, **dict.fromkeys(("nvcc", "toolkit", "said", "torch"), "12.2")})
    told |= {"get_release": "-", "with_driver_cuda": "-", "gpu_sm_index": "cu124"}
    sentences = {
        f"{name} of {row.name}": text
        for rows in speakers("clients").values()
        for row in rows
        for name, text in row.says.items()
    } | {row.name: row.fix for row in messages()}
    asking = {
        name
        for name, text in sentences.items()
        if re.search(r"\bX\.YZ?\b|_XY\b|\bNNN\b|=XY\b|cuXYZ|\bXYZ\b", filled(text, told))
    }
    assert asking == ASKS


# ---- Lines of an ecosystem, told to its readers alone

LANGUAGES = {
    ".NET": "System.InvalidOperationException: x\n   at App.Main() in C:\\src\\Program.cs:line 20",
    "Java": 'Exception in thread "main" java.lang.Error\n\tat org.x.Main.main(Main.java:8)',
    "Node.js": "    at Object.<anonymous> (/app/node_modules/x/dist/index.js:44:16)",
    "Rust": "thread 'main' panicked at /home/u/.cargo/registry/src/x-0.1/build.rs:54:14:",
    "Go": "panic: x\n\tmain.go:12 +0x1d\n$ go run .",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_fix_has_lines_of_no_ecosystem_that_the_text_does_not_prove(language: str) -> None:
    ecosystems = speakers("clients")["ecosystem"]
    lines = {row.name: row.lines for row in ecosystems if row.name in {"Python", "conda"}}
    told = 0
    for name, text in texts_of_rows().items():
        proven = {row.name for row in ecosystems if re.search(row.find, text)}
        if proven & {"Python", "conda"}:
            continue
        first = explain(f"{LANGUAGES[language]}\n{text}\n{LANGUAGES[language]}")[0]
        said = f"{first.fix} {first.check}"
        assert not re.search("|".join(lines.values()), said), (name, said)
        assert not re.search(r"^[^\w#./-]|, ,|; ;|[:,;] ?\.$|\?(?!warp)", first.fix or "-"), (
            name,
            said,
        )
        told += 1
    assert told > 200


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("unset X, and pip install y, and its folder in X; or take B.", "unset X; or take B."),
        ("pip install y. Otherwise, z has to run; restart.", "z has to run; restart."),
        ("Update z, or pip install y (W: w); run v.", "Update z; run v."),
        (
            "Get it (pip install y; Ubuntu: sudo apt), then go on.",
            "Get it (Ubuntu: sudo apt), then go on.",
        ),
        ("pip install y, then export X=$(python -c 'f(1); g')/lib.", ""),
        ("See [[pip install {a}|export X={a}]].", "See export X=1."),
        ("Run pip install y; or take B.", "Take B."),
        ("run pip install y; or take B", "take B"),
        ("Run pip install y.", ""),
    ],
)
def test_a_clause_goes_with_what_it_goes_on_with(text: str, left: str) -> None:
    assert filled(text, {"a": "1"}, r"\bpip install|python -c") == left


# ---- Names and numbers alone


@pytest.mark.parametrize(
    ("text", "rule_id"),
    [
        ("CUDA error 209", "SASS-06"),
        ("cuInit returned 803", "CMP-03"),
        ("[804]", "CMP-02"),
        ("error code 222", "PTX-01"),
        ("209", "SASS-06"),
        (" 200\n", "FB-01"),
        ("35", "DRV-01"),
        ("98", "SASS-06"),
        ("cudaErrorNoKernelImageForDevice", "SASS-06"),
        ("cuda_error_invalid_ptx", "PTX-09"),
        ("cudaErrorInvalidPtx", "PTX-09"),
        ("CUDA_ERROR_STUB_LIBRARY", "ENV-04"),
        ("Error: Cuda(NoBinaryForGpu)", "SASS-06"),  # Rust, in an error that wraps it
        ("CudaError: InvalidPtx", "PTX-09"),
        ("Err(CudaError(StubLibrary))", "ENV-04"),
    ],
)
def test_a_number_or_a_name_is_enough(text: str, rule_id: str) -> None:
    found = explain(text)[0]
    assert found.id == rule_id
    assert found.line == text.strip()


ERRORS = [row for name in ("errors", "runtime_errors") for row in table(name)["error"]]


@every("row", ERRORS)
def test_a_name_without_a_rule_is_told_what_it_means(row: dict[str, Any]) -> None:
    assert row["name"] in {error.name for error in errors_called(str(row["number"]))}
    try:
        found = explain(row["name"])
    except Missing as error:
        assert row["text"] in str(error)  # noqa: PT017 - both ends are fine
    else:
        assert found[0].cause


def test_every_result_of_nvjitlink_and_nvptxcompiler_has_a_cause_or_leads_to_the_log() -> None:
    of_linker = [f"NVJITLINK_ERROR_{row['name']}" for row in table("nvjitlink_results")["result"]]
    of_libraries = [row["name"] for row in table("library_results")["error"]]
    for name in {*of_linker, *(name for name in of_libraries if name.startswith("NVPTX"))}:
        if not name.endswith("SUCCESS"):
            try:
                assert explain(name)[0].cause
            except Missing as error:
                # Without an architecture, nvJitLink's log stays empty.
                assert re.search("GetErrorLog|-arch=", str(error)), name  # noqa: PT017


# ---- No rule


@pytest.mark.parametrize("text", ["", "   \n"])
def test_nothing_to_explain_is_a_mistake_of_usage(text: str) -> None:
    with pytest.raises(UsageError, match="nothing to explain"):
        explain(text)


@pytest.mark.parametrize(
    "text",
    [
        "hello",
        "XYZ-99",
        "Segmentation fault (core dumped)",
        "make: *** [Makefile:12: all] Error 2",
        "ImportError: cannot import name 'foo' from 'bar'",
        "fatal error: zlib.h: No such file or directory",
        "CUDA error 700: an illegal memory access was encountered",
    ],
)
def test_a_text_that_no_rule_knows_is_missing(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", text]) == 4
    out, err = capsys.readouterr()
    assert out.startswith(("No rule knows ", f'"{text}" is not about compatibility: '))
    assert err == ""
    assert run(["explain", text, "--format", "json"]) == 4
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "missing"


def test_what_cuda_jl_tells_of_itself_is_answered_in_julia() -> None:
    text = (
        "ptxas fatal   : Value 'sm_70' is not defined for option 'gpu-name'\nCUDA toolchain: \n"
        "- runtime 13.0, artifact installation\n- driver 535.161.7 for 13.0\n"
    )
    (cause, *_) = explain(text)
    assert 'CUDA.set_runtime_version!(v"12.9"' in (cause.fix or "")


@needs_gcc
def test_a_package_that_lacks_other_libraries_is_not_the_cause(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both lack a dependency; only one of them needs what the text misses."""
    text = "RuntimeError: CuPy failed to load libnvrtc.so.12: OSError: libnvrtc.so.12: cannot open "
    for name, at_fault in (("libnvrtc.so.12", True), ("libcufft.so.11", False)):
        host = library(tmp_path, needs=[name])
        packed = str(wheel(tmp_path, {"libx/x.so": host}, [], name=f"of-{name[3:8]}"))
        smi = "| Driver Version: 580.65.06 CUDA Version: 13.0 | NVIDIA L4"
        run(["explain", f"{text}shared object file: No such file or directory\n{smi}", packed])
        assert ("File:" in capsys.readouterr().out) is at_fault


@every("rule_id", [rule.id for rule in explain_all() if rule.id[-1].isdigit()])
def test_an_id_has_many_spellings(rule_id: str) -> None:
    family, number = rule_id.split("-")
    for spelled in (f"{family}-{number.lstrip('0')}", f"{family}{number}", f"{family}_{number}"):
        for text in (spelled, spelled.lower()):
            assert [entry.id for entry in explain(text)] == [rule_id], text


def test_a_mistyped_rule_a_file_of_text_and_a_missing_file_get_a_next_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", "PTX-98"]) == 4
    assert capsys.readouterr().out.startswith('No rule knows "PTX-98" (did you mean PTX-')
    log = tmp_path / "build.log"
    log.write_text("error 222")
    assert run(["explain", str(log)]) == 2
    assert f"ltocompat explain - < {log}\n" in capsys.readouterr().err
    assert run(["explain", "error 222", "nowhere.whl"]) == 3
    assert "'nowhere.whl' can't be opened" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("make: *** [all] Error 2\na.c:3:1: error: expected ';'", "a.c:3:1: error: expected ';'"),
        ("the following failed:\n  zlib is unmet", "the following failed: zlib is unmet"),
        ("x" * 400 + " ValueError: too long", f"... {'x' * 25} ValueError: too long"),
        ("error: a " + "x" * 400 + " error: last", f"... {'x' * 29} error: last"),
        ("error: " + "seven76 " * 40, "error: " + "seven76 " * 18 + "..."),
        ("seven76 " * 40 + "error: last", "... " + "seven76 " * 3 + "error: last"),
    ],
)
def test_the_sentence_quotes_the_line_that_names_the_error(text: str, line: str) -> None:
    with pytest.raises(Missing) as error:
        explain(f"starting\n{text}\ndone\n")
    assert f'no rule knows "{line}"' in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cuda driver library init failure: 205", "(CUDA_ERROR|cudaError)[A-Za-z_]+, 205,"),
        ("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED", "failed, but not why. Usually"),
        ("cuda capability 12.1", "paste more of the log"),
        ("RuntimeError: HIP error: invalid device function", "AMD's HIP .* not to CUDA"),
        ("slurmd: gres/gpu count reported lower than configured (0 < 4)", "gres.conf"),
        ("CUDA_ERROR_MPS_SERVER_NOT_READY", "nvidia-cuda-mps-control -d"),
        ("ncclInvalidUsage\nDuplicate GPU detected : rank 1 and rank 0", "LOCAL_RANK"),
        ("Expected all tensors to be on the same device", "to one device"),
        ("nvidia-gridd: Failed to acquire license", "nvidia-gridd"),
        ("CUDA error: invalid device function\non gfx1100 with ROCm", "AMD's HIP"),
        ("Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.", "more of the log"),
    ],
)
def test_a_text_without_a_rule_still_gets_a_sentence(text: str, said: str) -> None:
    with pytest.raises(Missing, match=said):
        explain(text)


# ---- Rules by ID


@every("rule", rules())
def test_every_message_finds_its_rule(rule: Prose) -> None:
    for message in rule.messages:
        assert rule.id in ids(message)


def test_all_rules_are_listed_in_order() -> None:
    left_out = [*rules_left_out()]
    assert [entry.id for entry in explain_all()] == IDS + left_out


# ---- The table of messages


CUDA_RELEASES = [f"{r.cuda}" for r in facts_rows(HostCompilers)]
ARCHS = {row.number: row for row in sms() if row.number != RENAMED}


def fixes_with(values: dict[str, str]) -> list[str]:
    """All fixes, and all sentences of clients, as they read where a text has these values."""
    says = [
        words for of in speakers("clients").values() for row in of for words in row.says.values()
    ]
    known = derived(values)
    return [filled(words, known) for words in [*says, *(row.fix for row in messages())]]


@every("cuda", ["8.0", "10.1", "11.4", "12.2", "13.0"])
def test_no_fix_names_a_cupy_that_was_never_released(cuda: str) -> None:
    """CuPy's packages for CUDA 12 and 13 alone have the extra that brings CUDA."""
    fixes = fixes_with({"smi": cuda})
    named = {hit for fix in fixes for hit in re.findall(r"cupy-cuda(\d+)x\[ctk\]", fix)}
    assert named == {"12", "13"}


EARLIER = {row["linux"][:3]: Release.parse(row["cuda"]) for row in table("drivers")["earlier"]}


@every(
    "cuda",
    ["7000", "7050", "8000", "9000", "9010", "9020", "10000", "10010", "10020", "11040", "12000",
     "12020", "12080", "12090"],
)  # fmt: skip
def test_no_driver_is_told_that_the_driver_of_the_text_is_no_older_than(cuda: str) -> None:
    """PyTorch's error is about the major, which minor version compatibility doesn't cross.

    Before 11, there is none: the next driver is that of the next release.
    """
    text = f"RuntimeError: The NVIDIA driver on your system is too old (found version {cuda})."
    first = explain(text)[0]
    own = Release(int(cuda) // 1000, int(cuda) % 1000 // 10)
    floors = {f"{row.branch}": Release(row.major, 0) for row in facts_rows(MajorFloor)}
    (branch,) = re.findall(r"to R(\d{3}) or newer", first.fix or "")
    later = min(
        release
        for release in {*EARLIER.values(), *floors.values()}
        if release > Release(own.major, 99 if own.major > 10 else own.minor)
    )
    assert {**floors, **EARLIER}[branch] == later
    said = later if later.major < 11 else later.major
    assert f"uses CUDA {said} or newer" in (first.cause or "")


@every("gpu", ["GTX 1080", "V100", "GTX 960", "RTX 2080", "RTX 5090"])
@every("driver", ["11.8", "12.9", "13.0"])
def test_no_cupy_is_of_a_cuda_that_dropped_the_gpu(gpu: str, driver: str) -> None:
    """CUDA 13 begins with Turing (its release notes)."""
    smi = f"| NVIDIA-SMI 580.95.05  Driver Version: 580.95.05  CUDA Version: {driver} |"
    error = "CompileException: nvrtc: error: invalid value for --gpu-architecture (-arch)"
    fix = explain(f"{smi}\nNVIDIA GeForce {gpu}\ncupy.cuda.compiler.{error}")[0].fix or ""
    installed = re.sub(r"uninstall -y(?: cupy\S{0,12})+", "", fix)
    told = {int(hit) for hit in re.findall(r"cupy-cuda(\d\d)x", installed)}
    assert told
    assert "RTX" in gpu or max(told) <= 12


OF_LINUX = r"\bfind / |\| grep|(?<!\()python -c '|\b[A-Z_]{4,40}=\w+ pip |pip install (?:-U )?'"


def test_commands_for_windows_are_those_of_its_shell() -> None:
    """Its cmd has neither single quotes nor variables before a command, and no find and grep."""
    told = [
        match.told(match.message.fix + match.message.check)
        for text in TEXTS
        for match in found_in(text)
        if "Windows" in match.values["system"]
    ]
    assert len(told) > 50
    assert [words for words in told if re.search(OF_LINUX, words)] == []


NO_KERNEL = "CUDA error: no kernel image is available for execution on the device"
NO_SYMBOL = "undefined symbol: _ZN3c104impl8GPUTrace13gpuTraceStateE"
NO_LIBRARY = "libcudart.so.12: cannot open shared object file: No such file or directory"


@pytest.mark.parametrize(
    ("around", "text", "command"),
    [
        (
            "In [1]: import apex",
            NO_SYMBOL,
            "!git clone https://github.com/NVIDIA/apex && cd apex && A",
        ),
        ("In [1]: import sageattention", NO_KERNEL, "!TORCH_CUDA_ARCH_LIST=$("),
        (
            "In [1]: import faster_whisper",
            NO_LIBRARY,
            "!ldconfig $(python -c 'import nvidia.cublas",
        ),
        (
            "Dockerfile:9 apex",
            NO_SYMBOL,
            "RUN git clone https://github.com/NVIDIA/apex && cd apex && A",
        ),
        ("Dockerfile:9 sageattention", NO_KERNEL, "RUN TORCH_CUDA_ARCH_LIST=$("),
        ("Dockerfile:9 faster_whisper", NO_LIBRARY, "RUN python -c 'import nvidia.cublas as a"),
        ("C:\\x> sageattention", NO_KERNEL, "set TORCH_CUDA_ARCH_LIST=COMPUTE_CAPABILITY&& pip"),
        ("C:\\x> faster_whisper", NO_LIBRARY, "put the bin folders of these packages on PATH"),
        ("C:\\x> apex", NO_SYMBOL, "NEW\\Scripts\\pip install PACKAGE"),
    ],
)
def test_a_command_of_several_parts_is_typed_whole(around: str, text: str, command: str) -> None:
    """No part of it is typed on its own: 'cd apex && !X=1 pip', 'X=$(nvidia-smi) RUN pip'."""
    fix = explain(f"{around}\n{text}\n{around}")[0].fix or ""
    assert command in fix
    assert not re.search(r"[)&1] (?:[%!]|RUN )", fix)


NETWORK = [
    "Failed to establish a new connection: [Errno -3] Temporary failure in name resolution",
    "NewConnectionError: Failed to establish a new connection: [Errno 11001] getaddrinfo failed",
    "Failed to establish a new connection: [Errno 101] Network is unreachable",
    "ConnectTimeoutError(<connection>, 'Connection to download.pytorch.org timed out.')",
    "NameResolutionError: Failed to resolve 'pypi.org' ([Errno -2] Name or service not known)",
]
WANTED = ["torch==2.9.0+cu130", "torchvision==0.8.2+cu110", "cudf-cu12", "tensorrt", "xformers"]


@every("network", NETWORK)
@every("wanted", WANTED)
def test_pip_without_a_network_says_nothing_of_builds(network: str, wanted: str) -> None:
    text = f"WARNING: Retrying after connection broken by '{network}'\n"
    with pytest.raises(Missing, match="can't reach the server"):
        explain(f"{text}ERROR: No matching distribution found for {wanted}")


@every("words", ["gfx 1032", "gfx90a", "make LLAMA_HIPBLAS=1", "-DGGML_HIP=ON", "AMDGPU_TARGETS="])
@every("error", ["invalid device function", "no kernel image is available", "shared object file"])
def test_no_rule_claims_a_build_for_amd(words: str, error: str) -> None:
    with pytest.raises(Missing, match="AMD's HIP"):
        explain(f"{words}\nCUDA error: {error}")


@every("words", ["HIP_VISIBLE_DEVICES: HSA_OVERRIDE_GFX_VERSION: A:1", "GGML_HIP=OFF"])
def test_a_setting_of_another_vendor_that_is_empty_says_nothing(words: str) -> None:
    assert ids(f"{words}\nCUDA error: no kernel image is available")[0] == "SASS-06"


BESIDE = [
    "Make sure that the package matches with the version of CUDA or ROCm installed.",
    "(from versions: 2.9.0, 2.9.0+cu128, 2.9.0+cu130, 2.9.0+rocm6.4, 2.9.0+xpu)",
]


@every("words", BESIDE)
@every("error", ["libcudart.so.12: cannot open shared object file", "torch==2.9.0+cu120"])
def test_a_list_of_all_vendors_names_none(words: str, error: str) -> None:
    assert not of_another_vendor(f"{error} {words}")


@every("cuda", ["", "7.5", "10.2", *CUDA_RELEASES])
@every("cmake", ["", "3.22", "3.24"])
def test_no_fix_says_native_to_a_tool_that_may_not_know_it(cuda: str, cmake: str) -> None:
    fixes = fixes_with({name: of for name, of in (("nvcc", cuda), ("cmake", cmake)) if of})
    known = bool(cuda) and Release.parse(cuda) >= Release(11, 6) and cmake != "3.22"
    assert any(re.search(r"=native\b", fix) for fix in fixes) is known


@given(
    st.sampled_from(sorted(ARCHS)),
    st.sampled_from(sorted(ARCHS)),
    st.sampled_from(CUDA_RELEASES),
    st.sampled_from(["gpu-architecture", "cpu-architecture"]),
    st.booleans(),
)
def test_an_architecture_is_too_new_or_dropped_by_the_toolkit(
    number: int, of_gpu: int, cuda: str, option: str, named: bool
) -> None:
    row, gpu, release = ARCHS[number], ARCHS[of_gpu], Release.parse(cuda)
    dropped = row.last_toolkit is not None and release > row.last_toolkit
    assume(dropped or release < row.first_toolkit)
    text = f"Cuda compilation tools, release {cuda}, V{cuda}.1\n"
    text += f"compute capability: {capability(of_gpu)}\n" * named
    text += f"nvcc fatal : Value 'sm_{number}' is not defined for option '{option}'"
    first = explain(text)[0]
    assert ("too old" in (first.cause or "")) is not dropped
    assert ("was the last" in (first.cause or "")) is dropped
    wanted = gpu if named else row
    for installed in re.findall(r"/usr/local/cuda-(\d+\.\d) ", first.fix or ""):
        assert wanted.first_toolkit <= Release.parse(installed)
        assert wanted.last_toolkit is None or Release.parse(installed) <= wanted.last_toolkit


@every("name", ["sm_20", "compute_21"])
def test_fermi_was_dropped_and_nothing_else(name: str) -> None:
    only = explain(f"nvcc fatal : Unsupported gpu architecture '{name}'")[0]
    assert "(Fermi)" in (only.cause or "")
    assert "CUDA 8.0 was the last" in (only.cause or "")


def test_a_cure_that_the_paste_has_is_not_repeated_without_what_overrides_it() -> None:
    error = "OpenCV was not built to work with the selected device"
    first = explain(f"{error}\ncmake -DCUDA_ARCH_BIN=7.5 -DCUDA_GENERATION=Pascal ..")[0]
    assert "CUDA_GENERATION=Pascal overrides" in (first.cause or "")
    assert "-DCUDA_GENERATION= " in (first.fix or "")


@every("gpu", ["GTX 560 Ti", "NVS 315", "GeForce GTX 480"])
def test_no_driver_is_offered_for_a_gpu_that_has_none(gpu: str) -> None:
    error = "CUDA driver version is insufficient for CUDA runtime version"
    assert "driver" not in (explain(f"{gpu}: {error}")[0].fix or "")


@every("name", ["GTX 1070", "nvidia 1070 gpu", "1070 gtx", "gtx1070", "Nvidia GeForce gtx 1070"])
def test_a_gpu_is_read_in_other_orders_and_cases(name: str) -> None:
    assert "sm_61" in (explain(f"{name}\nError: invalid device function 8")[0].fix or "")


def test_what_is_only_a_warning_never_outranks_an_error() -> None:
    """JAX warns of its ptxas, and then cuda-compat ends it."""
    error = (
        "failed call to cuInit: CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE: forward compatibility"
    )
    firsts = {found[0].message.name: text for text in TEXTS if (found := [*found_in(text)])}
    rows_of_warnings = [row.name for row in messages() if "is only a warning" in row.cause]
    assert len(rows_of_warnings) > 5
    for name in rows_of_warnings:
        for lines in ((firsts[name], error), (error, firsts[name])):
            rules = [match.message.rule for match in found_in("\n".join(lines))]
            assert rules[0] == "CMP-02", (name, rules)


def test_every_row_is_the_first_that_fits_some_text() -> None:
    reached = {match.message.name for text in TEXTS for match in found_in(text)}
    names = [row.name for row in messages()]
    assert [name for name in names if name not in reached] == []
    assert len(names) == len({*names})  # of two rows with one name, one could hide the other


@every("row", messages())
def test_every_repetition_is_bounded_so_that_the_work_grows_with_the_text(row: Message) -> None:
    for text in (row.pattern, row.beside, row.unless):
        pattern = re.sub(r"\[(?:\\.|[^\]\\])+\]", "x", pattern_of(text))
        assert not UNBOUNDED.search(pattern)
        bounds = re.findall(r"\{(?:\d*,)?(\d*)\}", pattern)
        assert all(bound and int(bound) <= 300 for bound in bounds)
        assert len([bound for bound in bounds if int(bound) >= 60]) <= 4


@every("row", messages())
def test_a_match_is_no_longer_than_the_part_of_the_text_that_is_searched(row: Message) -> None:
    widest = _parser.parse(pattern_of(row.pattern)).getwidth()[1]
    assert widest + 64 <= row.reach  # 64: what stands before and behind it


def test_a_message_is_found_wherever_it_stands_in_a_log() -> None:
    for name, text in texts_of_rows().items():
        log = f"{NOISE}\n{text}\n{NOISE}"
        assert name in {match.message.name for match in matches(log)}


# What a trial's log says (trial/logs.py), and the rules that speak of it.
RULES_OF_REASONS = {
    "bad input": {"BLD-02", "BLD-08", "BLD-09", "FB-06", "IMG-01", "LTO-03", "LTO-14"},
    "bad ltoir": {"LTO-01"},
    "compression unreadable": {"FB-02"},
    "cubin format": {"BLD-02"},
    "cubin too new": {"BLD-02"},
    "duplicate symbol": {"BLD-09"},
    "instruction unsupported": {"LTO-04"},
    "lto not enabled": {"LTO-06", "BLD-05"},
    "ltoir arch too new": {"LTO-03"},
    "ltoir too new": {"LTO-01"},
    "ltoir too old": {"LTO-02"},
    "ltoir unreadable": {"IMG-01"},
    "no libnvvm": {"BLD-06"},
    "no ltoir": {"LTO-07"},
    "option unknown": {"NJL-05"},
    "options differ": {"LTO-12"},
    "ptx too new": {"PTX-02"},
    "target unsupported": {"LTO-15"},
    "unresolved": {"BLD-10", "PTX-09"},
    "wrong kind": {"FB-02"},
}


def test_every_log_of_a_trial_leads_back_to_its_rule() -> None:
    seen = set()
    for log in LOGS:
        reason = reason_of(log)
        if reason is None or "-nonsense" in log:  # an option that a test made up
            continue
        seen.add(reason.cause)
        found = explain(log)
        assert RULES_OF_REASONS[reason.cause] & {found[0].id, *found[0].also}, log
    assert len(seen) >= 15


def test_a_log_that_says_nothing_is_told_nothing() -> None:
    quiet = [log for log in LOGS if reason_of(log) is None and not found_in(log)]
    words = {re.sub(r"[^a-z]+", " ", log.lower()).strip()[:30] for log in quiet}
    known = ("nvvm ltoir container", "success", "info", "complete", "output", "add error")
    steps = {"add", "ended", ""}
    names = {"absent", "gone", "axpy", "saxpy", "missing", "nothing", "z fillpf"}
    assert {word for word in words - names - steps if not word.startswith(known)} == set()


# ---- How it is told

NARROW = Options(width=80)


def told(text: str) -> list[str]:
    written: list[str] = []

    class Stream:
        def write(self, words: str, /) -> None:
            written.append(words)

    write(REPORT, run_command(ExplainOptions(text)), Stream(), NARROW)
    return "".join(written).splitlines()


MOST_LINES = 13  # of 80 columns, the label's seven left blank in all but its first


@every("row", COLLECTED)
def test_an_answer_fits_thirteen_lines_of_a_narrow_terminal(row: dict[str, Any]) -> None:
    lines = told(row["text"])
    assert len(lines) <= MOST_LINES
    assert lines[0].startswith("> ")
    heads = [line.split()[0] for line in lines[1:] if line[:1].isupper()]
    assert heads[:4] == ["Cause:", "Fix:", "Check:", "Rule:"]
    quoted = lines[0].removeprefix("> ").removeprefix("... ").removesuffix(" ...")
    assert quoted.strip() in single_blanks(row["text"])


def test_every_answer_fits_and_leaves_no_place_open() -> None:
    for text in TEXTS:
        for match in found_in(text):
            row = match.message
            for sentence in (row.cause, row.fix, row.check):
                assert not re.search(
                    r"[{}]|\?(?!warp_size@)|\[\[|\]\]", filled(sentence, match.values)
                )
    for text in texts_of_rows().values():
        # A command is not broken, which may take one line more.
        assert len(told(text)) <= MOST_LINES + 1, text


NOT_OURS = {
    *("nvcc", "clang", "ptxas", "ncu", "nvidia-smi", "numba", "where", "cat", "docker", "python"),
    *("ldd", "find", "kubectl", "nvidia-container-cli", "conda", "uv", "pip", "julia", "ls"),
    *("tail", "dkms", "printenv", "ldconfig", "gcc", "grep", "cmake", "dnf", "poetry"),
    *("lspci", "uv", "nm", "dpkg", "nvaccelinfo", "mix", "cargo", "dotnet", "mvn", "npm", "go"),
    *(
        "apt-cache",
        "Rscript",
        "spack",
        "which",
        "podman",
        "nvidia-ctk",
        "zypper",
        "ffmpeg",
        "gst-inspect-1.0",
    ),
}


def test_every_command_that_is_told_can_be_pasted(tmp_path: Path) -> None:
    file = tmp_path / "FILE"
    file.touch()
    found = (match for text in TEXTS for match in found_in(text))
    checks = {filled(match.message.check, match.values) for match in found}
    for command in checks:
        program, *arguments = shlex.split(command)
        if Path(program).name in NOT_OURS:
            continue
        assert program == "ltocompat"
        verb, *rest = arguments
        if verb == "linkers":
            assert rest == ["list"]
            continue
        app.commands[verb].make_context(verb, list(rest))
        for option, value in pairwise(rest):
            if option == "--deploy-target":
                from ltocompat.targets import parse

                assert parse([value])


# ---- At places


def test_the_file_at_fault_is_named_with_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    text = "ptxas application ptx input: Unsupported .version 9.2; current version is '9.0'"
    new, old = SAMPLES / "fatbin/nvcc-13.2-none.fatbin", SAMPLES / "ptx/nvrtc-12.4-compute_80.ptx"
    assert run(["explain", text, str(old), str(new)]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("File:")]
    assert str(new) in line
    assert str(old) not in line
    assert "PTX 9.2 needs driver >= 595" in line
    failed = list[LtocompatError]()
    cause, *_ = explain(text, old, "nowhere.whl", new, on_error=failed.append)
    assert cause.at_fault[0].place.startswith(str(new))
    assert ["'nowhere.whl' can't be opened" in str(error) for error in failed] == [True]
    with pytest.raises(UnreadableInput):
        explain(text, "nowhere.whl")


def test_places_that_are_not_at_fault_are_said_to_be_so(capsys: pytest.CaptureFixture[str]) -> None:
    text = "A100 with CUDA capability sm_80 is not compatible with the current PyTorch"
    assert run(["explain", text, str(SAMPLES / "cubin/nvcc-13.0-sm_80.cubin")]) == 0
    out = capsys.readouterr()
    assert "File:" not in out.out
    assert "none of these files has the problem of SASS-06" in out.err


def test_the_nvjitlink_and_the_gpus_of_a_text_decide_which_file_is_at_fault(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ltoir = str(SAMPLES / "ltoir/nvrtc-13.0-lto_80.ltoir")
    assert run(["explain", "ERROR_OUTDATED_LIBRARY with nvJitLink 12.9", ltoir]) == 0
    told = capsys.readouterr().out
    assert "LTO-IR made by 13.0 needs nvJitLink >= 13.0" in told
    assert "The text names nvJitLink 12.9." in told
    assert run(["explain", "ERROR_OUTDATED_LIBRARY", ltoir]) == 0
    assert "depends on the nvJitLink, which the text doesn't name" in capsys.readouterr().err
    assert run(["explain", "ERROR_OUTDATED_LIBRARY with nvJitLink 13.0", ltoir]) == 0
    assert capsys.readouterr().err.endswith("has the problem of LTO-01\n")
    cubin = str(SAMPLES / "cubin/nvcc-13.0-sm_80.cubin")
    text = "no kernel image is available on the new H20 nodes, works on the A100 pool"
    assert run(["explain", text, cubin]) == 0
    out = capsys.readouterr()
    assert (out.err, "File:" in out.out) == ("", True)


@every(
    "text, says",
    [
        ("nvJitLinkCreate: NVJITLINK_ERROR_MISSING_ARCH", "-arch=sm_90"),
        ("nvJitLinkError: ERROR_UNRECOGNIZED_OPTION (1)", "usually because nvJitLink is too old"),
        ("unrecognized option: -split-compile=8", "usually because nvJitLink is too old"),
    ],
)
def test_what_nvjitlink_says_of_its_options_has_a_next_step(text: str, says: str) -> None:
    with pytest.raises(Missing, match=says):
        explain(text)


_TWICE = "nvlink info    : b.o: link error: Linking globals named 'f': symbol multiply defined!\n\n"
_UNRESOLVED = "ptxas fatal   : Unresolved extern function 'f'\n"


@every(
    "log, rules",
    [
        (
            f"{_TWICE}NVVM_ERROR_COMPILATION\nnvlink fatal   : elfLink JIT compile failed",
            {"BLD-09"},
        ),
        (f"{_UNRESOLVED}nvlink fatal   : elfLink fatbinary error", {"PTX-09"}),
        (f"{_UNRESOLVED}ERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX (ltoPtx)", {"PTX-09"}),
    ],
)
def test_a_linkers_last_line_adds_no_cause_to_the_line_that_names_the_symbol(
    log: str, rules: set[str]
) -> None:
    assert {cause.id for cause in explain(log) if cause.cause} == rules
    assert {cause.id for cause in explain(log)} <= rules | {"BLD-10"}


def test_an_old_driver_is_updated_to_the_major_of_pytorch() -> None:
    text = "CUDA error: device kernel image is invalid (driver {}, torch 2.9+cu130)"
    assert "to R580 or newer" in (explain(text.format("535.183.01"))[0].fix or "")
    cause = explain(text.format("580.95.05"))[0].cause or ""
    assert cause.startswith("Driver 580.95.05 can't read")


@every(
    "text",
    [
        "torch.cuda.is_available() returns False",
        "`torch.cuda.is_available()` returns `False` on our new node",
        "print(torch.cuda.is_available()) -> False",
    ],
)
def test_pytorch_that_sees_no_gpu_is_known_in_prose(text: str) -> None:
    assert explain(text)[0].id == "PKG-18"


def test_who_names_no_gpu_is_asked_for_it_before_a_file_is_cleared(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cubin = str(SAMPLES / "cubin/nvcc-13.0-sm_80.cubin")
    for text, asked in (("209", True), ("error 209 on A100", False)):
        assert run(["explain", text, cubin]) == 0
        err = capsys.readouterr().err
        assert ("depends on the GPU, which the text doesn't name" in err) == asked
    assert run(["explain", "error 209 on H100", cubin]) == 0
    assert f"File:  {cubin}" in capsys.readouterr().out


def test_a_compressed_file_is_at_fault_on_the_driver_of_the_log() -> None:
    text = "Driver Version: 535.113.01\nCUDA error: device kernel image is invalid"
    places = (
        str(SAMPLES / "fatbin/nvcc-13.0-balance.fatbin"),
        str(SAMPLES / "fatbin/nvcc-13.2-none.fatbin"),
    )
    (first, *_) = run_command(ExplainOptions(text, places=places))
    assert isinstance(first, Explained)
    fault = first.at_fault[0]
    assert fault.place.startswith(places[0])
    assert "550.54.14" in fault.reason


# ---- Fixes for the machine of the text

_SMI = "| NVIDIA-SMI {0}   Driver Version: {0}   CUDA Version: {1} |"
_DLL = 'OSError: [WinError 126] Error loading "C:\\torch\\lib\\caffe2_nvrtc.dll"'
_VLLM = "vllm: ImportError: libcudart.so.13: cannot open shared object file. torch 2.8.0+cu128"


@pytest.mark.parametrize(
    ("text", "begins", "without"),
    [
        ("Windows 11: Could not find cuda drivers on your machine", "Use WSL, since", "nvidia-smi"),
        (
            "Ubuntu: Could not find cuda drivers on your machine",
            "If nvidia-smi runs: pip",
            "WSL, since",
        ),
        (_DLL, "Install NVIDIA's driver and the Visual C++", "stays"),
        (f"{_DLL}\n{_SMI.format('552.44', '12.4')}", "Driver 552.44 stays. Install the", "nvcuda"),
        (_VLLM, "Install both for one CUDA, in a new environment. With driver R580", "For CUDA 12"),
    ],
)
def test_a_fix_begins_with_what_fits_the_machine(text: str, begins: str, without: str) -> None:
    fix = explain(text)[0].fix or ""
    assert fix.startswith(begins)
    assert without not in fix


@pytest.mark.parametrize("program", ["torch", "llama.cpp", "LightGBM", "ollama", "mmcv", "x"])
def test_a_sentence_on_a_program_without_cuda_has_one_colon(program: str) -> None:
    fix = explain(f"{program} was not compiled with CUDA")[0].fix or ""
    assert all(sentence.count(": ") < 2 for sentence in re.split(r"\. (?=[A-Z])", fix))


# ---- On this machine


def test_this_machine_stands_in_for_what_the_text_leaves_open(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = Environment(
        system=System("linux", "x86_64"),
        kernel_driver=KernelDriver(DriverVersion((550, 163, 1)), open=None, source="a test"),
        gpus=(LocalGpu("NVIDIA H100", SmArch(90), "a test"),),
    )
    monkeypatch.setattr("ltocompat.commands.env.probe", lambda _: machine)
    text = "/x/liby.so: PTX was compiled with an unsupported toolchain"
    assert run(["explain", "--here", text]) == 0
    out = capsys.readouterr().out
    assert "Here:  driver 550.163.01 (CUDA 12.4), NVIDIA H100 (sm_90)" in out
    assert "build for CUDA 12.4 or older" in out
    assert "ltocompat check /x/liby.so --deploy-target driver=550.163.01,gpu=sm_90" in out
    # What the text names goes first, and without --here no machine is looked at.
    (first, *_) = explain("Driver Version: 535.54\nCUDA error 222", here=True)
    assert first.values["driver"] == "535.54"
    assert explain("CUDA error 222")[0].here is None


# ---- Speed


def test_an_answer_imports_no_rules() -> None:
    program = (
        "import sys; from ltocompat.commands.explain import explain; explain('CUDA error 209'); "
        "print(*(name for name in sys.modules if name.startswith('ltocompat.rules.catalogue')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


TOPICS = {row.head: row.values() for row in table_rows("prose", "topics")}


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_is_a_guide_of_a_few_lines(topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    known = {rule.id for rule in rules()}
    text = TOPICS[topic]["text"].strip()
    assert known.issuperset(TOPICS[topic]["rules"])
    assert 3 <= len(text.splitlines()) <= 6
    assert run(["explain", topic]) == 0
    shown = capsys.readouterr().out
    assert text in shown
    assert f"guides/topics.html#{topic}" in shown


def test_a_command_in_a_topic_is_one() -> None:
    for topic, values in TOPICS.items():
        for verb in re.findall(r"ltocompat ([a-z]+)", values["text"]):
            assert verb in app.commands, topic


@pytest.mark.parametrize(
    ("typed", "topic"),
    [
        (["forward", "compatibility"], "forward-compatibility"),
        (["nvJitLink"], "nvjitlink"),
        (["LTO callbacks"], "lto-callbacks"),
        (["-dlto"], "dlto"),
        (["-dlto", "--full"], "dlto"),
        (["--", "-dlto"], "dlto"),
        (["-rdc=true"], "nvlink"),
        (["served"], "served"),
        (["Minor_Version compatibility"], "minor-version-compatibility"),
    ],
)
def test_a_topic_is_found_as_people_write_it(
    typed: list[str], topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", "--format", "json", *typed]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["rules"]
    assert (entry["id"], entry["built"]) == (topic, False)


def test_words_of_an_error_may_look_like_options(capsys: pytest.CaptureFixture[str]) -> None:
    typed = ["ld:", "cannot", "find", "-lcudart:", "No", "such", "file", "or", "directory"]
    assert run(["explain", *typed, "--format", "json"]) == 0
    (entry, *_) = json.loads(capsys.readouterr().out)["rules"]
    assert entry["line"] == " ".join(typed)
    assert run(["explain", "-dlto", "--no-such-option"]) == 2


def test_what_is_explained_can_be_in_a_set() -> None:
    assert len({*explain("209"), *explain("209")}) == len([*explain("209")])


OLD_NVCC = "nvcc fatal : Unsupported gpu architecture 'compute_30'"
NO_DRIVER = 'Unable to find cuda lib under the names ["cuda", "nvcuda"].'
NET = ["System.DllNotFoundException", "at A.B() in C.cs:line 3", "dotnet run"]
OLD_CMAKE = ["CMake 2.8.12", "cmake version 3.5.1", "cmake 3.13.0.", "CMake 3.17"]


@every("cmake", [*OLD_CMAKE, "cmake version 3.18.4", "CMake 3.22.1", "CMake 4.1.2"])
@every("client", ["", "colmap", "llama.cpp", "faiss"])
@every("gpu", ["", "GeForce GTX 1650"])
def test_a_cmake_is_told_only_what_it_knows(cmake: str, client: str, gpu: str) -> None:
    """CMAKE_CUDA_ARCHITECTURES is new in CMake 3.18."""
    for error in ("no kernel image is available for execution on the device", OLD_NVCC):
        text = f"{cmake}\n{client} {gpu}\nCMakeFiles/a.dir\n{error}"
        told = "CMAKE_CUDA_ARCHITECTURES" in (explain(text)[0].fix or "")
        assert not (told and cmake in OLD_CMAKE)
        assert told or cmake in OLD_CMAKE


@every("sm", [20, 30, 35])
@every("option", ["", "-arch=sm_{0} ", "-gencode arch=compute_{0},code=sm_{0} "])
def test_only_an_nvcc_that_chose_the_architecture_itself_is_older_than_its_ptxas(
    sm: int, option: str
) -> None:
    text = f"/usr/bin/nvcc {option.format(sm)}-x cu -c /a/main.cu -o main.o\n"
    text += f"ptxas fatal   : Value 'sm_{sm}' is not defined for option 'gpu-name'"
    assert ("one toolkit" in (explain(text)[0].fix or "")) is (not option)


@every("number", range(4, 10))
@every("words", [*NET, "Traceback (most recent call last): a.py", "a.exe"])
def test_cudnn_is_no_cublas_and_pip_is_for_python(number: int, words: str) -> None:
    text = f"{words}: Unable to load DLL 'cudnn64_{number}.dll': module not found"
    fix = explain(text)[0].fix or ""
    assert "cudnn-archive" in fix
    assert not (re.search(r"-cu1\d\b", fix) and (number < 8 or words in NET))


@every("python", ["Python 2.7.12", "/v/lib/python2.7/site-packages/x.py", "cp27"])
@every("client", ["cupy", "jaxlib", "numba", "import tensorflow as tf", "onnxruntime", "torch."])
@every("error", ["libcudart.so.12: cannot open shared object file", "error (209)", OLD_NVCC])
def test_python_2_gets_no_wheel_of_python_3(python: str, client: str, error: str) -> None:
    for found in explain(f"{python}\n{client}\nCUDA error: no kernel image is available\n{error}"):
        assert not re.search(r"-cu1\d|cupy-cuda1[123]x|\[cuda1|whl/cu|and-cuda", found.fix or "")


@every("says", ["OS: Windows", "### Operating systems\n\nWindows", "Operating System: windows 11"])
def test_a_form_that_names_windows_gets_its_commands(says: str) -> None:
    fix = explain(f"{says}\nnvcc fatal : Unsupported gpu architecture 'compute_120'")[0].fix or ""
    assert "winget" in fix
    assert not re.search(r"\bexport |sudo ", fix)


@every("error", ["libcuda.so.1: cannot open shared object file", "CUDA_ERROR_NO_DEVICE", NO_DRIVER])
@every("words", ["WSL2", "microsoft-standard-WSL2", "wsl --version"])
def test_the_library_of_windows_driver_comes_first_in_wsl(error: str, words: str) -> None:
    fix = explain(f"Linux 5.15 {words}\n{error}")[0].fix or ""
    assert "export LD_LIBRARY_PATH=/usr/lib/wsl/lib:$LD_LIBRARY_PATH" in fix.split(". ")[0]


@every("lies", ["is in", "is located in", "exists in", "are in the folder", "was found in"])
@every("quote", ["", '"', "`", "'"])
@every("file", ["libnvrtc.so.12", "libcudart.so.11.0", "libcublas.so.12"])
def test_a_folder_that_people_name_in_words_is_read(lies: str, quote: str, file: str) -> None:
    text = f"{file}: cannot open shared object file\nThe {file} {lies} {quote}/opt/a b/x{quote} "
    for folder in ("/opt/envs/py311/lib", "/usr/lib64", "/a"):
        fix = explain(text.replace("/opt/a b/x", folder))[0].fix or ""
        assert f"LD_LIBRARY_PATH={folder}:" in fix


BUILDS = [
    "open-gpu-kernel-modules-570.1.2",
    "I rebooted, still the same",
    "built modules",
    "on Bazzite",
    "the driver was updated, but not the kernel module",
]


@every("build", BUILDS)
@every(
    "error", ["Driver/library version mismatch", "NVRM: API mismatch: the client has the version"]
)
def test_a_reboot_is_no_cure_for_two_builds(build: str, error: str) -> None:
    text = f"{build}\nFailed to initialize NVML: {error} 570.1.2, but this kernel module has the "
    assert not (explain(f"{text}version 570.1.3")[0].fix or "").startswith("Reboot")


def test_a_mismatch_right_after_the_start_is_of_the_installed_module() -> None:
    mismatch = "the client has the version 570.1.2, but\nNVRM: this kernel module has the version 5"
    log = f"[    9.014918] NVRM: API mismatch: {mismatch}50.1.3.\nNVRM: RmInitAdapter failed!"
    (only,) = explain(log)
    assert ids(log) == ["ENV-08"]
    assert "a reboot doesn't help" in (only.cause or "")


@every(
    "words",
    ["找不到指定的模块。", "Das angegebene Modul wurde nicht gefunden.", "Módulo no encontrado"],
)
@every("file", ["cudnn_ops_infer64_8.dll", "cublas64_12.dll", "cudart64_110.dll"])
def test_a_loader_of_windows_is_read_in_any_language(words: str, file: str) -> None:
    path = f"C:\\env\\Lib\\site-packages\\torch\\lib\\{file}"
    error = f'OSError: [WinError 126] {words} Error loading "{path}" or one of its dependencies.'
    first = explain(error)[0]
    assert ids(error)[0] == "NJL-10"
    assert "pip install --force-reinstall" in (first.fix or "")


def test_an_artifact_of_julia_gets_no_advice_for_python() -> None:
    path = f"C:\\Users\\me\\.julia\\artifacts\\{'0f' * 20}\\bin\\cufft64_11.dll"
    first = explain(f'InitError: could not load library "{path}"')[0]
    assert "Pkg.instantiate()" in (first.fix or "")
    assert "pip" not in (first.fix or "")


@every("tool", ["uv pip install", "ERROR: ResolutionImpossible", "version solving failed"])
def test_two_pins_of_a_library_are_compared(tool: str) -> None:
    pins = "a depends on nvidia-cublas-cu12==12.1.3.1 and b depends on nvidia-cublas-cu12"
    cause = explain(f"{tool}\n{pins}>=12.4")[0].cause or ""
    assert "requires ==12.1.3.1, the other >=12.4" in cause
    same = f"{tool}\n{pins}==12.1.3.1"
    assert not any("no common" in (of.cause or "") for of in explain(same + "\nerror 209"))


@every("number", [20, 21])
@every("words", ["could not determine kind of name for C.<>", "error: '<>' was not declared"])
def test_a_name_that_a_header_lost_is_known_to_every_compiler(number: int, words: str) -> None:
    first = explain(words.replace("<>", f"CU_TARGET_COMPUTE_{number}"))[0]
    assert "CUDA 11.8 was the last release with" in (first.cause or "")


@every("gpu", ["Nvidia GTX 550 ti", "gts 450", "GTX 580"])
def test_code_for_fermi_is_made_by_a_toolkit_that_had_it(gpu: str) -> None:
    fix = explain(f"{gpu}, CUDA 9.1\nno kernel image is available for execution")[0].fix or ""
    assert "arch=compute_20,code=sm_2" in fix
    assert "cuda-8.0" in fix


# What builds the code, an error, and how the tool of the text is told the GPU.
TOLD = [
    ("GpuTools(Cuda(NoBinaryForGpu))", "EC_GPU_CUDA_NVCC_ARGS='--fatbin --gpu-architecture=sm_86"),
    ("cargo build\nNo kernel image for GPU: no kernel image is available", "CUDA_COMPUTE_CAP=86"),
    ("Building NVCC (Device) object a.cu.o\ninvalid device function 8", '-DCUDA_NVCC_FLAGS="-gen'),
    ("flash_attn: no kernel image is available", "FLASH_ATTENTION_FORCE_BUILD=TRUE"),
]


@every(
    "line",
    ["thread '<unnamed>' panicked at src/lib.rs", "/root/.cargo/git/checkouts/bindgen_cuda-3"],
)
def test_cargo_is_told_the_architecture_by_its_own_variable(line: str) -> None:
    error = "ptxas a.ptx, line 7; error : Feature 'ldmatrix' requires .target sm_75 or higher"
    fix = explain(f"compute capability 8.6\n{error}\n{line}")[0].fix or ""
    assert "CUDA_COMPUTE_CAP=86" in fix
    assert "CMAKE" not in fix


@every("told", TOLD)
def test_the_build_of_the_text_is_told_the_gpu(told: tuple[str, str]) -> None:
    assert told[1] in (explain(f"compute capability 8.6\n{told[0]}")[0].fix or "")


@every("row", facts_rows(HostCompilers))
def test_visual_studio_is_named_by_the_release_that_an_nvcc_takes(row: HostCompilers) -> None:
    """Each has the toolset of its name, unless no newer CUDA takes another one."""
    error = "fatal error C1189: #error: -- unsupported Microsoft Visual Studio version!"
    fix = explain(f"C:\\cuda\\v{row.cuda}\\include\\crt/host_config.h(135): {error}")[0].fix or ""
    told = re.search(r"-vcvars_ver=14\.(\d{1,2})\)", fix)
    assert told is None or f"19{told[1]:0<2}" == str(row.msvc)
    assert told or row.msvc > 1940


@every(
    "pattern",
    [
        *patterns().values(),
        *(row.find for kind in speakers("clients").values() for row in kind),
        *(row.pattern for row in messages() if "<<" not in row.pattern),
    ],
)
def test_a_pattern_finds_the_same_without_what_can_not_be_in_a_text(pattern: str) -> None:
    strings, sought = [*literals(pattern)], re.compile(pattern, re.ASCII)
    for text in TEXTS[::7]:
        found = [*sought.finditer(text)]
        assert [m.span() for m in found] == [m.span() for m in places(pattern, text)]
        assert not found or any(string in small(text) for string in strings)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            (
                "NVRTC_ERROR_COMPILATION (6)\nCatastrophic error: cannot open source file "
                '"C:\\Users\\榛\\AppData\\Local\\Temp\\tmpg4c62iyd\\7cb9cb8_2.cubin.cu"'
            ),
            "set TEMP, TMP and CUPY_CACHE_DIR",
        ),
        (
            "[W interface.cpp:47] Warning: Loading nvfuser library failed with: Error in dlopen",
            "only a warning",
        ),
        ("torch 2.2.1 requires nvidia-nccl-cu12==2.19.3, which is not installed.", "pip's warning"),
        ("libx.a(a.o): undefined reference to symbol '__cxa_guard_acquire@@CXXABI_1.3'", "-lstdc"),
        ("a.so: undefined reference to 'f()', version 'GLIBCXX_3.4.30'", "newer C or C"),
        ("nvcc fatal   : Unknown option 'pthread'", "an option of the host compiler"),
        ("CUDA: OpenCV requires enabled 'cudev' module from 'opencv_contrib'", "EXTRA_MODULES"),
        ("715", "instruction that the GPU can't execute"),
        (
            "NVRM: Xid (PCI:0000:41:00): 13, Graphics SM Warp: Illegal Instruction Encoding",
            "instruction that the GPU can't execute",
        ),
        ("CUDA error: misaligned address", "address that its instruction doesn't accept"),
        ("801", "this GPU or system doesn't have"),
    ],
)
def test_what_is_not_about_compatibility_says_what_helps(text: str, words: str) -> None:
    with pytest.raises(Missing, match=words):
        explain(text)


# Words of a build, and how it is given another host compiler (<>: the newest gcc for the nvcc).
HOSTS = {
    "spack install kokkos +cuda": "%gcc@<> ",
    "CMake Error at CMakeLists.txt:3": "CMAKE_CUDA_HOST_COMPILER=g++-<> ",
    "Building NVCC (Device) object a.cu.o": "-DCUDA_HOST_COMPILER=g++-<> ",
    "meson setup build": "-Dcuda_ccbindir=/usr/bin/g++-<> ",
    "bazel build -c opt --config=cuda //a": "gcc-<> before ./configure",
    "cargo build --release": "export NVCC_CCBIN=g++-<> ",
    "docker build -t image .": "ENV NVCC_CCBIN=g++-<> ",
    "/nix/store/abc-cuda": "gcc<>Stdenv",
    "make: *** [Makefile:3: a.o] Error 1": "NVCC_CCBIN=g++-<> ",
}


@every("words", tuple(HOSTS))
def test_an_older_host_compiler_is_given_as_the_build_takes_it(words: str) -> None:
    for newest in sorted({row.gcc for row in facts_rows(HostCompilers) if row.gcc > 4}):
        first = explain(
            f"{words}\n#error -- unsupported GNU version! gcc versions later than {newest} are not"
            " supported!"
        )[0]
        assert first.fix is not None
        assert HOSTS[words].replace("<>", f"{newest}") in first.fix
        assert ("CMAKE_CUDA_HOST" in first.fix) == ("CMAKE_CUDA_HOST" in HOSTS[words])


def test_a_feature_that_the_gpu_lacks_is_not_cured_by_naming_the_gpu() -> None:
    for need in (60, 70, 80, 90):
        for sm in (50, 61, 75, 86, 100):
            first = explain(
                f"compute capability {sm // 10}.{sm % 10}\nptxas a.ptx, line 3; error : "
                f"Feature 'x' requires .target sm_{need} or higher"
            )[0]
            assert first.fix is not None
            assert (f"sm_{sm}" in first.fix) == (sm >= need), (need, sm)


GUIDE = Path(__file__).parents[1] / "docs" / "guides" / "errors.md"
ERRORS = [
    (words, row.partition("](")[0].rpartition("[")[2])
    for row in GUIDE.read_text("utf-8").splitlines()
    if "](../rules/" in row and row.startswith("|")
    for words in re.findall(r"[^`,| ][^`,|]*(?=`)|\b\d{2,3}\b", row.split("|")[1])
]


@pytest.mark.parametrize(("text", "rule"), ERRORS)
def test_every_error_of_the_guide_is_explained_by_the_rule_beside_it(text: str, rule: str) -> None:
    assert explain(text)[0].id == rule


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("INVALID_INPUT", 3),
        ("PTX_COMPILE", 4),
        ("ARCH_MISMATCH", 13),
        ("OUTDATED_LIBRARY", 14),
        ("UNRECOGNIZED_ARCH", 16),
        ("UNSUPPORTED_ARCH", 17),
        ("LTO_NOT_ENABLED", 18),
    ],
)
def test_nvjitlinks_errors_are_known_as_cuda_bindings_prints_them(name: str, number: int) -> None:
    """Without ``NVJITLINK_``, and with the number (enum.IntEnum of cuda.bindings.nvjitlink)."""
    printed = explain(f"cuda.bindings.nvjitlink.nvJitLinkError: ERROR_{name} ({number})")
    assert printed[0].id == explain(f"NVJITLINK_ERROR_{name}")[0].id


@pytest.mark.parametrize("symbol", ["__nvJitLinkComplete_12_4", " __nvJitLinkCreate_13_0\n"])
def test_a_symbol_alone_is_a_missing_one(symbol: str) -> None:
    """People on call type the name, without the words before it."""
    (found, *_) = explain(symbol)
    assert (found.id, found.values["symbol"]) == ("NJL-01", symbol.strip())

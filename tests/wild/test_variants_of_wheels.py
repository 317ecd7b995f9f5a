"""Variants in released wheels: by suffix, by folder, on Linux and Windows, and what only looks so.

Each is judged on a target that each of its variants serves. What they need was read with readelf,
objdump -p and cuobjdump: libbitsandbytes_cuda130.so has SASS of CUDA 13 (580.65.06 or newer) and
nothing below sm_75; cu12/ and cu13/ of cuda-cccl need libnvJitLink.so.12 and .13; of triton's two
libcupti one has SASS of CUDA 12 from sm_50 on, the other of CUDA 13 from sm_75 on.
"""

from __future__ import annotations

import pytest
from test_gate import ANY_LINUX, WINDOWS, wheel_of

import ltocompat
from ltocompat import Verdict

pytestmark = pytest.mark.wild

OK, FAIL = Verdict.OK, Verdict.FAIL
PYTHON_312 = (*ANY_LINUX[:-1], "--platform=manylinux_2_26_x86_64", "--python-version=3.12")
BITSANDBYTES = ("bitsandbytes==0.50.2", ANY_LINUX)
ON_WINDOWS = ("bitsandbytes==0.50.2", WINDOWS)
OLD = ("bitsandbytes==0.41.1", ANY_LINUX)  # two files for each CUDA: with cuBLASLt and without
CCCL = ("cuda-cccl==1.2.1", PYTHON_312)
TRITON = ("triton==3.9.0", PYTHON_312)  # cupti/libcupti.so.12 and cupti-blackwell/libcupti.so.13

Wheel = tuple[str, tuple[str, ...]]


@pytest.mark.parametrize(
    ("wheel", "target", "verdict", "serving", "failing"),
    [
        (BITSANDBYTES, "driver=450.80.02,gpu=v100", OK, "11.8", "12.1 12.4 12.6 12.8"),
        (BITSANDBYTES, "driver=535.54.03,gpu=h100", OK, "11.8 12.1 12.4 12.6 12.8", "13.0 13.2"),
        (BITSANDBYTES, "driver=570.26,gpu=b200", OK, "12.8", "13.0 13.2"),
        (BITSANDBYTES, "driver=580.65.06,gpu=b200", OK, "12.8 13.0 13.2", ""),
        (BITSANDBYTES, "driver=550.54.14,gpu=b200", FAIL, "", "11.8 12.8 13.0 13.2"),
        (ON_WINDOWS, "os=windows,driver=537.13,gpu=l4", OK, "11.8 12.8", "13.0 13.2"),
        (OLD, "driver=450.80.02,gpu=a100", OK, "11.0 11.8", "12.0 12.2"),
        (OLD, "driver=525.60.13,gpu=h100", OK, "11.8 12.0 12.2", ""),
        (CCCL, "nvjitlink=12.4,driver=550.54.14,gpu=t4", OK, "12", "13"),
        (CCCL, "nvjitlink=13.0,driver=580.65.06,gpu=t4", OK, "13", "12"),
        (TRITON, "driver=525.60.13,gpu=v100", OK, "12", "13"),
        (TRITON, "driver=550.54.14,gpu=a100", OK, "12", "13"),
        (TRITON, "driver=580.65.06,gpu=b200", OK, "12 13", ""),
        (TRITON, "driver=580.65.06,gpu=b300", OK, "12 13", ""),
    ],
)
def test_the_variant_that_fits_decides(
    wheel: Wheel, target: str, verdict: Verdict, serving: str, failing: str
) -> None:
    (result,) = [r for r in ltocompat.check(wheel_of(*wheel), target) if r.gpu is not None]
    outcome = {each.version: each for each in result.variants}
    assert result.verdict is verdict
    assert {v: outcome[v].verdict for v in serving.split()} == dict.fromkeys(serving.split(), OK)
    assert {v: outcome[v].verdict for v in failing.split()} == dict.fromkeys(failing.split(), FAIL)
    (decides,) = [each for each in result.variants if each.decides]
    assert decides.verdict is verdict


@pytest.mark.parametrize(
    "requirement",
    [
        "torchcodec==0.17.0",  # libtorchcodec_core4.so to core9.so: releases of FFmpeg
        "pynvvideocodec==2.2.4",  # PyNvVideoCodec_121 and _130: releases of a driver's interface
        "nvidia-cufftmp-cu12==11.4.0.6.post1",  # a folder cu12 with nothing beside it
    ],
)
def test_what_only_looks_so_is_judged_whole(requirement: str) -> None:
    path = wheel_of(requirement, PYTHON_312)
    assert not any(r.variants for r in ltocompat.check(path, "driver=535.54.03,gpu=h100"))

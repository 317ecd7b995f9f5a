"""SASS-06: an artifact without SASS and PTX that a GPU can use does not run there."""

from __future__ import annotations

from ltocompat.rules.rule import Rule

RULE = Rule(
    id="SASS-06",
    title="Nothing for this GPU",
    statement="Where no module of an artifact has SASS or PTX that a GPU can use, no kernel starts "
    "there. A single module without any is common and harmless: libraries leave kernels out on "
    "purpose.",
    condition="Nothing is picked for the GPU in any module.",
    evidence="Kinds and architectures of the fatbin entries of all modules.",
    verdict="fail (error 209)",
    messages=(
        "no kernel image is available for execution on the device",
        "CUDA_ERROR_NO_BINARY_FOR_GPU",
        "cudaErrorNoKernelImageForDevice",
        "with CUDA capability sm_120 is not compatible with the current PyTorch installation",
        "compute capability 7.0 is not supported on CUDA 13+",
    ),
    remedy="Rebuild with SASS for the GPU (-gencode arch=compute_XY,code=sm_XY) or with PTX "
    "without a suffix; for GPUs before 7.5 that takes a toolkit of CUDA 12.",
    source="nvcc guide 5.1 and 5.6; measured: error 209 on an H200 with driver 580.159.04",
)

"""SASS-01: SASS runs on its own major compute capability, from its own minor on."""

from __future__ import annotations

from ltocompat.model.image import ImageKind
from ltocompat.model.signature import ImageSignature
from ltocompat.model.target import Gpu
from ltocompat.model.verdict import Route
from ltocompat.rules.rule import Rule
from ltocompat.rules.selection import same_arch


def excludes(image: ImageSignature, gpu: Gpu, route: Route) -> str | None:
    """Where SASS is for another major, or for a newer minor."""
    del route
    arch = image.arch
    if image.kind is not ImageKind.SASS or arch is None or arch.suffix:
        return None
    mine, number = same_arch(arch.number), same_arch(gpu.arch.number)
    if mine // 10 == number // 10 and mine <= number:
        return None
    return f"runs on compute capability {mine // 10}.x from {mine // 10}.{mine % 10} on"


RULE = Rule(
    id="SASS-01",
    title="SASS for other GPUs",
    statement="SASS for compute capability X.Y runs on X.Z where Z is Y or higher: never on "
    "another major, never on a lower minor. This is so within families, too: sm_100 runs on "
    "sm_103, not on sm_120.",
    condition="The GPU has another major, or a lower minor.",
    evidence="The architecture in the fatbin entry, or the header of the cubin.",
    verdict="not picked",
    messages=(
        "no kernel image is available for execution on the device",
        "CUDA_ERROR_NO_BINARY_FOR_GPU",
        "cudaErrorNoKernelImageForDevice",
        "with CUDA capability sm_120 is not compatible with the current PyTorch installation",
        "The current PyTorch install supports CUDA capabilities",
    ),
    remedy="Add SASS for the GPU (-gencode arch=compute_XY,code=sm_XY), or PTX without a suffix.",
    source="nvcc guide 5.1; measured: which entry a driver 580 picks of handmade fatbins",
    excludes=excludes,
)

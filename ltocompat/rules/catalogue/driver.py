"""Drivers: which code and which GPUs they support (DRV)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ltocompat.facts import floor as named_floor
from ltocompat.facts.drivers import earlier_driver
from ltocompat.model.image import HostBinary, ImageKind
from ltocompat.model.signature import ImageSignature
from ltocompat.model.target import Gpu
from ltocompat.model.verdict import Route, Verdict
from ltocompat.rules import image_helpers, makers
from ltocompat.rules.constraints import (
    DriverOfWriter,
    driver_of_major,
    driver_of_writer,
    driver_still_serves,
    kernel_knows,
)
from ltocompat.rules.image_helpers import per_image
from ltocompat.rules.rule import Problem, Requirement, Subject, rule

if TYPE_CHECKING:
    from ltocompat.model.environment import Environment

_FORM_OF_13 = 13
# The oldest major whose floor is as low as that of every older one, and that of 11.
_BEFORE_12 = 10


@per_image("DRV-01", Route.LOAD, ImageKind.SASS)
def driver_below_major_floor(image: ImageSignature, _: Subject) -> Iterator[Requirement]:
    """SASS runs on drivers from the floor of its toolkit's major release on.

    SASS-07 is about code that only CUDA 13 writes.
    """
    cuda = makers.writer(image)
    if cuda is None or (makers.only_cuda_13_writes(image) and cuda.major <= _FORM_OF_13):
        return
    whole = cuda if earlier_driver(cuda) else cuda.major
    yield Requirement(
        driver_of_writer(cuda),
        f"SASS of CUDA {whole}",
        f"older drivers run no code that CUDA {whole} built (error 35 of the runtime, error 200 "
        "of the driver)",
        remedy="update the driver. If the GPU supports cuda-compat, let the loader find it "
        f"before the driver. Or build with CUDA {cuda.major - 1}",
        evidence=makers.evidence(image),
        doubt=f"the tables name no minimum driver for CUDA {whole}",
    )


@rule("DRV-01")
def driver_below_runtime(host: HostBinary) -> Iterator[Requirement]:
    """The CUDA runtime inside a file, or loaded with it, refuses older drivers at each call.

    The engine asks it only if older drivers may load some code, or if there are no kernels. A copy
    without a known major is older than CUDA 12. A file that has several runtimes uses each of them.
    """
    from ltocompat.rules.linker_imports import files_of, majors, majors_of  # late

    copies = [each for each in host.libraries if (each.name, each.how) == ("libcudart", "static")]
    found = dict.fromkeys(majors_of(files_of(host, "libcudart", "needed")), "DT_NEEDED")
    for copy in copies:
        found |= dict.fromkeys(majors(host, "libcudart") or (_BEFORE_12,), copy.evidence)
    for major in sorted(found)[-1:]:
        older = major == _BEFORE_12 and found[major] != "DT_NEEDED"
        yield Requirement(
            driver_of_major(major),
            "a CUDA runtime older than 12" if older else f"the CUDA runtime {major}",
            evidence=found[major],
            runtime=major,
        )


@per_image("DRV-02", Route.LOAD, ImageKind.SASS)
def sass_newer_than_driver_minor(image: ImageSignature, _: Subject) -> Iterator[Requirement]:
    """SASS of a newer minor than the driver's runs under minor-version compatibility."""
    cuda = makers.writer(image)
    if cuda is None:
        return
    yield Requirement(
        DriverOfWriter(cuda),
        f"SASS of a newer CUDA {cuda.major} than the driver's",
        evidence=makers.evidence(image),
        short="minor-version compatibility doesn't cover PTX and new functions",
    )


@rule("DRV-03")
def gpu_newer_than_driver(gpu: Gpu) -> Iterator[Requirement]:
    """A GPU needs a kernel driver that knows it."""
    real = image_helpers.real(gpu)
    evidence = f"the first toolkit that targets {real}"
    yield Requirement(kernel_knows(gpu.arch.number), real, evidence=evidence)


@rule("DRV-04")
def gpu_dropped_by_driver(gpu: Gpu) -> Iterator[Requirement]:
    """Newer drivers ignore GPUs that NVIDIA has dropped."""
    yield Requirement(driver_still_serves(gpu.arch.number), image_helpers.real(gpu))


@rule("DRV-05")
def gpu_too_old_for_open_driver(environment: Environment) -> Iterator[Problem]:
    """The open kernel module runs Turing and newer GPUs."""
    driver = environment.kernel_driver
    if driver is None or not driver.open or environment.jetson is not None:
        return
    least = int(named_floor("open-kernel-module-sm"))
    for gpu in dict.fromkeys(environment.gpus):
        if gpu.arch is not None and gpu.arch.number < least:
            yield Problem(
                Verdict.FAIL,
                f"the kernel driver {driver.version} is made from the open modules, which don't "
                f"support {gpu.name} (compute capability {gpu.arch.major}.{gpu.arch.minor})",
                evidence=driver.source,
                headline=f"the open kernel modules {driver.version} don't run {gpu.name}",
            )

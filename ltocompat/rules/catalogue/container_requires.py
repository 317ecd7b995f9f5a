"""ENV-01: an image says by NVIDIA_REQUIRE_CUDA which drivers it takes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ltocompat.model.verdict import Verdict
from ltocompat.rules import driver_release
from ltocompat.rules.rule import Problem, Rule
from ltocompat.targets.machine.container_conditions import ContainerHost, satisfied
from ltocompat.targets.machine.environment import Environment

_NAME = re.compile(r"NVIDIA_REQUIRE_\w+")
_DISABLE = "NVIDIA_DISABLE_REQUIRE"
_ON = {"1", "t", "true"}  # what Go's strconv.ParseBool takes for true, in any case of letters
# NVML names brands of older GPUs only; of the others their names tell that they are no GeForce.
_BRAND = re.compile(r"(?:NVIDIA )?(Tesla|Quadro|GeForce|TITAN|GRID|NVS)\b", re.IGNORECASE)
_REMEDY = "update the driver of the host, or take an image of an older CUDA"


def of_machine(environment: Environment) -> Iterator[Problem]:
    """One for each variable whose requirement the host doesn't meet, or that can't be judged."""
    host = _host(environment)
    hidden = (environment.variable(_DISABLE) or "").lower() in _ON
    for name, text in environment.variables:
        if not _NAME.fullmatch(name) or not text.strip():
            continue
        try:
            met = satisfied(text, host)
        except ValueError as error:
            yield _flaw(name, text, Verdict.UNKNOWN, f"can't be read at {str(error)!r}")
            continue
        if met is None:
            yield _flaw(name, text, Verdict.OK, "is judged by the host's driver and GPUs")
        elif not met and hidden:
            yield _flaw(
                name, text, Verdict.UNKNOWN, f"is not met{_by(host)}, which {_DISABLE} hides"
            )
        elif not met:
            yield _flaw(
                name, text, Verdict.FAIL, f"is not met{_by(host)}: the container doesn't start"
            )


def _flaw(name: str, text: str, verdict: Verdict, what: str) -> Problem:
    first = text.split(maxsplit=1)[0]
    more = "" if first == text.strip() else " or one of its alternatives"
    return Problem(
        RULE.id,
        verdict,
        f"the image asks for {first}{more} ({name}), which {what}",
        _REMEDY,
        f"environment variable {name}={text}",
    )


def _by(host: ContainerHost) -> str:
    known = [f"driver {host.driver}"] if host.driver else []
    known += [f"CUDA {host.cuda}"] if host.cuda else []
    return f" by {' of '.join(known)}" if known else ""


def _host(environment: Environment) -> ContainerHost:
    """What the container toolkit compares with: the host's own driver, not cuda-compat."""
    driver = environment.kernel_driver
    cuda = driver_release.of_kernel(environment)
    archs = {f"{gpu.arch.major}.{gpu.arch.minor}" for gpu in environment.gpus if gpu.arch}
    brands = [_BRAND.match(gpu.name) for gpu in environment.gpus]
    known = bool(brands) and all(brands)
    return ContainerHost(
        str(cuda) if cuda else None,
        str(driver.version) if driver else None,
        tuple(sorted(archs)),
        tuple(sorted({match[1].lower() for match in brands if match})) if known else (),
    )


RULE = Rule(
    id="ENV-01",
    title="Image asks for a newer driver",
    statement="NVIDIA's container tools don't start an image whose NVIDIA_REQUIRE_CUDA the host "
    "doesn't meet. Spaces part alternatives, commas part conditions that hold together; cuda>=12.4 "
    "is compared with the CUDA release of the host's driver. NVIDIA_DISABLE_REQUIRE=1 only hides "
    "it: what the image brings still needs the driver.",
    condition="None of the alternatives holds for the host.",
    evidence="The variables of the image; version and CUDA release of the kernel driver; the GPUs.",
    verdict="fail; unknown where it is hidden or can't be read; ok, with a note, where the host "
    "isn't known",
    messages=(
        "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=11.8",
        "please update your driver to a newer version, or use an earlier cuda container",
        "requirement error: unsatisfied condition: brand=tesla",
        "requirement error: invalid expression",
    ),
    remedy="Update the driver of the host, or take an image of an older CUDA release.",
    source="NVIDIA/libnvidia-container, src/cli/dsl.c; NVIDIA/nvidia-container-toolkit, "
    "internal/requirements; refact issue 368",
    of_machine=of_machine,
)

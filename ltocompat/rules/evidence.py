"""A machine as a pasted text names it: driver, GPU, toolkit and PyTorch."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator

from ltocompat.facts.gpus import models_named, sm
from ltocompat.rules.literals import places
from ltocompat.rules.prose import table

# Architectures from before the table, of which errors still speak.
_FERMI = ("20", "21")


@functools.cache
def patterns() -> dict[str, str]:
    """The patterns of values, and of other vendors' messages, by their names."""
    return {name: "|".join(parts) for name, parts in table("machine_patterns").items()}


def evidence(text: str) -> dict[str, str]:
    """Return the values of the machine in a text that it names once or always equally.

    Args:
        text: the text in one line, with single blanks.

    Returns:
        Of ``driver`` (550.54.14, or the branch 550), ``nvcc``, ``toolkit`` and ``torch`` (the CUDA
        releases of these), ``said`` (what is called CUDA), ``smi`` (the driver's CUDA, as
        nvidia-smi has it), ``optix`` (9.0), ``cmake`` (3.22), ``family`` (of GPUs, OpenCV's),
        ``package`` (of Python), ``building`` (what pip builds), ``torch_release`` (2.8),
        ``tensorflow`` (2.10), ``jax`` (0.4.26), ``nvjitlink`` (12.4),
        ``module`` (the release of kernel modules from sources), ``jetpack`` (4.3), ``blender``
        (2.83), ``python`` (3.8), ``torch_major`` (the CUDA major of a framework),
        ``gpu`` (its name) and ``gpu_sm`` (90), or of several ``gpu_sms`` (80;90), where told.
    """
    found = {name: values for name, read in _READ.items() if (values := {*read(name, text)})}
    once = {name: values.pop() for name, values in found.items() if len(values) == 1}
    if "gpu_sm" in found and "gpu_sm" not in once:
        once.pop("gpu", None)
        once["gpu_sms"] = ";".join(sorted(found["gpu_sm"], key=int))
    return once


def of_another_vendor(text: str) -> bool:
    """Return whether a text is of HIP, OpenCL, SYCL or Metal, and of nothing of NVIDIA's.

    PyTorch for ROCm says "CUDA error" for HIP errors.
    """
    names = ("surelyOther", "otherVendor", "nvidia")
    surely, other, nvidia = (places(patterns()[name], text) for name in names)
    return any(surely) or (any(other) and not any(nvidia))


def _values(name: str, text: str) -> Iterator[str]:
    return (next(filter(None, place.groups())) for place in places(patterns()[name], text))


def _releases(name: str, text: str) -> Iterator[str]:
    return map(release_of, _values(name, text))


def release_of(value: str) -> str:
    """12.8 of 12.8, of PyTorch's 128 and of the runtime's 12080."""
    if "." in value:
        return value
    if len(value) > len("128"):
        return f"{int(value) // 1000}.{int(value) % 1000 // 10}"
    return f"{value[:-1]}.{value[-1]}"


def _drivers(name: str, text: str) -> Iterable[str]:
    """The driver; its branch only where the text has no full version of it."""
    values = {*_values(name, text)}
    return {value for value in values if not any(other.startswith(f"{value}.") for other in values)}


@functools.lru_cache(maxsize=1)
def _gpus(name: str, text: str) -> frozenset[str]:
    """The GPUs that are named, each by the name in the table."""
    found = {*map(models_named, _values(name, text))}
    return frozenset(models[0].name for models in found if len({m.number for m in models}) == 1)


def _architectures(_: str, text: str) -> Iterator[str]:
    for value in _values("capability", text):
        number = "".join(re.findall(r"\d+", value))
        if number in _FERMI or sm(int(number)) is not None:
            yield number
    yield from (str(models_named(name)[0].number) for name in _gpus("gpu", text))
    yield from (number for number in _FERMI if any(_values(f"fermi{number}", text)))


_READ: dict[str, Callable[[str, str], Iterable[str]]] = {
    "driver": _drivers,
    **dict.fromkeys(("nvcc", "toolkit", "torch", "said", "cmake", "optix"), _releases),
    **dict.fromkeys(
        ("jetpack", "package", "building", "blender", "tensorflow", "jax", "nvjitlink"), _values
    ),
    **dict.fromkeys(("smi", "module", "family", "torch_major", "python", "torch_release"), _values),
    "gpu": _gpus,
    "gpu_sm": _architectures,
}

"""A machine as a pasted text names it: driver, GPU, toolkit and PyTorch."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from ltocompat.facts.gpus import models_named, sm

# Bounded as all patterns of messages are; the first group that took part is the value.
_DRIVER = (
    r"(?:[Dd]river(?: [Vv]ersion)?|NVIDIA-SMI|Kernel Module|NVRM version|[Dd]river nvidia)"
    r"[:= ]{1,3}(?:[A-Za-z_0-9]{1,8} ){0,2}(\d{3}\.\d{1,3}(?:\.\d{1,3})?)\b"
    r"|nvidia-utils\b[^:\n]{0,60}: ?(\d{3}\.\d{1,3}(?:\.\d{1,3})?)\b"
    r"|nvidia-driver-(\d{3})\b|nvidia-driver[a-z-]{1,20}(\d{3}\.\d{1,3}(?:\.\d{1,3})?)"
    r"|\bdriver (?:version )?(?:is |v|R)?([3-9]\d{2})\b(?![.\d])"
    r"|\b([3-9]\d{2}\.\d{2,3}(?:\.\d{1,3})?) [Dd]river\b"
)
_NVCC = (
    r"\brelease (\d{1,2}\.\d), V\d|\bnvcc(?: version)?[:= ]{1,3}v?(\d{1,2}\.\d)\b"
    r"|/cuda-(\d{1,2}\.\d)/bin/nvcc\b|\\[Cc][Uu][Dd][Aa]\\{1,2}v(\d{1,2}\.\d)\b"
)
_TOOLKIT = (
    r"\bCUDA [Tt]oolkit(?: version)?[:= ]{1,3}v?(\d{1,2}\.\d)\b"
    r"|\bcuda(?:-tools|-toolkit)?[:=] ?(\d{1,2}\.\d)\.\d"
    r"|\bCUDA Runtime(?: API)?(?: [Vv]ersion)?[:= ]{1,3}(\d{1,2}\.\d|\d{4,5})\b"
)
# What people say of "CUDA", which may be a toolkit's release; in nvidia-smi's words, the driver's.
_SAID = (
    r"\bCUDA ?[:= ] ?(\d{1,2}\.\d)\b(?!\.| (?:or|and) )|\bcuda (?:version )?(?:is )?(\d{1,2}\.\d)\b"
)
_SMI = r"\bDriver Version: [\d.]{5,12} {1,12}CUDA Version: (\d{1,2}\.\d)"
_OPTIX = (
    r"\bOptiX(?:[ -]SDK)?(?:[ -]| version:? ?)v?([789]\.\d)"
    r"|\bOPTIX\w{0,20}VERSION\W{1,3}([789]\.\d)"
)
_TORCH = (
    r"\b(?:torch|torchvision|PyTorch)(?:\.__version__)?(?: [Vv]ersion)?[:=*' \"]{1,5}"
    r"\d\.\d{1,2}\.\d[\w.]{0,20}\+cu(\d{2,3})\b|\btorch-\d\.\d{1,2}\.\d\+cu(\d{2,3})\b"
    r"|\btorch\.version\.cuda[:= '\"]{1,5}(\d{1,2}\.\d)\b"
    r"|\bCUDA used to build PyTorch: (\d{1,2}\.\d)\b"
)
_GPU = (
    r"\b((?:Jetson )?(?:AGX |Orin |Xavier )?(?:Orin|Xavier|Thor)(?: N(?:ano|X))?"
    r"|GTX TITAN X\b|(?:RTX|GTX|GT|MX|TITAN)[ -]?(?:PRO )?(?:A|V|X|Xp|RTX)?[ -]?\d{0,4}"
    r"(?: ?(?:Ti|SUPER|Ada|Blackwell|D|M|MX)\b){0,2}"
    r"|\d{4}Ti"
    r"|[AHBLTVP]\d{1,3}S?(?= ?(?:-|\d{2,3} ?GB|PCIe|SXM|HBM|NVL|GPU))"
    r"|(?:(?<=NVIDIA )|(?<=GPU: ))(?:GB|GH|[AHBLTVPK])\d{1,4}[A-Z]?\b"
    r"|(?<=Tesla )[A-Z]{1,2}\d{1,4}[A-Z]?\b)"
)
_CAPABILITY = (
    r"\b[Cc](?:ompute|UDA) [Cc]apability(?: (?:of|is|sm_))?[:= `(]{1,3}(?:sm_)?"
    r"(\d{1,2}\.\d|\d{2,3})\b"
    r"|\b[Cc]apability (\d{1,2}\.\d)\b|\bCUDA Compute (\d{1,2}\.\d)\b"
    r"|\bmajor ?= ?(\d{1,2}, ?minor ?= ?\d)\b|\bcompute_cap (\d{1,2}\.\d)\b"
)
_GPU_PATTERN = re.compile(_GPU, re.IGNORECASE | re.ASCII)
_LONGEST = 200_000
_OTHER_VENDOR = re.compile(
    r"\bHIP error|\bhip(?:Error|Module|Init)\w{0,40}|\bROCm\b|\brocm\d|USE_HIP_DSA"
    r"|\bAMD_SERIALIZE_KERNEL|\bamdgpu\b|\bgfx\d{3,4}\b|\bCL_[A-Z]{3,20}_[A-Z_]{3,40}\b"
    r"|\bclBuildProgram|\bsycl::|\bSYCL\b|\bUR_RESULT_ERROR|\bZE_RESULT_ERROR|\bMTLLibrary\b"
)
_SURELY_OTHER = re.compile(r"\bHIP error|\bhipError[A-Z]|USE_HIP_DSA|\bNo HIP GPUs")
_NVIDIA = re.compile(
    r"(?i)nvidia|\bnvcc\b|\bptxas\b|\bnvlink\b|\bcudart|\bsm_\d\d|\bcu(?:blas|sparse|dnn)"
)


def evidence(text: str) -> dict[str, str]:
    """Return what a text says of the machine, where it names a value once or always the same.

    Args:
        text: in one line, with single blanks.

    Returns:
        Of ``driver`` (550.54.14, or the branch 550), ``nvcc``, ``toolkit`` and ``torch`` (the CUDA
        releases of these), ``said`` (what is called CUDA), ``smi`` (the driver's CUDA, as
        nvidia-smi has it), ``optix`` (9.0), ``gpu`` (its name) and ``gpu_sm`` (90) those that the
        text tells.
    """
    found = {name: values for name, read in _READ.items() if (values := {*read(text)})}
    once = {name: values.pop() for name, values in found.items() if len(values) == 1}
    if "gpu_sm" in found and "gpu_sm" not in once:
        once.pop("gpu", None)
    return once


def of_another_vendor(text: str) -> bool:
    """Return whether a text is of HIP, OpenCL, SYCL or Metal, and of nothing of NVIDIA's.

    PyTorch for ROCm says "CUDA error" where it means HIP's.
    """
    other = _OTHER_VENDOR.search(text) is not None and _NVIDIA.search(text) is None
    return other or _SURELY_OTHER.search(text) is not None


def _values(pattern: str) -> Callable[[str], Iterator[str]]:
    compiled = re.compile(pattern, re.ASCII)
    return lambda text: (
        next(filter(None, match.groups())) for match in compiled.finditer(text, 0, _LONGEST)
    )


def _releases(pattern: str) -> Callable[[str], Iterator[str]]:
    values = _values(pattern)
    return lambda text: map(_release, values(text))


def _release(value: str) -> str:
    """12.8 of 12.8, of PyTorch's 128 and of the runtime's 12080."""
    if "." in value:
        return value
    if len(value) > len("128"):
        return f"{int(value) // 1000}.{int(value) % 1000 // 10}"
    return f"{value[:-1]}.{value[-1]}"


def _drivers(text: str) -> Iterable[str]:
    """The driver; its branch only where the text has no full version of it."""
    values = {*_values(_DRIVER)(text)}
    full = {value for value in values if "." in value}
    return {value for value in values if not any(other.startswith(f"{value}.") for other in full)}


def _gpus(text: str) -> Iterator[str]:
    """The GPUs that are named, each by the name in the table."""
    for match in _GPU_PATTERN.finditer(text, 0, _LONGEST):
        models = models_named(match[1])
        if len({model.number for model in models}) == 1:
            yield models[0].name


def _architectures(text: str) -> Iterator[str]:
    for value in _values(_CAPABILITY)(text):
        number = "".join(re.findall(r"\d+", value))
        if sm(int(number)) is not None:
            yield number
    for name in {*_gpus(text)}:
        yield str(models_named(name)[0].number)


_READ: dict[str, Callable[[str], Iterable[str]]] = {
    "driver": _drivers,
    "nvcc": _releases(_NVCC),
    "toolkit": _releases(_TOOLKIT),
    "torch": _releases(_TORCH),
    "said": _releases(_SAID),
    "smi": _values(_SMI),
    "optix": _values(_OPTIX),
    "gpu": _gpus,
    "gpu_sm": _architectures,
}

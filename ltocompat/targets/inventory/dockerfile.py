"""Dockerfiles and names of NVIDIA's images -> what an image brings, and which hosts start it.

Tags of nvidia/cuda: ``12.4.1-cudnn-runtime-ubuntu22.04``; its images ask for their CUDA release
(``NVIDIA_REQUIRE_CUDA=cuda>=12.4``, and more for single brands), and ``runtime`` and ``devel`` have
cuda-libraries, which brings NVRTC and since 12.0 nvJitLink. PyTorch's ``devel`` images begin with
them, its ``runtime`` images with Ubuntu's. Other tags name a release of CUDA at most. Sources:
gitlab.com/nvidia/container-images/cuda, ``dist/12.4.1/ubuntu2204`` (base, runtime);
pytorch/pytorch, docker.Makefile and Dockerfile. Instructions: Docker's Dockerfile reference.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct, field

from ltocompat.model.errors import UsageError
from ltocompat.model.limits import Budget
from ltocompat.targets.inventory.node import Node
from ltocompat.targets.pins import Pin
from ltocompat.targets.requirements_txt import pins_of_lines, read_requirements
from ltocompat.targets.systems import MarkerEnvironment, read_system

_IMAGE = re.compile(
    r"(?:(?:docker\.io|nvcr\.io|index\.docker\.io|docker://)/?)?"
    r"(?:nvidia/cuda(?:-arm64)?:|pytorch/pytorch:[0-9.]+-cuda(?=.+-devel))"
    r"(?P<release>[0-9]{1,2}\.[0-9]{1,2})(?:\.[0-9]{1,2})?(?P<rest>(?:-[\w.]+)*)(?:@sha256:\w+)?"
)
_CUDA = re.compile(r"(?<![a-z])cu(?:da)?-?([0-9]{2})\.?([0-9])(?![0-9])", re.IGNORECASE)
_FULL = frozenset({"runtime", "devel"})
_INSTRUCTION = re.compile(r"\s*(ARG|FROM|ENV|RUN)\s+(.*)", re.IGNORECASE)
_FROM = re.compile(r"((?:--\S+\s+)*)(\S+)(?:\s+AS\s+(\S+))?", re.IGNORECASE)
_PLATFORMS = {"linux/arm64": "linux-aarch64", "linux/arm64/v8": "linux-aarch64"}
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?::?-([^{}]*))?\})")
_ASSIGNED = re.compile(r"""(?<!\w)(\w++)=("[^"]*"|'[^']*'|\S*)""")
_REQUIRE = "NVIDIA_REQUIRE_CUDA"
_PIP = re.compile(r"\bpip3? install\b([^&|;]*)")
_OF_CUDA = re.compile(r"nvidia-|cuda-toolkit")
_PACKAGES = {"nvrtc": "cuda-nvrtc", "nvjitlink": "libnvjitlink"}
_INSTALLS = re.compile(
    r"\b(?:pip3?|uv|conda|mamba|micromamba|poetry|pixi|pdm) (?:\w+ )?"
    r"(?:install|sync|add|create|update)\b"
)


def is_image(text: str) -> bool:
    """Return whether a text names an image whose tag shows the hosts that start it."""
    return _IMAGE.fullmatch(text) is not None


def read_image(text: str) -> Node:
    """Return the keys of an image by its name, or the reason why it has none.

    NGC's names (nvcr.io/nvidia/pytorch:24.05-py3) name no CUDA release, and these images start on
    CUDA 9.0 drivers and newer, even if their code needs newer ones (NVIDIA_REQUIRE_CUDA=cuda>=9.0
    in the environment of tritonserver 23.12 and pytorch 20.06, as users print it).
    """
    match = _IMAGE.fullmatch(text)
    if match is None:
        named = _CUDA.search(text.rpartition("/")[2])
        release = ".".join(named.groups()) if named else ""
        says = f"names CUDA {release}, but not" if release else "names neither a CUDA release nor"
        problem = f"image {text[:80]} {says} the drivers that it starts on"
        keys = {"nvrtc": release} if release and "pytorch/pytorch:" in text else {}
        return Node(keys, problem=f"{problem} (check the file that docker save writes instead)")
    release = match["release"]
    keys = {"container": f"cuda>={release}"}
    if _FULL & {*match["rest"].split("-")}:
        keys["nvrtc"] = release
        own = int(release.split(".")[0]) >= 12 and "nvidia/cuda" in text
        keys |= {"nvjitlink": release} if own else {}  # that of PyTorch's conda may be newer
    return Node(keys)


class _Stage(Struct):
    """A stage of a Dockerfile.

    Attributes:
        base: the image, or the name of the stage, that it begins with.
        platform: the value of ``--platform``.
        variables: its ENV.
        runs: its RUN lines.
    """

    base: str
    platform: str
    variables: dict[str, str] = field(default_factory=dict)
    runs: list[str] = field(default_factory=list)


def is_dockerfile(lines: Sequence[str]) -> bool:
    """Return whether lines are a Dockerfile: FROM comes first, except for ARG and comments."""
    found = map(_INSTRUCTION.match, _logical(lines))
    first = next((line for line in found if line is None or line[1].upper() != "ARG"), None)
    begins = first is not None and first[1].upper() == "FROM"
    return first is not None and begins and _FROM.fullmatch(first[2].strip()) is not None


def read_dockerfile(lines: Sequence[str], folder: str, budget: Budget) -> Iterator[Node]:
    """Yield the image of the last stage, with the facts of its bases.

    Args:
        lines: the lines of the Dockerfile.
        folder: the folder of the requirements that it copies.
        budget: the budget for reading them.

    Raises:
        UsageError: the base is a variable without a value, or a requirement can't be read.
    """
    stages: dict[str, _Stage] = {}
    arguments: dict[str, str] = {}
    stage = _Stage("", "")
    for line in budget.timed(_logical(lines)):
        match = _INSTRUCTION.match(line)
        kind, rest = (match[1].upper(), match[2].strip()) if match else ("", "")
        if kind == "ARG" and not stages:
            name, _, value = rest.partition("=")
            arguments |= {name: value.strip("\"'")} if value else {}
        elif kind == "FROM" and (base := _FROM.fullmatch(_filled(rest, arguments))):
            stage = _Stage(base[2], base[1].partition("--platform=")[2].strip())
            stages[base[3] or str(len(stages))] = stage
        elif kind == "ENV":
            stage.variables |= _assigned(rest)
        elif kind == "RUN":
            stage.runs.append(rest)
    yield _image(stage, stages, folder, budget)


def _image(stage: _Stage, stages: dict[str, _Stage], folder: str, budget: Budget) -> Node:
    chain = [stage]
    while (below := stages.pop(chain[-1].base, None)) is not None:
        chain.append(below)
    variables = {name: value for each in reversed(chain) for name, value in each.variables.items()}
    runs = [run for each in reversed(chain) for run in each.runs]
    known = read_image(chain[-1].base)
    keys = dict(known.keys)
    if asked := variables.get(_REQUIRE):
        keys["container"] = asked
    problem = "" if "container" in keys else known.problem
    keys["os"] = _PLATFORMS.get(chain[-1].platform, "")
    if not any(map(_INSTALLS.search, runs)):
        return Node(keys, problem=problem)
    # What else comes with these packages nobody knows; the base's own may be found before theirs.
    own = [Pin(_PACKAGES[key], f"=={keys.pop(key)}.*") for key in _PACKAGES if key in keys]
    pins = _installed(runs, folder, keys["os"], budget)
    pins += [pin for pin in own if any(other.part == pin.part for other in pins)]
    return Node(keys, pins=tuple(pins), problem="" if pins else problem)


def _installed(runs: Sequence[str], folder: str, system: str, budget: Budget) -> list[Pin]:
    """The CUDA libraries that pip is told to install, and those of requirements beside the file."""
    environment = MarkerEnvironment.of(read_system(system or "linux"), None)
    pins: list[Pin] = []
    for command in (found for run in runs for found in _PIP.findall(run)):
        words = [word.strip("\"'") for word in command.split()]
        pins += pins_of_lines(filter(_OF_CUDA.match, words), environment)
        for option, word in pairwise(words):
            path = os.path.join(folder, os.path.basename(word))
            if option in ("-r", "--requirement") and os.path.isfile(path):
                pins += read_requirements(path, environment, budget)
    return [pin for pin in pins if pin.part]


def _logical(lines: Sequence[str]) -> Iterator[str]:
    """Lines without comments, joined where a backslash ends them."""
    parts: list[str] = []
    for line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        parts.append(line.rstrip().removesuffix("\\"))
        if not line.rstrip().endswith("\\"):
            yield " ".join(parts)
            parts = []
    yield from [" ".join(parts)] if parts else []


def _filled(text: str, arguments: dict[str, str]) -> str:
    """A text with its variables replaced.

    Raises:
        UsageError: one has no value.
    """

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        known = arguments.get(name) or match[3]
        if not known:
            raise UsageError(f"{match[0]} has no value here; give it a default: ARG {name}=...")
        return known

    return _VARIABLE.sub(value, text)


def _assigned(text: str) -> dict[str, str]:
    """``NAME=value`` or the older ``NAME value``."""
    found = {name: value.strip("\"'") for name, value in _ASSIGNED.findall(text)}
    name, _, value = text.partition(" ")
    return found if "=" in name else {name: value.strip().strip("\"'")}

"""What the package index has of a CUDA release, asked through the maintainer's own pip."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from email import message_from_string
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

# Platform of the tables -> tags of the wheels that fit it, as NVIDIA has used them.
_GLIBC = ("1", "2010", "2014", "_2_12", "_2_17", "_2_24", "_2_27", "_2_28", "_2_31", "_2_34")
PLATFORMS = {
    "linux-x86_64": tuple(f"manylinux{glibc}_x86_64" for glibc in _GLIBC),
    "linux-aarch64": tuple(f"manylinux{glibc}_aarch64" for glibc in _GLIBC),
    "win-amd64": ("win_amd64",),
}
LINUX = ("linux-x86_64", "linux-aarch64")
_PARTS = {
    "cufft": "nvidia-cufft",
    "cusolver": "nvidia-cusolver",
    "cusparse": "nvidia-cusparse",
    "nvjitlink": "nvidia-nvjitlink",
    "nvrtc": "nvidia-cuda-nvrtc",
}
NVJITLINK = re.compile(r".*/(?:libnvJitLink\.so\.\d+|nvJitLink_\d+_0\.dll)")
# nvlink is a program that opens libnvvm; each of the two lies in a package of its own, since 13.0.
NVLINK = {
    "nvidia-cuda-nvcc": re.compile(r".*/bin/nvlink"),
    "nvidia-nvvm": re.compile(r".*/libnvvm\.so\.\d+"),
}


@dataclass(frozen=True)
class Pin:
    """What one version of cuda-toolkit asks for of a part."""

    toolkit: str
    part: str
    package: str
    specifier: str
    extras: tuple[str, ...]


@dataclass(frozen=True)
class Index:
    """The package index of the user's pip; wheels are kept in ``cache``."""

    cache: Path

    def versions(self, package: str, release: str, platform: str = "linux-x86_64") -> list[str]:
        """The versions of a package that belong to a CUDA release (``13.5``), oldest first."""
        try:
            answer = _pip("index", "versions", package, *_wheels_for(platform))
        except subprocess.CalledProcessError as error:
            if "No matching distribution" in error.stderr:
                return []  # no wheel for this platform
            sys.stderr.write(error.stderr)
            raise
        listed = re.search(r"^Available versions: (.+)$", answer, re.MULTILINE)
        found = listed[1].split(", ") if listed else []
        return sorted((v for v in found if f"{v}.".startswith(f"{release}.")), key=Version)

    def wheel(self, requirement: str, platform: str = "linux-x86_64") -> Path:
        """The wheel of ``nvidia-nvjitlink==13.5.37`` for a platform, downloaded once."""
        folder = self.cache / f"{requirement.replace('==', '-')}-{platform}"
        if not list(folder.glob("*.whl")):
            fetch = ("download", "--quiet", "--no-deps", "--dest", str(folder))
            _pip(*fetch, *_wheels_for(platform), requirement)
        (wheel,) = folder.glob("*.whl")
        return wheel

    def unpacked(self, requirement: str) -> Path:
        """The folder with the files of a wheel for the Linux of this machine."""
        wheel = self.wheel(requirement)
        folder = wheel.parent / "unpacked"
        if not folder.exists():
            part = folder.with_suffix(".part")
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(part)
            part.rename(folder)
        return folder


def pins(wheel: Path) -> list[Pin]:
    """What a wheel of cuda-toolkit asks for of the parts, by extra."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        metadata = message_from_string(archive.read(name).decode())
    extras: dict[tuple[str, str, str], set[str]] = {}
    for text in metadata.get_all("Requires-Dist", []):
        wanted = Requirement(text)
        part = next(
            (p for p, n in _PARTS.items() if re.fullmatch(rf"{n}(-cu\d+)?", wanted.name)), ""
        )
        if part:
            clauses = sorted(
                wanted.specifier, key=lambda clause: Version(clause.version.rstrip(".*"))
            )
            specifier = ",".join(
                map(str, reversed(clauses) if clauses[0].operator == "<" else clauses)
            )
            named = re.findall(r"extra == ['\"]([\w-]+)['\"]", str(wanted.marker))
            extras.setdefault((part, wanted.name, specifier), set()).update(named)
    return [
        Pin(metadata["Version"], part, package, specifier, tuple(sorted(named)))
        for (part, package, specifier), named in sorted(extras.items())
    ]


def linker_row(wheel: Path, kept: re.Pattern[str]) -> dict[str, str | int]:
    """Names, sizes and sums of a wheel and of the one file in it that a trial runs with."""
    with zipfile.ZipFile(wheel) as archive:
        (member,) = (name for name in archive.namelist() if kept.fullmatch(name))
        data = archive.read(member)
    whole = wheel.read_bytes()
    return {
        "size": len(whole),
        "wheel_sha256": hashlib.sha256(whole).hexdigest(),
        "member": member,
        "member_size": len(data),
        "member_sha256": hashlib.sha256(data).hexdigest(),
        "source": wheel.name,
    }


def result_names(header: str) -> dict[int, str]:
    """The result codes of ``nvJitLink.h``, without the words that all of them begin with."""
    (body,) = re.findall(r"typedef enum\s*\{([^}]*)\}\s*nvJitLinkResult", _without_comments(header))
    names: dict[int, str] = {}
    for entry in filter(None, map(str.strip, body.split(","))):
        name, _, number = map(str.strip, entry.partition("="))
        names[int(number, 0) if number else max(names, default=-1) + 1] = re.sub(
            r"^NVJITLINK_(ERROR_)?", "", name
        )
    return names


def _without_comments(text: str) -> str:
    """The text of a header without its comments and the lines of the preprocessor."""
    return re.sub(r"/\*.*?\*/|//[^\n]*|^\s*#[^\n]*", "", text, flags=re.DOTALL | re.MULTILINE)


def _wheels_for(platform: str) -> list[str]:
    tags = [word for tag in PLATFORMS[platform] for word in ("--platform", tag)]
    return ["--only-binary=:all:", *tags]


def _pip(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pip", *words, "--no-input", "--disable-pip-version-check"],
        check=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
    )
    return done.stdout

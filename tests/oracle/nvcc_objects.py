"""Host objects with device code inside, by every nvcc that PyPI has whole, and nvlink beside it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pieces import HERE
from toolchains import PackageCache

RELEASES: Mapping[str, str] = {
    "13.0": "13.0.88",
    "13.2": "13.2.86",
    "13.4": "13.4.92",
    "13.5": "13.5.37",
}
_PACKAGES = ("nvidia-cuda-nvcc", "nvidia-nvvm", "nvidia-cuda-crt", "nvidia-cuda-runtime")


def _codes(*codes: str) -> tuple[str, ...]:
    """``sm_80``, ``compute_80`` and ``lto_80`` as options of nvcc."""
    return tuple(f"-gencode=arch=compute_{code.rpartition('_')[2]},code={code}" for code in codes)


_RDC = "-rdc=true"
VARIANTS: Mapping[str, tuple[str, ...]] = {
    "sass_80": (_RDC, *_codes("sm_80")),
    "sass_90": (_RDC, *_codes("sm_90")),
    "sass_100": (_RDC, *_codes("sm_100")),
    "ptx_80": (_RDC, *_codes("compute_80")),
    "sass_80+ptx_80": (_RDC, *_codes("sm_80", "compute_80")),
    "sass_80+sass_90": (_RDC, *_codes("sm_80", "sm_90")),
    "lto_80": (_RDC, *_codes("lto_80")),
    "lto_90": (_RDC, *_codes("lto_90")),
    "lto_80+sass_90": (_RDC, *_codes("lto_80", "sm_90")),
    "arch_90": ("-dlto", _RDC, "-arch=sm_90"),
    "few_registers": (_RDC, "-maxrregcount=32", *_codes("lto_80")),
    "more_registers": (_RDC, "-maxrregcount=64", *_codes("lto_80")),
    "fast_math": (_RDC, "-use_fast_math", *_codes("lto_80")),
}
SOURCES = (
    ("kernel", "first", ""),
    ("caller", "user", "helper"),
    ("function", "helper", ""),
)


@dataclass(frozen=True, slots=True)
class Made:
    """An object.

    Attributes:
        source: name of its source.
        name: the symbol that it defines.
        variant: of ``VARIANTS``.
        release: of nvcc.
        data: its bytes.
    """

    source: str
    name: str
    variant: str
    release: str
    data: bytes

    @property
    def file(self) -> str:
        return f"{self.source}-{self.name}-{self.variant}-{self.release}.o"

    @classmethod
    def of(cls, file: str, data: bytes) -> Made:
        """The object that is called so."""
        source, name, variant, release = file.removesuffix(".o").split("-")
        return cls(source, name, variant, release, data)

    @property
    def lto(self) -> bool:
        return any("lto" in option for option in VARIANTS[self.variant])


def toolkit(release: str, cache: PackageCache) -> Path:
    """The folder of nvcc and nvlink, with libnvvm where nvlink looks for it."""
    requirements = (f"{package}=={RELEASES[release]}" for package in _PACKAGES)
    tree = cache.fetch(*requirements) / "nvidia" / "cu13"
    libnvvm = tree / "nvvm" / "lib64" / "libnvvm.so"
    if not libnvvm.exists():
        libnvvm.parent.mkdir(exist_ok=True)
        libnvvm.symlink_to(Path("..", "..", "lib", "libnvvm.so.4"))
    return tree / "bin"


def objects(folder: Path, cache: PackageCache) -> list[Made]:
    """All objects; those that are not in the folder are made."""
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for release in RELEASES:
        for variant, options in VARIANTS.items():
            for source, name, calls in SOURCES:
                made = Made(source, name, variant, release, b"")
                path = folder / made.file
                if not path.exists():
                    names = (f"-DNAME={name}", f"-DCALLED={calls}")
                    nvcc = toolkit(release, cache) / "nvcc"
                    text = HERE / "sources" / f"{source}.cu"
                    subprocess.run([nvcc, "-c", *options, *names, "-o", path, text], check=True)
                found.append(Made(source, name, variant, release, path.read_bytes()))
    return found

"""Packages with variants that hypothesis makes up: files whose names differ in a CUDA version."""

from __future__ import annotations

from generated_artifacts import MODULES, artifact, hosts
from hypothesis import strategies as st
from msgspec.structs import replace

from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup, Variant, together_as_one
from ltocompat.model.image import HostBinary
from ltocompat.model.location import Location

PACKAGE = "x.whl"


def brings_linker(host: HostBinary) -> bool:
    """Whether it has an nvJitLink inside."""
    return any(library.how == "static" for library in host.libraries)


HOSTS = hosts().filter(lambda host: not brings_linker(host))


def placed(groups: list[ModuleGroup], libraries: list[HostBinary], file: str) -> ArtifactSummary:
    """Modules and host files in one file of a package."""
    place = Location(PACKAGE, (file,))
    summary = artifact(
        [replace(group, example=place, places=[place], inner=True) for group in groups],
        [replace(host, place=place) for host in libraries],
    )
    return replace(summary, path=PACKAGE)


def files(name: str, least: int) -> st.SearchStrategy[ArtifactSummary]:
    return st.builds(
        placed,
        st.lists(MODULES, min_size=least, max_size=2),
        st.lists(HOSTS, max_size=1),
        st.just(name),
    )


def package(*parts: ArtifactSummary, variants: tuple[Variant, ...] = ()) -> ArtifactSummary:
    """All these files in one package."""
    whole = together_as_one(parts)
    return replace(whole, path=PACKAGE, single_link=False, variants=variants)


Package = tuple[ArtifactSummary, tuple[ArtifactSummary, ...]]
"""What is in no variant, and the variants."""


@st.composite
def packages(draw: st.DrawFn) -> Package:
    number = draw(st.integers(2, 3))
    return (
        draw(files("common.so", 0)),
        tuple(draw(files(f"x_cu{11 + n}.so", 1)) for n in range(number)),
    )


def whole(common: ArtifactSummary, parts: tuple[ArtifactSummary, ...]) -> ArtifactSummary:
    variants = tuple(
        Variant(f"x_cu{11 + n}.so", str(11 + n), frozenset({(f"x_cu{11 + n}.so",)}))
        for n in range(len(parts))
    )
    return package(common, *parts, variants=variants)


PACKAGES = packages()

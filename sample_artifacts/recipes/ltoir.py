"""LTO-IR: raw from every compiler release, linked by nvJitLink, and inside fatbins."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from product import Image, Member, Product
from toolchains import NVFATBIN, NVRTC
from workshop import Workshop

from recipes.recipe import Sample, compression

NEWER_ARCHES = ("90a", "100", "100f", "120")
# What a linker picks is read from entry headers, so that these are what it is asked about.
SELECTED = ("75", "90", "90a", "100a", "100f", "103a", "103f", "110f", "120a", "120f", "121a")
LINKS = (  # nvJitLink release, architecture, releases of axpy's and of scale's compiler
    ("13.4", "80", "12.4", "12.4"),
    ("13.4", "100", "13.0", "13.0"),
    ("13.5", "80", "12.4", "12.4"),
    ("13.5", "80", "13.0", "13.0"),
    ("13.5", "80", "12.4", "13.0"),
    ("13.5", "80", "13.5", "13.5"),
    ("13.5", "90a", "12.4", "12.4"),
)


def raw(shop: Workshop, release: str, arch: str = "80", source: str = "saxpy.cu") -> Product:
    """LTO-IR as NVRTC returns it."""
    return shop.nvrtc(release, source, f"sm_{arch}", "LTOIR")


def from_nvcc(shop: Workshop, release: str) -> Product:
    """LTO-IR as nvcc writes it to a file."""
    command = "nvcc -arch=sm_80 -dlto -ltoir saxpy.cu -o saxpy.ltoir"
    return shop.toolkit(release, command, "saxpy.ltoir", [Image("ltoir", "lto_80", (release,))])


def linked(shop: Workshop, release: str, arch: str, axpy: str, scale: str) -> Product:
    """Two pieces of LTO-IR linked into one by nvJitLink; releases before 13.4 refuse."""
    inputs = [raw(shop, axpy, arch, "axpy.cu"), raw(shop, scale, arch, "scale.cu")]
    return shop.nvjitlink(release, inputs, "LTOIR", "-lto", f"-arch=sm_{arch}")


def packed(shop: Workshop, writer: str, release: str, arch: str = "80", mode: str = "") -> Product:
    """LTO-IR in a fatbin; compressed, and therefore scrambled, unless the mode is "none"."""
    options = [f"-compress={'false' if mode == 'none' else 'true'}"]
    member = Member("LTOIR", raw(shop, release, arch), arch)
    return shop.nvfatbin(
        writer, [member], *options, algorithm=compression(writer, mode or "default")
    )


def packed_with_options(shop: Workshop) -> Product:
    """LTO-IR in a fatbin with an identifier and link options."""
    member = Member("LTOIR", raw(shop, "13.0"), "80", "saxpy", "-ftz=1 -prec-div=0")
    return shop.nvfatbin("13.0", [member], algorithm="zstd")


def packed_linked(shop: Workshop) -> Product:
    """LTO-IR that nvJitLink linked, in a fatbin."""
    member = Member("LTOIR", linked(shop, "13.5", "80", "12.4", "12.4"), "80")
    return shop.nvfatbin("13.5", [member], algorithm="zstd")


def samples() -> Iterator[Sample]:
    """The folders ltoir and fatbin-ltoir."""
    for release in NVRTC:
        yield Sample(f"ltoir/nvrtc-{release}-lto_80.ltoir", partial(raw, release=release))
    for release in ("12.9", "13.0", "13.5"):
        for arch in NEWER_ARCHES:
            path = f"ltoir/nvrtc-{release}-lto_{arch}.ltoir"
            yield Sample(path, partial(raw, release=release, arch=arch))
    for release in ("13.0", "13.5"):
        yield Sample(f"ltoir/nvcc-{release}-lto_80.ltoir", partial(from_nvcc, release=release))
    for release, arch, axpy, scale in LINKS:
        makers = axpy if axpy == scale else f"{axpy}+{scale}"
        path = f"ltoir/nvjitlink-{release}-of-{makers}-lto_{arch}.ltoir"
        yield Sample(path, partial(linked, release=release, arch=arch, axpy=axpy, scale=scale))
    yield from _fatbins()


def _fatbins() -> Iterator[Sample]:
    for release in NVRTC:
        writer = release if release in NVFATBIN else "12.4"
        path = f"fatbin-ltoir/nvfatbin-{writer}-of-{release}-lto_80.fatbin"
        yield Sample(path, partial(packed, writer=writer, release=release))
    for release, arch in (("12.9", "100f"), ("13.0", "90a"), ("13.5", "100f")):
        path = f"fatbin-ltoir/nvfatbin-{release}-of-{release}-lto_{arch}.fatbin"
        yield Sample(path, partial(packed, writer=release, release=release, arch=arch))
    for release in ("12.4", "13.5"):
        path = f"fatbin-ltoir/nvfatbin-{release}-of-{release}-lto_80-none.fatbin"
        yield Sample(path, partial(packed, writer=release, release=release, mode="none"))
    for arch in SELECTED:
        path = f"fatbin-ltoir/nvfatbin-13.0-of-13.0-lto_{arch}-none.fatbin"
        yield Sample(path, partial(packed, writer="13.0", release="13.0", arch=arch, mode="none"))
    yield Sample(
        "fatbin-ltoir/nvfatbin-13.5-of-12.4-lto_80.fatbin",
        partial(packed, writer="13.5", release="12.4"),
    )
    yield Sample("fatbin-ltoir/nvfatbin-13.0-options.fatbin", packed_with_options)
    yield Sample("fatbin-ltoir/nvfatbin-13.5-linked.fatbin", packed_linked)

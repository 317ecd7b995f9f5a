"""Cubins of both ELF generations, compiled and linked, and standalone PTX."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from product import Image, Product, releases
from toolchains import NVCC
from workshop import Workshop

from recipes.recipe import Sample, sass

LINKABLE = "-rdc=true"

HAND_WRITTEN = b"""\
.version 7.8
.target sm_75
.address_size 64

.visible .entry nothing()
{
    ret;
}
"""


def compiled(
    shop: Workshop, release: str, arch: str, *options: str, source: str = "saxpy.cu"
) -> Product:
    """A cubin from NVRTC."""
    return shop.nvrtc(release, source, arch, "CUBIN", *options)


def assembled(shop: Workshop, release: str, virtual: str, real: str) -> Product:
    """A cubin that ptxas makes for a newer architecture than its PTX was written for."""
    return shop.ptxas(release, shop.nvrtc(release, "saxpy.cu", virtual, "PTX"), real)


def nvlinked(shop: Workshop, linker: str, arch: str, axpy: str, scale: str) -> Product:
    """A cubin that nvlink puts together from two relocatable ones of these releases."""
    inputs = {
        "axpy.cubin": compiled(shop, axpy, arch, LINKABLE, source="axpy.cu"),
        "scale.cubin": compiled(shop, scale, arch, LINKABLE, source="scale.cu"),
    }
    image = Image("sass", arch, releases([(axpy,), (scale,)]), linked_by=(linker,))
    command = f"nvlink -arch={arch} axpy.cubin scale.cubin -o linked.cubin"
    return shop.toolkit(linker, command, "linked.cubin", [image], inputs)


def jitlinked(shop: Workshop, linker: str, arch: str, axpy: str, scale: str) -> Product:
    """The same link by nvJitLink."""
    inputs = [
        compiled(shop, axpy, arch, LINKABLE, source="axpy.cu"),
        compiled(shop, scale, arch, LINKABLE, source="scale.cu"),
    ]
    return shop.nvjitlink(linker, inputs, "Cubin", f"-arch={arch}")


def jitcompiled(shop: Workshop, linker: str, compiler: str) -> Product:
    """A cubin that nvJitLink compiles from the LTO-IR of another release."""
    inputs = [shop.nvrtc(compiler, source, "sm_80", "LTOIR") for source in ("axpy.cu", "scale.cu")]
    return shop.nvjitlink(linker, inputs, "Cubin", "-lto", "-arch=sm_80")


def from_nvcc(shop: Workshop, release: str, source: str = "saxpy") -> Product:
    """A cubin from nvcc."""
    command = f"nvcc -arch=sm_80 -cubin {source}.cu -o {source}.cubin"
    return shop.toolkit(release, command, f"{source}.cubin", [sass("sm_80", release)])


def ptx(shop: Workshop, release: str, arch: str) -> Product:
    """PTX from NVRTC."""
    return shop.nvrtc(release, "saxpy.cu", arch, "PTX")


def ptx_from_nvcc(shop: Workshop, release: str, source: str = "saxpy") -> Product:
    """PTX from nvcc."""
    made = ptx(shop, release, "sm_80")
    command = f"nvcc -arch=sm_80 -ptx {source}.cu -o {source}.ptx"
    return shop.toolkit(release, command, f"{source}.ptx", made.images)


def hand_written(shop: Workshop) -> Product:
    """PTX that no compiler made; ptxas is asked whether it is right."""
    image = Image("ptx", "compute_75", (), ptx_isa="7.8")
    command = "written by hand"
    written = Product(HAND_WRITTEN, "hand", "", "", (command,), (image,))
    shop.ptxas("11.8", written, "sm_75")
    return written


def samples() -> Iterator[Sample]:
    """The folders cubin and ptx."""
    for release in ("11.8", "12.0", "12.4", "12.9", "13.0", "13.5"):
        for arch in ("sm_80", "sm_90", "sm_90a"):
            if (release, arch) != ("11.8", "sm_90a"):  # 12.0 is the first to know it
                yield _cubin(release, arch)
    yield _cubin("12.9", "sm_70")  # the last to know it
    yield _cubin("12.8", "sm_100")
    yield _cubin("12.8", "sm_100a")
    for release in ("12.9", "13.0", "13.5"):
        for arch in ("sm_100", "sm_100a", "sm_100f"):
            yield _cubin(release, arch)
    for release in ("12.4", "13.5"):
        name = f"cubin/nvrtc-{release}-sm_80"
        yield Sample(f"{name}-rdc.cubin", partial(compiled_as, release=release, option=LINKABLE))
        yield Sample(f"{name}-debug.cubin", partial(compiled_as, release=release, option="-G"))
        path = f"cubin/ptxas-{release}-sm_90-of-compute_75.cubin"
        yield Sample(path, partial(assembled, release=release, virtual="sm_75", real="sm_90"))
    for release in NVCC:
        yield Sample(f"cubin/nvcc-{release}-sm_80.cubin", partial(from_nvcc, release=release))
    without_kernels = partial(from_nvcc, release="13.0", source="scale")
    yield Sample("cubin/nvcc-13.0-sm_80-without-kernels.cubin", without_kernels)
    yield from _links()
    yield from _ptx()


def compiled_as(shop: Workshop, release: str, option: str) -> Product:
    """A cubin for sm_80 from NVRTC with one more option."""
    return compiled(shop, release, "sm_80", option)


def _cubin(release: str, arch: str) -> Sample:
    path = f"cubin/nvrtc-{release}-{arch}.cubin"
    return Sample(path, partial(compiled, release=release, arch=arch))


def _links() -> Iterator[Sample]:
    for tool, link, linker, arch, axpy, scale in (
        ("nvlink", nvlinked, "13.0", "sm_80", "12.0", "13.0"),
        ("nvlink", nvlinked, "13.5", "sm_80", "12.4", "12.4"),
        ("nvlink", nvlinked, "13.5", "sm_80", "12.4", "13.0"),
        ("nvjitlink", jitlinked, "12.4", "sm_80", "11.8", "12.4"),
        ("nvjitlink", jitlinked, "12.9", "sm_80", "12.4", "12.4"),
        ("nvjitlink", jitlinked, "13.0", "sm_100", "12.8", "12.9"),
        ("nvjitlink", jitlinked, "13.5", "sm_80", "12.4", "13.0"),
    ):
        makers = axpy if axpy == scale else f"{axpy}+{scale}"
        path = f"cubin/{tool}-{linker}-of-{makers}-{arch}.cubin"
        yield Sample(path, partial(link, linker=linker, arch=arch, axpy=axpy, scale=scale))
    for linker, compiler in (("12.9", "12.4"), ("13.5", "12.4"), ("13.5", "13.0")):
        path = f"cubin/nvjitlink-{linker}-of-{compiler}-lto_80.cubin"
        yield Sample(path, partial(jitcompiled, linker=linker, compiler=compiler))


def _ptx() -> Iterator[Sample]:
    for release in ("11.8", "12.0", "12.4", "12.6", "12.9", "13.0", "13.5"):
        path = f"ptx/nvrtc-{release}-compute_80.ptx"
        yield Sample(path, partial(ptx, release=release, arch="sm_80"))
    for release, arch in (("12.9", "90a"), ("13.5", "100f")):
        path = f"ptx/nvrtc-{release}-compute_{arch}.ptx"
        yield Sample(path, partial(ptx, release=release, arch=f"sm_{arch}"))
    for release in ("13.0", "13.5"):
        path = f"ptx/nvcc-{release}-compute_80.ptx"
        yield Sample(path, partial(ptx_from_nvcc, release=release))
    without_kernels = partial(ptx_from_nvcc, release="13.0", source="scale")
    yield Sample("ptx/nvcc-13.0-compute_80-without-kernels.ptx", without_kernels)
    yield Sample("ptx/hand-written-compute_75.ptx", hand_written)

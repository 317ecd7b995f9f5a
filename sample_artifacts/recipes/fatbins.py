"""Fatbins with PTX, SASS and Tile IR: every writer, compression mode and kind of entry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from product import Image, Member, Product
from toolchains import PTX_ISA
from workshop import Workshop

from recipes.recipe import Sample, compression, sass

MODES = ("default", "none", "speed", "balance", "size")
BOTH = "-gencode arch=compute_80,code=[sm_80,compute_80]"


def ptx(arch: str, release: str, algorithm: str = "none", debug: bool = False) -> Image:
    """PTX as nvcc or NVRTC of a release writes it."""
    isa = PTX_ISA[release]
    return Image("ptx", arch, (release,), compression=algorithm, debug=debug, ptx_isa=isa)


def both(release: str, of_sass: str, of_ptx: str) -> list[Image]:
    """The images of code=[sm_80,compute_80] with their compressions."""
    return [sass("sm_80", release, of_sass), ptx("compute_80", release, of_ptx)]


def nvcc(shop: Workshop, release: str, options: str, images: Sequence[Image]) -> Product:
    """A fatbin straight from nvcc."""
    command = f"nvcc -fatbin {options} saxpy.cu -o saxpy.fatbin"
    return shop.toolkit(release, command, "saxpy.fatbin", images)


def pair(shop: Workshop, release: str, arch: str, *options: str) -> list[Member]:
    """The cubin and the PTX of saxpy by NVRTC of a release, ready for nvFatbin."""
    number = arch.removeprefix("sm_")
    return [
        Member("Cubin", shop.nvrtc(release, "saxpy.cu", arch, "CUBIN", *options), number),
        Member("PTX", shop.nvrtc(release, "saxpy.cu", arch, "PTX", *options), number),
    ]


def packed(shop: Workshop, release: str, mode: str = "", arch: str = "sm_80") -> Product:
    """Everything compressed by nvFatbin; writers before 12.6 know no modes."""
    # nvFatbin 12.6 lets -compress-all overrule -compress-mode=none.
    options = [] if mode == "none" else ["-compress-all"]
    if mode:
        options.append(f"-compress-mode={mode}")
    algorithm = compression(release, mode or "default")
    return shop.nvfatbin(release, pair(shop, release, arch), *options, algorithm=algorithm)


def uncompressed(shop: Workshop, release: str) -> Product:
    """Nothing compressed, said the way every release understands."""
    options = ["-compress=false"]
    return shop.nvfatbin(release, pair(shop, release, "sm_80"), *options, algorithm="none")


def with_flags(shop: Workshop, release: str, option: str) -> Product:
    """Entries with another producer or host system in their flags."""
    algorithm = compression(release)
    return shop.nvfatbin(release, pair(shop, release, "sm_80"), option, algorithm=algorithm)


def debug(shop: Workshop, release: str) -> Product:
    """Entries with debug information, and named after their source."""
    cubin, text = pair(shop, release, "sm_80", "-G")
    named = Member("Cubin", cubin.product, "80", identifier="saxpy.cu")
    named_ptx = Member("PTX", text.product, "80", "saxpy.cu", "-g")
    return shop.nvfatbin(release, [named, named_ptx], "-g", algorithm=compression(release))


def relocatable_ptx(shop: Workshop) -> Product:
    """PTX that nvFatbin takes out of an -rdc object (kind 0x40)."""
    command = "nvcc -rdc=true -c -gencode arch=compute_80,code=compute_80 axpy.cu -o axpy.o"
    obj = shop.toolkit("13.5", command, "axpy.o", [ptx("compute_80", "13.5")])
    return shop.nvfatbin("13.5", [Member("Reloc", obj)], algorithm="zstd")


def concatenated(shop: Workshop) -> Product:
    """Three cubins in one concatenated entry (kind 0x100) by nvFatbin."""
    members = [
        Member("Cubin", shop.nvrtc("13.5", "saxpy.cu", arch, "CUBIN"), arch.removeprefix("sm_"))
        for arch in ("sm_80", "sm_90a", "sm_100f")
    ]
    return shop.nvfatbin("13.5", members, "-concat", "-compress-all", algorithm="zstd")


def two_regions(shop: Workshop) -> Product:
    """The fatbins of two toolkits, one after the other in one file."""
    inputs = {"one.fatbin": packed(shop, "12.4"), "two.fatbin": packed(shop, "13.5")}
    return shop.host("cat one.fatbin two.fatbin > two-regions.fatbin", "two-regions.fatbin", inputs)


def mixed_makers(shop: Workshop) -> Product:
    """Cubins of three releases and the PTX of a fourth in one region."""
    made = [
        Member("Cubin", shop.nvrtc(release, "saxpy.cu", arch, "CUBIN"), arch.removeprefix("sm_"))
        for release, arch in (("11.8", "sm_80"), ("12.4", "sm_90"), ("13.0", "sm_100"))
    ]
    text = Member("PTX", shop.nvrtc("12.9", "saxpy.cu", "sm_90", "PTX"), "90")
    return shop.nvfatbin("13.5", [*made, text], "-compress-all", algorithm="zstd")


def tile(shop: Workshop) -> Product:
    """Tile IR and the SASS made of it; nvcc writes the cubin first, for sm_100a."""
    command = "nvcc --enable-tile -std=c++20 -tilefatbin -arch=sm_100 tile.cu -o tile.fatbin"
    images = [sass("sm_100a", "13.5"), Image("tileir", "", ("13.5",), compression="zstd")]
    return shop.toolkit("13.5", command, "tile.fatbin", images)


def empty(shop: Workshop) -> Product:
    """A region of which nothing but the header exists."""
    return shop.nvfatbin("13.5", [], algorithm="zstd")


def many_arches(shop: Workshop) -> Product:
    """A library's usual list of architectures, with `a` and `f`."""
    arches = ("75", "80", "90", "90a", "100f", "103", "120a")
    options = " ".join(f"-gencode arch=compute_{arch},code=sm_{arch}" for arch in arches)
    images = [sass(f"sm_{arch}", "13.5", "zstd") for arch in arches]
    return nvcc(shop, "13.5", f"{options} -Xfatbin -compress-all", images)


def samples() -> Iterator[Sample]:
    """The folder fatbin."""
    for release in ("13.0", "13.2", "13.5"):
        for mode in MODES:
            used = compression(release, mode)
            options = f"{BOTH} --compress-mode={mode} -Xfatbin -compress-all"
            images = both(release, used, used)
            make = partial(nvcc, release=release, options=options, images=images)
            yield Sample(f"fatbin/nvcc-{release}-{mode}.fatbin", make)
    for release in ("12.6", "12.9", "13.5"):
        for mode in MODES:
            path = f"fatbin/nvfatbin-{release}-{mode}.fatbin"
            yield Sample(path, partial(packed, release=release, mode=mode))
    yield Sample("fatbin/nvfatbin-12.4.fatbin", partial(packed, release="12.4"))
    yield Sample("fatbin/nvfatbin-12.4-none.fatbin", partial(uncompressed, release="12.4"))
    for release, arch in (("12.9", "90a"), ("12.9", "100f"), ("13.5", "90a"), ("13.5", "100f")):
        path = f"fatbin/nvfatbin-{release}-sm_{arch}.fatbin"
        yield Sample(path, partial(packed, release=release, arch=f"sm_{arch}"))
    for release in ("12.4", "13.0"):
        yield Sample(f"fatbin/nvfatbin-{release}-debug.fatbin", partial(debug, release=release))
    yield from _nvcc_options()
    yield from _oddities()


def _nvcc_options() -> Iterator[Sample]:
    for name, option in (
        ("plain", ""),
        ("lineinfo", "-lineinfo"),
        ("maxrregcount", "-maxrregcount=40"),
    ):
        images = both("13.0", "none", "zstd")
        make = partial(nvcc, release="13.0", options=f"{BOTH} {option}", images=images)
        yield Sample(f"fatbin/nvcc-13.0-{name}.fatbin", make)
    yield Sample("fatbin/nvcc-13.5-many-arches.fatbin", many_arches)
    arches = "-gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=[sm_90,compute_90]"
    # With -concat the PTX comes first: all cubins go into one entry, written last.
    images = [
        ptx("compute_90", "13.5", "zstd"),
        *(sass(a, "13.5", "zstd") for a in ("sm_80", "sm_90")),
    ]
    make = partial(nvcc, release="13.5", options=f"{arches} -Xfatbin -concat", images=images)
    yield Sample("fatbin/nvcc-13.5-concat.fatbin", make)
    yield Sample("fatbin/nvcc-13.5-tile.fatbin", tile)


def _oddities() -> Iterator[Sample]:
    yield Sample("fatbin/nvfatbin-13.5-concat.fatbin", concatenated)
    yield Sample("fatbin/nvfatbin-13.5-reloc.fatbin", relocatable_ptx)
    yield Sample("fatbin/nvfatbin-13.5-empty.fatbin", empty)
    yield Sample("fatbin/nvfatbin-13.5-mixed-makers.fatbin", mixed_makers)
    yield Sample("fatbin/two-regions.fatbin", two_regions)
    for name, option in (("windows", "-host=windows"), ("opencl", "-opencl")):
        path = f"fatbin/nvfatbin-12.9-{name}.fatbin"
        yield Sample(path, partial(with_flags, release="12.9", option=option))

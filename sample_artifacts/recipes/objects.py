"""Host files that carry device code: objects, archives, executables, shared libraries, Windows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from product import Image, Product, history
from toolchains import ZIG, ZSTANDARD
from workshop import Workshop

from recipes import cubins, fatbins, ltoir
from recipes.fatbins import ptx
from recipes.recipe import Sample, sass

CODES = {"sass": "sm_80", "sass+ptx": "sm_80,compute_80"}
SMALL = "-O1 -s -Wl,-z,noseparate-code -Wl,--build-id=none"
ZIG_RUN = "PYTHONPATH=$PACKAGE $PYTHON -m ziglang"
SAVE_AS_ZSTD = (
    "PYTHONPATH=$PACKAGE $PYTHON -c 'import sys, zstandard;"
    ' sys.stdout.buffer.write(zstandard.compress(open(sys.argv[1], "rb").read(), 19))\''
)


def relocatable(release: str, code: str) -> list[Image]:
    """The images of an -rdc object: unlike plain SASS, relocatable SASS is always compressed."""
    images = [sass("sm_80", release, "zstd", relocatable=True), ptx("compute_80", release, "zstd")]
    return images[: len(CODES[code].split(","))]


def plain(
    shop: Workshop, release: str, code: str = "sass+ptx", source: str = "saxpy.cu"
) -> Product:
    """A whole-program object."""
    images = fatbins.both(release, "none", "zstd")[: len(CODES[code].split(","))]
    options = f"-c -gencode arch=compute_80,code=[{CODES[code]}]"
    return shop.toolkit(release, f"nvcc {options} {source} -o out.o", "out.o", images)


def rdc(
    shop: Workshop, release: str, source: str, code: str = "sass+ptx", flags: str = ""
) -> Product:
    """A relocatable device code object."""
    options = f"-rdc=true {flags} -c -gencode arch=compute_80,code=[{CODES[code]}]"
    command = f"nvcc {options} {source} -o out.o"
    return shop.toolkit(release, command, "out.o", relocatable(release, code))


def lto(shop: Workshop, source: str, code: str) -> Product:
    """An object with LTO-IR, alone or in front of SASS."""
    images = [Image("ltoir", "lto_80", ("13.5",), compression="zstd", scrambled=True)]
    if "sm_80" in code:
        images.append(sass("sm_80", "13.5", "zstd", relocatable=True))
    command = f"nvcc -rdc=true -c -gencode arch=compute_80,code=[{code}] {source} -o out.o"
    return shop.toolkit("13.5", command, "out.o", images)


def device_link(
    shop: Workshop, release: str, objects: Mapping[str, Product], flags: str
) -> Product:
    """What nvcc -dlink makes of -rdc objects: a fatbin of one linked cubin, and a wrapper."""
    image = Image("sass", "sm_80", (release,), linked_by=(release,))
    command = f"nvcc -dlink {flags} {' '.join(objects)} -o dlink.o"
    return shop.toolkit(release, command, "dlink.o", [image], objects)


def rdc_pair(shop: Workshop, release: str, code: str) -> dict[str, Product]:
    """The two objects of the axpy program."""
    names = ("axpy", "scale")
    return {f"{name}.o": rdc(shop, release, f"{name}.cu", code) for name in names}


def linked_rdc(shop: Workshop, release: str, code: str = "sass+ptx") -> Product:
    """The device link of the axpy program, as an object."""
    objects = rdc_pair(shop, release, code)
    return device_link(shop, release, objects, "-gencode arch=compute_80,code=sm_80")


def program(shop: Workshop, release: str, code: str, style: str, flags: str = "") -> Product:
    """An executable without ("plain") or with ("rdc") relocatable device code."""
    if style == "plain":
        objects = {"saxpy.o": plain(shop, release, code)}
    else:
        # The linker keeps the objects' regions (__nv_relfatbin) before the linked one (.nv_fatbin).
        objects = rdc_pair(shop, release, code)
        objects["dlink.o"] = linked_rdc(shop, release, code)
    command = f"g++ {SMALL} {flags} main.cpp registrar.cpp {' '.join(objects)} -o program"
    return shop.host(command, "program", objects)


def linked_for_another_gpu(shop: Workshop) -> Product:
    """An executable for sm_80 whose objects have SASS for sm_90, too, which no device link used."""
    options = "-rdc=true -c -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90"
    images = [sass(arch, "13.5", "zstd", relocatable=True) for arch in ("sm_80", "sm_90")]
    objects = {
        f"{name}.o": shop.toolkit("13.5", f"nvcc {options} {name}.cu -o out.o", "out.o", images)
        for name in ("axpy", "scale")
    }
    flags = "-gencode arch=compute_80,code=sm_80"
    objects["dlink.o"] = device_link(shop, "13.5", objects, flags)
    command = f"g++ {SMALL} main.cpp registrar.cpp {' '.join(objects)} -o program"
    return shop.host(command, "program", objects)


def lto_program(shop: Workshop) -> Product:
    """An executable whose cubin was made at link time from LTO-IR that it still carries."""
    objects = {f"{name}.o": lto(shop, f"{name}.cu", "lto_80") for name in ("axpy", "scale")}
    objects["dlink.o"] = device_link(shop, "13.5", objects, "-dlto -arch=sm_80")
    command = f"g++ {SMALL} main.cpp registrar.cpp {' '.join(objects)} -o program"
    return shop.host(command, "program", objects)


def shared_library(shop: Workshop) -> Product:
    """A stripped shared library."""
    command = f"nvcc -c -Xcompiler=-fPIC {fatbins.BOTH} saxpy.cu -o out.o"
    objects = {
        "saxpy.o": shop.toolkit("13.5", command, "out.o", fatbins.both("13.5", "none", "zstd"))
    }
    return shop.host(f"g++ -shared {SMALL} saxpy.o -o libsaxpy.so", "libsaxpy.so", objects)


def without_section_headers(shop: Workshop) -> Product:
    """The same library after its section header table was declared absent."""
    library = shared_library(shop)
    data = bytearray(library.data)
    data[0x28:0x30] = bytes(8)  # e_shoff
    data[0x3C:0x40] = bytes(4)  # e_shnum, e_shstrndx
    commands = history([library], "zero e_shoff, e_shnum and e_shstrndx")
    return replace(library, data=bytes(data), commands=commands)


def not_device_linked(shop: Workshop) -> Product:
    """-rdc objects in a shared library without a device link, so with undefined symbols."""
    objects = {
        f"{name}.o": rdc(shop, "13.5", f"{name}.cu", flags="-Xcompiler=-fPIC")
        for name in ("axpy", "scale")
    }
    command = f"g++ -shared {SMALL} {' '.join(objects)} -o libaxpy.so"
    return shop.host(command, "libaxpy.so", objects)


def archive(shop: Workshop, command: str, output: str) -> Product:
    """An archive of the two -rdc objects, under the names they have among the samples."""
    objects = {
        f"nvcc-13.5-rdc-{name}.o": rdc(shop, "13.5", f"{name}.cu") for name in ("axpy", "scale")
    }
    line = f"{command} {' '.join(objects)}"
    return shop.host(line, output, objects, package=ZIG if "ziglang" in command else "")


def tile_object(shop: Workshop) -> Product:
    """An object with two regions: one for ordinary code, one for tile code."""
    options = "--enable-tile -std=c++20 -c -gencode arch=compute_100,code=[sm_100,compute_100]"
    images = [
        *(sass("sm_100", "13.5"), ptx("compute_100", "13.5", "zstd")),
        *(sass("sm_100a", "13.5"), Image("tileir", "", ("13.5",), compression="zstd")),
    ]
    return shop.toolkit("13.5", f"nvcc {options} tile.cu -o out.o", "out.o", images)


def bin2c(shop: Workshop) -> Product:
    """Fatbins as C arrays in .rodata and in .data."""
    headers = {
        "constant": (fatbins.packed(shop, "13.5"), "--const"),
        "writable": (ltoir.packed(shop, "12.9", "12.9"), ""),
    }
    inputs = {}
    for name, (fatbin, option) in headers.items():
        command = f"bin2c {option} --name {name} {name}.fatbin > {name}.h"
        inputs[f"{name}.h"] = shop.toolkit(
            "13.5", command, f"{name}.h", fatbin.images, {f"{name}.fatbin": fatbin}
        )
    # The object holds .data before .rodata.
    images = [*inputs["writable.h"].images, *inputs["constant.h"].images]
    return shop.host("gcc -O1 -c bin2c.c -o bin2c.o", "bin2c.o", inputs, images)


def naked(shop: Workshop) -> Product:
    """A cubin and LTO-IR in .rodata and a zstd-compressed cubin in .ldata, no fatbin anywhere."""
    cubin = cubins.compiled(shop, "13.0", "sm_80")
    older = cubins.compiled(shop, "12.4", "sm_90")
    squeezed = shop.host(
        f"{SAVE_AS_ZSTD} older.cubin > older.zst",
        "older.zst",
        {"older.cubin": older},
        [replace(older.images[0], compression="zstd")],
        package=ZSTANDARD,
    )
    inputs = {
        "saxpy.cubin": cubin,
        "saxpy.ltoir": ltoir.raw(shop, "12.8"),
        "saxpy.cubin.zst": squeezed,
    }
    return shop.host("gcc -c naked.S -o naked.o", "naked.o", inputs)


def windows_fatbin(shop: Workshop) -> dict[str, Product]:
    """A fatbin whose entries say Windows."""
    members = fatbins.pair(shop, "13.0", "sm_80")
    fatbin = shop.nvfatbin("13.0", members, "-host=windows", "-compress-all", algorithm="zstd")
    return {"saxpy.fatbin": fatbin}


def windows(shop: Workshop, output: str, flags: str, fatbin: str, segment: str) -> Product:
    """A COFF object or a DLL."""
    defines = f"""-DFATBIN='"{fatbin}"' -DSEGMENT='"{segment}"'"""
    target = "-target x86_64-windows-gnu -std=c23 -O1 -g0 -nostdlib"
    command = f"{ZIG_RUN} cc {target} {flags} {defines} windows.c -o {output}"
    return shop.host(command, output, windows_fatbin(shop), package=ZIG)


def coff_object(shop: Workshop) -> Product:
    """A COFF object with the full section names."""
    return windows(shop, "saxpy.obj", "-c", ".nv_fatbin", ".nvFatBinSegment")


def coff_library(shop: Workshop) -> Product:
    """A COFF library of that object."""
    command = f"{ZIG_RUN} lib /nologo /out:saxpy.lib saxpy.obj"
    return shop.host(command, "saxpy.lib", {"saxpy.obj": coff_object(shop)}, package=ZIG)


def dll(shop: Workshop) -> Product:
    """A PE DLL."""
    return windows(shop, "saxpy.dll", "-shared -s -Wl,-e,entry", ".nv_fatb", ".nvFatBi")


def aarch64(shop: Workshop) -> Product:
    """An object for a big Arm host, such as GH200's."""
    command = f"{ZIG_RUN} cc -target aarch64-linux-gnu -c wrapped.S -o wrapped.o"
    inputs = {"saxpy.fatbin": fatbins.packed(shop, "13.0", arch="sm_90")}
    return shop.host(command, "wrapped.o", inputs, package=ZIG)


def constants(shop: Workshop) -> Product:
    """An object that has every magic number as a constant, and no image."""
    nothing = Product(b"", "gcc", "", "", (), ())
    return shop.host("gcc -O1 -c constants.c -o constants.o", "constants.o", {"unused": nothing})


def samples() -> Iterator[Sample]:
    """The folder objects."""
    for release in ("13.0", "13.5"):
        name = f"objects/nvcc-{release}"
        yield Sample(f"{name}-plain.o", partial(plain, release=release))
        for unit in ("axpy", "scale"):
            make = partial(rdc, release=release, source=f"{unit}.cu")
            yield Sample(f"{name}-rdc-{unit}.o", make)
        yield Sample(f"{name}-dlink.o", partial(linked_rdc, release=release))
        for code in CODES:
            for style in ("plain", "rdc"):
                make = partial(program, release=release, code=code, style=style)
                yield Sample(f"{name}-{style}-{code}", make)
    make = partial(program, release="13.5", code="sass", style="rdc", flags="-no-pie")
    yield Sample("objects/nvcc-13.5-rdc-sass-no-pie", make)
    yield Sample("objects/nvcc-13.5-rdc-sm_90-linked-for-sm_80", linked_for_another_gpu)
    yield from _lto_and_libraries()
    yield from _carriers()


def _lto_and_libraries() -> Iterator[Sample]:
    yield Sample("objects/nvcc-13.5-lto.o", partial(lto, source="axpy.cu", code="lto_80"))
    yield Sample(
        "objects/nvcc-13.5-lto+sass.o", partial(lto, source="axpy.cu", code="lto_80,sm_80")
    )
    yield Sample("objects/nvcc-13.5-lto-program", lto_program)
    yield Sample("objects/nvcc-13.5-tile.o", tile_object)
    yield Sample("objects/libsaxpy.so", shared_library)
    yield Sample("objects/libsaxpy-no-section-headers.so", without_section_headers)
    yield Sample("objects/libaxpy-no-device-link.so", not_device_linked)
    for name, command in (
        ("libaxpy.a", "ar rcD libaxpy.a"),
        ("libaxpy-thin.a", "ar rcTD libaxpy-thin.a"),
        ("libaxpy-bsd.a", f"{ZIG_RUN} ar --format=bsd rcD libaxpy-bsd.a"),
    ):
        yield Sample(f"objects/{name}", partial(archive, command=command, output=name))


def _carriers() -> Iterator[Sample]:
    yield Sample("objects/bin2c.o", bin2c)
    yield Sample("objects/naked.o", naked)
    yield Sample("objects/saxpy.obj", coff_object)
    yield Sample("objects/saxpy.lib", coff_library)
    yield Sample("objects/saxpy.dll", dll)
    yield Sample("objects/aarch64.o", aarch64)
    yield Sample("objects/constants.o", constants)

"""Objects with and without their device link: the rule speaks exactly where linkers fail."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from libraries_made import build
from msgspec.structs import replace
from rule_cases import spares, strikes
from rules import ask, image
from samples import FOLDER

import ltocompat
from ltocompat.commands.explain import explain
from ltocompat.model.arch import Release
from ltocompat.model.image import HostBinary, ImageKind, Module
from ltocompat.model.signature import module_signature
from ltocompat.model.symbols import DeviceSymbols
from ltocompat.model.target import Gpu
from ltocompat.model.verdict import Route, Verdict
from ltocompat.rules.catalogue import found_about
from ltocompat.rules.rule import Component, Link, Requirement, Subject
from ltocompat.rules.selection import pick_for_driver

OBJECTS = FOLDER / "objects"
GPLUSPLUS, NM = shutil.which("g++") or "", shutil.which("nm") or ""
NVCC, NVLINK = shutil.which("nvcc") or "", shutil.which("nvlink") or ""
needs_linker = pytest.mark.skipif(
    not GPLUSPLUS or not NM or sys.platform != "linux", reason="needs g++ and nm"
)
needs_nvcc = pytest.mark.skipif(
    not NVCC or not NVLINK or not GPLUSPLUS, reason="needs nvcc and nvlink"
)
AXPY, SCALE = "nvcc-13.0-rdc-axpy.o", "nvcc-13.0-rdc-scale.o"
SCALE_13_5 = "nvcc-13.5-rdc-scale.o"
LINKED = "nvcc-13.0-dlink.o"
_MISSING = re.compile(r"undefined reference to `((?:__cudaRegisterLinkedBinary|__fatbinwrap)_\w+)'")


def hosts(path: Path) -> list[HostBinary]:
    return [record for record in ltocompat.inspect(path) if isinstance(record, HostBinary)]


def required(host: HostBinary) -> list[Requirement]:
    found = list(found_about("HostBinary", host))
    return [each_requirement for each_requirement in found if each_requirement.rule == "BLD-01"]


def symbols(path: Path, *, defined: bool) -> set[str]:
    """By nm: the names that a file has, or lacks."""
    options = ["--defined-only" if defined else "--undefined-only", "--format=posix"]
    options += ["--dynamic"] if path.suffix == ".so" else []
    process = subprocess.run([NM, *options, path], capture_output=True, text=True, check=True)
    return {line.split()[0] for line in process.stdout.splitlines() if " " in line}


def cudart(folder: Path, objects: Sequence[Path]) -> Path:
    """A stand-in with the functions of the CUDA runtime that these objects call."""
    wanted = set().union(*(symbols(object_, defined=False) for object_ in objects))
    names = {text for text in wanted if text.startswith("__cuda") and "LinkedBinary" not in text}
    source = "".join(f"void {name}(void) {{}}\n" for name in sorted(names))
    return build(folder / "libcudart.so.13", source=source)


def link(folder: Path, *names: str) -> tuple[int, set[str]]:
    """What g++ says: its exit status, and the registrations that it misses."""
    objects = [OBJECTS / name for name in names]
    main = folder / "main.cpp"
    main.write_text("int main() { return 0; }\n")
    command = [GPLUSPLUS, "-no-pie", main, *objects, cudart(folder, objects), "-o", folder / "p"]
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, check=False, env={"PATH": "/usr/bin"}
    )
    return done.returncode, set(_MISSING.findall(done.stderr))


def predicted(*names: str) -> set[str]:
    """What the objects together leave undefined, by what the rule says of each."""
    missing = {
        name
        for file in names
        for host in hosts(OBJECTS / file)
        for name in host.undefined_registrations
        if required(host)
    }
    return missing - set().union(*(symbols(OBJECTS / file, defined=True) for file in names))


@needs_linker
@pytest.mark.parametrize(
    ("objects", "links"),
    [
        ((AXPY, SCALE, LINKED), True),
        ((AXPY, LINKED), False),  # the device link saw another object, too
        pytest.param(("nvcc-13.0-plain.o",), True, marks=pytest.mark.slow),
        pytest.param((AXPY, SCALE), False, marks=pytest.mark.slow),
        pytest.param((AXPY,), False, marks=pytest.mark.slow),
        pytest.param(("nvcc-13.5-lto.o", SCALE_13_5), False, marks=pytest.mark.slow),
        pytest.param(
            ("nvcc-13.5-lto+sass.o", SCALE_13_5, "nvcc-13.5-dlink.o"), True, marks=pytest.mark.slow
        ),
    ],
)
def test_the_rule_speaks_where_the_linker_fails(
    tmp_path: Path, objects: tuple[str, ...], *, links: bool
) -> None:
    status, missing = link(tmp_path, *objects)
    assert (status == 0) is links
    assert predicted(*objects) == missing
    assert bool(missing) is not links


@needs_linker
@pytest.mark.parametrize(
    "name",
    [AXPY, *(pytest.param(n, marks=pytest.mark.slow) for n in (SCALE, LINKED, "nvcc-13.5-lto.o"))],
)
@strikes("BLD-01")
def test_an_object_waits_for_its_device_link_with_a_note(tmp_path: Path, name: str) -> None:
    (host,) = hosts(OBJECTS / name)
    (found,) = required(host)
    assert found.component is Component.NONE
    assert found.constraint.judge(None) is Verdict.OK
    assert found.constraint.noted(None)
    _, missing = link(tmp_path, name)
    text = found.consequence.rpartition("undefined reference to ")[2]
    assert text.strip("`'") in missing


@spares("BLD-01")
def test_plain_objects_and_finished_programs_ask_for_nothing() -> None:
    for name in ("nvcc-13.0-plain.o", "nvcc-13.0-rdc-sass", "nvcc-13.5-lto-program", "libsaxpy.so"):
        assert not [requirement for host in hosts(OBJECTS / name) for requirement in required(host)]


@needs_linker
def test_a_shared_library_without_device_link_fails_as_the_loader_says(tmp_path: Path) -> None:
    path = OBJECTS / "libaxpy-no-device-link.so"
    (host,) = hosts(path)
    (found,) = required(host)
    assert found.constraint.judge(None) is Verdict.FAIL
    runtime = cudart(tmp_path, [path])
    code = (
        "import ctypes, sys\n"
        "ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)\n"
        "ctypes.CDLL(sys.argv[2])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, runtime, path], capture_output=True, text=True, check=False
    )
    text = done.stderr.strip().rpartition(": undefined symbol: ")[2]
    assert text.startswith("__cudaRegisterLinkedBinary_")
    assert found.consequence.endswith(f"undefined symbol: {text}")
    assert found.subject == f"undefined {text} and 1 more"


def test_the_device_runtime_has_a_remedy_of_its_own() -> None:
    name = "__fatbinwrap_f4510a67_22_cuda_device_runtime_cu_3ecce0c0_2317245"
    (host,) = hosts(OBJECTS / LINKED)
    found = required(replace(host, undefined_registrations=(name, *host.undefined_registrations)))
    assert ["-lcudadevrt" in requirement.remedy for requirement in found] == [False, True]


def subject(path: Path, arch: str) -> Subject:
    """The first module of a program, as the driver picks from it."""
    module = next(record for record in ltocompat.inspect(path) if isinstance(record, Module))
    gpu = Gpu(arch, ltocompat.SmArch.parse(arch))
    pick = pick_for_driver(module_signature(module), gpu.arch.number)
    return Subject(module_signature(module), Route.LOAD, gpu, pick.images, pick.missed)


@spares("BLD-05")
def test_a_program_that_was_linked_from_ltoir_is_fine() -> None:
    kind = partial(ask, "BLD-05")
    assert not list(kind(subject(OBJECTS / "nvcc-13.5-lto-program", "sm_80")))
    assert not list(kind(subject(OBJECTS / "nvcc-13.0-rdc-sass", "sm_80")))


SOURCES = {
    "a.cu": "extern __device__ int f(int);\n__global__ void k(int *p) { *p = f(*p); }\n",
    "b.cu": "__device__ int f(int x) { return 3 * x; }\n",
}


CODE = {"s": "sm_80", "l": "lto_80", "ls": "[lto_80,sm_80]"}


class Built:
    """A build in a folder, with the real tools."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, text in SOURCES.items():
            (folder / name).write_text(text)

    def run(self, *command: str) -> str:
        """What a tool says."""
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    def objects(self, *names: str) -> tuple[str, ...]:
        """Objects such as ``a-ls.o``, each compiled once: of ``a.cu``, with the code of ``ls``."""
        for name in names:
            source, code = name.removesuffix(".o").split("-")
            if not (self.folder / name).exists():
                flags = ("-rdc=true", "-gencode", f"arch=compute_80,code={CODE[code]}", "-c")
                self.run(NVCC, *flags, f"{source}.cu", "-o", name)
        return names


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return Built(tmp_path_factory.mktemp("build"))


def first_rule(text: str) -> str:
    return explain(text)[0].id


@pytest.mark.slow
@needs_nvcc
def test_ltoir_alone_is_refused_without_dlto(built: Built) -> None:
    text = built.run(NVLINK, "-arch=sm_80", *built.objects("a-l.o", "b-l.o"), "-o", "x.cubin")
    assert "LTO objects found, use -dlto" in text
    assert first_rule(text) == "BLD-05"


@pytest.mark.slow
@needs_nvcc
def test_sass_beside_ltoir_is_linked_in_silence_and_shows_later(built: Built) -> None:
    objects = built.objects("a-ls.o", "b-ls.o")
    assert built.run(NVCC, "-dlink", "-arch=sm_80", *objects, "-o", "d.o") == ""
    runtime = cudart(built.folder, [built.folder / object_ for object_ in (*objects, "d.o")])
    (built.folder / "main.cpp").write_text("int main() { return 0; }\n")
    built.run(GPLUSPLUS, "-no-pie", "main.cpp", *objects, "d.o", str(runtime), "-o", "program")
    (found,) = ask("BLD-05", subject(built.folder / "program", "sm_80"))
    assert found.constraint.noted(None)
    assert found.subject == "SASS that nvlink linked"


@pytest.mark.slow
@needs_nvcc
def test_a_device_link_has_a_real_target(built: Built) -> None:
    text = built.run(NVLINK, "-arch=lto_80", *built.objects("a-s.o", "b-s.o"), "-o", "x.cubin")
    assert first_rule(text) == "BLD-04"


@pytest.mark.slow
@needs_nvcc
def test_an_architecture_that_an_object_lacks(built: Built) -> None:
    built.run(NVCC, "-rdc=true", "-arch=sm_90", "-c", "a.cu", "-o", "a-90.o")
    older = built.objects("b-s.o")
    text = built.run(NVLINK, "-arch=sm_90", "a-90.o", *older, "-o", "x.cubin")
    assert "SM Arch ('sm_90') not found in 'b-s.o'" in text
    assert [rule.id for rule in explain(text)][:2] == ["BLD-10", "BLD-03"]
    built.run("ar", "rcs", "libb.a", *older)
    quiet = built.run(NVLINK, "-arch=sm_90", "a-90.o", "-L.", "-lb", "-o", "x.cubin")
    assert "not found" not in quiet
    assert [rule.id for rule in explain(quiet)][:2] == ["BLD-10", "BLD-03"]


@pytest.mark.slow
@needs_nvcc
def test_dlto_without_libnvvm_in_its_place(built: Built) -> None:
    (built.folder / "empty").mkdir(exist_ok=True)
    objects = built.objects("a-l.o", "b-s.o")
    text = built.run(NVLINK, "-arch=sm_80", "-lto", "-nvvmpath=empty", *objects, "-o", "x.cubin")
    assert first_rule(text) == "BLD-06"


@pytest.mark.slow
@needs_nvcc
def test_an_architecture_that_nvcc_does_not_know(built: Built) -> None:
    text = built.run(NVCC, "-arch=sm_999", "-c", "b.cu", "-o", "x.o")
    assert first_rule(text) == "BLD-07"


@needs_linker
@pytest.mark.slow
@needs_nvcc
def test_what_was_built_without_device_link_does_not_link(built: Built) -> None:
    """The failure of a CMake project that switches on IPO for nvcc."""
    objects = [built.folder / name for name in built.objects("a-l.o", "b-l.o")]
    (built.folder / "main.cpp").write_text("int main() { return 0; }\n")
    text = built.run(
        GPLUSPLUS, "-no-pie", "main.cpp", *map(str, objects), str(cudart(built.folder, objects))
    )
    found = [host for object_ in objects for host in hosts(object_)]
    expected = {name for host in found for name in host.undefined_registrations}
    assert set(_MISSING.findall(text)) == expected


@pytest.mark.parametrize(
    ("first", "user", "second", "expected"),
    [  # nvJitLink 12.6 to 13.5 refuse some links of SASS that calls it, and none of PTX
        (ImageKind.PTX, ImageKind.SASS, ImageKind.PTX, Verdict.UNKNOWN),
        (ImageKind.PTX, ImageKind.PTX, ImageKind.PTX, Verdict.UNDOCUMENTED),
        (ImageKind.SASS, ImageKind.PTX, ImageKind.SASS, Verdict.UNDOCUMENTED),
        (ImageKind.PTX, ImageKind.SASS, ImageKind.SASS, Verdict.UNKNOWN),
        (ImageKind.SASS, ImageKind.SASS, ImageKind.SASS, Verdict.UNKNOWN),
    ],
)
def test_two_definitions_that_sass_of_hopper_calls_are_linked_at_times(
    first: ImageKind, user: ImageKind, second: ImageKind, expected: Verdict
) -> None:
    helper, caller = DeviceSymbols(defined=("f",)), DeviceSymbols(undefined_functions=("f",))
    kinds = ((first, helper), (user, caller), (second, helper))
    images = Counter(image(kind, "sm_90", "12.0", symbols=symbols) for kind, symbols in kinds)
    link = Link(tuple(images.items()), (), None, Release(13, 0), offline=False, certain=True)
    (found,) = ask("BLD-09", link)
    assert found.constraint.judge(Release(13, 0)) is expected
    assert found.constraint.judge(Release(12, 5)) is Verdict.FAIL

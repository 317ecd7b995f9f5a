"""Which entries of a fatbin each nvJitLink picks: writes ``data/selection.json``.

``python tests/measure_picks.py FOLDER [RELEASE ...]`` asks every nvJitLink at hand, or those that
are named, through its C functions and a process a library, without ltocompat. FOLDER keeps what
NVRTC compiles (some 2 GB with the compilers).

The content of an entry is one that links for the target whatever its header says (SASS of the
target itself, PTX and LTO-IR of the lowest architecture), so that the header alone decides; the
kernel in the output tells the entry. What stands alone is of the architecture that it says.
"""

from __future__ import annotations

import ctypes
import json
import random
import re
import resource
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "sample_artifacts")]

from fatbin_writer import KINDS, EntrySpec, entry, region  # noqa: E402

STORED = HERE / "data" / "selection.json"
# nvJitLinkInputType
CUBIN, PTX, FATBIN, OBJECT = 1, 2, 4, 5
MOST = 3  # entries of a fatbin
MIXED = 400  # fatbins of several entries, for each release
SEED = 20261123


def _number(arch: str) -> int:
    return int(arch.rstrip("af"))


_SUFFIXES = {90: "a", **dict.fromkeys((100, 101, 103, 107, 110, 120, 121), "af")}
ABOUT = (
    "found: for which targets nvJitLink finds the only entry; alone: for which it links such PTX "
    "or SASS by itself; objects: for which it links SASS in an object of nvcc 13.0; mixed: target, "
    "entries, and the number of the one that it picked"
)

_PLAIN = (50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90)
_NUMBERS = (*_PLAIN, *(number for number in _SUFFIXES if number != 90))
ARCHS = [f"{n}{suffix}" for n in _NUMBERS for suffix in ("", *_SUFFIXES.get(n, ""))]
ENTRIES = [f"{prefix}_{arch}" for prefix in ("compute", "lto", "sm") for arch in ARCHS]
# The NVRTC that compiles SASS for an architecture: one that older linkers take, too.
_COMPILERS = {
    **dict.fromkeys([arch for arch in ARCHS if _number(arch) <= 90 and arch != "88"], "12.0"),
    **dict.fromkeys(("100", "100a", "101", "101a", "120", "120a"), "12.8"),
    **dict.fromkeys(("100f", "101f", "103", "103a", "103f", "120f", "121", "121a", "121f"), "12.9"),
    **dict.fromkeys(("88", "110", "110a", "110f"), "13.0"),
    **dict.fromkeys(("107", "107a", "107f"), "13.4"),
}
# What nvcc 13.0 compiles for, the only one of the first releases that PyPI has whole.
OBJECTS = [arch for arch in ARCHS if _number(arch) >= 75 and _number(arch) not in (101, 107)]
_FIRST_PTX = {
    "50": "4.0",
    "52": "4.1",
    "53": "4.2",
    "60": "5.0",
    "61": "5.0",
    "62": "5.0",
    "70": "6.0",
    "72": "6.1",
    "75": "6.3",
    "80": "7.0",
    "86": "7.1",
    "87": "7.4",
    "88": "9.0",
    "89": "7.8",
    "90": "7.8",
    "90a": "8.0",
    "100": "8.6",
    "101": "8.6",
    "103": "8.8",
    "107": "9.4",
    "110": "9.0",
    "120": "8.7",
    "121": "8.8",
}


class Pieces:
    """Code by index of its kernel, ``k0`` to ``k2``, compiled once into a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def cubin(self, arch: str, index: int) -> bytes:
        return (self._folder / f"k{index}-{arch}.cubin").read_bytes()

    def ltoir(self, major: int, index: int) -> bytes:
        return (self._folder / f"k{index}-{major}.ltoir").read_bytes()

    def object(self, arch: str) -> bytes:
        return (self._folder / f"k0-{arch}.o").read_bytes()

    @staticmethod
    def ptx(arch: str, index: int, isa: str = "") -> bytes:
        plain = arch.rstrip("af")
        family = "9.0" if plain == "110" else "9.4" if plain == "107" else "8.8"
        isa = isa or (family if arch.endswith("f") else _FIRST_PTX.get(arch, _FIRST_PTX[plain]))
        text = f".version {isa}\n.target sm_{arch}\n.address_size 64\n"
        return f"{text}.visible .entry k{index}() {{ ret; }}\n\0".encode()


def compile_pieces(folder: Path) -> None:
    """Compile what is missing."""
    from toolchains import NVRTC, PackageCache

    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "kernel.cu"
    source.write_text('extern "C" __global__ void NAME(int *p) { *p = threadIdx.x; }\n')
    wanted = [(release, arch, "CUBIN", f"{arch}.cubin") for arch, release in _COMPILERS.items()]
    wanted += [("12.0", "50", "LTOIR", "12.ltoir"), ("13.0", "75", "LTOIR", "13.ltoir")]
    cache = PackageCache(folder / "packages")
    for release in sorted({row[0] for row in wanted}):
        library = cache.file(NVRTC[release], "libnvrtc.so*")
        requests = [
            {
                "library": str(library),
                "source": str(source),
                "options": [
                    *(f"-arch=sm_{arch}", "-rdc=true", f"-DNAME=k{index}"),
                    *(["-dlto"] if want == "LTOIR" else []),
                ],
                "want": want,
                "output": str(folder / f"k{index}-{name}"),
            }
            for made_by, arch, want, name in wanted
            for index in range(MOST)
            if made_by == release and not (folder / f"k{index}-{name}").exists()
        ]
        done = subprocess.run(
            [sys.executable, str(HERE / "oracle" / "nvrtc_child.py")],
            input="".join(json.dumps(request) + "\n" for request in requests),
            env={
                "LD_LIBRARY_PATH": str(library.parent),
                "PYTHONPATH": str(HERE.parent / "sample_artifacts"),
            },
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        for request, line in zip(requests, done.stdout.splitlines(), strict=True):
            if problem := json.loads(line):
                raise RuntimeError(f"{request['output']}: {problem}")


def compile_objects(folder: Path) -> None:
    """Compile what is missing, of each architecture of nvcc 13.0 an object."""
    sys.path.insert(0, str(HERE / "oracle"))
    import nvcc_objects
    from toolchains import PackageCache

    nvcc = nvcc_objects.toolkit("13.0", PackageCache(folder / "packages")) / "nvcc"
    for arch in OBJECTS:
        path = folder / f"k0-{arch}.o"
        code = f"-gencode=arch=compute_{arch},code=sm_{arch}"
        files = (str(folder / "kernel.cu"), "-o", str(path))
        if not path.exists():
            subprocess.run([str(nvcc), "-c", "-rdc=true", "-DNAME=k0", code, *files], check=True)


class Library:
    """One nvJitLink."""

    def __init__(self, path: str, release: str) -> None:
        self._library = ctypes.CDLL(path)
        self._suffix = release.replace(".", "_")

    def _call(self, name: str, *arguments: object) -> int:
        return int(self._library[f"__nvJitLink{name}_{self._suffix}"](*arguments))

    def linked(self, target: str, kind: int, data: bytes, *, lto: bool) -> bytes | None:
        """The cubin; None where the library refuses the link."""
        options = [f"-arch=sm_{target}".encode(), *([b"-lto"] if lto else [])]
        handle = ctypes.c_void_p()
        array = (ctypes.c_char_p * len(options))(*options)
        if self._call("Create", ctypes.byref(handle), len(options), array):
            return None
        kept = ctypes.create_string_buffer(data, len(data))
        size = ctypes.c_size_t(len(data))
        code = self._call("AddData", handle, kind, kept, size, b"input")
        found = None
        if not code and not self._call("Complete", handle):
            length = ctypes.c_size_t()
            self._call("GetLinkedCubinSize", handle, ctypes.byref(length))
            output = ctypes.create_string_buffer(length.value)
            self._call("GetLinkedCubin", handle, output)
            found = output.raw
        self._call("Destroy", ctypes.byref(handle))
        return found


class ModuleRequirement:
    """One nvJitLink, asked which entry it picks."""

    def __init__(self, path: str, release: str, pieces: Pieces) -> None:
        self._library = Library(path, release)
        self._major = int(release.partition(".")[0])
        self._pieces = pieces

    def has(self, target: str) -> bool:
        """Whether it makes code for a target."""
        low = self._pieces.ptx(*self._lowest(0))
        linked = self._library.linked(target, PTX, low, lto=False)
        return linked is not None

    def _lowest(self, index: int) -> tuple[str, int, str]:
        return ("50", index, "6.0") if self._major == 12 else ("75", index, "6.3")

    def _spec(self, name: str, index: int, target: str) -> EntrySpec:
        prefix, _, arch = name.partition("_")
        number = _number(arch)
        suffix = arch[len(str(number)) :]
        if prefix == "sm":
            data = self._pieces.cubin(target, index)
            return EntrySpec(KINDS["sass"], data, sm=number, suffix=suffix, version=(1, 7))
        if prefix == "lto":
            data = self._pieces.ltoir(self._major, index)
            kind, version = "ltoir", (data[4], data[5])
        else:
            data = self._pieces.ptx(*self._lowest(index))
            kind, version = "ptx", (6, 0) if self._major == 12 else (6, 3)
        return EntrySpec(KINDS[kind], data, sm=number, suffix=suffix, version=version, options=" ")

    def picked(self, names: Sequence[str], target: str) -> int | None:
        """The number of the entry that is picked; None where none is found."""
        entries = [entry(self._spec(name, index, target)) for index, name in enumerate(names)]
        data = region(entries)
        for lto in (True, False) if any(name.startswith("lto") for name in names) else (False,):
            linked = self._library.linked(target, FATBIN, data, lto=lto)
            if linked:
                return next(n for n in range(MOST) if f".text.k{n}\0".encode() in linked)
        return None

    def takes(self, name: str, target: str) -> bool:
        """Whether it links PTX or SASS that stands alone."""
        prefix, _, arch = name.partition("_")
        ptx = prefix == "compute"
        data = self._pieces.ptx(arch, 0) if ptx else self._pieces.cubin(arch, 0)
        return self._library.linked(target, PTX if ptx else CUBIN, data, lto=False) is not None

    def links(self, arch: str, target: str) -> bool:
        """Whether it links SASS that lies in an object."""
        data = self._pieces.object(arch)
        return self._library.linked(target, OBJECT, data, lto=False) is not None


def mixed(
    found: dict[str, list[str]], targets: Sequence[str], dice: random.Random
) -> Iterator[tuple[str, list[str]]]:
    """Fatbins of several entries, most of them near the target, and many of equal numbers."""
    while True:
        target = dice.choice(targets)
        usable = [name for name in ENTRIES if target in found[name]]
        near = [n for n in usable if _number(n.partition("_")[2]) >= _number(target) - 12]
        names: list[str] = []
        for _ in range(dice.choice((2, 2, MOST))):
            pool = dice.choice((near, near, near, usable, ENTRIES))
            if names and dice.random() < 0.4:
                number = _number(names[0].partition("_")[2])
                pool = [n for n in pool if _number(n.partition("_")[2]) == number] or pool
            plain = [name for name in pool if not name.startswith("lto")]
            names.append(dice.choice(plain if plain and dice.random() < 0.5 else pool))
        yield target, names


def measured(path: str, release: str, folder: Path) -> dict[str, object]:
    """All that is stored of one release."""
    asked = ModuleRequirement(path, release, Pieces(folder))
    targets = [arch for arch in ARCHS if asked.has(arch)]
    found = {n: [t for t in targets if asked.picked([n], t) is not None] for n in ENTRIES}
    alone = [name for name in ENTRIES if not name.startswith("lto")]
    dice = random.Random(f"{SEED} {release}")  # noqa: S311
    some = [row for row, _ in zip(mixed(found, targets, dice), range(MIXED), strict=False)]
    return {
        "targets": " ".join(targets),
        "found": {name: " ".join(found[name]) for name in ENTRIES},
        "alone": {n: " ".join(t for t in targets if asked.takes(n, t)) for n in alone},
        "objects": {f"sm_{a}": " ".join(t for t in targets if asked.links(a, t)) for a in OBJECTS}
        if release.startswith("13")
        else {},
        "mixed": [f"{t}: {' '.join(names)}: {asked.picked(names, t)}" for t, names in some],
    }


def main(folder: Path, releases: Iterable[str]) -> None:
    """Ask, and store what is new beside what is there."""
    from facts_release.dated import store

    from ltocompat import facts
    from ltocompat.targets.linkers import resolve

    compile_pieces(folder)
    compile_objects(folder)
    stored = json.loads(STORED.read_text("utf-8")) if STORED.exists() else {"measured": {}}
    for release in releases or map(str, facts.nvjitlink_minors()):
        call = [sys.executable, __file__, str(folder), release, resolve(release).path]
        done = subprocess.run(call, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        stored["measured"][release] = json.loads(done.stdout.splitlines()[-1])
        print(release, flush=True)
    stored["about"] = ABOUT
    stored.pop("date", None)
    store(STORED, stored)


def child(folder: Path, release: str, path: str) -> None:
    """One release, in a process of its own."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    print(json.dumps(measured(path, release, folder)))


if __name__ == "__main__":
    given = sys.argv[1:]
    if len(given) == 3 and not re.fullmatch(r"[0-9]+\.[0-9]+", given[2]):
        child(Path(given[0]), given[1], given[2])
    else:
        main(Path(given[0]), given[1:])

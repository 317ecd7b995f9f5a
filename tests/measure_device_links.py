"""Links pairs of LTO objects with nvlink; writes ``data/device_links.json``.

``PYTHONPATH=sample_artifacts:tests python tests/measure_device_links.py FOLDER`` keeps what it
fetches in FOLDER. nvcc compiles an object for each set of options, nvlink -dlto links every two.
"""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from pathlib import Path

from facts_release.dated import store
from toolchains import NVCC, PackageCache

STORED = Path(__file__).parent / "data" / "device_links.json"
RELEASES = ("13.0", "13.5")
OPTIONS = (
    "",
    "-maxrregcount=32",
    "-maxrregcount=64",
    "-use_fast_math",
    "-ftz=true",
    "-ftz=false",
    "-prec-div=false",
    "-prec-sqrt=false",
    "-fmad=false",
    "-lineinfo",
    "-maxrregcount=32 -fmad=false",
)
_REFUSED = re.compile(r"Cicc option values for '(\S+)' do not match")


def toolkit(release: str, packages: PackageCache) -> Path:
    """The tree of nvcc, with libnvvm where nvlink looks for it."""
    tree = packages.fetch(*NVCC[release]) / "nvidia" / "cu13"
    libnvvm = tree / "nvvm" / "lib64" / "libnvvm.so"
    if not libnvvm.exists():
        libnvvm.parent.mkdir(exist_ok=True)
        libnvvm.symlink_to(Path("..", "..", "lib", "libnvvm.so.4"))
    return tree


def compiled(number: int, options: str, tree: Path, folder: Path) -> Path:
    """An object of LTO-IR alone, with names of its own."""
    source, output = folder / f"{number}.cu", folder / f"{number}.o"
    source.write_text(
        f'extern "C" __global__ void k{number}(float *p, int n) {{\n'
        "  float a = 0;\n"
        "  for (int i = 0; i < n; i++) a += sqrtf(p[i]) / p[i + 1];\n"
        "  *p = a;\n}\n"
    )
    code = ["-rdc=true", "-gencode", "arch=compute_80,code=lto_80"]
    command = [str(tree / "bin" / "nvcc"), *code, "-c", *options.split()]
    subprocess.run([*command, str(source), "-o", str(output)], check=True)
    return output


def linked(first: Path, second: Path, tree: Path) -> str:
    """``linked``, or the option whose values nvlink says don't match."""
    where = [f"-nvvmpath={tree / 'nvvm'}", "-arch=sm_80", "-o", str(first.with_suffix(".cubin"))]
    inputs = [str(first), str(second), str(tree / "lib" / "libcudadevrt.a")]
    command = [str(tree / "bin" / "nvlink"), "-dlto", *where, *inputs]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return "linked"
    reason = _REFUSED.search(done.stdout + done.stderr)
    if reason is None:
        raise RuntimeError(f"{command}\n{done.stdout}{done.stderr}")
    return reason[1]


def main() -> None:
    """Compile, link and store the answers."""
    folder = Path(sys.argv[1])
    packages = PackageCache(folder / "packages")
    tables = {}
    for release in RELEASES:
        tree = toolkit(release, packages)
        place = folder / release
        place.mkdir(parents=True, exist_ok=True)
        objects = [compiled(*each, tree, place) for each in enumerate(OPTIONS)]
        tables[release] = {
            f"{OPTIONS[a]} | {OPTIONS[b]}": linked(objects[a], objects[b], tree)
            for a, b in itertools.combinations(range(len(OPTIONS)), 2)
        }
    store(STORED, {"links": tables}, indent=0)


if __name__ == "__main__":
    main()

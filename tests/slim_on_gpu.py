"""Holds slimmed copies of the CUDA libraries installed here against a real driver and real numbers.

``python tests/slim_on_gpu.py WORK [SITE]`` on a machine with a GPU; SITE is a site-packages folder
with ``nvidia/`` (and torch, cupy), by default that of this Python. In the folder WORK it writes

1. slimmed copies of every library, for this GPU alone and, of some, packed anew;
2. up to ``_MOST`` regions out of them and their originals, which ``plain_loads.py``, without a line
   of ltocompat, loads by libcuda, lazily and eagerly: each answer has to be equal;
3. the same regions slimmed for another GPU, which must fail by error 209 and nothing worse;
4. a tree of links to SITE with the copies in place, in which PyTorch and CuPy compute by cuBLAS,
   cuFFT, cuSPARSE, cuSOLVER and cuRAND: each result has to be equal, byte by byte.

Prints a JSON line for each step; the status is 1 where anything differs.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import ltocompat
from ltocompat.model.errors import LtocompatError
from ltocompat.scan.walk import ScanSettings, take_batches

_MOST = 1000
_AT_ONCE = 100  # regions that one process loads
_OTHER_GPU = "a100"
_PACKED = {"libcurand": "size", "libcusparse": "9", "libcusolver": "balance"}
_LOADER = Path(__file__).parent / "plain_loads.py"
_LEFT_OUT = ("nvrtc", "nvJitLink", "nvvm", "cupti", "nvperf", "pcsamp", "checkpoint")
_SMALLEST = 1 << 20

_NUMBERS = """
import hashlib, json, os, sys, time
begun = time.monotonic()
found = {}
def told(name, value):
    import numpy
    found[name] = hashlib.sha256(numpy.ascontiguousarray(value).tobytes()).hexdigest()[:16]
try:
    import torch
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    d = "cuda"
    a, b = torch.randn(512, 512, device=d), torch.randn(512, 512, device=d)
    told("random", a.cpu())
    told("sgemm", (a @ b).cpu())
    told("dgemm", (a.double() @ b.double()).cpu())
    told("hgemm", (a.half() @ b.half()).cpu())
    told("bgemm", (a.bfloat16() @ b.bfloat16()).float().cpu())
    told("fft", torch.view_as_real(torch.fft.fft2(a)).cpu())
    told("fft_odd", torch.view_as_real(torch.fft.rfft(a[:, :487])).cpu())
    # Sums of a sparse product come in any order, which whole numbers don't mind.
    wa, wb = (8 * a).round(), (8 * b).round()
    told("sparse", torch.sparse.mm(torch.where(wa > 8, wa, 0 * wa).to_sparse_csr(), wb).cpu())
    told("solve", torch.linalg.solve(a, b).cpu())
    told("cholesky", torch.linalg.cholesky(a @ a.T + 512 * torch.eye(512, device=d)).cpu())
    told("eigh", torch.linalg.eigvalsh(a + a.T).cpu())
    told("softmax", torch.softmax(a, 1).cpu())
    told("sort", torch.sort(a.flatten()).values.cpu())
    told("cumsum", torch.cumsum(a.long(), 0).cpu())
    told("norm", torch.nn.functional.layer_norm(a, (512,)).cpu())
    told("gelu", torch.nn.functional.gelu(a).cpu())
    told("conv", torch.nn.functional.conv2d(a[None, None], b[None, None, :3, :3]).cpu())
    told("gather", a[torch.arange(511, -1, -1, device=d)].cpu())
except Exception as error:
    found["torch"] = f"{type(error).__name__}: {str(error)[:200]}"
try:
    import cupy, cupyx.scipy.sparse
    x = cupy.random.RandomState(1).standard_normal((300, 300))
    told("cupy.random", x.get())
    told("cupy.fft", cupy.fft.fft2(x).get())
    told("cupy.dot", x.dot(x).get())
    w = (8 * x).round()
    told("cupy.sparse", cupyx.scipy.sparse.csr_matrix(w * (w > 8)).dot(w).get())
    told("cupy.solve", cupy.linalg.solve(x, x.T).get())
    told("cupy.svd", cupy.linalg.svd(x, compute_uv=False).get())
    told("cupy.sort", cupy.sort(x, axis=0).get())
except Exception as error:
    found["cupy"] = f"{type(error).__name__}: {str(error)[:200]}"
maps = {line.split(None, 5)[-1].strip() for line in open("/proc/self/maps") if ".so" in line}
memory = [line for line in open("/proc/self/status") if line.startswith("VmHWM")][0].split()[1]
print(json.dumps({"numbers": found, "seconds": round(time.monotonic() - begun, 1),
    "kib": int(memory), "slimmed": sorted(os.path.basename(m) for m in maps if sys.argv[1] in m)}))
"""


def told(**facts: object) -> None:
    print(json.dumps(facts), flush=True)


def libraries(site: Path) -> list[Path]:
    """The libraries to slim: NVIDIA's, PyTorch's and CuPy's."""
    found = (
        path
        for folder in ("nvidia", "torch", "cupy", "cupy_backends", "nvidia_cufft")
        for path in sorted((site / folder).rglob("*.so*"))
    )
    return [
        path
        for path in found
        if path.is_file()
        and not path.is_symlink()
        and path.stat().st_size > _SMALLEST
        and not any(word in path.name for word in _LEFT_OUT)
    ]


def slimmed(source: Path, target: Path, gpu: str, **options: object) -> ltocompat.Slimmed | None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    begun = time.monotonic()
    try:
        (found,) = ltocompat.slim(
            str(source),
            output=str(target),
            keep_gpus=[gpu],
            **options,  # type: ignore[arg-type]
        )
    except LtocompatError as error:
        told(step="slim", library=source.name, error=str(error))
        return None
    told(
        step="slim",
        library=source.name,
        gpu=gpu,
        seconds=round(time.monotonic() - begun, 1),
        mib=found.size >> 20,
        saved_mib=found.saved >> 20,
        images=found.images,
        removed={str(row.reason): row.images for row in found.removed},
        untouched=[[row.reason, row.modules] for row in found.untouched],
        **{name: str(value) for name, value in options.items()},
    )
    return found


def regions(path: Path) -> Iterator[tuple[int, bytes]]:
    """Offset and bytes of every registered region."""
    from ltocompat.model.location import Location

    for batch in take_batches(Location(str(path)), ScanSettings()):
        for stored, _ in batch.modules:
            if stored.region is not None and stored.registered and stored.images:
                yield stored.region.start, stored.region.all()


def answers(files: list[Path], loading: str) -> dict[str, tuple[int, str]]:
    """What libcuda says of each file; a process that it ends is followed by another."""
    found: dict[str, tuple[int, str]] = {}
    left = list(files)
    while left:
        command = [sys.executable, str(_LOADER), *map(str, left[:_AT_ONCE])]
        environment = {**os.environ, "CUDA_MODULE_LOADING": loading}
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment, timeout=300
        )
        rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        for row in rows:
            found[row["path"]] = (row["code"], row.get("call", "the process ended"))
        if not rows:
            raise SystemExit(f"the loader says nothing: {done.stderr[-300:]}")
        left = [path for path in left if str(path) not in found]
    return found


def held_regions(pairs: list[tuple[Path, Path]], folder: Path) -> list[tuple[Path, Path]]:
    """Files of changed regions, before and after; the same share of every library."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    found: list[tuple[Path, Path]] = []
    for number, (old, new) in enumerate(pairs):
        after = dict(regions(new))
        both = [(at, data, after.get(at, b"")) for at, data in regions(old)]
        changed = [row for row in both if row[1] != row[2]]
        every = max(1, len(changed) * len(pairs) // _MOST)
        for at, before, now in changed[::every]:
            files = folder / f"{number}-{at:x}.old", folder / f"{number}-{at:x}.new"
            for path, data in zip(files, (before, now), strict=True):
                path.write_bytes(data)
            found.append(files)
    return found


def compare_loads(files: list[tuple[Path, Path]]) -> int:
    wrong = 0
    for loading in ("LAZY", "EAGER"):
        before = answers([old for old, _ in files], loading)
        after = answers([new for _, new in files], loading)
        differ = [
            (old.name, before[str(old)], after[str(new)])
            for old, new in files
            if before[str(old)] != after[str(new)]
        ]
        codes = Counter(code for code, _ in after.values())
        told(
            step="loads", loading=loading, regions=len(files), codes=codes, differ=differ[:5],
            differences=len(differ),
        )  # fmt: skip
        wrong += len(differ)
    return wrong


def compare_other_gpu(pairs: list[tuple[Path, Path]], work: Path) -> int:
    """Regions without code for this GPU: the driver says 209, and goes on."""
    others = []
    for old, _ in pairs:
        target = work / "other" / old.name
        if old.name.partition(".")[0] in _PACKED and slimmed(old, target, _OTHER_GPU, ptx=False):
            others.append((old, target))
    files = held_regions(others, work / "regions-other")
    found = answers([new for _, new in files], "LAZY")
    codes = Counter(f"{code} {call}" for code, call in found.values())
    told(step="a GPU that was taken out", regions=len(files), codes=codes)
    return sum(code not in (0, 209) for code, _ in found.values())


def shadow(site: Path, copies: dict[Path, Path], folder: Path) -> Path:
    """A tree of links to the packages, with slimmed libraries in place."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("nvidia", "torch", "cupy", "cupyx", "cupy_backends"):
        for top, _, names in os.walk(site / name):
            into = folder / Path(top).relative_to(site)
            into.mkdir(parents=True, exist_ok=True)
            for file in names:
                path = Path(top) / file
                if path in copies:
                    shutil.move(copies[path], into / file)
                else:
                    (into / file).symlink_to(path)
    return folder


def numbers(folder: Path | None, loading: str) -> dict[str, object]:
    environment = {**os.environ, "CUDA_MODULE_LOADING": loading, "PYTHONDONTWRITEBYTECODE": "1"}
    if folder is not None:
        before = os.environ.get("PYTHONPATH", "")
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(folder), before]))
    command = [sys.executable, "-c", _NUMBERS, str(folder or "no such folder")]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, timeout=400
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"numbers')]
    if not lines:
        return {"numbers": {}, "error": done.stderr[-500:], "status": done.returncode}
    found: dict[str, object] = json.loads(lines[-1])
    return found


def compare_numbers(folder: Path) -> int:
    """Results before and after; what differs between two runs before is no one's doing."""
    wrong = 0
    numbers(folder, "LAZY")  # warms the page cache
    for loading in ("LAZY", "EAGER"):
        runs = [numbers(None, loading), numbers(None, loading), numbers(folder, loading)]
        found = [run.pop("numbers") for run in runs]
        first, again, new = (value for value in found if isinstance(value, dict))
        vary = sorted(name for name in first if first[name] != again.get(name))
        differ = sorted(
            name for name in {*first, *new} - {*vary} if first.get(name) != new.get(name)
        )
        told(
            step="numbers",
            loading=loading,
            results=len(new),
            vary_by_themselves=vary,
            differ={name: (first.get(name), new.get(name)) for name in differ},
            before=runs[1],
            after=runs[2],
        )
        wrong += len(differ) + (not new)
    return wrong


_DEVICE = """
__device__ float helper(float x) { return x * 3.f + 1.f; }
"""
_PROGRAM = """
#include <cstdio>
extern __device__ float helper(float x);
__global__ void k(float *p) { p[threadIdx.x] = helper(threadIdx.x); }
int main() {
  float *p, sum = 0, back[256];
  int e = cudaMalloc(&p, sizeof back);
  k<<<1, 256>>>(p);
  int launched = cudaGetLastError(), copied = cudaMemcpy(back, p, sizeof back, cudaMemcpyDefault);
  for (int i = 0; !copied && i < 256; i++) sum += back[i];
  printf("%d %d %d %.1f", e, launched, copied, sum);
}
"""


def compare_programs(gpu: str, work: Path) -> int:
    """Programs with and without a device link, slimmed for this GPU, and for another one."""
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if nvcc is None:
        told(step="programs", left_out="no nvcc")
        return 0
    (work / "a.cu").write_text(_DEVICE)
    (work / "b.cu").write_text(_PROGRAM)
    (work / "c.cu").write_text(_DEVICE + _PROGRAM.replace("extern ", "//"))
    archs = [f"-gencode=arch=compute_{n},code=sm_{n}" for n in dict.fromkeys(("80", gpu[3:]))]
    sources = {"linked": ["-rdc=true", "a.cu", "b.cu"], "plain": ["c.cu"]}
    wrong = 0
    for name, words in sources.items():
        subprocess.run([nvcc, *archs, *words, "-o", name], cwd=work, check=True)
        said = {}
        for kept in ("as it was", gpu, _OTHER_GPU):
            new = work / f"{name}-{kept.replace(' ', '-')}"
            if kept == "as it was":
                shutil.copy(work / name, new)
            else:
                slimmed(work / name, new, kept, ptx=False)
            done = subprocess.run([new], capture_output=True, text=True, check=False)
            said[kept] = f"{done.returncode}: {done.stdout}"
        told(step="programs", program=name, said=said)
        wrong += said["as it was"] != said[gpu]
    return wrong


def this_gpu() -> str:
    query = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
    text = subprocess.run(query, capture_output=True, text=True, check=True).stdout
    return f"sm_{text.split()[0].replace('.', '')}"


def main() -> int:
    work = Path(sys.argv[1]).resolve()
    site = Path(sys.argv[2] if len(sys.argv) > 2 else sysconfig.get_paths()["platlib"])
    gpu = this_gpu()
    pairs, copies = [], {}
    for source in libraries(site):
        target = work / "slim" / source.relative_to(site)
        mode = _PACKED.get(source.name.partition(".")[0])
        packing = {"pack": mode, "to_zstd": True} if mode else {}
        found = slimmed(source, target, gpu, **packing)
        if found is not None and found.removed:
            pairs.append((source, target))
            copies[source] = target
    wrong = compare_loads(held_regions(pairs, work / "regions"))
    wrong += compare_other_gpu(pairs, work)
    wrong += compare_programs(gpu, work)
    wrong += compare_numbers(shadow(site, copies, work / "shadow"))
    told(step="all", gpu=gpu, libraries=len(pairs), differences=wrong)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())

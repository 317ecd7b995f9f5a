"""Loads every module of the samples on this machine's GPU and writes ``data/loads.json``.

``CUDA_MODULE_LOADING=EAGER`` in front makes it the table that is there.

``python tests/measure_loads.py OUT.json [LINKED]``. LINKED is a folder of linked saxpy kernels (see
``link_saxpy``), which are run too. The verdicts for the same driver and GPU are tested against what
the driver said here.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import struct
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from samples import ALL, FOLDER, Sample

from ltocompat.files.fatbin import StoredModule
from ltocompat.model.errors import Malformed, Missing
from ltocompat.model.image import ImageKind, Module
from ltocompat.model.location import Location
from ltocompat.scan import walk
from ltocompat.scan.describe import ReadOptions
from ltocompat.scan.extract_bytes import cut
from ltocompat.targets.linkers import Cache
from ltocompat.trial.link_pool import Pool
from ltocompat.trial.load_pool import LoadPool
from ltocompat.trial.load_values import Launch, LoadAnswer, LoadRequest
from ltocompat.trial.values import InputKind, Request, TrialInput

_AT_ONCE = 16
_N = 256
_X = struct.pack(f"{_N}f", *range(_N))
_Y = struct.pack(f"{_N}f", *(2 * i + 1 for i in range(_N)))
_WANTED = struct.pack(f"{_N}f", *(3 * i + (2 * i + 1) for i in range(_N)))
SAXPY = Launch("saxpy", 2, 128, (_N, 3.0, _X, _Y))


def modules(sample: Sample) -> Iterator[LoadRequest]:
    """Each module as the driver would get it: its whole region, else the bare image."""
    found: list[tuple[StoredModule, Module, bytes]] = []

    settings = walk.ScanSettings(detail=ReadOptions(kernels=True))
    for batch in walk.take_batches(Location(str(sample.path)), settings):
        # Only now are the file's bytes at hand.
        for stored, module in batch.modules:
            try:
                data = stored.region.all() if stored.region else cut(stored.images[0]).data
            except Malformed:
                continue
            found.append((stored, module, data))
    for stored, module, data in found:
        yield LoadRequest(str(stored.place).removeprefix(f"{FOLDER}/"), data, kernels(module))


def kernels(module: Module) -> tuple[str, ...]:
    """Kernels that every image with machine code or PTX has, whichever the driver picks."""
    names = [
        set(image.kernels or ())
        for image in module.images
        if image.kind in (ImageKind.SASS, ImageKind.PTX)
    ]
    return tuple(sorted(set.intersection(*names))) if names else ()


def row(answer: LoadAnswer) -> dict[str, Any]:
    """What is kept of an answer; a log that names this machine's files would not be."""
    kept: dict[str, Any] = {"outcome": str(answer.outcome), "step": str(answer.step)}
    if answer.code:
        kept |= {"code": answer.code, "code_name": answer.code_name}
    if answer.signal:
        kept["signal"] = answer.signal
    if answer.log:
        kept["log"] = answer.log
    if answer.note:
        kept["note"] = answer.note
    if answer.output is not None:
        kept["right"] = answer.output == _WANTED
    return kept


def link_saxpy(folder: Path) -> None:
    """Link the LTO-IR samples of saxpy with every nvJitLink for trials, as cubins and as PTX."""
    folder.mkdir(parents=True, exist_ok=True)
    for linker in Cache.of().installed():
        with Pool(linker.path) as pool:
            for sample in ALL:
                if not sample.name.startswith("ltoir/nvrtc-") or "-lto_80." not in sample.name:
                    continue
                trial_input = TrialInput("saxpy", InputKind.LTOIR, sample.path.read_bytes())
                maker = sample.name.split("-")[1]
                for ext, options in (("cubin", ("-lto",)), ("ptx", ("-lto", "-ptx"))):
                    request = Request((trial_input,), ("-arch=sm_90", *options), keep_output=True)
                    (answer,) = pool.run([request])
                    if answer.output is not None:
                        name = f"{linker.release}-of-{maker}.{ext}"
                        (folder / name).write_bytes(answer.output)


def compat(folders: Sequence[str] = ("/usr/local/cuda/compat",)) -> list[dict[str, Any]]:
    """What comes of each cuda-compat folder in front of the loader's path."""
    rows = []
    for folder in folders:
        if not os.path.exists(os.path.join(folder, "libcuda.so.1")):
            continue
        before = os.environ.get("LD_LIBRARY_PATH", "")
        os.environ["LD_LIBRARY_PATH"] = f"{folder}:{before}"
        library = os.path.basename(os.path.realpath(os.path.join(folder, "libcuda.so.1")))
        try:
            with LoadPool() as pool:
                text = f"it starts, and serves CUDA {pool.driver.cuda}"
        except Missing as error:
            text = str(error)
        finally:
            os.environ["LD_LIBRARY_PATH"] = before
        rows.append({"libcuda": library, "said": text})
    return rows


def kernel_driver() -> str:
    """The version that the kernel's module says."""
    text = Path("/proc/driver/nvidia/version").read_text("utf-8")
    line = next(line for line in text.splitlines() if line.startswith("NVRM"))
    return next(word for word in line.split() if word.count(".") and word[0].isdigit())


def asked(requests: Sequence[LoadRequest]) -> dict[str, dict[str, Any]]:
    """What came of each on the first GPU, many asked at a time."""

    def some(start: int) -> list[LoadAnswer]:
        with LoadPool() as pool:
            return list(pool.run(requests[start::_AT_ONCE]))

    with ThreadPoolExecutor(_AT_ONCE) as threads:
        answers = list(threads.map(some, range(_AT_ONCE)))
    return {
        request.name: {
            **({} if request.launch else {"kernels": list(request.kernels)}),
            **row(answers[number % _AT_ONCE][number // _AT_ONCE]),
        }
        for number, request in enumerate(requests)
    }


def written(document: dict[str, Any]) -> str:
    """As JSON, one row a line."""
    members = []
    for key, value in document.items():
        text = json.dumps(value)
        if isinstance(value, dict):
            rows = (
                f"  {json.dumps(name)}: {json.dumps(each_value)}"
                for name, each_value in value.items()
            )
            text = "{\n" + ",\n".join(rows) + "\n }"
        members.append(f" {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(members) + "\n}\n"


def main() -> None:
    """Ask, and write."""
    out = Path(sys.argv[1])
    with LoadPool() as pool:
        driver = pool.driver
    document: dict[str, Any] = {
        "date": str(dt.datetime.now(tz=dt.UTC).date()),
        "gpu": driver.gpus[0].name,
        "arch": str(driver.gpus[0].arch),
        "driver": kernel_driver(),
        "cuda": str(driver.cuda),
        "loading": "lazy" if driver.lazy else "eager",
    }
    document["compat"] = compat()
    for key, broken in (("modules", False), ("broken", True)):
        document[key] = asked([r for s in ALL if s.broken is broken for r in modules(s)])
        out.write_text(written(document), "utf-8")
    if len(sys.argv) > 2:
        document["linked"] = asked(
            [
                LoadRequest(path.name, path.read_bytes(), ("saxpy",), launch=SAXPY)
                for path in sorted(Path(sys.argv[2]).iterdir())
            ]
        )
        out.write_text(written(document), "utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "link":
        link_saxpy(Path(sys.argv[2]))
    else:
        main()

"""Compile, link, load and run on this machine: the way of NVIDIA's jitLtoLinking sample.

Two translation units, a kernel in one and the function that it calls in the other, are compiled by
the NVRTC at hand, linked by nvJitLink as PTX and as LTO, loaded by the driver and run. Every
library is loaded in processes of its own.
"""

from __future__ import annotations

import enum
from array import array
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Literal

from msgspec import Struct

from ltocompat.commands.options import SelfTestOptions, options_of
from ltocompat.model.arch import ArchForm, Release, SmArch
from ltocompat.model.errors import LtocompatError, Missing
from ltocompat.model.library_name import PATHFINDER
from ltocompat.targets.linkers import Linker, Machine, installed, obtain, resolve
from ltocompat.targets.machine.library_search import picks
from ltocompat.trial.compile_pool import Compiled, CompilerProcess
from ltocompat.trial.link_pool import Pool
from ltocompat.trial.load_pool import LoadPool
from ltocompat.trial.load_values import (
    Launch,
    LoadAnswer,
    LoadGpu,
    LoadOutcome,
    LoadRequest,
    LoadStep,
)
from ltocompat.trial.logs import explain, first_line
from ltocompat.trial.values import Answer, InputKind, LinkOutcome, Request, TrialInput

# y = a * x + y over so many numbers, all of them exact in single precision.
COUNT = 1000
FACTOR = 3.0


def compiler_error(done: Compiled, release: Release, target: SmArch) -> str:
    """Why NVRTC did not compile."""
    text = ": ".join(filter(None, (done.code_name, first_line(done.log))))
    if "--gpu-architecture" in done.log:
        return f"NVRTC {release} does not know {target}; {text}"
    return text


def linker_error(answer: Answer, releases: tuple[Release, Release]) -> str:
    """Why nvJitLink did not link; ``releases`` are those of NVRTC and nvJitLink."""
    compiler, linker = releases
    known = explain(answer.log)
    ended = answer.signal or answer.exit_status
    if known is not None:
        text = known.sentence
    elif answer.code:
        text = f"{answer.code_name or answer.code}: {first_line(answer.log)}"
    else:
        text = f"{answer.outcome}{f' ({ended})' if ended is not None else ''}"
    if linker < compiler:
        text += (
            f"; nvJitLink {linker} is older than NVRTC {compiler}, and must be of {compiler} or "
            "later"
        )
    return text


def driver_error(answer: LoadAnswer, cuda: Release, linker: Release) -> str:
    """Why a driver that serves ``cuda`` did not load what ``linker`` made."""
    if answer.code is None:
        return f"{answer.step}: {answer.outcome} ({answer.signal or answer.exit_status})"
    text = f"{answer.step}: {answer.code} ({answer.code_name or 'an unknown error'})"
    if line := first_line(answer.log):
        text += f": {line}"
    if cuda < linker:
        text += f"; the driver serves CUDA {cuda}, which is older than nvJitLink {linker}"
    return text


def compared(answer: LoadAnswer, x: array[float], y: array[float]) -> tuple[bool, str]:
    """Return whether the GPU's numbers are right, which are exact in single precision."""
    if answer.output is None:
        return False, f"{answer.outcome}: {answer.code} ({answer.code_name})"
    got = array("f", answer.output)
    by, wanted = _expected(x, y)
    wrong = [i for i in range(COUNT) if got[i] != wanted[i]]
    if not wrong:
        return True, f"{COUNT:,} numbers, equal to those of {by}"
    first = wrong[0]
    return False, (
        f"{len(wrong):,} of {COUNT:,} numbers are wrong; number {first} is {got[first]}, by {by} "
        f"{wanted[first]}"
    )


def _expected(x: array[float], y: array[float]) -> tuple[str, list[float]]:
    try:
        import numpy as np
    except ImportError:
        pairs = zip(x, y, strict=True)
        return "Python", list(array("f", (FACTOR * number + other for number, other in pairs)))
    values = np.float32(FACTOR) * np.asarray(x) + np.asarray(y)
    return f"NumPy {np.__version__}", [float(value) for value in values]


# What is linked where there is no GPU: every NVRTC and nvJitLink since 12.0 knows it.
_NO_GPU = SmArch(80)

_SOURCES = {
    "kernel.cu": """
extern __device__ float scaled_sum(float a, float x, float y);

extern "C" __global__ void selftest(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = scaled_sum(a, x[i], y[i]);
}
""",
    "function.cu": """
__device__ float scaled_sum(float a, float x, float y)
{
    return a * x + y;
}
""",
}
_KERNEL = "selftest"
_THREADS = 128


class SelfTestResult(enum.StrEnum):
    """How a step ended."""

    PASSED = "passed"
    FAILED = "failed"
    MISSING = "missing"
    """A linker or driver that it needs is not on this machine."""


class SelfTestStep(Struct, frozen=True):
    """One step of the way.

    Attributes:
        name: ``driver``, ``NVRTC``, ``compile``, ``nvJitLink``, ``link``, ``load`` or ``run``.
        way: ``PTX`` (PTX is linked), ``LTO`` (LTO-IR is linked) or ``LTO to PTX`` (LTO-IR is
            linked to PTX, which the driver compiles); None where it makes no difference.
        target: architecture, None where it makes no difference.
        gpu: index of the GPU, None where none is used.
        result: how it ended.
        detail: what was found or done, or why not, in one sentence.
        seconds: time in the library, None where it was not measured.
    """

    name: str
    result: SelfTestResult
    detail: str
    way: str | None = None
    target: SmArch | None = None
    gpu: int | None = None
    seconds: float | None = None


class _Way(Struct, frozen=True):
    name: str
    compiled: str
    kind: InputKind
    options: tuple[str, ...]


_WAYS = (
    _Way("PTX", "ptx", InputKind.PTX, ()),
    _Way("LTO", "ltoir", InputKind.LTOIR, ("-lto",)),
    _Way("LTO to PTX", "ltoir", InputKind.LTOIR, ("-lto", "-ptx")),
)


def selftest(
    *, nvjitlink: str | None = None, install_linkers: bool = False
) -> Iterator[SelfTestStep]:
    """Each step as it is done; what needs a failed one is left out.

    Without driver or GPU it ends after linking (for sm_80).

    Args:
        nvjitlink: version or path; by default the one that cuda-pathfinder finds, which programs of
            this Python get, else the newest that was installed for trials.
        install_linkers: install that version for trials when it is not at hand.

    Raises:
        UsageError: ``nvjitlink`` is no version and no library.
    """
    yield from run(options_of(SelfTestOptions, locals()))


def run(options: SelfTestOptions) -> Iterator[SelfTestStep]:
    """The steps of ``selftest``."""
    with ExitStack() as stack:
        loads, step = _driver(stack)
        yield step
        compiler, step = _nvrtc(stack)
        yield step
        linker, pool, step = _nvjitlink(
            stack, options.nvjitlink, install_missing=options.install_linkers
        )
        yield step
        if compiler is None:
            return
        gpus = loads.driver.gpus if loads else ()
        for target in dict.fromkeys(gpu.arch for gpu in gpus) or (_NO_GPU,):
            compiled: dict[str, list[TrialInput]] = {}
            for kind in ("LTO", "PTX"):
                step = _compile(compiler, target, kind, compiled)
                yield step
            if linker is None or pool is None:
                continue
            releases = compiler.nvrtc.release, linker.release
            for way in _WAYS:
                if way.compiled in compiled:
                    image, step = _link(pool, target, way, compiled[way.compiled], releases)
                    yield step
                    here = [gpu for gpu in gpus if gpu.arch == target]
                    if image is not None and loads is not None:
                        yield from _run(loads, here, way, image, linker.release)


def _driver(stack: ExitStack) -> tuple[LoadPool | None, SelfTestStep]:
    try:
        pool = stack.enter_context(LoadPool())
    except LtocompatError as error:
        return None, _stopped("driver", error)
    driver = pool.driver
    gpus = ", ".join(f"GPU {gpu.index}: {gpu.name} ({gpu.arch})" for gpu in driver.gpus)
    text = f"CUDA {driver.cuda}, {driver.library}; {gpus}"
    return pool, SelfTestStep("driver", SelfTestResult.PASSED, text)


def _nvrtc(stack: ExitStack) -> tuple[CompilerProcess | None, SelfTestStep]:
    try:
        compiler = stack.enter_context(CompilerProcess())
    except LtocompatError as error:
        return None, _stopped("NVRTC", error)
    text = f"{compiler.nvrtc.release}, {compiler.nvrtc.library}"
    return compiler, SelfTestStep("NVRTC", SelfTestResult.PASSED, text)


def _nvjitlink(
    stack: ExitStack, wanted: str | None, *, install_missing: bool
) -> tuple[Linker | None, Pool | None, SelfTestStep]:
    try:
        linker = obtain(wanted, install_missing=install_missing) if wanted else _of_programs()
        pool = stack.enter_context(Pool(linker.path, workers=1))
    except LtocompatError as error:
        return None, None, _stopped("nvJitLink", error)
    text = f"{linker.version}, {linker.path} ({linker.found_via})"
    return linker, pool, SelfTestStep("nvJitLink", SelfTestResult.PASSED, text)


def _of_programs() -> Linker:
    """The nvJitLink that programs of this Python get, else one for trials.

    Raises:
        Missing: there is none.
    """
    for pick in picks(Machine.here(), {}):
        if (pick.library, pick.way) == ("nvJitLink", PATHFINDER) and pick.real:
            return resolve(pick.real)
    if for_trials := installed():
        return for_trials[-1]
    raise Missing("no nvJitLink is at hand; get one with: ltocompat linkers install nvjitlink=13.5")


def _stopped(name: str, error: LtocompatError) -> SelfTestStep:
    result = SelfTestResult.MISSING if isinstance(error, Missing) else SelfTestResult.FAILED
    return SelfTestStep(name, result, str(error))


def _compile(
    compiler: CompilerProcess, target: SmArch, kind: str, into: dict[str, list[TrialInput]]
) -> SelfTestStep:
    """Compile both units to LTO-IR or PTX; ``into`` gets them when both succeed."""
    want: Literal["ltoir", "ptx"] = "ltoir" if kind == "LTO" else "ptx"
    virtual = SmArch(target.number, target.suffix, ArchForm.VIRTUAL)
    options = (f"-arch={target}", "-dlto") if kind == "LTO" else (f"-arch={virtual}", "-rdc=true")
    inputs = []
    for name, source in _SOURCES.items():
        done = compiler.compile(name, source, options, want=want)
        if done.output is None:
            text = compiler_error(done, compiler.nvrtc.release, target)
            return SelfTestStep("compile", SelfTestResult.FAILED, text, way=kind, target=target)
        trial_kind = InputKind.LTOIR if kind == "LTO" else InputKind.PTX
        inputs.append(TrialInput(f"{name}.{want}", trial_kind, done.output))
    into[want] = inputs
    size = sum(len(input_.data) for input_ in inputs)
    text = f"{len(inputs)} translation units, {size:,} bytes"
    return SelfTestStep("compile", SelfTestResult.PASSED, text, way=kind, target=target)


def _link(
    pool: Pool,
    target: SmArch,
    way: _Way,
    inputs: list[TrialInput],
    releases: tuple[Release, Release],
) -> tuple[bytes | None, SelfTestStep]:
    options = (f"-arch={target}", *way.options)
    (answer,) = pool.run([Request(tuple(inputs), options, keep_output=True)])
    seconds = sum(
        filter(None, (answer.seconds.create, answer.seconds.add, answer.seconds.complete))
    )
    if answer.outcome in (LinkOutcome.LINKED, LinkOutcome.COMPILED) and answer.output:
        text = f"{'PTX' if '-ptx' in options else 'cubin'} of {len(answer.output):,} bytes"
        step = SelfTestStep("link", SelfTestResult.PASSED, text, way.name, target, seconds=seconds)
        return answer.output, step
    text = linker_error(answer, releases)
    return None, SelfTestStep("link", SelfTestResult.FAILED, text, way.name, target)


def _run(
    pool: LoadPool, gpus: list[LoadGpu], way: _Way, image: bytes, linker: Release
) -> Iterator[SelfTestStep]:
    """Load what was linked, and run it, on each of these GPUs."""
    x = array("f", range(COUNT))
    y = array("f", (0.5 * number for number in range(COUNT)))
    blocks = -(-COUNT // _THREADS)
    launch = Launch(_KERNEL, blocks, _THREADS, (COUNT, FACTOR, x.tobytes(), y.tobytes()))
    for gpu in gpus:
        place = f"the linked {way.name}"
        request = LoadRequest(place, image, (_KERNEL,), gpu.index, launch)
        try:
            (answer,) = pool.run([request])
        except LtocompatError as error:
            text = str(error)
            yield SelfTestStep("load", SelfTestResult.FAILED, text, way.name, gpu.arch, gpu.index)
            continue
        loaded = answer.outcome is LoadOutcome.LOADED or answer.step is LoadStep.LAUNCH
        result = SelfTestResult.PASSED if loaded else SelfTestResult.FAILED
        text = (
            f"module and kernel, on {gpu.name}"
            if loaded
            else driver_error(answer, pool.driver.cuda, linker)
        )
        seconds = answer.seconds
        yield SelfTestStep("load", result, text, way.name, gpu.arch, gpu.index, seconds)
        if loaded:
            right, text = compared(answer, x, y)
            result = SelfTestResult.PASSED if right else SelfTestResult.FAILED
            yield SelfTestStep("run", result, text, way.name, gpu.arch, gpu.index)

"""Compile, link, load and run on this machine: the way of NVIDIA's jitLtoLinking sample.

Two translation units, a kernel in one and the function that it calls in the other, are compiled by
the NVRTC at hand, linked by nvJitLink as PTX and as LTO, loaded by the driver and run. Every
library is loaded in processes of its own.
"""

from __future__ import annotations

import enum
import functools
from array import array
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from importlib.resources import files
from typing import Literal

from msgspec import Struct

from ltocompat.commands.link import NONE_AT_HAND, seconds
from ltocompat.commands.options import SelfTestOptions, public
from ltocompat.facts import nvjitlink_minors
from ltocompat.model.arch import ArchForm, Release, SmArch
from ltocompat.model.errors import LtocompatError, Missing
from ltocompat.model.generic import T
from ltocompat.model.library_name import PATHFINDER
from ltocompat.targets.linkers import Cache, Linker, Machine, obtain, resolve
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
    """Return why NVRTC did not compile."""
    if "--gpu-architecture" in done.log:
        return f"NVRTC {release} does not know {target}; {done.failure}"
    return done.failure


def linker_error(answer: Answer, releases: tuple[Release, Release]) -> str:
    """Return why nvJitLink did not link; ``releases`` are the releases of NVRTC and nvJitLink."""
    compiler, linker = releases
    known = explain(answer.log)
    text = answer.failure if known is None else known.sentence
    if linker < compiler:
        text += (
            f"; nvJitLink {linker} is older than NVRTC {compiler}, and must be {compiler} or later"
        )
    return text


def driver_error(answer: LoadAnswer, cuda: Release, linker: Release) -> str:
    """Return why a driver for CUDA ``cuda`` did not load the output of ``linker``."""
    if answer.code is None:
        return f"{answer.step}: {answer.failure}"
    text = f"{answer.step}: {answer.code} ({answer.code_name or 'an unknown error'})"
    if line := first_line(answer.log):
        text += f": {line}"
    if cuda < linker:
        text += f"; the driver supports CUDA {cuda}, which is older than nvJitLink {linker}"
    return text


def compared(answer: LoadAnswer, x: array[float], y: array[float]) -> tuple[bool, str]:
    """Return whether the GPU's numbers are right; they are exact in single precision."""
    if answer.output is None:
        return False, f"{answer.outcome}: {answer.code} ({answer.code_name})"
    got = array("f", answer.output)
    wanted = array("f", (FACTOR * number + other for number, other in zip(x, y, strict=True)))
    wrong = [i for i in range(COUNT) if got[i] != wanted[i]]
    if not wrong:
        return True, f"{COUNT:,} numbers, as Python computes them"
    first = wrong[0]
    return False, (
        f"{len(wrong):,} of {COUNT:,} numbers are wrong; number {first} is {got[first]}, but "
        f"Python computes {wanted[first]}"
    )


# What is linked where there is no GPU: every NVRTC and nvJitLink since 12.0 knows it.
_NO_GPU = SmArch(80)

# A linker and its process.
_Linking = tuple[Linker, Pool]

_KERNEL = "selftest"
_THREADS = 128


class SelfTestResult(enum.StrEnum):
    """The result of a step."""

    PASSED = "passed"
    FAILED = "failed"
    MISSING = "missing"
    """A linker or driver that it needs is not on this machine."""


class SelfTestStep(Struct, frozen=True):
    """One step of a self-test.

    Attributes:
        name: ``driver``, ``NVRTC``, ``compile``, ``nvJitLink``, ``link``, ``load`` or ``run``.
        way: ``PTX`` (PTX is linked), ``LTO`` (LTO-IR is linked), or ``LTO to PTX`` (LTO-IR is
            linked to PTX, and the driver compiles the PTX). None if the step is the same for all
            three ways.
        target: the architecture; None if the step doesn't depend on it.
        gpu: index of the GPU; None if none is used.
        result: the result.
        detail: one sentence about what was found or done, or why the step failed.
        seconds: the time spent in the library; None if it was not measured.
    """

    name: str
    result: SelfTestResult
    detail: str
    way: str | None = None
    target: SmArch | None = None
    gpu: int | None = None
    seconds: float | None = None


class _Way(Struct, frozen=True):
    """One way of linking: its name, what is compiled for it, and the linker's options."""

    name: str
    kind: InputKind
    options: tuple[str, ...]


_WAYS = (
    _Way("PTX", InputKind.PTX, ()),
    _Way("LTO", InputKind.LTOIR, ("-lto",)),
    _Way("LTO to PTX", InputKind.LTOIR, ("-lto", "-ptx")),
)


@public(SelfTestOptions)
def selftest(options: SelfTestOptions) -> Iterator[SelfTestStep]:
    """Compile, link, load and run a kernel on this machine.

    Each step is yielded when it is done. Steps that depend on a failed step are skipped.

    If the machine has no driver or no GPU, the test links for sm_80 and ends after the link.

    Args:
        nvjitlink: a version or a path. Default: the nvJitLink that cuda-pathfinder finds for
            programs of this Python. If it finds none, the default is the newest nvJitLink that was
            installed for trials.
        install_linkers: install that version for trials if it is missing; without a version, the
            newest nvJitLink if there is none. NVRTC is never installed.

    Raises:
        UsageError: ``nvjitlink`` is neither a version nor a library.
    """
    yield from run(options)


def run(options: SelfTestOptions) -> Iterator[SelfTestStep]:
    """The steps of ``selftest``."""
    with ExitStack() as stack:
        loads = yield from _started(stack, "driver", LoadPool, _driver)
        compiler = yield from _started(stack, "NVRTC", CompilerProcess, _nvrtc)
        linking = yield from _started(stack, "nvJitLink", lambda: _linking(options), _nvjitlink)
        if compiler is None:
            return
        gpus = loads.driver.gpus if loads else ()
        for target in dict.fromkeys(gpu.arch for gpu in gpus) or (_NO_GPU,):
            compiled = {}
            for kind in (InputKind.LTOIR, InputKind.PTX):
                compiled[kind] = yield from _compile(compiler, target, kind)
            for way in _WAYS:
                if linking and (inputs := compiled[way.kind]):
                    image = yield from _link(linking, target, way, inputs, compiler.nvrtc.release)
                    here = [gpu for gpu in gpus if gpu.arch == target]
                    if image is not None and loads is not None:
                        yield from _run(loads, here, way, image, linking[0].release)


def _started(
    stack: ExitStack,
    name: str,
    start: Callable[[], AbstractContextManager[T]],
    told: Callable[[T], str],
) -> Generator[SelfTestStep, None, T | None]:
    """Start the process that asks a library or driver; return None if it does not start."""
    try:
        process = stack.enter_context(start())
    except LtocompatError as error:
        result = SelfTestResult.MISSING if isinstance(error, Missing) else SelfTestResult.FAILED
        yield SelfTestStep(name, result, str(error))
        return None
    yield SelfTestStep(name, SelfTestResult.PASSED, told(process))
    return process


def _driver(pool: LoadPool) -> str:
    driver = pool.driver
    gpus = ", ".join(f"GPU {gpu.index}: {gpu.name} ({gpu.arch})" for gpu in driver.gpus)
    return f"CUDA {driver.cuda}, {driver.library}; {gpus}"


def _nvrtc(compiler: CompilerProcess) -> str:
    return f"{compiler.nvrtc.release}, {compiler.nvrtc.library}"


def _nvjitlink(linking: _Linking) -> str:
    linker, _ = linking
    return f"{linker.version}, {linker.path} ({linker.found_via})"


@contextmanager
def _linking(options: SelfTestOptions) -> Iterator[_Linking]:
    wanted, install = options.nvjitlink, options.install_linkers
    linker = obtain(wanted, install_missing=install) if wanted else _of_programs(install=install)
    with Pool(linker.path, workers=1) as pool:
        yield linker, pool


def _of_programs(*, install: bool = False) -> Linker:
    """The nvJitLink that programs of this Python get, else the newest for trials.

    Raises:
        Missing: there is none.
    """
    for pick in picks(Machine.here(), {}):
        if (pick.library, pick.way) == ("nvJitLink", PATHFINDER) and pick.real:
            return resolve(pick.real)
    if for_trials := Cache.of().installed():
        return for_trials[-1]
    if install:
        return obtain(str(nvjitlink_minors()[-1]), install_missing=True)
    raise Missing(NONE_AT_HAND)


def _compile(
    compiler: CompilerProcess, target: SmArch, kind: InputKind
) -> Generator[SelfTestStep, None, list[TrialInput]]:
    """Compile both units to LTO-IR or PTX; return no inputs where one of them fails."""
    lto = kind is InputKind.LTOIR
    step = functools.partial(SelfTestStep, "compile", way="LTO" if lto else "PTX", target=target)
    virtual = SmArch(target.number, target.suffix, ArchForm.VIRTUAL)
    options = (f"-arch={target}", "-dlto") if lto else (f"-arch={virtual}", "-rdc=true")
    want: Literal["ltoir", "ptx"] = "ltoir" if lto else "ptx"
    inputs = []
    for name in ("kernel.cu", "function.cu"):
        source = (files("ltocompat.commands") / "selftest_sources" / name).read_text("utf-8")
        done = compiler.compile(name, source, options, want=want)
        if done.output is None:
            yield step(SelfTestResult.FAILED, compiler_error(done, compiler.nvrtc.release, target))
            return []
        inputs.append(TrialInput(f"{name}.{want}", kind, done.output))
    size = sum(len(input_.data) for input_ in inputs)
    yield step(SelfTestResult.PASSED, f"{len(inputs)} translation units, {size:,} bytes")
    return inputs


def _link(
    linking: _Linking, target: SmArch, way: _Way, inputs: list[TrialInput], compiler: Release
) -> Generator[SelfTestStep, None, bytes | None]:
    """Link both units; return the output, None if there is none."""
    linker, pool = linking
    step = functools.partial(SelfTestStep, "link", way=way.name, target=target)
    options = (f"-arch={target}", *way.options)
    (answer,) = pool.run([Request(tuple(inputs), options, keep_output=True)])
    if answer.outcome in (LinkOutcome.LINKED, LinkOutcome.COMPILED) and answer.output:
        text = f"{'PTX' if '-ptx' in options else 'cubin'} of {len(answer.output):,} bytes"
        yield step(SelfTestResult.PASSED, text, seconds=seconds(answer))
        return answer.output
    yield step(SelfTestResult.FAILED, linker_error(answer, (compiler, linker.release)))
    return None


def _run(
    pool: LoadPool, gpus: list[LoadGpu], way: _Way, image: bytes, linker: Release
) -> Iterator[SelfTestStep]:
    """Load what was linked, and run it, on each of these GPUs."""
    x = array("f", range(COUNT))
    y = array("f", (0.5 * number for number in range(COUNT)))
    blocks = -(-COUNT // _THREADS)
    launch = Launch(_KERNEL, blocks, _THREADS, (COUNT, FACTOR, x.tobytes(), y.tobytes()))
    for gpu in gpus:
        step = functools.partial(SelfTestStep, way=way.name, target=gpu.arch, gpu=gpu.index)
        request = LoadRequest(f"the linked {way.name}", image, (_KERNEL,), gpu.index, launch)
        try:
            (answer,) = pool.run([request])
        except LtocompatError as error:
            yield step("load", SelfTestResult.FAILED, str(error))
            continue
        if answer.outcome is not LoadOutcome.LOADED and answer.step is not LoadStep.LAUNCH:
            text = driver_error(answer, pool.driver.cuda, linker)
            yield step("load", SelfTestResult.FAILED, text, seconds=answer.seconds)
            continue
        text = f"module and kernel, on {gpu.name}"
        yield step("load", SelfTestResult.PASSED, text, seconds=answer.seconds)
        right, text = compared(answer, x, y)
        yield step("run", SelfTestResult.PASSED if right else SelfTestResult.FAILED, text)

"""What the libraries said during a self-test, in one sentence each, and whether it is right."""

from __future__ import annotations

from array import array

from ltocompat.model.arch import Release, SmArch
from ltocompat.trial.compile_pool import Compiled
from ltocompat.trial.load_values import LoadAnswer
from ltocompat.trial.logs import explain
from ltocompat.trial.values import Answer

# y = a * x + y over so many numbers, all of them exact in single precision.
COUNT = 1000
FACTOR = 3.0


def compiler_error(done: Compiled, release: Release, target: SmArch) -> str:
    """Why NVRTC did not compile."""
    text = ": ".join(filter(None, (done.code_name, _first_line(done.log))))
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
        text = f"{answer.code_name or answer.code}: {_first_line(answer.log)}"
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
    if line := _first_line(answer.log):
        text += f": {line}"
    if cuda < linker:
        text += f"; the driver serves CUDA {cuda}, which is older than nvJitLink {linker}"
    return text


def compared(answer: LoadAnswer, x: array[float], y: array[float]) -> tuple[bool, str]:
    """Whether the GPU's numbers are right, which are exact in single precision."""
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


def _first_line(log: str) -> str:
    return next((line.strip() for line in log.splitlines() if line.strip()), "")

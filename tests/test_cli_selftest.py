"""The verb ``selftest``: on whatever machine this is, with and without a stand-in for a GPU."""

from __future__ import annotations

import site
import struct
from array import array
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from libraries_made import build_libcuda, needs_gcc
from report_values import HOSTILE, valid_json, written
from syrupy.assertion import SnapshotAssertion

from ltocompat.cli import run
from ltocompat.commands import selftest
from ltocompat.commands.options import SelfTestOptions
from ltocompat.commands.selftest import (
    _WAYS as WAYS,
)
from ltocompat.commands.selftest import (
    COUNT,
    FACTOR,
    SelfTestResult,
    SelfTestStep,
    compared,
    compiler_error,
    driver_error,
    linker_error,
)
from ltocompat.facts import nvjitlink_minors
from ltocompat.model.arch import Release, SmArch
from ltocompat.model.errors import Missing
from ltocompat.report import FORMATS, Options
from ltocompat.report.verbs.selftest import REPORT
from ltocompat.trial import compile_pool
from ltocompat.trial.compile_pool import Compiled, CompilerProcess
from ltocompat.trial.load_values import LoadAnswer, LoadOutcome, LoadStep
from ltocompat.trial.values import Answer, InputKind, LinkOutcome, Step

Captured = pytest.CaptureFixture[str]
SM_90 = SmArch(90)

BEGUN = [
    SelfTestStep(
        "driver", SelfTestResult.PASSED, "CUDA 13.0, /lib/libcuda.so.580.1; GPU 0: H100 (sm_90)"
    ),
    SelfTestStep("NVRTC", SelfTestResult.PASSED, "13.0, /lib/libnvrtc.so.13"),
    SelfTestStep(
        "nvJitLink", SelfTestResult.PASSED, "13.0.88, /lib/libnvJitLink.so.13 (ld.so.cache)"
    ),
    SelfTestStep(
        "compile", SelfTestResult.PASSED, "2 translation units, 4,380 bytes", "LTO", SM_90
    ),
]
LINKED = SelfTestStep(
    "link", SelfTestResult.PASSED, "cubin of 3,240 bytes", "LTO", SM_90, seconds=0.01
)
SOUND = [
    *BEGUN,
    LINKED,
    SelfTestStep("load", SelfTestResult.PASSED, "module and kernel", "LTO", SM_90, 0, 0.0004),
    SelfTestStep(
        "run",
        SelfTestResult.PASSED,
        "1,000 numbers, as Python computes them",
        "LTO",
        SM_90,
        0,
    ),
]
OLDER_LINKER = [*BEGUN, SelfTestStep("link", SelfTestResult.FAILED, "it is older", "LTO", SM_90)]
NO_DRIVER = SelfTestStep("driver", SelfTestResult.MISSING, "libcuda.so.1 is not found here")
NO_GPU = [NO_DRIVER, *BEGUN[1:], LINKED]
NOTHING = [NO_DRIVER, SelfTestStep("NVRTC", SelfTestResult.MISSING, "NVRTC is not found here")]
STRANGE = [SelfTestStep("link", SelfTestResult.FAILED, HOSTILE, "LTO", SM_90)]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "steps",
    [SOUND, OLDER_LINKER, NO_GPU, NOTHING, STRANGE],
    ids=["sound", "older-linker", "no-gpu", "nothing", "hostile"],
)
def test_every_step_has_its_row_and_the_end_is_told(
    form: str, steps: list[SelfTestStep], snapshot: SnapshotAssertion
) -> None:
    text = written(form, REPORT, steps, Options(width=100))
    assert "\x1b" not in text
    if form == "json":
        assert len(valid_json(text)["steps"]) == len(steps)
    assert text == snapshot


def code_of(results: list[str]) -> int:
    return 1 if "failed" in results else 4 if "missing" in results else 0


def test_the_exit_code_is_that_of_the_worst_step(
    capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    code = run(["selftest", "--format", "json"])
    document = valid_json(capsys.readouterr().out)
    assert code == code_of([step["result"] for step in document["steps"]])
    assert [step["step"] for step in document["steps"][:3]] == ["driver", "NVRTC", "nvJitLink"]


def test_a_linker_that_is_not_at_hand_is_missing(
    capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert run(["selftest", "--nvjitlink", "12.7.1"]) in (1, 4)
    assert "linkers install nvjitlink=12.7.1" in capsys.readouterr().out


def test_install_linkers_without_a_version_installs_the_newest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(selftest, "picks", lambda *_: ())
    asked: list[str] = []

    def obtain(wanted: str, **_: object) -> None:
        asked.append(wanted)
        raise Missing("no network")

    monkeypatch.setattr(selftest, "obtain", obtain)
    for install in (False, True):
        found = {step.name: step for step in selftest.run(SelfTestOptions(install_linkers=install))}
        assert ("linkers install" in found["nvJitLink"].detail) is not install
    assert asked == [str(nvjitlink_minors()[-1])]


@needs_gcc
def test_a_gpu_is_named(capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(build_libcuda(tmp_path)))
    run(["selftest", "--format", "json"])
    driver, *_ = valid_json(capsys.readouterr().out)["steps"]
    assert driver["result"] == "passed"
    assert "GPU 0: Fake 0 (sm_90)" in driver["detail"]


@needs_gcc
def test_a_driver_that_does_not_start_is_missing(
    capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(build_libcuda(tmp_path)))
    monkeypatch.setenv("CUDA_FAKE", "init=803")
    assert run(["selftest", "--format", "json"]) in (1, 4)
    driver, *_ = valid_json(capsys.readouterr().out)["steps"]
    assert driver["result"] == "missing"
    assert "803 (CUDA_ERROR_SYSTEM_DRIVER_MISMATCH)" in driver["detail"]


def test_an_older_linker_is_named_beside_what_it_says() -> None:
    answer = Answer(
        outcome=LinkOutcome.REFUSED,
        step=Step.ADD,
        code=4,
        code_name="NVVM_ERROR",
        log="ERROR: something new",
        release=Release(12, 4),
    )
    text = linker_error(answer, (Release(12, 9), Release(12, 4)))
    assert text.startswith("NVVM_ERROR: ERROR: something new; nvJitLink 12.4 is older than NVRTC")
    assert "older" not in linker_error(answer, (Release(12, 4), Release(12, 9)))


def loaded(**facts: object) -> LoadAnswer:
    values: dict[str, object] = {
        "outcome": LoadOutcome.REFUSED,
        "step": LoadStep.LOAD,
        "gpu": 0,
        "gpu_name": "H100",
    }
    return LoadAnswer(**{**values, **facts})  # type: ignore[arg-type]


def test_an_older_driver_is_named_beside_what_it_says() -> None:
    # What driver 580.159.04 said to PTX that nvJitLink 13.5 had linked, see data/loads.json.
    log = "ptxas application ptx input, line 9; fatal   : Unsupported .version 9.5"
    answer = loaded(code=222, code_name="CUDA_ERROR_UNSUPPORTED_PTX_VERSION", log=log)
    assert driver_error(answer, Release(13, 0), Release(13, 5)) == (
        f"load: 222 (CUDA_ERROR_UNSUPPORTED_PTX_VERSION): {log}; the driver supports CUDA 13.0, "
        "which is older than nvJitLink 13.5"
    )
    crash = loaded(outcome=LoadOutcome.CRASHED, signal="SIGSEGV")
    assert (
        driver_error(crash, Release(13, 0), Release(13, 5)) == "load: its process ended (SIGSEGV)"
    )
    for driver, older in (((13, 4), True), ((13, 5), False), ((13, 6), False)):
        assert ("is older" in driver_error(answer, Release(*driver), Release(13, 5))) == older


def test_a_gpu_that_the_compiler_does_not_know_is_named() -> None:
    log = "nvrtc: error: invalid value for --gpu-architecture (-arch)\n"
    done = Compiled(
        outcome=LinkOutcome.REFUSED, code=5, code_name="NVRTC_ERROR_INVALID_OPTION", log=log
    )
    text = compiler_error(done, Release(12, 4), SmArch(120))
    assert text.startswith("NVRTC 12.4 does not know sm_120; NVRTC_ERROR_INVALID_OPTION: nvrtc:")


def test_wrong_numbers_are_found() -> None:
    x, y = array("f", range(COUNT)), array("f", [1.0] * COUNT)
    right = [FACTOR * i + 1 for i in range(COUNT)]
    good = loaded(outcome=LoadOutcome.LOADED, output=struct.pack(f"{COUNT}f", *right))
    assert compared(good, x, y)[0]
    right[7] = 0.0
    bad = loaded(outcome=LoadOutcome.LOADED, output=struct.pack(f"{COUNT}f", *right))
    is_right, text = compared(bad, x, y)
    assert not is_right
    assert text.startswith("1 of 1,000 numbers are wrong; number 7 is 0.0, but Python ")


@pytest.mark.parametrize("driver", [False, True])
@pytest.mark.parametrize("nvrtc", [False, True])
@pytest.mark.parametrize("linker", [False, True])
@pytest.mark.parametrize("inputs", [0, 1])
@pytest.mark.parametrize("linked", [False, True])
def test_each_step_is_taken_where_all_that_it_needs_is_there(
    monkeypatch: pytest.MonkeyPatch,
    inputs: int,
    *,
    driver: bool,
    nvrtc: bool,
    linker: bool,
    linked: bool,
) -> None:
    gpu = SimpleNamespace(arch=SM_90)
    here = {
        "driver": SimpleNamespace(driver=SimpleNamespace(gpus=(gpu,))) if driver else None,
        "NVRTC": SimpleNamespace(nvrtc=SimpleNamespace(release=(13, 0))) if nvrtc else None,
        "nvJitLink": [SimpleNamespace(release=(13, 0))] if linker else None,
    }

    def step(name: str, answer: object) -> Callable[..., Iterator[str]]:
        def taken(*_: object) -> Generator[str, None, object]:
            yield name
            return answer

        return taken

    def started(_: object, name: str, *__: object) -> Generator[str, None, object]:
        yield from ()
        return here[name]

    monkeypatch.setattr(selftest, "_started", started)
    monkeypatch.setattr(selftest, "_compile", step("compile", ["x"] * inputs))
    monkeypatch.setattr(selftest, "_link", step("link", b"" if linked else None))
    monkeypatch.setattr(selftest, "_run", step("run", None))
    links = nvrtc * linker * inputs
    assert Counter(map(str, selftest.run(SelfTestOptions()))) == Counter(
        compile=2 * nvrtc, link=len(WAYS) * links, run=len(WAYS) * links * linked * driver
    )


def ended(steps: Generator[SelfTestStep, None, Any]) -> tuple[list[SelfTestStep], Any]:
    """The steps, and what comes back behind the last."""
    found = list[SelfTestStep]()
    while True:
        try:
            found.append(next(steps))
        except StopIteration as end:
            return found, end.value


@pytest.mark.parametrize("lto", [True, False])
@pytest.mark.parametrize("broken", [None, "kernel.cu", "function.cu"])
def test_both_units_are_compiled_for_the_way_that_links_them(
    *, lto: bool, broken: str | None
) -> None:
    """For nvJitLink, code has to be relocatable: -dlto or -rdc=true (NVRTC's documentation)."""
    asked = list[tuple[object, ...]]()

    def compiled(name: str, source: str, options: tuple[str, ...], *, want: str) -> object:
        asked.append((name, options, want))
        assert "__device__" in source
        output = None if name == broken else name.encode()
        outcome = LinkOutcome.REFUSED if output is None else LinkOutcome.COMPILED
        name, log = "NVRTC_ERROR", "it is wrong"
        return Compiled(outcome=outcome, code=6, code_name=name, log=log, output=output)

    release = Release(13, 0)
    compiler: Any = SimpleNamespace(compile=compiled, nvrtc=SimpleNamespace(release=release))
    kind, want = (InputKind.LTOIR, "ltoir") if lto else (InputKind.PTX, "ptx")
    (step,), inputs = ended(selftest._compile(compiler, SmArch(90, "a"), kind))  # noqa: SLF001
    options = ("-arch=sm_90a", "-dlto") if lto else ("-arch=compute_90a", "-rdc=true")
    names = ["kernel.cu", "function.cu"][: 1 if broken == "kernel.cu" else 2]
    assert asked == [(name, options, want) for name in names]
    assert (step.name, step.way, step.target) == (
        "compile",
        "LTO" if lto else "PTX",
        SmArch(90, "a"),
    )
    if broken:
        assert (step.result, inputs) == (SelfTestResult.FAILED, [])
        assert step.detail == "NVRTC_ERROR: it is wrong"
    else:
        assert step.result is SelfTestResult.PASSED
        assert step.detail == "2 translation units, 20 bytes"
        assert [(each.name, each.kind, each.data) for each in inputs] == [
            (f"{name}.{want}", kind, name.encode()) for name in names
        ]


@pytest.mark.parametrize("outcome", [*LinkOutcome])
@pytest.mark.parametrize("output", [None, b"", b"cubin"])
def test_a_link_passes_that_has_an_output(outcome: LinkOutcome, output: bytes | None) -> None:
    answer = Answer(
        outcome=outcome, step=Step.COMPLETE, release=Release(13, 0), output=output, log="no"
    )
    asked = list[Any]()

    def run(requests: list[object]) -> list[Answer]:
        asked.extend(requests)
        return [answer]

    pool = SimpleNamespace(run=run)
    linking: Any = SimpleNamespace(release=Release(13, 0)), pool
    inputs: Any = ["kernel", "function"]
    for way in WAYS:
        asked.clear()
        link = selftest._link(linking, SM_90, way, inputs, Release(12, 0))  # noqa: SLF001
        (step,), image = ended(link)
        passed = outcome in (LinkOutcome.LINKED, LinkOutcome.COMPILED) and bool(output)
        assert image == (output if passed else None)
        assert (step.name, step.way, step.target) == ("link", way.name, SM_90)
        assert step.result is (SelfTestResult.PASSED if passed else SelfTestResult.FAILED)
        assert passed == step.detail.endswith(" of 5 bytes")
        (request,) = asked
        assert request.inputs == ("kernel", "function")
        assert request.options == ("-arch=sm_90", *way.options)
        assert request.keep_output
        if not passed:
            told = linker_error(answer, (Release(12, 0), Release(13, 0)))
            assert step.detail == told


_NVRTC = """
import site
from ltocompat.trial import serving
class Server(serving.Server):
    forks = False
    def start(self):
        return {"version": [13, 0], "library": site.getsitepackages()[0], "sandbox": []}
    def serve(self, message):
        return {}, b""
def main():
    Server().run()
"""


def test_a_trial_looks_for_nvrtc_in_the_virtual_environment_of_its_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nvrtc_made.py").write_text(_NVRTC, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(compile_pool, "_PROGRAM", ("nvrtc_made",))
    with CompilerProcess() as compiler:
        assert compiler.nvrtc.library == site.getsitepackages()[0]

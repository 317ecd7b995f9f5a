"""Trial loads: whatever the driver does, an answer comes, and no driver is one clear sentence.

The child and ``cuda.bindings`` are the real ones; the libcuda that they load is a stand-in, built
from ``fake_libcuda.c``. What NVIDIA's says is in ``data/loads.json``.
"""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import pytest
from libraries_made import build_libcuda, needs_gcc
from msgspec.structs import replace

from ltocompat.model.arch import Release, SmArch
from ltocompat.model.errors import Missing, UsageError
from ltocompat.model.limits import GIB
from ltocompat.trial.load_pool import LoadPool
from ltocompat.trial.load_values import (
    Launch,
    LoadAnswer,
    LoadGpu,
    LoadOutcome,
    LoadRequest,
    LoadStep,
)
from ltocompat.trial.values import TrialLimits

HERE = Path(__file__).parent
QUICK = TrialLimits(wall_seconds=20.0, cpu_seconds=20, memory_bytes=2 * GIB)


@pytest.fixture(scope="session")
def libcuda(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_libcuda(tmp_path_factory.mktemp("libcuda"))


@pytest.fixture
def fake(libcuda: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(libcuda))
    monkeypatch.delenv("CUDA_MODULE_LOADING", raising=False)
    monkeypatch.delenv("CUDA_FAKE", raising=False)
    return monkeypatch


def load(*requests: LoadRequest, limits: TrialLimits = QUICK) -> list[LoadAnswer]:
    with LoadPool(limits=limits) as pool:
        return list(pool.run(requests))


def module(words: str, *kernels: str) -> LoadRequest:
    return LoadRequest(words, words.encode(), kernels)


pytestmark = [pytest.mark.usefixtures("fake"), needs_gcc]


def test_the_driver_and_its_gpus_are_named(fake: pytest.MonkeyPatch, libcuda: Path) -> None:
    fake.setenv("CUDA_FAKE", "gpus=2")
    with LoadPool() as pool:
        assert pool.driver.library == str(libcuda / "libcuda.so.1")
        assert pool.driver.cuda == Release(13, 0)
        assert pool.driver.gpus == (
            LoadGpu(0, "Fake 0", SmArch(90)),
            LoadGpu(1, "Fake 1", SmArch(90)),
        )


def test_kernels_are_loaded_lazily_as_programs_have_it(fake: pytest.MonkeyPatch) -> None:
    """By default since CUDA 12.2; the same module is refused at once where loading is eager."""
    asked = module("calls what is absent", "fine", "calls")
    with LoadPool(limits=QUICK) as pool:
        assert pool.driver.lazy
        (answer,) = pool.run([asked])
    assert (answer.code, answer.step, answer.kernel) == (500, LoadStep.FUNCTION, "calls")
    fake.setenv("CUDA_MODULE_LOADING", "EAGER")
    with LoadPool(limits=QUICK) as pool:
        assert not pool.driver.lazy
        (answer,) = pool.run([asked])
    assert (answer.code, answer.step, answer.kernel) == (500, LoadStep.LOAD, None)


def test_one_process_and_context_serve_modules_that_are_refused(
    fake: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What the driver says of an image is not asked twice while the driver is sound."""
    fake.setenv("CUDA_FAKE_LOG", str(tmp_path / "log"))
    modules = (module(f"code {code}") for code in (200, 209, 218, 222, 300))
    answers = load(*modules, limits=replace(QUICK, sandbox=()))  # which would let it write no log
    assert [answer.code for answer in answers] == [200, 209, 218, 222, 300]
    assert all(answer.confirmed for answer in answers)
    calls = (tmp_path / "log").read_text().splitlines()
    assert len([call for call in calls if call.startswith("init")]) == 1
    assert len([call for call in calls if call.startswith("load")]) == 5


def test_a_driver_serves_the_modules_of_one_file(fake: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake.setenv("CUDA_FAKE_LOG", str(tmp_path / "log"))
    files = ["a.so", "a.so", "b.so", "a.so"]
    modules = (LoadRequest("fine", b"fine", file=file) for file in files)
    load(*modules, limits=replace(QUICK, sandbox=()))
    calls = [call.split()[0] for call in (tmp_path / "log").read_text().splitlines()]
    assert calls.count("init") == 3
    assert calls.count("load") == 4


def test_a_module_that_loads_is_not_asked_twice() -> None:
    answer, bare = load(module("fine", "one", "two"), module("fine"))
    assert (answer.outcome, answer.step) == (LoadOutcome.LOADED, LoadStep.FUNCTION)
    assert (answer.code, answer.code_name, answer.kernel) == (0, "CUDA_SUCCESS", None)
    assert (answer.gpu, answer.gpu_name, answer.confirmed) == (0, "Fake 0", False)
    assert answer.seconds is not None
    assert bare.step is LoadStep.LOAD


def test_a_refusal_names_number_name_and_log() -> None:
    answer, newer = load(module("code 222", "saxpy"), module("code 12345"))
    assert (answer.outcome, answer.step) == (LoadOutcome.REFUSED, LoadStep.LOAD)
    assert (answer.code, answer.code_name) == (222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION")
    assert (answer.log, answer.confirmed) == ("ptxas fatal: no", True)
    assert (newer.code, newer.code_name) == (12345, None)


def test_a_kernel_that_is_absent_is_named() -> None:
    (answer,) = load(module("fine", "one", "absent", "two"))
    assert (answer.outcome, answer.step) == (LoadOutcome.REFUSED, LoadStep.FUNCTION)
    assert (answer.kernel, answer.code_name) == ("absent", "CUDA_ERROR_NOT_FOUND")


def test_each_gpu_answers_for_itself(fake: pytest.MonkeyPatch) -> None:
    fake.setenv("CUDA_FAKE", "gpus=3")
    with LoadPool(limits=QUICK) as pool:
        answers = list(pool.run(LoadRequest("x", b"not on 1", gpu=gpu) for gpu in range(3)))
    assert [answer.gpu for answer in answers] == [0, 1, 2]
    assert [answer.code for answer in answers] == [0, 209, 0]
    assert answers[1].code_name == "CUDA_ERROR_NO_BINARY_FOR_GPU"


def test_a_crash_is_pinned_to_its_step_and_stays_inside() -> None:
    crash, kernel, ended, fine = load(
        module("crash"), module("fine", "one", "crash"), module("exit"), module("fine")
    )
    assert (crash.outcome, crash.step, crash.signal) == (
        LoadOutcome.CRASHED,
        LoadStep.LOAD,
        "SIGSEGV",
    )
    assert (crash.code, crash.confirmed) == (None, True)
    assert (kernel.outcome, kernel.step, kernel.kernel) == (
        LoadOutcome.CRASHED,
        LoadStep.FUNCTION,
        "crash",
    )
    assert (ended.outcome, ended.signal, ended.exit_status) == (LoadOutcome.CRASHED, None, 3)
    assert fine.outcome is LoadOutcome.LOADED


@pytest.mark.parametrize(
    ("word", "signal_name"),
    [("hang", "SIGALRM"), pytest.param("spin", "SIGXCPU", marks=pytest.mark.slow)],
)
def test_a_hang_ends_in_time(word: str, signal_name: str) -> None:
    limits = TrialLimits(wall_seconds=60.0 if word == "spin" else 0.3, cpu_seconds=0)
    answer, fine = load(module(word), module("fine"), limits=limits)
    assert (answer.outcome, answer.signal) == (LoadOutcome.TIMED_OUT, signal_name)
    assert (answer.step, answer.confirmed) == (LoadStep.LOAD, True)
    assert fine.outcome is LoadOutcome.LOADED


def test_memory_is_limited_where_it_is_written() -> None:
    (answer,) = load(module("memory"))
    assert answer.outcome is LoadOutcome.CRASHED


def test_a_kernel_runs_and_its_last_buffer_comes_back() -> None:
    x, y = struct.pack("3f", 1, 2, 3), struct.pack("3f", 10, 20, 30)
    launch = Launch("saxpy", 1, 32, (3, 2.0, x, y))
    (answer,) = load(LoadRequest("saxpy", b"fine", ("saxpy",), launch=launch))
    assert (answer.outcome, answer.step) == (LoadOutcome.LOADED, LoadStep.LAUNCH)
    assert answer.output == struct.pack("3f", 12, 24, 36)


def test_a_kernel_that_fails_spoils_no_other_load() -> None:
    bad = LoadRequest("bad", b"fine", launch=Launch("spoil", 1, 1, (b"12",)))
    answer, fine = load(bad, module("fine"))
    assert (answer.outcome, answer.step, answer.kernel) == (
        LoadOutcome.REFUSED,
        LoadStep.LAUNCH,
        "spoil",
    )
    assert (answer.code_name, answer.output) == ("CUDA_ERROR_ILLEGAL_ADDRESS", None)
    assert fine.outcome is LoadOutcome.LOADED


def test_large_modules_pass_through() -> None:
    data = b"fine" + bytes(30_000_000)
    assert load(LoadRequest("large", data))[0].outcome is LoadOutcome.LOADED


def test_a_gpu_that_cannot_be_used_is_no_verdict_on_the_module(fake: pytest.MonkeyPatch) -> None:
    fake.setenv("CUDA_FAKE", "context=46")
    with pytest.raises(Missing, match=r"GPU 0 \(Fake 0\) can't be used: 46 \(CUDA_ERROR_DEVICE"):
        load(module("fine"))


@pytest.mark.skipif(
    os.path.exists("/proc/driver/nvidia/version"), reason="this machine has NVIDIA's driver"
)
def test_no_driver_is_one_sentence(fake: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake.setenv("LD_LIBRARY_PATH", str(tmp_path))
    with pytest.raises(Missing, match=r"^libcuda\.so\.1, .* is not found here"), LoadPool():
        pass


def test_a_file_that_is_no_library_is_one_sentence(
    fake: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "libcuda.so.1").write_text("no library")
    fake.setenv("LD_LIBRARY_PATH", str(tmp_path))
    with pytest.raises(Missing), LoadPool():
        pass


def test_a_pool_is_used_in_a_with_statement() -> None:
    with pytest.raises(UsageError, match="with statement"):
        next(LoadPool().run([module("fine")]))


def test_the_table_of_loads_holds_every_sample_and_no_chance() -> None:
    table = json.loads((HERE / "data" / "loads.json").read_text("utf-8"))
    rows = {**table["modules"], **table["broken"], **table["linked"]}
    assert all("note" not in row for row in rows.values())  # both processes said the same
    assert all(row["right"] for row in table["linked"].values() if row["outcome"] == "loaded")
    codes = {row.get("code") for row in table["modules"].values()}
    assert codes == {None, 200, 209, 222, 500}
    assert "803 (CUDA_ERROR_SYSTEM_DRIVER_MISMATCH)" in table["compat"][0]["said"]

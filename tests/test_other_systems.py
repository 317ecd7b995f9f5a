"""What works on Windows and macOS: all but trials, with the answers that Linux gets."""

import functools
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ltocompat.model.errors import Missing
from ltocompat.trial.compile_pool import CompilerProcess
from ltocompat.trial.link_pool import Pool
from ltocompat.trial.load_pool import LoadPool

ROOT = Path(__file__).parent.parent
SCRIPT = Path(__file__).parent / "another_system.py"
PLATFORMS = ("win32", "darwin")

FATBIN = "sample_artifacts/fatbin/nvcc-13.2-none.fatbin"
LTOIR = "sample_artifacts/ltoir/nvrtc-12.4-lto_80.ltoir"
TARGET = ("--deploy-target", "driver=580.95.05,nvjitlink=13.0,gpu=h100")

SAME_ANSWER = (
    ("inspect", "--kernels", "sample_artifacts/fatbin"),
    ("inspect", "--weigh", FATBIN),
    ("check", FATBIN, LTOIR, *TARGET),
    ("check", "--format", "json", FATBIN, *TARGET),
    ("audit", FATBIN),
    ("require", FATBIN),
    ("matrix", FATBIN),
    ("diff", FATBIN, "sample_artifacts/fatbin/nvfatbin-13.5-sm_90a.fatbin"),
    ("explain", "PTX-01"),
    ("targets", "h100"),
)
HERE = (("env",), ("linkers", "list"), ("check", FATBIN))
COMMANDS = (*SAME_ANSWER, *HERE)


@functools.cache
def outcomes(platform: str) -> list[tuple[int, str, str]]:
    """Exit code, stdout and stderr of each of ``COMMANDS``."""
    words = [json.dumps(command) for command in COMMANDS]
    run = subprocess.run(
        [sys.executable, SCRIPT, platform, *words],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
        timeout=120,
    )
    return [(code, out, err) for code, out, err in map(json.loads, run.stdout.splitlines())]


@pytest.mark.slow
@pytest.mark.parametrize("platform", PLATFORMS)
def test_what_asks_no_linker_answers_as_on_linux(platform: str) -> None:
    number = len(SAME_ANSWER)
    assert outcomes(platform)[:number] == outcomes("linux")[:number]


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("pool", [LoadPool, CompilerProcess, lambda: Pool("libnvJitLink.so.13")])
def test_a_trial_says_that_it_needs_linux(
    platform: str, pool: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    with pytest.raises(Missing, match=f"this system is {platform}; use Linux"):
        pool()


@pytest.mark.slow
@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_machine_is_described_without_a_traceback(platform: str) -> None:
    for code, out, err in outcomes(platform)[-len(HERE) :]:
        assert code in {0, 4}, (out, err)
        assert "internal error" not in out + err
        assert "can't be determined" not in out + err

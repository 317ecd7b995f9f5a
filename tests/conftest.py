"""How tests are run: laws in both tiers, and nothing done again that stays as it is.

The examples of a law are always the same, so that what is green once is green on the next machine;
`nox -s laws` draws new ones every time (`--hypothesis-profile=explore`). The quick tier tries some
of them, the slow tier all. No word about a slow machine is a word about the code.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import tiers
from hypothesis import HealthCheck, is_hypothesis_test, settings
from hypothesis.internal.conjecture import providers

from ltocompat.facts import horizon
from ltocompat.model.arch import Release

QUIET = (HealthCheck.too_slow,)

settings.register_profile("explore", deadline=None, suppress_health_check=QUIET)
settings.register_profile("any machine", settings.get_profile("explore"), derandomize=True)
settings.load_profile("any machine")

PART = 8
"""The quick tier tries one in so many of a law's examples,"""
LEAST = 4
"""and no fewer than these."""

# Tests start Python hundreds of times: compiled anew in each, ltocompat takes longer than they do.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started behind an &: processes that tests interrupt would inherit that they can't be.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, without a policy, in which commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True, scope="session")
def _fixed_end_of_the_tables() -> Iterator[None]:
    """What JSON and env say of the tables changes with each CUDA release, and no test with it."""
    with pytest.MonkeyPatch.context() as patch:
        end = horizon.TablesEnd(Release(13, 9), 699, "2026-12-31")
        patch.setattr(horizon, "tables_end", lambda: end)
        yield


def pytest_configure(config: pytest.Config) -> None:
    """Tell the tiers which cases nobody asks for."""
    tiers.left_out["nightly"] = "not nightly" in config.option.markexpr


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave tests on real libraries unread where all of them are left out."""
    return (collection_path.name == "wild" and "not wild" in config.option.markexpr) or None


gc.disable()  # while modules are read and tests collected, next to nothing is freed


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put every law into both tiers."""
    if settings.default is not None and settings.default.derandomize:
        # It draws constants out of the modules loaded so far, too: others in each order of tests.
        setattr(providers, "is_local_module_file", lambda _: False)  # noqa: B010
    quick = "not slow" in config.option.markexpr
    laws = [item for item in items if is_hypothesis_test(getattr(item, "obj", None))]
    for item in [] if quick else laws:
        item.add_marker(pytest.mark.slow)
    for law in {getattr(item, "obj") for item in laws} if quick else ():  # noqa: B009
        _shorten(law)


def _shorten(law: Callable[..., object]) -> None:
    """Leave a part of a law's examples; hypothesis offers no public way to change its settings."""
    name = "_hypothesis_internal_use_settings"
    whole: settings = getattr(law, name)
    count = whole.max_examples
    setattr(law, name, settings(whole, max_examples=min(count, max(LEAST, count // PART))))


def pytest_collection_finish() -> None:
    """Spare the collector what lives until the end: modules, samples and the tests themselves."""
    gc.freeze()
    gc.set_threshold(10_000)
    gc.enable()

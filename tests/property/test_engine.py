"""What an engine remembers changes no answer, and nothing of it is left when it is dropped."""

from __future__ import annotations

import gc
import tracemalloc

import pytest
from generated_artifacts import ARTIFACTS
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import sampled

import ltocompat
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.target import Target
from ltocompat.rules.engine.engine import Engine
from ltocompat.rules.engine.judge_artifact import ArtifactJudge
from ltocompat.rules.engine.picked_code import PickedCode
from ltocompat.targets import parse

TARGETS = parse(
    ["driver=580.95.05,gpu=h100", "driver=550,nvjitlink=12.4,gpu=a100", "nvlink=13.5,gpu=sm_80"]
)


@settings(max_examples=40)
@given(st.lists(ARTIFACTS, min_size=2, max_size=2), st.sampled_from(TARGETS))
def test_no_answer_depends_on_those_before_it(
    artifacts: list[ArtifactSummary], target: Target
) -> None:
    shared = Engine()
    for summary in artifacts:
        alone = list(ArtifactJudge(summary, Engine()).results(target))
        assert list(ArtifactJudge(summary, shared).results(target)) == alone


def codes() -> int:
    return sum(isinstance(each, PickedCode) for each in gc.get_objects())


def ptx(number: int) -> bytes:
    """PTX of a compiler that nobody else has, so that no two calls judge equal modules."""
    text = (
        f"// Cuda compilation tools, release 12.4, V12.4.{number}\n"
        ".version 8.4\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n ret;\n}\n"
    )
    return text.encode("ascii")


def test_nothing_is_left_of_an_engine_that_is_dropped() -> None:
    gc.collect()
    before = codes()
    evaluator = ltocompat.Evaluator("driver=580.95.05,nvjitlink=13.0,gpu=h100")
    for number in range(20):
        evaluator.check(ptx(number))
    assert codes() >= before + 20
    del evaluator
    gc.collect()
    assert codes() == before


@pytest.mark.slow
@pytest.mark.parametrize("calls", sampled([100, 10_000], 2))
def test_memory_is_flat_however_many_calls_judge_other_code(calls: int) -> None:
    """The few tables of names and headers that reading keeps are full before it is measured."""
    target = "driver=580.95.05,nvjitlink=13.0,gpu=h100"
    for number in range(calls):
        if number == calls // 3:
            gc.collect()
            tracemalloc.start()
            held = tracemalloc.get_traced_memory()[0]
        list(ltocompat.check(ptx(number), [target]))
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - held
    tracemalloc.stop()
    assert grown < 1 << 20

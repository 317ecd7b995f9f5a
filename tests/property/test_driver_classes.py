"""Drivers whose answers to all constraints are equal get equal verdicts."""

from __future__ import annotations

from generated_artifacts import ARTIFACTS
from hypothesis import given, settings
from hypothesis import strategies as st

from ltocompat.facts.gpus import find_gpu, sms
from ltocompat.model.artifact_summary import ArtifactSummary, own_linker
from ltocompat.model.target import DriverVersion, Quantifier, Target, VersionSet
from ltocompat.rules.engine.driver_classes import answers_to, constraints_on_drivers
from ltocompat.rules.engine.find_floors import driver_releases, linkers
from ltocompat.rules.engine.judge_artifact import results

NUMBERS = st.sampled_from([row.number for row in sms()])


@given(ARTIFACTS.filter(lambda made: own_linker(made) is None), NUMBERS, st.data())
@settings(max_examples=20)
def test_drivers_that_no_constraint_tells_apart_get_the_same_verdict(
    summary: ArtifactSummary, number: int, data: st.DataObject
) -> None:
    gpu = find_gpu(f"sm_{number}")
    linker = data.draw(st.sampled_from(linkers()))
    constraints = constraints_on_drivers(summary, gpu, linker)

    def told(driver: DriverVersion) -> set[object]:
        target = Target(
            name="a target",
            driver=VersionSet(str(driver), (driver,), Quantifier.ALL, "given"),
            nvjitlink=VersionSet(str(linker), (linker,), Quantifier.ALL, "given"),
            gpus=(gpu,),
        )
        return {
            (r.route, r.verdict, r.coverage, frozenset((f.rule, f.verdict) for f in r.findings))
            for r in results(summary, target)
        }

    first_of_class: dict[object, set[object]] = {}
    for driver in driver_releases():
        answers = answers_to(constraints, driver)
        assert first_of_class.setdefault(answers, told(driver)) == told(driver)

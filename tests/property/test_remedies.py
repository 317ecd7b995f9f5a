"""Paste: a pin or a driver that a remedy names cures the finding that printed it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from generated_artifacts import ARTIFACTS
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from packaging.requirements import Requirement

from ltocompat.facts import drivers, nvjitlink_minors
from ltocompat.facts.gpus import find_gpu
from ltocompat.model.arch import Release
from ltocompat.model.artifact_summary import ArtifactSummary, own_linker
from ltocompat.model.target import DriverVersion, Quantifier, Target, VersionSet
from ltocompat.model.verdict import Finding, Result, Verdict
from ltocompat.rules.engine.judge_artifact import results

LINKERS = sorted(nvjitlink_minors())
PIN = re.compile(r"nvidia-nvjitlink(?:-cu12)?>=[\d.]+,<\d+")
DRIVER = re.compile(r"driver (?:>= )?(\d{3}\.\d+(?:\.\d+)?)")


def only(version: Release) -> VersionSet[Release]:
    return VersionSet(str(version), (version,), Quantifier.ALL, "given")


@st.composite
def targets(draw: st.DrawFn) -> Target:
    driver = drivers.first_production(draw(st.sampled_from(drivers.driver_branches())))
    return Target(
        name="a target",
        driver=VersionSet(str(driver), (driver,), Quantifier.ALL, "given"),
        nvjitlink=only(draw(st.sampled_from(LINKERS))),
        gpus=(find_gpu(draw(st.sampled_from(["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"]))),),
    )


def cured_targets(finding: Finding, target: Target) -> Iterator[Target]:
    """The target as the remedy wants it, for every version that it admits."""
    for pin in PIN.findall(finding.remedy):
        wanted = Requirement(pin)
        major_12 = wanted.name.endswith("-cu12")
        admitted = [
            release
            for release in LINKERS
            if wanted.specifier.contains(f"{release}.99") and (release.major == 12) is major_12
        ]
        assert admitted, pin
        for release in (admitted[0], admitted[-1]):
            yield replace(target, nvjitlink=only(release))
    for text in DRIVER.findall(finding.remedy):
        version = DriverVersion(tuple(map(int, text.split("."))), text)
        yield replace(target, driver=VersionSet(text, (version,), Quantifier.ALL, "given"))


def objects(found: list[Result], finding: Finding, route: object) -> bool:
    """Whether the rule still says so of the same code."""
    return any(
        other.rule == finding.rule and other.verdict >= finding.verdict
        for result in found
        if result.route == route
        for other in result.findings
        if other.example == finding.example and other.evidence == finding.evidence
    )


@settings(max_examples=80, deadline=None)
@given(ARTIFACTS, targets())
def test_what_a_remedy_names_cures_its_finding(summary: ArtifactSummary, target: Target) -> None:
    if own_linker(summary) is not None:
        return  # it links with a copy inside, whatever is installed
    for result in list(results(summary, target)):
        for finding in result.findings:
            if finding.verdict < Verdict.UNKNOWN:
                continue
            for cured in cured_targets(finding, target):
                found = list(results(summary, cured))
                assert not objects(found, finding, result.route), (finding, cured)

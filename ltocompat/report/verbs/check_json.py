"""The answer of ``check`` as ``ltocompat/check/v1``, written as it comes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct, field

from ltocompat.model.records_v1 import check as v1
from ltocompat.model.records_v1 import verdict as v1_verdict
from ltocompat.model.row import text_or_none
from ltocompat.model.target import Gpu, Target, VersionSet
from ltocompat.model.verdict import Coverage, Finding, Result, VariantVerdict, Verdict
from ltocompat.model.version import rule_url
from ltocompat.report import Failure, Options
from ltocompat.report.finding_rows import MOST_KERNELS
from ltocompat.report.formats.jsonstream import Rows, failure_values


class Tally(Struct):
    """What the end of a document says of all its results."""

    artifacts: dict[str, None] = field(default_factory=dict)
    empty: set[str] = field(default_factory=set)
    verdicts: dict[str, int] = field(default_factory=dict)
    worst: Verdict | None = None

    def add(self, result: Result) -> bool:
        """Count a result; False when it is about a file without device code."""
        if result.without_device_code:
            self.empty.add(result.path)
            return False
        self.artifacts.setdefault(result.path)
        word = str(result.verdict)
        self.verdicts[word] = self.verdicts.get(word, 0) + 1
        self.worst = result.verdict if self.worst is None else max(self.worst, result.verdict)
        return True

    def value(self, failures: Iterable[Failure]) -> v1.Summary:
        """The summary."""
        return v1.Summary(
            artifacts=len(self.artifacts),
            without_device_code=len(self.empty),
            verdict=text_or_none(self.worst),
            verdicts=self.verdicts,
            errors=failure_values(failures),
        )


def document(records: Iterable[Target | Result | Failure], _: Options) -> Iterator[str]:
    """The pieces of the JSON document."""
    rows = Rows(v1.Check, "results")
    tally = Tally()
    targets: list[v1_verdict.Target] = []
    for record in records:
        if isinstance(record, Failure):
            rows.failures.append(record)
        elif isinstance(record, Target):
            targets.append(target_value(record))
        elif tally.add(record):
            yield from rows.row(result_value(record), targets=targets)
    whole = v1.Check(tuple(targets), (), tally.value(rows.failures))
    yield from rows.end(whole, empty=bool(tally.empty), targets=targets)


def target_value(target: Target) -> v1_verdict.Target:
    """A deploy target as JSON says it."""
    return v1_verdict.Target(
        name=target.name,
        system=v1_verdict.System(target.system.name, target.system.machine),
        driver=_versions(target.driver),
        compat=_versions(target.compat),
        nvjitlink=_versions(target.nvjitlink),
        nvrtc=_versions(target.nvrtc),
        nvlink=_versions(target.nvlink),
        gpus=tuple(_gpu(gpu) for gpu in target.gpus),
        sources=dict(target.sources),
    )


def _versions(known: VersionSet[Any] | None) -> v1_verdict.VersionSet | None:
    if known is None:
        return None
    return v1_verdict.VersionSet(
        text=known.text,
        values=tuple(str(value) for value in known.values),
        every=known.every,
        source=known.source,
    )


def _gpu(gpu: Gpu) -> v1_verdict.Gpu:
    return v1_verdict.Gpu(
        name=gpu.name,
        arch=str(gpu.arch),
        data_center=gpu.data_center,
        tegra=gpu.tegra,
    )


def result_value(result: Result) -> v1_verdict.Result:
    """A verdict as JSON says it."""
    return v1_verdict.Result(
        path=result.path,
        target=result.target.name,
        gpu=None if result.gpu is None else result.gpu.name,
        route=text_or_none(result.route),
        verdict=str(result.verdict),
        coverage=coverage_value(result.coverage),
        not_judged=tuple(map(str, result.not_judged)),
        findings=tuple(_finding(finding) for finding in result.findings),
        why=tuple(result.why),
        extent=v1_verdict.Extent(modules=result.extent.modules, judged=result.extent.judged),
        distribution=result.distribution or None,
        variants=tuple(map(_variant, result.variants)),
    )


def _variant(variant: VariantVerdict) -> v1_verdict.Variant:
    return v1_verdict.Variant(
        name=variant.name,
        version=variant.version,
        verdict=str(variant.verdict),
        rules=variant.rules,
        serves=variant.serves,
        decides=variant.decides,
    )


def coverage_value(coverage: Coverage) -> v1_verdict.Coverage:
    """How many modules are served, as JSON says it."""
    return v1_verdict.Coverage(
        modules=coverage.modules,
        served=coverage.served,
        sass=coverage.sass,
        ptx=coverage.ptx,
        link=coverage.link,
        without_kernels=coverage.without_kernels,
        none=coverage.none,
    )


def _finding(finding: Finding) -> v1_verdict.Finding:
    return v1_verdict.Finding(
        rule=finding.rule,
        verdict=str(finding.verdict),
        level=str(finding.level),
        message=finding.message,
        remedy=finding.remedy,
        evidence=finding.evidence,
        source=finding.source,
        url=rule_url(finding.rule),
        module_count=finding.module_count,
        example=text_or_none(finding.example),
        kernels=finding.kernels[:MOST_KERNELS],
        kernel_count=len(finding.kernels),
        kernel_modules=finding.kernel_modules,
    )

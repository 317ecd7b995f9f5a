"""`ltocompat/audit/v1`."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from msgspec import Meta

from ltocompat.model import policy
from ltocompat.model.records_v1 import check, verdict
from ltocompat.model.records_v1.base import Count, Document, Record, one_of, published
from ltocompat.model.records_v1.verdict import Target


@published(policy.Promise, "source")
class Promise(Record):
    """Support that a package promises."""

    sass: tuple[str, ...]
    ptx: tuple[str, ...]


@published(policy.ExceptionBounds)
class Allow(Record):
    """An exception in the policy that has no end date.

    Attributes:
        key: Position of the exception in the policy: audit.allow[0].
        path: A pattern.
        target: A pattern.
        kernel: A pattern of kernel names; * also matches findings without kernels.
        about: A pattern; it selects the findings whose subject matches.
        route: The route; null stands for any route, and an empty text for modules with only one
            route.
        gpus: The GPUs; null stands for any GPU, and "any" for findings that name no GPU.
        verdict: The worst verdict that the exception allows.
        modules: The largest number of modules that the exception allows; null allows any number.
        asks: The highest versions that a finding may require, such as driver 525.60.13. Null stands
            for any versions.
    """

    route: Annotated[str, one_of("load", "link", "")] | None
    asks: tuple[str, ...] | None


class Ignore(Allow):
    """An exception in the policy that has an end date.

    Attributes:
        expires: The last day of the exception.
    """

    expires: date


@published(policy.PolicyDemands)
class Policy(Record):
    """The requirements that the artifacts were checked against.

    Attributes:
        source: The policy file; empty if there is no policy. Without a policy, the audit checked
            only the options and the rules that apply to every target.
        options: Keys whose values in the policy were replaced by command-line options, such as
            require-archs.
        max_bytes: The largest size that a released file may have; null allows any size.
        max_member_bytes: The largest allowed size of a file inside a wheel or another zip; null
            allows any size.
        coverage: The share of kernels that must have code for each GPU, in percent of the kernels
            for the best-covered GPU. Null if there is no minimum.
        allow_empty: True if the audit passes although there is no device code, or no file at all.
        trial_load: True if this machine was an additional target, and its driver loaded the
            modules.
        variants: Patterns of file names; the package loads only one of the files that match.
        provided_by: For each dependency, patterns of the names of the libraries that the dependency
            installs.
    """

    require_gpus: tuple[str, ...]
    require_archs: tuple[str, ...]
    promise: Promise | None
    ignores: tuple[Ignore, ...]
    allows: tuple[Allow, ...]
    variants: tuple[str, ...]
    provided_by: dict[str, tuple[str, ...]]


class Finding(verdict.Finding):
    """A finding, and its effect on the audit.

    Attributes:
        standing: "counts" if the finding makes the audit fail. "undecided" if a fact about the
            finding is missing. "passes" if the verdict of the finding is better than the verdict
            that fail-on names. "known" if the baseline lists the finding. "ignored" if an exception
            with an end date covers the finding. "allowed" if an exception without an end date
            covers the finding.
        fingerprint: The key of the finding; it is the same in every build.
    """

    standing: Annotated[str, one_of("counts", "undecided", "passes", "known", "ignored", "allowed")]
    fingerprint: Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
    ignore: Ignore | None
    allow: Allow | None


class Result(verdict.Result):
    """The verdict on one artifact, target and GPU.

    Attributes:
        failed: True if a finding makes the audit fail (its standing is "counts").
        undecided: True if no finding makes the audit fail, but the audit can't pass because a fact
            is missing.
    """

    findings: tuple[Finding, ...]
    failed: bool
    undecided: bool


class Findings(Record):
    """How many findings have each effect on the audit: the values of standing."""

    counts: Count
    undecided: Count
    passes: Count
    known: Count
    ignored: Count
    allowed: Count


class Summary(check.Summary):
    """The number of results for each verdict, the worst verdict, and whether the audit passes.

    Attributes:
        passed: True if the audit passes: no finding makes it fail, and it had all the facts that it
            needs.
    """

    passed: bool
    outcome: Annotated[str, one_of("passed", "failed", "undecided")]
    findings: Findings
    baseline: str | None
    unused_ignores: tuple[Ignore, ...]
    unused_allows: tuple[Allow, ...]


class Audit(Document, tag="ltocompat/audit/v1"):
    """The verdicts on the targets of a policy, and the effect of each finding on the audit."""

    policy: Policy
    results: tuple[Result, ...]
    targets: tuple[Target, ...]
    summary: Summary

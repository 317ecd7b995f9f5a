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
    """A finding that the policy puts up with, for good.

    Attributes:
        key: Where it stands in the policy: audit.allow[0].
        path: A pattern.
        target: A pattern.
        kernel: A pattern of names; * for any, and for none.
        about: A pattern of what findings are about.
        route: Null for any; empty where modules have one way only.
        gpus: Null for any; of them any: findings that name no GPU.
        verdict: The worst that it forgives.
        modules: The most that it forgives; null for any number.
        asks: The newest versions that it forgives: driver 525.60.13; null for any.
    """

    route: Annotated[str, one_of("load", "link", "")] | None
    asks: tuple[str, ...] | None


class Ignore(Allow):
    """A finding that the policy puts up with, for a while.

    Attributes:
        expires: The last day on which it holds.
    """

    expires: date


@published(policy.PolicyDemands)
class Policy(Record):
    """Demands that the artifacts were held to.

    Attributes:
        source: The file that says so; empty without a policy, if only what holds on every target
            and the options are checked.
        options: The keys that options of this run gave instead: require-archs.
        max_bytes: The largest file that may be released; null for any size.
        max_member_bytes: The largest file inside of a wheel or another zip; null for any size.
        coverage: The least kernels that a GPU has code for, in percent of those of the best-served
            one; null for any.
        allow_empty: What has no device code passes, and so does no file at all.
        trial_load: This machine is one more target, and loads it all.
        variants: Patterns of files of which one is loaded.
        provided_by: Patterns of libraries that a dependency brings.
    """

    require_gpus: tuple[str, ...]
    require_archs: tuple[str, ...]
    promise: Promise | None
    ignores: tuple[Ignore, ...]
    allows: tuple[Allow, ...]
    variants: tuple[str, ...]
    provided_by: dict[str, tuple[str, ...]]


class Finding(verdict.Finding):
    """Finding of a rule on modules of the artifact, and what becomes of it.

    Attributes:
        standing: counts: fails the audit; undecided: nobody knows whether it would; passes: better
            than what the policy fails on; known: stands in the baseline; ignored: by the policy,
            for a while; allowed: by the policy, for good.
        fingerprint: The same in every build.
    """

    standing: Annotated[str, one_of("counts", "undecided", "passes", "known", "ignored", "allowed")]
    fingerprint: Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
    ignore: Ignore | None
    allow: Allow | None


class Result(verdict.Result):
    """The verdict on one artifact, target and GPU.

    Attributes:
        failed: Something of it counts.
        undecided: Nothing of it counts, and something that was asked for is not known.
    """

    findings: tuple[Finding, ...]
    failed: bool
    undecided: bool


class Findings(Record):
    """How many findings stand where."""

    counts: Count
    undecided: Count
    passes: Count
    known: Count
    ignored: Count
    allowed: Count


class Summary(check.Summary):
    """All results by verdict, the worst, and whether the audit passes.

    Attributes:
        passed: Nothing counts, and everything that was asked for is known.
    """

    passed: bool
    outcome: Annotated[str, one_of("passed", "failed", "undecided")]
    findings: Findings
    baseline: str | None
    unused_ignores: tuple[Ignore, ...]
    unused_allows: tuple[Allow, ...]


class Audit(Document, tag="ltocompat/audit/v1"):
    """The verdicts of check on a policy's targets, and what becomes of each finding."""

    policy: Policy
    results: tuple[Result, ...]
    targets: tuple[Target, ...]
    summary: Summary

"""`ltocompat/audit/v1`."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from msgspec import Meta

from ltocompat.model.records_v1 import check, verdict
from ltocompat.model.records_v1.base import Count, Document, Record, VerdictWord, one_of
from ltocompat.model.records_v1.verdict import Target


class Promise(Record):
    """Support that a package promises."""

    sass: tuple[str, ...]
    ptx: tuple[str, ...]
    driver: str | None
    nvjitlink: str | None


class Allow(Record, kw_only=True):
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

    key: str
    rule: str
    path: str
    target: str
    kernel: str
    reason: str
    about: str
    route: Annotated[str, one_of("load", "link", "")] | None
    gpus: tuple[str, ...] | None
    verdict: VerdictWord
    modules: int | None
    asks: tuple[str, ...] | None


class Ignore(Allow, kw_only=True):
    """A finding that the policy puts up with, for a while.

    Attributes:
        expires: The last day on which it holds.
    """

    expires: date


class Policy(Record):
    """Demands that the artifacts were held to.

    Attributes:
        source: The file that says so; empty where there is no policy: then what holds on any target
            is judged, and what options ask.
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

    source: str
    fail_on: VerdictWord
    require_gpus: tuple[str, ...]
    require_archs: tuple[str, ...]
    least_driver: str | None
    allow_empty: bool
    trial_links: bool
    trial_releases: tuple[str, ...]
    trial_load: bool
    promise: Promise | None
    ignores: tuple[Ignore, ...]
    allows: tuple[Allow, ...]
    variants: tuple[str, ...]
    provided_by: dict[str, tuple[str, ...]]
    max_bytes: Count | None
    max_member_bytes: Count | None
    coverage: Count | None
    options: tuple[str, ...]


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

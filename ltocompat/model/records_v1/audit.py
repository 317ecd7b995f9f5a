"""`ltocompat/audit/v1`."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from msgspec import Meta

from ltocompat.model.records_v1 import check, verdict
from ltocompat.model.records_v1.base import Count, Document, Record, described, one_of
from ltocompat.model.records_v1.verdict import Target, VerdictWord


class Promise(Record):
    """What a package says that it supports."""

    sass: tuple[str, ...]
    ptx: tuple[str, ...]
    driver: str | None
    nvjitlink: str | None


class Allow(Record, kw_only=True):
    """A finding that the policy puts up with, for good."""

    key: Annotated[str, described("Where it stands in the policy: audit.allow[0].")]
    rule: str
    path: Annotated[str, described("A pattern.")]
    target: Annotated[str, described("A pattern.")]
    kernel: Annotated[str, described("A pattern of names; * for any, and for none.")]
    reason: str
    about: Annotated[str, described("A pattern of what findings are about.")]
    route: Annotated[
        Annotated[str, one_of("load", "link", "")] | None,
        described("Null for any; empty where modules have one way only."),
    ]
    gpus: Annotated[
        tuple[str, ...] | None,
        described("Null for any; of them any: findings that name no GPU."),
    ]
    verdict: Annotated[VerdictWord, described("The worst that it forgives.")]
    modules: Annotated[int | None, described("The most that it forgives; null for any number.")]
    asks: Annotated[
        tuple[str, ...] | None,
        described("The newest versions that it forgives: driver 525.60.13; null for any."),
    ]


class Ignore(Allow, kw_only=True):
    """A finding that the policy puts up with, for a while."""

    expires: Annotated[date, described("The last day on which it holds.")]


class Policy(Record):
    """What the artifacts were held to."""

    source: Annotated[
        str,
        described(
            "The file that says so; empty where there is no policy: then what holds on "
            "any target is judged."
        ),
    ]
    fail_on: VerdictWord
    require_gpus: tuple[str, ...]
    require_archs: tuple[str, ...]
    least_driver: str | None
    allow_empty: Annotated[
        bool, described("What has no device code passes, and so does no file at all.")
    ]
    trial_links: bool
    trial_releases: tuple[str, ...]
    trial_load: Annotated[bool, described("This machine is one more target, and loads it all.")]
    promise: Promise | None
    ignores: tuple[Ignore, ...]
    allows: tuple[Allow, ...]
    variants: Annotated[tuple[str, ...], described("Patterns of files of which one is loaded.")]
    provided_by: Annotated[
        dict[str, tuple[str, ...]], described("Patterns of libraries that a dependency brings.")
    ]


class Finding(verdict.Finding):
    """What a rule says of modules of the artifact, and what becomes of it."""

    standing: Annotated[
        str,
        one_of("counts", "undecided", "passes", "known", "ignored", "allowed"),
        described(
            "counts: fails the audit; undecided: nobody knows whether it would; passes: better "
            "than what the policy fails on; "
            "known: stands in the baseline; ignored: by the policy, for a while; allowed: by the "
            "policy, for good."
        ),
    ]
    fingerprint: Annotated[
        str, Meta(pattern=r"^[0-9a-f]{32}$"), described("The same in every build.")
    ]
    ignore: Ignore | None
    allow: Allow | None


class Result(verdict.Result):
    """The verdict on one artifact, target and GPU."""

    findings: tuple[Finding, ...]
    failed: Annotated[bool, described("Something of it counts.")]
    undecided: Annotated[
        bool, described("Nothing of it counts, and something that was asked for is not known.")
    ]


class Findings(Record):
    """How many findings stand where."""

    counts: Count
    undecided: Count
    passes: Count
    known: Count
    ignored: Count
    allowed: Count


class Summary(check.Summary):
    """All results by verdict, the worst, and whether the audit passes."""

    passed: Annotated[
        bool, described("Nothing counts, and everything that was asked for is known.")
    ]
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

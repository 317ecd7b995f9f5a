"""PKG-11: metadata of a package that can't be read."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.verdict import Verdict
from ltocompat.packages.values import Shipped
from ltocompat.rules.rule import Problem, Rule

_MOST = 10


def of_package(shipped: Shipped) -> Iterator[Problem]:
    """One for each problem of the package and of those beside it."""
    for package in (shipped.package, *shipped.others):
        for problem in package.problems[:_MOST]:
            yield Problem(
                RULE.id,
                Verdict.UNKNOWN,
                f"{problem}, so that what it promises is not judged",
                "mend the metadata and build the package again",
                package.path,
            )


RULE = Rule(
    id="PKG-11",
    title="Metadata that can't be read",
    statement="Where metadata are broken, installers refuse the package or guess; their promises "
    "can't be held against anything.",
    condition="METADATA or info/index.json is missing, or a line of it can't be read.",
    evidence="The metadata.",
    verdict="unknown",
    messages=("Invalid requirement", "has an invalid wheel"),
    remedy="Build the package again with a current build tool.",
    source="core metadata specifications; conda documentation",
    of_package=of_package,
)

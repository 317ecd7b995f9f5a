"""PKG-03: a dependency on nvJitLink is pinned, so that nothing newer can be beside it."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.verdict import Verdict
from ltocompat.packages.values import Shipped
from ltocompat.rules.engine.shipped_needs import need_of, ways_of
from ltocompat.rules.rule import Problem, Rule


def of_package(shipped: Shipped) -> Iterator[Problem]:
    """One for each pinned dependency."""
    need = need_of("nvjitlink", shipped)
    if need is None:
        return
    for (package, _), (admitted, way) in ways_of(need, shipped).items():
        if admitted.pinned:
            yield Problem(
                RULE.id,
                Verdict.UNDOCUMENTED,
                f"{package} is pinned to {admitted.pinned}, so that a package that needs a newer "
                "nvJitLink can't be installed beside it",
                need.advice,
                way.line,
            )


RULE = Rule(
    id="PKG-03",
    title="nvJitLink pinned",
    statement="There is one libnvJitLink for each major in a process, and it has to be as new as "
    "the newest code of all packages there. A package that pins it to one release forces that "
    "on all others, though any newer one of the major links the same code.",
    condition="A dependency on nvJitLink, or on cuda-toolkit that leads there, says == with more "
    "than a major.",
    evidence="Requires-Dist or depends.",
    verdict="undocumented",
    messages=("ResolutionImpossible", "have conflicting dependencies"),
    remedy="Write >=X,<major+1.",
    source="nvJitLink guide, 5; cuda-toolkit, which gave up its own pins in 13.2.1",
    of_package=of_package,
)

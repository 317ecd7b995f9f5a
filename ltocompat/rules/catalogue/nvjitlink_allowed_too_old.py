"""NJL-06: the metadata of a package admits an nvJitLink that is too old for what is inside."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.verdict import Verdict
from ltocompat.packages.values import Shipped
from ltocompat.rules.engine.shipped_needs import (
    Strength,
    admits_right_major,
    need_of,
    siblings,
    ways_of,
)
from ltocompat.rules.rule import Problem, Rule


def of_package(shipped: Shipped) -> Iterator[Problem]:
    """One for each dependency whose lower bound is too low."""
    need = need_of("nvjitlink", shipped)
    if need is None or need.possible is None:
        return
    ways = ways_of(need, shipped)
    for (package, _), (admitted, way) in ways.items():
        least = min(admitted.releases, default=None)
        # PKG-04 speaks of dependencies that never are of the right major.
        if least is None or not admits_right_major(package, admitted, need):
            continue
        if least < need.possible:
            verdict = Verdict.UNKNOWN if need.strength is Strength.HANDED_OUT else Verdict.FAIL
            text = f"{need.why}, so that it has to be {need.possible} or newer"
        elif need.sure is None or least < need.sure:
            verdict = Verdict.UNKNOWN
            text = f"{need.doubt}, so that it may have to be {need.sure or 'newer'}: a trial tells"
        else:
            continue
        yield Problem(
            RULE.id,
            verdict,
            f"{package} may be {least}, but {text}",
            need.advice,
            way.line,
        )
    for package, admitted, way in siblings(need, ways):
        least = min(admitted.releases, default=need.possible)
        if least < need.possible:
            yield Problem(
                RULE.id,
                Verdict.FAIL if need.hard else Verdict.UNKNOWN,
                f"{package} may be installed instead, up to {max(admitted.releases)}, but "
                f"{need.why}, so that it has to be {need.possible} or newer",
                need.advice,
                way.line,
            )


RULE = Rule(
    id="NJL-06",
    title="Metadata that admit an nvJitLink that is too old",
    statement="A package whose libraries link LTO-IR, or import functions of nvJitLink, needs an "
    "nvJitLink that is not older than the compiler and than the symbols. Installers know only the "
    "metadata: without a lower bound they keep whatever is installed, or what another package "
    "pins.",
    condition="The lower bound of the dependency on nvJitLink, through extras, cuda-toolkit and "
    "the packages that are given beside it, is below what LTO-IR and imported symbols need.",
    evidence="Requires-Dist or depends; the containers of LTO-IR; the symbols that are imported.",
    verdict="fail where no evidence leaves room for what is admitted; unknown where several "
    "compilers are possible, and where the LTO-IR is linked by somebody else",
    messages=("Dynamically loaded libnvJitLink.so.12 is too old",),
    remedy="Write >=X,<major+1, where X is the minor of the compiler, as cuda-toolkit does from "
    "12.8.2.0, 12.9.2.0, 13.0.3.0, 13.1.2.0 and 13.2.1 on.",
    source="metadata of 41 versions of cuda-toolkit; cudf pull request 20873",
    of_package=of_package,
)

"""PKG-04: the metadata name an nvJitLink or NVRTC of another major than the libraries ask for."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.verdict import Verdict
from ltocompat.packages.values import Shipped
from ltocompat.rules.engine.shipped_needs import (
    LIBRARIES,
    TITLES,
    admits_right_major,
    need_of,
    ways_of,
)
from ltocompat.rules.rule import Problem, Rule


def of_package(shipped: Shipped) -> Iterator[Problem]:
    """One for each dependency that can't bring the right file, where no other brings it."""
    for part in LIBRARIES:
        need = need_of(part, shipped)
        if need is None:
            continue
        ways = ways_of(need, shipped)
        right = [
            key for key, (allowed, _) in ways.items() if admits_right_major(key[0], allowed, need)
        ]
        if right:
            continue
        majors = " or ".join(map(str, need.majors))
        for (package, _), (_, way) in ways.items():
            yield Problem(
                RULE.id,
                Verdict.FAIL if need.hard else Verdict.UNKNOWN,
                f"{need.why}, but {package} here is never {TITLES[part]} of major {majors}",
                need.advice,
                way.line,
            )


RULE = Rule(
    id="PKG-04",
    title="Dependency of another major",
    statement="libnvJitLink.so.12 and libnvrtc.so.12 are in the packages with -cu12, .so.13 in "
    "those without. A library that asks for one file is not served by the other.",
    condition="All dependencies on nvJitLink (or NVRTC) are of majors other than those whose file "
    "names the libraries ask for, or than the LTO-IR needs.",
    evidence="Requires-Dist or depends; DT_NEEDED and file names in the data of the libraries.",
    verdict="fail; unknown where the file is only opened by name and nothing inside needs it",
    messages=(
        "libnvJitLink.so.13: cannot open shared object file: No such file or directory",
        "libnvrtc.so.13: cannot open shared object file: No such file or directory",
    ),
    remedy="Depend on the package of the major that the libraries were built for.",
    source="file names in the wheels of nvJitLink and NVRTC, 12.0 to 13.5",
    of_package=of_package,
)

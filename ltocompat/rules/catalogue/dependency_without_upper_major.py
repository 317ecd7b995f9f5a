"""PKG-02: a dependency on nvJitLink or NVRTC admits a major whose library has another name."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.verdict import Verdict
from ltocompat.packages.values import Shipped
from ltocompat.rules.engine.shipped_needs import (
    LIBRARIES,
    TITLES,
    admits_right_major,
    need_of,
    siblings,
    ways_of,
)
from ltocompat.rules.rule import Problem, Rule


def of_package(shipped: Shipped) -> Iterator[Problem]:
    """One for each dependency without an end."""
    for part in LIBRARIES:
        need = need_of(part, shipped)
        if need is None:
            continue
        most = need.majors[-1]
        ways = ways_of(need, shipped)
        found = [
            (package, admitted, way)
            for (package, _), (admitted, way) in ways.items()
            # PKG-04 speaks of the others.
            if admits_right_major(package, admitted, need)
        ]
        for package, admitted, way in (*found, *siblings(need, ways)):
            newer = [release.major for release in admitted.releases if release.major > most]
            if newer or admitted.later_major:
                yield Problem(
                    RULE.id,
                    Verdict.UNDOCUMENTED,
                    f"{package} admits major {min(newer, default=most + 1)}, but the "
                    f"{TITLES[part]} that is asked for is the file of major {most}",
                    need.advice,
                    way.line,
                )


RULE = Rule(
    id="PKG-02",
    title="Dependency without an upper major",
    statement="The libraries of nvJitLink and NVRTC carry their major in their names, and NVIDIA "
    "promises compatibility only within a major. From CUDA 13 on the packages' names don't have "
    "the major any more, so that only an upper bound keeps the next one out.",
    condition="A dependency on nvidia-nvjitlink, nvidia-cuda-nvrtc, libnvjitlink or cuda-nvrtc "
    "admits a major beyond the one whose file name is asked for.",
    evidence="Requires-Dist or depends; the file names that libraries ask for.",
    verdict="undocumented: it works until the next major is published",
    messages=(
        "libnvJitLink.so.12: cannot open shared object file: No such file or directory",
        "libnvrtc.so.12: cannot open shared object file: No such file or directory",
    ),
    remedy="Write >=X,<major+1.",
    source="nvJitLink guide, 5; metadata of 41 versions of cuda-toolkit",
    of_package=of_package,
)

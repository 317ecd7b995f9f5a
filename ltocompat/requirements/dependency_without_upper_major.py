"""PKG-02: a dependency on nvJitLink or NVRTC admits a major whose library has another name."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.packages.values import Shipped
from ltocompat.requirements.rule import Flaw, Rule
from ltocompat.requirements.shipped_needs import (
    LIBRARIES,
    TITLES,
    admits_right_major,
    need_of,
    ways_of,
)
from ltocompat.verdict import Verdict


def of_package(shipped: Shipped) -> Iterator[Flaw]:
    """One for each dependency without an end."""
    for part, library in LIBRARIES.items():
        need = need_of(part, shipped)
        if need is None:
            continue
        most = need.majors[-1]
        for (package, _), (admitted, way) in ways_of(need, shipped).items():
            if not admits_right_major(package, admitted, need):
                continue  # PKG-04 speaks of it
            known = [one.major for one in admitted.releases if one.major > most]
            if known or admitted.later_major:
                yield Flaw(
                    RULE.id,
                    Verdict.UNDOCUMENTED,
                    f"{package} may be of major {min(known, default=most + 1)} one day, which has "
                    f"no {library}.so.{most}: {TITLES[part]} has no upper bound",
                    f"write {need.line}",
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

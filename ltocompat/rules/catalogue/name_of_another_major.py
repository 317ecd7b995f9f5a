"""PKG-05: -cu12 or -cu13 in a package's name contradicts the libraries or the compilers inside."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ltocompat.model.verdict import Verdict
from ltocompat.packages.values import Package, Shipped
from ltocompat.rules.engine.shipped_needs import major_of
from ltocompat.rules.linker_imports import short
from ltocompat.rules.rule import Problem, Rule

# cupy-cuda13x, jax-cuda12-plugin, libcuvs-cu13; torch 2.9.1+cu130.
_NAME = re.compile(r"(?:^|-)(?:cu|cuda)-?(\d\d)x?(?:-|$)")
_LOCAL = re.compile(r"\+(?:cu|cuda)\.?(\d\d)\d?(?:\.|$)")
# Libraries whose file names carry the major of CUDA, rather than one of their own.
_BY_CUDA = ("libcudart", "libnvrtc", "libnvJitLink")


def of_package(shipped: Shipped) -> Iterator[Problem]:
    """One for libraries of another major, one for compilers of a newer one."""
    major, text = _major(shipped.package)
    if major is None:
        return
    for how, verdict in (("needed", Verdict.FAIL), ("opened", Verdict.UNKNOWN)):
        for name in _BY_CUDA:
            found = {
                library.file: host
                for host in shipped.hosts
                for library in host.libraries
                if host.linked and library.name == name and library.how == how and library.file
            }
            majors = {major_of(file) for file in found} - {None}
            # Programs open several majors, one after the other, until one is there.
            if majors and major not in majors:
                file, host = next((f, h) for f, h in found.items() if major_of(f) in majors)
                path = host.place.members[-1] if host.place.members else host.place.path
                does = "needs" if how == "needed" else "opens"
                yield Problem(
                    RULE.id,
                    verdict,
                    f"{shipped.package.name} is called {text}, but {short(path)} {does} {file}",
                    f"call it {_renamed(shipped.package, major_of(file))}, or build it with CUDA "
                    f"{major}",
                    str(host.place),
                )
                break
    yield from _makers(shipped, major, text)


def _makers(shipped: Shipped, major: int, text: str) -> Iterator[Problem]:
    newer: Counter[str] = Counter()
    total = 0
    for signature, count in shipped.signatures:
        total += count
        makers = [
            each_maker
            for image in signature.images
            for each_maker in image.made_by
            if each_maker.releases
        ]
        late = [one for one in makers if one.releases[0].major > major]
        if late:
            newer[str(late[0])] += count
    if not newer:
        return
    maker, _ = newer.most_common(1)[0]
    yield Problem(
        RULE.id,
        Verdict.UNKNOWN,
        f"{shipped.package.name} is called {text}, but {sum(newer.values())} of {total} modules "
        f"were made by newer tools, such as {maker}",
        f"build them with CUDA {major}, or call it {_renamed(shipped.package, major + 1)}",
        "makers of the images",
    )


def _major(package: Package) -> tuple[int | None, str]:
    """The major in its name or version, and the letters that say so."""
    match = _NAME.search(package.name) or _LOCAL.search(package.version)
    return (int(match[1]), match[0].strip("-+.")) if match else (None, "")


def _renamed(package: Package, major: int | None) -> str:
    match = _NAME.search(package.name)
    if match is None or major is None:
        return f"one of CUDA {major}"
    return f"{package.name[: match.start(1)]}{major}{package.name[match.end(1) :]}"


RULE = Rule(
    id="PKG-05",
    title="Name of another CUDA major",
    statement="-cu12 and -cu13 in the name of a package promise that it runs with the libraries "
    "and the drivers of that major. A library inside that needs those of another one, or code "
    "that was compiled by a newer one, breaks the promise.",
    condition="The name (or the local version, +cu130) has a major, and a library inside needs or "
    "opens libcudart, libnvrtc or libnvJitLink only of others, or modules were made by tools of a "
    "newer one.",
    evidence="Name and version in the metadata; DT_NEEDED; file names in data; makers of images.",
    verdict="fail for a library that is needed; else unknown",
    messages=(
        "libcudart.so.12: cannot open shared object file: No such file or directory",
        "libnvrtc.so.12: cannot open shared object file: No such file or directory",
    ),
    remedy="Call the package by the CUDA that it was built with, or build it with the one that it "
    "is called by.",
    source="names and contents of NVIDIA's and RAPIDS' wheels, 12.x and 13.x",
    of_package=of_package,
)

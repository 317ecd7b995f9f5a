"""PKG-10: a package needs a newer driver or nvJitLink than its project promises."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.verdict import Verdict
from ltocompat.packages.promise import Promise
from ltocompat.packages.values import Shipped
from ltocompat.rules.engine.shipped_needs import need_of
from ltocompat.rules.rule import Problem, Rule


def of_package(shipped: Shipped) -> Iterator[Problem]:
    """One for the driver, one for nvJitLink."""
    if shipped.promise is not None:
        yield from _driver(shipped, shipped.promise)
        yield from _nvjitlink(shipped, shipped.promise)


def _driver(shipped: Shipped, promise: Promise) -> Iterator[Problem]:
    required, least = shipped.required, promise.driver
    if least is None:
        return
    where = f"driver in {promise.source}"
    floor, what = required.driver_sass, "SASS"
    if floor is None:
        floor, what = required.driver_ptx, "PTX"
    if floor is not None and floor > least:
        yield Problem(
            RULE.id,
            Verdict.FAIL,
            f"it is promised to load from driver {least} on, but its {what} needs {floor}",
            f'write driver = "{floor}"',
            where,
        )
    ptx = required.driver_ptx
    if what == "SASS" and ptx is not None and ptx > least and ptx != floor:
        yield Problem(
            RULE.id,
            Verdict.OK,
            f"on GPUs that only its PTX serves, it needs driver {ptx} instead of the promised "
            f"{least}",
            "compile SASS for them, or PTX with an older toolkit",
            where,
        )
    elif required.ptx_beyond:
        yield Problem(
            RULE.id,
            Verdict.UNKNOWN,
            f"it is promised to load from driver {least} on, but some of its PTX is newer than "
            "every driver that is known",
            "compile PTX with an older toolkit",
            where,
        )


def _nvjitlink(shipped: Shipped, promise: Promise) -> Iterator[Problem]:
    least, need = promise.nvjitlink, need_of("nvjitlink", shipped)
    if least is None or need is None or need.possible is None:
        return
    sure = need.sure
    if least >= need.possible and sure is not None and least >= sure:
        return
    fails = least < need.possible
    known = f"{need.possible}" if need.exact else f"{need.possible} or newer"
    yield Problem(
        RULE.id,
        Verdict.FAIL if fails else Verdict.UNKNOWN,
        f"it is promised to link from nvJitLink {least} on, but {need.why}: {known} is needed"
        + ("" if fails else ", which only a trial link tells (--trial-link)"),
        f'write nvjitlink = "{sure or need.possible}"',
        f"nvjitlink in {promise.source}",
    )


RULE = Rule(
    id="PKG-10",
    title="Promised driver or nvJitLink too old",
    statement="A project may promise the least driver and the least nvJitLink that its packages "
    "work with. SASS decides on the driver; PTX, where there is no SASS.",
    condition="[tool.ltocompat.promise] names a driver or an nvJitLink that is older than what "
    "the code in the package needs.",
    evidence="driver and nvjitlink of the promise; what the images and imported symbols need.",
    verdict="fail; unknown where several compilers are possible",
    messages=(
        "the provided PTX was compiled with an unsupported toolchain",
        "device kernel image is invalid",
    ),
    remedy="Correct the promise, or build with an older toolkit.",
    source="the project's own promise",
    of_package=of_package,
)

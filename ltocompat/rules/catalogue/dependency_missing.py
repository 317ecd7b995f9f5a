"""PKG-01: a package needs nvJitLink or NVRTC, and its metadata leads to none."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.verdict import Verdict
from ltocompat.packages.resolving import not_at_hand
from ltocompat.packages.values import Shipped
from ltocompat.rules.engine.shipped_needs import LIBRARIES, TITLES, Need, need_of, ways_of
from ltocompat.rules.rule import Problem, Rule


def of_package(shipped: Shipped) -> Iterator[Problem]:
    """One for each of the two libraries."""
    for part in LIBRARIES:
        need = need_of(part, shipped)
        if need is not None:
            yield from _missing(need, shipped)


def _missing(need: Need, shipped: Shipped) -> Iterator[Problem]:
    title = TITLES[need.part]
    ways = ways_of(need, shipped)
    installed = {key: way for key, (_, way) in ways.items() if not way.only_limits}
    if any(extra is None for _, extra in installed):
        return
    if installed:
        extras = ", ".join(dict.fromkeys(str(extra) for _, extra in installed))
        first = next(iter(installed.values()))
        text = f"{need.why}, but {title} comes only with the extra {extras}"
        remedy = f"have users install it with {shipped.package.name}[{extras}], or {need.advice}"
        yield Problem(RULE.id, Verdict.OK, text, remedy, first.line)
        return
    remedy = need.advice
    brought = not_at_hand(shipped.package, shipped.others)
    evidence = f"dependencies of {shipped.package}"
    if not need.hard:
        text = f"{need.why}, and nothing in the metadata brings {title}"
        yield Problem(RULE.id, Verdict.OK, text, f"where it is used, {remedy}", evidence)
    elif brought:
        more = f" or {len(brought) - 1} more" if len(brought) > 1 else ""
        text = f"{need.why}, and whether {brought[0]}{more} brings {title} is not known here"
        yield Problem(RULE.id, Verdict.UNKNOWN, text, f"{remedy}, or give them by --with", evidence)
    else:
        text = f"{need.why}, but nothing in the metadata brings {title}"
        yield Problem(RULE.id, Verdict.FAIL, text, remedy, evidence)


RULE = Rule(
    id="PKG-01",
    title="nvJitLink or NVRTC missing in the metadata",
    statement="A package has to name the packages whose libraries its own libraries load or open; "
    "else they are found only where something else brought them. One that has a copy inside, or "
    "is linked to the static library, needs none.",
    condition="A library of the package needs libnvJitLink or libnvrtc, or opens libnvJitLink and "
    "has LTO-IR for it, and no dependency leads there. One that only opens them by name may do "
    "without, which is a note.",
    evidence="Requires-Dist or depends; DT_NEEDED and file names in the data of the libraries.",
    verdict="fail; unknown where a dependency whose metadata is not at hand may bring it; ok, with "
    "a note, where only an extra does, or nothing inside needs it",
    messages=(
        "libnvJitLink.so.13: cannot open shared object file: No such file or directory",
        "libnvrtc.so.13: cannot open shared object file: No such file or directory",
        "DynamicLibNotFoundError",
    ),
    remedy="Add the dependency, with both bounds.",
    source="ld.so(8); metadata of NVIDIA's wheels",
    of_package=of_package,
)

"""Plan changes of a wheel that cure its problems: each is judged before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from ltocompat.model.errors import LimitExceeded
from ltocompat.model.image import HostBinary
from ltocompat.model.mend import Mend, Mended
from ltocompat.model.verdict import Finding
from ltocompat.packages.metadata import dependencies, python_and_platforms
from ltocompat.packages.values import Kind, Shipped, normalized
from ltocompat.packages.wheel_name import single_tags
from ltocompat.rules.engine.findings import subject_of
from ltocompat.rules.engine.judge_package import problems
from ltocompat.rules.needed_compilers import LIBRARIES, ways_of
from ltocompat.rules.rule import Problem
from ltocompat.targets.versions.requirement import requirement_of

P = TypeVar("P", Problem, Finding)


def plan(
    shipped: Shipped, found: tuple[Problem, ...], rules: Sequence[str] = ()
) -> tuple[Shipped, list[Mended]]:
    """Return the repaired wheel, without problems that a change can fix and without new ones.

    Args:
        shipped: the old wheel.
        found: its problems.
        rules: IDs of the rules whose problems are fixed; empty for all.

    Returns:
        The wheel, and each problem for which a change is known; none if its metadata can't be read.
    """
    mended: list[Mended] = []
    sound = shipped.package.kind is Kind.WHEEL and not shipped.package.problems
    for problem in found if sound else ():
        if problem.mend is None or (rules and problem.rule not in rules):
            continue
        reason = ""
        try:
            if key_of(problem) in map(key_of, found):  # else the change for another one cured it
                shipped, found, reason = _cured(shipped, found, problem, [problem.mend])
        except LimitExceeded as error:
            reason = f"the check of its fix exceeds a limit: {error}"
        mended.append(Mended(*key_of(problem), problem.message, reason))
    return shipped, mended


def _cured(
    uncured: Shipped, found: tuple[Problem, ...], problem: Problem, changes: list[Mend]
) -> tuple[Shipped, tuple[Problem, ...], str]:
    """The wheel without a problem, and its problems then; or as it was, and why it stays.

    A change may bring a problem that another one cures, which is made then, too.
    """
    shipped, reason = uncured, ""
    for change in changes:  # which grow
        shipped = mended_by(shipped, change)
        after = problems(shipped)
        if none_left := _excluded(shipped) - _excluded(uncured):
            return uncured, found, f"all requirements together would allow no {min(none_left)}"
        if key_of(problem) in map(key_of, after):
            return uncured, found, "its fix does not remove the finding"
        fresh = new_problems(found, after)
        if not fresh:
            return shipped, after, ""
        reason = f"its fix causes {fresh[0].rule}: {fresh[0].message}"
        changes += [each.mend for each in fresh if each.mend and each.mend not in changes][:1]
    return uncured, found, reason


def _excluded(shipped: Shipped) -> set[str]:
    """Packages of which the requirements exclude every version."""
    ways = (way for part in LIBRARIES for way in ways_of(part, shipped))
    return {way.package for way in ways if not way.allowed.releases}


def key_of(found: Problem | Finding | Mended) -> tuple[str, str]:
    """Return the rule and the subject of a problem or finding."""
    return found.rule, found.subject or subject_of(found.message)


def new_problems(before: Iterable[P], after: Iterable[P]) -> list[P]:
    """Return the problems that are new, or have a worse verdict now."""
    worst = {key_of(found): found.verdict for found in sorted(before, key=lambda p: p.verdict)}
    return [each for each in after if each.verdict > worst.get(key_of(each), -1)]


def mended_by(shipped: Shipped, mend: Mend) -> Shipped:
    """Return a wheel after a change, as rules see it."""
    package = shipped.package
    if mend.requires:
        lines = tuple(_mended_lines(package.requires_dist, mend))
        requires = tuple(dependencies(lines, [], shipped.budget))
        package = replace(package, requires_dist=lines, requires=requires)
    if mend.tag:
        _, platforms = python_and_platforms([mend.tag])
        inside = tuple(single_tags(mend.tag))
        package = replace(package, tags=(mend.tag,), tags_inside=inside, platforms=platforms)
    hosts = tuple(_with_runpath(host, mend) for host in shipped.hosts)
    return replace(shipped, package=package, hosts=hosts)


def _with_runpath(host: HostBinary, mend: Mend) -> HostBinary:
    (name,) = host.place.members if len(host.place.members) == 1 else ("",)  # no file in a member
    gone = {element for member, element in mend.not_looked_into if member == name}
    more = [element for member, element in mend.looked_into if member == name]
    kept = (element for element in host.runpath if element not in gone)
    return replace(host, runpath=tuple(dict.fromkeys((*kept, *more)))) if gone or more else host


def _mended_lines(lines: Sequence[str], mend: Mend) -> Iterator[str]:
    """Requirements after a change: the old ones in their order, then new ones."""
    wanted = {normalized(requirement_of(text).name): text for text in mend.requires}
    met: set[str] = set()
    for line in lines:
        found = _mended_line(line, wanted, mend)
        met |= {found[0]} if found else set()
        yield found[1] if found else line
    yield from (text for name, text in wanted.items() if name not in met)


def _mended_line(line: str, wanted: Mapping[str, str], mend: Mend) -> tuple[str, str] | None:
    """The package that one line is to be about, and the line; None if nothing changes it."""
    # Imported here: with it comes packaging, and most packages are not mended.
    from ltocompat.rules.engine.metadata_lines import joint_versions

    try:
        old = requirement_of(line)
    except ValueError:
        return None
    name = normalized(old.name)
    if name in wanted:
        new = requirement_of(wanted[name])
        versions = joint_versions(new.specifier, old.specifier)
        if versions and versions == joint_versions(old.specifier):
            return name, line
    elif name in mend.instead:
        new, versions = requirement_of(mend.requires[0]), ""
        old.extras.clear()
    else:
        return None
    extras = f"[{','.join(sorted(old.extras))}]" if old.extras else ""
    marker = f" ; {old.marker}" if old.marker else ""
    versions = versions or joint_versions(new.specifier)
    return normalized(new.name), f"{new.name}{extras}{versions}{marker}"

"""Notes on versions of a target that are no rows of the tables: what a verdict there goes by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ltocompat.facts import horizon
from ltocompat.facts.horizon import Position
from ltocompat.model.arch import Release
from ltocompat.model.target import Gpu, Target, VersionSet
from ltocompat.model.verdict import Finding
from ltocompat.rules.emitted import NOT_IN_TABLES
from ltocompat.rules.engine.findings import note
from ltocompat.rules.engine.module_verdict import GroupVerdict


def notes_of_versions(
    judged: Sequence[GroupVerdict], target: Target, gpu: Gpu | None
) -> Iterator[Finding]:
    """A note for each linker and driver of a target that the tables don't have.

    Of a new major of a linker nothing is concluded, so that other findings speak of it.
    """
    hows = {each.module_verdict.how for each in judged}
    arch = "the target" if gpu is None else str(gpu.arch)
    if "link" in hows:
        waiting = any(each.group.signature.needs_device_link for each in judged)
        linkers, offline = target.linker_of(objects=waiting)
        title = "nvlink" if offline else "nvJitLink"
        for release in _values(linkers):
            if not horizon.is_new_major(release):
                where = horizon.of_linker(release)
                yield from _note(f"{title} {release}", where, arch, "minor-version")
    if not hows.isdisjoint(("sass", "ptx")) and target.driver is not None:
        for driver in target.driver.values:
            where_driver = horizon.of_driver(driver)
            yield from _note(f"driver {driver}", where_driver, arch, "backward")


def _values(versions: VersionSet[Release] | None) -> tuple[Release, ...]:
    return () if versions is None else versions.values


def _note(
    version: str, where: Position[Release] | Position[int], arch: str, documented: str
) -> Iterator[Finding]:
    if where.known:
        return
    if where.beyond:
        text = (
            f"is newer than {where.below}, the newest in our tables, and judged by {documented} "
            f"compatibility; it may have dropped {arch}"
        )
    elif where.below is None:
        text = f"is older than {where.above}, the oldest in our tables, and judged by its order"
    else:
        text = (
            f"is not in our tables, and judged by its order between {where.below} and {where.above}"
        )
    yield note(NOT_IN_TABLES, f"{version} {text}", 0, None, "the keys of the target")

"""The GPUs that a target is judged for where it names none: every one that an artifact serves."""

from __future__ import annotations

import functools

from ltocompat.facts.gpus import RENAMED, Sm, find_gpu, linker_targets, runs, sms
from ltocompat.model.arch import Release
from ltocompat.model.target import DriverVersion, Gpu, Target, VersionSet
from ltocompat.model.verdict import Result


def gpus_to_judge(target: Target, *, single_link: bool = False) -> tuple[Gpu, ...]:
    """Return the GPUs of a target; if it names none, one for each possible architecture.

    These are architectures of its drivers or, without a driver, of its linker; integrated GPUs only
    for an Arm target. The result is empty for a target with neither. Only GPUs that an artifact
    serves count.

    Args:
        target: the target.
        single_link: True for one link. Else nvlink doesn't limit the GPUs, since the build chooses
            them.
    """
    if target.gpus or (target.nvlink is not None and not single_link):
        return target.gpus
    linker = target.nvjitlink or target.nvlink
    return _implied(target.driver, linker, of_arm=target.system.machine == "aarch64")


@functools.lru_cache(maxsize=64)
def _implied(
    driver: VersionSet[DriverVersion] | None, linker: VersionSet[Release] | None, *, of_arm: bool
) -> tuple[Gpu, ...]:
    rows = [sm for sm in sms() if sm.number != RENAMED and (of_arm or not sm.tegra)]
    if driver is not None:
        return _gpus([sm for sm in rows if any(runs(sm, version) for version in driver.values)])
    if linker is not None:
        made = frozenset[int]().union(*map(linker_targets, linker.values))
        return _gpus([sm for sm in rows if sm.number in made])
    return ()


def serves(result: Result) -> bool:
    """Return whether an artifact has code for a GPU for which its linker there can link."""
    coverage, linkers = result.coverage, result.target.nvjitlink or result.target.nvlink
    if coverage.sass or coverage.ptx or result.gpu is None:
        return True
    able = linkers is None or any(
        result.gpu.arch.number in linker_targets(release) for release in linkers.values
    )
    return bool(coverage.link) and able


def _gpus(rows: list[Sm]) -> tuple[Gpu, ...]:
    return tuple(find_gpu(f"sm_{sm.number}") for sm in rows)

"""``gpu=all``, ``gpu=hopper``, ``gpu=datacenter``: one GPU for each architecture of a group."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from msgspec.structs import replace

from ltocompat.facts.gpus import RENAMED, Sm, find_gpu, gpu_models, models_named, runs, sms
from ltocompat.model.errors import UsageError, did_you_mean
from ltocompat.model.target import DriverVersion, Gpu, System, VersionSet

_MARKETS: dict[str, tuple[bool | None, Callable[[Sm], bool]]] = {
    "all": (None, lambda _: True),
    "datacenter": (True, lambda sm: not sm.tegra and _sold(sm, data_center=True)),
    "geforce": (False, lambda sm: not sm.tegra and _sold(sm, data_center=False)),
    "jetson": (True, lambda sm: sm.tegra and _sold(sm, data_center=True)),
}
_SPELLINGS = {
    "any": "all",
    "consumer": "geforce",
    "tegra": "jetson",
    **dict.fromkeys(("data-center", "data-centre", "datacentre", "data_center"), "datacenter"),
    **dict.fromkeys(("ada lovelace", "ada-lovelace"), "ada"),
}


def groups() -> tuple[str, ...]:
    """The names of all groups: ``all``, ``datacenter``, ..., ``hopper``, ``blackwell``."""
    return (*_MARKETS, *dict.fromkeys(sm.name.lower() for sm in sms()))


def gpus_named(
    text: str, system: System, driver: VersionSet[DriverVersion] | None
) -> tuple[Gpu, ...]:
    """Return the GPU that a text names, or one GPU for each architecture of a named group.

    ``all`` and a market (``datacenter``, ``geforce``, ``jetson``) mean only GPUs that the target's
    driver runs, or the newest driver if none is given. An architecture by name (``blackwell``)
    means every GPU, so that a GPU unknown to the driver fails. Jetson GPUs count only if that group
    is named, or the target is an Arm machine.

    Args:
        text: ``h100``, ``sm_90``, ``hopper``, ``all``.
        system: the system of the target.
        driver: the driver of the target; None if unknown.

    Raises:
        UsageError: no GPU or group has this name, or no GPU of the group runs on that driver.
    """
    word = text.strip().lower()
    word = _SPELLINGS.get(word, word)
    if word not in groups():
        try:
            return (find_gpu(text),)
        except UsageError as error:
            hint = did_you_mean(word, groups())
            raise UsageError(f"{error}{hint}") from None if hint else error
    of_arm = word == "jetson" or system.machine == "aarch64"
    if word not in _MARKETS:
        named = [sm for sm in sms() if sm.name.lower() == word and sm.number != RENAMED]
        return tuple(_gpu(sm) for sm in named if of_arm or not sm.tegra)
    data_center, belongs = _MARKETS[word]
    sold = [sm for sm in sms() if belongs(sm) and (of_arm or not sm.tegra)]
    found = tuple(_gpu(sm) for sm in sold if _runs(sm, driver))
    if data_center is not None:
        arm = word == "jetson"
        found = tuple(replace(gpu, data_center=data_center, arm=arm) for gpu in found)
    if not found:
        raise UsageError(
            f"gpu={text}: none of these GPUs is known to run on driver {driver and driver.text}"
        )
    return found


def is_gpu(text: str) -> bool:
    """Return whether a word alone, such as ``rtx 6000``, names a GPU or a group of GPUs."""
    word = text.strip().lower()
    if _SPELLINGS.get(word, word) in groups():
        return True
    # One that several models have is a GPU, too; letters alone are more likely a name.
    several = any(letter.isdigit() for letter in word) and bool(models_named(text))
    return known_gpu(text) is not None or several


def known_gpu(name: str) -> Gpu | None:
    """Return the GPU with that name in our tables."""
    with suppress(UsageError):
        return find_gpu(name)
    return None


def _sold(sm: Sm, *, data_center: bool) -> bool:
    return any(
        model.number == sm.number and model.data_center is data_center for model in gpu_models()
    )


def _runs(sm: Sm, driver: VersionSet[DriverVersion] | None) -> bool:
    """Return whether some driver of the target runs it; the newest one, where none is given."""
    if sm.number == RENAMED:
        return False
    if driver is None:
        return sm.last_branch is None and sm.last_toolkit is None
    return any(runs(sm, version) for version in driver.values)


def _gpu(sm: Sm) -> Gpu:
    return find_gpu(f"sm_{sm.number}")

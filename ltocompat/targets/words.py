"""Words that a deploy target can be made of, as far as the tables know them."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.facts import drivers, gpus
from ltocompat.model.row import Tabular
from ltocompat.model.target import System
from ltocompat.targets.building import stock_libraries
from ltocompat.targets.gpu_groups import gpus_named, groups
from ltocompat.targets.versions.releases import known_releases


class TargetWord(Tabular, frozen=True):
    """Something that ``--deploy-target`` takes.

    Attributes:
        key: ``cuda``, ``driver`` or ``gpu``: the key of the value.
        value: ``12.4``, ``R550``, ``hopper``, ``sm_90``.
        meaning: the GPU, driver or release that the value stands for.
    """

    key: str
    value: str
    meaning: str


def target_words() -> Iterator[TargetWord]:
    """Yield every word, newest first within its key."""
    for release in reversed(known_releases("toolkit")):
        driver = drivers.stock_driver(release, "linux")
        parts = [f"driver {driver}" if driver else "an unknown driver (give driver= too)"]
        parts += ["nvJitLink"] if "nvjitlink" in stock_libraries(release) else []
        yield TargetWord("cuda", str(release), f"{', '.join(parts)} and NVRTC {release}")
    for branch in reversed(drivers.driver_branches()):
        known = ", ".join(map(str, drivers.driver_releases(branch)))
        parts = [f"CUDA {drivers.branch_cuda(branch)}"]
        parts += [f"known by number: {known}"] if known else []
        yield TargetWord("driver", f"R{branch}", "; ".join(parts))
    for group in groups():
        yield TargetWord("gpu", group, ", ".join(map(str, gpus_named(group, System(), None))))
    slices = "sm_80, as the whole GPU: a MIG instance of any GPU is written like this"
    yield TargetWord("gpu", "a100-mig-1g.5gb", slices)
    for sm in reversed(gpus.sms()):
        names = [model.name for model in gpus.gpu_models() if model.number == sm.number]
        since = f"{sm.name}, CUDA {sm.first_toolkit} to {sm.last_toolkit or 'now'}"
        yield TargetWord(
            "gpu", f"sm_{sm.number}", ": ".join(filter(None, (since, ", ".join(names))))
        )

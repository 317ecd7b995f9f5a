"""Deploy targets that hypothesis draws: a driver, an nvJitLink and some GPUs."""

from __future__ import annotations

from hypothesis import strategies as st

from ltocompat.facts import drivers, nvjitlink_minors
from ltocompat.facts.gpus import find_gpu
from ltocompat.model.target import Quantifier, Target, VersionSet

GPUS = st.sampled_from([75, 80, 87, 90, 100, 107, 110, 120, 130]).map(lambda n: find_gpu(f"sm_{n}"))
DRIVERS = st.sampled_from(drivers.driver_branches()).map(drivers.first_production)
LINKERS = st.sampled_from(sorted(nvjitlink_minors()))


@st.composite
def targets(draw: st.DrawFn) -> Target:
    driver, linker = draw(DRIVERS), draw(LINKERS)
    return Target(
        name="a target",
        driver=VersionSet(str(driver), (driver,), Quantifier.ALL, "given"),
        nvjitlink=VersionSet(str(linker), (linker,), Quantifier.ALL, "given"),
        gpus=tuple(draw(st.lists(GPUS, min_size=1, max_size=2, unique=True))),
    )

"""Which architectures each nvJitLink links for, asked of all of them, against the table."""

from __future__ import annotations

import pytest

from ltocompat import facts
from ltocompat.facts.gpus import linker_targets, sms
from ltocompat.model.arch import Release
from ltocompat.targets import linkers
from ltocompat.trial.link_pool import Pool
from ltocompat.trial.values import InputKind, LinkOutcome, Request, TrialInput

pytestmark = pytest.mark.wild

# Old enough for every linker and every architecture.
PTX = b".version 3.2\n.target sm_30\n.address_size 64\n.visible .entry k() { ret; }\n\0"
NO_SUCH = (91, 102, 122, 999)


def request(number: int) -> Request:
    return Request(
        inputs=(TrialInput("k.ptx", InputKind.PTX, PTX),), options=(f"-arch=sm_{number}",)
    )


@pytest.mark.parametrize("minor", facts.nvjitlink_minors(), ids=str)
def test_the_table_of_architectures_is_what_nvjitlink_links_for(minor: Release) -> None:
    library = linkers.obtain(str(minor), install_missing=True)
    numbers = [sm.number for sm in sms()] + list(NO_SUCH)
    with Pool(library.path) as pool:
        answers = list(pool.run(request(number) for number in numbers))
    linked = {
        number
        for number, answer in zip(numbers, answers, strict=True)
        if answer.outcome is LinkOutcome.LINKED
    }
    assert linked == linker_targets(minor)

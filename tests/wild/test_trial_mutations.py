"""Thousands of damaged inputs: the library may crash, our process and its output may not.

Nor does being too new depend on the neighbours in a shared process.

LTOCOMPAT_MUTATIONS sets their number for each library (2,000 unless told).
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Iterator

import pytest
import samples
from test_trial_links import library

from ltocompat.trial.link_pool import Pool
from ltocompat.trial.values import InputKind, LinkOutcome, Request, Step, TrialInput, TrialLimits

pytestmark = [pytest.mark.wild, pytest.mark.slow]

COUNT = int(os.environ.get("LTOCOMPAT_MUTATIONS", "2000"))
KINDS = {
    "fatbin-ltoir": InputKind.FATBIN,
    "fatbin": InputKind.FATBIN,
    "ltoir": InputKind.LTOIR,
    "cubin": InputKind.CUBIN,
    "ptx": InputKind.PTX,
}
LIMITS = TrialLimits(wall_seconds=20, cpu_seconds=5)
# A good input that defines nothing that a sample defines.
COMPANION = b".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry companion() { ret; }\n"


def mutated(data: bytes, dice: random.Random) -> bytes:
    """Bytes flipped, most of them near the front where headers are, or the end cut off."""
    changed = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 4, 16))):
        reach = len(changed) if dice.random() < 0.4 else min(len(changed), 128)
        changed[dice.randrange(reach)] = dice.choice((0, 0xFF, 0x80, dice.randrange(256)))
    if dice.random() < 0.1:
        del changed[dice.randrange(1, len(changed)) :]
    return bytes(changed)


def requests() -> Iterator[Request]:
    """Each with a damaged input behind a good one, so that a crash must name the right one."""
    dice = random.Random(20261121)  # noqa: S311 - it must be the same every time
    folders = {f: sorted((samples.FOLDER / f).iterdir()) for f in KINDS}
    first = TrialInput("good", InputKind.PTX, COMPANION)
    for number in range(COUNT):
        folder = dice.choice(("fatbin-ltoir", "fatbin", "ltoir", "cubin", "ptx"))
        data = mutated(dice.choice(folders[folder]).read_bytes(), dice)
        lto = folder in ("ltoir", "fatbin-ltoir")
        options = ("-arch=sm_90", "-lto") if lto else ("-arch=sm_90",)
        inputs = (first, TrialInput(f"{folder} {number}", KINDS[folder], data))
        yield Request(inputs, options, complete=number % 4 == 0)


@pytest.mark.parametrize("version", ["12.0.140", "12.9.86", "13.5.37"])
def test_every_mutation_has_an_answer(version: str, capfd: pytest.CaptureFixture[str]) -> None:
    start = time.monotonic()
    with Pool(library(version), limits=LIMITS) as pool:
        answers = list(pool.run(requests()))
    assert capfd.readouterr() == ("", "")
    assert len(answers) == COUNT
    by_kind: Counter[str] = Counter()
    for number, answer in enumerate(answers):
        if (
            answer.outcome in (LinkOutcome.CRASHED, LinkOutcome.TIMED_OUT)
            and answer.step is Step.ADD
        ):
            assert answer.input_name is not None
            kind, _, pinned = answer.input_name.rpartition(" ")
            assert int(pinned) == number
            by_kind[f"{kind}: {answer.outcome} ({answer.signal or answer.exit_status})"] += 1
    with capfd.disabled():
        outcomes = Counter(str(answer.outcome) for answer in answers)
        steps = Counter(str(a.step) for a in answers if a.outcome is LinkOutcome.CRASHED)
        flaky = sum(bool(answer.note) for answer in answers)
        print(f"\n{version}: {time.monotonic() - start:.0f} s, {dict(outcomes)}, {flaky} changed")
        print(f"  crashed in {dict(steps)}; while adding: {dict(by_kind)}")


def added(file: str | None, *, damaged: bool) -> Iterator[Request]:
    """LTO-IR, most of it too new for a linker of the middle, alone or in the company of all."""
    dice = random.Random(20261122)  # noqa: S311 - it must be the same every time
    folders = {f: sorted((samples.FOLDER / f).iterdir()) for f in ("fatbin-ltoir", "ltoir")}
    for number in range(COUNT):
        folder = dice.choice(("fatbin-ltoir", "ltoir"))
        data = dice.choice(folders[folder]).read_bytes()
        data = mutated(data, dice) if damaged else data
        trial_input = TrialInput(f"{folder} {number}", KINDS[folder], data)
        options = (f"-arch={dice.choice(('sm_80', 'sm_90', 'sm_100'))}", "-lto")
        yield Request((trial_input,), options, complete=False, file=file)


@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.parametrize("version", ["12.0.140", "12.4.127", "12.9.86", "13.0.88", "13.5.37"])
def test_what_is_too_new_is_so_alone_and_in_company(
    version: str, damaged: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    with Pool(library(version), limits=LIMITS) as pool:
        together = list(pool.run(added("a.so", damaged=damaged)))
        alone = list(pool.run(added(None, damaged=damaged)))
        requests_made = added(None, damaged=damaged)
        sure = [pool.safe_in_batch(r, a) for r, a in zip(requests_made, together, strict=True)]
    pairs = list(zip(together, alone, strict=True))
    # What else is damaged is answered alone.
    told = [pair for pair, is_sure in zip(pairs, sure, strict=True) if is_sure or not damaged]
    others = [(a, b) for a, b in told if (a.outcome, a.code) != (b.outcome, b.code)]
    if damaged:  # what is read beyond its end crashes, or not, by what lies there
        others = [pair for pair in others if not all(answer.failed for answer in pair)]
    with capfd.disabled():
        print(f"\n{version}, damaged {damaged}: {len(told)} of {COUNT} told, {len(others)} differ")
    assert others == []
    # What a damaged input was first refused for may be another thing, in whatever company.
    assert damaged or all(a.confirmed for a, _ in told if a.failed)

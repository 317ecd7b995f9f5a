"""Feeds every reader with changed bytes, and keeps what it does not stand.

``python tests/fuzz/fuzz.py --minutes 30 [--only elf] [--inputs 100000] [--seed 1]``:
readers take turns. An input that ends in another error than ours, or takes too long, is made small
and written into ``found/``, and the status is 1. ``tests/test_fuzz.py`` replays that folder.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from fuzz.mutate import mutated  # noqa: E402 - beside this file
from fuzz.readers import LIMITS, READERS, seeds  # noqa: E402
from ltocompat.model.errors import LtocompatError  # noqa: E402

FOUND = HERE / "found"
_TURN = 2.0  # seconds
# CPU that reading may take beyond its own limit: what is checked now and then is late.
_MOST_CPU = 2 * LIMITS.seconds
_MINIMISING = 20.0  # seconds
_HANGS = 120  # seconds after which the whole run ends with a trace


def failure(read: Callable[[bytes], object], data: bytes) -> str | None:
    """What is wrong with how these bytes were read; None where all is well."""
    start = time.process_time()
    try:
        read(data)
    except LtocompatError as error:
        if len(str(error)) > 5_000:
            return "a sentence without end"
    except RecursionError:
        return "RecursionError"
    except Exception as error:  # noqa: BLE001 - what this is for
        trace, place = error.__traceback__, ""
        while trace is not None:
            place = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
            trace = trace.tb_next
        return f"{type(error).__name__} at {place}"
    spent = time.process_time() - start
    return f"{spent:.0f} s" if spent > _MOST_CPU else None


def minimised(read: Callable[[bytes], object], data: bytes, what: str) -> bytes:
    """The same failure from fewer bytes, as far as halving pieces leads in this time."""
    end, size = time.monotonic() + _MINIMISING, max(1, len(data) // 2)
    while size and time.monotonic() < end:
        position = 0
        while position < len(data) and time.monotonic() < end:
            shorter = data[:position] + data[position + size :]
            if failure(read, shorter) == what:
                data = shorter
            else:
                position += size
        size //= 2
    return data


def turn(name: str, dice: random.Random, seconds: float, most: int) -> tuple[int, dict[str, bytes]]:
    """Try one reader for a while; how many inputs, and the failures by what is wrong."""
    reader, begin = READERS[name], seeds(name)
    known: dict[str, bytes] = {}
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end and count < most:
        data = mutated(dice.choice(begin), begin, reader.words, dice)
        count += 1
        faulthandler.dump_traceback_later(_HANGS, exit=True)
        what = failure(reader.read, data)
        if what is not None:
            known.setdefault(what, data)
    faulthandler.cancel_dump_traceback_later()
    return count, known


def run(names: Sequence[str], minutes: float, inputs: int, seed: int) -> int:
    """Readers in turn until the time is up or each had its inputs; how many failures were found."""
    dice, end = random.Random(seed), time.monotonic() + 60 * minutes  # noqa: S311 - no secret
    counts = dict.fromkeys(names, 0)
    found: dict[tuple[str, str], bytes] = {}
    while time.monotonic() < end and (todo := [n for n in names if counts[n] < inputs]):
        for name in todo:
            count, failures = turn(name, dice, _TURN, inputs - counts[name])
            counts[name] += count
            for what, data in failures.items():
                if (name, what) not in found:
                    print(f"{name}: {what}", flush=True)
                    found[name, what] = data
    for (name, what), data in found.items():
        small = minimised(READERS[name].read, data, what)
        digest = hashlib.sha256(small).hexdigest()[:12]
        FOUND.mkdir(exist_ok=True)
        (FOUND / f"{name.replace(' ', '-')}-{digest}").write_bytes(small)
        print(f"{name}: {what}: kept {len(small)} bytes as {name}-{digest}")
    for name, count in counts.items():
        print(f"{name:13} {count:>9,} inputs")
    return len(found)


def main() -> int:
    """Read the command line, and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--inputs", type=int, default=sys.maxsize)
    parser.add_argument("--only", action="append", choices=sorted(READERS))
    parser.add_argument("--seed", type=int, default=int(time.time()))
    words = parser.parse_args()
    print(f"seed {words.seed}")
    return 1 if run(words.only or list(READERS), words.minutes, words.inputs, words.seed) else 0


if __name__ == "__main__":
    sys.exit(main())

"""``ltocompat explain`` on texts of 1 KB to 1 MB, and as a process beside ``ltocompat --version``.

Run by hand: python tests/benchmarks/explain_long_texts.py
The work has to grow with the text and no faster, whatever stands in it: the microseconds a KB stay
what they are, or fall. A log of 100 KB once took 110 s.
"""

from __future__ import annotations

import sys
import time
import tomllib
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from peers import Peer, compare

from ltocompat.rules.messages import matches

SIZES = (1_000, 10_000, 100_000, 1_000_000)
MESSAGES = Path(__file__).parent.parent / "data/explain_messages.toml"


def texts() -> dict[str, Callable[[int], str]]:
    """Texts of a length, by what is in them."""
    rows = tomllib.loads(MESSAGES.read_text("utf-8"))
    messages = [row["text"] for row in rows["message"]]
    unrelated = [row["text"] for row in rows["unrelated"]]
    begun = ["undefined symbol: " * 9, "/lib" * 40, "CUDA driver " * 9, "version `" * 20]

    def filled(parts: list[str], glue: str) -> Callable[[int], str]:
        def text(length: int) -> str:
            return glue.join(islice(cycle(parts), 1 + length // min(map(len, parts))))[:length]

        return text

    return {
        "logs of other things": filled(unrelated, "\n"),
        "all messages again and again": filled(messages, "\n"),
        "one message again and again": filled(["CUDA error 209: no kernel image"], "\n"),
        "beginnings of messages": filled(begun, " "),
        "one line without a blank": filled(["libnvJitLink.so.12:"], ""),
        "blanks": filled([" \t"], ""),
        "numbers": filled(["209 [804] (209 vs. 0) error "], ""),
    }


def cpu_seconds(text: str) -> float:
    """The least of three."""
    taken = []
    for _ in range(3):
        begun = time.process_time()
        for _ in matches(text):
            pass
        taken.append(time.process_time() - begun)
    return min(taken)


def main() -> None:
    list(matches("CUDA error 209"))  # the table is read, and its patterns are compiled
    print("ms (and microseconds a KB) of CPU".ljust(34), *(f"{size:>17,}" for size in SIZES))
    for name, text in texts().items():
        cells = []
        for size in SIZES:
            seconds = cpu_seconds(text(size))
            cells.append(f"{seconds * 1000:9.1f} ({seconds * 1e9 / size:5.0f})")
        print(name.ljust(34), *cells)
    ltocompat = [sys.executable, "-m", "ltocompat"]
    compare(
        Peer("--version", [*ltocompat, "--version"]),
        Peer("explain", [*ltocompat, "explain", "CUDA error 209"]),
    )


if __name__ == "__main__":
    main()

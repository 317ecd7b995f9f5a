"""``ltocompat explain`` on texts of 1 KB to 1 MB, on short ones, and as the first of a process.

Run by hand: python tests/benchmarks/explain_long_texts.py [OTHER_TREE]
The work has to grow with the text and no faster, whatever stands in it: the microseconds a KB stay
what they are, or fall. A log of 100 KB once took 110 s. With another working tree of ltocompat, its
short texts and first uses are measured in turn with ours.
"""

from __future__ import annotations

import subprocess
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
ROOT = Path(__file__).parents[2]
MESSAGES = ROOT / "tests/data/explain_messages.toml"
FIRST = """
import sys, time, tomllib
start = time.process_time()
from ltocompat.commands.explain import explain
imported = time.process_time()
explain("CUDA error 209")
first = time.process_time()
texts = [row["text"] for row in tomllib.load(open(sys.argv[1], "rb"))["message"]]
def took(text):
    begun = time.process_time()
    explain(text)
    return time.process_time() - begun
rounds = [[took(text) for text in texts] for _ in range(9)]
print(imported - start, first - imported, sum(map(min, zip(*rounds))) / len(texts))
"""


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


def short_texts(trees: list[str]) -> None:
    """Print the least of seven processes a tree."""
    taken: dict[str, list[list[float]]] = {tree: [] for tree in trees}
    for _ in range(7):
        for tree in trees:
            command = [sys.executable, "-c", FIRST, str(MESSAGES)]
            told = subprocess.check_output(command, text=True, env={"PYTHONPATH": tree}, cwd=tree)
            taken[tree].append([*map(float, told.split())])
    print("\nms of CPU".ljust(35), *(f"{name:>17}" for name in ("import", "first", "later, each")))
    for tree, runs in taken.items():
        print(
            tree.ljust(34), *(f"{min(column) * 1000:17.2f}" for column in zip(*runs, strict=True))
        )


def main() -> None:
    list(matches("CUDA error 209"))  # the table is read, and its patterns are compiled
    print("ms (and microseconds a KB) of CPU".ljust(34), *(f"{size:>17,}" for size in SIZES))
    for name, text in texts().items():
        cells = []
        for size in SIZES:
            seconds = cpu_seconds(text(size))
            cells.append(f"{seconds * 1000:9.1f} ({seconds * 1e9 / size:5.0f})")
        print(name.ljust(34), *cells)
    short_texts([str(ROOT), *sys.argv[1:]])
    ltocompat = [sys.executable, "-m", "ltocompat"]
    compare(
        Peer("--version", [*ltocompat, "--version"]),
        Peer("explain", [*ltocompat, "explain", "CUDA error 209"]),
    )


if __name__ == "__main__":
    main()

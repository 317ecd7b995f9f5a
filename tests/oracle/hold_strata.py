"""Verdicts of ``check`` on the links of ``input_strata`` beside what the real linkers did.

``python tests/oracle/hold_strata.py FOLDER [EACH] --seed COMMIT`` downloads, compiles and asks what
is missing; FOLDER is that of ``measure.py``. ``--auto`` asks linkers about what stays unknown;
``--trial`` holds ``check --trial-link`` and ``link`` against the plain call in every case.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "sample_artifacts")]

import nvcc_objects  # noqa: E402
from input_answers import LINKED, LOST, Answer, answered, folder_of  # noqa: E402
from input_strata import STRATA, Link, links  # noqa: E402
from pieces import compiled  # noqa: E402
from toolchains import PackageCache  # noqa: E402

import ltocompat  # noqa: E402
from ltocompat import Result, Verdict  # noqa: E402
from ltocompat.model.errors import LtocompatError  # noqa: E402

EACH = 500
COLUMNS = ("agree", "unknown", "wrong ok", "wrong fail", "lost kernels", "link differs")
_WORKED = frozenset({"linked", "compiled", "accepted"})


@dataclass(frozen=True, slots=True)
class Held:
    """One link with both answers.

    Attributes:
        link: what was linked.
        answer: of the real linker.
        verdict: of ``check``; None where it judged nothing.
        why: the findings that decided.
        linked: outcome of ``link``; empty where it was not asked.
    """

    link: Link
    answer: Answer
    verdict: Verdict | None
    why: str
    linked: str = ""

    @property
    def differs(self) -> bool:
        """Whether ``link`` says otherwise than the linker that is called by itself."""
        worked = self.linked in _WORKED
        return bool(self.linked) and worked is not (self.answer.outcome == LINKED)

    @property
    def outcome(self) -> str:
        """One of ``COLUMNS`` but the last two."""
        if self.verdict in (None, Verdict.UNKNOWN):
            return "unknown"
        if self.verdict is Verdict.FAIL:
            return "wrong fail" if self.answer.outcome == LINKED else "agree"
        return "agree" if self.answer.outcome == LINKED else "wrong ok"

    def __str__(self) -> str:
        files = " ".join(each.file for each in self.link.inputs)
        target = f"{self.link.linker}={self.link.release},gpu=sm_{self.link.arch}"
        words = self.answer.words.replace("\n", " | ")
        return (
            f"{self.link.stratum}: {self.outcome}: {self.link.key} {target} {files}\n"
            f"  linker: {self.answer.outcome}: {words}\n  check: {self.verdict} {self.why}\n"
            f"  link: {self.linked}"
        )


def held(
    answers: Iterable[tuple[Link, Answer]], root: Path, trial_link: bool | str = False
) -> Iterator[Held]:
    """Each link with the verdict on it; ``trial_link`` as ``check`` takes it."""
    for link, answer in answers:
        folder = folder_of(link, root)
        paths = [str(folder / each.file) for each in link.inputs]
        target = f"{link.linker}={link.release},gpu=sm_{link.arch}"
        try:
            results = list(
                ltocompat.check(
                    paths,
                    [target],
                    route="link",
                    together=True,
                    trial_link=trial_link,  # type: ignore[arg-type]
                    cache=False,
                )
            )
        except LtocompatError as error:
            yield Held(link, answer, None, f"{type(error).__name__}: {error}")
            continue
        worst = max(results, key=lambda result: result.verdict, default=None)
        verdict = worst.verdict if worst else None
        linked = _linked(link, paths) if trial_link is True else ""
        yield Held(link, answer, verdict, _why(worst), linked)


def _linked(link: Link, paths: Sequence[str]) -> str:
    """The outcome of ``link``, which may refuse what no linker could take."""
    linker = f"{link.linker}={link.release}"
    try:
        tried = ltocompat.link(*paths, arch=f"sm_{link.arch}", linkers=[linker])
        first = next(each for each in tried if isinstance(each, ltocompat.Linked))
    except LtocompatError as error:
        return f"{type(error).__name__}: {error}"
    return "empty" if first.answer.outcome == "accepted" and first.reason else first.answer.outcome


def _why(result: Result | None) -> str:
    if result is None:
        return "nothing was judged"
    deciding = [each for each in result.findings if each.verdict is result.verdict]
    said = "; ".join(f"{each.rule}: {each.message}" for each in deciding or result.findings)
    extra = f" [not judged: {', '.join(result.not_judged)}]" if result.not_judged else ""
    return f"{said or 'no findings'}{extra}"


def table(rows: Iterable[Held]) -> str:
    """How the links of each stratum came out, and by which rules verdicts are unknown."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    reasons: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        for stratum in (row.link.stratum, "all"):
            counts[stratum][row.outcome] += 1
            counts[stratum]["lost kernels"] += row.answer.outcome == LOST
            counts[stratum]["link differs"] += row.differs
            counts[stratum]["links"] += 1
            if row.outcome == "unknown":
                reasons[stratum][row.why.partition(":")[0]] += 1
    head = f"{'stratum':16}{'links':>7}" + "".join(f"{name:>13}" for name in COLUMNS)
    lines = [f"{head}  unknown by"]
    for stratum in (*(name for name in STRATA if name in counts), "all"):
        found = counts[stratum]
        by = ", ".join(f"{rule} {many}" for rule, many in reasons[stratum].most_common(5))
        cells = "".join(f"{found[name]:>13}" for name in COLUMNS)
        lines.append(f"{stratum:16}{found['links']:>7}{cells}  {by}".rstrip())
    return "\n".join(lines)


def drawn(folder: Path, each: int, seed: str, strata: Sequence[str]) -> Iterator[Link]:
    """The links of a seed, made of what lies in the folder or is made there."""
    cache = PackageCache(folder / "packages")
    pieces = compiled(folder / "pieces", cache)
    objects = nvcc_objects.objects(folder / "pieces", cache)
    yield from links(pieces, objects, folder, each=each, seed=seed, strata=strata)


def main() -> None:
    """Draw, ask, hold, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("each", type=int, nargs="?", default=EACH)
    parser.add_argument("--seed", required=True)
    parser.add_argument("--only", action="append", choices=list(STRATA))
    parser.add_argument("--auto", action="store_true")
    parser.add_argument("--trial", action="store_true")
    chosen = parser.parse_args()
    cache = PackageCache(chosen.folder / "packages")
    root = chosen.folder / "strata"
    some = drawn(chosen.folder, chosen.each, chosen.seed, chosen.only or tuple(STRATA))
    answers = answered(some, root, cache)
    rows = list(held(answers, root, "auto" if chosen.auto else chosen.trial))
    for row in rows:
        if row.outcome != "agree" or row.differs:
            print(row, end="\n\n")
    print(table(rows))


if __name__ == "__main__":
    main()

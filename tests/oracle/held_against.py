"""Verdicts of ``check`` beside what the real linkers did: agree, unknown by reason, or disagree."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from link_cases import Case, Given
from real_linkers import Answer

import ltocompat
from ltocompat import Result, Verdict
from ltocompat.model.errors import LtocompatError

AGREE, DISAGREE = "agree", "disagree"
# How linkers refuse a name that no input defines, or two do.
_ABOUT_NAMES = (
    *("Unresolved extern", "Undefined reference", "ERROR 9: finish", "ERROR 9: bad input"),
    "ERROR 1: finish",  # the same from nvJitLink 12.2 and 12.3
    *("ultiply defined", "Multiple definition"),
)


@dataclass(frozen=True, slots=True)
class Held:
    """One case.

    Attributes:
        case: what was linked.
        answer: of the real linker.
        verdict: of ``check``; None where it judged nothing.
        why: rules and messages of the findings that decided, or what was said instead.
        not_judged: what ``check`` said besides that it did not judge.
    """

    case: Case
    answer: Answer
    verdict: Verdict | None
    why: str
    not_judged: tuple[str, ...] = ()

    @property
    def outcome(self) -> str:
        """``agree``, ``disagree`` or ``unknown``: a fact is missing, and was named."""
        if self.verdict in (None, Verdict.UNKNOWN):
            return "unknown"
        if "symbols" in self.not_judged and any(w in self.answer.words for w in _ABOUT_NAMES):
            return "unknown"
        return AGREE if (self.verdict is not Verdict.FAIL) == self.answer.accepted else DISAGREE


def held(
    answers: Iterable[tuple[Case, Answer]], folder: Path, *, trial: bool = False
) -> Iterator[Held]:
    """Each case with the verdict; files that are linked in several ways are checked once.

    Args:
        answers: of the real linkers.
        folder: for the files.
        trial: with ``trial_link``, which asks the linkers that are installed, or can be.
    """
    by_files: dict[tuple[Given, ...], list[tuple[Case, Answer]]] = defaultdict(list)
    for case, answer in answers:
        by_files[case.files].append((case, answer))
    for files, rows in by_files.items():
        paths = [_written(file, folder) for file in files]
        targets = [
            f"name=t{at},{case.linker}={case.release},gpu=sm_{case.arch}"
            for at, (case, _) in enumerate(rows)
        ]
        try:
            results = _results(paths, targets, whole=_whole(rows[0][0]), trial=trial)
        except LtocompatError as error:
            results = {}
            said = f"{type(error).__name__}: {error}"
        else:
            said = "nothing was judged"
        for at, (case, answer) in enumerate(rows):
            result = results.get(f"t{at}")
            if result is None:
                yield Held(case, answer, None, said)
            else:
                yield Held(case, answer, result.verdict, _why(result), result.not_judged)


def _whole(case: Case) -> bool:
    """Whether the files are judged as all that is linked; one file may wait for others."""
    return len(case.files) > 1 or case.stratum == "symbols"


def _results(
    paths: Sequence[str], targets: Sequence[str], *, whole: bool, trial: bool
) -> Mapping[str, Result]:
    """The worst result of each target."""
    found: dict[str, Result] = {}
    for result in ltocompat.check(
        paths,
        targets,
        route="link",
        together=whole,
        trial_link=trial,
        install_linkers=trial,
        cache=False,
    ):
        name = result.target.name
        if name not in found or found[name].verdict < result.verdict:
            found[name] = result
    return found


def _written(file: Given, folder: Path) -> str:
    path = folder / sha256(file.data).hexdigest()[:24] / file.file
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.data)
    return os.fspath(path)


def _why(result: Result) -> str:
    deciding = [f for f in result.findings if f.verdict is result.verdict] or result.findings
    said = "; ".join(f"{finding.rule}: {finding.message}" for finding in deciding)
    extra = f" [not judged: {', '.join(result.not_judged)}]" if result.not_judged else ""
    return f"{said or 'no findings'} ({result.coverage.served} of {result.coverage.modules}){extra}"


def table(rows: Iterable[Held]) -> str:
    """How many of each stratum agree, are unknown by which rule, or disagree."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    reasons: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        counts[row.case.stratum][row.outcome] += 1
        if row.outcome == "unknown":
            unknown = row.verdict in (None, Verdict.UNKNOWN)
            reason = row.why.partition(":")[0] if unknown else "names in LTO-IR"
            reasons[row.case.stratum][reason] += 1
    lines = [f"{'stratum':22}{'links':>7}{'agree':>7}{'unknown':>9}{'disagree':>10}  unknown by"]
    for stratum, found in [*counts.items(), ("all", sum(counts.values(), Counter()))]:
        by = ", ".join(f"{rule} {many}" for rule, many in reasons[stratum].most_common(6))
        lines.append(
            f"{stratum:22}{found.total():>7}{found[AGREE]:>7}{found['unknown']:>9}"
            f"{found[DISAGREE]:>10}  {by}".rstrip()
        )
    return "\n".join(lines)

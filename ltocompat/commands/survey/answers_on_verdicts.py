"""Answers of a survey on verdicts and metadata: what fails where, and what admits it."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from ltocompat.commands.survey.answer_parts import (
    NAMED,
    SurveyRows,
    branch_of,
    by_number,
    check_again,
    claim,
    gpu_of,
    named,
    of_all,
    of_newest,
    table,
)
from ltocompat.commands.survey.answer_values import (
    Answer,
    Bar,
    Bars,
    Claim,
    Command,
    Grid,
    RuleId,
)
from ltocompat.model.arch import SmArch
from ltocompat.model.target import ANY_TARGET
from ltocompat.model.verdict import Verdict
from ltocompat.rules.builtin_rules import BYTES_UNREAD, OLD_LINKER_ADMITTED


def loads(survey: SurveyRows) -> Answer:
    """Which packages fail on which driver and GPU."""
    rows = survey.rows("verdicts", "sha256", "target", "driver", "gpu", "arch", "verdict", "rules")
    seen = [row for row in rows if row["sha256"] in survey.with_code and row["gpu"]]
    worst: dict[tuple[str, str, str], Verdict] = {}
    rules: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    targets: dict[tuple[str, str], str] = {}
    for row in seen:
        key = (row["sha256"], branch_of(row), gpu_of(row))
        verdict = Verdict[row["verdict"].upper()]
        worst[key] = max(worst.get(key, Verdict.OK), verdict)
        if verdict is Verdict.FAIL:
            rules[key[:2]].update(row["rules"][:1])
            targets[key[:2]] = row["target"]
    archs = {gpu_of(row): SmArch.parse(row["arch"]) for row in seen}
    branches = sorted({branch for _, branch, _ in worst}, key=by_number)
    gpus = sorted(archs, key=lambda gpu: (archs[gpu], gpu))
    newest = {key: value for key, value in worst.items() if key[0] in survey.newest}
    grid = Grid(
        "Packages that fail, of those judged: newest of each project and platform",
        tuple(f"driver {branch}" for branch in branches),
        tuple(gpus),
        tuple(tuple(_failing(newest, branch, gpu) for gpu in gpus) for branch in branches),
    )
    found: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for (sha256, branch, gpu), verdict in worst.items():
        if verdict is Verdict.FAIL:
            found[sha256, branch].append(gpu)
    rows_shown = [
        (
            *named(survey.with_code[sha256]),
            branch,
            ", ".join(sorted(failing, key=gpus.index)),
            RuleId(rules[sha256, branch].most_common(1)[0][0]) if rules[sha256, branch] else None,
            check_again(survey.with_code[sha256], targets[sha256, branch]),
        )
        for (sha256, branch), failing in found.items()
    ]
    return Answer(
        "loads",
        "Which packages fail on which driver and GPU?",
        tuple(_claims_of_loads(newest, branches, list(found))),
        grid,
        table((*NAMED, "driver", "GPUs that fail", "first rule", "ask again"), rows_shown),
        "v = pandas.read_parquet('OUT/verdicts'); v[v.verdict == 'fail'].groupby(['driver', 'gpu'])"
        ".sha256.nunique()",
    )


def _failing(
    worst: Mapping[tuple[str, str, str], Verdict], branch: str, gpu: str
) -> tuple[int, int] | None:
    found = [verdict for key, verdict in worst.items() if key[1:] == (branch, gpu)]
    return (sum(verdict is Verdict.FAIL for verdict in found), len(found)) if found else None


def _claims_of_loads(
    worst: Mapping[tuple[str, str, str], Verdict],
    branches: Iterable[str],
    of_rows: Sequence[tuple[str, str]],
) -> Iterable[Claim]:
    for branch in branches:
        judged = {sha256 for sha256, on, _ in worst if on == branch}
        nowhere = {
            sha256
            for sha256 in judged
            if all(
                verdict is Verdict.FAIL
                for (each, on, _), verdict in worst.items()
                if (each, on) == (sha256, branch)
            )
        }
        failing = {
            sha256
            for (sha256, on, _), verdict in worst.items()
            if on == branch and verdict is Verdict.FAIL
        }
        yield claim(
            f"On driver {branch}, {of_all(len(failing), len(judged), 'package')} fail on at least "
            f"one GPU that was asked about, {len(nowhere):,} on all of them.",
            of_rows,
            {(sha256, branch) for sha256 in failing},
        )


def drivers(survey: SurveyRows) -> Answer:
    """Which driver packages need on a GPU of today."""
    rows = survey.rows("needs", "sha256", "what", "component", "arch", "least", "served_by")
    on = "sm_90"
    floors = {
        row["sha256"]: row["least"]
        for row in rows
        if (row["what"], row["component"], row["arch"]) == ("floor", "driver", on)
        and row["served_by"] != "none"
        and row["sha256"] in survey.with_code
    }
    known = {sha256: least for sha256, least in floors.items() if least}
    branches = Counter(
        least.partition(".")[0] for sha256, least in known.items() if sha256 in survey.newest
    )
    rows_shown = [(*named(survey.with_code[sha256]), least) for sha256, least in floors.items()]
    return Answer(
        "drivers",
        f"Which driver do packages need on an H100 ({on})?",
        (
            claim(
                f"{of_newest(sum(sha256 in survey.newest for sha256 in floors), survey)}"
                f" have something for {on}; the chart has the least driver branch with which all "
                "of it works.",
                floors,
                survey.newest,
            ),
        ),
        Bars(
            f"Packages by the least driver branch on {on}: newest of each project and platform",
            ("packages",),
            tuple(Bar(name, (branches[name],)) for name in sorted(branches, key=by_number)),
        ),
        table((*NAMED, f"least driver on {on}"), rows_shown),
        "n = pandas.read_parquet('OUT/needs'); n[(n.what == 'floor') & (n.component == 'driver') & "
        "(n.arch == 'sm_90')].least.value_counts()",
    )


def metadata(survey: SurveyRows) -> Answer:
    """Whose metadata admit what their code refuses."""
    rows = [
        row
        for row in survey.rows(
            "findings", "sha256", "target", "rule", "verdict", "message", "remedy"
        )
        if row["target"] == ANY_TARGET.name
        and row["rule"] != BYTES_UNREAD
        and row["sha256"] in survey.with_code
        and Verdict[row["verdict"].upper()] > Verdict.JIT
    ]
    too_old = {row["sha256"] for row in rows if row["rule"] == OLD_LINKER_ADMITTED} & set(
        survey.newest
    )
    by_rule: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row["sha256"] in survey.newest:
            by_rule[row["rule"]].add(row["sha256"])
    rows_shown = [
        (
            *named(survey.with_code[row["sha256"]]),
            RuleId(row["rule"]),
            Verdict[row["verdict"].upper()],
            row["message"],
            Command(f"ltocompat audit {shlex.quote(survey.with_code[row['sha256']]['filename'])}"),
        )
        for row in rows
    ]
    return Answer(
        "metadata",
        "Whose metadata admit what the code refuses?",
        (
            claim(
                f"{of_newest(len(too_old), survey)} admit an nvJitLink that is older "
                f"than their LTO-IR, or may be ({OLD_LINKER_ADMITTED}).",
                [(row["sha256"], row["rule"]) for row in rows],
                {(sha256, OLD_LINKER_ADMITTED) for sha256 in too_old},
            ),
            claim(
                f"{of_newest(len(set().union(*by_rule.values())), survey)} have a "
                "finding about their metadata or RUNPATH that is worse than a note.",
                [row["sha256"] for row in rows],
                survey.newest,
            ),
        ),
        Bars(
            "Packages with a finding, by rule: newest of each project and platform",
            ("packages",),
            tuple(Bar(rule, (len(found),)) for rule, found in sorted(by_rule.items())),
        ),
        table((*NAMED, "rule", "verdict", "what", "ask again"), rows_shown),
        "f = pandas.read_parquet('OUT/findings'); f[(f.target == 'any target') & (f.rule == "
        f"'{OLD_LINKER_ADMITTED}')][['sha256', 'message']]",
    )

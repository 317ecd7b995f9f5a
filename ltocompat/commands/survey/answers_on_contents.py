"""Answers of a survey on contents: architectures, toolkits, bytes."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict

from ltocompat.commands.survey.answer_parts import (
    NAMED,
    Row,
    SurveyRows,
    arch_numbers,
    by_number,
    claim,
    decimal_size,
    named,
    of_all,
    of_newest,
    release_numbers,
    table,
)
from ltocompat.commands.survey.answer_values import (
    Answer,
    Bar,
    Bars,
    Bytes,
    Claim,
    Command,
)
from ltocompat.model.arch import SmArch

_BLACKWELL = 100
_PICKED = ("sm_90", "sm_100", "sm_103", "sm_120", "sm_121")
_HOST_DEBUG = "host-debug"
_WASTE = {
    "copy-in-another-library": "copies in another library",
    "copy-in-the-library": "copies in the same library",
    "other-cpu": "for machines with another CPU",
    "never-taken": "passed over by every GPU",
    "prelinked": "relocatable code kept beside the linked",
    "compression": "stored larger than Zstandard would",
}


def ptx(survey: SurveyRows) -> Answer:
    """Who ships no PTX, or PTX alone."""
    classes = {sha256: _class(row) for sha256, row in survey.newest.items()}
    counts = Counter(classes.values())
    rows_shown = [
        (
            *named(row),
            _class(row),
            arch_numbers(row["sass"]),
            arch_numbers(row["ptx"]),
            arch_numbers(row["ltoir"]),
            Command(f"ltocompat inspect {shlex.quote(row['filename'])}"),
        )
        for row in survey.with_code.values()
    ]
    names = ("SASS and PTX", "SASS without PTX", "PTX without SASS", "LTO-IR alone", "other")
    return Answer(
        "ptx",
        "Who ships no PTX, or PTX alone?",
        (
            claim(
                f"{of_newest(counts['SASS without PTX'], survey)} have SASS and no PTX: on a GPU "
                "that comes out after them, no kernel of theirs starts.",
                survey.with_code,
                {sha256 for sha256 in classes if classes[sha256] == "SASS without PTX"},
            ),
            claim(
                f"{of_newest(counts['PTX without SASS'], survey)} have PTX and no SASS: every "
                "kernel is compiled by the driver before it first runs.",
                survey.with_code,
                {sha256 for sha256 in classes if classes[sha256] == "PTX without SASS"},
            ),
        ),
        Bars(
            "Packages by what they ship: newest of each project and platform",
            ("packages",),
            tuple(Bar(name, (counts[name],)) for name in names if counts[name]),
        ),
        table((*NAMED, "ships", "SASS", "PTX", "LTO-IR", "ask again"), rows_shown),
        "d = pandas.read_parquet('OUT/distributions'); d[(d.sass.str.len() > 0) & (d.ptx.str.len() "
        "== 0)][['project', 'version']]",
    )


def _class(row: Row) -> str:
    sass, has_ptx, ltoir = bool(row["sass"]), bool(row["ptx"]), bool(row["ltoir"])
    if sass:
        return "SASS and PTX" if has_ptx else "SASS without PTX"
    if has_ptx:
        return "PTX without SASS"
    return "LTO-IR alone" if ltoir else "other"


def first_releases(survey: SurveyRows) -> Answer:
    """Since when projects have code for new architectures."""
    first: dict[str, dict[str, Row]] = {}
    for project, rows in survey.by_project.items():
        first[project] = {}
        for row in rows:
            numbers = {SmArch.parse(arch).number for arch in row["sass"]}
            for arch in _PICKED:
                if SmArch.parse(arch).number in numbers:
                    first[project].setdefault(arch, row)
    served = [
        project
        for project, found in first.items()
        if any(SmArch.parse(arch).number >= _BLACKWELL for arch in found)
    ]
    oldest = {project: rows[0]["version"] for project, rows in survey.by_project.items()}
    rows_shown = [
        (project, *(_since(found.get(arch), oldest[project]) for arch in _PICKED))
        for project, found in first.items()
    ]
    return Answer(
        "architectures",
        "Since which release is there SASS for new GPUs?",
        (
            claim(
                f"{of_all(len(served), len(first), 'project')} have SASS for Blackwell (sm_100 or "
                "later) in a release that was surveyed.",
                first,
                served,
            ),
            Claim(
                "“up to” marks the oldest release that was surveyed: older ones may have it, too."
            ),
        ),
        Bars(
            "Projects with SASS in some release that was surveyed",
            ("projects",),
            tuple(Bar(arch, (sum(arch in found for found in first.values()),)) for arch in _PICKED),
        ),
        table(("project", *_PICKED), rows_shown),
        "d = pandas.read_parquet('OUT/distributions').explode('sass'); "
        "d[d.sass.str.startswith('sm_120', na=False)].groupby('project').version.unique()",
    )


def _since(row: Row | None, oldest: str) -> str | None:
    if row is None:
        return None
    return f"up to {row['version']}" if row["version"] == oldest else str(row["version"])


def toolkits(survey: SurveyRows) -> Answer:
    """Which toolkits the code was made by."""
    rows = survey.rows("images", "sha256", "releases", "images")
    of_package: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        if len(row["releases"]) == 1:
            of_package[row["sha256"]].update(row["releases"])
    newest = Counter(
        max(releases, key=release_numbers)
        for sha256, releases in of_package.items()
        if sha256 in survey.newest
    )
    several = [sha256 for sha256 in of_package if len(of_package[sha256]) > 1]
    rows_shown = [
        (*named(survey.with_code[sha256]), ", ".join(sorted(releases, key=release_numbers)))
        for sha256, releases in of_package.items()
        if sha256 in survey.with_code
    ]
    return Answer(
        "toolkits",
        "Which CUDA releases compiled them?",
        (
            claim(
                f"{of_newest(len(set(several) & set(survey.newest)), survey)} hold "
                "code of several CUDA releases.",
                [sha256 for sha256 in of_package if sha256 in survey.with_code],
                set(several) & set(survey.newest),
            ),
        ),
        Bars(
            "Packages by the newest CUDA release in them: newest of each project and platform",
            ("packages",),
            tuple(Bar(name, (newest[name],)) for name in sorted(newest, key=release_numbers)),
        ),
        table((*NAMED, "compiled by CUDA"), rows_shown),
        "i = pandas.read_parquet('OUT/images'); i.explode('releases').groupby('releases').sha256"
        ".nunique()",
    )


def compression(survey: SurveyRows) -> Answer:
    """How images are stored."""
    rows = survey.rows("images", "sha256", "compression", "stored", "size", "images")
    rows = [row for row in rows if row["sha256"] in survey.newest]
    stored: Counter[str] = Counter()
    of_package: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        stored[row["compression"]] += row["stored"]
        of_package[row["compression"]].add(row["sha256"])
    total = sum(stored.values()) or 1
    zstd = of_package["zstd"]
    kinds = {
        sha256: sorted(found)
        for sha256 in survey.newest
        if (found := [kind for kind, packages in of_package.items() if sha256 in packages])
    }
    rows_shown = [
        (*named(survey.newest[sha256]), ", ".join(found)) for sha256, found in kinds.items()
    ]
    return Answer(
        "compression",
        "Who stores device code with Zstandard?",
        (
            claim(
                f"{of_newest(len(zstd), survey)} have images that are stored with "
                "Zstandard, which drivers before 550.54.14 can't read.",
                kinds,
                zstd,
            ),
            Claim(
                f"{stored['none'] / total:.0%} of all bytes of device code are not compressed "
                "inside their library."
            ),
        ),
        Bars(
            "Bytes of images, as they are stored: newest of each project and platform",
            ("bytes",),
            tuple(Bar(kind, (number,)) for kind, number in stored.most_common()),
            of_bytes=True,
        ),
        table((*NAMED, "stored as"), rows_shown),
        "pandas.read_parquet('OUT/images').groupby('compression').stored.sum()",
    )


def weight(survey: SurveyRows) -> Answer:
    """Which architectures the bytes are for, and which could go."""
    rows = survey.rows("weight", "sha256", "what", "kind", "arch", "waste", "stored", "saved")
    of_host: Counter[str] = Counter()  # no device code, but told with what could go
    for row in rows:
        if row["what"] == "saving" and row["waste"] == _HOST_DEBUG:
            of_host[row["sha256"]] += row["saved"]
    rows = [row for row in rows if row["sha256"] in survey.newest]
    by_arch: defaultdict[str, Counter[str]] = defaultdict(Counter)
    waste: Counter[str] = Counter()
    for row in rows:
        if row["what"] == "images":
            arch = SmArch.parse(row["arch"]) if row["arch"] else None
            by_arch[str(arch.number) if arch else "unknown"][row["kind"]] += row["stored"]
        elif row["what"] == "saving" and row["waste"] != _HOST_DEBUG:
            waste[row["waste"]] += row["saved"]
    kinds = ("sass", "ptx", "ltoir")
    total = sum(row["device_code"] for row in survey.newest.values())
    saved = sum(waste.values())
    saved_of = {sha256: row["saved"] - of_host[sha256] for sha256, row in survey.with_code.items()}
    debug = sum(of_host[sha256] for sha256 in survey.newest)
    rows_shown = [
        (
            *named(row),
            Bytes(row["size"] or 0),
            Bytes(row["device_code"]),
            Bytes(saved_of[sha256]),
            round(100 * saved_of[sha256] / (row["device_code"] or 1)),
            Bytes(of_host[sha256]),
            Command(f"ltocompat inspect --weigh {shlex.quote(row['filename'])}"),
        )
        for sha256, row in survey.with_code.items()
    ]
    reasons = ", ".join(
        f"{decimal_size(number)} {_WASTE.get(name, name)}" for name, number in waste.most_common(4)
    )
    return Answer(
        "weight",
        "Which GPUs are the bytes for, and which could be saved?",
        (
            claim(
                f"{decimal_size(total)} of device code in {len(survey.newest):,} packages, of "
                f"which {decimal_size(saved)} ({saved / (total or 1):.0%}) could be saved: "
                f"{reasons or 'nothing'}. Debug sections of host code beside it: "
                f"{decimal_size(debug)}.",
                survey.with_code,
                survey.newest,
            ),
        ),
        Bars(
            "Bytes of device code by architecture: newest of each project and platform",
            kinds,
            tuple(
                Bar(f"sm_{number}", tuple(by_arch[number][kind] for kind in kinds))
                for number in sorted(by_arch, key=by_number)
            ),
            of_bytes=True,
        ),
        table(
            (*NAMED, "package", "device code", "could be saved", "%", "host debug", "ask again"),
            rows_shown,
        ),
        "w = pandas.read_parquet('OUT/weight'); w[w.what == 'saving'].groupby('waste').saved.sum()",
    )

"""Small worlds: some artifacts, a few versions of each part of a target, and GPUs, all combined.

What is expected of a world is folded here from verdicts on exact targets: one version of each part,
one GPU, one artifact.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from generated_artifacts import GROUPS, WHERE, artifact
from msgspec import Struct
from msgspec.structs import replace
from samples import FOLDER
from summaries import summaries

from ltocompat.commands.read_artifacts import ScanOptions
from ltocompat.facts import drivers
from ltocompat.facts.gpus import RENAMED, find_gpu, linker_targets, runs, sms
from ltocompat.model.arch import Release
from ltocompat.model.artifact_summary import (
    ArtifactSummary,
    ModuleGroup,
    own_linker,
    together_as_one,
)
from ltocompat.model.image import CudaLibrary, HostBinary, ImageKind
from ltocompat.model.target import Gpu, Quantifier, Target, VersionSet
from ltocompat.model.trial_answer import TrialOutcome, Trials, link_key, load_key
from ltocompat.model.verdict import Finding, Level, Result, Route, Verdict
from ltocompat.rules.engine.engine import Engine
from ltocompat.rules.engine.judge_artifact import ArtifactJudge
from ltocompat.scan.walk import ScanSettings

NAME = "a small world"

# -- versions -----------------------------------------------------------------------------------

VERSIONS: dict[str, tuple[Any, ...]] = {
    "driver": tuple(map(drivers.first_production, (525, 550, 580, 615))),
    "compat": (Release(12, 4), Release(12, 9), Release(13, 0)),
    "nvjitlink": (Release(12, 0), Release(12, 4), Release(13, 0), Release(13, 5)),
    "nvlink": (Release(12, 4), Release(13, 0), Release(13, 5)),
    "nvrtc": (Release(12, 4), Release(13, 0), Release(13, 5)),
}
"""The parts of a target that can be sets, and what they can be here."""

EXACT, ALL_OF, ONE_OF = "exact", "all of", "one of"
KINDS = (EXACT, ALL_OF, ONE_OF)
_SIGNS = {EXACT: "", ALL_OF: "+", ONE_OF: "|"}

GPUS = tuple(find_gpu(name) for name in ("sm_75", "sm_80", "sm_90", "sm_100"))


def versions(kind: str, values: Sequence[Any]) -> VersionSet[Any]:
    """Versions as a target has them; of ``exact`` the first."""
    values = values[:1] if kind == EXACT else values
    quantifier = Quantifier.ONE_OF if kind == ONE_OF else Quantifier.ALL
    return VersionSet(_SIGNS[kind].join(map(str, values)), tuple(values), quantifier, "given")


def some(key: str, start: int, count: int = 2) -> list[Any]:
    """Neighbouring versions of a part, oldest first; from each start others."""
    known = VERSIONS[key]
    return sorted(known[(start + step) % len(known)] for step in range(count))


def target(gpus: Sequence[Gpu] = (), **parts: Any) -> Target:  # noqa: ANN401 - the sets of any key
    return Target(name=NAME, gpus=tuple(gpus), **parts)


def spelled(world: Target) -> str:
    """A target as it is typed."""
    parts = [f"{key}={getattr(world, key).text}" for key in VERSIONS if getattr(world, key)]
    gpus = "+".join(gpu.name for gpu in world.gpus)
    return ",".join([*parts, *([f"gpu={gpus}"] if gpus else [])])


# -- artifacts ----------------------------------------------------------------------------------

_FILES = (
    "cubin/nvrtc-12.4-sm_80.cubin",
    "cubin/nvrtc-13.5-sm_80-rdc.cubin",
    "cubin/nvrtc-12.8-sm_100a.cubin",
    "ptx/*",
    "fatbin/*",
    "fatbin-ltoir/nvfatbin-12.4-of-12.4-lto_80.fatbin",
    "fatbin-ltoir/nvfatbin-12.9-of-12.9-lto_100f.fatbin",
    "ltoir/*",
    "objects/*",
    "broken/entry-payload-overflows.fatbin",
    "broken/region-body-cut.fatbin",
    "broken/cubin-cut.cubin",
    "broken/cubin-note-lies.cubin",
    "MANIFEST.toml",
)
_MOST = 5
"""Of the files of a folder so many are taken, spread over their names."""


def files() -> list[Path]:
    """Real files of many kinds and makers, damaged ones, and one without device code."""
    found = []
    for pattern in _FILES:
        matching = sorted(path for path in FOLDER.glob(pattern) if path.is_file())
        found += matching[:: -(-len(matching) // _MOST)]
    return found


class Made:
    """An artifact that is judged on many targets."""

    def __init__(self, summary: ArtifactSummary) -> None:
        self.summary = summary
        self.results = ArtifactJudge(summary, Engine()).results


def _library(library: CudaLibrary, *functions: str) -> HostBinary:
    return HostBinary(
        place=WHERE,
        format="ELF",
        machine="x86-64",
        type="shared library",
        nvjitlink_imports=functions,
        libraries=(library,),
    )


_NEEDS = _library(
    CudaLibrary("libnvJitLink", "needed", "libnvJitLink.so.12", None, "name"),
    "__nvJitLinkCreate_12_4",
)
_BRINGS = _library(CudaLibrary("libnvJitLink", "static", None, "12.4", "symbols"))


def _of_ltoir(release: str) -> ModuleGroup:
    """A module of LTO-IR that a release of CUDA wrote for sm_80, as the manifest has it."""
    (found,) = read([FOLDER / f"fatbin-ltoir/nvfatbin-{release}-of-{release}-lto_80.fatbin"])
    return found.groups[0]


def read(paths: Sequence[Path], *, single_link: bool = False) -> list[ArtifactSummary]:
    scan = ScanOptions(ScanSettings(), single_link=single_link)
    return list(summaries(list(map(str, paths)), scan))


def _recorded() -> Iterator[ArtifactSummary]:
    """Modules with answers of linkers and of a driver beside them."""
    refused = TrialOutcome("nvJitLink 12.0.76", "refused", "ltoir too new", "it is too new")
    linked = TrialOutcome("nvJitLink 12.4.127", "linked")
    crashed = TrialOutcome("nvJitLink 13.0.39", "crashed", None, "it crashed")
    answers: Trials = {
        link_key(release, gpu.arch): outcome
        for release, outcome in zip(VERSIONS["nvjitlink"], (refused, linked, crashed), strict=False)
        for gpu in GPUS
    }
    for release in ("12.5", "12.4", "13.0"):
        yield artifact([replace(_of_ltoir(release), trials=answers)], [])
    loads = {load_key(NAME, GPUS[1].arch): TrialOutcome("driver", "loaded", loading="lazily")}
    yield artifact([replace(GROUPS[0], trials=loads)], [])
    yield together_as_one(read(_LTOIR[:2]), answers)


_LTOIR = sorted((FOLDER / "ltoir").glob("*.ltoir"))


@functools.cache
def artifacts() -> tuple[Made, ...]:
    """All artifacts, those of one link last."""
    found = read(files())
    found += [artifact([group], []) for group in GROUPS[::24]]
    found += [artifact([_of_ltoir("12.4")], [host]) for host in (_NEEDS, _BRINGS)]
    found += [artifact([], [_NEEDS]), artifact(list(GROUPS[5:160:50]), [])]
    found += [artifact([GROUPS[40], GROUPS[120]], [], unread=True)]
    found += _recorded()
    linked = [each for each in found if any(map(_has_ltoir, each.groups))]
    found += [together_as_one([a, b]) for a, b in zip(linked[::4], linked[2::4], strict=False)]
    return tuple(map(Made, found))


def _has_ltoir(group: ModuleGroup) -> bool:
    return any(image.kind is ImageKind.LTOIR for image in group.signature.images)


# -- what is expected ---------------------------------------------------------------------------

Key = tuple[Gpu | None, Route | None]
Rows = Mapping[Key, Verdict]


@functools.cache
def exact(made: Made, where: Target, wanted: Route | None) -> Mapping[Key, Result]:
    """What is said on an exact target, where nothing served is never a silent ok."""
    rows = _exact(made, where, wanted)
    for row in rows.values():
        code = row.coverage.modules > row.coverage.without_kernels
        elsewhere = wanted is None and row.route is not None  # another line judges it
        if code and not (row.coverage.served or row.not_judged or elsewhere):
            assert row.verdict >= Verdict.UNKNOWN
        assert row.verdict is not Verdict.NOT_FOR_GPU
    return rows


def _exact(made: Made, where: Target, wanted: Route | None) -> Mapping[Key, Result]:
    """What is said on a target with one version of each part, from what is said on one GPU each.

    Without GPUs: those that the target can have and the artifact has code for; else one row.
    """
    rows: dict[Key, Result] = {}
    for gpu in where.gpus or _can_have(where, single_link=made.summary.single_link):
        alone = made.results(replace(where, gpus=(gpu,)), wanted)
        rows |= {(result.gpu, result.route): result for result in alone}
    if where.gpus:
        return rows
    served = {key: row for key, row in rows.items() if _has_code(made.summary, row, where)}
    partly = [row for row in served.values() if _lacks_only_a_library(row)]
    if len(served) > len(partly):
        told = tuple(_told(row.findings[0]) for row in partly)
        return {
            key: replace(row, findings=(*row.findings, *told))
            for key, row in served.items()
            if row not in partly
        }
    (row, *more) = made.results(where, wanted)
    assert row.gpu is None
    if rows and all(row.verdict is Verdict.FAIL for row in rows.values()):
        assert row.verdict is Verdict.FAIL
    return {(None, each.route): each for each in (row, *more)}


def _can_have(where: Target, *, single_link: bool) -> list[Gpu]:
    linker = where.nvjitlink or where.nvlink
    known = [sm for sm in sms() if sm.number != RENAMED and not sm.tegra]
    if where.nvlink is not None and not single_link:
        known = []  # for which GPUs nvlink links is for the build to say
    elif where.driver is not None:
        driver = where.driver.value
        known = [sm for sm in known if runs(sm, driver)]
    else:
        known = [sm for sm in known if linker and sm.number in linker_targets(linker.value)]
    return [find_gpu(f"sm_{sm.number}") for sm in known]


def _has_code(summary: ArtifactSummary, row: Result, where: Target) -> bool:
    """Whether an artifact has code for a GPU, which can be linked for it if it has to be."""
    assert row.gpu is not None
    number, linker = row.gpu.arch.number, where.nvjitlink or where.nvlink
    own = own_linker(summary)
    release = own.value if own else linker.value if linker else None
    can_be_linked = release is None or number in linker_targets(release)
    images = [image for group in summary.groups for image in group.signature.images]
    named = any(image.arch is not None and image.arch.number == number for image in images)
    return bool(
        row.coverage.sass
        or row.coverage.ptx
        or (row.coverage.link and can_be_linked)
        or (summary.single_link and named)  # linked or refused
    )


def _lacks_only_a_library(row: Result) -> bool:
    """Whether it fails on a GPU that other libraries of the package have code for, and only so."""
    wrong = [found for found in row.findings if found.verdict > Verdict.JIT]
    return bool(wrong) and all(
        found.rule == "SASS-06"
        and found.example is not None
        and found.message.startswith(f"{found.example.innermost} has no code for")
        for found in wrong
    )


def _told(finding: Finding) -> Finding:
    """What is said of a GPU that has no row, beside those that have one."""
    return replace(finding, verdict=Verdict.OK, level=Level.WARNING)


def folded(where: Target, rows_on: Callable[[Target], Rows]) -> Rows:
    """The verdicts on a target whose parts can have several versions."""
    sets = {key: found for key in VERSIONS if (found := getattr(where, key)) is not None}
    every = {key: known.each for key, known in sets.items() if known.quantifier is Quantifier.ALL}
    one = {key: known.each for key, known in sets.items() if key not in every}
    outer = []
    for all_of in _choices(every):
        inner = [rows_on(replace(where, **all_of, **one_of)) for one_of in _choices(one)]
        keys = {key for rows in inner for key in rows}
        all_fail = all(rows and max(rows.values()) is Verdict.FAIL for rows in inner)
        outer.append(
            {key: _of_one([rows.get(key) for rows in inner], all_fail=all_fail) for key in keys}
        )
    return {key: max(rows[key] for rows in outer if key in rows) for key in set().union(*outer)}


def _choices(sets: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    return (dict(zip(sets, values, strict=True)) for values in product(*sets.values()))


def _of_one(found: Sequence[Verdict | None], *, all_fail: bool) -> Verdict:
    """One of these holds: that on which they agree.

    A failure beside nothing is not known, unless each of them fails on some row.
    """
    there = set(found) - {None}
    whole = all_fail or None not in found
    agreed = len(there) == 1 and (whole or Verdict.FAIL not in there)
    return there.pop() if agreed else Verdict.UNKNOWN  # type: ignore[return-value]


class Line(Struct, frozen=True):
    """What counts of a row for an exit code.

    Attributes:
        verdict: its verdict.
        empty: there is no device code, and nothing is asked in vain.
        half: something of it was not checked.
        warned: a warning stands beside it.
    """

    verdict: Verdict
    empty: bool
    half: bool
    warned: bool


def expected(made: Made, where: Target, wanted: Route | None = None) -> tuple[Rows, list[Line]]:
    """The verdicts on a target, and what counts of them for an exit code."""
    seen: list[Result] = []

    def rows_on(single: Target) -> Rows:
        rows = exact(made, single, wanted)
        seen.extend(rows.values())
        return {key: row.verdict for key, row in rows.items()}

    rows = folded(where, rows_on)
    half = any(row.not_judged for row in seen)
    warned = any(
        found.verdict is Verdict.OK and found.level is Level.WARNING
        for row in seen
        for found in row.findings
    )
    none = not made.summary.groups and not made.summary.skipped_count
    return rows, [
        Line(verdict, none and (not made.summary.hosts or verdict is Verdict.OK), half, warned)
        for verdict in rows.values()
    ]


def exit_code(
    lines: Sequence[Line], fail_on: Verdict, *, allow_empty: bool, halves_count: bool
) -> int:
    """The exit code of a check or an audit, as the contracts have it."""
    counted = {line.verdict for line in lines if not line.empty}
    warned = any(line.warned for line in lines) and fail_on <= Verdict.UNDOCUMENTED
    if warned or (counted and max(counted) >= fail_on):
        return 1
    if Verdict.UNKNOWN in counted or (halves_count and any(line.half for line in lines)):
        return 3
    return 0 if counted or allow_empty else 3

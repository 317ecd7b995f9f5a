"""Modules that nobody asks for by themselves: without kernels, or loaded by choice.

Modules without kernels count where a file is asked for by name, and are never silent.

Modules that no wrapper registers are loaded by the library's own code, on GPUs of its choice. Such
a module may be for one architecture only, and keep PTX that newer GPUs never see: the library has
SASS for those elsewhere (cuTENSOR 2.8.1: 23 modules of SASS for sm_75 beside 136 for sm_90).
Where the driver would refuse that PTX, its bytes don't tell whether anybody asks for it.

A module that the runtime registers is loaded when one of its kernels is launched. Where a unit was
compiled once for each architecture, its library launches the kernels of the part for the GPU: of
another part with the same kernels (of the same templates) nobody asks here.

Nor do those of bare images in a package, which has code of its own to pick one: beside others that
may serve, or sources that it may compile when it runs (flashinfer 0.7.2: four files of PTX for
sm_103a, and sources for all else). Where there is nothing else, nothing can be picked: it fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from msgspec.structs import replace

from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup
from ltocompat.model.image import ImageKind
from ltocompat.model.verdict import LEVELS, Finding, Route, Verdict
from ltocompat.rules import artifact_code
from ltocompat.rules.builtin_rules import NO_KERNELS
from ltocompat.rules.engine.arch_parts import one_arch
from ltocompat.rules.engine.coverage import files_that_choose
from ltocompat.rules.engine.engine import Case, Engine
from ltocompat.rules.engine.findings import finding_by_engine
from ltocompat.rules.engine.module_verdict import GroupVerdict
from ltocompat.rules.selection import Selection

_File = tuple[str, tuple[str, ...]]
_Files = frozenset[_File]
_Stems = dict[_File, set[str]]
_UNREGISTERED = "no wrapper registers it, and"
PICKED_BY_PROGRAM = f"{_UNREGISTERED} it is unknown whether a program of the package picks it here"
_SIBLING = "other modules of its library have SASS of its kernels for this GPU"
_CHOOSES = "its library chooses kernels by GPU, and has SASS for this GPU in other modules"
_WHY = "loaded only if the library's own code chooses it"


def with_choices(
    case: Case, summary: ArtifactSummary, judged: Sequence[GroupVerdict]
) -> list[GroupVerdict]:
    """Ease failures of modules that a library may not load on this GPU.

    A failure becomes a note if the file has SASS for the GPU in other modules, and ``unknown`` if
    it has other PTX for it. If the library has no other code for the GPU, the failure stays.

    Args:
        case: the target and GPU.
        summary: the artifact; in one link all linkable code is linked, so that nothing is a choice.
        judged: its modules, with their verdicts.
    """
    may_have_more = summary.has_sources or bool(summary.skipped_count)
    serves = any(each.for_gpu and each.module_verdict.verdict < Verdict.FAIL for each in judged)
    if not summary.single_link and (may_have_more or serves):
        judged = [_left_open(e, PICKED_BY_PROGRAM) if e.group.loose else e for e in judged]
    failing = [each for each in judged if _fails_as_ptx(each, registered=True)]
    if failing and case.gpu is not None:
        choosing = files_that_choose((each.group for each in judged), case.gpu)
        files = chain.from_iterable(_files(each.group) for each in judged)
        chosen = frozenset(file for file in files if file[1] in choosing)
        judged = [
            _set_aside(each, _CHOOSES) if each in failing and _lies_in(chosen, each.group) else each
            for each in judged
        ]
    if any(each.group.kernels for each in failing):
        stems = _sass_kernels(judged, case.engine)
        judged = [part for each in judged for part in _without_siblings(each, stems, case.engine)]
    if not any(map(_is_choice, judged)):
        return list(judged)
    by_sass = _served(judged, Selection.SASS)
    by_ptx = _served(judged, Selection.PTX)
    return [_weighed(each, by_sass, by_ptx) if _is_choice(each) else each for each in judged]


def _left_open(each: GroupVerdict, reason: str) -> GroupVerdict:
    verdict = each.module_verdict
    if verdict.verdict is not Verdict.FAIL:
        return each
    findings = _eased(verdict.findings, Verdict.UNKNOWN, reason)
    return each.but(verdict=Verdict.UNKNOWN, findings=findings)


def _is_choice(each: GroupVerdict) -> bool:
    return _fails_as_ptx(each, registered=False)


def _fails_as_ptx(each: GroupVerdict, *, registered: bool) -> bool:
    """Return whether the driver refuses PTX beside SASS for another GPU."""
    signature, verdict = each.group.signature, each.module_verdict
    return (
        each.route is Route.LOAD
        and signature.registered is registered
        and verdict.verdict is Verdict.FAIL
        and verdict.selection is Selection.PTX
        and ImageKind.SASS in signature.kinds
    )


def _sass_kernels(judged: Sequence[GroupVerdict], engine: Engine) -> _Stems:
    """The templates of kernels that each file has parts for this architecture of, as SASS."""
    stems: _Stems = {}
    for each in judged:
        verdict = each.module_verdict
        taken = verdict.selection is Selection.SASS and verdict.verdict < Verdict.UNKNOWN
        if taken and one_arch(each.group.signature):
            for file, names in zip(_files(each.group), each.group.kernels, strict=False):
                stems.setdefault(file, set()).update(map(engine.stem, names))
    return stems


def _without_siblings(each: GroupVerdict, stems: _Stems, engine: Engine) -> Iterator[GroupVerdict]:
    """Set modules aside whose kernels other modules of their library have as SASS here."""
    group = each.group
    idle = [
        bool(names) and stems.get(file, set()).issuperset(map(engine.stem, names))
        for file, names in zip(_files(group), group.kernels, strict=False)
    ]
    if not any(idle) or not _fails_as_ptx(each, registered=True):
        yield each
        return
    yield replace(_set_aside(each, _SIBLING), group=group.part(idle))
    if not all(idle):
        yield replace(each, group=group.part([not part for part in idle]))


def _served(judged: Sequence[GroupVerdict], selection: Selection) -> _Files:
    """The files that have kernels for the GPU which a driver takes."""
    return frozenset(
        file
        for each in judged
        if each.module_verdict.selection is selection
        and not each.module_verdict.without_kernels
        and Verdict.NOT_FOR_GPU < each.module_verdict.verdict < Verdict.UNKNOWN
        for file in _files(each.group)
    )


def _files(group: ModuleGroup) -> Iterator[_File]:
    return ((place.path, place.members) for place in group.places or (group.example,))


def _lies_in(files: _Files, group: ModuleGroup) -> bool:
    """Return whether all modules of a group lie in these files."""
    known = len(group.places) in (0, group.count)  # else some places are not kept
    return known and files.issuperset(_files(group))


def _weighed(each: GroupVerdict, by_sass: _Files, by_ptx: _Files) -> GroupVerdict:
    if _lies_in(by_sass, each.group):
        return _set_aside(each, f"{_UNREGISTERED} its library has other SASS for this GPU")
    if _lies_in(by_sass | by_ptx, each.group):
        return _left_open(each, f"{_UNREGISTERED} it is unknown whether its library loads it here")
    return each


def _set_aside(each: GroupVerdict, reason: str) -> GroupVerdict:
    """Modules that nobody asks for here, with notes in place of failures."""
    notes = _eased(each.module_verdict.findings, Verdict.OK, reason)
    return each.but(verdict=Verdict.NOT_FOR_GPU, selection=Selection.NONE, findings=notes, why=_WHY)


def _eased(findings: Sequence[Finding], verdict: Verdict, reason: str) -> tuple[Finding, ...]:
    """Make failures milder, and add the reason to their messages."""
    return tuple(
        replace(
            finding,
            verdict=verdict,
            level=LEVELS[verdict],
            message=f"{finding.message}; {reason}",
            headline=finding.headline and f"{finding.headline}; {reason.partition(', and ')[0]}",
        )
        if finding.verdict is Verdict.FAIL
        else finding
        for finding in findings
    )


def with_neutral(judged: Sequence[GroupVerdict]) -> list[GroupVerdict]:
    """Make modules without kernels neutral if the user did not name them.

    The runtime registers them, and no launch needs them. A library or a package may have them only
    for its links, and other code in it then has to serve. Modules that the user named are checked
    by every rule, since the driver refuses them even without kernels.
    """
    served = any(each.for_gpu and not each.module_verdict.without_kernels for each in judged)
    return [
        _neutral(each)
        if each.module_verdict.without_kernels and _is_neutral(each, served=served)
        else each
        for each in judged
    ]


def _is_neutral(group_verdict: GroupVerdict, *, served: bool) -> bool:
    group = group_verdict.group
    idle = group.signature.registered is not None and not group.signature.needs_device_link
    return idle or (served and not group.named)


def _neutral(group_verdict: GroupVerdict) -> GroupVerdict:
    module_verdict = group_verdict.module_verdict
    by_itself = max(module_verdict.findings, key=lambda finding: finding.verdict, default=None)
    why = module_verdict.why if module_verdict.selection is Selection.NONE else "no kernels in it"
    left = group_verdict.but(
        verdict=Verdict.NOT_FOR_GPU, findings=(), not_judged=frozenset[str](), why=why
    )
    return replace(left, neutral=True, by_itself=by_itself)


def misses_all(judged: Sequence[GroupVerdict]) -> bool:
    """Return whether no kernel is for the GPU; without kernels, whether no code is."""
    counted = [each for each in judged if not each.neutral]
    counted = [each for each in counted if not each.module_verdict.without_kernels] or counted
    missing = any(each.module_verdict.selection is Selection.NONE for each in counted)
    return missing and not any(each.for_gpu for each in counted)


def notes_of_empty(judged: Sequence[GroupVerdict]) -> Iterator[Finding]:
    """Yield notes: no module has kernels; modules that would not load alone."""
    empty = [each for each in judged if each.module_verdict.without_kernels]
    if empty and len(empty) == len(judged):
        what = "empty kernels" if any(map(has_empty_kernels, empty)) else "device functions"
        yield _note(f"no kernels: at most {what} and variables", empty)
    for group_verdict in empty:
        reason = group_verdict.by_itself
        hollow = has_empty_kernels(group_verdict)
        is_told = hollow or not group_verdict.group.signature.registered
        if is_told and reason and reason.verdict > Verdict.JIT:
            what = "only empty kernels" if hollow else "no kernels"
            yield _note(
                f"it has {what}. Loaded alone, it would fail: {reason.message}", [group_verdict]
            )


def has_empty_kernels(group_verdict: GroupVerdict) -> bool:
    """Return whether the modules have kernels that only return, and no others."""
    module_verdict = group_verdict.module_verdict
    return module_verdict.without_kernels and any(
        image.empty_kernels for image in module_verdict.picked
    )


def _note(message: str, groups: Sequence[GroupVerdict]) -> Finding:
    of_modules = artifact_code.counted([each.group for each in groups])
    return finding_by_engine(NO_KERNELS, Verdict.OK, message, **of_modules)

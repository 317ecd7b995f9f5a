"""Packages: the nvJitLink and NVRTC that their dependencies install (NJL-06, PKG-01 to 04)."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.facts.libraries import family, library_packages
from ltocompat.facts.toolkits import toolkit_with
from ltocompat.model.arch import Release
from ltocompat.model.image import ImageKind
from ltocompat.model.verdict import Verdict
from ltocompat.packages.resolving import dependencies_always, leads
from ltocompat.packages.values import Installed, Kind, Shipped
from ltocompat.rules import makers
from ltocompat.rules.catalogue import library_problems
from ltocompat.rules.linker_imports import files_of
from ltocompat.rules.needed_compilers import (
    LIBRARIES,
    TITLES,
    NeededCompiler,
    Strength,
    admits_right_major,
    needed_compiler,
    needed_compilers,
    siblings,
    ways_of,
)
from ltocompat.rules.rule import Problem, rule
from ltocompat.targets.versions.packages import oldest_cusparse, pins_beside_any_nvjitlink

_IMPORTING = 12  # the major of CUDA whose cuSPARSE imports names of its nvJitLink


@rule("NJL-06")
def nvjitlink_allowed_too_old(shipped: Shipped | Installed) -> Iterator[Problem]:
    """The metadata of a package admit an nvJitLink that is too old for the code inside."""
    need = needed_compiler("nvjitlink", shipped)
    possible = None if need is None else need.possible
    found = [] if need is None or possible is None else [*_too_old(need, possible, shipped)]
    yield from found or _older_than_cusparse(shipped)


def _too_old(need: NeededCompiler, possible: Release, shipped: Shipped) -> Iterator[Problem]:
    ways = ways_of(need.part, shipped)
    for way in ways:
        least = min(way.allowed.releases, default=None)
        # PKG-04 speaks of dependencies that never are of the right major.
        if least is None or not admits_right_major(way, need):
            continue
        if least < possible:
            verdict = Verdict.UNKNOWN if need.strength is Strength.HANDED_OUT else Verdict.FAIL
            text = f"{need.why}, so {possible} or newer is needed"
        elif need.sure is None or least < need.sure:
            newest = _maker_of_sass(shipped)
            alike = newest is not None and possible <= newest <= least
            verdict = Verdict.OK if alike else Verdict.UNKNOWN
            text = f"{need.doubt}, so {need.sure or 'a newer one'} may be needed"
            text += f", although CUDA {newest} made the SASS" if alike else ""
            text += "" if need.tried else "; a trial link decides"
        else:
            continue
        yield need.problem(
            verdict,
            f"the metadata allows {way.package} {least}, but {text}",
            way,
            asked=_asked(need),
            mend=None if verdict is Verdict.OK else need.mend(extra=way.extra),
        )
    for way in siblings(need, ways):
        least = min(way.allowed.releases, default=possible)
        if least < possible:
            yield need.problem(
                Verdict.FAIL if need.hard else Verdict.UNKNOWN,
                f"the metadata also allow {way.package}, up to {max(way.allowed.releases)}, but "
                f"{need.why}, so {possible} or newer is needed",
                way,
                subject=f"{way.package} instead",
                asked=_asked(need),
            )


def _maker_of_sass(shipped: Shipped) -> Release | None:
    """The release that made all SASS of a package, and so its other code; None for several."""
    every = (image for signature, _ in shipped.signatures for image in signature.images)
    made = {makers.writer(image) for image in every if image.kind is ImageKind.SASS}
    return made.pop() if len(made) == 1 else None


def _older_than_cusparse(shipped: Shipped) -> Iterator[Problem]:
    """Hold what is admitted of nvJitLink against the cuSPARSE that is admitted beside it.

    Each cuSPARSE of CUDA 12 imports the names of its own toolkit's nvJitLink (readelf --dyn-syms of
    12.1.0.106, 12.3.1.170, 12.5.10.65), and asks for any; that of 13.0 those of the first one, and
    that of 13.3 none (12.6.3.3, 12.8.2.51). What is installed is judged by itself.
    """
    if shipped.package.kind is not Kind.WHEEL:
        return
    ways = ways_of("nvjitlink", shipped)
    for cusparse, release, of_extra, verdict in _admitted_cusparses(shipped):
        for way in ways:
            older = any(it.major == release.major and it < release for it in way.allowed.releases)
            if older and release.major == _IMPORTING and way.extra in (None, of_extra):
                yield Problem(
                    verdict,
                    f"{cusparse}, needs nvJitLink {release}; the metadata allows older nvJitLinks",
                    f"write Requires-Dist: {way.package}>={release},<{release.major + 1}",
                    way.line,
                    subject=way.package,
                )


def _admitted_cusparses(shipped: Shipped) -> Iterator[tuple[str, Release, str | None, Verdict]]:
    """Yield the oldest cuSPARSE, and the newest that cuda-toolkit brings without its nvJitLink."""
    for lead in leads(shipped.package, shipped.others, shipped.budget):
        oldest = oldest_cusparse(lead.package, lead.versions)
        release = toolkit_with(lead.package, oldest)
        if release is not None:
            text = f"{lead.package} {oldest}, the oldest allowed"
            yield text, release, lead.extra, Verdict.FAIL
    for require in dependencies_always(shipped.package, shipped.budget):
        if require.name == "cuda-toolkit":
            pins = tuple(pins_beside_any_nvjitlink(require.versions, require.asks))
            for newest in pins[-1:]:
                text = f"cuSPARSE of cuda-toolkit {newest.toolkit}, which is allowed"
                verdict = Verdict.UNKNOWN if pins[1:] else Verdict.FAIL
                yield text, Release.parse(newest.toolkit), None, verdict


def _asked(need: NeededCompiler) -> tuple[str, ...]:
    """The release that is needed, or the major where nothing tells more."""
    return (f"{TITLES[need.part]} {need.sure or need.possible or need.majors[-1]}",)


@rule("PKG-01")
def dependency_missing(shipped: Shipped | Installed) -> Iterator[Problem]:
    """A package needs a CUDA library that its metadata doesn't install."""
    needs = needed_compilers(shipped)
    found = [lack for need in needs for lack in _missing_compiler(need, shipped)]
    found += library_problems.missing(shipped)
    yield from library_problems.of_one_cause(found, shipped)
    yield from library_problems.opened(shipped)


def _missing_compiler(need: NeededCompiler, shipped: Shipped) -> Iterator[Problem]:
    title, library = TITLES[need.part], LIBRARIES[need.part]
    installed = [way for way in ways_of(need.part, shipped) if not way.only_limits]
    if any(way.extra is None for way in installed):
        return
    verdict, evidence = Verdict.OK, f"dependencies of {shipped.package}"
    if installed:
        extras = ", ".join(dict.fromkeys(str(way.extra) for way in installed))
        text = f"but {title} comes only with the extra {extras}"
        remedy = f"have users install it with {shipped.package.name}[{extras}], or {need.advice}"
        evidence = installed[0].line
    elif not need.hard:
        text = f"and {library_problems.nothing_brings(shipped)} {title}"
        remedy = f"if the package uses {title}, {need.advice}"
    else:
        hosts = [h for h in shipped.hosts if h.linked and files_of(h, library, "needed")]
        files = [f for h in hosts for f in files_of(h, library, "needed") if f in h.needed]
        if hosts and not files:
            return  # the loader finds it
        file = files[0] if files else library
        verdict, text, cure = library_problems.not_brought(shipped, hosts, file)
        text, remedy = text.format(title), need.advice + cure
    yield Problem(
        verdict,
        f"{need.why}, {text}",
        remedy,
        evidence,
        need.open_to_trial,
        subject=library,
        asked=_asked(need),
        mend=None if verdict is Verdict.OK else need.mend(),
    )


@rule("PKG-02")
def dependency_without_upper_major(shipped: Shipped) -> Iterator[Problem]:
    """A dependency on a CUDA library admits a major whose library has another name."""
    yield from library_problems.of_other_names(shipped)
    for need in needed_compilers(shipped):
        most = need.majors[-1]
        ways = ways_of(need.part, shipped)
        # PKG-04 speaks of the others.
        found = [way for way in ways if admits_right_major(way, need)]
        for way in (*found, *siblings(need, ways)):
            newer = [release.major for release in way.allowed.releases if release.major > most]
            if newer or way.allowed.later_major:
                yield need.problem(
                    Verdict.UNDOCUMENTED,
                    f"the metadata allows {way.package} {min(newer, default=most + 1)}.x, but the "
                    f"package needs the file of {TITLES[need.part]} {most}",
                    way,
                    mend=need.mend(extra=way.extra),
                )


@rule("PKG-03")
def dependency_pinned(shipped: Shipped) -> Iterator[Problem]:
    """A dependency on nvJitLink is pinned, so that no newer one can be installed."""
    need = needed_compiler("nvjitlink", shipped)
    if need is None:
        return
    for way in ways_of(need.part, shipped):
        if way.allowed.pinned:
            yield need.problem(
                Verdict.UNDOCUMENTED,
                f"{way.package} is pinned to {way.allowed.pinned}, so no package that needs a "
                "newer nvJitLink can be installed with it",
                way,
            )


@rule("PKG-04")
def dependency_of_another_major(shipped: Shipped | Installed) -> Iterator[Problem]:
    """The metadata names a CUDA library of a different major than the libraries need."""
    yield from library_problems.of_another_major(shipped)
    for need in needed_compilers(shipped):
        ways = ways_of(need.part, shipped)
        if any(admits_right_major(way, need) for way in ways):
            continue
        majors = " or ".join(map(str, need.majors))
        at_hand = library_problems.those_at_hand(shipped)
        for way in ways:
            verdict = Verdict.FAIL if need.hard else Verdict.UNKNOWN
            yield need.problem(
                library_problems.of_extra(way.extra, verdict, shipped),
                f"{need.why}, but no {way.package} that {at_hand} has major version {majors}",
                way,
                asked=_asked(need),
                mend=need.mend(way.package, way.extra),
            )


@rule("PKG-21")
def dependency_on_nothing(shipped: Shipped) -> Iterator[Problem]:
    """A dependency is one of NVIDIA's empty packages, instead of the one with the library."""
    known = library_packages()
    always = {each.name for each in dependencies_always(shipped.package, shipped.budget)}
    for name, require in {each.name: each for each in shipped.package.requires}.items():
        real = family(name) if name.startswith("nvidia-") and name not in known else ""
        if real in known and not any(text.startswith("==") for text in require.versions):
            yield Problem(
                Verdict.FAIL if name in always else Verdict.UNKNOWN,
                f"{name} is an empty package, which pip can't install: {real} has the library",
                f"write Requires-Dist: {real}, with the versions of your CUDA major version",
                require.line,
                subject=name,
            )

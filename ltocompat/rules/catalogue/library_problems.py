"""PKG-01, PKG-02 and PKG-04 on the libraries of CUDA other than nvJitLink and NVRTC."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ltocompat.model.cuda_tag import tagged_path
from ltocompat.model.generic import grouped
from ltocompat.model.image import HostBinary
from ltocompat.model.library_name import library_major
from ltocompat.model.mend import Mend
from ltocompat.model.verdict import Verdict
from ltocompat.model.words import truncate_list
from ltocompat.packages.resolving import Lead, is_sibling, leads, not_at_hand
from ltocompat.packages.values import Kind, Shipped
from ltocompat.rules.needed_libraries import (
    NeededLibrary,
    cuda_major,
    needed_libraries,
    newest_torch,
    opened_libraries,
    other_majors,
    stem_of,
    to_depend_on,
    to_require,
)
from ltocompat.rules.rule import Problem

# Who needs these is loaded by a program that has torch, whatever the metadata says.
_OF_TORCH = re.compile(r"(?:lib)?(?:torch|c10)(?:_\w+)?\.(?:so|dll)")
_SHOWN = 3
_FIRST_WITH_PACKAGES = 11  # of CUDA
_OR_TOOLKIT = ", or tell users to install a CUDA toolkit"


def missing(shipped: Shipped) -> Iterator[Problem]:
    """PKG-01: libraries that no dependency installs; one problem for each missing dependency."""
    found = needed_libraries(shipped)
    seen = set()
    for library in found:
        # Of those that come in other versions PKG-04 speaks.
        key = library.packages or library.stem
        others = any(lead.extra is None for lead in library.leads_to_others)
        if library.always or others or key in seen:
            continue
        seen.add(key)
        yield _missing(library, shipped, variant=_is_variant(library, found))


def _is_variant(library: NeededLibrary, found: Sequence[NeededLibrary]) -> bool:
    """Return whether all files that need a library may be variants of some whose major is brought.

    Such a file names the CUDA of the library, or has the name of a file for the major that is
    brought, or that name without its CUDA.
    """
    others = {
        posixpath.basename(host.place.innermost)
        for other in found
        if other.stem == library.stem and other.leads
        for host in other.hosts
    }
    majors = {str(cuda_major(row.name)) for row in library.packages}
    return bool(others) and all(
        ((tag := tagged_path(path)) and (not majors or tag.version.partition(".")[0] in majors))
        or (name := posixpath.basename(path)) in others
        or any(tagged_path(o) and o.startswith(name.partition(".")[0]) for o in others)
        for path in (host.place.innermost for host in library.hosts)
    )


def of_one_cause(found: Sequence[Problem], shipped: Shipped) -> Iterator[Problem]:
    """PKG-01: one problem for all libraries without any dependency, and all other problems."""
    none = [problem for problem in found if problem.remedy.endswith(_OR_TOOLKIT)]
    yield from (problem for problem in found if len(none) < 2 or problem not in none)
    if len(none) < 2:
        return
    asked = tuple(text for problem in none for text in problem.asked)
    lines = (problem.remedy.removesuffix(_OR_TOOLKIT).partition(" ") for problem in none)
    by_verb = grouped((verb, line) for verb, _, line in dict.fromkeys(lines))
    # Requirements without an alternative come last, and are one command of pip.
    ordered = {
        verb: sorted(some, key=lambda one: " or " not in one) for verb, some in by_verb.items()
    }
    remedy = " and ".join(f"{verb} {', '.join(some)}" for verb, some in ordered.items())
    yield replace(
        none[0],
        message=f"its libraries need {truncate_list(asked, _SHOWN)} of CUDA, but "
        f"{nothing_brings(shipped)} any: they fail to load unless a CUDA toolkit is installed",
        remedy=remedy.replace("', pip install '", "' '") + _OR_TOOLKIT,
        subject="libraries of CUDA",
        asked=asked,
        mend=Mend(tuple(line for each in none if each.mend for line in each.mend.requires)),
    )


def opened(shipped: Shipped) -> Iterator[Problem]:
    """PKG-01: one note for libraries that may be opened by name and that no dependency installs.

    Programs try several majors one after the other, of which one is enough.
    """
    found = opened_libraries(shipped)
    there = {library.stem for library in found if library.leads}
    there |= {library.stem for library in needed_libraries(shipped)}
    lacking = [library for library in found if library.stem not in there]
    if not lacking or not_at_hand(shipped.package, shipped.others, shipped.budget):
        return
    first = lacking[0]
    files = [library.file for library in lacking if library.first == first.first]
    more = len(lacking) - len(files[:_SHOWN])
    yield Problem(
        Verdict.OK,
        f"{first.first} opens {', '.join(files[:_SHOWN])}{f' and {more} more' if more else ''} by "
        f"name, but {nothing_brings(shipped)} {'it' if len(lacking) == 1 else 'them'}",
        f"if the package uses {first.file}, {_advice(first, shipped)}",
        f"dependencies of {shipped.package}",
        subject="opened libraries",
    )


def _asked(library: NeededLibrary) -> tuple[str, ...]:
    """The file that is needed, by its version where its name has one: ``libcublas 12``."""
    major = library_major(library.file)
    return (library.file if major is None else f"{library.stem} {major}",)


def _missing(library: NeededLibrary, shipped: Shipped, *, variant: bool) -> Problem:
    """The problem of a library that comes with an extra alone, or with none."""
    verdict, evidence = Verdict.OK, f"dependencies of {shipped.package}"
    remedy = _advice(library, shipped)
    if library.leads:
        extras = ", ".join(dict.fromkeys(str(lead.extra) for lead in library.leads))
        text = f"which comes only with the extra {extras}"
        remedy = f"have users install it with {shipped.package.name}[{extras}], or {remedy}"
        evidence = library.leads[0].line
    elif shipped.package.kind is Kind.CONDA:  # any package that it depends on may depend on that
        text = "but no entry of depends installs it directly"
    elif variant:
        text = "but the dependencies install another major version"
    else:
        verdict, text, cure = not_brought(shipped, library.hosts, library.file)
        text, remedy = text.format("it"), remedy + cure
    return Problem(
        verdict,
        f"{library.why}, {text}",
        remedy,
        evidence,
        subject=library.stem,
        asked=_asked(library),
        mend=None if verdict is Verdict.OK else _mend(library, shipped),
    )


def not_brought(
    shipped: Shipped, hosts: Sequence[HostBinary], file: str
) -> tuple[Verdict, str, str]:
    """Judge a library that no known metadata installs.

    Args:
        shipped: the package.
        hosts: its files that need the library.
        file: the name of the library.

    Returns:
        The verdict; the reason, with ``{}`` for the library; what to add to the remedy.
    """
    for other in shipped.others:
        if any(posixpath.basename(path) == file for path in other.files):
            text = f"and {other} has {{}}: the loader finds it only if {other.name} is loaded first"
            return Verdict.OK, text, f", unless {other.name} is always installed"
    every = not_at_hand(shipped.package, shipped.others, shipped.budget)
    majors = "|".join(map(str, _majors(file, shipped))) or "none"
    of_same = tuple(name for name in every if re.search(f"-cu(da)?-?({majors})", name))
    unknown = of_same or every
    linked = not of_same and are_beside_torch(hosts)
    beside_torch = "torch" in unknown or linked
    if not unknown and not beside_torch:
        return brought_by_nothing(shipped)
    name = "torch" if beside_torch else unknown[0]
    requires = "" if name in unknown else f"write Requires-Dist: {name}, and "
    cure = (
        f"; if every allowed {name} has this library, name {name} with --with, or "
        f"{requires}provided-by = {{{name} = ['{stem_of(file)}*']}} in the policy"
    )
    # Unless others are of its CUDA by their names, what is linked with torch is of torch's CUDA.
    torch = newest_torch(shipped) if linked or unknown == ("torch",) else None
    if torch is not None and ".so" in file and str(torch.major) not in majors:
        verdict = Verdict.FAIL if unknown == ("torch",) else Verdict.UNKNOWN
        absent = shipped.in_environment and "torch" in unknown
        missing = "is not installed, and torch " if absent else ""
        which = "the newest allowed" if absent else f"which {those_at_hand(shipped)}"
        told = f"but torch {missing}{torch.last}, {which}, installs CUDA {torch.major}"
        return verdict, told, f", or limit torch to releases for its CUDA{cure}"
    by = truncate_list(("torch",) if beside_torch else unknown, 1, link="or")
    may = "has to" if beside_torch else "may"
    told = f"and {{}} {may} come with {by}: if a release of {by} lacks it, loading fails"
    vague = not beside_torch and all(is_sibling(name, shipped.package) for name in unknown)
    return Verdict.UNKNOWN if vague else Verdict.OK, told, cure


def _majors(file: str, shipped: Shipped) -> set[int]:
    """The majors of CUDA that have a library, by the names that any file of the package needs."""
    needed = needed_libraries(shipped, compilers=True)
    same = (library for library in needed if library.stem == stem_of(file))
    return {cuda_major(row.name) for library in same for row in library.packages}


def brought_by_nothing(shipped: Shipped) -> tuple[Verdict, str, str]:
    """Judge a library that no dependency installs or may install.

    Returns:
        The verdict; the reason, with ``{}`` for the library; what to add to the remedy.
    """
    every = leads(shipped.package, shipped.others, shipped.budget)
    others = [lead for lead in every if not lead.by_chance]
    nothing = nothing_brings(shipped)
    # Packages of conda bring CUDA with them, as conda-forge asks.
    if shipped.package.kind is Kind.CONDA or any(lead.extra is None for lead in others):
        return Verdict.FAIL, f"but {nothing} {{}}", ""
    of_extras = " without an extra" if others else ""
    end = f"and {nothing} {{}}, nor any other library of CUDA{of_extras}"
    return Verdict.UNKNOWN, end, _OR_TOOLKIT


def nothing_brings(shipped: Shipped) -> str:
    """Return that a library is missing, as far as this package shows."""
    return "no installed package has" if shipped.in_environment else "no dependency installs"


def are_beside_torch(hosts: Sequence[HostBinary]) -> bool:
    """Return whether torch is loaded with each of these files, which need torch's libraries."""
    return bool(hosts) and all(any(map(_OF_TORCH.fullmatch, host.needed)) for host in hosts)


def _advice(library: NeededLibrary, shipped: Shipped) -> str:
    lines = _requirements(library, shipped)
    if not library.packages or (not lines and shipped.package.kind is Kind.WHEEL):
        return "put it into the package: no package that pip installs has it"
    if library.to_install:
        pip = "" if shipped.package.kind is Kind.CONDA else "run pip "
        return f"{pip}install '{library.to_install}'"
    if shipped.package.kind is Kind.CONDA:
        return f"write depends: {to_depend_on(library)}"
    if shipped.package.kind is Kind.DEBIAN:
        name = library.stem.lower()
        return f"write Depends: {name}{library_major(library.file) or ''}, as dpkg-shlibdeps does"
    if shipped.package.kind is Kind.RPM:
        return f"write Requires: {library.file}()(64bit), as rpmbuild does by itself"
    which = ", whichever is for your CUDA" if len(lines) > 1 else ""
    # Whoever looks at an environment writes no metadata.
    installed = [f"pip install '{line}'" for line in lines]
    steps = installed if shipped.in_environment else lines
    verb = "run" if shipped.in_environment else "write Requires-Dist:"
    return f"{verb} {' or '.join(steps)}{which}"


def _mend(library: NeededLibrary, shipped: Shipped, lead: Lead | None = None) -> Mend | None:
    """The change that brings a library, in place of what brings another one; None for no one."""
    lines = _requirements(library, shipped)
    if len(lines) != 1:
        return None
    return Mend.requiring(lines[0], *((lead.package, lead.extra) if lead else ()))


def _requirements(library: NeededLibrary, shipped: Shipped) -> tuple[str, ...]:
    """Requirements of which one brings a library; one where anything says for which CUDA."""
    found = leads(shipped.package, shipped.others, shipped.budget)
    majors = {cuda_major(lead.package) for lead in found if not lead.by_chance}
    # Else by what else is needed: libcudart.so.12 beside libcudnn.so.9. But beside libcublas.so.10,
    # libcufft.so.10 may be of CUDA 10, too.
    needed = () if majors else needed_libraries(shipped, compilers=True)
    old = any(not other.packages for other in needed)
    majors = majors or {
        cuda_major(other.packages[0].name)
        for other in needed
        if len({cuda_major(package.name) for package in other.packages}) == 1
        and not (old and other.packages[0].major < _FIRST_WITH_PACKAGES)
    }
    majors = majors or {cuda_major(lead.package) for lead in found}  # others in the environment
    return to_require(library, frozenset(majors)) if majors or not old else ()


def of_other_names(shipped: Shipped) -> Iterator[Problem]:
    """PKG-02: dependencies that also admit versions whose file has another name; each once."""
    if any(require.name == "cuda-version" for require in shipped.package.requires):
        return  # which holds all libraries of conda-forge to its own major
    seen = set()
    for library in needed_libraries(shipped):
        for lead in shipped.budget.timed(library.leads, slow=True):
            majors = other_majors(lead, library.file)
            if not lead.versions or not majors or lead in seen:
                continue
            seen.add(lead)
            yield Problem(
                Verdict.UNDOCUMENTED,
                f"the metadata allows {lead.package} {majors[0]}.x, which has the file of another "
                f"major version, but {library.why}",
                _advice(library, shipped),
                lead.line,
                subject=str(lead.package),
                mend=_mend(library, shipped, lead),
            )


def those_at_hand(shipped: Shipped) -> str:
    """Return the versions of a dependency that are checked."""
    return "is installed" if shipped.in_environment else "the metadata allows"


def of_extra(extra: str | None, verdict: Verdict, shipped: Shipped) -> Verdict:
    """Return the verdict on what an extra brings, which decides little if it may come without."""
    unknown = not_at_hand(shipped.package, shipped.others, shipped.budget)
    if extra is None or not unknown:
        return verdict
    return Verdict.UNKNOWN if all(is_sibling(n, shipped.package) for n in unknown) else Verdict.OK


def of_another_major(shipped: Shipped) -> Iterator[Problem]:
    """PKG-04: dependencies on the right library that don't install the required file.

    An opened library counts only if no other name of it is opened.
    """
    found = needed_libraries(shipped)
    opened_too = opened_libraries(shipped)
    names = Counter(library.stem for library in (*found, *opened_too))
    seen = set()
    for library in (*found, *(each for each in opened_too if names[each.stem] == 1)):
        if library.leads or not library.leads_to_others or library.packages in seen:
            continue
        seen.add(library.packages)
        lead = min(library.leads_to_others, key=lambda lead: lead.extra is not None)
        variant = _is_variant(library, found)
        verdict = Verdict.FAIL if library in found else Verdict.UNKNOWN
        does = library.why if library in found else f"{library.first} opens only {library.file}"
        yield Problem(
            Verdict.OK if variant else of_extra(lead.extra, verdict, shipped),
            f"{does}, but no release of {lead.package} that {those_at_hand(shipped)} has it",
            _advice(library, shipped),
            lead.line,
            subject=library.stem,
            asked=_asked(library),
            mend=None if variant else _mend(library, shipped, lead),
        )

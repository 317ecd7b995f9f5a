"""nvJitLink and NVRTC as libraries: which version a file needs, and which one it gets (NJL)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from ltocompat.model.arch import Release
from ltocompat.model.image import HostBinary
from ltocompat.model.library_name import NVJITLINK, library_major
from ltocompat.model.verdict import Verdict
from ltocompat.rules import floors, linker_imports, picked
from ltocompat.rules.constraints import (
    FixedVerdict,
    Informational,
    at_least,
    linker_exporting,
    linker_named,
    nvrtc_of_minor,
)
from ltocompat.rules.rule import Problem, Requirement, rule

if TYPE_CHECKING:
    from ltocompat.model.environment import Environment
    from ltocompat.targets.machine.loaded import Library, Resolved

_GIVE_NVJITLINK = "install nvJitLink >= {},<{}"


@rule("NJL-01")
def nvjitlink_symbol_missing(host: HostBinary) -> Iterator[Requirement]:
    """A library that imports ``_12_4`` needs an nvJitLink 12.x from 12.4 on."""
    versions = {name: linker_imports.version_of(name) for name in host.nvjitlink_imports}
    for major in sorted({version.major for version in versions.values() if version}):
        floor = max(version for version in versions.values() if version and version.major == major)
        name = next(name for name, version in versions.items() if version == floor)
        yield Requirement(
            linker_exporting(floor, by_name=bool(linker_imports.sonames(host, "needed"))),
            f"the imported {name}",
            linker_imports.missing_symbol_text(host, name),
            remedy=_GIVE_NVJITLINK.format(floor, major + 1),
            evidence=f"undefined symbol {name}",
        )


@rule("NJL-01")
def nvjitlink_symbol_missing_on_machine(library: Library) -> Iterator[Problem]:
    """The first symbol that fails to bind, if it has a version."""
    name = linker_imports.lacking(library)
    version = linker_imports.version_of(name) if name else None
    if name is None or version is None or linker_imports.wants_ltoir(name):
        return
    yield _lacks_symbol(library, name, _GIVE_NVJITLINK.format(version, version.major + 1))


def _lacks_symbol(library: Library, name: str, remedy: str) -> Problem:
    """The problem of a library whose nvJitLink has no such symbol."""
    linker = library.nvjitlink
    got = f"nvJitLink {linker.version} via {linker.found_via}" if linker else "no nvJitLink"
    return Problem(
        Verdict.FAIL,
        f"{linker_imports.short(library.path)} gets {got}, and the loader says: "
        f"{library.path}: {linker_imports.missing_symbol_text(library.host, name)}",
        remedy=remedy,
        evidence=f"undefined symbol {name}; {linker.path if linker else library.path}",
        headline=f"{linker_imports.short(library.path)} gets {got}, which has no {name}"
        if linker
        else f"{linker_imports.short(library.path)} imports {name}, but there is no nvJitLink",
    )


@rule("NJL-02")
def nvjitlink_hidden_from_library(library: Library) -> Iterator[Problem]:
    """LD_LIBRARY_PATH or a cache hides the nvJitLink that was installed for a library."""
    got, meant = library.nvjitlink, library.declared
    if got is None or meant is None or got.release == meant.release:
        return
    yield Problem(
        Verdict.UNKNOWN if got.release < meant.release else Verdict.OK,
        f"{linker_imports.short(library.path)} gets nvJitLink {got.version} via {got.found_via} "
        f"instead of {meant.version} via {meant.found_via}",
        evidence=f"{got.path} instead of {meant.path}",
    )


@rule("NJL-02")
def nvjitlink_hidden_on_machine(environment: Environment) -> Iterator[Problem]:
    """The sonames for which loading methods find different releases."""
    picks = [pick for pick in environment.picks if pick.library == "nvJitLink" and pick.version]
    for name in sorted({pick.asked for pick in picks}):
        found = {pick.way: pick for pick in picks if pick.asked == name}
        if len({pick.version for pick in found.values()}) < 2:
            continue
        text = ", ".join(
            f"{pick.way} finds {pick.version} ({pick.found_by})" for pick in found.values()
        )
        yield Problem(
            Verdict.UNKNOWN,
            f"two copies of {name}: {text}",
            evidence="; ".join(f"{pick.path}" for pick in found.values()),
        )


_OF_DRIVER = ("libcuda.so", "libnvidia-")


@rule("NJL-10")
def library_not_found(library: Library) -> Iterator[Problem]:
    """A needed library that the loader doesn't find ends the load."""
    found = linker_imports.missing(library.resolved)
    if not library.resolved or library.resolved[0].loaded is None or not found:
        return
    first = next((each for each in found if not _another_rule_speaks(each, library)), None)
    if first is None:
        return
    of_driver = first.asked.startswith(_OF_DRIVER) and library.environment.user_driver is None
    program = library.resolved[0].loaded.file.program
    sure = program and not of_driver
    # Packages bring most of their own libraries into the process themselves, CUDA's often not.
    own = not program and not first.asked.startswith(("libcu", "libnv", "libnccl"))
    if of_driver:
        why = " (it comes with the driver; containers get the driver when they start)"
    else:
        why = "" if program else ", unless the program has loaded it before"
    yield Problem(
        Verdict.FAIL if sure else Verdict.OK if own else Verdict.UNKNOWN,
        f"{linker_imports.short(first.needed_by or library.path)} needs {first.asked}, and the "
        f"loader says: {first.problem}{why}",
        remedy="install the driver"
        if of_driver
        else f"install the package that has {first.asked}, or add its folder to LD_LIBRARY_PATH",
        evidence=f"DT_NEEDED of {first.needed_by}",
        headline=f"{linker_imports.short(first.needed_by or library.path)} needs {first.asked}, "
        f"which the loader doesn't load{why}",
    )


def _another_rule_speaks(resolved: Resolved, library: Library) -> bool:
    """The rules on nvJitLink and on the builtins of NVRTC have more to say."""
    name = os.path.basename(resolved.asked)
    if name.startswith("libnvrtc-builtins."):
        return True
    majors = {copy.release.major for copy in library.environment.nvjitlinks}
    needed = linker_imports.sonames(library.host, "needed")
    return name in needed and bool(majors) and library_major(name) not in majors


@rule("NJL-03")
def nvjitlink_of_another_major(host: HostBinary) -> Iterator[Requirement]:
    """libnvJitLink.so.13 doesn't replace libnvJitLink.so.12 for a file that needs it."""
    for how in ("needed", "opened"):
        files = [*filter(library_major, linker_imports.sonames(host, how))]
        majors = sorted({library_major(file) or 0 for file in files})
        if not majors:
            continue
        certain = how == "needed"
        text = linker_imports.missing_file_text(host, files[0])
        yield Requirement(
            linker_named(tuple(majors), certain=certain),
            f"{' or '.join(files)}{'' if certain else ' (opened by name)'}",
            text,
            remedy=f"install an nvJitLink of major version {' or '.join(map(str, majors))}, too",
            evidence="DT_NEEDED" if certain else "a file name in its data",
            doubt=f"code that opens it gets: {text}",
        )
        return


@rule("NJL-03")
def nvjitlink_of_another_major_on_machine(library: Library) -> Iterator[Problem]:
    """No nvJitLink with the right name is found, but one of another major exists."""
    others = sorted({nvjitlink.release.major for nvjitlink in library.environment.nvjitlinks})
    if library.nvjitlink is not None or not others:
        return
    needed = linker_imports.sonames(library.host, "needed")
    for file in (needed or linker_imports.sonames(library.host, "opened"))[:1]:
        if library_major(file) in others:
            continue
        does, there = "needs" if needed else "opens", " and ".join(map(str, others))
        name = linker_imports.short(library.path)
        headline = f"{name} {does} {file}, but only nvJitLink {there} is found"
        yield Problem(
            Verdict.FAIL if needed else Verdict.UNKNOWN,
            f"{headline}: {linker_imports.missing_file_text(library.host, file)}",
            remedy=f"install the nvJitLink that is called {file}",
            evidence="DT_NEEDED" if needed else "a file name in its data",
            headline=headline,
        )


@rule("NJL-04")
def nvjitlink_without_plain_names(host: HostBinary) -> Iterator[Requirement]:
    """Names without a version exist from nvJitLink 12.3 on."""
    plain = filter(linker_imports.is_plain, host.nvjitlink_imports)
    names = (name for name in plain if not linker_imports.wants_ltoir(name))
    yield from _since(floors.linker("unversioned-symbols"), host, names)


def _since(floor: Release, host: HostBinary, names: Iterable[str]) -> Iterator[Requirement]:
    """The requirement of the first of some functions, which nvJitLinks have from a floor on."""
    for name in islice(names, 1):
        yield Requirement(
            at_least(floor),
            f"the imported {name}",
            linker_imports.missing_symbol_text(host, name),
            remedy=f"use nvJitLink {floor} or newer",
            evidence=f"undefined symbol {name}",
        )


@rule("NJL-04")
def nvjitlink_without_plain_names_on_machine(library: Library) -> Iterator[Problem]:
    """The first symbol that fails to bind, if it has no version."""
    name = linker_imports.lacking(library)
    if name and linker_imports.is_plain(name) and not linker_imports.wants_ltoir(name):
        floor = floors.linker("unversioned-symbols")
        yield _lacks_symbol(library, name, f"install nvJitLink {floor} or newer")


@rule("NJL-05")
def nvjitlink_without_linked_ltoir(host: HostBinary) -> Iterator[Requirement]:
    """Linked LTO-IR comes from nvJitLink 13.2 on."""
    names = filter(linker_imports.wants_ltoir, host.nvjitlink_imports)
    yield from _since(floors.linker("linked-ltoir"), host, names)


@rule("NJL-05")
def nvjitlink_without_linked_ltoir_on_machine(library: Library) -> Iterator[Problem]:
    """The first symbol that fails to bind, if it is a function for linked LTO-IR."""
    name = linker_imports.lacking(library)
    if name and linker_imports.wants_ltoir(name):
        remedy = f"install nvJitLink {floors.linker('linked-ltoir')} or newer"
        yield _lacks_symbol(library, name, remedy)


@rule("NJL-07")
def nvjitlink_majors_mixed(environment: Environment) -> Iterator[Problem]:
    """With two majors installed, NVRTC of one may meet nvJitLink of the other."""
    reached: dict[int, list[str]] = {}
    for pick in environment.picks:
        if pick.version and pick.library in ("nvJitLink", "nvrtc"):
            major = Release.parse(pick.version).major
            reached.setdefault(major, []).append(f"{pick.library} {pick.version}")
    if len(reached) < 2:
        return
    mixed = [pair for way in picked.WAYS if (pair := _majors_mixed(environment, way))]
    there = "; ".join(", ".join(sorted(set(names))) for _, names in sorted(reached.items()))
    text = "" if not mixed else f": {mixed[0]}"
    yield Problem(
        Verdict.UNKNOWN if mixed else Verdict.OK,
        f"two major versions can be loaded ({there}); code that tries one file name "
        f"after another may mix them{text}",
    )


@rule("NJL-07")
def nvrtc_newer_than_nvjitlink(host: HostBinary) -> Iterator[Requirement]:
    """A file uses an NVRTC of a newer major than every nvJitLink that it uses or contains."""
    compilers = linker_imports.majors(host, "libnvrtc")
    linkers = linker_imports.majors(host, NVJITLINK)
    if not compilers or not linkers or compilers[-1] < linkers[-1]:
        return
    newer = compilers[-1] > linkers[-1]
    if newer or (len(compilers) > 1 and len(linkers) > 1):
        nvrtc, nvjitlink = (" or ".join(map(str, majors)) for majors in (compilers, linkers))
        yield Requirement(
            FixedVerdict(Verdict.UNKNOWN) if newer else Informational(),
            f"NVRTC {nvrtc} beside nvJitLink {nvjitlink}",
            f"{linker_imports.short(host.place.innermost)} opens both, but LTO-IR that NVRTC "
            f"{compilers[-1]} makes is too new for an nvJitLink of an older major version",
            remedy=f"open only NVRTC {linkers[-1]}"
            if newer
            else "open NVRTC and nvJitLink of the same major version",
            evidence="names of files, version of a static copy",
        )


def _majors_mixed(environment: Environment, way: str) -> str | None:
    """The first NVRTC and the first nvJitLink that a way finds, where their majors differ."""
    compiler, linker = (picked.first(environment, name, way) for name in ("nvrtc", "nvJitLink"))
    if compiler is None or linker is None or compiler.release.major == linker.release.major:
        return None
    return f"{way} finds NVRTC {compiler.version} and nvJitLink {linker.version} first"


# A name with a hash in it (libnvrtc-builtins-1a2b3c4d.so.12.4) is a copy that a package brings.
_BUILTINS = re.compile(
    r"libnvrtc-builtins\.so\.(\d{1,9})\.(\d{1,9})|nvrtc-builtins64_(\d{1,9})(\d)\.dll"
)


@rule("NJL-08")
def nvrtc_builtins_needed(host: HostBinary) -> Iterator[Requirement]:
    """A file that links to libnvrtc-builtins runs with only one minor."""
    for file, release in _needed_builtins(host):
        yield Requirement(
            nvrtc_of_minor(release),
            file,
            linker_imports.missing_file_text(host, file),
            evidence="DT_NEEDED" if host.format == "ELF" else "import table",
        )


@rule("NJL-08")
def nvrtc_builtins_needed_on_machine(library: Library) -> Iterator[Problem]:
    """The builtins that the loader doesn't find; found ones are a note."""
    for resolved in linker_imports.missing(library.resolved):
        if _BUILTINS.fullmatch(resolved.asked):
            name = linker_imports.short(resolved.needed_by or library.path)
            headline = f"{name} needs exactly {resolved.asked}"
            yield Problem(
                Verdict.FAIL,
                f"{headline}: {resolved.problem}",
                evidence=f"DT_NEEDED of {resolved.needed_by}",
                headline=headline,
            )
    found = {resolved.asked for resolved in library.resolved if resolved.loaded}
    for file, release in _needed_builtins(library.host):
        if file in found:
            yield Problem(
                Verdict.OK,
                f"{linker_imports.short(library.path)} needs {file}, which only NVRTC {release} "
                "has",
                evidence=f"DT_NEEDED of {library.path}",
            )


def _needed_builtins(host: HostBinary) -> Iterator[tuple[str, Release]]:
    for library in host.libraries:
        match = _BUILTINS.fullmatch(library.file or "")
        if match and library.how == "needed":
            major, minor = match[1] or match[3], match[2] or match[4]
            yield match[0], Release(int(major), int(minor))


@rule("NJL-09")
def nvjitlink_inside(host: HostBinary) -> Iterator[Requirement]:
    """A static nvJitLink keeps the version that it had when the file was built."""
    for library in host.libraries:
        if library.name == NVJITLINK and library.how == "static":
            version = f" {library.version}" if library.version else " of an unknown version"
            yield Requirement(
                Informational(), f"nvJitLink{version} inside", evidence=library.evidence
            )

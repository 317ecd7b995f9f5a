"""Variants in a package: files of which its loader opens one.

Their paths differ in a version of CUDA only (``libx_cuda118.so`` beside ``libx_cuda130.so``,
folders ``cu12`` and ``cu13``), they have nearly the same names for others, and no other file of the
package has one of them brought by the system's loader (DT_NEEDED): what is brought is no choice.

Where no path names a version, folders beside one another tell it that have the same libraries, of
which one of CUDA's has another major in each: ``cupti/libcupti.so.12`` beside
``cupti-blackwell/libcupti.so.13``.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from ltocompat.model.artifact_summary import Variant
from ltocompat.model.cuda_tag import TaggedPath, tagged_path, without_tags
from ltocompat.model.generic import grouped
from ltocompat.model.image import HostBinary
from ltocompat.model.library_name import library_major, library_name
from ltocompat.model.words import truncate_list

# Names that compilers write rather than people: mangled C++ names, reserved ones, the linker's own.
_NOT_AN_INTERFACE = ("_Z", "?", "__", "_init", "_fini", "_edata", "_end")

_SUFFIX = re.compile(r"\.(?:so|dll|pyd)\b", re.IGNORECASE)

_Members = tuple[str, ...]
_Names = frozenset[str]


class _Family(Struct):
    """Files whose paths differ in a version of CUDA.

    Attributes:
        pattern: what their paths, or the folders that hold them, have in common; empty if their
            paths don't name the version.
        hosts: version -> the libraries and programs there.
        folders: version -> the folder; empty if files are told by their own names.
    """

    pattern: str
    hosts: dict[str, list[HostBinary]] = field(default_factory=dict)
    folders: dict[str, _Members] = field(default_factory=dict)

    def names(self, version: str) -> _Names:
        """The file names by which loaders know the files of a version."""
        return frozenset(
            name.lower()
            for host in self.hosts.get(version, ())
            for name in (posixpath.basename(host.place.members[-1]), host.soname)
            if name
        )


def find_variants(hosts: Iterable[HostBinary]) -> tuple[Variant, ...]:
    """Return the variants among the files of one package, oldest first; none in case of doubt.

    Args:
        hosts: all its libraries and programs; those with a version in the name have their exports.
    """
    linked = [host for host in hosts if host.linked and host.place.members]
    families = _not_brought([family for family in _families(linked) if _alike(family)], linked)
    families = families or _not_brought(_families_by_major(linked), linked)
    if not families:
        return ()
    every = dict.fromkeys(version for family in families for version in family.hosts)
    whole = {version for version in every if all(version in f.hosts for f in families)}
    if len(whole) < 2:
        return ()
    patterns = tuple(family.pattern for family in families if family.pattern)
    return tuple(
        _variant(version, families, patterns, whole=version in whole)
        for version in sorted(every, key=_in_order)
    )


def named_variants(files: Iterable[_Members], patterns: Sequence[str]) -> tuple[Variant, ...]:
    """Return the variants among files that a policy names; files of one version form one variant.

    Args:
        files: the files, each as the members that lead to it.
        patterns: the patterns in the policy.
    """
    tags = ((tagged_path(members[-1]), members) for members in dict.fromkeys(files))
    found = grouped((tag.version if tag else members[-1], members) for tag, members in tags)
    if len(found) < 2:
        return ()
    kinds = {version: _kinds(members) for version, members in found.items()}
    every = frozenset[str]().union(*kinds.values())
    repeated = {kind for kind in every if sum(kind in has for has in kinds.values()) > 1}
    whole = {version for version, has in kinds.items() if repeated <= has}
    return tuple(
        Variant(
            _titled(list(dict.fromkeys(map(_shown, found[version])))),
            version,
            frozenset(found[version]),
            (),
            tuple(patterns),
            version in whole or len(whole) < 2,
        )
        for version in sorted(found, key=_in_order)
    )


def _shown(members: _Members) -> str:
    """The folder of a version that a file is in, else the file."""
    tagged = tagged_path(members[-1])
    return (tagged.folder.rstrip("/") if tagged else "") or members[-1]


def _kinds(files: Iterable[_Members]) -> _Names:
    """Return the kinds of a version's files, whatever the version is."""
    tagged = (tagged_path(members[-1]) for members in files)
    return frozenset(_pattern(tag) for tag in tagged if tag is not None)


def _families(hosts: Sequence[HostBinary]) -> list[_Family]:
    """Files that differ in their version of CUDA; those in folders of one together."""
    found: dict[tuple[_Members, str], _Family] = {}
    for host in hosts:
        tagged = tagged_path(host.place.members[-1])
        if tagged is None:
            continue
        around = host.place.members[:-1]
        pattern = _pattern(tagged)
        family = found.setdefault((around, pattern), _Family(pattern))
        family.hosts.setdefault(tagged.version, []).append(host)
        if tagged.folder:
            family.folders[tagged.version] = (*around, tagged.folder)
    return [family for family in found.values() if len(family.hosts) > 1]


def _families_by_major(hosts: Sequence[HostBinary]) -> list[_Family]:
    """Folders beside one another with the same libraries, one of CUDA's in another major each."""
    beside: dict[tuple[_Members, str], dict[str, list[HostBinary]]] = {}
    for host in hosts:
        *around, file = host.place.members
        folder = posixpath.dirname(file)
        if folder:
            parent = (*around,), posixpath.dirname(folder)
            beside.setdefault(parent, {}).setdefault(f"{folder}/", []).append(host)
    found = (_family_by_major(each[0], folders, hosts) for each, folders in beside.items())
    return [family for family in found if family is not None]


def _family_by_major(
    around: _Members, folders: dict[str, list[HostBinary]], hosts: Sequence[HostBinary]
) -> _Family | None:
    """The folders of which each has a library of CUDA in a major of its own; None for none."""
    majors = {folder: _majors(inside) for folder, inside in folders.items()}
    for name in sorted(frozenset().union(*majors.values())):
        of_name = {folder: each[name] for folder, each in majors.items() if name in each}
        if len(of_name) < 2 or len(set(of_name.values())) < len(of_name):
            continue
        within = {folder: _within((*around, folder), hosts) for folder in of_name}
        if len({_stems(inside, len(folder)) for folder, inside in within.items()}) > 1:
            continue
        family = _Family("")
        for folder, major in of_name.items():
            family.hosts[str(major)] = within[folder]
            family.folders[str(major)] = (*around, folder)
        return family
    return None


def _majors(hosts: Sequence[HostBinary]) -> dict[str, int]:
    """The major of each library of CUDA, which has one file or several with the same."""
    found: dict[str, set[int]] = {}
    for host in hosts:
        soname = host.soname or posixpath.basename(host.place.members[-1])
        name, major = library_name(soname), library_major(soname)
        if name is not None and major is not None:
            found.setdefault(name, set()).add(major)
    return {name: majors.pop() for name, majors in found.items() if len(majors) == 1}


def _within(folder: _Members, hosts: Sequence[HostBinary]) -> list[HostBinary]:
    return [host for host in hosts if Variant("", "", folders=(folder,)).has(host.place)]


def _stems(hosts: Sequence[HostBinary], start: int) -> _Names:
    """Return the names of a folder's files without their versions."""
    return frozenset(
        f"{posixpath.dirname(path)}/{library_name(file) or _SUFFIX.split(file)[0]}"
        for path in (host.place.members[-1][start:] for host in hosts)
        for file in (posixpath.basename(path),)
    )


def _pattern(tagged: TaggedPath) -> str:
    return f"{without_tags(tagged.folder)}*" if tagged.folder else tagged.pattern


def _alike(family: _Family) -> bool:
    """Return whether the versions have at least half of all the names in common."""
    interfaces = [_interface(hosts, family) for hosts in family.hosts.values()]
    if not all(interfaces):
        interfaces = [_interface(hosts, family, mangled=True) for hosts in family.hosts.values()]
    shared = frozenset.intersection(*interfaces)
    return bool(shared) and 2 * len(shared) >= len(frozenset[str]().union(*interfaces))


def _interface(hosts: Sequence[HostBinary], family: _Family, *, mangled: bool = False) -> _Names:
    """The names that the files of a version have for others, without its number."""
    return frozenset(
        f"{without_tags(host.place.members[-1]) if family.folders else ''}:{without_tags(name)}"
        for host in hosts
        for name in host.exports
        if mangled or not name.startswith(_NOT_AN_INTERFACE)
    )


def _not_brought(families: list[_Family], hosts: Sequence[HostBinary]) -> list[_Family]:
    """Keep the files that no file of another version, or of none, needs."""
    while bad := [family for family in families if _is_brought(family, families, hosts)]:
        families = [family for family in families if family not in bad]
    return families


def _is_brought(family: _Family, families: Sequence[_Family], hosts: Sequence[HostBinary]) -> bool:
    """Return whether a file that is not of the same version needs one of them."""
    home = {
        host.place: version
        for other in families
        for version, members in other.hosts.items()
        for host in members
    }
    names = {version: family.names(version) for version in family.hosts}
    every = frozenset[str]().union(*names.values())
    for host in hosts:
        own = names.get(home.get(host.place, ""), frozenset())
        if any(name.lower() in every - own for name in host.needed):
            return True
    return False


def _variant(
    version: str, families: Sequence[_Family], patterns: tuple[str, ...], *, whole: bool
) -> Variant:
    folders = tuple(f.folders[version] for f in families if version in f.folders)
    files = [
        host.place.members
        for family in families
        if not family.folders
        for host in family.hosts.get(version, ())
    ]
    names = [folder[-1].rstrip("/") for folder in folders] + [members[-1] for members in files]
    return Variant(_titled(names), version, frozenset(files), folders, patterns, whole)


def _titled(names: Sequence[str]) -> str:
    return truncate_list(sorted(names, key=lambda name: (len(name), name)), 1)


def _in_order(version: str) -> tuple[tuple[int, ...], str]:
    """Versions of CUDA as they followed each other; then whatever has another name."""
    numbers = version.replace("+", ".").split(".")
    return tuple(int(n) if n.isdecimal() else 1 << 30 for n in numbers), version

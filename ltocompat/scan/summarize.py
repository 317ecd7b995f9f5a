"""Summaries of files, made of their records: what verdicts rest on, of any number of modules.

A file is read in two passes, module by module: by headers, then what decides
(``module_reader.py``).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.facts import among_tests, is_device_library, is_of_driver
from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup, Variant, variant_of
from ltocompat.model.cuda_tag import tagged_path
from ltocompat.model.generic import grouped
from ltocompat.model.image import Artifact, HostBinary, ImageLayer, Module, Origin, Record, Skipped
from ltocompat.model.signature import module_signature
from ltocompat.model.trial_answer import Trials

_Groups = dict[tuple[object, ...], ModuleGroup]
_MOST_SKIPPED = 20
_MOST_HOSTS = 10_000
# How the names of libcudadevrt's object and of NCCL's bare LTO-IR start.
_IN_DEVICE_LIBRARY = ("cuda_device_runtime.", "libnccl_device.")
_MOST_PLACES = 1 << 16  # of a group; the largest libraries have a few thousand modules


class SummaryBuilder(Struct, kw_only=True):
    """Folds the records of one file into its summary.

    Args:
        apart: True to keep modules of different innermost files in separate groups.
        members: the members from the file to the named place; empty for the file itself.
        installed: True for a file of an environment, which counts as a member of its wheel.
    """

    apart: bool
    members: tuple[str, ...] = ()
    installed: bool = False
    skipped: list[Skipped] = []
    _groups: _Groups = {}
    _of_tests: _Groups = {}
    _device_libraries: _Groups = {}
    _of_driver: _Groups = {}
    _inner: _Groups = {}
    _inside: tuple[str, ...] = ()
    _hosts: list[HostBinary] = []
    _skipped_count: int = 0
    _layers: tuple[ImageLayer, ...] = ()

    def take(self, record: Record, trials: Trials | None = None) -> None:
        """Add a record; a module comes with the answers of linkers and drivers."""
        if isinstance(record, Module):
            self.add_module(record, trials or {})
        elif isinstance(record, HostBinary):
            self.add_host(record)
        elif isinstance(record, Skipped):
            self.skip(record)
        elif isinstance(record, Artifact):
            self._layers = record.layers

    def skip(self, skipped: Skipped) -> None:
        """Add a place that can't be read."""
        self._skipped_count += 1
        if len(self.skipped) < _MOST_SKIPPED:
            self.skipped.append(skipped)

    @property
    def is_empty(self) -> bool:
        """Return whether nothing was found: no module, no host file and no unreadable place."""
        return not (self._inner or self._groups or self._hosts or self.skipped)

    def summary(self, path: str, *, apart: bool | None = None) -> ArtifactSummary:
        """Return the summary of all added records.

        Args:
            path: the artifact.
            apart: False: group modules of different files together; None: don't change the groups.
        """
        self._flush()
        apart = self.apart if apart is None else apart
        groups, of_tests, device_libraries, of_driver = (
            _grouped(found) if self.apart and not apart else list(found.values())
            for found in (self._groups, self._of_tests, self._device_libraries, self._of_driver)
        )
        variants: tuple[Variant, ...] = ()
        if self._hosts:  # a fatbin has none
            from ltocompat.scan.variants import find_variants

            variants = find_variants(self._hosts)
        if not all(variant.pattern for variant in variants) and any(
            group.count != len(group.places) for group in self._groups.values()
        ):
            variants = ()  # whose modules the others are is not known
        return ArtifactSummary(
            path,
            [part for group in groups for part in _parted(group, variants)],
            self.skipped,
            self._skipped_count,
            self._hosts,
            apart,
            test_groups=of_tests,
            device_libraries=device_libraries,
            driver_code=of_driver,
            variants=variants,
            searched=tuple(folder for layer in self._layers for folder in layer.searched),
            origins=_origins(self._layers),
        )

    def add_module(self, module: Module, trials: Trials) -> None:
        """Add a module, and the answers of linkers and drivers to it."""
        if module.place.members != self._inside:
            self._flush()
            self._inside = module.place.members
        inner = module.place.members != self.members
        place = module.place
        group = ModuleGroup(module_signature(module), trials, 1, place, inner, [place])
        _count(self._inner, group)

    def add_host(self, host: HostBinary) -> None:
        """Add a host file, which follows its modules and shows whether they need a device link."""
        if host.type == "object" and host.place.members == self._inside:
            self._inner = _waiting(self._inner)
        elif host.place.members == self._inside and is_of_driver(host.soname or ""):
            for group in self._inner.values():
                _count(self._of_driver, group, self._inside if self.apart else ())
            self._inner = {}
        elif host.place.members == self._inside and host.libraries:
            self._inner = _regrouped(self._inner, host)
        # Of other libraries and programs, the machine and the search path count.
        needs = host.undefined_registrations or host.nvjitlink_imports or host.libraries
        linked = host.linked and len(self._hosts) < _MOST_HOSTS
        if (needs or linked) and not self._of_device_library(host.place.members):
            self._hosts.append(host)
        self._flush()

    def _flush(self) -> None:
        apart = self._inside if self.apart else _of_variant(self._inside)
        for group in self._inner.values():
            groups = self._of_tests if _of_tests(group) else self._groups
            if self._of_device_library(group.example.members):
                groups = self._device_libraries
            _count(groups, group, apart)
        self._inner = {}

    def _of_device_library(self, members: tuple[str, ...]) -> bool:
        """Return whether this is a device library of NVIDIA inside of what was named."""
        inner = members[len(self.members) :]
        inside = any(is_device_library(name.rpartition("/")[2]) for name in inner)
        return inside and members[-1].rpartition("/")[2].startswith(_IN_DEVICE_LIBRARY)


def _origins(layers: Sequence[ImageLayer]) -> dict[str, Origin]:
    """The distributions and layers of files of a container image; of several the uppermost."""
    owners: dict[str, str] = {}
    for layer in layers:
        # pip's record lies in packages of conda, too.
        for path, name in sorted(layer.packages, key=lambda each: each[1].endswith("(pip)")):
            owners.setdefault(_merged(path), name)
    named = {path: owners.get(_merged(path), "") for layer in layers for path in layer.files}
    versions = {name: owners.get(f"/{name}", name) if name else "" for name in named.values()}
    return {
        path: Origin(path, versions[named[path]], layer.history)
        for layer in layers
        for path in layer.files
    }


def _merged(path: str) -> str:
    """A path where /lib is a link to /usr/lib, and dpkg lists the one or the other."""
    return path.removeprefix("/usr")


def _waiting(groups: _Groups) -> _Groups:
    """The modules of an object, with those marked that a device link is to use.

    Linkers read the first region of the section for relocatable code, and pass over others, such as
    ``ld -r`` puts behind it; what lies in any other section was linked by its own tool chain.
    Source: measured with nvJitLink 12.0 .. 13.5 and nvlink 13.0 .. 13.5.
    """
    found: _Groups = {}
    first = True
    for group in groups.values():
        signature = group.signature
        if not all(image.prelinked for image in signature.images):
            _count(found, group)
            continue
        if first:
            used = replace(signature, needs_device_link=True)
            _count(found, replace(group, signature=used, count=1, places=group.places[:1]))
        left, places = group.count - first, group.places[first:]
        if left:
            unread = replace(signature, behind_first=True)
            example = places[0] if places else group.example
            rest = replace(group, signature=unread, count=left, example=example, places=places)
            _count(found, rest)
        first = False
    return found


def _regrouped(groups: _Groups, host: HostBinary) -> _Groups:
    """The modules of a library; of one of NVIDIA's, as those that ship it know them."""
    from ltocompat.scan.shipped_linker import as_shipped, shipped_major

    major = shipped_major(host)
    if not major:
        return groups
    found: _Groups = {}
    for group in groups.values():
        _count(found, replace(group, signature=as_shipped(group.signature, major)))
    return found


def _of_tests(group: ModuleGroup) -> bool:
    """Return whether these are loose images of a package's tests, which its users don't run.

    What the user names is judged wherever it lies, and so are libraries.
    """
    loose = group.inner and group.signature.registered is None
    return loose and among_tests(group.example.members[-1].split("/")[:-1])


def _grouped(apart: _Groups) -> list[ModuleGroup]:
    """Groups of single files, as they are when all files are grouped together."""
    found: _Groups = {}
    for group in apart.values():
        _count(found, replace(group, places=list(group.places)), _of_variant(group.example.members))
    return list(found.values())


def _parted(group: ModuleGroup, variants: Sequence[Variant]) -> list[ModuleGroup]:
    """The modules of each variant by themselves, and those of none.

    Only paths that name a version tell what may be a variant before all files are read.
    """
    if not variants or len(group.places) < group.count:
        return [group]
    homes = grouped((variant_of(place, variants), place) for place in group.places)
    return [
        replace(group, count=len(places), example=places[0], places=places)
        for places in homes.values()
    ]


def _of_variant(members: tuple[str, ...]) -> tuple[str, ...]:
    """The file, where it may turn out to be a variant, which is judged by itself."""
    return members if any(map(tagged_path, members)) else ()


def _count(groups: _Groups, group: ModuleGroup, inside: tuple[str, ...] = ()) -> None:
    key = (group.signature, tuple(group.trials.items()), group.inner, inside)
    before = groups.get(key)
    if before is None:
        groups[key] = group
    else:
        before.count += group.count
        before.places += group.places[: _MOST_PLACES - len(before.places)]

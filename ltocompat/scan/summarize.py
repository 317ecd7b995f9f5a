"""From paths to summaries: what verdicts rest on, gathered while the bytes are at hand."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from ltocompat.files.fatbin import StoredImage, StoredModule
from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup
from ltocompat.model.errors import UnreadableInput
from ltocompat.model.image import Host, Image, ImageKind, Module, Record, Skipped
from ltocompat.model.place import Place
from ltocompat.model.signature import KernelsToCount, ModuleSignature, module_signature
from ltocompat.model.trial_answer import TrialKey, TrialOutcome, Trials
from ltocompat.scan import walk
from ltocompat.scan.describe import Detail, describe

_MOST_SKIPPED = 20
_LARGE = 16 << 10
_MOST_HOSTS = 10_000

Interest = Callable[[ModuleSignature], KernelsToCount]
"""Tells whose kernels decide something."""
Modules = Sequence[tuple[StoredModule, Module]]
TryModules = Callable[[Modules], Sequence[Trials]]
"""Asks linkers about modules of one file; what they did with each."""
Tries = Callable[[], TryModules]
"""Begins a file: what linkers are asked about it depends on no other file."""


class Summarizer:
    """Studies files: folds their modules into groups as they pass.

    Args:
        interest: tells whose kernels to count; a PTX image without kernels harms nobody.
        tries: asks linkers, None for no trials.
        narrow: says more of makers before anything else looks at them.
        apart: keep modules of different innermost files in groups of their own.
    """

    def __init__(
        self,
        interest: Interest,
        tries: Tries | None = None,
        narrow: walk.Refine | None = None,
        *,
        apart: bool = False,
    ) -> None:
        self._interest: Interest = functools.cache(interest)
        self._tries = tries
        self._narrow = narrow
        self._apart = apart

    def summary(self, place: Place, settings: walk.ScanSettings) -> Iterator[ArtifactSummary]:
        """One summary for each file at a place; last, one of what is no file and can't be read.

        Raises:
            UnreadableInput: the path can't be opened.
        """
        outside = _Notes(apart=self._apart)
        for found in walk.files(place, settings.limits):
            if isinstance(found, Skipped):
                outside.take(found, {})
            else:
                yield self._study_file(found, settings, named=found == place)
        if outside.skipped:
            yield outside.summary(place.path)

    def _study_file(
        self, file: Place, settings: walk.ScanSettings, *, named: bool
    ) -> ArtifactSummary:
        """The summary of one file: whatever is remembered while it is read ends with it."""
        reader = _FileReader(self._interest, self._tries, self._narrow)
        notes = _Notes(apart=self._apart)
        try:
            for record in walk.take(file, replace(settings, refine=reader.refine)):
                notes.take(record, reader.tried)
        except UnreadableInput as error:
            if named:
                raise
            notes.take(Skipped(file, str(error)), {})
        return notes.summary(file.path)


class _FileReader:
    """Says more of the modules of one file.

    Once a cubin with kernels has settled the verdict on modules that are alike, the others are not
    read. Alike are only modules of one innermost file: a library is judged the same alone and in a
    package.
    """

    def __init__(self, interest: Interest, tries: Tries | None, narrow: walk.Refine | None) -> None:
        self._interest = interest
        self._try = None if tries is None else tries()
        self._narrow = narrow
        self._settled: set[tuple[_Alike, int]] = set()
        self._filled: set[_Alike] = set()
        self.tried: dict[Place, Trials] = {}

    def refine(self, modules: Modules) -> list[Module]:
        if self._narrow is not None:
            narrowed = self._narrow(modules)
            modules = [(stored, new) for (stored, _), new in zip(modules, narrowed, strict=True)]
        if self._try is not None:
            pairs = zip(modules, self._try(modules), strict=True)
            self.tried.update((module.place, trials) for (_, module), trials in pairs if trials)
        return [self._with_kernels(stored, module) for stored, module in modules]

    def _with_kernels(self, stored: StoredModule, module: Module) -> Module:
        signature = module_signature(module)
        wanted = self._interest(signature)
        if not wanted.picked and not wanted.any_of:
            return module
        trials = tuple(self.tried.get(module.place, {}).items())
        alike = (module.place.members, signature, trials)
        images = list(module.images)
        for number in wanted.picked:
            if (alike, number) in self._settled or _surely_has_kernels(stored.images[number]):
                continue
            images[number] = _counted(stored.images[number], images[number])
            # PTX is little and is counted.
            if images[number].kind is ImageKind.SASS and images[number].kernels:
                self._settled.add((alike, number))
        if alike not in self._filled and self._any_kernels(stored, images, wanted.any_of):
            self._filled.add(alike)
        return replace(module, images=tuple(images))

    @staticmethod
    def _any_kernels(stored: StoredModule, images: list[Image], numbers: Sequence[int]) -> bool:
        """Whether one of these images has kernels; looks no further than to the first."""
        for number in numbers:
            if _surely_has_kernels(stored.images[number]):
                return True
            if images[number].kernels is None:
                kernels = describe(stored.images[number], Detail(kernels=True))[0].kernels
                images[number] = replace(images[number], kernels=kernels)
            if images[number].kernels != ():  # None: they can't be read
                return True
        return False


_Alike = tuple[tuple[str, ...], ModuleSignature, tuple[tuple[TrialKey, TrialOutcome], ...]]
"""Modules of one innermost file that have a signature and that linkers treated alike."""


def _counted(stored: StoredImage, image: Image) -> Image:
    """An image with its kernels.

    Of a cubin nothing else is taken over: others of its signature are not read this far, and what
    is said of them must not depend on which of them comes first. PTX is always read.
    """
    found, _ = describe(stored, Detail(kernels=True))
    return found if image.kind is ImageKind.PTX else replace(image, kernels=found.kernels)


def _surely_has_kernels(stored: StoredImage) -> bool:
    """Whether to leave a cubin unread: one without kernels has nothing to be large with."""
    return stored.kind is ImageKind.SASS and (stored.stored_size or 0) > _LARGE


class _Notes:
    """What was noted of one file."""

    def __init__(self, *, apart: bool) -> None:
        self._apart = apart
        self._groups: dict[tuple[object, ...], ModuleGroup] = {}
        self._inner: dict[tuple[object, ...], ModuleGroup] = {}
        self._inside: tuple[str, ...] = ()
        self._options: dict[str, Image] = {}
        self._hosts: list[Host] = []
        self.skipped: list[Skipped] = []
        self._skipped_count = 0

    def take(self, record: Record, tried: Mapping[Place, Trials]) -> None:
        """Note a record."""
        if isinstance(record, Module):
            self._module(record, tried.get(record.place, {}))
        elif isinstance(record, Host):
            self._host(record)
        elif isinstance(record, Skipped):
            self._skipped_count += 1
            if len(self.skipped) < _MOST_SKIPPED:
                self.skipped.append(record)

    def summary(self, path: str) -> ArtifactSummary:
        """The summary of what was noted."""
        self._flush()
        return ArtifactSummary(
            path,
            list(self._groups.values()),
            self.skipped,
            self._skipped_count,
            list(self._options.values()),
            self._hosts,
            self._apart,
        )

    def _module(self, module: Module, trials: Trials) -> None:
        if module.place.members != self._inside:
            self._flush()
            self._inside = module.place.members
        _count(self._inner, ModuleGroup(module_signature(module), trials, 1, module.place))
        for image in module.images:
            if image.kind is ImageKind.LTOIR and image.options is not None:
                self._options.setdefault(image.options, image)

    def _host(self, host: Host) -> None:
        """A host follows its modules: now it shows whether they still need a device link."""
        waits = host.type == "object" and any(
            name.startswith("__cudaRegisterLinkedBinary") for name in host.undefined_registrations
        )
        if waits and host.place.members == self._inside:
            for group in self._inner.values():
                group.signature = replace(group.signature, needs_device_link=True)
        # Of libraries in packages others are kept, too: their machine and search path count.
        needs = host.undefined_registrations or host.nvjitlink_imports or host.libraries
        in_package = host.linked and host.place.members and len(self._hosts) < _MOST_HOSTS
        if needs or in_package:
            self._hosts.append(host)
        self._flush()

    def _flush(self) -> None:
        for group in self._inner.values():
            _count(self._groups, group, self._inside if self._apart else ())
        self._inner = {}


def _count(
    groups: dict[tuple[object, ...], ModuleGroup], group: ModuleGroup, inside: tuple[str, ...] = ()
) -> None:
    key = (group.signature, tuple(group.trials.items()), inside)
    before = groups.get(key)
    if before is None:
        groups[key] = group
    else:
        before.count += group.count

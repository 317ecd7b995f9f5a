"""From paths to studies: what verdicts rest on, gathered while the bytes are at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ltocompat import inventory
from ltocompat.describing import Detail, describe
from ltocompat.model import Artifact, Host, Image, ImageKind, Module, Record, Skipped
from ltocompat.place import Place
from ltocompat.regions import StoredImage, StoredModule
from ltocompat.traits import Shape, shape_of
from ltocompat.verdicts.kernels import Worth
from ltocompat.verdicts.studies import Group, Study
from ltocompat.verdicts.trials import Trials

_MOST_SKIPPED = 20
_LARGE = 16 << 10
_MOST_HOSTS = 10_000

Interest = Callable[[Shape], Worth]
"""Tells whose kernels decide something."""
Try = Callable[[Sequence[tuple[StoredModule, Module]]], Sequence[Trials]]
"""Asks linkers about modules; what they did with each."""


class Student:
    """Studies files: folds their modules into groups as they pass.

    Args:
        interest: tells whose kernels to count; a PTX image without kernels harms nobody.
        try_links: asks linkers, None for no trials.
        narrow: says more of makers before anything else looks at them.
        apart: keep modules of different innermost files in groups of their own.
    """

    def __init__(
        self,
        interest: Interest,
        try_links: Try | None = None,
        narrow: inventory.Refine | None = None,
        *,
        apart: bool = False,
    ) -> None:
        self._interest = interest
        self._apart = apart
        self._try = try_links
        self._narrow = narrow
        self._interests: dict[Shape, Worth] = {}
        self._settled: set[tuple[Shape, int]] = set()
        self._filled: set[Shape] = set()
        self._tried: dict[Place, Trials] = {}

    def study(self, place: Place, settings: inventory.Settings) -> Iterator[Study]:
        """One study for each file at a place.

        Raises:
            UnreadableInput: the path can't be opened.
        """
        settings = replace(settings, refine=self._refine)
        notes = _Notes(apart=self._apart)
        for record in inventory.take(place, settings):
            done = notes.take(record, self._tried)
            if done is not None:
                yield done
                self._tried.clear()
        if notes.skipped:
            yield notes.rest(place.path)

    def _refine(self, modules: Sequence[tuple[StoredModule, Module]]) -> list[Module]:
        if self._narrow is not None:
            said = self._narrow(modules)
            modules = [(stored, module) for (stored, _), module in zip(modules, said, strict=True)]
        if self._try is not None:
            found = self._try(modules)
            pairs = zip(modules, found, strict=True)
            self._tried.update((module.place, tried) for (_, module), tried in pairs if tried)
        return [self._with_kernels(stored, module) for stored, module in modules]

    def _with_kernels(self, stored: StoredModule, module: Module) -> Module:
        shape = shape_of(module)
        wanted = self._interests.get(shape)
        if wanted is None:
            wanted = self._interests[shape] = self._interest(shape)
        images = list(module.images)
        for number in wanted.picked:
            if (shape, number) in self._settled or _surely_has_kernels(stored.images[number]):
                continue
            images[number], _ = describe(stored.images[number], Detail(kernels=True))
            # One cubin with kernels settles the verdict of its shape; PTX is little and is counted.
            if images[number].kind is ImageKind.SASS and images[number].kernels:
                self._settled.add((shape, number))
        if shape not in self._filled and self._any_kernels(stored, images, wanted.any_of):
            self._filled.add(shape)
        return replace(module, images=tuple(images))

    @staticmethod
    def _any_kernels(stored: StoredModule, images: list[Image], numbers: Sequence[int]) -> bool:
        """Whether one of these images has kernels; looks no further than to the first."""
        for number in numbers:
            if _surely_has_kernels(stored.images[number]):
                return True
            if images[number].kernels is None:
                images[number], _ = describe(stored.images[number], Detail(kernels=True))
            if images[number].kernels or images[number].problems:
                return True
        return False


def _surely_has_kernels(stored: StoredImage) -> bool:
    """Whether to leave a cubin unread: one without kernels has nothing to be large with."""
    return stored.kind is ImageKind.SASS and (stored.stored_size or 0) > _LARGE


class _Notes:
    """The study of the file at hand."""

    def __init__(self, *, apart: bool) -> None:
        self._apart = apart
        self._begin()

    def _begin(self) -> None:
        self._groups: dict[tuple[object, ...], Group] = {}
        self._inner: dict[tuple[object, ...], Group] = {}
        self._inside: tuple[str, ...] = ()
        self._options: dict[str, Image] = {}
        self._hosts: list[Host] = []
        self.skipped: list[Skipped] = []
        self._skipped_count = 0

    def take(self, record: Record, tried: dict[Place, Trials]) -> Study | None:
        """Note a record; the study, when it was the last of its file."""
        if isinstance(record, Module):
            self._module(record, tried.get(record.place, {}))
        elif isinstance(record, Host):
            self._host(record)
        elif isinstance(record, Skipped):
            self._skipped_count += 1
            if len(self.skipped) < _MOST_SKIPPED:
                self.skipped.append(record)
        elif isinstance(record, Artifact):
            return self.rest(record.path)
        return None

    def rest(self, path: str) -> Study:
        """The study of what was noted so far."""
        self._flush()
        study = Study(
            path,
            list(self._groups.values()),
            self.skipped,
            self._skipped_count,
            list(self._options.values()),
            self._hosts,
            self._apart,
        )
        self._begin()
        return study

    def _module(self, module: Module, trials: Trials) -> None:
        if module.place.members != self._inside:
            self._flush()
            self._inside = module.place.members
        _count(self._inner, Group(shape_of(module), trials, 1, module.place))
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
                group.shape = replace(group.shape, needs_device_link=True)
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
    groups: dict[tuple[object, ...], Group], group: Group, inside: tuple[str, ...] = ()
) -> None:
    key = (group.shape, tuple(group.trials.items()), inside)
    before = groups.get(key)
    if before is None:
        groups[key] = group
    else:
        before.count += group.count

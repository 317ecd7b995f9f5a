"""Narrowing the releases of scrambled LTO-IR by asking linkers which of them first accepts it.

An nvJitLink accepts LTO-IR exactly when its own minor release is not older than the compiler's; no
exception in 4,800 pairs of 16 compilers and 32 linkers. Only that refusal counts here: linkers
before 12.4 also refuse fatbins that they can't unpack, which says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from msgspec import Struct
from msgspec.structs import replace

from ltocompat import facts
from ltocompat.files.fatbin import StoredImage, StoredModule
from ltocompat.model.arch import Release
from ltocompat.model.errors import Malformed, Missing
from ltocompat.model.generic import grouped
from ltocompat.model.image import Image, Module, Producer
from ltocompat.scan.extract_bytes import cut
from ltocompat.targets.linkers import Linker
from ltocompat.trial.link_pool import Pool, refused_as_too_new
from ltocompat.trial.trial_run import TrialRun
from ltocompat.trial.values import InputKind, Request, TrialInput


class _Open(Struct):
    """An image of a module whose releases are being narrowed, and what linkers said so far."""

    images: list[Image]
    number: int
    request: Request
    refused_by: Release | None = None


class MakerNarrower(ExitStack):
    """Finds producers with nvJitLinks; use it as a context manager, which ends their processes.

    Args:
        resolve: returns the library of a minor release; raises ``Missing`` if there is none.
        trial_run: the CPU time of all trials of this run.
    """

    def __init__(self, resolve: Callable[[str], Linker], trial_run: TrialRun | None = None) -> None:
        super().__init__()
        self._trial_run = trial_run or TrialRun()
        self._resolve = resolve
        self._pools: dict[Release, Pool | None] = {}

    def narrow(self, modules: Sequence[tuple[StoredModule, Module]]) -> list[Module]:
        """Return the modules in order, with fewer possible producers of their images.

        Raises:
            Missing: a required linker is missing.
        """
        found = [[*module.images] for _, module in modules]
        waiting = grouped(
            (image.made_by[0].releases, _Open(images, number, request))
            for (stored, module), images in zip(modules, found, strict=True)
            for number, image in enumerate(module.images)
            if (request := _request(stored.images[number], image)) is not None
        )
        for releases, group in waiting.items():
            self._narrow_group(releases, group)
        return [
            replace(module, images=tuple(images))
            for (_, module), images in zip(modules, found, strict=True)
        ]

    def _narrow_group(self, releases: tuple[Release, ...], group: list[_Open]) -> None:
        older = (minor for minor in facts.nvjitlink_minors() if minor < releases[0])
        before = max(older, default=None)
        for release in (before, *releases):
            if release is None or not group:
                continue
            pool = self._pool(release, needed=release is not before)
            if pool is None:
                continue
            left: list[_Open] = []
            total = sum(image.request.size for image in group)
            watch = self._trial_run.watch(f"{group[0].request.file}: nvJitLink {release}", total)
            answers = pool.run((image.request for image in group), watch)
            for image, answer in zip(group, answers, strict=True):
                if not answer.failed and release in releases:
                    known = image.images[image.number]
                    image.images[image.number] = _narrowed(known, release, image.refused_by)
                elif refused_as_too_new(answer):
                    image.refused_by = release
                    left.append(image)
                elif release is before:
                    left.append(image)  # it can't unpack the fatbin; the others can
            group = left

    def _pool(self, release: Release, *, needed: bool) -> Pool | None:
        if release not in self._pools:
            try:
                library = self._resolve(str(release))
            except Missing:
                if needed:
                    raise
                self._pools[release] = None
            else:
                pool = Pool(library.path, trial_run=self._trial_run)
                self._pools[release] = self.enter_context(pool)
        return self._pools[release]


def _request(stored: StoredImage, image: Image) -> Request | None:
    """The request about an image; None when there is nothing to narrow or no way to ask."""
    if not stored.entry.scrambled or image.arch is None or len(image.made_by) != 1:
        return None
    releases = image.made_by[0].releases
    if len(releases) < 2 or releases[0] < min(facts.nvjitlink_minors()):
        return None
    try:
        data = cut(stored).data
    except Malformed:
        return None
    options = ("-lto", f"-arch=sm_{image.arch.number}{image.arch.suffix}")
    inputs = (TrialInput(str(stored.entry.place), InputKind.FATBIN, data),)
    return Request(inputs, options, complete=False, file=stored.entry.place.path)


def _narrowed(image: Image, release: Release, refused_by: Release | None) -> Image:
    (maker,) = image.made_by
    text = f"accepted by {release}"
    evidence = f"refused by {refused_by}, {text}" if refused_by else text
    found = Producer(maker.role, maker.tool, str(release), (release,), evidence)
    return replace(image, made_by=(found,))

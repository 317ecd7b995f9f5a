"""The first line about an artifact: who made it, what it runs on, and the driver that it needs."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ltocompat.facts.drivers import earlier_drivers
from ltocompat.facts.gpus import gpus_in_use
from ltocompat.model.arch import Release, SmArch
from ltocompat.model.image import KERNEL_KINDS, HostBinary, Image, ImageKind, Module
from ltocompat.model.signature import ModuleSignature, module_signature
from ltocompat.report.text import MOST_ARCHS, Few, fold_archs
from ltocompat.scan.summarize import SummaryBuilder

if TYPE_CHECKING:
    from ltocompat.rules.engine.engine import Engine

_MOST_MAKERS = 8
_MOST_SIGNATURES = 500  # real libraries have a few dozen
_PREPARED = 64


class ImageAnswer:
    """A collector of the facts for an artifact's first line."""

    def __init__(self) -> None:
        self._makers: Few[str] = Few(_MOST_MAKERS)
        self._releases: set[tuple[Release, ...]] = set()
        self._archs: dict[ImageKind, Few[SmArch]] = {}
        self._summary = SummaryBuilder(apart=False)
        self._inner: set[ModuleSignature] = set()  # of the file that is being read
        self._inside: tuple[str, ...] = ()
        self._signatures: set[ModuleSignature] = set()
        self._path = ""
        self._kernels: set[bool | None] = set()  # whether code has any; None: not counted

    def add(self, module: Module) -> None:
        """Add one module."""
        self._path = module.place.path
        if module.place.members != self._inside:
            self._inner, self._inside = set(), module.place.members
        signature = module_signature(module)
        if signature in self._inner:  # so are its architectures, makers and whether it has kernels
            return
        if len(self._signatures) <= _MOST_SIGNATURES:
            self._inner.add(signature)
            self._summary.add_module(module, {})
            if signature not in self._signatures and len(self._signatures) < _PREPARED:
                # While workers read the rest of a file, and not once they are done.
                for gpu in gpus_in_use():
                    self._known.loaded_code(signature, gpu)
            self._signatures.add(signature)
        for image in module.images:
            self._add_image(image)

    @functools.cached_property
    def _known(self) -> Engine:
        """What rules say of the modules; they are loaded when there is something to say."""
        from ltocompat.rules.engine.engine import Engine

        return Engine()

    def add_host(self, host: HostBinary) -> None:
        """Add the file around the modules, which comes after them."""
        self._summary.add_host(host)

    def _add_image(self, image: Image) -> None:
        # Other kinds never show whether they have kernels; None where they were not counted.
        counted = None if image.kernels is None else bool(image.kernels)
        self._kernels.add(counted if image.kind in KERNEL_KINDS else True)
        if image.arch is not None:
            self._archs.setdefault(image.kind, Few(MOST_ARCHS)).add(image.arch)
        for maker in image.made_by:
            if not maker.releases:
                self._makers.add(str(maker))
            elif len(self._releases) < _MOST_MAKERS:
                self._releases.add(maker.releases)

    def text(self) -> str:
        """``made by CUDA 12.4, 13.0 · runs on sm_80, 90 · kernels need driver >= 580.65.06``."""
        return " · ".join(filter(None, (self._made_by(), "; ".join(self._ways()), self._needs())))

    def _made_by(self) -> str:
        known = [_one_of(releases) for releases in sorted(self._releases)]
        words = [*([f"CUDA {', '.join(known)}"] if known else ()), *self._makers]
        return f"made by {', '.join(words)}" if words else ""

    def _ways(self) -> Iterator[str]:
        runs = "SASS for" if self._kernels == {False} else "runs on"
        leads = {ImageKind.SASS: runs, ImageKind.PTX: "PTX for", ImageKind.LTOIR: "LTO-IR for"}
        for kind, lead in leads.items():
            if archs := fold_archs(self._archs.get(kind, ())):
                yield f"{lead} {archs}"

    def _needs(self) -> str:
        """The minimum drivers, as ``require`` tells them; empty if nothing asks for one.

        ``require`` counts kernels; where that was not done, none may be in it, or none in its PTX.
        """
        if self._kernels == {False}:
            return "no kernels"
        if not 0 < len(self._signatures) <= _MOST_SIGNATURES:
            return ""
        # Imported here: rules are loaded when there is something to say.
        from ltocompat.rules.engine.driver_floors import driver_floors

        summary = self._summary.summary(self._path)
        floors = driver_floors(summary, self._known)
        # The drivers of the tables begin with CUDA 11; of earlier releases only the least is known.
        newest = max((releases[0] for releases in self._releases), default=None)
        earlier = dict.fromkeys(floors.or_older, earlier_drivers().get(str(newest)))
        sass, ptx = earlier.get("sass", floors.sass), earlier.get("ptx", floors.ptx)
        of_ptx = "newer than every known driver" if floors.beyond else f">= {ptx}" if ptx else ""
        least = of_ptx if sass is None else f">= {sass}"
        if not least:
            return ""
        higher = sass is not None and (floors.beyond or (ptx is not None and ptx > sass))
        variants = sum(variant.whole for variant in summary.variants)
        notes = (
            f"the lowest of {variants} variants" if variants else "",
            f"{'PTX kernels' if None in self._kernels else 'its PTX'}: {of_ptx}" if higher else "",
        )
        more = "; ".join(filter(None, notes))
        words = "kernels need driver" if None in self._kernels else "needs driver"
        return f"{words} {least}" + (f" ({more})" if more else "")


def _one_of(releases: tuple[Release, ...]) -> str:
    """``13.0``, ``12.8 or 12.9``, ``13.3 to 13.5 (one of them)``."""
    if len(releases) > 2:
        return f"{releases[0]} to {releases[-1]} (one of them)"
    return " or ".join(map(str, releases))

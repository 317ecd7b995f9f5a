"""The memory of judging: what was found for equal modules, host files and requirements."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from itertools import chain
from operator import attrgetter

from msgspec import Struct

from ltocompat.model.arch import Release
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.image import HostBinary, ImageKind
from ltocompat.model.signature import ModuleSignature
from ltocompat.model.target import Gpu, Target
from ltocompat.model.verdict import Finding
from ltocompat.rules import makers
from ltocompat.rules.artifact_code import with_kernels
from ltocompat.rules.catalogue import requirements_of_gpu, requirements_of_host
from ltocompat.rules.engine import picked_code
from ltocompat.rules.engine.arch_parts import archs_of, stem
from ltocompat.rules.engine.evaluate import Ruling, evaluate, values_of
from ltocompat.rules.engine.findings import finding_of, key_of
from ltocompat.rules.engine.picked_code import PickedCode
from ltocompat.rules.linker_traits import LinkerTraits
from ltocompat.rules.rule import Requirement

_MOST = 8192  # libraries have thousands of modules and a few dozen signatures
_MOST_NAMES = 1 << 16
_Needs = dict[HostBinary, tuple[Requirement, ...]]


class Engine:
    """The functions for verdicts that are called often, each with a cache.

    No answer depends on earlier ones. A use case makes one engine for everything that it checks;
    the cache ends with the engine.
    """

    def __init__(self) -> None:
        self.loaded_code = functools.lru_cache(_MOST)(picked_code.loaded_code)
        self.requirements_of_host = functools.lru_cache(_MOST)(requirements_of_host)
        self._key_of = functools.lru_cache(_MOST)(key_of)
        self.archs_of = functools.lru_cache(_MOST)(archs_of)
        self.stem = functools.lru_cache(_MOST_NAMES)(stem)
        self._seen_by = functools.lru_cache(_MOST)(LinkerTraits.seen_by)
        self._linked_code = functools.lru_cache(_MOST)(picked_code.linked_code)

    def linked_code(
        self,
        signature: ModuleSignature,
        aim: Gpu,
        linker: LinkerTraits | None,
        *,
        offline: bool = False,
    ) -> PickedCode:
        """Pick the images that a linker uses; equivalent linkers for a module use the same.

        Args:
            signature: the module.
            aim: the GPU that it is linked for.
            linker: the traits of the linker; None if unknown.
            offline: True for nvlink.
        """
        seen = None if linker is None else self._seen_by(linker, signature)
        return self._linked_code(signature, aim, seen, offline=offline)

    def host_needs(self, whole: ArtifactSummary, gpu: Gpu | None = None) -> _Needs:
        """Collect the requirements of each host file of an artifact.

        A CUDA runtime asks for a driver unless all kernels ask for one as new. Of several
        runtimes, the newest asks: on an older driver, each call of its file fails (error 35), as
        kernels of that file would. Files of which a loader opens one are variants.
        Without kernels, a runtime also asks for a driver that knows the GPU.
        """
        asked = {host: self.requirements_of_host(host) for host in whole.hosts}
        newest = max((each.runtime for each in chain.from_iterable(asked.values())), default=0)
        images = (image for group in whole.groups for image in group.signature.images)
        loaded = (image for image in images if image.kind is not ImageKind.LTOIR)
        majors = (makers.major(image) for image in loaded if image.has_kernels is not False)
        asks = bool(whole.groups) and min(majors, default=0) < newest
        counting = (0, newest) if asks else (0,)
        of_gpu = requirements_of_gpu(gpu) if gpu and asks and not with_kernels(whole) else ()
        found = {host: [r for r in own if r.runtime in counting] for host, own in asked.items()}
        return {
            host: (*own, *of_gpu) if any(each.runtime for each in own) else tuple(own)
            for host, own in found.items()
        }

    def finding_of(self, ruling: Ruling) -> Finding:
        """Return the finding for a ruling with a message; the fold counts its modules."""
        return finding_of(ruling, self._key_of(ruling.requirement))


class Case(Struct, frozen=True):
    """One target and one of its GPUs, for verdicts.

    Attributes:
        engine: the engine with its cache.
        target: the target, with at most one version of each part.
        gpu: one of its GPUs; None if it names none.
    """

    engine: Engine
    target: Target
    gpu: Gpu | None

    def rulings(
        self, requirements: Iterable[Requirement], linker: Release | None, *, offline: bool = False
    ) -> list[Ruling]:
        """Evaluate requirements on the target; the arguments are those of ``values_of``."""
        values = values_of(self.target, self.gpu, linker)
        where = {"offline": offline, "windows": self.target.system.name != "linux"}
        return [evaluate(each, values, **where) for each in requirements]

    def findings(self, rulings: Iterable[Ruling]) -> tuple[Finding, ...]:
        """Return the findings for the rulings with a message."""
        return tuple(map(self.engine.finding_of, filter(attrgetter("message"), rulings)))

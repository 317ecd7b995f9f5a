"""The memory of judging: what equal modules, hosts and findings come to, found once."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from operator import attrgetter

from msgspec import Struct

from ltocompat.model.arch import Release
from ltocompat.model.signature import ModuleSignature
from ltocompat.model.target import Gpu, Target
from ltocompat.model.verdict import Finding
from ltocompat.rules.catalogue import requirements_of_host
from ltocompat.rules.engine import picked_code
from ltocompat.rules.engine.arch_parts import archs_of, stem
from ltocompat.rules.engine.evaluate import Evaluation, evaluate
from ltocompat.rules.engine.findings import finding_of, key_of
from ltocompat.rules.engine.picked_code import PickedCode
from ltocompat.rules.linker_traits import LinkerTraits
from ltocompat.rules.rule import Requirement

_MOST = 8192  # libraries have thousands of modules and a few dozen signatures
_MOST_NAMES = 1 << 16


class Engine:
    """The functions of judging that are asked again and again, with their answers so far.

    No answer depends on those before it. A use case makes an engine for all that it judges, with
    which everything is forgotten.
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
        """Pick the images that a linker takes; linkers alike to a module take the same.

        Args:
            signature: the module.
            aim: the GPU that it is linked for.
            linker: the traits of the linker; None where it is not known.
            offline: it is nvlink.
        """
        seen = None if linker is None else self._seen_by(linker, signature)
        return self._linked_code(signature, aim, seen, offline=offline)

    def finding_of(self, ruling: Evaluation) -> Finding:
        """The finding behind a ruling that has a message; the fold counts its modules."""
        return finding_of(ruling, self._key_of(ruling.requirement))


class Case(Struct, frozen=True):
    """A question to an engine, about anything that goes to one GPU of a target.

    Attributes:
        engine: what is known already.
        target: where it is going, with one version of each part at most.
        gpu: one of its GPUs; None where it names none.
    """

    engine: Engine
    target: Target
    gpu: Gpu | None

    def rulings(
        self, requirements: Iterable[Requirement], linker: Release | None, *, offline: bool = False
    ) -> list[Evaluation]:
        """Hold requirements against the target; the arguments are those of ``evaluate``."""
        return [evaluate(r, self.target, self.gpu, linker, offline=offline) for r in requirements]

    def findings(self, rulings: Iterable[Evaluation]) -> tuple[Finding, ...]:
        """The findings behind the rulings that have a message."""
        return tuple(map(self.engine.finding_of, filter(attrgetter("message"), rulings)))

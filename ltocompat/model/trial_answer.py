"""Answers of trials: one may lower a verdict and settle an unknown one, never more."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ltocompat.model.arch import Release, SmArch
from ltocompat.model.signature import ModuleSignature, made_by_some

TOO_NEW = "ltoir too new"
AUTO = "auto"
"""Ask the linkers at hand, about what is unknown without them."""


class TrialOutcome(Struct, frozen=True):
    """The answer of a linker or a driver to one module, alone, for a GPU.

    Attributes:
        who: what was asked: ``nvJitLink 13.3.33``, ``CUDA 13.0 driver``.
        outcome: ``accepted`` (only added), ``linked``, ``loaded``, ``refused``, ``lost`` (it ended
            well, without a kernel of the inputs), ``crashed`` or ``timed out``.
        cause: short name of the reason of a refusal, as logs are read; None when it is not known.
        reason: of a failure, in one sentence.
        loading: of a driver, when it loaded kernels: ``lazily`` or ``eagerly``; None of a linker.
        cpu_seconds: of a time-out, the CPU seconds that it used, where it had all that a request
            gets.
    """

    who: str
    outcome: str
    cause: str | None = None
    reason: str = ""
    loading: str | None = None
    cpu_seconds: float | None = None

    @property
    def by_driver(self) -> bool:
        """Return whether a driver answered, and not a linker."""
        return self.loading is not None

    @property
    def subject(self) -> str:
        """The tool that answered, as a subject: ``nvJitLink 13.3.33``, ``the driver ...``."""
        return f"the {self.who}, loading {self.loading}," if self.loading else self.who

    @property
    def worked(self) -> bool:
        """Return whether the input was accepted, linked or loaded."""
        return self.outcome in ("accepted", "linked", "loaded")

    @property
    def lasting(self) -> bool:
        """Return whether it comes from the input, not from a machine short of time or memory."""
        return self.cpu_seconds is not None or self.outcome not in ("crashed", "timed out")

    @property
    def proves(self) -> bool:
        """Return whether the code itself was used, and not only its header looked at."""
        return self.outcome in ("linked", "loaded")

    @property
    def refused_for_age(self) -> bool:
        """Return whether the linker refused it as newer than itself."""
        return self.outcome == "refused" and self.cause == TOO_NEW


TrialKey = tuple[Release | str, str]
Trials = Mapping[TrialKey, TrialOutcome]
"""By who was asked (see ``link_key`` and ``load_key``) and for which architecture."""


def link_key(linker: Release, arch: SmArch, *, offline: bool = False, lto: bool = True) -> TrialKey:
    """The key of a link with a release of nvJitLink, or, ``offline``, of nvlink."""
    return (f"nvlink {linker}" if offline else linker), str(arch) if lto else f"{arch} without -lto"


def load_key(target: str, arch: SmArch) -> TrialKey:
    """The key of a load on the machine that a target is; no other target learns of it."""
    return f"load on {target}", str(arch)


def narrowed(signature: ModuleSignature, linker: Release, tried: TrialOutcome) -> ModuleSignature:
    """The module with the releases of its LTO-IR that the linker's answer leaves."""
    if not tried.worked and not tried.refused_for_age:
        return signature
    if tried.worked:
        return made_by_some(signature, lambda made: made <= linker, f", accepted by {linker}")
    return made_by_some(signature, lambda made: made > linker, f", refused by {linker}")

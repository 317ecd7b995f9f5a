"""Answers of trials: one may lower a verdict and settle an unknown one, never more."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ltocompat.model.arch import Release, SmArch
from ltocompat.model.signature import ModuleSignature, made_by_some

TOO_NEW = "ltoir too new"
# Use only installed linkers, and only for unknown verdicts.
AUTO = "auto"


class TrialOutcome(Struct, frozen=True):
    """The result of linking or loading one module alone for one GPU.

    Attributes:
        who: the tool that answered: ``nvJitLink 13.3.33``, ``CUDA 13.0 driver``.
        outcome: ``accepted`` (only added), ``linked``, ``loaded``, ``refused``, ``lost`` (it
            succeeded, but without a kernel of the inputs), ``crashed`` or ``timed out``.
        cause: short name of the reason for a refusal, from the log; None if unknown. Of a link that
            succeeded: of the error in its log.
        reason: the reason for a failure, or that error, in one sentence. Of a whole link that was
            only accepted: why that proves nothing.
        loading: for a driver, how it loads kernels: ``lazily`` or ``eagerly``; None for a linker.
        cpu_seconds: for a time-out, the CPU seconds that were used, if it was the full share of one
            request.
    """

    who: str
    outcome: str
    cause: str | None = None
    reason: str = ""
    loading: str | None = None
    cpu_seconds: float | None = None

    @property
    def by_driver(self) -> bool:
        """Return whether a driver answered, not a linker."""
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
        """Return whether the input caused it, not a lack of time or memory."""
        return self.cpu_seconds is not None or self.outcome not in ("crashed", "timed out")

    @property
    def proves(self) -> bool:
        """Return whether the code itself was used, not only its header."""
        return self.outcome in ("linked", "loaded")

    @property
    def refused_for_age(self) -> bool:
        """Return whether the linker refused it as newer than itself."""
        return self.outcome == "refused" and self.cause == TOO_NEW


TrialKey = tuple[Release | str, str]
# Keyed by the linker or driver (see ``link_key`` and ``load_key``) and the architecture.
Trials = Mapping[TrialKey, TrialOutcome]


def link_key(linker: Release, arch: SmArch, *, offline: bool = False, lto: bool = True) -> TrialKey:
    """Return the key of a link with a release of nvJitLink or, if ``offline``, of nvlink."""
    return (f"nvlink {linker}" if offline else linker), str(arch) if lto else f"{arch} without -lto"


def load_key(target: str, arch: SmArch) -> TrialKey:
    """Return the key of a load on the machine of a target; other targets don't use the answer."""
    return f"load on {target}", str(arch)


def narrowed(signature: ModuleSignature, linker: Release, tried: TrialOutcome) -> ModuleSignature:
    """Return the module with only the LTO-IR releases that the linker's answer admits."""
    if not tried.worked and not tried.refused_for_age:
        return signature
    if tried.worked:
        return made_by_some(signature, lambda made: made <= linker, f", accepted by {linker}")
    return made_by_some(signature, lambda made: made > linker, f", refused by {linker}")

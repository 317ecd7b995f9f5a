"""Rules, what they look at, and what they find: the types that this room shares."""

from __future__ import annotations

import enum
import functools
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

from msgspec import Struct, StructMeta
from msgspec.structs import replace

from ltocompat.model.arch import Release
from ltocompat.model.image import ImageKind
from ltocompat.model.link_options import Disagreement
from ltocompat.model.mend import Mend
from ltocompat.model.signature import ImageSignature, ModuleSignature
from ltocompat.model.target import DriverVersion, Gpu
from ltocompat.model.verdict import BaseFinding, Level, Route, Verdict
from ltocompat.rules.linker_traits import LinkerTraits
from ltocompat.rules.prose import rule_prose
from ltocompat.rules.selection import SelectionFailure


class Component(enum.StrEnum):
    """The part of a target with a requirement."""

    DRIVER = "driver"  # the user-mode driver: that of cuda-compat where one is in front
    KERNEL = "kernel driver"
    LINKER = "nvJitLink"
    NVRTC = "NVRTC"
    COMPAT = "cuda-compat"  # in play only where a package is in front of the driver
    OPTIONS = "link options"
    NONE = "device code"  # no target changes it


OF_DRIVERS = (Component.DRIVER, Component.KERNEL)

# Components that say whether code loads, which no linker tells.
ABOUT_LOADING = frozenset({*OF_DRIVERS, Component.COMPAT})


class Unbounded(enum.StrEnum):
    """A reason why constraints have no minimum version."""

    ANY = "any version works, or the version makes no difference"
    NOT_KNOWN = "the tables don't say which version works"
    NONE_KNOWN = "no known version works"


VersionT = TypeVar("VersionT", Release, DriverVersion)


class _AbstractStruct(ABCMeta, StructMeta):
    """Of values that can't be made while they lack a method."""


class Constraint(Struct, metaclass=_AbstractStruct, frozen=True, kw_only=True):
    """A condition on the value of a component; ``str`` gives it as ``>= 550.54.14``.

    ``check`` calls ``judge``; ``require`` derives its answer from the verdicts on known versions.

    Attributes:
        of_gpu: True if it is about the GPU, so that it holds only in that GPU's row of ``require``.
        ignores_concatenated: True if a driver that fails it ignores concatenated entries.
        names_compiler: True if the requirement depends on the release that compiled the code.
        weighs_values: True if a value can change the verdict, so that sentences name the required
            value.
        driver_may_link: True if a driver may link code that every nvJitLink refuses.
        trial_decides: True if a trial link would replace an unknown verdict or a note by a certain
            verdict.
        promised: True if NVIDIA promises that code works if such a link accepts it.
        nondeterministic: see ``Finding.nondeterministic``.
        warns: True if its notes are warnings.
    """

    weighs_values: ClassVar[bool] = True
    driver_may_link: ClassVar[bool] = False
    of_gpu: bool = False
    ignores_concatenated: bool = False
    names_compiler: bool = False
    trial_decides: bool = False
    promised: bool = False
    nondeterministic: bool = False
    warns: bool = False

    @property
    @abstractmethod
    def component(self) -> Component:
        """The part of a target whose values it judges."""

    @abstractmethod
    def __str__(self) -> str:
        """The value that is wanted, as it stands behind the name of the component."""

    @abstractmethod
    def judge(self, value: Any, /) -> Verdict:  # noqa: ANN401 - each component has its own type
        """Judge a known value on the component."""

    def noted(self, _: Any, /) -> bool:  # noqa: ANN401 - as above
        """Return whether an ``ok`` value gets a note."""
        return False


class CompatUse(Struct, frozen=True):
    """The value on the component of cuda-compat.

    Attributes:
        package: the package in front, by its CUDA release.
        kernel: the kernel driver behind it; None if unknown.
        gpu: the GPU.
        system: ``linux``, ``windows`` or ``wsl2``.
    """

    package: Release
    kernel: DriverVersion | None
    gpu: Gpu
    system: str

    def __str__(self) -> str:
        beneath = "an unknown driver" if self.kernel is None else f"driver {self.kernel}"
        return f"cuda-compat {self.package} over {beneath}"


class Requirement(Struct, frozen=True, cache_hash=True):
    """A requirement of an image on one part of its target.

    Attributes:
        constraint: the condition on that part.
        subject: the code with the requirement, as the start of a sentence: ``PTX 9.2``.
        consequence: the consequence if it is not met, as the end of a sentence; this and the
            following attributes are empty if the prose has them.
        remedy: the fix.
        evidence: the bytes that prove the requirement.
        doubt: the text instead of the consequence if the verdict is unknown.
        short: the consequence in a few words, for headlines.
        conditional: True if a program may never have it, so that meeting it is no verdict.
        runtime: the major of the CUDA runtime with the requirement; 0: the code has it. The
            runtime's counts only in an artifact without kernels.
        rule: ID of the rule, which its family sets.
    """

    constraint: Constraint
    subject: str
    consequence: str = ""
    remedy: str = ""
    evidence: str = ""
    doubt: str = ""
    short: str = ""
    conditional: bool = False
    runtime: int = 0
    rule: str = ""

    @property
    def component(self) -> Component:
        """The part of the target."""
        return self.constraint.component

    def text(self, name: str) -> str:
        """Return one of its texts, ``remedy``; by default, the text of its rule's prose."""
        text: str = getattr(self, name) or getattr(rule_prose(self.rule), f"finding_{name}")
        return text

    def by(self, rule_id: str) -> Requirement:
        """Return the requirement of a rule, whose prose is only read if it is not met."""
        return replace(self, rule=rule_id)


class Subject(Struct, frozen=True):
    """The subject of a rule: a module, a GPU, and the route between them.

    Attributes:
        signature: the module from ``beside_picked``.
        route: how it gets onto the GPU.
        gpu: the GPU.
        picked: the images that the driver or the linker picks; empty if there is none.
        missed: why none is picked, else None.
        linker: for a link, the traits of the linker; None if unknown.
        offline: True if that linker is nvlink, not nvJitLink.
        found_by: if the current linker picks nothing, the releases of linkers that pick this,
            oldest first; else empty.
    """

    signature: ModuleSignature
    route: Route
    gpu: Gpu
    picked: tuple[ImageSignature, ...]
    missed: SelectionFailure | None = None
    linker: LinkerTraits | None = None
    offline: bool = False
    found_by: tuple[Release, ...] = ()


def beside_picked(signature: ModuleSignature, picked: Sequence[ImageSignature]) -> ModuleSignature:
    """Return the module for rules, with only kind and place of images that are not picked.

    Hundreds of modules that differ only in other images are so judged once. If nothing is picked,
    rules see the whole module.
    """
    if not picked:
        return signature
    seen = {(image.kind, image.prelinked, image.in_fatbin): None for image in signature.images}
    images = (*picked, *(_outline(*each) for each in seen))
    return replace(signature, images=images, behind_first=False)


@functools.cache
def _outline(kind: ImageKind, prelinked: int, in_fatbin: bool) -> ImageSignature:  # noqa: FBT001
    """The outline of an image that is not picked, as rules see it."""
    return ImageSignature(kind, None, prelinked=prelinked, in_fatbin=in_fatbin)


class Link(Struct, frozen=True):
    """The subject of a rule about whole links: all inputs of a linker.

    Attributes:
        images: each linked image, and its count.
        options: the compile options in which its LTO-IR differs.
        gpu: the GPU of the link; None if the target names none.
        linker: the release of the linker.
        offline: True if that linker is nvlink, not nvJitLink.
        certain: True if it is one link; else the modules may be linked with each other.
        left_out: images of the objects without code for the target.
        unread: images at places that no linker reads; for a module, the target's images, if any.
        archived: True if objects of it lie in archives.
    """

    images: tuple[tuple[ImageSignature, int], ...]
    options: tuple[Disagreement, ...]
    gpu: Gpu | None
    linker: Release
    offline: bool
    certain: bool
    left_out: tuple[ImageSignature, ...] = ()
    unread: tuple[ImageSignature, ...] = ()
    archived: bool = False


class Problem(BaseFinding, frozen=True, gc=False):
    """Something wrong with a machine, with a library on it, or with a package.

    ``remedy`` and ``evidence`` are empty if the rule's own texts apply. ``subject`` is empty if the
    message serves as the subject. ``rule`` is empty until ``by`` fills it in.

    Attributes:
        level: the severity of the problem; if None, its verdict sets the severity.
        mend: a change to the wheel that may fix the problem; None if no change is known.
    """

    level: Level | None = None
    mend: Mend | None = None

    def by(self, rule_id: str) -> Problem:
        """Return the problem with the ID and the texts of the rule that found it."""
        prose = rule_prose(rule_id)
        remedy = self.remedy or prose.finding_remedy
        evidence = self.evidence or prose.finding_evidence
        return replace(self, rule=rule_id, remedy=remedy, evidence=evidence)


class Rule(Struct, frozen=True):
    """A function of the catalogue, and its rule.

    Attributes:
        id: the ID of the rule, ``PTX-01``, as in its prose.
        looks_at: the types that the function checks: ``Subject``, or ``Shipped | Installed``.
        function: yields the requirements or problems that it finds; for an image, why it is not for
            a GPU.
        kind: the kind of images that the function is about; None: any, or no image.
    """

    id: str
    looks_at: tuple[str, ...]
    function: Callable[..., Any]
    kind: ImageKind | None = None


def rule(rule_id: str, kind: ImageKind | None = None) -> Callable[[Callable[..., Any]], Rule]:
    """Register a function for a rule, for the type of its first parameter."""

    def speaking(function: Callable[..., Any]) -> Rule:
        looks_at, *_ = function.__annotations__.values()
        return Rule(rule_id, tuple(looks_at.split(" | ")), function, kind)

    return speaking

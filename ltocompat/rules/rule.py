"""Rules, what they look at, and what they find: the types that this room shares."""

from __future__ import annotations

import enum
import functools
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
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
    """The part of a target that a requirement is about."""

    DRIVER = "driver"  # the user-mode driver: that of cuda-compat where one is in front
    KERNEL = "kernel driver"
    LINKER = "nvJitLink"
    NVRTC = "NVRTC"
    COMPAT = "cuda-compat"  # in play only where a package is in front of the driver
    OPTIONS = "link options"
    NONE = "device code"  # no target changes it


OF_DRIVERS = (Component.DRIVER, Component.KERNEL)

ABOUT_LOADING = frozenset({*OF_DRIVERS, Component.COMPAT})
"""Components that say whether code loads, which no linker tells."""


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

    ``check`` asks ``judge``; what ``require`` prints follows from its answers on known versions.

    Attributes:
        of_gpu: it is about the GPU, so that it holds in that GPU's row of ``require`` only.
        ignores_concatenated: a driver that fails it reads on as if concatenated entries were not
            there.
        names_compiler: True if the requirement depends on the release that compiled the code.
        weighs_values: a value can change the verdict, so that sentences name what it has to be.
        driver_may_link: what every nvJitLink refuses may be linked by a driver.
        trial_decides: a trial link would replace what is unknown, or noted, by a certain verdict.
        promised: NVIDIA promises that code works which such a link accepts.
        nondeterministic: as ``Finding.nondeterministic`` says.
        warns: a note of it is worth a warning.
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
        """Return whether a value that is ``ok`` is worth a note all the same."""
        return False


class CompatUse(Struct, frozen=True):
    """The value on the component of cuda-compat.

    Attributes:
        package: the package in front, by its CUDA release.
        kernel: the kernel driver beneath; None when it is not known.
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
    """A demand of an image on one part of its target.

    Attributes:
        constraint: what that part has to be.
        subject: what asks, as the start of a sentence: ``PTX 9.2``.
        consequence: what happens otherwise, as the end of one; this and what follows are empty if
            the table of prose says them.
        remedy: what to do then.
        evidence: the bytes that prove it.
        doubt: what to say instead of the consequence where the verdict is unknown.
        short: the consequence in a few words, where a headline has no room for all of it.
        rule: ID of the rule that says so, which its family writes.
    """

    constraint: Constraint
    subject: str
    consequence: str = ""
    remedy: str = ""
    evidence: str = ""
    doubt: str = ""
    short: str = ""
    rule: str = ""

    @property
    def component(self) -> Component:
        """The part of a target that it is about."""
        return self.constraint.component

    def text(self, name: str) -> str:
        """One of its texts, ``remedy``; where it has none, that of its rule's prose."""
        text: str = getattr(self, name) or getattr(rule_prose(self.rule), f"finding_{name}")
        return text

    def by(self, rule_id: str) -> Requirement:
        """The demand of a rule; its prose is read where it is not met."""
        return replace(self, rule=rule_id)


class Subject(Struct, frozen=True):
    """The subject of a rule: a module, a GPU, and the route between them.

    Attributes:
        signature: the module, as ``beside_picked`` leaves it.
        route: how it gets onto the GPU.
        gpu: the GPU.
        picked: the images that the driver or the linker picks; empty when there is none.
        missed: why none is picked, else None.
        linker: on the route of a link: the traits of the linker; None when it is not known.
        offline: that linker is nvlink rather than nvJitLink.
        found_by: the releases of linkers that pick this, oldest first, where the one at hand picks
            nothing; else empty.
    """

    signature: ModuleSignature
    route: Route
    gpu: Gpu
    picked: tuple[ImageSignature, ...]
    missed: SelectionFailure | None = None
    linker: LinkerTraits | None = None
    offline: bool = False
    found_by: tuple[Release, ...] = ()


def beside_picked(
    signature: ModuleSignature, picked: tuple[ImageSignature, ...]
) -> ModuleSignature:
    """The module as rules see it: of what is not picked they see the kind and where it lies.

    Hundreds of modules that differ in other images alone are so judged once. Where nothing is
    picked, rules see all of it.
    """
    if not picked:
        return signature
    seen = {(image.kind, image.prelinked, image.in_fatbin): None for image in signature.images}
    images = (*picked, *(_outline(*each) for each in seen))
    return replace(signature, images=images, behind_first=False)


@functools.cache
def _outline(kind: ImageKind, prelinked: bool, in_fatbin: bool) -> ImageSignature:  # noqa: FBT001
    """The outline of an image that is not picked, as rules see it."""
    return ImageSignature(kind, None, prelinked=prelinked, in_fatbin=in_fatbin)


class Link(Struct, frozen=True):
    """The subject of a rule on whole links: all that a linker gets at once.

    Attributes:
        images: each image that is linked, and how often.
        options: the compile options in which its LTO-IR differs.
        gpu: what it is linked for; None if the target names none.
        linker: the release of the linker.
        offline: that linker is nvlink rather than nvJitLink.
        certain: it is one link; else these are modules that may be linked with each other.
        left_out: images of the objects that hold nothing for the target.
        unread: images that lie where no linker looks; of a module those for the target, if any.
        archived: objects of it lie in archives.
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

    ``remedy`` and ``evidence`` are empty if the rule's own texts apply, ``rule`` until the rule's
    family fills it in, and ``subject`` if the message is the subject.

    Attributes:
        level: its severity; None: the one of its verdict.
        mend: a change of the wheel that may fix it; None if none is known.
    """

    level: Level | None = None
    mend: Mend | None = None

    def by(self, rule_id: str) -> Problem:
        """The problem as a rule finds it, with the texts of the rule."""
        prose = rule_prose(rule_id)
        remedy = self.remedy or prose.finding_remedy
        evidence = self.evidence or prose.finding_evidence
        return replace(self, rule=rule_id, remedy=remedy, evidence=evidence)


class Rule(Struct, frozen=True):
    """A function of the catalogue, and the rule that it speaks for.

    Attributes:
        id: the ID of the rule, ``PTX-01``; its prose has the same.
        looks_at: the types that the function looks at: ``Subject``, or ``Shipped | Installed``.
        function: yields the requirements or problems that it finds; of an image, why it is not for
            a GPU.
    """

    id: str
    looks_at: tuple[str, ...]
    function: Callable[..., Any]


def rule(rule_id: str) -> Callable[[Callable[..., Any]], Rule]:
    """Make a function speak for a rule, about what its first parameter is."""

    def speaking(function: Callable[..., Any]) -> Rule:
        looks_at, *_ = function.__annotations__.values()
        return Rule(rule_id, tuple(looks_at.split(" | ")), function)

    return speaking

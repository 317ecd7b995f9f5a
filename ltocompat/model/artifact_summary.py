"""What is left of an artifact for verdicts, however many modules it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ltocompat.model.image import CudaLibrary, Host, Image, Skipped
from ltocompat.model.place import Place
from ltocompat.model.signature import Shape
from ltocompat.model.trial_answer import Trials


@dataclass(slots=True)
class Group:
    """Modules of one shape that linkers treated alike.

    Attributes:
        shape: the shape.
        trials: what linkers did with them.
        count: how many there are.
        example: the first.
    """

    shape: Shape
    trials: Trials
    count: int
    example: Place


@dataclass(slots=True)
class Study:
    """What is left of an artifact for verdicts, however many modules it has.

    Attributes:
        path: the artifact.
        groups: its modules.
        skipped: places that were not read, the first of them.
        skipped_count: how many there are.
        options: an LTO-IR image for each set of compile options.
        hosts: host files around them, of which a linker or loader asks something.
        apart: a group has modules of one innermost file only, and so do findings.
    """

    path: str
    groups: list[Group] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    skipped_count: int = 0
    options: list[Image] = field(default_factory=list)
    hosts: list[Host] = field(default_factory=list)
    apart: bool = False

    @property
    def modules(self) -> int:
        """Number of modules."""
        return sum(group.count for group in self.groups)


def own_linker(study: Study) -> CudaLibrary | None:
    """The nvJitLink that an artifact brings inside, where it asks for no other one.

    Its fragments are linked by that copy, whatever is installed where they go.
    """
    copies = [
        library
        for host in study.hosts
        for library in host.libraries
        if library.name == "libnvJitLink"
    ]
    if not copies or any(one.how != "static" or one.version is None for one in copies):
        return None
    return copies[0]


def together_as_one(studies: Sequence[Study]) -> Study:
    """Several artifacts that are linked together, as one."""
    whole = Study(" + ".join(study.path for study in studies))
    for study in studies:
        whole.groups += study.groups
        whole.skipped += study.skipped
        whole.skipped_count += study.skipped_count
        whole.options += study.options
        whole.hosts += study.hosts
    return whole

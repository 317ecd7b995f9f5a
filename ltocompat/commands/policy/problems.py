"""What a policy itself finds in an artifact: architectures that are lost, a driver that rose."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.commands.policy.values import Policy
from ltocompat.model.arch import ArchForm, SmArch
from ltocompat.model.artifact_summary import Study
from ltocompat.model.image import ImageKind
from ltocompat.model.place import Place
from ltocompat.model.requirement import Required
from ltocompat.model.verdict import Verdict
from ltocompat.packages.values import Package
from ltocompat.rules.rule import Flaw

_KINDS = {
    ArchForm.REAL: (ImageKind.SASS, "SASS"),
    ArchForm.VIRTUAL: (ImageKind.PTX, "PTX"),
    ArchForm.LTO: (ImageKind.LTOIR, "LTO-IR"),
}
_ANYWHERE = ("any", "noarch")  # platforms of packages that hold no machine code


def should_hold_code(policy: Policy, study: Study, package: Package | None) -> bool:
    """Whether device code is to be expected: a package for any platform may have none."""
    if study.modules or package is None or policy.allow_empty:
        return bool(study.modules)
    return any(one not in _ANYWHERE for one in package.platforms)


def _is_one_image(study: Study) -> bool:
    """Whether a file is a bare cubin, PTX or LTO-IR, which no fatbin or library is around."""
    shapes = [group.shape for group in study.groups]
    whole = study.groups[0].example == Place(study.path)
    return whole and not any(image.in_fatbin for shape in shapes for image in shape.images)


def policy_flaws(
    policy: Policy, study: Study, required: Required, package: Package | None
) -> Iterator[Flaw]:
    """What the policy finds in an artifact.

    Args:
        policy: what it is held to.
        study: what is left of it for verdicts.
        required: what it asks for.
        package: the package that it is; None for none.
    """
    if not should_hold_code(policy, study, package):
        return
    if package is not None or not _is_one_image(study):  # one image has one architecture
        for form in _KINDS:
            wanted = [arch for arch in policy.require_archs if arch.form is form]
            yield from _archs(policy, study, form, wanted)
    yield from _driver(policy, required)


def _archs(policy: Policy, study: Study, form: ArchForm, wanted: list[SmArch]) -> Iterator[Flaw]:
    kind, word = _KINDS[form]
    there = {
        image.arch
        for group in study.groups
        for image in group.shape.images
        if image.kind is kind and image.arch is not None
    }
    missing = [arch for arch in wanted if arch not in there]
    if not missing:
        return
    lost = ", ".join(map(str, missing))
    has = ", ".join(map(str, sorted(there)))
    options = " ".join(
        f"-gencode arch=compute_{one.number}{one.suffix},code={one}" for one in missing
    )
    yield Flaw(
        "POL-01",
        Verdict.FAIL,
        f"{word} for {lost} is required, but "
        + (f"there is {word} only for {has}" if there else f"there is no {word}"),
        f"compile with {options}, or take {lost} out of require-archs",
        f"require-archs in {policy.source}",
    )


def _driver(policy: Policy, required: Required) -> Iterator[Flaw]:
    least = policy.least_driver
    if least is None:
        return
    where = f"least-driver in {policy.source}"
    floor, word = required.driver_sass, "SASS"
    if floor is None:
        floor, word = required.driver_ptx, "PTX"
    if floor is not None and floor > least:
        yield Flaw(
            "POL-02",
            Verdict.FAIL,
            f"driver {least} is the least to keep, but the {word} needs {floor}",
            f'build with an older toolkit, or write least-driver = "{floor}"',
            where,
        )
    elif floor is None and required.ptx_beyond:
        yield Flaw(
            "POL-02",
            Verdict.UNKNOWN,
            f"driver {least} is the least to keep, but the PTX is newer than every known driver",
            "build with an older toolkit",
            where,
        )

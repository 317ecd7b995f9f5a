"""Images, targets, variants and trials: what can't be read or checked, and which answer counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ltocompat.facts import gpus
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.image import BITCODE, ImageKind
from ltocompat.model.signature import ImageSignature
from ltocompat.model.verdict import Level, Route, Verdict
from ltocompat.model.words import count, truncate_list
from ltocompat.rules import artifact_code
from ltocompat.rules.constraints import FixedVerdict
from ltocompat.rules.rule import Problem, Requirement, Subject, rule

if TYPE_CHECKING:
    from ltocompat.packages.values import Shipped


@rule("IMG-01")
def image_contradicts_itself(subject: Subject) -> Iterator[Requirement]:
    """Nothing is certain about a contradictory or unreadable image."""
    linked = subject.route is Route.LINK and bool(subject.picked)  # so that a linker can be asked
    # Where nothing is picked, a header that lies may be the reason.
    for image in subject.picked or subject.signature.images:
        problem = image.problem or _architecture_of_no_compiler(image)
        if problem is None and subject.picked:
            problem = _architecture_of_older_compilers(image)
        if problem is not None:
            yield Requirement(
                FixedVerdict(Verdict.UNKNOWN, trial_decides=linked), str(image), problem
            )


def _architecture_of_no_compiler(image: ImageSignature) -> str | None:
    arch = image.arch
    if image.kind is not ImageKind.SASS or arch is None or arch.number > gpus.newest_sm():
        return None
    known = gpus.sm(arch.number) is not None
    return None if known else f"it is for sm_{arch.number}, which no compiler supports"


def _architecture_of_older_compilers(image: ImageSignature) -> str | None:
    row = gpus.sm(image.arch.number) if image.kind is ImageKind.SASS and image.arch else None
    last = row.last_toolkit if row else None
    made = [release for maker in image.made_by for release in maker.releases]
    if last is None or not made or min(made) <= last:
        return None
    return f"it was made by CUDA {min(made)}, which compiles nothing for {image.arch}"


@rule("IMG-05")
def code_of_tests(summary: ArtifactSummary) -> Iterator[Problem]:
    """The images of a package's own tests don't affect its verdicts."""
    if groups := summary.test_groups:
        number = sum(group.count for group in groups)
        images = f"{count(number, 'image file')} of its tests"
        verb = "are" if number > 1 else "is"
        own = "" if summary.groups else "; it has no other device code"
        yield Problem(
            Verdict.OK,
            f"{images} {verb} not checked: users of the package don't run tests{own}",
            **artifact_code.counted(groups),
            subject="images of tests",
        )


@rule("IMG-06")
def bitcode_not_judged(shipped: Shipped) -> Iterator[Problem]:
    """LLVM bitcode is compiled into code elsewhere, by unknown compilers."""
    yield from _of_bitcode(shipped.package.files)


@rule("IMG-06")
def bare_bitcode_not_judged(summary: ArtifactSummary) -> Iterator[Problem]:
    """A separate file shows the same facts about itself as a file in a package."""
    if not summary.groups and not summary.skipped_count:
        yield from _of_bitcode([summary.path])


def _of_bitcode(files: Sequence[str]) -> Iterator[Problem]:
    if found := [file for file in files if file.endswith(BITCODE)]:
        yield Problem(
            Verdict.OK,
            f"{truncate_list(found, 1)} {'are' if len(found) > 1 else 'is'} not checked: LLVM "
            "bitcode, which a compiler turns into device code later",
            evidence=found[0],
            subject="LLVM bitcode",
        )


@rule("IMG-07")
def code_of_nvidias_own(summary: ArtifactSummary) -> Iterator[Problem]:
    """NVIDIA's device libraries and code that a driver loads itself don't affect verdicts."""
    kinds = (
        ("NVIDIA's device library", "it is only for device links of other code", "device library"),
        ("a driver's own code", "only the driver loads it", "code of a driver"),
    )
    own = "" if summary.groups else "; there is no other device code"
    found = summary.device_libraries, summary.driver_code
    for groups, (what, use, subject) in zip(found, kinds, strict=True):
        if groups:
            yield Problem(
                Verdict.OK,
                f"{what} is not checked: {use}{own}",
                **artifact_code.counted(groups),
                subject=subject,
            )


@rule("IMG-08")
def ptx_text_in_data(summary: ArtifactSummary) -> Iterator[Problem]:
    """A program may pass PTX in its data to a driver, which the bytes of its file don't show."""
    hosts = [host for host in summary.hosts if host.ptx_texts]
    if hosts:
        texts = truncate_list([str(text) for host in hosts for text in host.ptx_texts], 1)
        yield Problem(
            Verdict.OK,
            f"the data contain {texts}; which GPUs run it is not checked",
            level=Level.NOTE if summary.groups else Level.WARNING,
            example=hosts[0].place,
            subject="PTX text",
        )

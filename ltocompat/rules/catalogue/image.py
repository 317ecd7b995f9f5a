"""Images, targets and trials as such: what can't be read, said or agreed on (IMG, TGT, TRIAL)."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.verdict import Level, Route, Verdict
from ltocompat.rules.catalogue.family import Family
from ltocompat.rules.constraints import Always
from ltocompat.rules.rule import Component, Requirement, Subject

FAMILY = Family("image")


@FAMILY.rule("IMG-01", Level.WARNING)
def image_contradicts_itself(subject: Subject) -> Iterator[Requirement]:
    """Of an image that contradicts itself or can't be read, nothing is certain."""
    # Where nothing is picked, a header that lies may be the reason.
    for image in subject.picked or subject.signature.images:
        if image.problem is not None:
            yield Requirement(
                Component.NONE,
                Always(Verdict.UNKNOWN, trial_decides=_can_be_linked(subject)),
                "IMG-01",
                str(image),
                image.problem,
                "rebuild the file, or copy it again from where it came",
                "the bytes of the image",
            )


def _can_be_linked(subject: Subject) -> bool:
    """Whether a linker can be asked about what is picked."""
    return subject.route is Route.LINK and bool(subject.picked)


# A place that can't be read may hold device code; an answer never shrinks silently
# (judge_artifact).
FAMILY.declare("IMG-02", Level.WARNING)


# Nothing served is never a silent ok (without_kernels).
FAMILY.declare("IMG-03", Level.NOTE)


# A GPU that one of thousands of modules is for is hardly served (without_kernels).
FAMILY.declare("IMG-04", Level.NOTE)


# A target that says too little leaves a half of the way unjudged (judge_artifact).
FAMILY.declare("TGT-01", Level.WARNING)


# No module goes the route that was asked for (judge_artifact).
FAMILY.declare("TGT-02", Level.WARNING)


# What a trial link said where the rules alone could not decide (weigh_trial).
FAMILY.declare("TRIAL", Level.ERROR)


# Rules and a real link differ, and both answers are given (weigh_trial).
FAMILY.declare("TRIAL-DISAGREES", Level.NOTE)

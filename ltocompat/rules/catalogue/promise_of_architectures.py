"""PKG-09: the architectures that a project promises are not all in its package."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.arch import SmArch
from ltocompat.model.image import ImageKind
from ltocompat.model.verdict import Verdict
from ltocompat.packages.values import Shipped
from ltocompat.rules.rule import Problem, Rule

_KINDS = ((ImageKind.SASS, "sass"), (ImageKind.PTX, "ptx"))


def of_package(shipped: Shipped) -> Iterator[Problem]:
    """One for each kind that misses an architecture."""
    promise = shipped.promise
    if promise is None:
        return
    for kind, key in _KINDS:
        promised = promise.sass if kind is ImageKind.SASS else promise.ptx
        there = _there(shipped, kind)
        missing = [arch for arch in promised if arch not in there]
        if not missing:
            continue
        title = str(kind).upper()
        has = ", ".join(map(str, sorted(there))) or "none"
        yield Problem(
            RULE.id,
            Verdict.FAIL,
            f"{title} for {', '.join(map(str, missing))} is promised, but {shipped.package} has "
            f"{title} only for {has}"
            if there
            else f"{title} for "
            f"{', '.join(map(str, missing))} is promised, but {shipped.package} has no {title}",
            "compile for them, or write "
            f"{key} = {_listed([arch for arch in promised if arch in there])}",
            f"{key} in {promise.source}",
        )


def _there(shipped: Shipped, kind: ImageKind) -> set[SmArch]:
    return {
        image.arch
        for signature, _ in shipped.signatures
        for image in signature.images
        if image.kind is kind and image.arch is not None
    }


def _listed(archs: list[SmArch]) -> str:
    return "[" + ", ".join(f'"{arch}"' for arch in archs) + "]"


RULE = Rule(
    id="PKG-09",
    title="Promised architecture missing",
    statement="A project may promise the architectures that its packages have SASS and PTX for; "
    "the two are counted apart, since PTX loads only on drivers that know its version.",
    condition="[tool.ltocompat.promise] names an architecture that no image of that kind in the "
    "package is for.",
    evidence="sass and ptx of the promise; the architectures of the images.",
    verdict="fail",
    messages=("no kernel image is available for execution on the device",),
    remedy="Compile for the architecture, or take it out of the promise.",
    source="the project's own promise",
    of_package=of_package,
)

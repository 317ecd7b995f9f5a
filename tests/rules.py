"""Subjects of rules, made by hand and out of the samples, and what a value makes of them."""

from __future__ import annotations

import functools
from typing import Any

from msgspec.structs import replace
from samples import FOLDER

import ltocompat
from ltocompat.model.arch import ArchForm, Release, SmArch
from ltocompat.model.image import ImageKind, Producer, Role
from ltocompat.model.signature import ImageSignature, ModuleSignature, module_signature
from ltocompat.model.target import DriverVersion, Gpu
from ltocompat.model.verdict import Route, Verdict
from ltocompat.rules.catalogue import found_about
from ltocompat.rules.link_selection import pick_for_linker
from ltocompat.rules.linker_traits import traits_of
from ltocompat.rules.rule import CompatUse, Requirement, Subject
from ltocompat.rules.selection import pick_for_driver

FORMS = {
    ImageKind.SASS: ArchForm.REAL,
    ImageKind.PTX: ArchForm.VIRTUAL,
    ImageKind.LTOIR: ArchForm.LTO,
}


@functools.cache
def gpu(arch: str, *, data_center: bool | None = None) -> Gpu:
    return Gpu(arch, SmArch.parse(arch), data_center)


def driver(text: str) -> DriverVersion:
    return DriverVersion(tuple(map(int, text.split("."))))


def made_by(release: str) -> tuple[Producer, ...]:
    return (Producer(Role.COMPILER, None, release, (Release.parse(release),), "e_version"),)


def image(kind: ImageKind, arch: str, cuda: str | None = None, **more: object) -> ImageSignature:
    makers = made_by(cuda) if cuda else ()
    traits = ImageSignature(kind, SmArch.parse(arch, FORMS[kind]), makers)
    return replace(traits, **more)


def loading(*images: ImageSignature, on: str, registered: bool | None = True) -> Subject:
    """A module of these images that the driver loads."""
    signature = ModuleSignature(images, registered)
    pick = pick_for_driver(signature, SmArch.parse(on).number)
    return Subject(signature, Route.LOAD, gpu(on), pick.images, pick.missed)


def linking(*images: ImageSignature, on: str, linker: str | None = None) -> Subject:
    """A module of these images that nvJitLink links."""
    signature = ModuleSignature(images, registered=False)
    release = None if linker is None else Release.parse(linker)
    pick = pick_for_linker(signature, SmArch.parse(on), release)
    traits = None if release is None else traits_of(release)
    return Subject(signature, Route.LINK, gpu(on), pick.images, pick.missed, traits)


def sample(name: str) -> tuple[ImageSignature, ...]:
    """The images of the first module of a sample."""
    for record in ltocompat.inspect(FOLDER / name):
        if isinstance(record, ltocompat.Module):
            return module_signature(record).images
    raise AssertionError(name)


def ask(rule_id: str, looked_at: object) -> list[Any]:
    """What the functions of a rule find about a thing."""
    found = found_about(type(looked_at).__name__, looked_at)
    return [each for each in found if each.rule == rule_id]


def asked(rule_id: str, subject: Subject) -> list[Requirement]:
    of_gpu = ask(rule_id, subject.gpu) if subject.picked else []
    return [*ask(rule_id, subject), *of_gpu]


def judged(rule_id: str, subject: Subject, value: object = None) -> Verdict | None:
    """The verdict of the rule's one requirement on a value; None where it asks for nothing."""
    found = asked(rule_id, subject)
    assert len(found) <= 1
    return found[0].constraint.judge(value) if found else None


def noted(rule_id: str, subject: Subject, value: object = None) -> bool:
    (found,) = asked(rule_id, subject)
    assert found.constraint.judge(value) is Verdict.OK
    return found.constraint.noted(value)


def compat(
    package: str, kernel: str | None, *, data_center: bool | None = True, system: str = "linux"
) -> CompatUse:
    beneath = None if kernel is None else driver(kernel)
    where = gpu("sm_90", data_center=data_center)
    return CompatUse(Release.parse(package), beneath, where, system)

"""A machine as ``ltocompat/env/v1``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ltocompat.commands.env import Surroundings
from ltocompat.model.records_v1 import env as v1
from ltocompat.model.row import text_or_none
from ltocompat.model.version import rule_url
from ltocompat.report import Failure, Options
from ltocompat.report.formats.jsonstream import (
    encode,
    error_document,
    failure_values,
)
from ltocompat.report.verbs.check_json import target_value
from ltocompat.rules.rule import Problem
from ltocompat.targets.linkers import Linker
from ltocompat.targets.machine.environment import (
    CompatFolder,
    CompatNote,
    Compiler,
    Conda,
    Environment,
    InstalledPackage,
    KernelDriver,
    LibraryPick,
    LocalGpu,
    Sibling,
    Toolkit,
    UserDriver,
)


def document(records: Iterable[Surroundings | Failure], _: Options) -> Iterator[str]:
    """The document: one machine, or an error."""
    failures: list[Failure] = []
    found: Surroundings | None = None
    for record in records:
        if isinstance(record, Failure):
            failures.append(record)
        else:
            found = record
    if found is None:
        yield error_document(failures)
        return
    value = v1.Env(
        environment=_environment(found.environment),
        target=target_value(found.target),
        findings=tuple(_problem(problem) for problem in found.problems),
        errors=failure_values(failures),
        sandbox=found.sandbox,
    )
    yield encode(value) + "\n"


def _environment(found: Environment) -> v1.Environment:
    jetson = found.jetson
    return v1.Environment(
        system=str(found.system),
        kernel_driver=None if found.kernel_driver is None else _kernel_driver(found.kernel_driver),
        user_driver=None if found.user_driver is None else _user_driver(found.user_driver),
        compat_folders=tuple(_compat_folder(folder) for folder in found.compat_folders),
        gpus=tuple(_gpu(gpu) for gpu in found.gpus),
        nvjitlinks=tuple(_nvjitlink(linker) for linker in found.nvjitlinks),
        compilers=tuple(_compiler(compiler) for compiler in found.compilers),
        picks=tuple(_pick(pick) for pick in found.picks),
        toolkits=tuple(_toolkit(toolkit) for toolkit in found.toolkits),
        wheels=tuple(_package(wheel) for wheel in found.wheels),
        conda=None if found.conda is None else _conda(found.conda),
        wsl2=found.wsl2,
        jetson=None if jetson is None else v1.Jetson(jetson.release, jetson.model),
        container=found.container,
        variables=found.variables,
        python=found.python,
        problems=found.problems,
    )


def _kernel_driver(driver: KernelDriver) -> v1.KernelDriver:
    return v1.KernelDriver(str(driver.version), driver.open, driver.source)


def _user_driver(driver: UserDriver) -> v1.UserDriver:
    return v1.UserDriver(
        path=driver.path,
        real=driver.real,
        found_by=driver.found_by,
        version=text_or_none(driver.version),
        cuda=text_or_none(driver.cuda),
        cuda_source=driver.cuda_source,
        compat=driver.compat,
        note=None if driver.note is None else _note(driver.note),
        stub=driver.stub,
        siblings=tuple(_sibling(sibling) for sibling in driver.siblings),
    )


def _note(note: CompatNote) -> v1.CompatNote:
    return v1.CompatNote(note.format, text_or_none(note.cuda), note.drivers, note.devices)


def _sibling(sibling: Sibling) -> v1.Sibling:
    return v1.Sibling(sibling.name, sibling.path, text_or_none(sibling.version))


def _compat_folder(folder: CompatFolder) -> v1.CompatFolder:
    return v1.CompatFolder(_user_driver(folder.driver), folder.listed_by, folder.in_front)


def _gpu(gpu: LocalGpu) -> v1.LocalGpu:
    return v1.LocalGpu(gpu.name, text_or_none(gpu.arch), gpu.source)


def _nvjitlink(linker: Linker) -> v1.NvJitLink:
    return v1.NvJitLink(
        release=str(linker.release),
        version=linker.version,
        path=linker.path,
        found_via=linker.found_via,
        evidence=linker.evidence,
        for_trials=linker.for_trials,
        machine=linker.machine,
    )


def _compiler(compiler: Compiler) -> v1.Compiler:
    return v1.Compiler(
        library=compiler.library,
        path=compiler.path,
        found_via=compiler.found_via,
        version=compiler.version,
        evidence=compiler.evidence,
        builtins=tuple(str(release) for release in compiler.builtins),
    )


def _pick(pick: LibraryPick) -> v1.LibraryPick:
    return v1.LibraryPick(
        library=pick.library,
        way=pick.way,
        asked=pick.asked,
        path=pick.path,
        real=pick.real,
        found_by=pick.found_by,
        version=pick.version,
    )


def _toolkit(toolkit: Toolkit) -> v1.Toolkit:
    return v1.Toolkit(
        root=toolkit.root,
        reached=toolkit.reached,
        version=toolkit.version,
        evidence=toolkit.evidence,
        nvcc=toolkit.nvcc,
        nvlink=toolkit.nvlink,
    )


def _package(package: InstalledPackage) -> v1.InstalledPackage:
    return v1.InstalledPackage(package.name, package.version, package.folder)


def _conda(conda: Conda) -> v1.Conda:
    return v1.Conda(conda.prefix, tuple(_package(package) for package in conda.packages))


def _problem(problem: Problem) -> v1.Problem:
    return v1.Problem(
        rule=problem.rule,
        verdict=str(problem.verdict),
        message=problem.message,
        remedy=problem.remedy,
        evidence=problem.evidence,
        url=rule_url(problem.rule),
    )

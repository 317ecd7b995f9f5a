"""The answer of ``env``: a machine in tables, and as ``ltocompat/env/v1``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ltocompat.report import Failure, Options
from ltocompat.report.document import Block, Column, Items, Table
from ltocompat.report.finding_blocks import FindingTally
from ltocompat.report.grouped_findings import (
    FindingReport,
    GroupedFinding,
    Judgement,
    grouped_findings,
)
from ltocompat.report.matrix_cells import CellNames
from ltocompat.report.text import clip

if TYPE_CHECKING:
    from ltocompat.commands.env import Surroundings
    from ltocompat.targets.machine.environment import (
        Compiler,
        Environment,
        KernelDriver,
        LibraryPick,
        UserDriver,
    )

_FACTS = (Column("what"), Column("found", width=24), Column("said by", width=16))
_LIBRARIES = (
    Column("library"),
    Column("version"),
    Column("picked by", width=12),
    Column("path", width=24, middle=True),
)
# NVIDIA_REQUIRE_CUDA of NVIDIA's images has 4,000 characters, to which all rows would be padded.
_LONGEST_VARIABLE = 120
_NAMES = {"nvJitLink": "nvJitLink", "nvrtc": "NVRTC", "nvvm": "libNVVM"}


def blocks(records: Iterable[Surroundings | Failure], options: Options) -> Iterator[Block]:
    """Facts with their sources, then libraries and who picks them, then what is wrong."""
    for record in records:
        if isinstance(record, Failure):
            continue
        found = record.environment
        yield Table(_FACTS, tuple(_facts(found)))
        libraries = tuple(_libraries(found))
        if libraries:
            yield Table(_LIBRARIES, libraries)
        tally = FindingTally(options)
        yield from tally.blocks(_findings(record), CellNames())
        yield from tally.closing()
        if found.problems:
            yield Items("not found out", tuple((problem,) for problem in found.problems))


def _facts(found: Environment) -> Iterator[tuple[str, str, str]]:
    yield "system", _system(found), "its files"
    if found.jetson is not None:
        yield (
            "board",
            str(found.jetson.model or "Jetson"),
            f"L4T {found.jetson.release or 'unknown'}",
        )
    yield "kernel driver", *_kernel(found.kernel_driver)
    yield "libcuda", *_user(found.user_driver)
    for folder in found.compat_folders:
        if not folder.in_front:
            listed = ", ".join(folder.listed_by) or "nothing leads there"
            yield "cuda-compat", f"not in front: {folder.driver.real}", listed
    for gpu in found.gpus:
        arch = f" ({gpu.arch})" if gpu.arch else ""
        yield "GPU", f"{gpu.name}{arch}", gpu.source
    if not found.gpus:
        yield "GPU", "none", ""
    yield from _installed(found)
    for name, value in found.variables:
        yield "variable", clip(f"{name}={value}", _LONGEST_VARIABLE), "environment"


def _installed(found: Environment) -> Iterator[tuple[str, str, str]]:
    for toolkit in found.toolkits:
        text = f"{toolkit.version or 'version unknown'} in {toolkit.root}"
        yield "toolkit", text, ", ".join(toolkit.reached)
    if found.conda is not None:
        packages = ", ".join(
            f"{package.name} {package.version}" for package in found.conda.packages
        )
        yield "conda", f"{found.conda.prefix}: {packages or 'no CUDA package'}", "conda-meta"
    for wheel in found.wheels:
        yield "package", f"{wheel.name} {wheel.version}", wheel.folder


def _system(found: Environment) -> str:
    more = ["WSL2"] if found.wsl2 and found.system.name != "wsl2" else []
    more += [f"container ({found.container})"] if found.container else []
    return ", ".join([str(found.system), *more])


def _kernel(driver: KernelDriver | None) -> tuple[str, str]:
    if driver is None:
        return "none", ""
    modules = {True: ", open modules", False: ", proprietary modules", None: ""}[driver.open]
    return f"{driver.version}{modules}", driver.source


def _user(driver: UserDriver | None) -> tuple[str, str]:
    if driver is None:
        return "none", ""
    parts = [str(driver.version) if driver.version else "version unknown"]
    if driver.cuda:
        parts.append(f"CUDA {driver.cuda}")
    if driver.stub:
        parts.append("a stub")
    if driver.is_compat:
        parts.append(f"cuda-compat ({'; '.join(driver.compat)})")
    if driver.missing:
        parts.append(f"without {', '.join(driver.missing)}")
    return f"{', '.join(parts)}: {driver.real}", driver.found_by


def _libraries(found: Environment) -> Iterator[tuple[str, str, str, str]]:
    """Every copy, and which ways of loading pick it; a way that finds nothing is no row."""
    for linker in found.nvjitlinks:
        picked = _ways(found.picks, "nvJitLink", linker.path)
        yield "nvJitLink", linker.version, picked, linker.path
    for compiler in found.compilers:
        yield (
            _NAMES[compiler.library],
            _version(compiler),
            _ways(found.picks, compiler.library, compiler.path),
            compiler.path,
        )


def _version(compiler: Compiler) -> str:
    builtins = [str(release) for release in compiler.builtins]
    other = builtins and compiler.release is not None and str(compiler.release) not in builtins
    return (
        f"{compiler.version or '?'}, builtins {', '.join(builtins)}"
        if other
        else compiler.version or "?"
    )


def _ways(picks: tuple[LibraryPick, ...], library: str, path: str) -> str:
    ways = (pick for pick in picks if pick.library == library and path in (pick.path, pick.real))
    return ", ".join(dict.fromkeys(f"{way.way} ({way.found_by})" for way in ways)) or "nothing"


def _findings(record: Surroundings) -> list[GroupedFinding]:
    from ltocompat.rules.engine.problems import machine_result

    result = machine_result("", record.target, record.problems, "")
    return grouped_findings([result])


def _document(records: Iterable[Surroundings | Failure], options: Options) -> Iterator[str]:
    # Imported here: a table needs no JSON.
    from ltocompat.report.verbs.env_json import document

    return document(records, options)


def judgements(records: Iterable[Surroundings | Failure]) -> Iterator[Judgement]:
    """The machine as a deploy target, and what is wrong there."""
    from ltocompat.rules.engine.problems import machine_result

    for record in records:
        if isinstance(record, Failure):
            yield record
        else:
            name, target = record.target.name, record.target
            yield target
            yield machine_result(name, target, record.problems, "the machine was looked at")


REPORT: FindingReport[Surroundings] = FindingReport(blocks, _document, judgements)

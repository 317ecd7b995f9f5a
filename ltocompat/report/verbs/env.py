"""The answer of ``env``: a machine in tables, and as ``ltocompat/env/v1``."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from ltocompat.commands.env import Surroundings
from ltocompat.facts import horizon
from ltocompat.model.environment import (
    Compiler,
    Environment,
    InstalledPackage,
    KernelDriver,
    UserDriver,
)
from ltocompat.model.generic import grouped
from ltocompat.model.projection import project
from ltocompat.model.verdict import LEVELS, Level, Verdict
from ltocompat.model.version import FACTS_VARIABLE
from ltocompat.model.words import count
from ltocompat.report import Failure, FindingReport, Options, answers
from ltocompat.report.cells import CellNames
from ltocompat.report.diagnostics import FindingTally
from ltocompat.report.document import (
    Block,
    Column,
    Items,
    Paragraph,
    Styled,
    Table,
    style_of,
    table_of,
)
from ltocompat.report.grouped_findings import grouped_findings
from ltocompat.report.sorted_records import FindingRecord
from ltocompat.report.text import clip
from ltocompat.rules.rule import Problem

_COLUMNS = (
    Column(""),
    Column("what"),
    Column("found", width=20),
    Column("where", width=24, place=True),
)
# NVIDIA_REQUIRE_CUDA of NVIDIA's images has 4,000 characters, to which all rows would be padded.
_LONGEST_VARIABLE = 120
_NAMES = {"nvJitLink": "nvJitLink", "nvrtc": "NVRTC", "nvvm": "libNVVM", "cudart": "libcudart"}


class _Fact(Struct, frozen=True):
    """A row of the table.

    Attributes:
        what: ``kernel driver``.
        found: its version or name.
        where: the file and who said so; who picks a library.
        keys: paths and names by which a problem means it.
    """

    what: str
    found: str
    where: str = ""
    keys: tuple[str, ...] = ()


def blocks(records: Iterable[Surroundings | Failure], options: Options) -> Iterator[Block]:
    """Yield a line with parts and problems; then facts with their sources; then the problems."""
    from ltocompat.rules.engine.findings import machine_result

    for record in answers(records):
        found = record.environment
        loud = [problem for problem in record.problems if problem.verdict > Verdict.OK]
        if not options.quiet:
            other = "" if found.kernel_driver else "other "
            told = _how_many(record.problems, options, other)
            yield Paragraph((_in_a_line(found), ": ", *told))
            facts = [*_facts(found)]
            end, source = horizon.tables_end(), os.environ.get(FACTS_VARIABLE) or "built in"
            where = f"up to driver R{end.driver} ({end.date}); {source}"
            facts.append(_Fact("facts", f"CUDA {end.cuda}", where))
            if record.sandbox is not None:
                held = ", ".join(record.sandbox) or "none"
                facts.append(_Fact("trial sandbox", held, "confines trial links and loads"))
            yield _table(facts, record.problems)
        tally = FindingTally(options)
        result = machine_result("", record.target, record.problems, "")
        yield from tally.blocks(grouped_findings([result]), CellNames())
        if loud:
            yield from tally.closing()
        if found.problems and not options.quiet:
            yield Items("not found out", tuple((problem,) for problem in found.problems))


def _in_a_line(found: Environment) -> str:
    """``driver 580.95.05 (CUDA 13.0), 2 x NVIDIA H100 (sm_90)``."""
    kernel, user = found.kernel_driver, found.user_driver
    cuda = f" (CUDA {user.cuda})" if kernel and user and user.cuda else ""
    driver = f"driver {kernel.version}{cuda}" if kernel else "no driver"
    return ", ".join([driver, *(text for text, _ in _gpus(found))])


def _how_many(problems: Sequence[Problem], options: Options, other: str) -> Iterator[str]:
    notes = sum(problem.verdict is Verdict.OK for problem in problems)
    number = len(problems) - notes
    worst = max((problem.verdict for problem in problems), default=Verdict.OK)
    yield Styled(count(number, "problem") if number else f"no {other}problems", style_of(worst))
    if notes:
        yield f", {count(notes, 'note')}{'' if options.notes else ' (--notes)'}"


def _table(facts: Sequence[_Fact], problems: Sequence[Problem]) -> Table:
    """The facts, each with the problem that is about it."""
    marks: dict[int, Problem] = {}
    for problem in problems:  # the worst come first
        for row in _rows_of(problem, facts):
            marks.setdefault(row, problem)
    rows = [
        (_mark(marks.get(number)), fact.what, fact.found, fact.where)
        for number, fact in enumerate(facts)
    ]
    return table_of(_COLUMNS, rows, (bool(marks), True, True, True))


def _rows_of(problem: Problem, facts: Sequence[_Fact]) -> set[int]:
    """The rows whose file, or folder around a file, the evidence names."""
    words = [word.partition("=")[0] for word in re.split(r"[;,\s]+", problem.evidence)]
    rows = set()
    for word in words:
        fitting = [
            (len(key), row)
            for row, fact in enumerate(facts)
            for key in fact.keys
            if word == key or word.startswith(f"{key}/")
        ]
        longest = max(fitting, default=(0, 0))[0]
        rows |= {row for length, row in fitting if length == longest}
    return rows


def _mark(problem: Problem | None) -> str:
    if problem is None:
        return ""
    level = LEVELS[problem.verdict]
    word = "note" if level is Level.NOTE else str(problem.verdict)
    return Styled(f"{word} {problem.rule}", style_of(problem.verdict, level))


def _facts(found: Environment) -> Iterator[_Fact]:
    more = ["WSL2"] if found.wsl2 and found.system.name != "wsl2" else []
    more += [f"container ({found.container})"] if found.container else []
    yield _Fact("system", ", ".join([str(found.system), *more]))
    if found.jetson is not None:
        release = f"L4T {found.jetson.release or 'unknown'}"
        yield _Fact("board", str(found.jetson.model or "Jetson"), release)
    kernel = found.kernel_driver
    source = kernel.source if kernel else ""
    yield _Fact("kernel driver", _kernel(kernel), source, (source,))
    yield _user(found.user_driver)
    for folder in found.compat_folders:
        if not folder.in_front:
            path = folder.driver.real
            listed = ", ".join(folder.listed_by) or "in no search path"
            yield _Fact("cuda-compat", "not before the driver", f"{path} ({listed})", (path,))
    for text, source in _gpus(found):
        yield _Fact("GPU", text if found.gpus else "none", source)
    yield from _installed(found)
    yield from _libraries(found)
    for name, value in found.variables:
        yield _Fact("variable", name, clip(value, _LONGEST_VARIABLE), (name,))


def _gpus(found: Environment) -> Iterator[tuple[str, str]]:
    """Each kind of GPU with how many there are, and who said so."""
    alike = Counter((gpu.name, gpu.arch, gpu.source) for gpu in found.gpus)
    for (name, arch, source), number in alike.items():
        times = f"{number} x " if number > 1 else ""
        yield f"{times}{name}{f' ({arch})' if arch else ''}", source
    if not found.gpus:
        yield "no GPU", ""


def _installed(found: Environment) -> Iterator[_Fact]:
    for toolkit in found.toolkits:
        reached = ", ".join(toolkit.reached)
        version = toolkit.version or "version unknown"
        yield _Fact("toolkit", version, f"{toolkit.root} ({reached})", (toolkit.root,))
    if found.conda is not None:
        yield _packages("conda", found.conda.prefix, found.conda.packages)
    folders = grouped((wheel.folder, wheel) for wheel in found.wheels)
    for folder, wheels in folders.items():
        yield _packages("packages", folder, wheels)


def _packages(what: str, folder: str, packages: Sequence[InstalledPackage]) -> _Fact:
    names = ", ".join(f"{package.name} {package.version}" for package in packages)
    where = f"{folder}: {names}" if names else folder
    return _Fact(what, count(len(packages), "CUDA package"), where, (folder,))


def _kernel(driver: KernelDriver | None) -> str:
    if driver is None:
        return "none"
    modules = {True: ", open modules", False: ", proprietary modules", None: ""}[driver.open]
    return f"{driver.version}{modules}"


def _user(driver: UserDriver | None) -> _Fact:
    if driver is None:
        return _Fact("libcuda", "none")
    parts = (
        str(driver.version) if driver.version else "version unknown",
        f"CUDA {driver.cuda}" if driver.cuda else "",
        "a stub" if driver.stub else "",
        f"cuda-compat ({'; '.join(driver.compat)})" if driver.is_compat else "",
        f"without {', '.join(driver.missing)}" if driver.missing else "",
    )
    where = f"{driver.real} ({driver.found_by})"
    return _Fact("libcuda", ", ".join(filter(None, parts)), where, (driver.real, driver.path))


def _libraries(found: Environment) -> Iterator[_Fact]:
    """Every copy, and which ways of loading pick it; a way that finds nothing is not a row."""
    linkers = (("nvJitLink", linker.version, linker.path) for linker in found.nvjitlinks)
    compilers = ((copy.library, _version(copy), copy.path) for copy in found.compilers)
    for library, version, path in (*linkers, *compilers):
        picks = (p for p in found.picks if p.library == library and path in (p.path, p.real))
        ways = ", ".join(dict.fromkeys(f"{pick.way} ({pick.found_by})" for pick in picks))
        where = f"{path} ({f'picked by {ways}' if ways else 'not picked'})"
        yield _Fact(_NAMES[library], version, where, (path,))


def _version(compiler: Compiler) -> str:
    builtins = [str(release) for release in compiler.builtins]
    other = builtins and compiler.release is not None and str(compiler.release) not in builtins
    return (compiler.version or "?") + (f", builtins {', '.join(builtins)}" if other else "")


def _document(records: Iterable[Surroundings | Failure], _: Options) -> Iterator[str]:
    """The document: one machine, or an error."""
    # Imported here: a table needs no JSON.
    from ltocompat.model.records_v1 import env as v1
    from ltocompat.report.formats.jsonstream import Rows, encode, error_document

    rows = Rows(v1.Env, "errors")
    if machines := [*rows.answers(records)]:
        yield encode(project(v1.Env, machines[-1], errors=rows.errors)) + "\n"
    else:
        yield error_document(rows.failures)


def finding_records(records: Iterable[Surroundings | Failure]) -> Iterator[FindingRecord]:
    """Yield the machine as a deploy target, and its problems."""
    from ltocompat.rules.engine.findings import machine_result

    for record in records:
        if isinstance(record, Failure):
            yield record
        else:
            name, target = record.target.name, record.target
            yield target
            yield machine_result(name, target, record.problems, "the machine was checked")


REPORT: FindingReport[Surroundings] = FindingReport(blocks, _document, finding_records)

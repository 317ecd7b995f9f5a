"""A load fails for what is left undefined, exactly where the assembler of the driver refuses it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import toolchain
from generated_ptx import Program, programs
from hypothesis import given, settings
from summaries import summaries

import ltocompat
from ltocompat.commands.read_artifacts import ScanOptions
from ltocompat.model.verdict import Result, Route, Verdict
from ltocompat.rules.engine.collect_requirements import required
from ltocompat.scan.walk import ScanSettings

TARGET = "driver=580.159.04,gpu=h100"
few = settings(max_examples=10, deadline=None)


def loaded(path: Path) -> Result:
    (result,) = ltocompat.check(path, targets=[TARGET], route="load")
    return result


@few
@given(programs)
def test_ptx_is_refused_where_the_assembler_finds_a_function_missing(program: Program) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "code.ptx")
        path.write_text(program.text())
        result = loaded(path)
        rules = {finding.rule for finding in result.findings if finding.verdict is Verdict.FAIL}
        assert rules == ({"PTX-09"} if toolchain.unresolved(path) else set())


@few
@given(programs)
def test_what_no_driver_loads_has_no_driver_in_require(program: Program) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "code.ptx")
        path.write_text(program.text())
        failed = loaded(path).verdict is Verdict.FAIL
        (summary,) = summaries([path], ScanOptions(ScanSettings(), for_require=True))
    loads = [
        route
        for row in required(summary).services
        for route in row.routes
        if route.route is not Route.LINK  # a link may define the rest
    ]
    if failed:
        assert loads
        assert all(route.driver is None for route in loads)


@few
@given(programs)
def test_a_relocatable_cubin_fails_where_a_kernel_calls_what_a_linker_misses(
    program: Program,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "code.ptx")
        path.write_text(program.text())
        cubin = toolchain.relocatable(path)
        result = loaded(cubin)
        refusal = toolchain.linked(cubin)
    missing = {name for name in (refusal.missing if refusal else ()) if name.startswith("f")}
    (finding,) = (each for each in result.findings if each.rule == "SASS-08")
    assert (finding.verdict is Verdict.FAIL) == bool(missing)
    assert all(name in finding.message for name in missing)

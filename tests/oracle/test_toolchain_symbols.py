"""Symbols of generated code against the assembler and the linker that mind them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
import toolchain
from generated_ptx import Program, programs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ltocompat.files.byteview import ByteView
from ltocompat.files.images.cubin import Cubin, kernels_only_return
from ltocompat.model.limits import Budget
from ltocompat.model.symbols import DeviceSymbols, defined_nowhere, defined_twice
from ltocompat.scan.device_symbols import of_cubin, of_ptx

# What each example costs is a handful of processes.
few = settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@contextmanager
def files(*texts: Program) -> Iterator[list[Path]]:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{number}.ptx") for number in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text.text())
        yield paths


def symbols_of_cubin(path: Path) -> DeviceSymbols:
    return of_cubin(Cubin.parse(ByteView.of(path.read_bytes()), Budget()))


@few
@given(programs)
def test_the_assembler_refuses_ptx_for_what_it_leaves_undefined_alone(program: Program) -> None:
    symbols = of_ptx(program.text().encode(), Budget())
    with files(program) as (path,):
        name = toolchain.unresolved(path)
    if name is None:
        assert symbols.undefined_functions == ()
    else:
        assert name in symbols.undefined_functions


# sm_87 begins each kernel with a check of its own.
@pytest.mark.parametrize("arch", [75, 80, 86, 89, 90, 100, 103, 110, 120, 121])
def test_an_empty_body_is_seen_in_what_the_assembler_makes_of_it(arch: int, tmp_path: Path) -> None:
    returns, stores = "{ ret; }", "{ .reg .b64 a; mov.b64 a, 0; st.global.u32 [a], 1; ret; }"
    for number, bodies in enumerate([(returns, returns), (returns, stores), (stores,)]):
        ptx = tmp_path / f"{number}.ptx"
        kernels = [f".visible .entry k{n}(.param .u64 p) {body}" for n, body in enumerate(bodies)]
        ptx.write_text("\n".join([".version 6.4\n.target sm_70\n.address_size 64", *kernels]))
        view = ByteView.of(toolchain.compiled(ptx, arch).read_bytes())
        assert kernels_only_return(view, Budget()) is (stores not in bodies)


@few
@given(programs)
def test_ptx_and_the_cubin_made_of_it_have_the_same_symbols(program: Program) -> None:
    with files(program) as (path,):
        assert symbols_of_cubin(toolchain.relocatable(path)) == of_ptx(path.read_bytes(), Budget())


@few
@given(st.lists(programs, min_size=2, max_size=3))
def test_a_linker_refuses_what_is_defined_twice_or_needed_and_defined_nowhere(
    texts: Sequence[Program],
) -> None:
    with files(*texts) as paths:
        cubins = [toolchain.relocatable(path) for path in paths]
        symbols = [symbols_of_cubin(cubin) for cubin in cubins]
        refusal = toolchain.linked(*cubins)
    twice = set(defined_twice((each, 1) for each in symbols))
    missing = defined_nowhere(symbols)
    surely = {*missing.needed_by_kernels, *missing.undefined_variables}
    if refusal is None:
        assert not twice
        assert not surely
    else:
        assert refusal.twice <= twice  # it stops at the first
        assert bool(refusal.twice) == bool(twice)
        assert refusal.missing <= {*missing.undefined}
        assert twice or surely <= refusal.missing

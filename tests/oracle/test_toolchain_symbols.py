"""Symbols of generated code against the assembler and the linker that mind them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import toolchain
from generated_ptx import Program, programs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ltocompat.files.byteview import ByteView
from ltocompat.files.images.cubin import Cubin
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

"""An option is spelled once: public functions and the command line have those of the structs."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import click
import pytest
from every_case import every
from msgspec import Struct

import ltocompat
from ltocompat.cli import VERBS, run, verb_command
from ltocompat.cli.verb import verb
from ltocompat.commands import options
from ltocompat.commands.options import Argument, Option, fields_of, public
from ltocompat.commands.survey import options as survey_options

STRUCTS = {
    name: value
    for module in (options, survey_options)
    for name, value in vars(module).items()
    if name.endswith("Options") and fields_of(value)
}
IN_PYTHON = {
    "audit": options.AuditOptions,
    "check": options.CheckOptions,
    "diff": options.DiffOptions,
    "extract": options.ExtractOptions,
    "inspect": options.InspectOptions,
    "link": options.LinkOptions,
    "matrix": options.MatrixOptions,
    "repair": options.RepairOptions,
    "require": options.RequireOptions,
    "selftest": options.SelfTestOptions,
    "slim": options.SlimOptions,
    "weigh": options.WeighOptions,
}


@every("name, struct", IN_PYTHON.items())
def test_a_public_function_has_the_options_of_its_struct(name: str, struct: type[Struct]) -> None:
    fields = fields_of(struct)
    for parameter in inspect.signature(getattr(ltocompat, name)).parameters.values():
        if parameter.name == "on_error":
            continue  # of the function itself: a command yields failures
        _, default = fields[parameter.name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            default = parameter.empty
        assert parameter.default == default, parameter.name


def test_the_stub_has_the_functions_of_today() -> None:
    script = Path(__file__).parents[1] / "docs" / "generate_stub.py"
    command = [sys.executable, str(script), "--check"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (process.returncode, process.stdout, process.stderr) == (0, "", "")


def shown_by(command: click.Command) -> set[str]:
    names = {str(param.name) for param in command.params}
    return names.union(*map(shown_by, getattr(command, "commands", {}).values()))


def test_the_command_line_shows_every_option_that_has_a_help() -> None:
    shown = set().union(*(shown_by(verb_command(name)) for name in VERBS))
    assert len(STRUCTS) > 15
    for struct in STRUCTS.values():
        for name, (annotation, _) in fields_of(struct).items():
            if any(isinstance(data, Option) for data in getattr(annotation, "__metadata__", ())):
                assert name in shown, (struct, name)


@public(options.CheckOptions, "paths")
def given(options: options.CheckOptions, *, on_error: object = None) -> object:
    return options, on_error


def test_one_value_is_as_good_as_several() -> None:
    one = options.CheckOptions(paths=("a",), beside=("b.whl",))
    assert given("a", beside="b.whl", on_error=1) == (one, 1)
    assert given(iter(["a", "b"])) == (options.CheckOptions(paths=("a", "b")), None)
    for words in ({"platform": "linux/arm64"}, {"paths": "b"}, {"no": 1}):
        with pytest.raises(TypeError, match=r"^given\(\) "):
            given("a", **words)


class Sample(Struct, frozen=True):
    words: Annotated[tuple[str, ...], Argument("Words.", metavar="WORD...")]
    size: Annotated[int, Option("A number.", metavar="NUMBER", parse=int)] = 3
    kinds: Annotated[tuple[str, ...], Option("Kinds.", choices=("a", "b"))] = ()
    cache: Annotated[bool, Option("Forget all.", flags=("--no-cache",))] = True
    hidden: str = "of Python alone"


@pytest.mark.parametrize(
    ("line", "sample", "fast"),
    [
        ("x y", Sample(("x", "y")), False),
        ("x --size 7 --no-cache --fast", Sample(("x",), 7, cache=False), True),
        ("x --kinds b,a --kinds b", Sample(("x",), kinds=("b", "a")), False),
        ("x --kinds c", None, False),
    ],
)
def test_what_was_typed_fills_the_struct(line: str, sample: Sample | None, fast: bool) -> None:
    seen: list[object] = []

    def handler(
        *, fast: Annotated[bool, Option("Be fast.", after="kinds")] = False, options: Sample
    ) -> int:
        seen.extend([options, fast])
        return 0

    command = verb(handler)
    names = ["words", "size", "kinds", "fast", "cache", "log_level", "help_all"]
    assert [param.name for param in command.params] == names
    if sample is None:
        with pytest.raises(ltocompat.UsageError, match="--kinds 'c' is not known"):
            command(line.split(), standalone_mode=False)
    else:
        command(line.split(), standalone_mode=False)
        assert seen == [sample, fast]


@pytest.mark.parametrize(
    "line",
    [
        "inspect x --jobs 0",
        "inspect x --jobs 10000",
        "inspect x --jobs many",
        "check x --trial-seconds nan",
        "check x --trial-seconds 0",
        "survey x -o y --releases 0",
    ],
)
def test_a_number_that_means_nothing_is_told_with_its_option(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(line.split()) == 2
    *_, flag, value = line.split()
    assert re.search(f"Invalid value for '{flag}': '?{value}'? is not ", capsys.readouterr().err)

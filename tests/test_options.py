"""An option is spelled once: public functions and the command line have those of the structs."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import click
import pytest
from msgspec import NODEFAULT, Struct

import ltocompat
from ltocompat.cli import VERBS, verb_command
from ltocompat.cli.verb import verb
from ltocompat.commands import options
from ltocompat.commands.options import Argument, Option, field_types, options_of
from ltocompat.commands.survey import options as survey_options

STRUCTS = {
    name: value
    for module in (options, survey_options)
    for name, value in vars(module).items()
    if name.endswith("Options") and field_types(value)
}
IN_PYTHON = {
    "audit": options.AuditOptions,
    "check": options.CheckOptions,
    "diff": options.DiffOptions,
    "extract": options.ExtractOptions,
    "inspect": options.InspectOptions,
    "link": options.LinkOptions,
    "matrix": options.MatrixOptions,
    "require": options.RequireOptions,
    "selftest": options.SelfTestOptions,
    "weigh": options.WeighOptions,
}


def defaults_of(struct: type[Struct]) -> dict[str, Any]:
    required = len(struct.__struct_fields__) - len(struct.__struct_defaults__)
    values = [*[NODEFAULT] * required, *struct.__struct_defaults__]
    return dict(zip(struct.__struct_fields__, values, strict=True))


@pytest.mark.parametrize(("name", "struct"), IN_PYTHON.items(), ids=list(IN_PYTHON))
def test_a_public_function_has_the_options_of_its_struct(name: str, struct: type[Struct]) -> None:
    defaults = defaults_of(struct)
    for parameter in inspect.signature(getattr(ltocompat, name)).parameters.values():
        if parameter.name == "on_error":
            continue  # of the function itself: a command yields failures
        default = defaults[parameter.name]
        if parameter.default is parameter.empty:
            # audit and the functions of *paths have none where the struct may have one.
            assert parameter.name in {"paths", "places", "old", "new", "output"}
        elif parameter.name == "baseline":
            assert (parameter.default, default) == (ltocompat.Baseline(), None)
        else:
            assert parameter.default == default, parameter.name


def shown_by(command: click.Command) -> set[str]:
    names = {str(param.name) for param in command.params}
    return names.union(*map(shown_by, getattr(command, "commands", {}).values()))


def test_the_command_line_shows_every_option_that_has_a_help() -> None:
    shown = set().union(*(shown_by(verb_command(name)) for name in VERBS))
    assert len(STRUCTS) > 15
    for struct in STRUCTS.values():
        for name, annotation in field_types(struct).items():
            if any(isinstance(data, Option) for data in getattr(annotation, "__metadata__", ())):
                assert name in shown, (struct, name)


def test_one_value_is_as_good_as_several() -> None:
    one = options_of(options.CheckOptions, {"paths": "a", "beside": "b.whl", "on_error": None})
    assert one == options.CheckOptions(paths=("a",), beside=("b.whl",))
    both = options_of(options.CheckOptions, {"paths": iter(["a", "b"])})
    assert both.paths == ("a", "b")


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

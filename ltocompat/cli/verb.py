"""A verb's parser, made of its options: fields and parameters that carry an ``Option``."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Annotated, Any, get_args, get_origin

import typer
from msgspec import NODEFAULT, Struct

from ltocompat.cli.options import choose
from ltocompat.commands.options import Argument, Option, field_types
from ltocompat.report.exit_status import log

_LEFT_OUT = inspect.Parameter.empty


class _Shown(Struct, frozen=True):
    """An option that the command line shows.

    Attributes:
        name: of the field or the parameter.
        option: how it is shown.
        several: it has any number of values.
        default: its value where nothing is typed; ``_LEFT_OUT`` where something has to be.
    """

    name: str
    option: Option
    several: bool
    default: Any

    @property
    def flags(self) -> tuple[str, ...]:
        return self.option.flags or (f"--{self.name.replace('_', '-')}",)

    @property
    def turns_off(self) -> bool:
        """Return whether the flag takes something away, as ``--no-cache`` does."""
        return self.default is True and self.flags[0].startswith("--no-")

    def word_parameters(self) -> Iterator[inspect.Parameter]:
        """Flags for the words behind the option's own, which no help shows."""
        for word in self.option.words:
            flag = typer.Option(f"{self.flags[0]}-{word}", hidden=True)
            yield inspect.Parameter(
                f"{self.name}_{word}",
                inspect.Parameter.KEYWORD_ONLY,
                default=False,
                annotation=Annotated[bool, flag],
            )

    def old_parameters(self) -> Iterator[tuple[str, inspect.Parameter]]:
        """Its spellings before, which mean the same and which no help shows."""
        for flag in self.option.old:
            hidden = self.parameter(typer.Option(flag, hidden=True))
            yield flag, hidden.replace(name=flag.lstrip("-").replace("-", "_"))

    def parameter(self, shown: Any = None) -> inspect.Parameter:  # noqa: ANN401 - of typer
        """The annotation of which typer makes a parser."""
        typed: Any = bool if isinstance(self.default, bool) else str
        default = False if self.turns_off else self.default
        if self.several:
            typed = list[str]
        if not (isinstance(default, bool) or default is _LEFT_OUT):
            typed, default = typed | None, None  # such as a number: its help says it
        return inspect.Parameter(
            self.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=default,
            annotation=Annotated[typed, shown or self._typer_option()],
        )

    def _typer_option(self) -> Any:  # noqa: ANN401 - typer says no type of its options
        option = self.option
        shown: dict[str, Any] = {
            "help": option.help,
            "metavar": option.metavar or "|".join(option.choices) or None,
            "envvar": option.env,
            "show_envvar": False,
            "autocompletion": option.complete,
        }
        if option.choices:
            shown["autocompletion"] = lambda: list(option.choices)
        if isinstance(option, Argument):
            return typer.Argument(**shown)
        return typer.Option(*self.flags, **shown)

    def value(self, typed: Any) -> Any:  # noqa: ANN401 - of any option
        """The value of what was typed.

        Raises:
            UsageError: it is none of the option's words, or has no meaning.
        """
        if typed is None:
            return self.default
        value = not typed if self.turns_off else typed
        if self.several:
            value = tuple(typed)
        if self.option.choices:
            value = self._chosen(value)
        return self.option.parse(value) if self.option.parse else value

    def _chosen(self, value: Any) -> Any:  # noqa: ANN401 - a text, or several
        flag, choices = self.flags[0], self.option.choices
        if not self.several:
            return choose(flag, value, choices)
        words = (word.strip() for text in value for word in text.split(","))
        return tuple(dict.fromkeys(choose(flag, word, choices) for word in words))


def verb(handler: Callable[..., int]) -> Callable[..., int]:
    """Make the function that typer reads: with all options of a handler as parameters.

    Args:
        handler: takes, by keyword, structs of options and options of its own.
    """
    parameters = inspect.signature(handler, eval_str=True).parameters.values()
    groups = {each.name: list(_options_of(each)) for each in parameters}
    shown = _in_order([option for options in groups.values() for option in options])
    old = {flag: (option, hidden) for option in shown for flag, hidden in option.old_parameters()}

    @functools.wraps(handler)
    def run(**typed: Any) -> int:  # noqa: ANN401 - typer gives values of any type
        for flag, (now, hidden) in old.items():
            if given := typed[hidden.name]:
                log(f"{flag} is {now.flags[0]} now; a later release drops it", sys.stderr)
                typed[now.name] = given
        values = {option.name: option.value(typed[option.name]) for option in shown}
        for option in shown:
            for word in option.option.words:
                if typed[f"{option.name}_{word}"]:
                    values[option.name] = word
        handed = {}
        for each in parameters:
            fields = {option.name: values[option.name] for option in groups[each.name]}
            handed[each.name] = each.annotation(**fields) if _is_struct(each) else fields[each.name]
        return handler(**handed)

    hidden_too = [word for option in shown for word in option.word_parameters()]
    hidden_too += [hidden for _, hidden in old.values()]
    signature = inspect.Signature([*(option.parameter() for option in shown), *hidden_too])
    run.__signature__ = signature  # type: ignore[attr-defined] # typer looks here
    return run


def _is_struct(parameter: inspect.Parameter) -> bool:
    return isinstance(parameter.annotation, type) and issubclass(parameter.annotation, Struct)


def _options_of(parameter: inspect.Parameter) -> Iterator[_Shown]:
    """The options that a handler's parameter stands for: one, or those of a struct."""
    if not _is_struct(parameter):
        yield from _shown(parameter.name, parameter.annotation, parameter.default)
        return
    struct = parameter.annotation
    required = len(struct.__struct_fields__) - len(struct.__struct_defaults__)
    defaults = (*[NODEFAULT] * required, *struct.__struct_defaults__)
    for (name, annotation), default in zip(field_types(struct).items(), defaults, strict=True):
        yield from _shown(name, annotation, _LEFT_OUT if default is NODEFAULT else default)


def _shown(name: str, annotation: object, default: object) -> Iterator[_Shown]:
    for option in get_args(annotation):
        if isinstance(option, Option):
            yield _Shown(name, option, get_origin(get_args(annotation)[0]) is tuple, default)


def _in_order(options: list[_Shown]) -> list[_Shown]:
    """Options in the order of the help."""
    ordered = [shown for shown in options if shown.option.after is None]
    for shown in options:
        if shown.option.after is not None:
            names = [other.name for other in ordered]
            ordered.insert(names.index(shown.option.after) + 1, shown)
    return ordered

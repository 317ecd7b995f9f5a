"""A verb's parser, made of its options: fields and parameters that carry an ``Option``."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, get_args, get_origin

import click
from msgspec import Struct
from msgspec.structs import replace

from ltocompat.cli.group import at_once
from ltocompat.cli.options import choose
from ltocompat.commands.options import DEPLOY_TARGET, Argument, Option, fields_of
from ltocompat.model.described import described
from ltocompat.model.location import refuse_address
from ltocompat.model.target import THIS_MACHINE

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# The sections of the help, each with the names of its options; all others are in the first.
_SECTIONS = {
    "Input": "dataset survey beside python platform kind arch made_by root jobs match sources "
    "append shard platforms",
    "Target": "targets route together policy require_archs max_bytes max_member_bytes "
    "keep_gpus keep_archs",
    "Trials": "trial_link trial_load trial_seconds install_linkers require_sandbox cache linkers",
    "Output": "form output why notes quiet verbose changes svg by images weigh kernels hashes "
    "paste_for save full ci page log_level",
    "Exit code": "strict fail_on allow_empty forbid baseline write_baseline",
    "Help": "help_all help _click_default_help",
}
# Names of the options that ``--help`` leaves to ``--help-all``.
_RARE = (
    "trial_seconds require_sandbox cache jobs notes verbose allow_empty "
    "route changes to_zstd build add_only shard scheduler dashboard append retry_failed hashes "
    "max_member_bytes limit_bytes every_python platforms log_level"
)
_ALL = "help_all"


class _Shown(Struct, frozen=True):
    """An option that the command line shows.

    Attributes:
        name: of the field or the parameter.
        option: how it is shown.
        several: it has any number of values.
        default: its value where nothing is typed; ``Parameter.empty`` where something has to be.
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
        """Return whether the flag is negative, such as ``--no-cache``."""
        return self.default is True and self.flags[0].startswith("--no-")

    def parameters(self) -> Iterator[click.Parameter]:
        """Yield the parser of the option, then the hidden parsers of its words."""
        option = self.option
        shown: dict[str, Any] = {
            "metavar": option.metavar or "|".join(option.choices) or None,
            "required": self.default is inspect.Parameter.empty,
            "shell_complete": self._completions,
        }
        if isinstance(option, Argument):
            yield _Argument(self.name, option.help, nargs=-1 if self.several else 1, **shown)
            return
        shown |= {"help": option.help, "multiple": self.several}
        if option.env:
            shown["envvar"] = f"LTOCOMPAT_{self.flags[0].lstrip('-').replace('-', '_').upper()}"
        if isinstance(self.default, bool):
            on = self.default and not self.turns_off
            shown |= {"is_flag": True, "default": on, "show_default": on}
        if DEPLOY_TARGET in self.flags:  # by itself it is this machine
            shown |= {"is_flag": False, "flag_value": THIS_MACHINE}
        if option.within is not None:
            shown["type"] = _Number(*option.within)
        yield click.Option([self.name, *self.flags], **shown)
        for word in option.words:
            decls = [f"{self.name}_{word}", f"{self.flags[0]}-{word}"]
            yield click.Option(decls, hidden=True, is_flag=True)

    def _completions(self, _: object, __: object, incomplete: str) -> list[CompletionItem]:
        """The words that the shell offers; without any, files."""
        from click.shell_completion import CompletionItem

        words = self.option.complete() if self.option.complete else self.option.choices
        if not words:
            return [CompletionItem(incomplete, type="file")]
        return [CompletionItem(word) for word in words if word.startswith(incomplete)]

    def value(self, typed: Any) -> Any:  # noqa: ANN401 - of any option
        """Return the value of a typed text.

        Raises:
            UsageError: it is not one of the option's words, or is invalid.
        """
        if typed is None or typed == ():
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


class _Number(click.IntRange):
    name = "whole number"


class _Argument(click.Argument):
    """An argument with a line in the help, which click knows since 8.5 alone."""

    def __init__(self, name: str, line: str, **facts: Any) -> None:  # noqa: ANN401 - click's
        super().__init__([name], **facts)
        self.line = f"{line}  [required]" if self.required else line


class Verb(click.Command):
    """A verb's parser.

    Attributes:
        handed: makes the arguments of its function from the typed values.
    """

    handed: Callable[[dict[str, Any]], dict[str, Any]]

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write ``Usage: ltocompat check [OPTIONS] [PATH...]``."""
        words = ["[OPTIONS]", *(str(argument.metavar) for argument in self._arguments)]
        formatter.write_usage(ctx.command_path, " ".join(words))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write arguments, then each section of options; rare options only with ``--help-all``."""
        rows = {"Arguments": [(str(each.metavar), each.line) for each in self._arguments]}
        rows |= {name: [] for name in ("Options", *_SECTIONS)}
        shown = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        for option in shown:
            line = option.get_help_record(ctx)
            if line and (_ALL in ctx.meta or option.name not in _RARE.split()):
                rows[_section_of(option)].append((click.style(line[0], fg="cyan"), line[1]))
        for name, section in rows.items():
            if section:
                with formatter.section(click.style(name, bold=True)):
                    formatter.write_dl(section, col_max=26)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words after the verb."""
        if any(param.name == _TEXT for param in self.params):
            args = self._with_text_last(args)
        left = super().parse_args(ctx, args)
        for param in self.params:
            if param.name not in _TAKE_ADDRESSES:
                _refuse_addresses(param, ctx.params.get(str(param.name)))
        if not ctx.resilient_parsing:
            ctx.params = self.handed(ctx.params)
        return left

    def _with_text_last(self, args: Sequence[str]) -> list[str]:
        """Put a text behind ``--`` where a word of it, as ``-dlto`` is, looks like an option."""
        if "--" in args or not any(map(_looks_like_flag, args)):
            return [*args]
        valued = {
            flag for each in self.params if not getattr(each, "is_flag", 0) for flag in each.opts
        }
        options, text, words = list[str](), list[str](), iter(args)
        for word in words:
            if _looks_like_flag(word) or not word.startswith("-") or word == "-":
                text.append(word)
            else:
                options += (word, *([next(words, "")] if word in valued else []))
        return [*options, "--", *text]

    @property
    def _arguments(self) -> list[_Argument]:
        return [param for param in self.params if isinstance(param, _Argument)]


def _section_of(param: click.Parameter) -> str:
    """The section of the help that an option stands in."""
    named = (name for name, names in _SECTIONS.items() if param.name in names.split())
    return next(named, "Options")


def _print_all(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click calls it so
    if wanted:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


def _log_from(_: click.Context, __: click.Parameter, level: str | None) -> None:
    if level:
        logging.basicConfig(level=level.upper(), format="%(levelname)s %(name)s: %(message)s")


def _looks_like_flag(word: str) -> bool:
    return word[:1] == "-" and word[1:2] not in ("", "-") and len(word) > len("-h")


_TEXT = "words"
# Arguments that may be other things than paths: indexes, a cluster, surveys, words of messages.
_TAKE_ADDRESSES = {"sources", "scheduler", "folder", "shards", "page", _TEXT}


def _refuse_addresses(param: click.Parameter, value: object) -> None:
    is_argument = isinstance(param, click.Argument)
    option = str(param.metavar).strip("[].") if is_argument else max(param.opts, key=len)
    for text in value if isinstance(value, list | tuple) else [value]:
        if isinstance(text, str):
            refuse_address(text, option)


def verb(handler: Callable[..., int]) -> Verb:
    """Make a verb's parser, with all options of a handler, whose docstring is the help.

    Args:
        handler: takes structs of options and its own options as keyword arguments.
    """
    parameters = inspect.signature(handler, eval_str=True).parameters.values()
    groups = {each.name: list(_options_of(each)) for each in parameters}
    shown = _in_order([option for options in groups.values() for option in options])

    def handed(typed: dict[str, Any]) -> dict[str, Any]:
        values, arguments = {}, {}
        for option in shown:
            values[option.name] = option.value(typed[option.name])
            for word in option.option.words:
                if typed[f"{option.name}_{word}"]:
                    values[option.name] = word
        for each in parameters:
            fields = {option.name: values[option.name] for option in groups[each.name]}
            whole = each.annotation(**fields) if _is_struct(each) else fields[each.name]
            arguments[each.name] = whole
        return arguments

    made = [parameter for option in shown for parameter in option.parameters()]
    levels = click.Choice(["debug", "info", "warning"])
    made += (
        at_once(
            "--log-level",
            "Write a log of each file and trial to standard error.",
            _log_from,
            type=levels,
        ),
        at_once("--help-all", "Show every option and exit.", _print_all, is_flag=True),
    )
    name = handler.__name__.strip("_")
    made_of = Verb(name, callback=handler, params=made, help=inspect.getdoc(handler))
    made_of.handed = handed
    return made_of


def _is_struct(parameter: inspect.Parameter) -> bool:
    return isinstance(parameter.annotation, type) and issubclass(parameter.annotation, Struct)


def _options_of(parameter: inspect.Parameter) -> Iterator[_Shown]:
    """The options that a handler's parameter stands for: one, or those of a struct."""
    if not _is_struct(parameter):
        yield from _shown(parameter.name, parameter.annotation, parameter.default)
        return
    struct = parameter.annotation
    _, helps = described(struct)
    for name, (annotation, default) in fields_of(struct).items():
        yield from _shown(name, annotation, default, helps.get(name, ""))


def _shown(name: str, annotation: object, default: object, said: str = "") -> Iterator[_Shown]:
    """An option, whose help may be what is said of the field."""
    kind, *notes = get_args(annotation) or [None]
    for option in notes:
        if isinstance(option, Option):
            told = replace(option, help=option.help or said)
            yield _Shown(name, told, get_origin(kind) is tuple, default)


def _in_order(options: list[_Shown]) -> list[_Shown]:
    """Options in the order of the help."""
    ordered = [shown for shown in options if shown.option.after is None]
    for shown in options:
        if shown.option.after is not None:
            names = [other.name for other in ordered]
            ordered.insert(names.index(shown.option.after) + 1, shown)
    return ordered

"""A list of verbs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ltocompat.report.exit_status import USAGE


def at_once(flags: str, line: str, callback: Callable[..., None], **facts: Any) -> click.Option:  # noqa: ANN401 - click's
    """Return an option that no handler gets; ``flags`` have slashes between them."""
    return click.Option(
        flags.split("/"), help=line, callback=callback, is_eager=True, expose_value=False, **facts
    )


class Group(click.Group):
    """Verbs in the order in which they are named.

    Without words after it, a group shows its help. ``ltocompat`` alone then exits with 2, so that
    a script with an empty variable doesn't pass.
    """

    def list_commands(self, _: click.Context) -> list[str]:
        """Return the names of the verbs."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words after the group's name."""
        if not (args or ctx.resilient_parsing):
            click.echo(ctx.get_help(), err=ctx.parent is None)
            ctx.exit(USAGE if ctx.parent is None else 0)
        # A list of verbs has no rare options, so that all help is the help.
        return super().parse_args(ctx, ["--help"] if args[:1] == ["--help-all"] else args)

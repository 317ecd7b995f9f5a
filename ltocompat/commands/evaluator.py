"""Check one source after the other for the same targets."""

from __future__ import annotations

from msgspec.structs import replace

from ltocompat.commands.check import Targets, resolve_targets, run
from ltocompat.commands.options import CheckOptions, answers, as_tuple
from ltocompat.model.errors import UsageError
from ltocompat.model.limits import DEFAULT_LIMITS, Limits
from ltocompat.model.verdict import Result, Route
from ltocompat.scan.sources import Source


class Evaluator:
    """A ``check`` of many sources that reads the targets just once.

    It keeps no file open. A verdict on a fragment of a few kilobytes takes about a millisecond.

    Args:
        targets: one or several targets: ``Target`` objects, or texts that ``--deploy-target``
            accepts. Default: this machine, as it is now.
        route: the route to check for modules with two routes: ``load`` or ``link``. None: both
            are checked.
        floors: also check whether the metadata of packages allow versions that are too old for the
            code.
        limits: upper limits on sizes, counts and time for reading one source.

    Raises:
        UsageError: a target is invalid.
        Missing: no target is named, and this machine has neither driver nor GPU.
    """

    def __init__(
        self,
        targets: Targets = (),
        *,
        route: Route | str | None = None,
        floors: bool = False,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        resolved = resolve_targets(as_tuple(targets))
        self._options = CheckOptions(targets=resolved, route=route, floors=floors, limits=limits)

    def check(self, *sources: Source, together: bool = False) -> list[Result]:
        """Check each source separately; with ``together``, check one link of all their contents.

        Raises:
            UnreadableInput: a source can't be opened.
            UsageError: no source is given, or a given path or location does not exist.
        """
        if not sources:
            raise UsageError("there is nothing to check; give bytes, an open file or a path")
        options = replace(self._options, paths=sources, together=together)
        records = answers(run(options), None)
        return [record for record in records if isinstance(record, Result)]

"""What a host file's linker and loader need, folded over the members of an archive."""

from __future__ import annotations

import re

from ltocompat.model.arch import Release
from ltocompat.model.image import CudaLibrary, Host
from ltocompat.report.document import Code, Items
from ltocompat.report.text import Few, count

_MOST_NAMES = 20
_SUFFIXED = re.compile(r"(__nvJitLink\w*?)_(\d{1,4})_(\d{1,4})")
_SHOWN = 3


class HostNeeds:
    """Collects ``Host`` records of one artifact; names are kept up to a bound."""

    def __init__(self) -> None:
        self.formats: Few[str] = Few(4)
        # nvlink's output defines the first and refers to the second, which nvcc's objects define.
        self._registrations: Few[str] = Few(_MOST_NAMES)
        self._wrappers: Few[str] = Few(_MOST_NAMES)
        self._imports: Few[str] = Few(1_000)
        self._libraries: Few[CudaLibrary] = Few(_MOST_NAMES)

    def add(self, host: Host) -> None:
        """Fold one host file."""
        kind = "" if host.type == "unknown" else f" {host.type}"
        self.formats.add(f"{host.format}{kind}, {host.machine}")
        for name in host.undefined_registrations:
            wrapper = name.startswith("__fatbinwrap")
            (self._wrappers if wrapper else self._registrations).add(name)
        for name in host.nvjitlink_imports:
            self._imports.add(name)
        for library in host.libraries:
            self._libraries.add(library)

    def items(self) -> Items | None:
        """The lines to print, None when nothing is needed."""
        lines = [*self._undefined_lines(), *self._import_lines(), *self._library_lines()]
        return Items("host needs", tuple(lines)) if lines else None

    def _undefined_lines(self) -> list[tuple[str, ...]]:
        lines: list[tuple[str, ...]] = []
        for what, names in (
            ("a device link", self._registrations),
            ("the objects that were device-linked", self._wrappers),
        ):
            if names:
                at_least = "at least " if names.more else ""
                total = count(len(names), "undefined symbol")
                lines.append((f"{what}: {at_least}{total}, ", *_some(names)))
        return lines

    def _import_lines(self) -> list[tuple[str, ...]]:
        if not self._imports:
            return []
        matches = [match for match in map(_SUFFIXED.fullmatch, self._imports) if match]
        if not matches:
            return [("nvJitLink, no version in its symbols: ", *_some(self._imports))]
        newest = max(matches, key=lambda match: (int(match[2]), int(match[3])))
        release = Release(int(newest[2]), int(newest[3]))
        others = len({match[1] for match in matches} - {newest[1]})
        tail = (f" and {count(others, 'other symbol')}",) if others else ()
        return [(f"nvJitLink {release}: imports ", Code(newest[0]), *tail)]

    def _library_lines(self) -> list[tuple[str, ...]]:
        lines: list[tuple[str, ...]] = []
        for library in self._libraries:
            version = (" ", library.version) if library.version else ()
            name = Code(library.file or library.name)
            lines.append((name, *version, f", {library.how} (", library.evidence, ")"))
        if self._libraries.more:
            lines.append(("and more libraries; --format json lists all",))
        return lines


def _some(names: Few[str]) -> tuple[str, ...]:
    shown = list(names)[:_SHOWN]
    parts: list[str] = []
    for name in shown:
        parts += [", ", Code(name)] if parts else [Code(name)]
    rest = len(names) - len(shown)
    if names.more:
        parts.append(" and more")
    elif rest:
        parts.append(f" and {rest:,} more")
    return tuple(parts)

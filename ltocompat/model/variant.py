"""Variants: files of one package of which its loader opens one."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ltocompat.model.place import Place


class Variant(Struct, frozen=True):
    """The files of one variant.

    Attributes:
        name: its folder or its file in the package; of several files the first, and how many more.
        version: what tells it from the others: ``11.8``, ``13``; its name where nothing does.
        files: its files, each as the members that lead to it.
        folders: its folders, each as the members that lead to it, and a slash behind the last.
        pattern: names of its files and those of the others, as a policy takes them.
        whole: it has what each other variant has, so that it can be the one that is opened.
    """

    name: str
    version: str
    files: frozenset[tuple[str, ...]] = frozenset()
    folders: tuple[tuple[str, ...], ...] = ()
    pattern: tuple[str, ...] = ()
    whole: bool = True

    def has(self, place: Place) -> bool:
        """Whether a place lies in it."""
        members = place.members
        if any(members[:end] in self.files for end in range(1, len(members) + 1)):
            return True
        return any(
            members[: len(folder) - 1] == folder[:-1]
            and len(members) >= len(folder)
            and members[len(folder) - 1].startswith(folder[-1])
            for folder in self.folders
        )


def variant_of(place: Place, variants: Sequence[Variant]) -> Variant | None:
    """The variant that a place lies in."""
    return next((variant for variant in variants if variant.has(place)), None)

"""The program that speaks in a pasted text, its system, and the libraries that the text shows."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping

from msgspec import Struct, convert

from ltocompat.rules.evidence import patterns
from ltocompat.rules.message_values import filled
from ltocompat.rules.prose import catalogue_file

_NEAR = 4000  # characters


class Speaker(Struct, frozen=True, forbid_unknown_fields=True):
    """A client of CUDA, or a system that it runs on.

    Attributes:
        name: as people call it.
        find: a pattern of its texts.
        says: sentences of fixes there, by the names of their values.
        source: who documents them.
    """

    name: str
    find: str
    says: Mapping[str, str]
    source: str


@functools.cache
def speakers(table: str) -> Mapping[str, tuple[Speaker, ...]]:
    """The rows of ``clients`` (``client``, ``system``) or ``apart``, in the order that counts."""
    return convert(tomllib.loads(catalogue_file(f"{table}.toml")), dict[str, tuple[Speaker, ...]])


_compiled = functools.cache(functools.partial(re.compile, flags=re.ASCII))


@functools.lru_cache(maxsize=2)
def _of_text(flat: str) -> tuple[Speaker, list[tuple[str, str]]]:
    """The system of a text, and the libraries that it lists: the folder and the name of each."""
    system = next(row for row in speakers("clients")["system"] if _compiled(row.find).search(flat))
    return system, _compiled(patterns()["listed"]).findall(flat)


def said(whole: str, flat: str, place: int, values: Mapping[str, str]) -> dict[str, str]:
    """Return the sentences of the client nearest to a place of a text, and of its system.

    Of clients that are as near within 200 characters, the first of the table: it may bring the
    others along.
    """
    hits = [
        (abs(hit.start() - place) // 200, client.says)
        for client in speakers("clients")["client"]
        for hit in _compiled(client.find).finditer(flat, place - _NEAR, place + _NEAR)
    ]
    says = {**min(hits, key=lambda hit: hit[0], default=(0, {}))[1], **_of_text(whole)[0].says}
    major = values.get("driver_major") or values.get("made_major", "")
    return {
        name: sentence
        for name, text in says.items()
        if "-" not in name and (sentence := filled(says.get(f"{name}-{major}", text), values))
    }


def shown(flat: str, values: Mapping[str, str]) -> dict[str, str]:
    """Return what a text shows of a library: where it is (``there``), or another of its releases.

    Packages of one library for several CUDA majors are ``twice`` there, of which one is ``kept``.
    """
    file = values.get("file", "")
    stem, numbered, _ = file.partition(".so.")
    package = re.search(r"nvidia-([a-z-]+)-cu\d", values.get("file_package", ""))
    part = package[1] if package else values.get("library", stem.removeprefix("lib")).lower()
    packages = {hit[2]: hit for hit in re.finditer(patterns()["wheel"] % re.escape(part), flat)}
    found = {}
    if len(packages) > 1:
        kept = packages.get(values.get("torch_major", "")) or packages[max(packages)]
        found = {"twice": " ".join(hit[1] for hit in packages.values()), "kept": kept[1]}
    listed = _of_text(flat)[1] if numbered else []
    here = {name: folder for folder, name in listed if name.startswith(f"{stem}.so.")}
    if numbered and package:
        here |= {f"{stem}.so.{hit[3]}": values["package_folder"] for hit in packages.values()}
    for name, folder in here.items():
        if f"{name}.".startswith(f"{file}."):
            return found | {"there": folder}
    return found | ({"other_file": min(here)} if here else {})

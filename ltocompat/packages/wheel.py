"""Wheels: a zip with NAME-VERSION.dist-info/METADATA, whose file name says where it may go."""

from __future__ import annotations

import os
import re

from ltocompat.files.byteview import ByteView
from ltocompat.model.limits import Budget
from ltocompat.packages.members import member_of, zip_names
from ltocompat.packages.metadata import MOST_BYTES, python_and_platforms, read_metadata, read_tags
from ltocompat.packages.values import Kind, Package, installed_path, normalized

_METADATA = re.compile(r"([^/]+)\.dist-info/METADATA")
# Behind name and version there may be a build tag, which begins with a digit (PEP 427).
_FILE_NAME = re.compile(r"[^-]+-[^-]+(?:-\d[^-]*)?-([^-]+-[^-]+-[^-]+)\.whl", re.IGNORECASE)


def read(view: ByteView, path: str, budget: Budget) -> Package | None:
    """The wheel; None where it is none."""
    names = zip_names(view, budget)
    if names is None:
        return None
    folders = [match[1] for match in map(_METADATA.fullmatch, names) if match]
    if not folders and not path.lower().endswith(".whl"):
        return None
    problems = []
    if len(folders) != 1:
        problems.append(f"the wheel has {len(folders)} files *.dist-info/METADATA instead of one")
    stem = folders[0] if folders else ""
    core_metadata = read_metadata(_bytes(view, path, f"{stem}.dist-info/METADATA", budget))
    named = _FILE_NAME.fullmatch(os.path.basename(path))
    # Installers go by the file name; one that was renamed still has its tags inside.
    tags = (
        (named[1],) if named else read_tags(_bytes(view, path, f"{stem}.dist-info/WHEEL", budget))
    )
    python, platforms = python_and_platforms(tags)
    return Package(
        kind=Kind.WHEEL,
        path=path,
        name=core_metadata.name or normalized(stem.partition("-")[0]),
        version=core_metadata.version or stem.partition("-")[2],
        requires=core_metadata.requires,
        extras=core_metadata.extras,
        platforms=platforms,
        python=python,
        files=tuple(installed_path(name) for name in names if not name.endswith("/")),
        problems=(*problems, *core_metadata.problems),
    )


def _bytes(view: ByteView, path: str, name: str, budget: Budget) -> bytes:
    found = member_of(view, path, name, budget)
    return b"" if found is None else found.peek(0, MOST_BYTES)

"""Conda packages: info/index.json of a ``.tar.bz2``, or of the inner archive of a ``.conda``.

Those of a prefix are listed by its folder conda-meta.

Source: conda documentation, "Package specification" and "Package match specifications".
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain

from ltocompat.files.byteview import ByteView
from ltocompat.files.first_bytes import BZIP2_MAGIC
from ltocompat.files.regular import read_regular
from ltocompat.model.errors import LimitExceeded
from ltocompat.model.limits import MIB, Budget, Limits
from ltocompat.model.words import items_of, json_object
from ltocompat.packages.declared import of_conda
from ltocompat.packages.members import member_of, members_of, zip_names
from ltocompat.packages.values import Dependency, Kind, Package, normalized, within_limits
from ltocompat.targets.versions.requirement import ENDLESS

_INDEX = "info/index.json"
# The list of a package's files, with the SHA-256 of each.
PATHS = "info/paths.json"
_INFO = re.compile(r"info-[^/]*\.tar\.(?:zst|bz2)")
_MOST_INDEX = MIB
_MOST_RECORD = 64 * MIB  # of what one package of a prefix has; that of python has 2 MB
_SPEED = 16 * MIB  # bytes of JSON a second, at worst
_CLAUSE = re.compile(r"(==|!=|>=|<=|~=|=|>|<)?\s*([0-9][\w.+!]*?)(\.?\*)?")


def read(view: ByteView, path: str, budget: Budget) -> Package | None:
    """The conda package; None if the file is not one."""
    info = _info(view, path, budget)
    if info is None:
        return None
    found = members_of(info, path, (_INDEX, PATHS), budget)
    index = found.get(_INDEX)
    if index is None:
        return None
    value = json_object(index.peek(0, _MOST_INDEX))
    most = budget.limits.dependencies
    problems = [] if value else [f"{_INDEX} is not an object of JSON"]
    keys = ("depends", "constrains")
    lines = (_dependencies(key, value.get(key, []), problems, budget) for key in keys)
    every = chain.from_iterable(lines)
    requires = tuple(within_limits(every, f"the dependencies of {_INDEX} are", problems))
    if not isinstance(value.get("name"), str):
        problems.append(f"{_INDEX} has no name")
    subdir, depends = value.get("subdir"), items_of(value.get("depends"), str)
    return Package(
        kind=Kind.CONDA,
        path=path,
        name=normalized(str(value.get("name", ""))),
        version=str(value.get("version", "")),
        requires=requires,
        requires_dist=tuple(" ".join(line.split()) for line in depends[:most]),
        platforms=(subdir,) if isinstance(subdir, str) else (),
        files=tuple(_files(found.get(PATHS), problems, budget)),
        declared=tuple(filter(None, map(of_conda, requires))),
        problems=tuple(problems),
    )


@functools.lru_cache(maxsize=4)  # asked for each file of a prefix
def installed_files(meta: str, _changed: int, limits: Limits) -> dict[str, Package]:
    """Return a map from paths in a prefix to the packages that installed them, from conda-meta.

    Each package there has a file NAME-VERSION-BUILD.json with the members ``name``, ``version`` and
    ``files`` (conda documentation, "conda-meta"). Unreadable files are left out.
    """
    found: dict[str, Package] = {}
    names = sorted(name for name in os.listdir(meta) if name.endswith(".json"))
    for path in Budget(limits).timed([os.path.join(meta, name) for name in names], slow=True):
        with suppress(OSError, ValueError):
            value = json_object(read_regular(path, _MOST_RECORD))
            if isinstance(value.get("files"), list):
                name, version = normalized(str(value.get("name"))), str(value.get("version"))
                package = Package(kind=Kind.CONDA, path=path, name=name, version=version)
                found |= {file: package for file in value["files"] if isinstance(file, str)}
    return found


def _info(view: ByteView, path: str, budget: Budget) -> ByteView | None:
    """The archive with the folder info."""
    names = zip_names(view, budget)
    if names is None:
        # Packages of the first format are always called so; other archives need not be searched.
        old = path.lower().endswith(".tar.bz2") and view.peek(0, len(BZIP2_MAGIC)) == BZIP2_MAGIC
        return view if old else None
    name = next((text for text in names if _INFO.fullmatch(text)), None)
    return None if name is None else member_of(view, path, name, budget)


def _files(paths: ByteView | None, problems: list[str], budget: Budget) -> Iterator[str]:
    if paths is None:
        return
    try:
        budget.check_tables(paths.size)
        budget.check_call(paths.size, _SPEED)
    except LimitExceeded as error:
        problems.append(f"{PATHS} is not read: {error}")
        return
    for row in items_of(json_object(paths.all()).get("paths"), dict):
        if isinstance(row.get("_path"), str):
            yield row["_path"]


def _dependencies(
    key: str, lines: object, problems: list[str], budget: Budget
) -> Iterable[Dependency]:
    if not isinstance(lines, list):
        problems.append(f"{key} in {_INDEX} is not a list")
        return
    limits = budget.limits
    for line in budget.timed(lines[: limits.dependencies], slow=True):
        readable = isinstance(line, str) and len(line) <= limits.line_bytes
        text = " ".join(line.split()) if readable else ""
        # name, versions, build: the last two may be missing.
        name, _, rest = re.sub(r"([<>=!~,|])\s+", r"\1", text).partition(" ")
        match = re.fullmatch(r"(?:[\w.-]+::)?([\w.-]+?)((?:[<>=!~].*)?)", name)
        written = f"{match[2]}{rest.split(' ')[0]}" if match else ""
        few = len(re.findall(r"[,|]", written)) < limits.comparisons
        versions = alternatives(written) if few else None
        if match is None or versions is None:
            problems.append(f"{key}: {str(line)[:120]!r} can't be read")
            continue
        shown = f"{key}: {text[:120]}"
        yield Dependency(normalized(match[1]), versions, shown, only_limits=key == "constrains")


def alternatives(text: str) -> tuple[str, ...] | None:
    """Return alternative specifiers (PEP 440); None if the text can't be read.

    Any version: ``("",)``.

    Args:
        text: the version in conda's notation: ``>=12.4,<13``, ``12.9.*``, ``=12.9``, ``12|13.*``.
            A comma means and, a bar means or. A bare version is exact; a single ``=`` or an
            asterisk means a prefix.
    """
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    found = []
    if ENDLESS.search(text):
        return None
    for part in text.split("|"):
        clauses = [_clause(comparison.strip()) for comparison in part.split(",")]
        if None in clauses:
            return None
        joined = ",".join(clause for clause in clauses if clause)
        try:
            SpecifierSet(joined)
        except InvalidSpecifier:
            return None
        found.append(joined)
    return tuple(found)


def _clause(text: str) -> str | None:
    """One comparison; empty for any version, None if it can't be read."""
    if text in ("", "*"):
        return ""
    match = _CLAUSE.fullmatch(text)
    if match is None:
        return None
    operator, version, star = match.groups()
    if operator in (None, "=", "=="):
        # ==12.4.* is what both write; a bare 12.4 is exact.
        return f"=={version}.*" if star or operator == "=" else f"=={version}"
    # Behind other operators an asterisk means nothing: >=12.4.* is >=12.4.
    return f"{operator}{version}.*" if operator == "!=" and star else f"{operator}{version}"

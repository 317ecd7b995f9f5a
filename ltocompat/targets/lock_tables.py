"""pylock.toml (PEP 751), uv.lock, poetry.lock, conda-lock.yml, pixi.lock, environment.yml -> pins.

The extra ``yaml`` brings the reader of the last three. pylock.toml is not read by packaging.pylock:
it refuses a lock with one field that is wrong or missing, where its pins can be read, and selects
files by the tags of one interpreter, where a target has a system and perhaps a version of Python.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote

from msgspec import Struct, field
from msgspec.structs import replace

from ltocompat.model.errors import Missing, UsageError
from ltocompat.model.generic import T, grouped
from ltocompat.model.limits import Budget
from ltocompat.targets.pins import Pin
from ltocompat.targets.requirements_txt import pins_of_lines
from ltocompat.targets.systems import MarkerEnvironment
from ltocompat.targets.text_file import read_text

Table = dict[str, Any]


def read_pylock(lock: Table, environment: MarkerEnvironment, budget: Budget) -> Iterator[Pin]:
    """Yield packages of a pylock.toml whose markers hold with no extra or any single extra.

    Raises:
        UsageError: it doesn't have the structure of one.
    """
    groups = _texts(lock.get("default-groups"))
    for extras in ((), *((extra,) for extra in _texts(lock.get("extras")))):
        seen = replace(environment, extras=frozenset(extras), groups=frozenset(groups))
        packages = budget.timed(_tables(lock.get("packages")), slow=True)
        yield from (_pin(each) for each in packages if seen.holds(_text(each.get("marker"))))


def read_uv_lock(lock: Table, environment: MarkerEnvironment, budget: Budget) -> Iterator[Pin]:
    """Yield packages of a uv.lock that the project needs with no extra or any single extra.

    Development groups are left out, since they aren't deployed.

    Raises:
        UsageError: it doesn't have the structure of one.
    """
    return _Graph(lock, budget).pins(environment)


def read_poetry_lock(lock: Table, environment: MarkerEnvironment, budget: Budget) -> Iterator[Pin]:
    """Yield packages of a poetry.lock whose markers hold, without development groups.

    Locks before 2.1 have no markers, so each package counts.

    Raises:
        UsageError: it doesn't have the structure of one.
    """
    for package in budget.timed(_tables(lock.get("package")), slow=True):
        groups = package.get("groups", [package.get("category") or "main"])
        markers = package.get("markers")
        # One text for all groups, or a table with a text for each.
        marker = markers.get("main") if isinstance(markers, dict) else markers
        if "main" in _texts(groups) and environment.holds(_text(marker)):
            yield _pin(package)


class _Visit(Struct, frozen=True):
    """A package as something depends on it, perhaps for one of its extras."""

    index: int
    extra: str


class _Graph:
    """The packages of a uv.lock; its markers stand on the ways between them."""

    def __init__(self, lock: Table, budget: Budget) -> None:
        self._budget = budget
        self._packages = _tables(lock.get("package"))
        names = (_text(package.get("name")) for package in self._packages)
        self._by_name = grouped((name, index) for index, name in enumerate(names))
        manifest = _table(lock.get("manifest"))
        members = set(_texts(manifest.get("members")))
        self._required = _tables(manifest.get("requirements"))  # of a script
        self._roots = [package for package in self._packages if _is_root(package, members)]

    def pins(self, environment: MarkerEnvironment) -> Iterator[Pin]:
        """Yield the pins that hold with no extra of the project, or any single extra."""
        yield from self._reached(self._edges(self._required, environment), environment)
        for root in self._roots:
            name = _text(root.get("name"))
            for extra in ("", *_table(root.get("optional-dependencies"))):
                # uv writes an extra of a project so in the markers of conflicting extras.
                encoded = f"extra-{len(name)}-{name}-{extra}" if extra else ""
                seen = environment.with_extra(encoded)
                yield from self._reached(self._edges(_dependencies(root, extra), seen), seen)

    def _reached(self, first: Iterable[_Visit], environment: MarkerEnvironment) -> Iterator[Pin]:
        waiting = deque(dict.fromkeys(first))
        seen = set(waiting)
        while waiting:
            visit = waiting.popleft()
            package = self._packages[visit.index]
            yield _pin(package)
            edges = self._edges(_dependencies(package, visit.extra), environment)
            new = [edge for edge in dict.fromkeys(edges) if edge not in seen]
            seen.update(new)
            waiting += new

    def _edges(self, dependencies: list[Table], environment: MarkerEnvironment) -> Iterator[_Visit]:
        for dependency in self._budget.timed(dependencies, slow=True):
            if not environment.holds(_text(dependency.get("marker"))):
                continue
            version = dependency.get("version")
            named = self._by_name.get(_text(dependency.get("name")), ())
            for index in self._budget.timed(named, slow=True):
                package = self._packages[index]
                forks = _texts(package.get("resolution-markers"))
                here = not forks or any(environment.holds(marker) for marker in forks)
                if version == package.get("version") if version is not None else here:
                    for extra in ("", *_texts(dependency.get("extra"))):
                        yield _Visit(index, extra)


def _is_root(package: Table, members: set[str]) -> bool:
    if members:
        return package.get("name") in members
    source = _table(package.get("source"))
    return "." in (source.get("virtual"), source.get("editable"))


def _dependencies(package: Table, extra: str) -> list[Table]:
    plain = _tables(package.get("dependencies"))
    optional = _table(package.get("optional-dependencies")).get(extra) if extra else None
    return plain + _tables(optional)


def _pin(package: Table) -> Pin:
    from packaging.utils import canonicalize_name

    name = canonicalize_name(_text(package.get("name")))
    return _exactly(name, _text(package.get("version")))


def _exactly(name: str, version: str) -> Pin:
    return Pin(name.lower(), f"=={version}" if version else "")


def _text(value: object) -> str:
    return _as(value, str, "a string")


def _texts(value: object) -> list[str]:
    return [_text(item) for item in _list(value)]


def _table(value: object) -> Table:
    return _as(value, dict, "a table")


def _tables(value: object) -> list[Table]:
    return [_table(item) for item in _list(value, "a list of tables")]


def _list(value: object, wanted: str = "a list") -> list[Any]:
    return _as(value, list, wanted)


def _as(value: object, kind: type[T], wanted: str) -> T:
    """A value of a type; an empty one for none, and for the empty text, as YAML has all scalars."""
    if isinstance(value, kind):
        return value
    if not value and isinstance(value, str | None):
        return kind()
    # The file may lead anywhere: what stands in it is not quoted.
    raise UsageError(
        f"a value has the type {type(value).__name__}, not {wanted}; create the lock again"
    )


_SUBDIRS = {
    ("linux", "x86_64"): "linux-64",
    ("linux", "aarch64"): "linux-aarch64",
    ("windows", "x86_64"): "win-64",
    ("windows", "aarch64"): "win-arm64",
}


def read_conda_lock(path: str, environment: MarkerEnvironment, budget: Budget) -> Iterator[Pin]:
    """Yield packages of a conda-lock.yml, a pixi.lock or an environment.yml for a system.

    For a pixi.lock, this is the environment ``default``, or any other if it has none.

    Args:
        path: the file.
        environment: the environment of the target; WSL2 is Linux for conda.
        budget: bounds for reading it.

    Raises:
        UsageError: it can't be read, or doesn't have the structure of one.
        Missing: no YAML reader is installed.
    """
    lock = _table(load_yaml(path, read_text(path, budget), budget))
    system = environment.system
    subdir = _SUBDIRS["linux" if system.name == "wsl2" else system.name, system.machine]
    if "dependencies" in lock:
        return _of_environment(lock, environment)
    return _of_pixi(lock, subdir) if "environments" in lock else _of_conda_lock(lock, subdir)


def is_conda_environment(path: str, budget: Budget) -> bool:
    """Return whether a file is an environment.yml, with any name."""
    return _ENVIRONMENT.search(read_text(path, budget)) is not None


def load_yaml(path: str, text: str, budget: Budget) -> object:
    """Return the first document of a YAML file, whose scalars are all texts.

    Raises:
        UsageError: it is not YAML.
        Missing: no YAML reader is installed.
    """
    try:
        import yaml
    except ModuleNotFoundError:
        raise Missing(
            f"{path} is YAML, and no YAML reader is installed; run pip install 'ltocompat[yaml]'"
        ) from None
    try:
        events = yaml.parse(text, getattr(yaml, "CBaseLoader", yaml.BaseLoader))
        return _Building(path).document(budget.timed(events))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(getattr(error, "problem", None) or "nested too deeply").split())
        raise UsageError(f"{path} is not a YAML file: {reason[:200]}; correct it") from error


# The deepest nesting of lists and tables; lock files have five levels, and each costs time.
_DEEPEST = 100


class _Building(Struct):
    """Lists, tables and texts from the events of a reader of YAML.

    Not by its own loaders: these go down by recursion, which deep nesting ends in a crash, and what
    they make of merged keys and of numbers of base 60 takes time without end. Here all scalars are
    texts, and ``<<`` is a key like others.
    """

    _path: str
    _anchors: dict[str, object] = field(default_factory=dict)
    _open: list[tuple[object, list[object]]] = field(default_factory=list)  # a start, its parts

    def document(self, events: Iterable[Any]) -> object:
        """The first document; None if there is none."""
        for event in events:
            kind = type(event).__name__
            if kind in ("SequenceStartEvent", "MappingStartEvent"):
                self._begin(event)
            elif kind in ("SequenceEndEvent", "MappingEndEvent"):
                start, parts = self._open.pop()
                value = self._table(parts) if kind == "MappingEndEvent" else parts
                if self._put(start, value):
                    return value
            elif kind == "ScalarEvent":
                if self._put(event, event.value):
                    return str(event.value)
            elif kind == "AliasEvent":
                self._put(None, self._anchors.get(event.anchor, ""))
        return None

    def _begin(self, start: object) -> None:
        if len(self._open) >= _DEEPEST:
            raise ValueError("nested too deeply")
        # An alias of it inside of itself gets an empty text, and not a loop.
        self._open.append((start, []))

    def _put(self, event: Any, value: object) -> bool:  # noqa: ANN401 - of a reader without types
        """Keep a value where it belongs; return whether it is the whole document."""
        if event is not None and event.anchor is not None:
            self._anchors[event.anchor] = value
        if not self._open:
            return True
        self._open[-1][1].append(value)
        return False

    def _table(self, parts: list[object]) -> Table:
        keys = parts[::2]
        if not all(isinstance(key, str) for key in keys):
            raise UsageError(f"{self._path} has a key that is not a string; create the lock again")
        return {str(key): value for key, value in zip(keys, parts[1::2], strict=True)}


def _of_conda_lock(lock: Table, subdir: str) -> Iterator[Pin]:
    for package in map(_table, _list(lock.get("package"))):
        if package.get("platform") == subdir:
            yield _exactly(_scalar(package.get("name")), _scalar(package.get("version")))


# conda's MatchSpec: channel::name version build, with blanks or = between them.
_MATCH_SPEC = re.compile(r"(?:[\w./:-]+::)?([\w.-]+)\s*((?:[=<>!~]{1,3}|[0-9]).*)?")
_ENVIRONMENT = re.compile(r"^dependencies:\s*$\s*^ *- ", re.MULTILINE)
# The conda-forge package without files that pins the release of all CUDA packages.
CONDA_TOOLKIT = "cuda-version"


def _of_environment(lock: Table, environment: MarkerEnvironment) -> Iterator[Pin]:
    """An environment.yml, which says what is asked for and not what conda chose."""
    asked: dict[str, str] = {}
    for dependency in _list(lock.get("dependencies")):
        if isinstance(dependency, dict):
            lines = [line for line in _texts(dependency.get("pip")) if not line.startswith("-")]
            yield from pins_of_lines(lines, environment)
        elif (match := _MATCH_SPEC.fullmatch(_text(dependency).strip())) is not None:
            asked[match[1].lower()] = _specifiers(match[2] or "")
    toolkit = asked.pop(CONDA_TOOLKIT, "")
    for name, specifiers in asked.items():
        pin = Pin(name, specifiers)
        both = ",".join(filter(None, (specifiers, toolkit)))
        yield replace(pin, specifiers=both) if pin.part else pin
    if toolkit:
        yield Pin("cuda-toolkit", toolkit)


def _specifiers(version: str) -> str:
    """Versions of conda as pip writes them: ``=12.4`` and ``12.4.*`` are ``==12.4.*``."""
    version, _, _ = version.strip().partition(" ")
    exact = re.fullmatch(r"(={0,2})([0-9][\w.]*)(\.\*|\*)?(=[\w*]+)?", version)
    if exact is None:
        return version
    fuzzy = exact[1] == "=" and not exact[4]
    return f"=={exact[2].rstrip('.')}{'.*' if exact[3] or fuzzy else ''}"


def _of_pixi(lock: Table, subdir: str) -> Iterator[Pin]:
    names = {subdir}
    for platform in _list(lock.get("platforms")):  # since version 7, with names of one's own
        if isinstance(platform, dict) and platform.get("subdir") == subdir:
            names.add(_scalar(platform.get("name")))
    environments = _table(lock.get("environments"))
    wanted = [environments["default"]] if "default" in environments else environments.values()
    for environment in map(_table, wanted):
        packages = _table(environment.get("packages"))
        for name in sorted(names & packages.keys()):
            for package in map(_table, _list(packages[name])):
                yield from _of_address(package)


def _of_address(package: Table) -> Iterator[Pin]:
    """Read the file's name: ``libnvjitlink-12.9.86-h5888daf_0.conda``, or that of a wheel."""
    if "conda" in package:
        name, _, rest = _file(package["conda"]).rpartition("-")[0].rpartition("-")
        yield _exactly(name, rest)
    elif "pypi" in package:
        name, version, *_ = (*_file(package["pypi"]).split("-"), "", "")
        yield _exactly(name.replace("_", "-"), version)


def _file(address: object) -> str:
    return unquote(_scalar(address).partition("#")[0].rpartition("/")[2])


def _scalar(value: object) -> str:
    return str(value) if isinstance(value, int | float) else _text(value)

"""A file that describes machines or an image -> deploy targets, by its content and not its name."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.facts import drivers
from ltocompat.model.errors import LimitExceeded, UsageError
from ltocompat.model.grouping import grouped
from ltocompat.model.limits import Budget
from ltocompat.model.target import DriverVersion, Quantifier, Target, VersionSet
from ltocompat.model.watchdog import watched
from ltocompat.targets.building import ValueOrigin, build
from ltocompat.targets.inline import KEYS, with_keys
from ltocompat.targets.inventory import (
    collect_env,
    dockerfile,
    kubernetes,
    nvidia_smi,
    slurm,
)
from ltocompat.targets.inventory.node import Node
from ltocompat.targets.lock_tables import load_yaml
from ltocompat.targets.paste import plain_lines
from ltocompat.targets.pins import libraries
from ltocompat.targets.text_file import read_text
from ltocompat.targets.versions.drivers import later

FILE_KEYS = ("nodes", "smi", "slurm", "image")
"""Keys whose value is such a file; that of ``image`` may be the name of one."""
_READ_BY = {
    "smi": "what nvidia-smi (also with -q, -x, -L, --query-gpu) or torch.utils.collect_env prints",
    "nodes": "what kubectl get nodes -o json (or yaml) or scontrol show node prints",
    "slurm": "what scontrol show node prints",
    "image": "a Dockerfile or an image of nvidia/cuda with its tag",
}
READ = f"{_READ_BY['smi']}, {_READ_BY['nodes'].removeprefix('what ')}, a Dockerfile or a lock file"
_NODES = re.compile(
    r"\"kind\" ?: ?\"Node(?:List)?\"|^[ -]*+kind: \"?Node(?:List)?\"?\s*$", re.MULTILINE
)


class _Form(Struct, frozen=True):
    """A form of text that tells of machines.

    Attributes:
        keys: those that ask for it.
        fits: whether lines are of it.
        read: the machines in them.
    """

    keys: tuple[str, ...]
    fits: Callable[[Sequence[str]], bool]
    read: Callable[[Sequence[str]], Iterable[Node]]


_FORMS = (
    _Form(("smi",), nvidia_smi.is_report, nvidia_smi.read_report),
    _Form(("smi",), nvidia_smi.is_table, nvidia_smi.read_table),
    _Form(("smi",), nvidia_smi.is_csv, nvidia_smi.read_csv),
    _Form(("smi",), collect_env.is_collected, collect_env.read_collected),
    _Form(("slurm", "nodes"), slurm.is_nodes, slurm.read_nodes),
)


def described_targets(
    path: str, keys: Mapping[str, str], origin: ValueOrigin, asked: str = ""
) -> tuple[Target, ...] | None:
    """The targets that a file describes, equal machines as one; None where it is no such file.

    Args:
        path: the file.
        keys: what the user says beside it, which beats the file.
        origin: where that was written.
        asked: the key of the file: one of ``FILE_KEYS``; empty where its content decides.

    Raises:
        UsageError: it can't be read, or does not tell all that it should.
        Missing: it is YAML, and no reader of that is installed.
    """
    try:
        with watched(origin.budget):
            nodes = _nodes(path, asked, origin.budget)
        if nodes is None:
            return None
        within = ValueOrigin(os.path.basename(path), origin.folder, origin.budget)
        return _targets(nodes, keys, within)
    except LimitExceeded as error:
        raise UsageError(f"{path}: {error}") from error
    except UsageError as error:
        raise error if path in str(error) else UsageError(f"{path}: {error}") from error


def image_target(name: str, keys: Mapping[str, str], source: str) -> Target:
    """The target of an image of nvidia/cuda by its name.

    Raises:
        UsageError: its name says nothing of CUDA.
    """
    (target,) = _targets([dockerfile.read_image(name)], keys, ValueOrigin(source, ""))
    return target


def _nodes(path: str, asked: str, budget: Budget) -> list[Node] | None:
    text = read_text(path, budget)
    budget.check_tables(len(text))
    if asked in ("", "nodes") and (document := _document(path, text, budget)) is not None:
        return list(kubernetes.read_nodes(document))
    lines = text.splitlines()
    if asked in ("", "image") and dockerfile.is_dockerfile(lines):
        return list(dockerfile.read_dockerfile(lines, os.path.dirname(path), budget))
    lines = list(budget.timed(plain_lines(text)))
    found = [
        list(form.read(lines)) for form in _FORMS if asked in ("", *form.keys) and form.fits(lines)
    ]
    if found:
        _agree(found)
        return found[0]
    if not asked:
        return None
    raise UsageError(f"{path} is no file for {asked}=, which is {_READ_BY[asked]}")


def _document(path: str, text: str, budget: Budget) -> kubernetes.Table | None:
    """The document of Kubernetes' nodes in a text; None where it is none."""
    if _NODES.search(text) is None:
        return None
    start = min(
        (place for mark in ("{", "apiVersion:") if (place := text.find(mark)) >= 0), default=0
    )
    if text[start : start + 1] == "{":
        try:
            document = json.loads(text[start:])
        except (ValueError, RecursionError) as error:
            raise UsageError(
                f"{path} is not whole JSON ({str(error)[:80]}); save it again"
            ) from error
    else:
        document = load_yaml(path, text[start:], budget)
    return document if kubernetes.is_nodes(document) else None


def _agree(found: Sequence[Sequence[Node]]) -> None:
    """See that several outputs in one file are of one machine.

    Raises:
        UsageError: they name different drivers.
    """
    named = dict.fromkeys(
        node.keys["driver"] for nodes in found for node in nodes if "driver" in node.keys
    )
    if len(found) > 1 and len(named) > 1:
        raise UsageError(f"has outputs that name drivers {' and '.join(named)}; keep one of them")


def _targets(
    nodes: Sequence[Node], keys: Mapping[str, str], origin: ValueOrigin
) -> tuple[Target, ...]:
    if not nodes:
        raise UsageError("no machine in it has a GPU of NVIDIA")
    classes = grouped((_described(node, keys), node) for node in nodes)
    found = (_target(dict(described), keys, alike, origin) for described, alike in classes.items())
    if name := keys.get("name"):
        behind = len(classes) > 1
        found = (replace(t, name=f"{name}: {t.name}" if behind else name) for t in found)
    return tuple(found)


def _described(node: Node, keys: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The keys of a machine's target, and its pins."""
    described = {**node.keys}
    if "gpu" not in keys and (gpu := _gpu(node)):
        described["gpu"] = gpu
    if {"driver", "container"} & keys.keys():
        described = {
            key: value for key, value in described.items() if key not in ("driver", "container")
        }
    described |= keys
    return tuple((key, described[key]) for key in KEYS if key in described)


def _gpu(node: Node) -> str:
    try:
        return node.gpu
    except UsageError as error:
        raise UsageError(f"node {node.name}: {error}" if node.name else str(error)) from error


def _target(
    described: dict[str, str], keys: Mapping[str, str], nodes: Sequence[Node], origin: ValueOrigin
) -> Target:
    pinned = libraries(
        dict.fromkeys(pin for node in nodes for pin in node.pins), origin.source, origin.budget
    )
    described.pop("name", None)
    own = with_keys(described) or origin.source
    target = build(own, described or {"os": "linux"}, origin, pinned)
    sources = {key: "given" if key in keys else source for key, source in target.sources}
    names = tuple(filter(None, (node.name for node in nodes)))
    target = replace(target, sources=tuple(sources.items()), nodes=names)
    return target if target.driver else replace(target, driver=_any_driver(origin.source))


def _any_driver(source: str) -> VersionSet[DriverVersion]:
    """One of all drivers, not known which, of machines whose driver nothing tells."""
    branches = drivers.driver_branches()
    firsts = (drivers.first_production(branch) for branch in branches)
    values = (drivers.before_tables(), *firsts, later(branches[-1]))
    told = f"{source} tells none"
    return VersionSet(f"(give driver=: {told})", values, Quantifier.ONE_OF, f"any: {told}")

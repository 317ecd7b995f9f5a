"""A file that describes machines or an image -> deploy targets, by its content and not its name."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from ltocompat.facts import drivers
from ltocompat.model.errors import UsageError
from ltocompat.model.generic import grouped
from ltocompat.model.limits import Budget
from ltocompat.model.paste import plain_lines
from ltocompat.model.target import ANY_DRIVER, DriverVersion, Quantifier, Target, VersionSet
from ltocompat.model.watchdog import watched
from ltocompat.targets.building import ValueOrigin, build
from ltocompat.targets.inline import KEYS, with_keys
from ltocompat.targets.inventory import collect_env, dockerfile, kubernetes, nvidia_smi, slurm
from ltocompat.targets.inventory.node import Node
from ltocompat.targets.lock_tables import load_yaml
from ltocompat.targets.pins import libraries
from ltocompat.targets.text_file import naming, read_text
from ltocompat.targets.versions.drivers import later

_READ_BY = {
    "smi": "output of nvidia-smi (also with -q, -x, -L, --query-gpu, --version) or "
    "torch.utils.collect_env, /proc/driver/nvidia/version, modinfo, or packages (dpkg -l, rpm -qa)",
    "nodes": "output of kubectl get nodes -o json (or yaml, --show-labels) or scontrol show node",
    "slurm": "output of scontrol show node",
    "image": "a Dockerfile or an image of nvidia/cuda with its tag",
}
READ = f"{_READ_BY['smi']}, {_READ_BY['nodes'][len('output of ') :]}, a Dockerfile or a lock file"
_NODES = re.compile(
    r"\"kind\" ?: ?\"Node(?:List)?\"|^[ -]*+kind: \"?Node(?:List)?\"?\s*$", re.MULTILINE
)


# Forms of text about machines: the keys, the mark and the reader of each.
_FORMS = (
    (("smi",), nvidia_smi.is_report, nvidia_smi.read_report),
    (("smi",), nvidia_smi.is_table, nvidia_smi.read_table),
    (("smi",), nvidia_smi.is_csv, nvidia_smi.read_csv),
    (("smi",), collect_env.is_collected, collect_env.read_collected),
    (("nodes",), kubernetes.shows_labels, kubernetes.read_labels),
    (("slurm", "nodes"), slurm.is_nodes, slurm.read_nodes),
)


def described_targets(
    path: str, keys: Mapping[str, str], origin: ValueOrigin, asked: str = ""
) -> tuple[Target, ...] | None:
    """Return the targets in a file, equal machines as one; None if it describes no machines.

    Args:
        path: the file.
        keys: the user's other keys, which override the file.
        origin: the origin of these keys.
        asked: the key of the file: one of ``FILE_KEYS``; empty if its content decides.

    Raises:
        UsageError: it can't be read, or is not complete.
        Missing: it is YAML, and no reader of that is installed.
    """
    with naming(path):
        with watched(origin.budget):
            nodes = _nodes(path, asked, origin.budget)
        if nodes is None:
            return None
        within = ValueOrigin(os.path.basename(path), origin.folder, origin.budget)
        return _targets(nodes, keys, within)


def image_target(name: str, keys: Mapping[str, str], source: str) -> Target:
    """Return the target of an nvidia/cuda image by its name.

    Raises:
        UsageError: its name has no CUDA release.
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
    forms = (read for keys, fits, read in _FORMS if asked in ("", *keys) and fits(lines))
    found = [list(read(lines)) for read in forms]
    if not found and asked in ("", "smi") and collect_env.naming_driver(lines):
        return list(collect_env.read_collected(lines))
    if found:
        _agree(found)
        return found[0]
    if not asked:
        return None
    raise UsageError(f"{asked}= can't read {path}; it accepts {_READ_BY[asked]}")


def _document(path: str, text: str, budget: Budget) -> kubernetes.Table | None:
    """The document of Kubernetes' nodes in a text; None if it is none."""
    if _NODES.search(text) is None:
        return None
    start = re.search(r"\{|apiVersion:|\Z", text)  # a prompt may stand above
    text = text[start.start() :] if start else text
    try:
        document = json.loads(text) if text[:1] == "{" else load_yaml(path, text, budget)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not valid JSON ({str(error)[:80]}); save it again") from error
    return document if kubernetes.is_nodes(document) else None


def _agree(found: Sequence[Sequence[Node]]) -> None:
    """See that several outputs in one file are of one machine.

    Raises:
        UsageError: they name different drivers.
    """
    every = (node.keys.get("driver") for nodes in found for node in nodes)
    named = dict.fromkeys(filter(None, every))
    if len(found) > 1 and len(named) > 1:
        raise UsageError(f"has outputs with different drivers ({' and '.join(named)}); keep one")


def _targets(nodes: list[Node], keys: Mapping[str, str], origin: ValueOrigin) -> tuple[Target, ...]:
    if not nodes:
        raise UsageError("none of its machines has an NVIDIA GPU")
    described = [(_described(node, keys), node) for node in nodes]
    classes = grouped((told, node) for told, node in described if not isinstance(told, str))
    untold = grouped((told, node) for told, node in described if isinstance(told, str))
    for reason, (node, *_) in untold.items():
        if not classes:
            raise UsageError(f"node {node.name}: {reason}" if node.name else reason)
    found = [_target(dict(told), keys, alike, origin) for told, alike in classes.items()]
    found += [_untold(reason.partition(";")[0], alike) for reason, alike in untold.items()]
    if name := keys.get("name"):
        behind = len(found) > 1
        found = [replace(t, name=f"{name}: {t.name}" if behind else name) for t in found]
    return tuple(found)


def _untold(reason: str, nodes: Sequence[Node]) -> Target:
    """The target of machines beside others of which the file tells enough."""
    return Target(name=reason, nodes=tuple(node.name for node in nodes), untold=reason)


def _described(node: Node, keys: Mapping[str, str]) -> tuple[tuple[str, str], ...] | str:
    """The keys of a machine's target; why it has none if the file tells too little."""
    beaten = ("driver", "container") if {"driver", "container"} & keys.keys() else ()
    told = {key: value for key, value in node.keys.items() if value and key not in beaten}
    if node.problem and not beaten:
        return f"{node.problem}; give driver= as well"
    try:
        told |= {"gpu": node.gpu} if "gpu" not in keys and node.gpus else {}
    except UsageError as error:
        return str(error)
    told |= keys
    return tuple((key, told[key]) for key in KEYS if key in told)


def _target(
    described: dict[str, str], keys: Mapping[str, str], nodes: Sequence[Node], origin: ValueOrigin
) -> Target:
    pins = dict.fromkeys(pin for node in nodes for pin in node.pins)
    pinned = libraries(pins, origin.source, origin.budget)
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
    return VersionSet(ANY_DRIVER, values, Quantifier.ONE_OF, f"{source} names none: give driver=")

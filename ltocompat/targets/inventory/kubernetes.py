"""``kubectl get nodes -o json|yaml`` -> machines, by the labels of gpu-feature-discovery.

``kubectl get nodes --show-labels`` and ``kubectl describe node`` print the labels as text, and so
do the file of gpu-feature-discovery and documents of labels alone.

Labels: NVIDIA/k8s-device-plugin, docs/gpu-feature-discovery/README.md, "Generated Labels"; those of
the driver were called ``cuda.driver.major``, ``.minor`` and ``.rev`` before 0.15, and still stand
beside the new ones. Kubernetes' own: its reference, "Well-Known Labels". GKE's nodes have a label
with the GPU's kind, ``nvidia-tesla-t4``, and none of the driver (kubernetes issue 55005).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeGuard

from ltocompat.model.words import items_of
from ltocompat.targets.inventory.node import Node

_NEW = ("cuda.driver-version.major", "cuda.driver-version.minor", "cuda.driver-version.revision")
_OLD = ("cuda.driver.major", "cuda.driver.minor", "cuda.driver.rev")
_VENDOR = "nvidia.com/"
_CAPABILITY = ("gpu.compute.major", "gpu.compute.minor")
_NAMING = {"gpu.product", _CAPABILITY[1]}
_LABEL = re.compile(r"([\w.-]{1,253}/[\w.-]{1,63})=([\w.-]{0,63})", re.ASCII)
_IN_DOCUMENT = re.compile(
    r"""["']?([\w.-]{1,253}/[\w.-]{1,63})["']? ?: ?["']?([\w.-]{0,63})["']?""", re.ASCII
)
_GKE = "cloud.google.com/gke-accelerator"
_GPU = re.compile(rf"(?:nvidia\.com/gpu\.(?:product|compute\.minor)|{_GKE})(?:=|[\"']? ?:)")
_KIND = re.compile(r"\bkind\"? ?: ?\"?Node")
Table = dict[str, Any]


def is_nodes(document: object) -> TypeGuard[Table]:
    """Return whether a document is a list of nodes, or one node."""
    return isinstance(document, dict) and any(
        item.get("kind") == "Node" for item in items_of(document.get("items", [document]), dict)
    )


def shows_labels(lines: Sequence[str]) -> bool:
    """Return whether lines have labels of a node, with or without other output of a command.

    A document with an unreadable node name, such as a quoted one, is not read at all.
    """
    return any(map(_GPU.search, lines)) and not any(map(_KIND.search, lines))


def read_labels(lines: Sequence[str]) -> Iterator[Node]:
    """Yield the nodes with NVIDIA GPUs; without names, a repeated label begins a new node."""
    items: list[Table] = []
    for line in map(str.strip, lines):
        words = line.split()
        alone = line[:1] == "{" or _IN_DOCUMENT.fullmatch(line.rstrip(",")) is not None
        labels = dict((_IN_DOCUMENT if alone else _LABEL).findall(line))
        # A block describes a node, or one line has its labels.
        named = words[:1] == ["Name:"] or (len(labels) > 1 and not alone)
        last = items[-1]["metadata"] if items else {"name": "", "labels": labels}
        if named or (not last["name"] and not labels.keys().isdisjoint(last["labels"])):
            name = (*words, "")[words[:1] == ["Name:"]] if named else ""
            items.append({"metadata": {"name": name, "labels": {}}})
        if items:
            items[-1]["metadata"]["labels"] |= labels
    return read_nodes({"items": items})


def read_nodes(document: Table) -> Iterator[Node]:
    """Yield the nodes with NVIDIA GPUs."""
    for item in items_of(document.get("items", [document]), dict):
        metadata, status = _table(item, "metadata"), _table(item, "status")
        name, labels = str(metadata.get("name", "")), _table(metadata, "labels")
        told = {
            key.removeprefix(_VENDOR): str(value)
            for key, value in labels.items()
            if key.startswith(_VENDOR)
        }
        kind = str(labels.get(_GKE, ""))
        has_gpu = kind or any(key.startswith(_VENDOR) for key in _table(status, "capacity"))
        if has_gpu or told.keys() & _NAMING or told.get("gpu.present") == "true":
            gpu = (told.get("gpu.product", kind), _joined(told, _CAPABILITY))
            full = told.get("cuda.driver-version.full", "")
            drivers = {full, _joined(told, _NEW), _joined(told, _OLD)} - {""}
            driver, *others = sorted(drivers) or [""]
            keys = {"driver": driver, "os": _system(labels, _table(status, "nodeInfo"))}
            named = f"its labels name drivers {' and '.join((driver, *others))}"
            yield Node(keys, (gpu,), name, problem=named if others else "")


def _table(table: Table, key: str) -> Table:
    value = table.get(key)
    return value if isinstance(value, dict) else {}


def _joined(told: dict[str, str], names: tuple[str, ...]) -> str:
    return ".".join(filter(None, (told.get(name, "") for name in names)))


def _system(labels: Table, info: Table) -> str:
    system = labels.get("kubernetes.io/os") or info.get("operatingSystem")
    machine = labels.get("kubernetes.io/arch") or info.get("architecture")
    return "windows" if system == "windows" else "linux-aarch64" if machine == "arm64" else ""

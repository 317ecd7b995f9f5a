"""nvidia-smi's table, its full report as text and XML, and its CSV -> machines.

The names of fields are those of ``nvidia-smi --help-query-gpu`` and of the reports of drivers 331
to 610, read in public threads (``tests/data/inventory.toml`` has each with its address). Since 610
the table's ``Driver Version`` is called ``KMD Version``. Under WSL2 nvidia-smi is of another
release than the driver of Windows, whose model the report shows beside a persistence mode.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence

from ltocompat.model.errors import UsageError
from ltocompat.model.generic import grouped
from ltocompat.targets.inventory.node import DRIVER, UNTOLD, Node

_TABLE = re.compile(r"NVIDIA-SMI ++(\S++) ++(?:Driver|KMD) Version: *+(\S++)")
_OF_WINDOWS = re.compile(r"[0-9]{3}\.[0-9]{2}")
_BUS = r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]"
# A number, a name, the persistence mode or on Windows the driver model, the bus.
_ROW = re.compile(
    r"[ |]{0,40}+[0-9]{1,3} {1,9}+(?P<name>\S.{0,60}?) {1,60}"
    rf"(?P<mode>On|Off|N/A|WDDM|TCC|MCDM) *+\| *+(?:{_BUS}|N/A) "
)
_WINDOWS = frozenset({"WDDM", "TCC", "MCDM"})
_XML = re.compile(r"<(\w{1,60}+)>([^<>]*+)</\1>")
_LINE = re.compile(r"\s*+([A-Za-z][A-Za-z ]*+): (.*)")
_REPORT = ("<nvidia_smi_log>", "NVSMI LOG")
_QUERIED = frozenset({"driver_version", "compute_cap", "gpu_name"})
_PROPERTY = re.compile(r"[a-z][a-z0-9_.]{1,80}(?: \[[^\]]{1,9}\])?")


def is_table(lines: Sequence[str]) -> bool:
    """Return whether lines have the head of nvidia-smi's table."""
    return any(_TABLE.search(line) for line in lines)


def read_table(lines: Sequence[str]) -> Iterator[Node]:
    """Yield the machine of a table, whose GPU names may be truncated.

    Raises:
        UsageError: there are several tables, or a line doesn't belong to the table.
    """
    heads = [match for line in lines if (match := _TABLE.search(line))]
    _one_machine(heads)
    smi, driver = heads[0].groups()
    rows = [match for line in lines if (match := _ROW.match(line))]
    if len(rows) < sum(re.search(_BUS, line) is not None for line in lines):
        raise UsageError("has an unreadable line about a GPU; give driver= and gpu= instead")
    system = "windows" if _WINDOWS & {row["mode"] for row in rows} else ""
    system = system or ("wsl2" if smi != driver and _OF_WINDOWS.fullmatch(driver) else "")
    yield _node(driver, [(row["name"], "") for row in rows], system)


def is_report(lines: Sequence[str]) -> bool:
    """Return whether lines are output of ``nvidia-smi -q``, with ``-x`` or without."""
    return any(mark in line for line in lines for mark in _REPORT)


def read_report(lines: Sequence[str]) -> Iterator[Node]:
    """Yield the machine of a full report, as text or XML.

    Raises:
        UsageError: there are several reports, or one shows fewer GPUs than the machine has.
    """
    text = "\n".join(lines)
    found: list[tuple[str, str]] = _XML.findall(text)
    if _REPORT[0] not in text:
        matches = filter(None, map(_LINE.fullmatch, lines))
        found = [(match[1].strip().lower().replace(" ", "_"), match[2]) for match in matches]
    values = grouped((name, value.strip()) for name, value in found)
    drivers = values.get("driver_version") or values.get("kmd_version") or [""]
    _one_machine(drivers)
    names = values.get("product_name", [])
    attached = values.get("attached_gpus", [""])[0]
    if attached.isdecimal() and attached != str(len(names)):
        raise UsageError(f"shows {len(names)} of {attached[:20]} GPUs; give the whole report")
    system = "wsl2" if "Enabled" in values.get("persistence_mode", ()) else "windows"
    system = system if any(_WINDOWS & {*several} for several in values.values()) else ""
    yield _node(drivers[0], [(name, "") for name in names], system)


def _one_machine(reports: Sequence[object]) -> None:
    if len(reports) > 1:
        raise UsageError(f"has {len(reports)} reports of nvidia-smi; give a file for each machine")


def is_csv(lines: Sequence[str]) -> bool:
    """Return whether a line names properties of ``nvidia-smi --query-gpu``."""
    return any(_QUERIED & {*_heads(line)} for line in lines)


def read_csv(lines: Sequence[str]) -> Iterator[Node]:
    """Yield the machines of a CSV: GPUs with the same driver are one machine."""
    start, heads = next((n, heads) for n, line in enumerate(lines) if (heads := _heads(line)))
    gpus: list[tuple[str, tuple[str, str]]] = []
    for cells in csv.reader(lines[start + 1 :], skipinitialspace=True):
        row = dict(zip(heads, map(str.strip, cells), strict=False))
        if len(cells) == len(heads) and row != dict(zip(heads, heads, strict=True)):
            name = row.get("name") or row.get("gpu_name", "")
            gpus.append((row.get("driver_version", ""), (name, row.get("compute_cap", ""))))
    for driver, of_driver in grouped(gpus).items():
        yield _node(driver, of_driver, "")


def _heads(line: str) -> list[str]:
    """The properties that a line names; none if it is no head of a CSV."""
    cells = [cell.strip() for cell in line.split(",")]
    return [cell.split()[0] for cell in cells] if all(map(_PROPERTY.fullmatch, cells)) else []


def _node(driver: str, gpus: Sequence[tuple[str, str]], system: str) -> Node:
    if any(name.endswith("(nvgpu)") for name, _ in gpus):  # a Jetson
        system = "linux-aarch64"
    keys = {"os": system, "driver": driver if DRIVER.fullmatch(driver) else ""}
    return Node(keys, tuple(gpus) or (UNTOLD,))

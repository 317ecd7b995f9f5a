"""What ``explain.js`` reads: the rows of messages, and the facts that make values of theirs.

The patterns are the program's own, wherever they stand in it, so that the two can't differ.
"""
# ruff: noqa: SLF001

from __future__ import annotations

import re
from typing import Any

from ltocompat.facts import drivers, gpus, libraries, rows, table, toolkits
from ltocompat.model import paste
from ltocompat.model.generic import grouped
from ltocompat.rules import clients, evidence, message_values, prose
from ltocompat.rules.messages import Message, messages, pattern_of

OF_SPEAKERS = ("name", "find", "says", "lines", "alien", "along")


def explain_tables() -> dict[str, Any]:
    """Return what ``search-index.js`` has for it."""
    # Letters that have no other case: JavaScript doesn't know how to leave a flag out.
    patterns = {name: of.replace("(?-i:", "(?:") for name, of in evidence.patterns().items()}
    of_paste = {
        "ansi": paste._ANSI,
        "tag": paste._TAG,
        "json": paste._JSON,
        "escaped": paste._ESCAPED,
        "unescaped": paste._UNESCAPED,
        "markdown": paste._MARKDOWN,
        "bullet": paste._BULLET,
        "leftEdge": paste._LEFT_EDGE,
        "logged": paste._LOGGED,
        "rule": paste._RULE,
    }
    explain = {
        "paste": {
            **{name: pattern.pattern for name, pattern in of_paste.items()},
            "edges": paste._EDGES,
            "narrowest": paste._NARROWEST,
        },
        "evidence": patterns,
        "gpus": _gpus(),
        "sms": {
            row.number: {
                "name": row.name,
                "first": str(row.first_toolkit),
                "last": str(row.last_toolkit or ""),
                "branch": str(row.last_branch or ""),
                "jetson": message_values._of_sm(str(row.number))["jetson"],
                "tegra": row.tegra,
            }
            for row in gpus.sms()
        },
        "ptx": {
            ".".join(map(str, isa)): str(cuda) for isa, cuda in toolkits.ptx_releases().items()
        },
        "branches": [[branch, str(cuda)] for branch, cuda in drivers._branches().items()],
        "floors": {floor.major: floor.branch for floor in rows(drivers.MajorFloor)},
        "earlier": {r["cuda"]: r["linux"].split(".")[0] for r in table("drivers")["earlier"]},
        "speakers": {
            kind: [
                {name: getattr(row, name) for name in OF_SPEAKERS}
                | {"typed": [*map(_replacing, row.typed)]}
                for row in rows
            ]
            for kind, rows in _speakers().items()
        },
        "clauses": {
            "aside": message_values._ASIDE.pattern,
            "clause": message_values._CLAUSE.pattern,
            "leads": message_values._LEADS.pattern,
        },
        **message_values.values_known(),
        "indexes": [str(cuda) for cuda in toolkits.pytorch_indexes()],
        "hosts": [[str(r.cuda), r.gcc, r.clang, r.msvc] for r in rows(toolkits.HostCompilers)],
        "optix": [[row.optix, row.branch] for row in rows(toolkits.OptixRelease)],
        "symbols": {
            name: message_values._of_symbol(name)
            for name in (*toolkits.removed_names(), *drivers.driver_functions())
        },
        "files": _files(),
        "bare": _javascript(evidence.patterns()["bareError"]),
        "spelled": drivers._SPELLED.pattern,
        "errors": _errors(),
    }
    return {"messages": [_row(row) for row in messages()], "explain": explain}


def _speakers() -> dict[str, list[clients.Speaker]]:
    return grouped((row.head, clients.speaker(row)) for row in prose.rows("clients"))


def _gpus() -> dict[str, Any]:
    return {
        "vgpu": gpus._VGPU,
        "noise": gpus._NOISE,
        "vendors": sorted(gpus._VENDOR),
        "optional": sorted(gpus._OPTIONAL),
        "models": [{"name": model.name, "number": model.number} for model in gpus.gpu_models()],
    }


def _files() -> dict[str, dict[str, Any]]:
    """The packages of each library, with the versions that have it where others have not."""
    found = {}
    for file, packages in libraries.by_file().items():
        names: dict[str, str] = {}
        for row in packages:
            majors = {package.major for package in libraries.library_packages()[row.name]}
            names.setdefault(row.name, "" if len(majors) == 1 else f"=={packages[0].major}.*")
        named = [[name, version] for name, version in names.items() if "-jit-" not in name]
        found[file] = {"major": packages[0].major, "packages": named}
    return found


def _errors() -> dict[str, list[str]]:
    """The errors that have an answer, in words, by number and by the part of their names."""
    numbers = [
        row["number"] for name in ("errors", "runtime_errors") for row in table(name)["error"]
    ]
    by_name = drivers._errors_by_name()
    found = {str(number): drivers.errors_called(str(number)) for number in numbers} | by_name
    return {key: [f"{it.name}: {it.text}" for it in errors] for key, errors in found.items()}


def _replacing(typed: tuple[str, str]) -> tuple[str, str]:
    """A pattern and what takes its place, in the words of JavaScript."""
    return _javascript(typed[0]), re.sub(r"\\(.)", _written, typed[1])


def _written(match: re.Match[str]) -> str:
    """What stands for a group in JavaScript, or the escaped letter itself."""
    return f"${match[1]}" if match[1].isdigit() else match[1]


def _row(row: Message) -> dict[str, Any]:
    """A message with its patterns in the words of JavaScript."""
    value = {name: getattr(row, name) for name in row.__struct_fields__ if name != "source"}
    for name in ("pattern", "beside", "unless"):
        value[name] = value[name] and _javascript(pattern_of(value[name]))
    return {key: part for key, part in value.items() if part}


def _javascript(pattern: str) -> str:
    named = re.sub(r"\(\?P=(\w+)\)", r"\\k<\1>", pattern)
    return named.replace("(?P<", "(?<").replace(r"\Z", "$")

"""Every key of a policy: what it takes, what it is without, an example, and what it is for.

The reader knows no other keys; the JSON Schema for editors and the page of the policy are made of
this list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ltocompat.packages.promise import PROMISE_KEYS

Form = Mapping[str, Any]
"""What a value is, as JSON Schema says it."""

_WORD: Form = {"type": "string", "pattern": r"\S"}
_WORDS: Form = {"type": "array", "items": _WORD}
_NUMBERS = r"^\s*[0-9]{1,5}(\.[0-9]{1,5}){0,3}\s*$"
_DRIVER: Form = {"type": "string", "pattern": _NUMBERS}
_RELEASE: Form = {"type": "string", "pattern": r"^\s*[0-9]{1,3}\.[0-9]{1,3}\s*$"}
_ANY_ARCH = r"^\s*(sm|compute|lto)_[0-9]{2,3}[af]?\s*$"
_VERSIONS: Form = {"type": ["string", "integer"], "pattern": r"[0-9]"}
_TEXT: Form = {"type": ["string", "integer"], "pattern": r"\S"}


def _archs(form: str) -> Form:
    """Architectures of a form that is known from the key, and may be left out."""
    pattern = rf"^\s*({form})?_?[0-9]{{2,3}}[af]?\s*$"
    return {"type": "array", "items": {"type": ["string", "integer"], "pattern": pattern}}


@dataclass(frozen=True, slots=True)
class PolicyKey:
    """A key of one of the tables.

    Attributes:
        name: as it is written.
        form: what it takes.
        example: a value, as TOML.
        text: what it is for, in a sentence or two.
        default: what holds without it; empty where it must be there.
    """

    name: str
    form: Form
    example: str
    text: str
    default: str = "none"


_TARGET_KEYS = (
    PolicyKey("driver", _VERSIONS, '"580.65.06"', "The driver: a release, a branch, a range."),
    PolicyKey("nvjitlink", _VERSIONS, '"13.3"', "The nvJitLink that links there."),
    PolicyKey(
        "gpu",
        {"type": ["string", "integer", "array"], "pattern": r"\S", "items": {"type": "string"}},
        '["a100", "h100", "l4"]',
        "The GPUs: names, or architectures such as sm_90.",
        "every GPU that an artifact serves",
    ),
    PolicyKey("nvrtc", _VERSIONS, '"13.3"', "The NVRTC that compiles there."),
    PolicyKey("nvlink", _VERSIONS, '"13.3"', "The nvlink of a toolkit that links there."),
    PolicyKey("compat", _VERSIONS, '"13.3"', "The cuda-compat package in front of the driver."),
    PolicyKey("os", _TEXT, '"linux-aarch64"', "linux, linux-aarch64, windows or wsl2.", "linux"),
    PolicyKey("stock", _TEXT, '"13.3"', "A toolkit with the driver and libraries of its release."),
    PolicyKey("lock", _TEXT, '"uv.lock"', "A lock file, whose nvJitLink and NVRTC are there."),
    PolicyKey("python", _TEXT, '"3.12"', "The Python for which the lock file is read."),
    PolicyKey("name", _TEXT, '"old machines"', "What to call it.", "the name of the table"),
)

_PROMISE = {
    "sass": PolicyKey(
        "sass", _archs("sm"), '["sm_80", "sm_90"]', "SASS for these is inside.", "[]"
    ),
    "ptx": PolicyKey("ptx", _archs("compute"), '["compute_90"]', "PTX for these is inside.", "[]"),
    "driver": PolicyKey(
        "driver",
        {"type": ["string", "integer"], "pattern": _NUMBERS},
        '"525.60.13"',
        "All of it loads from this driver on.",
    ),
    "nvjitlink": PolicyKey(
        "nvjitlink", _RELEASE, '"12.4"', "All of it links from this nvJitLink on."
    ),
}

_AUDIT_KEYS = (
    PolicyKey(
        "targets",
        {**_WORDS, "minItems": 1},
        '["oldest"]',
        "The targets that count, of those above.",
        "all of them",
    ),
    PolicyKey(
        "require-gpus",
        _WORDS,
        '["a100", "h100"]',
        "GPUs that every artifact must serve: by their own SASS, by that of their family, or by "
        "PTX or LTO-IR that reaches them.",
        "[]",
    ),
    PolicyKey(
        "require-archs",
        {"type": "array", "items": {"type": "string", "pattern": _ANY_ARCH}},
        '["sm_80", "compute_90"]',
        "Images that every artifact must hold: sm_80 is SASS for just that, compute_90 PTX, lto_90 "
        "LTO-IR. Where the GPU is meant, require-gpus says so.",
        "[]",
    ),
    PolicyKey(
        "least-driver",
        _DRIVER,
        '"580"',
        "The driver that everything must go on loading on; a branch is its first release.",
    ),
    PolicyKey(
        "fail-on",
        {"enum": ["fail", "unknown", "undocumented", "jit"]},
        '"fail"',
        "The mildest verdict that fails the audit; --fail-on beats it.",
        '"fail"',
    ),
    PolicyKey(
        "trial-link",
        {
            "anyOf": [
                {"type": "boolean"},
                {"type": "array", "items": _RELEASE, "minItems": 1},
            ]
        },
        "true",
        "Ask the nvJitLinks that the targets name, or of them only those in a list, as in "
        '["13.3"]. trial-links is another name of it.',
        "false",
    ),
    PolicyKey(
        "no-device-code",
        {"enum": ["pass", "undecided"]},
        '"pass"',
        "What becomes of an audit without device code: it passes, or is undecided (exit code 3).",
        '"undecided"',
    ),
    PolicyKey(
        "variants",
        _WORDS,
        '["libx_cuda*.so"]',
        "Files of one package of which its loader opens one: the one that fits best decides.",
        "[]",
    ),
    PolicyKey(
        "provided-by",
        {"type": "object", "additionalProperties": _WORDS},
        '{torch = ["libcudart.so.*"]}',
        "Libraries that other packages bring, where the metadata requires these.",
        "{}",
    ),
    PolicyKey("ignore", {}, "", "Findings that do not count for a while; see below.", "[]"),
)

_IGNORE_KEYS = (
    PolicyKey("rule", {}, '"PTX-06"', "The rule.", ""),
    PolicyKey("reason", _WORD, '"libaxpy gets SASS in 1.1"', "Why, for those who read it.", ""),
    PolicyKey(
        "expires",
        {"type": "string", "format": "date", "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"},
        "2099-12-31",
        "The last day on which it holds; after it, the audit ends with exit code 2.",
        "",
    ),
    PolicyKey("path", _WORD, '"libaxpy*.so"', "Pattern of the artifact or a file in it.", '"*"'),
    PolicyKey("target", _WORD, '"oldest"', "Pattern of the name of the target.", '"*"'),
)

TABLES: Mapping[str, tuple[PolicyKey, ...]] = {
    "targets.NAME": _TARGET_KEYS,
    "promise": tuple(_PROMISE[name] for name in PROMISE_KEYS),
    "audit": _AUDIT_KEYS,
    "audit.ignore": _IGNORE_KEYS,
}
"""The keys of each table, in the order in which they are explained."""

ALIASES = {"trial-links": "trial-link"}
"""Other names of keys of the audit."""


def names(table: str) -> tuple[str, ...]:
    """The keys that a table may have."""
    return tuple(key.name for key in TABLES[table])


def schema() -> dict[str, Any]:
    """The JSON Schema of a policy: of an ltocompat.toml, and of ``tool.ltocompat`` elsewhere."""
    # Imported here: who reads a policy needs no list of rules for it.
    from ltocompat.rules.catalogue import RULES

    ids = [rule.id for rule in RULES]
    ignore = _table("audit.ignore")
    ignore["properties"]["rule"] |= {"enum": sorted({*ids, *map(str.lower, ids)})}
    audit = _table("audit")
    audit["properties"]["ignore"] |= {"type": "array", "items": ignore}
    for alias, key in ALIASES.items():
        audit["properties"][alias] = audit["properties"][key] | {"deprecated": True}
    target = {"anyOf": [_table("targets.NAME"), {"type": "string", "pattern": "="}]}
    tables = {
        "targets": {"type": "object", "additionalProperties": target, "minProperties": 1},
        "promise": _table("promise"),
        "audit": audit,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "ltocompat/policy/v1",
        "title": "What a project holds its releases to: ltocompat.toml, or [tool.ltocompat]",
        "type": "object",
        "properties": tables,
        "additionalProperties": False,
        "required": ["targets"],
    }


def _table(name: str) -> dict[str, Any]:
    keys = TABLES[name]
    needed = [key.name for key in keys if not key.default]
    return {
        "type": "object",
        "properties": {key.name: {"description": key.text, **key.form} for key in keys},
        "additionalProperties": False,
        **({"required": needed} if needed else {}),
    }

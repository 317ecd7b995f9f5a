"""Every key of a policy: what it takes, what it is without, an example, and what it is for.

The reader knows no other keys; the JSON Schema for editors and the page of the policy are made of
this list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.commands.policy import forms
from ltocompat.packages.promise import PROMISE_KEYS
from ltocompat.targets.inline import SPELLINGS


class PolicyKey(Struct, frozen=True):
    """A key of one of the tables.

    Attributes:
        name: as it is written.
        form: what it takes, as JSON Schema says it.
        example: a value, as TOML.
        text: what it is for, in a sentence or two.
        default: what holds without it; empty where it must be there.
    """

    name: str
    form: forms.Form
    example: str
    text: str
    default: str = "none"


_TARGET_KEYS = (
    PolicyKey("driver", forms.DRIVERS, '"580.65.06"', "The driver: a release, a branch, a range."),
    PolicyKey(
        "container",
        forms.CONTAINER,
        '"cuda>=12.4"',
        "In place of driver: the NVIDIA_REQUIRE_CUDA of an image, for all hosts that start it.",
    ),
    PolicyKey("nvjitlink", forms.VERSIONS, '"13.3"', "The nvJitLink that links there."),
    PolicyKey(
        "gpu",
        forms.GPUS,
        '["a100", "h100", "l4"]',
        "The GPUs: names, or architectures such as sm_90.",
        "every GPU that an artifact serves",
    ),
    PolicyKey("nvrtc", forms.VERSIONS, '"13.3"', "The NVRTC that compiles there."),
    PolicyKey("nvlink", forms.VERSIONS, '"13.3"', "The nvlink of a toolkit that links there."),
    PolicyKey(
        "lto",
        forms.one_of("on", "off"),
        '"off"',
        "Links there are made with -lto, unless off.",
        "on",
    ),
    PolicyKey(
        "compat", forms.COMPAT_VERSIONS, '"13.3"', "The cuda-compat package in front of the driver."
    ),
    PolicyKey(
        "os", forms.SYSTEM, '"linux-aarch64"', "linux, linux-aarch64, windows or wsl2.", "linux"
    ),
    PolicyKey(
        "stock", forms.RELEASE, '"13.3"', "A toolkit with the driver and libraries of its release."
    ),
    PolicyKey("lock", forms.NAME, '"uv.lock"', "A lock file, whose nvJitLink and NVRTC are there."),
    PolicyKey("python", forms.PYTHON, '"3.12"', "The Python for which the lock file is read."),
    PolicyKey("name", forms.NAME, '"old machines"', "What to call it.", "the name of the table"),
)

_PROMISE = {
    "sass": PolicyKey(
        "sass",
        forms.archs("sm", numbers=True),
        '["sm_80", "sm_90"]',
        "SASS for these is inside.",
        "[]",
    ),
    "ptx": PolicyKey(
        "ptx",
        forms.archs("compute", numbers=True),
        '["compute_90"]',
        "PTX for these is inside.",
        "[]",
    ),
    "driver": PolicyKey(
        "driver",
        forms.DRIVER,
        '"525.60.13"',
        "All of it loads from this driver on.",
    ),
    "nvjitlink": PolicyKey(
        "nvjitlink", forms.RELEASE, '"12.4"', "All of it links from this nvJitLink on."
    ),
}

_AUDIT_KEYS = (
    PolicyKey(
        "targets",
        {**forms.WORDS, "minItems": 1},
        '["oldest"]',
        "The targets that count, of those above.",
        "all of them",
    ),
    PolicyKey(
        "require-gpus",
        forms.WORDS,
        '["a100", "h100"]',
        "GPUs that every artifact must serve: by their own SASS, by that of their family, or by "
        "PTX or LTO-IR that reaches them.",
        "[]",
    ),
    PolicyKey(
        "require-archs",
        forms.ARCHS,
        '["sm_80", "compute_90"]',
        "Images that every artifact must hold: sm_80 is SASS for just that, compute_90 PTX, lto_90 "
        "LTO-IR. Build systems' own lists are read, too: 8.0;9.0+PTX of PyTorch, 80-real;90 of "
        "CMake (a bare number is SASS and PTX), -gencode lines of nvcc, and hopper, which is SASS "
        "for its GPUs. Where the GPU is meant, require-gpus says so.",
        "[]",
    ),
    PolicyKey(
        "least-driver",
        forms.DRIVER,
        '"580"',
        "The driver that everything must go on loading on; a branch is its first release.",
    ),
    PolicyKey(
        "max-bytes",
        forms.SIZE,
        '"100MB"',
        "The largest file that may be released: a number of bytes, or with kB, MB, GB, MiB or GiB.",
    ),
    PolicyKey(
        "coverage",
        forms.PERCENT,
        "90",
        "The kernels that a GPU must have code for, in percent of those of the GPU that is served "
        "best (IMG-04). Without it, a lost kernel is told and fails nothing, but with --strict.",
    ),
    PolicyKey(
        "fail-on",
        forms.one_of("fail", "unknown", "undocumented", "jit"),
        '"fail"',
        "The mildest verdict that fails the audit; --fail-on beats it.",
        '"fail"',
    ),
    PolicyKey(
        "trial-link",
        {"anyOf": [{"type": "boolean"}, {"const": "auto"}, forms.RELEASES]},
        "true",
        "Ask the nvJitLinks that the targets name, or of them only those in a list, as in "
        '["13.3"]; "auto" asks those at hand about what stays unknown.',
        "false",
    ),
    PolicyKey(
        "trial-load",
        {"type": "boolean"},
        "true",
        "Load the modules on the GPUs of the machine that audits; it is one more target then, "
        "called this machine, on which loading alone is judged.",
        "false",
    ),
    PolicyKey(
        "no-device-code",
        forms.one_of("pass", "undecided"),
        '"pass"',
        "What becomes of an audit without device code: it passes, or is undecided (exit code 3).",
        '"undecided"',
    ),
    PolicyKey(
        "variants",
        forms.WORDS,
        '["libx_cuda*.so"]',
        "Files of one package of which its loader opens one: the one that fits best decides; [] "
        "where all of them are opened.",
        "those found",
    ),
    PolicyKey(
        "provided-by",
        {"type": "object", "additionalProperties": forms.WORDS},
        '{torch = ["libcudart.so.*"]}',
        "Libraries that other packages bring, where the metadata requires these.",
        "{}",
    ),
    PolicyKey("ignore", {}, "", "Findings that do not count for a while; see below.", "[]"),
    PolicyKey("allow", {}, "", "Findings that do not count for good; see below.", "[]"),
)

_RULE = PolicyKey("rule", {}, '"PTX-06"', "The rule.", "")
_REASON = PolicyKey(
    "reason", forms.WORD, '"libaxpy gets SASS in 1.1"', "Why, for those who read it.", ""
)
_PATH = PolicyKey(
    "path",
    forms.WORD,
    '"libaxpy*.so"',
    "Pattern of the artifact or a file in it: of a name, a path, or a place without versions: "
    '"libx-cu12::pkg/libaxpy.so".',
    '"*"',
)
_VERDICT = PolicyKey(
    "verdict",
    forms.one_of("fail", "unknown", "undocumented", "jit"),
    '"unknown"',
    "The worst verdict that does not count.",
    '"fail"',
)
_LIMITS = (
    PolicyKey("target", forms.WORD, '"oldest"', "Pattern of the name of the target.", '"*"'),
    PolicyKey(
        "gpu",
        {key: value for key, value in forms.GPUS.items() if key != "minItems"},
        '["h100"]',
        "The GPUs; [] for findings that name none.",
        "every GPU",
    ),
    PolicyKey(
        "about",
        forms.WORD,
        '"PTX compute_90"',
        "Pattern of what the finding is about, as baselines name it.",
        '"*"',
    ),
    PolicyKey(
        "route",
        forms.one_of("load", "link", ""),
        '"load"',
        "How modules get onto the GPU: load or link; empty where each has one way only.",
        "any route",
    ),
    PolicyKey(
        "modules",
        {"type": "integer", "minimum": 0},
        "3",
        "The most modules of a file, on a GPU and target, that may be concerned; 0: the finding is "
        "about an artifact as a whole.",
        "any number",
    ),
    PolicyKey(
        "asks",
        forms.WORDS,
        '["driver 525.60.13"]',
        "The newest versions that the code may ask for.",
        "any version",
    ),
    PolicyKey(
        "kernel",
        forms.WORD,
        '"*nopHardware*"',
        "Pattern of the names of kernels: mangled, or in source up to the first template argument "
        "(gemm::run of _ZN4gemm3runIfEEvPT_). A finding is forgiven only if every kernel of every "
        "module that it is about matches; one in modules with LTO-IR or Tile IR stays, because "
        "these show no names.",
        '"*"',
    ),
)
_EXPIRES = PolicyKey(
    "expires",
    forms.DAY,
    "2099-12-31",
    "The last day on which it holds; after it, the audit ends with exit code 2.",
    "",
)
_IGNORE_KEYS = (_RULE, _REASON, _EXPIRES, _PATH, _VERDICT, *_LIMITS)
_ALLOW_KEYS = (_RULE, _REASON, *(replace(key, default="") for key in (_PATH, _VERDICT)), *_LIMITS)

TABLES: Mapping[str, tuple[PolicyKey, ...]] = {
    "targets.NAME": _TARGET_KEYS,
    "promise": tuple(_PROMISE[name] for name in PROMISE_KEYS),
    "audit": _AUDIT_KEYS,
    "audit.ignore": _IGNORE_KEYS,
    "audit.allow": _ALLOW_KEYS,
}
"""The keys of each table, in the order in which they are explained."""

TARGET_FREE = (
    *("require-gpus", "require-archs", "least-driver", "max-bytes", "no-device-code"),
    *("provided-by", "variants", "ignore", "allow"),
)
"""Keys of the audit that ask something wherever an artifact goes: a policy of them alone works."""

EXCEPTIONS = ("ignore", "allow")
"""Tables that an audit may have several of."""


def names(table: str) -> tuple[str, ...]:
    """The keys that a table may have."""
    return tuple(key.name for key in TABLES[table])


def schema() -> dict[str, Any]:
    """The JSON Schema of a policy: of an ltocompat.toml, and of ``tool.ltocompat`` elsewhere."""
    # Imported here: who reads a policy needs no list of rules for it.
    from ltocompat.rules.prose import rule_ids

    audit = _table("audit")
    for kind in EXCEPTIONS:
        table = _table(f"audit.{kind}")
        table["properties"]["rule"] |= forms.rule_ids(rule_ids(built=True))
        audit["properties"][kind] |= {"type": "array", "items": table}
    target = _table("targets.NAME")
    places = [key.name for key in TABLES["targets.NAME"] if key.name not in ("name", "python")]
    target["anyOf"] = [{"required": [place]} for place in (*places, *SPELLINGS)]
    for alias, key in SPELLINGS.items():
        target["properties"][alias] = target["properties"][key]
        target["not"] = {"required": [alias, key]}
    targets = {"anyOf": [target, forms.WORD]}
    policy = {
        "type": "object",
        "properties": {
            "targets": {"type": "object", "additionalProperties": targets, "minProperties": 1},
            "promise": _table("promise"),
            "audit": audit,
        },
        "additionalProperties": False,
        "anyOf": [
            {"required": ["targets"]},
            {"required": ["audit"], "properties": {"audit": _without_target()}},
        ],
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "ltocompat/policy/v1",
        "title": "What a project holds its releases to: ltocompat.toml, or [tool.ltocompat]",
        "anyOf": [{"$ref": "#/$defs/policy"}, {"$ref": "#/$defs/pasted"}],
        "$defs": {"policy": policy, "pasted": _pasted()},
    }


def _without_target() -> dict[str, Any]:
    """The audit of a policy that names no target."""
    return {
        "anyOf": [{"required": [key]} for key in TARGET_FREE],
        "not": {"required": ["targets"]},
    }


def _pasted() -> dict[str, Any]:
    """A file whose tables were copied from a pyproject.toml, with ``tool.ltocompat`` before."""
    ours = {"type": "object", "properties": {"ltocompat": {"$ref": "#/$defs/policy"}}}
    return {
        "type": "object",
        "properties": {"tool": ours | {"required": ["ltocompat"]}},
        "required": ["tool"],
        "not": {"anyOf": [{"required": [table]} for table in ("targets", "promise", "audit")]},
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

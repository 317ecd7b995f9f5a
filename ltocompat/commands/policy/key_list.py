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
from ltocompat.model.described import described
from ltocompat.targets.inline import SPELLINGS


class PolicyKey(Struct, frozen=True):
    """A key of one of the tables.

    Attributes:
        form: what it takes, as JSON Schema says it.
        example: a value, as TOML.
        default: what holds without it; empty where it must be there.
        name: as it is written.
        text: what it is for, in a sentence or two: what the docstring of its table says.
    """

    form: forms.Form
    example: str
    default: str = "none"
    name: str = ""
    text: str = ""


class _TargetKeys:
    """A place where releases go.

    Attributes:
        driver: The driver: a release, a branch, a range.
        container: In place of driver: the NVIDIA_REQUIRE_CUDA of an image, for all hosts that start
            it.
        nvjitlink: The nvJitLink that links there.
        gpu: The GPUs: names, or architectures such as sm_90.
        nvrtc: The NVRTC that compiles there.
        nvlink: The release of nvlink that links the code, if a toolkit's nvlink does.
        lto: Links there are made with -lto, unless off.
        compat: The cuda-compat package in front of the driver.
        os: linux, linux-aarch64, windows or wsl2.
        stock: A toolkit with the driver and libraries of its release.
        lock: A lock file, whose nvJitLink and NVRTC are there.
        python: The Python for which the lock file is read.
        name: What to call it.
    """

    driver = PolicyKey(forms.DRIVERS, '"580.65.06"')
    container = PolicyKey(forms.CONTAINER, '"cuda>=12.4"')
    nvjitlink = PolicyKey(forms.VERSIONS, '"13.3"')
    gpu = PolicyKey(forms.GPUS, '["a100", "h100", "l4"]', "every GPU that an artifact serves")
    nvrtc = PolicyKey(forms.VERSIONS, '"13.3"')
    nvlink = PolicyKey(forms.VERSIONS, '"13.3"')
    lto = PolicyKey(forms.one_of("on", "off"), '"off"', "on")
    compat = PolicyKey(forms.COMPAT_VERSIONS, '"13.3"')
    os = PolicyKey(forms.SYSTEM, '"linux-aarch64"', "linux")
    stock = PolicyKey(forms.RELEASE, '"13.3"')
    lock = PolicyKey(forms.NAME, '"uv.lock"')
    python = PolicyKey(forms.PYTHON, '"3.12"')
    name = PolicyKey(forms.NAME, '"old machines"', "the name of the table")


class _PromiseKeys:
    """What a project promises of its packages.

    Attributes:
        sass: SASS for these is inside.
        ptx: PTX for these is inside.
        driver: All of it loads from this driver on.
        nvjitlink: All of it links from this nvJitLink on.
    """

    sass = PolicyKey(forms.archs("sm"), '["sm_80", "sm_90"]', "[]")
    ptx = PolicyKey(forms.archs("compute"), '["compute_90"]', "[]")
    driver = PolicyKey(forms.DRIVER, '"525.60.13"')
    nvjitlink = PolicyKey(forms.RELEASE, '"12.4"')


class _AuditKeys:
    """What releases are held to.

    Attributes:
        targets: The targets that count, of those above.
        require_gpus: GPUs that every artifact must serve: by their own SASS, by that of their
            family, or by PTX or LTO-IR that reaches them.
        require_archs: Images that every artifact must hold: sm_80 is SASS for just that, compute_90
            PTX, lto_90 LTO-IR. Build systems' own lists are read, too: 8.0;9.0+PTX of PyTorch,
            80-real;90 of CMake (a bare number is SASS and PTX), -gencode lines of nvcc, and hopper,
            which is SASS for its GPUs. Where the GPU is meant, require-gpus says so.
        least_driver: The driver that everything must go on loading on; a branch is its first
            release.
        max_bytes: The largest file that may be released: a number of bytes, or with kB, MB, GB, MiB
            or GiB.
        coverage: The kernels that a GPU must have code for, in percent of those of the GPU that is
            served best (IMG-04). Without it, a lost kernel is told and fails nothing, but with
            --strict.
        fail_on: The mildest verdict that fails the audit; --fail-on beats it.
        trial_link: Ask the nvJitLinks that the targets name, or of them only those in a list, as in
            ["13.3"]; "auto" asks those at hand about what stays unknown.
        trial_load: Load the modules on the GPUs of the machine that audits; it is one more target
            then, called this machine, on which loading alone is judged.
        no_device_code: What becomes of an audit without device code: it passes, or is undecided
            (exit code 3).
        variants: Files of one package of which its loader opens one: the one that fits best
            decides; [] where all of them are opened.
        provided_by: Libraries that other packages bring, where the metadata requires these.
        ignore: Findings that do not count for a while; see below.
        allow: Findings that do not count for good; see below.
    """

    targets = PolicyKey({**forms.WORDS, "minItems": 1}, '["oldest"]', "all of them")
    require_gpus = PolicyKey(forms.WORDS, '["a100", "h100"]', "[]")
    require_archs = PolicyKey(forms.ARCHS, '["sm_80", "compute_90"]', "[]")
    least_driver = PolicyKey(forms.DRIVER, '"580"')
    max_bytes = PolicyKey(forms.SIZE, '"100MB"')
    coverage = PolicyKey(forms.PERCENT, "90")
    fail_on = PolicyKey(forms.VERDICT, '"fail"', '"fail"')
    trial_link = PolicyKey(
        {"anyOf": [{"type": "boolean"}, {"const": "auto"}, forms.RELEASES]}, "true", "false"
    )
    trial_load = PolicyKey({"type": "boolean"}, "true", "false")
    no_device_code = PolicyKey(forms.one_of("pass", "undecided"), '"pass"', '"undecided"')
    variants = PolicyKey(forms.WORDS, '["libx_cuda*.so"]', "those found")
    provided_by = PolicyKey(
        {"type": "object", "additionalProperties": forms.WORDS},
        '{torch = ["libcudart.so.*"]}',
        "{}",
    )
    ignore = PolicyKey({}, "", "[]")
    allow = PolicyKey({}, "", "[]")


class _IgnoreKeys:
    """Findings that do not count.

    Attributes:
        rule: The rule.
        reason: Why, for those who read it.
        expires: The last day on which it holds; after it, the audit ends with exit code 2.
        path: Pattern of the artifact or a file in it: of a name, a path, or a place without
            versions: "libx-cu12::pkg/libaxpy.so".
        verdict: The worst verdict that does not count.
        target: Pattern of the name of the target.
        gpu: The GPUs; [] for findings that name none.
        about: Pattern of what the finding is about, as baselines name it.
        route: How modules get onto the GPU: load or link; empty where each has one way only.
        modules: The most modules of a file, on a GPU and target, that may be concerned; 0: the
            finding is about an artifact as a whole.
        asks: The newest versions that the code may ask for.
        kernel: Pattern of the names of kernels: mangled, or in source up to the first template
            argument (gemm::run of _ZN4gemm3runIfEEvPT_). A finding is forgiven only if every kernel
            of every module that it is about matches; one in modules with LTO-IR or Tile IR stays,
            because these show no names.
    """

    rule = PolicyKey({}, '"PTX-06"', "")
    reason = PolicyKey(forms.WORD, '"libaxpy gets SASS in 1.1"', "")
    expires = PolicyKey(forms.DAY, "2099-12-31", "")
    path = PolicyKey(forms.WORD, '"libaxpy*.so"', '"*"')
    verdict = PolicyKey(forms.VERDICT, '"unknown"', '"fail"')
    target = PolicyKey(forms.WORD, '"oldest"', '"*"')
    gpu = PolicyKey(forms.ANY_GPUS, '["h100"]', "every GPU")
    about = PolicyKey(forms.WORD, '"PTX compute_90"', '"*"')
    route = PolicyKey(forms.one_of("load", "link", ""), '"load"', "any route")
    modules = PolicyKey({"type": "integer", "minimum": 0}, "3", "any number")
    asks = PolicyKey(forms.WORDS, '["driver 525.60.13"]', "any version")
    kernel = PolicyKey(forms.WORD, '"*nopHardware*"', '"*"')


def _keys(table: type) -> tuple[PolicyKey, ...]:
    """The keys of a table in their order, each with its name and what is said of it."""
    _, texts = described(table)
    return tuple(
        replace(key, name=name.replace("_", "-"), text=texts.get(name, ""))
        for name, key in vars(table).items()
        if isinstance(key, PolicyKey)
    )


TABLES: Mapping[str, tuple[PolicyKey, ...]] = {
    "targets.NAME": _keys(_TargetKeys),
    "promise": _keys(_PromiseKeys),
    "audit": _keys(_AuditKeys),
    "audit.ignore": _keys(_IgnoreKeys),
    "audit.allow": tuple(
        replace(key, default="") if key.name in ("path", "verdict") else key
        for key in _keys(_IgnoreKeys)
        if key.name != "expires"
    ),
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

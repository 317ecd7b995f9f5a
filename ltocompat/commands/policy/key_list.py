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
    """A place where the releases will run.

    Attributes:
        driver: The driver: a release, a branch or a range.
        container: In place of driver: the NVIDIA_REQUIRE_CUDA of an image, for all hosts that start
            it.
        nvjitlink: The nvJitLink that links there.
        gpu: The GPUs: names, or architectures such as sm_90.
        nvrtc: The NVRTC that compiles there.
        nvlink: The release of nvlink that links the code, if a toolkit's nvlink links it.
        lto: "off" for links without -lto.
        compat: The cuda-compat package in front of the driver.
        os: linux, linux-aarch64, windows or wsl2.
        stock: A toolkit with the driver and libraries of its release.
        lock: A lock file with the nvJitLink and NVRTC that are installed there.
        python: The Python version for the markers of the lock file.
        name: The name that reports show.
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
        sass: Every package has SASS for these architectures.
        ptx: Every package has PTX for these architectures.
        driver: All code loads on this driver and newer ones.
        nvjitlink: All code links with this nvJitLink.
    """

    sass = PolicyKey(forms.archs("sm"), '["sm_80", "sm_90"]', "[]")
    ptx = PolicyKey(forms.archs("compute"), '["compute_90"]', "[]")
    driver = PolicyKey(forms.DRIVER, '"525.60.13"')
    nvjitlink = PolicyKey(forms.RELEASE, '"12.4"')


class _AuditKeys:
    """The requirements for releases.

    Attributes:
        targets: The names of the targets to check.
        require_gpus: GPUs that every artifact must have code for: SASS of the GPU or its family, or
            PTX or LTO-IR that works there.
        require_archs: Images that every artifact must contain: sm_80 is SASS for exactly this
            architecture, compute_90 PTX, lto_90 LTO-IR. The lists of build systems work, too:
            8.0;9.0+PTX of PyTorch, 80-real;90 of CMake (a bare number is SASS and PTX), -gencode
            options of nvcc, and hopper, the SASS for its GPUs. To ask for a GPU, use require-gpus.
        least_driver: The driver on which everything must load; a branch means its first release.
        max_bytes: The largest file that may be released: a number of bytes, or with kB, MB, GB, MiB
            or GiB.
        max_member_bytes: The largest file, unpacked, that may be inside of a wheel or another zip.
        coverage: The least share of kernels with code for a GPU, in percent of the kernels of the
            GPU that has most (IMG-04). Without this key, missing kernels are a warning, which only
            --strict counts.
        fail_on: The mildest verdict that fails the audit; --fail-on overrides it.
        trial_link: true asks the nvJitLinks that the targets name, a list such as ["13.3"] only
            those of them; "auto" asks installed ones about unknown verdicts.
        trial_load: Load the modules on the GPUs of the machine that runs the audit, as one more
            target called this machine.
        no_device_code: The result of an audit that finds no device code: pass, or undecided (exit
            code 3).
        variants: Files of one package of which its loader opens one: the one that fits best
            decides; [] if the package opens all of them.
        provided_by: Libraries that required packages install, by package.
        ignore: Findings that do not count until a day; see below.
        allow: Findings that never count; see below.
    """

    targets = PolicyKey({**forms.WORDS, "minItems": 1}, '["oldest"]', "all of them")
    require_gpus = PolicyKey(forms.WORDS, '["a100", "h100"]', "[]")
    require_archs = PolicyKey(forms.ARCHS, '["sm_80", "compute_90"]', "[]")
    least_driver = PolicyKey(forms.DRIVER, '"580"')
    max_bytes = PolicyKey(forms.SIZE, '"100MB"')
    max_member_bytes = PolicyKey(forms.SIZE, '"400MB"')
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
        rule: The ID of the rule.
        reason: Why the finding does no harm, for readers of the policy.
        expires: The last day on which the table counts; after it, the audit exits with 2.
        path: Pattern of the artifact, or of a file in it: a name, a path, or a place without
            versions, "libx-cu12::pkg/libaxpy.so".
        verdict: The worst verdict that does not count.
        target: Pattern of the target's name.
        gpu: The GPUs; [] for findings that name none.
        about: Pattern of the subject of the finding, as a baseline names it.
        route: The route of the modules: load or link; "" if each can take one route only.
        modules: The largest number of affected modules in one file, for one GPU and target; 0 for
            findings about an artifact as a whole.
        asks: The newest versions that the code may need.
        kernel: Pattern of kernel names: mangled, or as in the source up to the first template
            argument (gemm::run for _ZN4gemm3runIfEEvPT_). A finding is ignored only if every kernel
            of its modules matches. LTO-IR and Tile IR show no names, so findings in them stay.
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
    *("require-gpus", "require-archs", "least-driver", "max-bytes", "max-member-bytes"),
    *("no-device-code", "provided-by", "variants", "ignore", "allow"),
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
        "title": "The policy for releases: ltocompat.toml, or [tool.ltocompat]",
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

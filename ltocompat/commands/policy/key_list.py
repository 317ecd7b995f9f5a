"""Every key of a policy, once: its type, what it is without, an example, and what it is for.

The reader fills these tables; the JSON Schema for editors and the page of the policy are made of
them.
"""

from __future__ import annotations

import datetime as dt
import functools
import json
import pkgutil
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import NODEFAULT, Meta, Struct, field

from ltocompat.commands.policy import forms
from ltocompat.commands.policy.forms import Form, Text, Word, Words, WorseThanOk
from ltocompat.model.described import described
from ltocompat.model.policy import ANY
from ltocompat.targets.inline import SPELLINGS


def _key(example: str, form: Form | None = None, without: str = "") -> Meta:
    """What is said of a key.

    Args:
        example: a value, as TOML.
        form: what its JSON Schema says beside the type.
        without: what holds without it, where its default does not tell.
    """
    extra = {"example": example, "without": without}
    return Meta(extra=extra, extra_json_schema=dict(form or {}))


class _Table(Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """A table, whose keys are its fields."""


class TargetTable(_Table, frozen=True, kw_only=True):
    """A target on which the releases will run.

    Attributes:
        driver: The driver: a release, a branch or a range.
        container: A value of NVIDIA_REQUIRE_CUDA. The target stands for all hosts that start an
            image with this value. Use this key instead of the key driver.
        nvjitlink: The nvJitLink that links on the target.
        gpu: The GPUs: names, or architectures such as sm_90.
        nvrtc: The NVRTC that compiles on the target.
        nvlink: The release of nvlink, if your build links the code with nvlink.
        lto: "off" means that links don't use -lto.
        compat: The cuda-compat package that the loader finds before the driver.
        os: linux, linux-aarch64, windows or wsl2.
        stock: A CUDA release, with its first driver, its nvJitLink and its NVRTC.
        lock: A lock file with the nvJitLink and NVRTC that are installed on the target.
        python: The Python version for the markers of the lock file.
        name: The name that reports show.
    """

    driver: Annotated[Text | None, _key('"580.65.06"', forms.DRIVERS)] = None
    container: Annotated[str | None, _key('"cuda>=12.4"', forms.CONTAINER)] = None
    nvjitlink: Annotated[Text | None, _key('"13.3"', forms.VERSIONS)] = None
    gpu: Annotated[
        Text | Annotated[tuple[forms.GpuNames, ...], Meta(min_length=1)] | None,
        _key('["a100", "h100", "l4"]', forms.GPUS, "every GPU that an artifact serves"),
    ] = None
    nvrtc: Annotated[Text | None, _key('"13.3"', forms.VERSIONS)] = None
    nvlink: Annotated[Text | None, _key('"13.3"', forms.VERSIONS)] = None
    lto: Annotated[Literal["on", "off"], _key('"off"', without="on")] = "on"
    compat: Annotated[Text | None, _key('"13.3"', forms.COMPAT_VERSIONS)] = None
    os: Annotated[str, _key('"linux-aarch64"', forms.SYSTEM, "linux")] = "linux"
    stock: Annotated[str | None, _key('"13.3"', forms.RELEASE)] = None
    lock: Annotated[Text | None, _key('"uv.lock"', forms.NAME)] = None
    python: Annotated[str | None, _key('"3.12"', forms.PYTHON)] = None
    name: Annotated[Text, _key('"old machines"', forms.NAME, "the name of the table")] = ""


class PromiseTable(_Table, frozen=True, kw_only=True):
    """The promises of a project about its packages.

    Attributes:
        sass: Every package has SASS for these architectures.
        ptx: Every package has PTX for these architectures.
        driver: All code loads on this driver and on newer drivers.
        nvjitlink: All code links with this nvJitLink.
    """

    sass: Annotated[tuple[forms.Sass, ...], _key('["sm_80", "sm_90"]')] = ()
    ptx: Annotated[tuple[forms.Ptx, ...], _key('["compute_90"]')] = ()
    driver: Annotated[Text | None, _key('"525.60.13"', forms.DRIVER)] = None
    nvjitlink: Annotated[str | None, _key('"12.4"', forms.RELEASE)] = None


class _ExceptionTable(_Table, frozen=True, kw_only=True):
    """Findings that the audit accepts.

    Attributes:
        rule: The ID of the rule.
        reason: For readers of the policy: why the finding is harmless.
        path: A pattern for the artifact, or for a file in it. Write a name, a path, or a location.
            Leave out versions in a location: "libx-cu12::pkg/libaxpy.so".
        verdict: The worst verdict that the table accepts; a worse verdict still makes the audit
            fail.
        target: A pattern that the target's name has to match.
        gpu: The GPUs: names, or architectures for all their GPUs; [] for findings that name no GPU.
        about: A pattern that the subject of the finding has to match. A baseline shows the
            subjects.
        route: The route of the modules: load or link. Write "" for a finding whose modules can use
            only one route each.
        modules: The largest number of affected modules in one file, for one GPU and target. Write 0
            for findings about an artifact as a whole.
        asks: The newest versions that the code may require. If the code requires a newer version,
            the finding makes the audit fail.
        kernel: A pattern for kernel names. It can match the mangled name, such as
            _ZN4gemm3runIfEEvPT_, or the source name without template arguments, such as
            gemm::run. A finding is ignored only if every kernel of its modules matches. LTO-IR and
            Tile IR show no names, so findings about them are never ignored.
    """

    rule: Annotated[str, _key('"PTX-06"')]
    reason: Annotated[Word, _key('"libaxpy gets SASS in 1.1"')]
    path: Annotated[Word, _key('"libaxpy*.so"')] = ANY
    verdict: Annotated[WorseThanOk, _key('"unknown"')] = "fail"
    target: Annotated[Word, _key('"oldest"')] = ANY
    gpu: Annotated[
        Text | tuple[forms.GpuNames, ...] | None, _key('["h100"]', forms.GPUS, "every GPU")
    ] = None
    about: Annotated[Word, _key('"PTX alone"')] = ANY
    route: Annotated[Literal["load", "link", ""] | None, _key('"load"', without="any route")] = None
    modules: Annotated[Annotated[int, Meta(ge=0)] | None, _key("3", without="any number")] = None
    asks: Annotated[Words | None, _key('["driver 525.60.13"]', without="any version")] = None
    kernel: Annotated[Word, _key('"*nopHardware*"')] = ANY


class IgnoreTable(_ExceptionTable, frozen=True, kw_only=True):
    """Findings that the audit accepts until a given day.

    Attributes:
        expires: The last day on which the table applies; after that day, the audit exits with 2.
    """

    expires: Annotated[dt.date, _key("2099-12-31", forms.DAY)]


class AllowTable(_ExceptionTable, frozen=True, kw_only=True):
    """Findings that the audit always accepts."""

    path: Annotated[Word, _key('"libaxpy*.so"')]
    verdict: Annotated[WorseThanOk, _key('"unknown"')]


_Trials = bool | Literal["auto"] | Annotated[tuple[forms.ReleaseName, ...], Meta(min_length=1)]


class AuditTable(_Table, frozen=True, kw_only=True):
    """The requirements for releases.

    Attributes:
        targets: The names of the targets to check.
        require_gpus: GPUs for which every artifact must have code: SASS for the GPU or its family,
            or PTX or LTO-IR that works on the GPU.
        require_archs: Images that every artifact must contain: sm_80 is SASS for exactly this
            architecture, compute_90 is PTX, lto_90 is LTO-IR. You can also write a list as for
            PyTorch (8.0;9.0+PTX) or CMake (80-real;90), or nvcc's -gencode options. In a list for
            CMake, a number without -real or -virtual means both SASS and PTX. hopper means SASS for
            all Hopper GPUs. To require a GPU, use require-gpus.
        least_driver: The driver on which everything must load; a branch means its first release.
        max_bytes: The maximum size of a released file, in bytes or with a unit: kB, MB, GB, MiB or
            GiB.
        max_member_bytes: The maximum unpacked size of a file in a wheel or another zip.
        coverage: The minimum percentage of kernels that have code for a GPU (IMG-04). The kernels
            of the GPU with the most kernels are 100 %. Without this key, missing kernels cause only
            a warning. With --strict, this warning makes the audit fail.
        fail_on: The mildest verdict that makes the audit fail; --fail-on overrides it.
        trial_link: With true, the audit tries the nvJitLinks that the targets name. With a list
            such as ["13.3"], it tries only these releases. With "auto", it tries the installed
            nvJitLinks, but only for unknown verdicts.
        trial_load: Also load the modules on the GPUs of the machine that runs the audit. The report
            lists this machine as one more target.
        no_device_code: The result of an audit that finds no device code: pass, or undecided (exit
            code 3).
        variants: Files of which the package loads only one: the best match for the GPU. [] means
            that the package loads all files.
        provided_by: For each required package: the libraries that it installs.
        ignore: Findings that the audit accepts until a given day; see below.
        allow: Findings that the audit always accepts; see below.
    """

    targets: Annotated[
        Annotated[Words, Meta(min_length=1)] | None, _key('["oldest"]', without="all targets")
    ] = None
    require_gpus: Annotated[Words, _key('["a100", "h100"]')] = ()
    require_archs: Annotated[str | Words, _key('["sm_80", "compute_90"]', forms.ARCHS)] = ()
    least_driver: Annotated[Text | None, _key('"580"', forms.DRIVER)] = None
    max_bytes: Annotated[Text | None, _key('"100MB"', forms.SIZE)] = None
    max_member_bytes: Annotated[Text | None, _key('"400MB"', forms.SIZE)] = None
    coverage: Annotated[Annotated[int, Meta(ge=1, le=100)] | None, _key("90")] = None
    fail_on: Annotated[WorseThanOk, _key('"fail"')] = "fail"
    trial_link: Annotated[_Trials, _key("true")] = False
    trial_load: Annotated[bool, _key("true")] = False
    no_device_code: Annotated[Literal["pass", "undecided"], _key('"pass"')] = "undecided"
    variants: Annotated[Words | None, _key('["libx_cuda*.so"]', without="as detected")] = None
    provided_by: Annotated[dict[str, Words], _key('{torch = ["libcudart.so.*"]}')] = field(
        default_factory=dict
    )
    ignore: Annotated[tuple[IgnoreTable, ...], _key("")] = ()
    allow: Annotated[tuple[AllowTable, ...], _key("")] = ()


class PolicyTables(_Table, frozen=True, kw_only=True):
    """All tables; tables of targets are read like ``--deploy-target``."""

    targets: Any = None
    promise: PromiseTable | None = None
    audit: AuditTable = field(default_factory=AuditTable)


class PolicyKey(Struct, frozen=True):
    """A key of one of the tables.

    Attributes:
        name: its spelling.
        example: a value, as TOML.
        default: the default; empty if the key is required.
        text: its meaning in one or two sentences, from the docstring of its table.
        words: all values that it accepts, if they are few.
    """

    name: str
    example: str
    default: str = ""
    text: str = ""
    words: tuple[str, ...] = ()


def _keys(table: type[_Table]) -> Iterator[PolicyKey]:
    """The keys of a table, those first that must be there."""
    _, texts = described(table)
    info: Any = msgspec.inspect.type_info(table)
    for key in sorted(info.fields, key=lambda key: not key.required):
        extra = key.type.extra
        value = key.default if key.default_factory is NODEFAULT else key.default_factory()
        kinds = getattr(key.type.type, "types", (key.type.type,))
        yield PolicyKey(
            key.encode_name,
            extra["example"],
            "" if key.required else extra["without"] or json.dumps(value).replace("null", "none"),
            texts[key.name],
            getattr(kinds[0], "values", ()),
        )


_TABLES: Mapping[str, type[_Table]] = {
    "targets.NAME": TargetTable,
    "promise": PromiseTable,
    "audit": AuditTable,
    "audit.ignore": IgnoreTable,
    "audit.allow": AllowTable,
}


@functools.cache
def keys_of_tables() -> Mapping[str, tuple[PolicyKey, ...]]:
    """The keys of each table, in the order in which they are explained."""
    return {name: tuple(_keys(table)) for name, table in _TABLES.items()}


# Keys of the audit that need no target: a policy can have these alone.
TARGET_FREE = (
    *("require-gpus", "require-archs", "least-driver", "max-bytes", "max-member-bytes"),
    *("no-device-code", "provided-by", "variants", "ignore", "allow"),
)

# Tables of which an audit may have several.
EXCEPTIONS = ("ignore", "allow")


def schema() -> dict[str, Any]:
    """The JSON Schema of a policy: of an ltocompat.toml, and of ``tool.ltocompat`` elsewhere."""
    # Imported here: who reads a policy needs no list of rules for it.
    from ltocompat.rules.prose import rule_ids

    _, parts = msgspec.json.schema_components(_TABLES.values())
    for name, table in _TABLES.items():
        part = parts[table.__name__]
        part["description"] = described(table)[0]
        for key in keys_of_tables()[name]:
            form = part["properties"][key.name]
            form["description"] = key.text
            form.pop("default", None)
            if "anyOf" in form:  # TOML has no null
                form["anyOf"] = [each for each in form["anyOf"] if each != {"type": "null"}]
    for table in (IgnoreTable, AllowTable):
        parts[table.__name__]["properties"]["rule"] |= forms.rule_ids(rule_ids(built=True))
    target = parts[TargetTable.__name__]
    places = [
        key.name for key in keys_of_tables()["targets.NAME"] if key.name not in ("name", "python")
    ]
    target["anyOf"] = [{"required": [place]} for place in (*places, *SPELLINGS)]
    for alias, name in SPELLINGS.items():
        target["properties"][alias] = target["properties"][name]
        target["not"] = {"required": [alias, name]}
    # What frames the tables; schema.json also has the file whose tables were copied out of a
    # pyproject.toml, with ``tool.ltocompat`` before them.
    whole: dict[str, Any] = json.loads(pkgutil.get_data(__name__, "schema.json") or b"")
    _, only_audit = whole["$defs"]["policy"]["anyOf"]
    only_audit["properties"]["audit"]["anyOf"] += [{"required": [key]} for key in TARGET_FREE]
    whole["$defs"] |= parts
    return whole

"""Values of a message and what the tables make of them: 8.5 is the PTX of CUDA 12.5."""

from __future__ import annotations

import functools
import ntpath
import re
import shlex
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from ltocompat.facts import rows, table
from ltocompat.facts.drivers import (
    branch_cuda,
    branch_of,
    cuda_branch,
    driver_functions,
    major_floor,
)
from ltocompat.facts.gpus import sm, sms
from ltocompat.facts.libraries import library_packages, packages_with
from ltocompat.facts.toolkits import (
    HostCompilers,
    OptixRelease,
    ptx_cuda,
    pytorch_indexes,
    removed_names,
)
from ltocompat.model.arch import Release, version_numbers
from ltocompat.model.target import DriverVersion
from ltocompat.rules import prose
from ltocompat.rules.evidence import release_of
from ltocompat.rules.literals import compiled, places
from ltocompat.rules.services import capability

FIELD = re.compile(r"\{(\w+)\}")
_OPTIONAL = re.compile(r"\[\[(.*?)\]\]")
_LONG_NAME = 60  # characters of a symbol that a sentence of an answer still takes
_LONGEST_PATH = 48  # characters of a file with its folders


def values_known() -> dict[str, Any]:
    """Facts from small tables about values, by the kind of value."""
    return prose.table("values")


def derived(values: Mapping[str, str]) -> dict[str, str]:
    """Return the values of a message, with the facts of the tables about each.

    Args:
        values: the values by the names of the pattern's groups; a name with ``_`` at its end is an
            alternative of the name without.

    Returns:
        The values, and for example ``ptx_cuda`` and ``ptx_branch`` for ``ptx``.
    """
    found = {name.rstrip("_"): value.rstrip(".") for name, value in values.items()}
    if "cc" in found:
        found["sm"] = found["cc"].replace(".", "")
    found.update(("build", found[of]) for of in ("said", "toolkit", "nvcc") if of in found)
    for name, value in [*found.items()]:
        derive = _DERIVED.get(name) or values_known()["known"].get(name, {}).get
        found |= _parts(name, derive(value) or {})
    found = _made_with(_of_driver_cuda(found))
    found |= _host_compiler(found) | _package(found) | _of_gpu(found)
    if len(found.get("symbol", "")) > _LONG_NAME:
        found["symbol"] = f"{found['symbol'][:_LONG_NAME]}..."
    torch = Release.parse(found.get("torch", "0.0"))
    newest = LAST_OF_OLD if "gpu_sm_last" in found else torch
    if Release.parse(found.get("gpu_sm_first", "99.9")) <= torch <= newest:
        found.pop("gpu_sm_index", None)  # a PyTorch that knows the GPU isn't what lacks it
    major = found.get("major") or found.get("builtins", found.get("ptx_cuda", "")).split(".")[0]
    found["cu_suffix"] = "-cu12" if major == "12" else "-cu11" if major == "11" else ""
    if "needs_file" in found:
        tail = found["needs_file"][-_LONGEST_PATH:]
        short = tail == found["needs_file"]
        found["needs_path"] = tail if short else "..." + tail[max(tail.find("/"), 0) :]
        found["needs_argument"] = shlex.quote(found["needs_file"])
    found["file_argument"] = shlex.quote(found.get("file") or found.get("needs_file") or "FILE")
    return found


def _release(values: Mapping[str, str], name: str, otherwise: str = "0.0") -> Release:
    return Release.parse(values.get(name, otherwise))


def _parts(name: str, values: Mapping[str, str]) -> dict[str, str]:
    """What is known of a value, by its name and theirs."""
    return {f"{name}_{part}": value for part, value in values.items() if value}


def _of_driver_cuda(values: dict[str, str]) -> dict[str, str]:
    """Add what the driver's CUDA tells, which nvidia-smi or an error has, also of new branches."""
    smi = release_of(values["code"]) if "code" in values else values.get("smi")
    of_smi = {"driver_cuda": smi, **_parts("driver", _of_cuda(smi))} if smi else {}
    found = of_smi | values
    if found.get("driver_major") == "11":  # minor-version compatibility: it runs any 11.x
        found["driver_index"] = _index(Release.parse(values_known()["last_of"]["11"]))
    return found


def fitting_values(values: Mapping[str, str]) -> Mapping[str, str]:
    """Return the values without a CUDA that dropped the GPU or has no wheels for the Python."""
    last = _release(values, "gpu_sm_last", "99.9")
    newest = Release.parse(values_known()["last_index"].get(values.get("python"), "99.9"))
    newest = min(newest, last, LAST_OF_OLD) if "gpu_sm_last" in values else newest
    found = dict(values)
    if _release(values, "driver_cuda") > last:
        found |= {"driver_cuda": str(last), **_parts("driver", _of_cuda(str(last)))}
    for name in ("driver_index", "gpu_sm_index"):
        if Release.from_code(int(found.get(name, "cu0")[2:])) > newest:
            found[name] = _index(newest) or found[name]
    return found


def _of_gpu(values: Mapping[str, str]) -> dict[str, str]:
    """How nvcc is told the GPU, the release that the GPU needs, and whether it is ``sm`` itself."""
    arch = values.get("gpu_sm") or _native(values) or "XY"
    ptx = "20" if arch == "21" else arch  # no nvcc has compute_21
    code = f"-gencode arch=compute_{ptx},code=sm_{arch}" if arch != "native" else "-arch=native"
    note = " (XY stands for the compute capability without the dot)" if arch == "XY" else ""
    found = {"gpu_arch": arch, "gencode": code, "gpu_note": note}
    if values.get("gpu_sm", "") == values.get("sm", "?").rstrip("af"):
        found["same_gpu"] = ""
    gpus = [*map(_of_sm, values.get("gpu_sms", values.get("gpu_sm", "")).split(";"))]
    found["gpu_ccs"] = ",".join(of["cc"] for of in gpus if of)
    first = max((_release(of, "first") for of in gpus), default=Release(0, 0))
    last = min(Release.parse(of.get("last") or "99.9") for of in gpus)
    build = _release(values, "build", str(first))
    if first <= build <= last or first > last:
        return found
    if build < first:
        fit = (row.number for row in sms() if row.first_toolkit <= build and not row.tegra)
        found["gpu_ptx"] = str(max(fit, default=20))
    return {**found, "gpu_needs": str(max(first, min(build, last)))}


def _native(values: Mapping[str, str]) -> str:
    """The word with which nvcc and CMake ask the GPU, where nothing says that they are older."""
    known = _release(values, "build") >= Release(11, 6) and "no_native" not in values
    return "native" if known and _release(values, "cmake", "9.9") >= Release(3, 24) else ""


def _package(values: Mapping[str, str]) -> dict[str, str]:
    """The CUDA release of a library, and its package as pip takes it; of several none."""
    file = ntpath.basename(values.get("file", ""))
    found = {"package": values["building"]} if "building" in values else {}
    # The file's number is CUDA's own.
    if named := compiled(values_known()["of_a_cuda"]).match(file):
        cuda = values_known()["last_of"].get(named[1]) or ".".join(filter(None, named.groups()))
        found |= {"file_cuda": cuda} if "." in cuda else {}
    rows = packages_with(file)
    names = list(dict.fromkeys(row.name for row in rows if "-jit-" not in row.name))
    major = values.get("torch_major") or values.get("made_major")
    fitting = [name for name in names if name.endswith(f"-cu{major or 12}")] or names
    if len(fitting) != 1:
        return found
    (name,) = fitting
    others = [other for other in names if other != name and major is None]
    majors = {package.major for package in library_packages()[name]}
    version = "" if len(majors) == 1 else f"=={rows[0].major}.*"
    found["file_package"] = shlex.quote(f"{name}{version}")
    part = re.search(r"nvidia-(.+)-cu\d", name)
    folder = part[1].replace("-", "_") if part else f"cu{rows[0].major}"
    found["package_folder"] = values_known()["of_package"] % folder
    return found | ({"package_note": f"for another CUDA: {', '.join(others)}"} if others else {})


def _of_ptx(isa: str) -> dict[str, str]:
    cuda = ptx_cuda(isa)
    return {} if cuda is None else {"cuda": str(cuda), "branch": _branch(cuda)}


@functools.cache
def _of_cuda(text: str) -> dict[str, str]:
    cuda = Release.parse(text)
    known = {"major": str(cuda.major), "branch": _branch(cuda), "index": _index(cuda)}
    known["gcc"] = next((str(row.gcc) for row in rows(HostCompilers) if row.cuda == cuda), "")
    known |= {"digits": f"{cuda.major}{cuda.minor}", "dashed": f"{cuda.major}-{cuda.minor}"}
    if floor := major_floor(cuda.major + 1):
        known |= {"next": str(floor.branch), "next_major": str(floor.major)}
    known |= values_known()["old"].get(text, {})
    known["feature"] = f"cuda-{cuda.major}0{cuda.minor}0"  # as the crate cudarc calls it
    return known


def _made_with(values: dict[str, str]) -> dict[str, str]:
    """Add the CUDA release that made the code, as far as the text tells and it can be so.

    What a text calls its toolkit is often that of the driver: a release no newer than the driver's
    has not made what the driver calls too new.
    """
    driver = _release(values, "driver_cuda")
    for name in ("nvcc", "toolkit", "torch", "said"):
        if _release(values, name) > driver:
            return {**values, "made": values[name], **_parts("made", _of_cuda(values[name]))}
    return values


def _host_compiler(values: Mapping[str, str]) -> dict[str, str]:
    """The newest host compiler that an nvcc takes, and the CUDA release that takes a newer one."""
    if values.get("compiler", "").startswith("Microsoft"):
        return _visual_studio(values)
    over = values.get("over")  # "gcc 4.9 and up"
    before = str((int(over[0]) * 10 + int(over[2]) - 1) / 10) if over else None
    host = before or values.get("host") or values.get("build_gcc")
    if host is None:
        return {}
    clang = "host" in values and values["compiler"] == "clang"
    name, command = ("clang", "clang++") if clang else ("gcc", "g++")
    # "gcc versions later than 12", "clang version must be less than 16"
    newest = int(host.split(".")[0]) - clang
    said = host if newest == 4 else newest  # 4.8, 4.9: releases of their own (gcc.gnu.org)
    found = {"is": f"{name} {said}", "command": f"{command}-{said}", name: str(said)}
    if later := [row for row in rows(HostCompilers) if getattr(row, name) > newest]:
        found |= {"next": str(later[0].cuda), "next_is": f"{name} {getattr(later[0], name)}"}
    return _parts("host", found)


def _visual_studio(values: Mapping[str, str]) -> dict[str, str]:
    """The same of Visual Studio, where the text names the nvcc."""
    taken = {str(row.cuda): row.msvc for row in rows(HostCompilers)}
    newest = taken.get(values.get("build", ""), max(taken.values()))
    for cuda, msvc in taken.items():
        if msvc > newest:
            own, later = (values_known()["studio"][f"{of}"] for of in (newest, msvc))
            return _parts("host", {"is": own, "next": cuda, "next_is": later})
    return {}


def _index(cuda: Release) -> str:
    """The newest index of PyTorch for a CUDA release: cu121 of 12.2; none for a major without."""
    known = [row for row in pytorch_indexes() if row.major == cuda.major and row <= cuda]
    return f"cu{known[-1].major}{known[-1].minor}" if known else ""


# PyTorch's last index with code for GPUs before Turing (pytorch issue 157517).
LAST_OF_OLD = Release(12, 6)


def _first_index(cuda: Release, last: Release | None) -> str:
    """The first of PyTorch's indexes, from 11.8 on, for a GPU; the last for old GPUs."""
    rows = [row for row in pytorch_indexes() if last is None and row >= max(cuda, Release(11, 8))]
    known = [LAST_OF_OLD] * (last == Release(12, 9)) or rows
    return f"cu{known[0].major}{known[0].minor}" if known else ""


def _of_driver(text: str) -> dict[str, str]:
    branch = branch_of(DriverVersion(version_numbers(text)))
    cuda = branch_cuda(branch)
    optix = [row.optix for row in rows(OptixRelease) if row.branch <= branch]
    known = {"own_branch": str(branch), "optix": optix[-1] if optix else ""}
    of_cuda = {"cuda": str(cuda), "branch": str(branch)}
    return known if cuda is None else known | _of_cuda(str(cuda)) | of_cuda


def _of_sm(text: str) -> dict[str, str]:
    match = re.fullmatch(r"(\d{2,3})([af]?)", text)
    row = sm(int(match[1])) if match else None
    if match is None or row is None:
        return {**values_known()["fermi"].get(text, {})}
    first = row.first_toolkit
    if match[2] == "f":
        first = max(first, Release(12, 9))  # whatever their number (measured: nvJitLink)
    elif text == "90a":
        first = Release(12, 0)  # sm_90 is of CUDA 11.8 (PTX ISA, release history: 7.8, 8.0)
    return {
        "name": row.name,
        "cc": capability(row.number),
        "kokkos": f"{row.name.upper()}{row.number}",
        "first": str(first),
        "last": str(row.last_toolkit or ""),
        "branch": str(row.last_branch or ""),
        "index": "" if row.tegra else _first_index(first, row.last_toolkit),
        "jetson": values_known()["jetson"].get(text, ""),
    }


def _of_symbol(text: str) -> dict[str, str]:
    row, cuda = removed_names().get(text), driver_functions().get(text)
    if row is not None:
        return {"last": str(row.last), "instead": row.instead}
    return {} if cuda is None else {"cuda": str(cuda), "branch": _branch(cuda)}


def _branch(cuda: Release) -> str:
    first = {row["cuda"]: row["linux"] for row in table("drivers")["earlier"]}.get(str(cuda), "")
    return str(cuda_branch(cuda) or first.partition(".")[0])


_DERIVED: dict[str, Callable[[str], dict[str, str]]] = {
    **dict.fromkeys(("ptx", "reads", "linker_reads"), _of_ptx),
    **dict.fromkeys(("build", "cuda", "nvcc", "said", "toolkit", "torch"), _of_cuda),
    **dict.fromkeys(("newer", "tool"), lambda text: {"cuda": release_of(text)}),
    "driver": _of_driver,
    **dict.fromkeys(("sm", "gpu_sm"), _of_sm),
    "symbol": _of_symbol,
    "optix": lambda v: {"branch": {r.optix: str(r.branch) for r in rows(OptixRelease)}.get(v, "")},
}


def _dropped(values: Mapping[str, str]) -> bool:
    """Return whether the GPU was dropped; not where the text's toolkit is from before it."""
    build = _release(values, "build", "99.9")
    return "sm_last" in values and build >= Release.parse(values["sm_first"])


def _no_driver(values: Mapping[str, str]) -> bool:
    """Return whether the GPU's last driver is older than the program; Fermi's is, of any."""
    needed = needed_branch(values.get("cuda") or values.get("made") or "9.2")
    return int(values.get("gpu_sm_branch") or needed) < needed


def needed_branch(cuda: str) -> int:
    """Return the oldest branch whose drivers run programs of a CUDA release; 0 if none is known."""
    floor = major_floor(Release.parse(cuda).major)
    return floor.branch if floor else int(_branch(Release.parse(cuda)) or 0)


def _driver_suffices(values: Mapping[str, str]) -> bool:
    """The driver is of no older CUDA major than what the text names, or than any."""
    majors = [int(values[f"{of}_major"]) for of in ("nvcc", "toolkit", "torch") if of in values]
    if values.get("made_branch") and values["made"] != values.get("said"):
        return int(values.get("driver_own_branch", 0)) >= int(values["made_branch"])
    return "made" not in values and int(values.get("driver_major", 0)) >= max(majors, default=13)


# The conditions that a row of messages may name in its ``when``.
CONDITIONS: Mapping[str, Callable[[Mapping[str, str]], bool]] = {
    "": lambda _: True,
    "no such architecture": lambda values: "sm_first" not in values,
    "dropped": _dropped,
    "newer than the tool": lambda values: "sm_first" in values and not _dropped(values),
    "no driver for the GPU": _no_driver,
    # Of a feature that names no architecture: atomicAdd of double begins with 6.0.
    "GPU is too old": lambda of: _release(of, "gpu_sm_cc", "99.9") < _release(of, "sm_cc", "6.0"),
    "GPU is newer than the build": lambda of: of.get("gpu_needs", "") == of.get("gpu_sm_first"),
    "removed": lambda values: "symbol_last" in values,
    # nvcc guide, --compress-mode: from 550.54.14 on; it begins with nvcc 12.8 (release notes).
    "driver reads Zstandard": lambda of: version_numbers(of.get("driver", "0")) >= (550, 54),
    "may be Zstandard": lambda of: all(
        _release(of, it, "99.9") >= Release(12, 8) for it in ("nvcc", "toolkit", "torch")
    ),
    "driver is new enough": _driver_suffices,
    "driver is older than PyTorch": lambda of: (
        int(of.get("driver_own_branch", "999")) < needed_branch(of.get("torch", "0.0"))
    ),
    "another nvcc is used": lambda of: (
        _release(of, "sm_first", "99.9") <= _release(of, "build") <= _release(of, "sm_last", "99.9")
    ),
    "file is newer than the driver": lambda of: int(of["major"]) > int(of.get("driver_major", 99)),
    "names no driver": lambda of: "driver" not in of and "driver_cuda" not in of,
}


Unfit = Callable[[str], object]
NEVER: Unfit = frozenset[str]().__contains__


def filled(template: str, values: Mapping[str, str], alien: str = "", unfit: Unfit = NEVER) -> str:
    """Return a sentence with its values; braces inside values stay unchanged.

    Args:
        template: the sentence; of the alternatives in ``[[ | ]]``, the first non-empty one with
            known values is used.
        values: the values by name.
        alien: a pattern of parts for other ecosystems, which are left out.
        unfit: returns whether a part requires something that the reader can't have; such parts are
            left out.
    """

    def is_alien(part: str) -> object:
        return _LOST in part or (alien and any(places(alien, part))) or unfit(part)

    sentence, end = "", 0
    known = defaultdict(lambda: "?", values)
    for optional in _OPTIONAL.finditer(template):
        sentence += template[end : optional.start()].format_map(known)
        parts = [of for of in optional[1].split("|") if {*FIELD.findall(of)} <= values.keys()]
        kept = (_own(part.format_map(values), is_alien) for part in parts)
        lost = (_LOST for part in parts if part.format_map(values)[:1].isalnum())
        sentence += next(filter(None, kept), None) or next(lost, "")
        end = optional.end()
    return _own(sentence + template[end:].format_map(known), is_alien).lstrip(";, ")


# Stands where nothing is left that fits, so that the clause around it goes, too.
_LOST = "\0"
_ASIDE = re.compile(r" ?(?<![\w!$])\(((?:[^()]|\([^()]*\))*)\)")
_PARTED = r"; (?:or )?|, or |, and |\. (?=[A-Z])"
_WHOLE = r"""\((?:[^()]|\([^()]*\))*\)|(?<=[ =(])'[^']*'|(?<=[ =(])"[^"]*\""""
_CLAUSE = re.compile(rf"((?:{_WHOLE}|(?!{_PARTED})(?:.|\n))+)({_PARTED}|$)")
_LEADS = re.compile(r"^(?:[Ee]lse|[Oo]therwise|[Oo]r|[Tt]hen|and),? ")


def _own(text: str, is_alien: Callable[[str], object]) -> str:
    """The clauses of a text that are told to its reader, who is in one ecosystem, on one machine.

    What a clause that isn't goes on with after ``and`` goes with it.
    """
    if not is_alien(text):
        return text
    left = _ASIDE.sub(lambda aside: f" ({own})" if (own := _own(aside[1], is_alien)) else "", text)
    kept, before, goes_on = "", "", False
    for clause, after in _CLAUSE.findall(left):
        goes_on = bool(is_alien(clause)) or (goes_on and before == ", and ")
        if not goes_on:
            kept += before + clause if kept else _LEADS.sub("", clause)
        before = after
    kept = kept[:1].upper() + kept[1:] if text[:1].isupper() else kept
    return f"{kept}." if kept and text.endswith(".") and not kept.endswith(".") else kept

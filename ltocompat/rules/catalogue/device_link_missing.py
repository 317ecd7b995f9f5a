"""BLD-01: relocatable device code needs a device link before the host's linker."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.image import Host
from ltocompat.model.verdict import Verdict
from ltocompat.rules.constraints import Always, Remark
from ltocompat.rules.rule import Component, Constraint, Requirement, Rule

_REGISTER = "__cudaRegisterLinkedBinary_"
_WRAP = "__fatbinwrap_"
_DEVICE_RUNTIME = "_cuda_device_runtime_"
_FINAL = ("executable", "shared library")


def of_host(host: Host) -> Iterator[Requirement]:
    """One for each kind of name, with the first of them."""
    names = host.undefined_registrations
    registers = [name for name in names if name.startswith(_REGISTER)]
    wraps = [name for name in names if name.startswith(_WRAP)]
    runtime = [name for name in wraps if _DEVICE_RUNTIME in name]
    others = [name for name in wraps if name not in runtime]
    for found, remedy in (
        (registers, "link the device code first (nvcc -dlink, CUDA_RESOLVE_DEVICE_SYMBOLS)"),
        (others, "give the host's linker every object that the device link saw"),
        (runtime, "link with -lcudadevrt, at the device link and at the host link"),
    ):
        if found:
            yield _requirement(host, found, remedy)


def _requirement(host: Host, names: list[str], remedy: str) -> Requirement:
    final = host.type in _FINAL
    constraint: Constraint = Always(Verdict.FAIL) if final else Remark()
    count = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return Requirement(
        Component.NONE,
        constraint,
        RULE.id,
        f"the undefined {names[0]}{count}",
        _final_text(names[0]) if final else _object_text(names[0]),
        remedy,
        f"undefined symbol {names[0]}",
    )


def _final_text(name: str) -> str:
    return f"no device link was made, and the loader says: undefined symbol: {name}"


def _object_text(name: str) -> str:
    what = "the object needs a device link"
    if name.startswith(_WRAP):
        what = "the result of a device link needs the objects that went into it"
    if _DEVICE_RUNTIME in name:
        what = "the result of a device link needs -lcudadevrt"
    return f"{what}; without it the linker says: undefined reference to `{name}'"


RULE = Rule(
    id="BLD-01",
    title="Device link missing",
    statement="With -rdc=true (CUDA_SEPARABLE_COMPILATION, or INTERPROCEDURAL_OPTIMIZATION of "
    "CMake, which gives nvcc -dlto) an object registers its device code through a function that "
    "only a device link makes. The device link in turn names the object's device code, so that "
    "both links must see the same objects, and the device runtime needs libcudadevrt in both.",
    condition="__cudaRegisterLinkedBinary_* or __fatbinwrap_* is undefined: in a program or shared "
    "library the load fails; objects and archives still need their device link.",
    evidence="Undefined symbols of the host file.",
    verdict="fail; ok, with a note, in objects and archives",
    messages=(
        "undefined reference to `__cudaRegisterLinkedBinary_0571d20b_7_axpy_cu_axpy'",
        "undefined symbol: __cudaRegisterLinkedBinary_0571d20b_7_axpy_cu_axpy",
        "undefined reference to `__fatbinwrap_0571d20b_7_axpy_cu_axpy'",
        "undefined symbol: __fatbinwrap_0571d20b_7_axpy_cu_axpy",
        "nvlink fatal : expected libcudadevrt object",
    ),
    remedy="Make the device link: nvcc links both when it makes the program; else nvcc -dlink with "
    "every object and -lcudadevrt, or CUDA_RESOLVE_DEVICE_SYMBOLS of CMake; then give all of it to "
    "the host's linker. Or compile without -rdc.",
    source="nvcc guide 6.6.3; measured: objects of nvcc 13.0 and 13.5 with and without device "
    "link, linked with g++; popsift issue 181; amgcl issue 232",
    of_host=of_host,
)

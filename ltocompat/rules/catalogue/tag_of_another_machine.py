"""PKG-06: the platform tag of a package promises another machine than its libraries are for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ltocompat.model.image import Host
from ltocompat.model.verdict import Verdict
from ltocompat.packages.values import Kind, Shipped
from ltocompat.rules.rule import Problem, Rule

_ENDINGS = {
    "x86_64": ("ELF", "x86-64"),
    "aarch64": ("ELF", "AArch64"),
    "amd64": ("PE", "x86-64"),
    "win_arm64": ("PE", "AArch64"),
    "linux-64": ("ELF", "x86-64"),
    "win-64": ("PE", "x86-64"),
    "win-arm64": ("PE", "AArch64"),
}
_OF_MACHINES = {
    ("ELF", "x86-64"): ("manylinux_2_28_x86_64", "linux-64"),
    ("ELF", "AArch64"): ("manylinux_2_28_aarch64", "linux-aarch64"),
    ("PE", "x86-64"): ("win_amd64", "win-64"),
    ("PE", "AArch64"): ("win_arm64", "win-arm64"),
}
_ANY = ("any", "noarch")


def of_package(shipped: Shipped) -> Iterator[Problem]:
    """One where no library, or not every library, is for what the tag says."""
    platforms = shipped.package.platforms
    promised = {machine for platform in platforms if (machine := _machine(platform))}
    anywhere = bool(set(platforms) & set(_ANY))
    if not promised and not anywhere:
        return
    hosts = [host for host in shipped.hosts if host.linked and host.format in ("ELF", "PE")]
    other = [host for host in hosts if (host.format, host.machine) not in promised]
    if not other:
        return
    kinds = Counter((host.format, host.machine) for host in other)
    kind = kinds.most_common(1)[0][0]
    first = next(host for host in other if (host.format, host.machine) == kind)
    named = _OF_MACHINES.get(kind)
    right = named[shipped.package.kind is Kind.CONDA] if named else f"one of {kind[1]}"
    whole = len(other) == len(hosts)
    yield Problem(
        RULE.id,
        Verdict.FAIL if whole else Verdict.OK,
        f"its tag says {'.'.join(platforms)}, but {_told(other, hosts)} for {kind[1]} ({kind[0]})",
        f"tag it {right}" if whole else "leave out what does not run there, if nothing reads it",
        str(first.place),
    )


def _told(other: list[Host], hosts: list[Host]) -> str:
    many = "library or program is" if len(hosts) == 1 else "libraries and programs are"
    return f"{len(other)} of {len(hosts)} {many}"


def _machine(platform: str) -> tuple[str, str] | None:
    for ending, machine in _ENDINGS.items():
        if platform.endswith(ending):
            return machine
    return None


RULE = Rule(
    id="PKG-06",
    title="Platform tag of another machine",
    statement="Installers choose a wheel by the platform in its file name, and conda by the "
    "folder that it is in; neither looks inside.",
    condition="The libraries and programs of a package are for another machine or system than "
    "its tag says, or the tag says any. Other tags than those of Linux and Windows on x86-64 and "
    "AArch64 are not judged.",
    evidence="The file name of the wheel (WHEEL of an installed one), subdir of conda; the "
    "headers of ELF and PE files.",
    verdict="fail where none is for it; ok, with a note, where some are",
    messages=("wrong ELF class", "cannot open shared object file", "invalid ELF header"),
    remedy="Tag the package with what its libraries are for.",
    source="binary distribution format of Python; PEP 600; conda documentation",
    of_package=of_package,
)

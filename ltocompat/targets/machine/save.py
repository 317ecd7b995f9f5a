"""Facts found on a machine as a deploy target, to be judged for or saved."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ltocompat.model.arch import Release
from ltocompat.model.environment import Environment, LocalGpu
from ltocompat.model.generic import T
from ltocompat.model.library_name import LDSO, PATHFINDER
from ltocompat.model.target import THIS_MACHINE, DriverVersion, Gpu, Quantifier, Target, VersionSet
from ltocompat.targets.gpu_groups import known_gpu


def target_of(environment: Environment, name: str = THIS_MACHINE) -> Target:
    """Return the deploy target of a machine; every part has its source.

    If loading methods find different versions of a compiler or linker, the target has one of them,
    and it is unknown which.
    """
    parts = {
        "driver": _driver(environment),
        "compat": _compat(environment),
        "nvjitlink": _picked(environment, "nvJitLink"),
        "nvrtc": _picked(environment, "nvrtc"),
        "nvlink": _nvlink(environment),
    }
    kinds = (_gpu(gpu, tegra=environment.jetson is not None) for gpu in environment.gpus)
    gpus = tuple(dict.fromkeys(filter(None, kinds)))  # but those whose architecture nothing tells
    sources = {"os": f"{THIS_MACHINE}: its files"}
    sources |= {key: part.source for key, part in parts.items() if part}
    sources |= {"gpu": f"{THIS_MACHINE}: {environment.gpus[0].source}"} if gpus else {}
    whole = Target(name=name, system=environment.system, gpus=gpus, sources=tuple(sources.items()))
    return replace(whole, **parts)


def _driver(environment: Environment) -> VersionSet[DriverVersion] | None:
    kernel, user = environment.kernel_driver, environment.user_driver
    if kernel:
        return _known((kernel.version,), kernel.source)
    # A driver's libcuda is of the kernel driver's version; a compat copy or a stub tells nothing.
    if user and user.version and not user.is_compat and not user.stub:
        return _known((user.version,), user.real)
    return None


def _compat(environment: Environment) -> VersionSet[Release] | None:
    user = environment.user_driver
    if user is None or not user.is_compat or user.cuda is None:
        return None
    return _known((user.cuda,), f"{user.path} ({user.cuda_source})")


def _picked(environment: Environment, library: str) -> VersionSet[Release] | None:
    """Return what programs load: by cuda-pathfinder, and by dlopen of the first soname there is."""
    found: dict[Release, list[str]] = {}
    for way in (PATHFINDER, LDSO):
        for pick in environment.picked(library, way):
            if pick.version:
                found.setdefault(Release.parse(pick.version), []).append(f"{way}: {pick.path}")
                break
    if not found:
        return None
    sources = (source for ways in found.values() for source in ways)
    return _known(sorted(found), ", ".join(sources))


def _nvlink(environment: Environment) -> VersionSet[Release] | None:
    """The nvlink of the toolkit whose nvcc runs, else of the first toolkit that has one."""
    having = [toolkit for toolkit in environment.toolkits if toolkit.nvlink and toolkit.version]
    having.sort(key=lambda toolkit: "PATH" not in toolkit.reached)
    for toolkit in having[:1]:
        release = Release.parse(toolkit.version or "")
        return _known((release,), f"{toolkit.root} ({toolkit.evidence})")
    return None


def _gpu(local: LocalGpu, *, tegra: bool) -> Gpu | None:
    known = known_gpu(local.name)
    if known and (local.arch is None or known.arch == local.arch):
        return replace(known, name=local.name)
    if local.arch is None:
        return None
    # cuda-compat is made for Jetsons; of an unknown name it isn't known.
    return Gpu(local.name, local.arch, data_center=True if tegra else None, tegra=tegra)


def _known(values: Sequence[T], source: str) -> VersionSet[T]:
    text = " or ".join(map(str, values))
    return VersionSet(text, tuple(values), Quantifier.ONE_OF, f"{THIS_MACHINE}: {source}")

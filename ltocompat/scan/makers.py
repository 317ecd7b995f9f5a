"""Producers of images, by their bytes and the tables of releases. Never a guess."""

from __future__ import annotations

from functools import lru_cache

from ltocompat.files.images.cubin_notes import ToolNote
from ltocompat.files.images.ptx import Ptx
from ltocompat.model.arch import Release
from ltocompat.model.image import LtoIrVersions, Producer, Role

# Beginnings of the names of tools in cubins; each is that of the program file, so that
# a suffix such as nvlink-13.5 is possible. "nvJIT API" is nvJitLink without LTO. Every other tool
# is taken for a compiler: ptxas, and nvasm_internal, NVIDIA's assembler for hand-written kernels.
_TOOL_ROLES = (("nvlink", Role.LINKER), ("nvJIT API", Role.LINKER), ("finalizer", Role.FINALIZER))


@lru_cache(maxsize=1024)
def tool_role(tool: str) -> Role:
    """The role of a tool that names itself in a note."""
    return next((role for start, role in _TOOL_ROLES if tool.startswith(start)), Role.COMPILER)


@lru_cache(maxsize=1024)
def ltoir_makers(
    versions: LtoIrVersions, *, linked: bool = False, keyless: bool = False
) -> tuple[Producer, ...]:
    """Return the producer of an LTO-IR image.

    It is an exact minor release by the NVVM IR version if that is readable, else the set of
    releases that write its container. nvJitLink stamps LTO-IR that it emits with its own release,
    whatever its inputs are. The producer is then the linker, and the compiler stays unknown. A
    scrambled image doesn't show whether a compiler or a linker made it.
    """
    from ltocompat.facts import ltoir

    by_container = versions.nvvm_ir is None
    what = "LTO-IR container" if by_container else "NVVM IR"
    evidence = f"{what} {versions.container if by_container else versions.nvvm_ir}"
    if keyless:
        text = f"older than {ltoir.releases()[0]}"
        known = ltoir.keyless_releases()
        return (Producer(Role.COMPILER, None, text, known, f"{evidence}, no key word"),)
    evidence += ", linker's mark" if linked else ""
    below, above = ltoir.around(versions)
    if below != above:
        return (Producer(Role.COMPILER, None, _between(below, above), (), evidence),)
    role = Role.LINKER if linked and below else Role.COMPILER
    version = str(below[0]) if len(below) == 1 else None
    return (Producer(role, None, version, below, evidence),)


def _between(below: tuple[Release, ...], above: tuple[Release, ...]) -> str:
    """The maker of LTO-IR for which the tables have no row: newer, older or between."""
    if not below:
        return f"older than {above[0]}"
    return f"between {below[-1]} and {above[0]}" if above else f"newer than {below[-1]}"


def ptx_makers(ptx: Ptx) -> tuple[Producer, ...]:
    """Return the compiler named in a comment of a PTX text; PTX in fatbins has no comments."""
    if ptx.toolkit is not None:
        release = Release.parse(ptx.toolkit)
        return (Producer(Role.COMPILER, "NVVM", ptx.toolkit, (release,), "PTX comment"),)
    if ptx.generator is not None:
        return (Producer(Role.COMPILER, ptx.generator, None, (), "PTX comment"),)
    return ()


@lru_cache(maxsize=1024)
def cubin_makers(
    tools: tuple[ToolNote, ...],
    toolkit: int | None,
    api_versions: frozenset[int],
    *,
    header_toolkit: int | None,
) -> tuple[Producer, ...]:
    """Return the producers of a cubin, oldest first.

    Args:
        tools: notes on tools (generation 2), newest first.
        toolkit: compiler by the cuinfo note (generation 2), 10 * major + minor.
        api_versions: CUDA_API_VERSION of the kernels, 10 * major + minor.
        header_toolkit: ``e_version`` (generation 1), 10 * major + minor.
    """
    if tools:
        # Two objects of one compiler leave two notes; the linker's comes first.
        noted = tuple(dict.fromkeys(_noted(note) for note in reversed(tools)))
        linked = any(maker.role is Role.LINKER for maker in noted)
        return (_unnoted(noted, api_versions) if linked else ()) + noted
    if header_toolkit is not None:
        return _generation_1(header_toolkit, api_versions)
    if toolkit is not None:
        return (_compiler(toolkit, "cuinfo note"),)
    return tuple(_by_kernel(version) for version in sorted(api_versions))


def _noted(note: ToolNote) -> Producer:
    releases = (Release.parse(note.version),) if note.version else ()
    return Producer(tool_role(note.tool), note.tool or None, note.version, releases, "tkinfo note")


def _unnoted(noted: tuple[Producer, ...], api_versions: frozenset[int]) -> tuple[Producer, ...]:
    """Compilers of linked objects that left no note: those of generation 1 don't."""
    releases = {r for maker in noted if maker.role is Role.COMPILER for r in maker.releases}
    return tuple(
        _by_kernel(v) for v in sorted(api_versions) if Release.from_code(v) not in releases
    )


def _generation_1(header: int, api_versions: frozenset[int]) -> tuple[Producer, ...]:
    """``e_version`` is the tool that wrote the file; kernels of another release were linked in."""
    if api_versions <= {header}:
        return (_compiler(header, f"e_version {header:#x}"),)
    release = Release.from_code(header)
    linker = Producer(Role.LINKER, None, str(release), (release,), f"e_version {header:#x}")
    return (*(_by_kernel(version) for version in sorted(api_versions)), linker)


def _by_kernel(version: int) -> Producer:
    return _compiler(version, f"CUDA_API_VERSION {version:#x}")


def _compiler(code: int, evidence: str) -> Producer:
    release = Release.from_code(code)
    return Producer(Role.COMPILER, None, str(release), (release,), evidence)

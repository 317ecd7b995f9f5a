"""Installing one linker for trials: download, check, keep what it runs with and nothing else."""

from __future__ import annotations

import functools
import hashlib
import logging
import lzma
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
import zipfile
import zlib
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from typing import IO, Any

from ltocompat.files.regular import sha256_of_path
from ltocompat.model.errors import LtocompatError, Malformed, Missing, restated
from ltocompat.model.failure import TRIAL_LOGGER, OnStep
from ltocompat.model.limits import MIB, Budget
from ltocompat.model.linker import Linker, Tool
from ltocompat.targets.linkers.cache import Cache, InstalledFile, InstallOrigin
from ltocompat.targets.linkers.identify import identify
from ltocompat.targets.linkers.installed_files import LARGEST
from ltocompat.targets.linkers.machine import Machine, program_folders, program_path
from ltocompat.targets.linkers.version_request import ALL, VersionRequest, matches

_PIP = ("download", "--quiet", "--no-deps", "--no-input", "--disable-pip-version-check")
_LONGEST = 300
_PERIOD = 0.2  # seconds between two reports of progress


@functools.cache
def _table() -> dict[str, Any]:
    """What of the user's environment is passed on, and the causes of failures: our own table."""
    return tomllib.loads((pkgutil.get_data(__name__, "installing.toml") or b"").decode("utf-8"))


def fetch(requirement: str, folder: str) -> None:
    """Put the wheel of ``requirement`` (``nvidia-nvjitlink==13.5.37``) into ``folder``.

    uv has no download: it unpacks the wheel there instead.

    Raises:
        Missing: there is neither pip nor uv, or no wheel came.
    """
    folder = os.path.abspath(folder)
    command = [*_tool(requirement, folder), "--only-binary", ":all:", requirement]
    text = f"{command[0]!r} can't be run"
    with restated(Missing, text, OSError, advice="; install pip or uv", brief=True):
        done = _run(command, folder)
    if done.returncode:
        raise Missing(
            f"{requirement} can't be downloaded: {_cause(done.stderr)}; check the network and the "
            "index in the configuration of pip or uv"
        )


def _tool(requirement: str, folder: str) -> list[str]:
    """The program that downloads, and its first arguments; ``folder`` is absolute."""
    # -I: pip comes from this Python's own packages, never from the current folder or PYTHONPATH.
    python = [sys.executable, "-I"]
    if _succeeds([*python, "-c", "import pip.__main__"], folder):
        return [*python, "-m", "pip", *_PIP, "--dest", folder]
    uv = program_path("uv")
    if uv is not None:
        target = ["--python", sys.executable, "--target", folder]
        return [uv, "pip", "install", "--quiet", "--no-deps", *target]
    pip = program_path("pip3") or program_path("pip")
    if pip is not None:
        return [pip, *_PIP, "--dest", folder]
    raise Missing(f"{requirement} can't be downloaded without pip or uv; install pip or uv")


def _succeeds(command: list[str], folder: str) -> bool:
    with suppress(OSError):
        return _run(command, folder).returncode == 0
    return False


def _run(command: list[str], folder: str) -> subprocess.CompletedProcess[str]:
    """Run a downloader in a folder of its own below ``folder``.

    The user's current folder may be one that somebody else wrote, and Python and pip run what they
    find there. uv reads settings in the folders around it, up to the first that has any.
    """
    # pip that is killed leaves its own temporary files: let them lie where all is removed.
    empty, scratch = (os.path.join(folder, name) for name in (".empty", ".scratch"))
    for place in (empty, scratch):
        os.makedirs(place, exist_ok=True)
    with open(os.path.join(empty, "uv.toml"), "w", encoding="utf-8"):
        pass
    return subprocess.run(  # noqa: S603 - the words are ours, and the requirement was parsed
        command,
        capture_output=True,
        check=False,
        cwd=empty,
        env=_environment() | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), scratch),
        stdin=subprocess.DEVNULL,
        text=True,
        errors="replace",
    )


def _environment() -> dict[str, str]:
    """Return the user's variables that set up indexes, proxies and certificates, and no others.

    Relative paths of files are made absolute, since the downloader runs in another folder.
    """
    table = _table()
    known = {*table["variables"], *table["files"]}
    kept = {
        name: value
        for name, value in os.environ.items()
        if name.upper() in known or name.startswith(tuple(table["beginnings"]))
    }
    for name in kept.keys() & table["files"]:
        kept[name] = re.sub(r"[^\s,]+", lambda match: _absolute(match[0]), kept[name])
    for name in table["folder_lists"]:
        folders = os.environ.get(name, "").split(os.pathsep)
        kept[name] = os.pathsep.join(filter(os.path.isabs, folders))
    kept["PATH"] = os.pathsep.join(program_folders())
    return {name: value for name, value in kept.items() if value}


def _absolute(text: str) -> str:
    """A relative path of something that exists, made absolute; other text and URLs stay."""
    return os.path.abspath(text) if "://" not in text and os.path.exists(text) else text


def _cause(text: str) -> str:
    """Why it failed, in a few words: the known causes, else the last thing that was said."""
    for row in _table()["cause"]:
        if any(mark in text for mark in row["words"]):
            return str(row["is"])
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:_LONGEST].rstrip(".") if lines else "no reason was given"


# Puts the wheel of a requirement into a folder, packed or unpacked.
Fetch = Callable[[str, str], None]

# The one file of a package that is kept, by the package's name without its suffix.
_KEPT = {
    "nvidia-nvjitlink": re.compile(
        r"libnvJitLink\.so\.[0-9]{1,9}|nvJitLink_[0-9]{1,9}_[0-9]{1,9}\.dll"
    ),
    "nvidia-cuda-nvcc": re.compile(r"nvlink"),
    "nvidia-nvvm": re.compile(r"libnvvm\.so\.[0-9]{1,9}"),
}
# Errors of zipfile for a broken file; RuntimeError where it claims to be encrypted.
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError),
    *(EOFError, ValueError, RuntimeError),
)


def remove(wanted: str, cache: Cache) -> tuple[Linker, ...]:
    """Remove installed versions: ``12.4`` (every patch level), ``12.4.127``, or ``all``.

    Raises:
        Missing: none of them is installed for trials.
        LtocompatError: it can't be removed.
    """
    installed = cache.installed()
    found = [each for each in installed if wanted == ALL or matches(wanted, each.version)]
    if not found:
        raise Missing(
            f"no {cache.tool.label} {wanted!r} is installed for trials; see: ltocompat linkers list"
        )
    for linker in found:
        cache.remove(linker)
    return tuple(found)


def present(wanted: VersionRequest, cache: Cache) -> Linker | None:
    """Return the newest installed version that is wanted."""
    fitting = [linker for linker in cache.installed() if matches(wanted.asked, linker.version)]
    return fitting[-1] if fitting else None


def install_one(
    wanted: VersionRequest, cache: Cache, fetch_wheel: Fetch = fetch, report: OnStep | None = None
) -> Linker:
    """Install one version unless it exists; leave nothing behind after an error.

    Args:
        wanted: the version.
        cache: gets its files.
        fetch_wheel: downloads a wheel.
        report: called with the version, the downloaded bytes and all bytes.

    Raises:
        Missing: it can't be downloaded.
        LtocompatError: the download is not the expected file, or the cache can't be written.
    """
    already = present(wanted, cache)
    if already is not None:
        return already
    size = f" ({wanted.size / MIB:.1f} MiB)" if wanted.size else ""
    logging.getLogger(TRIAL_LOGGER).info("downloading %s%s to %s", wanted, size, cache.folder)
    with cache.part() as part, ThreadPoolExecutor(1) as pool:
        kept = os.path.join(part, "kept")
        os.mkdir(kept)
        files = []
        for number, requirement in enumerate(wanted.requirements):
            arrived = os.path.join(part, f"arrived-{number}")
            text = f"the wheel of {requirement} can't be unpacked"
            with restated(
                LtocompatError, text, OSError, *_BROKEN, advice="; try again", brief=True
            ):
                os.mkdir(arrived)
                fetched = pool.submit(fetch_wheel, requirement, arrived)
                while wait([fetched], _PERIOD).not_done:
                    if report is not None and wanted.size:
                        report(str(wanted), min(_bytes_below(part), wanted.size - 1), wanted.size)
                fetched.result()
                files.append(_unpack(wanted, number, arrived, kept))
        return cache.keep(kept, _origin(wanted, files, kept))


def _bytes_below(folder: str) -> int:
    """Return the bytes of the files in a folder, in which a downloader is at work."""
    found = (os.path.join(top, file) for top, _, files in os.walk(folder) for file in files)
    return sum(os.path.getsize(path) for path in found if os.path.exists(path))


def _unpack(wanted: VersionRequest, number: int, arrived: str, kept: str) -> InstalledFile:
    """Move the file of package ``number`` from what was fetched into ``kept``, and check both."""
    requirement = wanted.requirements[number]
    known = wanted.wheels[number] if wanted.wheels else None
    pattern = _KEPT[wanted.packages[number].partition("-cu1")[0]]
    wheels = [name for name in os.listdir(arrived) if name.endswith(".whl")]
    if len(wheels) == 1:
        path = os.path.join(arrived, wheels[0])
        if known:
            _check(requirement, "the wheel", sha256_of_path(path), known.wheel_sha256)
        with zipfile.ZipFile(path) as archive:  # nothing else is unpacked
            member = _only(wheels[0], archive.namelist(), pattern)
            with archive.open(member) as source:
                copy = _copied(source, member, kept, wheels[0])
    else:  # the tool that fetched the wheel unpacked it
        found = (os.path.join(top, file) for top, _, files in os.walk(arrived) for file in files)
        path = _only(requirement, found, pattern)
        with open(path, "rb") as source:
            copy = _copied(source, path, kept, wheels[0] if wheels else requirement)
    if known:
        _check(requirement, f"{copy.name} in the wheel", copy.sha256, known.member_sha256)
    return copy


def _origin(wanted: VersionRequest, files: list[InstalledFile], kept: str) -> InstallOrigin:
    """Describe the origin of the files in ``kept``, the linker itself being the first."""
    requirement, path = wanted.requirements[0], os.path.join(kept, files[0].name)
    text = f"{requirement} can't be used"
    with (
        restated(LtocompatError, text, Malformed, advice="; report this"),
        Machine().viewed(path) as view,
    ):
        linker = identify(view, Budget(), (), wanted.tool)
    if not matches(wanted.asked, linker.version):
        raise LtocompatError(
            f"{requirement} contains {linker}, not the version in its name; tell the package index"
        )
    if wanted.tool is Tool.NVLINK:
        os.chmod(path, 0o755)  # noqa: S103 - a program that anyone may run
    evidence = "SHA-256 of the release" if wanted.wheels else linker.evidence
    return InstallOrigin(linker.version, tuple(files), evidence, linker.machine)


def _only(what: str, paths: Iterable[str], pattern: re.Pattern[str]) -> str:
    """The one path whose file has a name like this."""
    found = [path for path in paths if pattern.fullmatch(os.path.basename(path))]
    if len(found) != 1:
        raise LtocompatError(
            f"{what} has {len(found)} files like {pattern.pattern}, not 1; tell the package index"
        )
    return found[0]


def _copied(source: IO[bytes], path: str, kept: str, wheel: str) -> InstalledFile:
    digest, size, name = hashlib.sha256(), 0, os.path.basename(path)
    with open(os.path.join(kept, name), "xb") as target:
        while piece := source.read(MIB):
            size += len(piece)
            if size > LARGEST:
                raise LtocompatError(
                    f"{target.name!r} is over the limit of {LARGEST} bytes; tell the package index"
                )
            digest.update(piece)
            target.write(piece)
    return InstalledFile(name, size, digest.hexdigest(), wheel)


def _check(requirement: str, what: str, found: str, expected: str) -> None:
    if found != expected:
        raise LtocompatError(
            f"{what} of {requirement} has the wrong SHA-256, {found} instead of {expected}; it "
            "was deleted: check the index or the mirror"
        )

"""Fetching a wheel with the user's own pip or uv, so that mirrors, proxies and indexes apply."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from ltocompat.model.errors import Missing
from ltocompat.targets.linkers.machine import program_path

_PIP = ("download", "--quiet", "--no-deps", "--no-input", "--disable-pip-version-check")
_UNREACHABLE = (
    "Retrying (",
    "NewConnectionError",
    "Connection refused",
    "Connection error",
    "error sending request",
    "Could not connect",
    "dns error",
    "timed out",
    "Network connectivity is disabled",
)
_UNKNOWN = ("No matching distribution", "there is no version of", "was not found", "no wheels")
_CAUSES = ((_UNREACHABLE, "no package index can be reached"), (_UNKNOWN, "the index lacks it"))
_LONGEST = 300
# Variables that name files, one or more with blanks or commas between them. Sources: pip's manual,
# "Configuration"; uv's manual, "Environment variables".
_FILES = {
    "CURL_CA_BUNDLE",
    "NETRC",
    "PIP_CERT",
    "PIP_CLIENT_CERT",
    "PIP_CONFIG_FILE",
    "PIP_CONSTRAINT",
    "PIP_FIND_LINKS",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "SSL_CLIENT_CERT",
    "UV_CONFIG_FILE",
    "UV_CONSTRAINT",
    "UV_FIND_LINKS",
}


def fetch(requirement: str, folder: str) -> None:
    """Put the wheel of ``requirement`` (``nvidia-nvjitlink==13.5.37``) into ``folder``.

    uv has no download: it leaves the files of the wheel there instead.

    Raises:
        Missing: there is neither pip nor uv, or it gave no wheel.
    """
    folder = os.path.abspath(folder)
    command = [*_tool(requirement, folder), "--only-binary", ":all:", requirement]
    try:
        done = _run(command, folder)
    except OSError as error:
        raise Missing(
            f"{command[0]!r} can't be run: {error.strerror}; install pip or uv"
        ) from error
    if done.returncode:
        raise Missing(
            f"{requirement} can't be downloaded: {_cause(done.stderr)}; check the network and the "
            "index that pip or uv is set up with"
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
    raise Missing(f"{requirement} can't be downloaded: there is no pip and no uv; install one")


def _succeeds(command: list[str], folder: str) -> bool:
    try:
        return _run(command, folder).returncode == 0
    except OSError:
        return False


def _run(command: list[str], folder: str) -> subprocess.CompletedProcess[str]:
    """Run a downloader in an empty folder below ``folder``.

    The user's current folder may be one that somebody else wrote, and Python and pip run what they
    find there.
    """
    # pip that is killed leaves its own temporary files: let them lie where all is removed.
    empty, scratch = (os.path.join(folder, name) for name in (".empty", ".scratch"))
    for place in (empty, scratch):
        os.makedirs(place, exist_ok=True)
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
    """The user's own, so that indexes and proxies apply; without what makes Python run files.

    Relative paths of files are made absolute, since the downloader runs in another folder.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    for name in _FILES & kept.keys():
        kept[name] = re.sub(r"[^\s,]+", lambda match: _absolute(match[0]), kept[name])
    return kept


def _absolute(text: str) -> str:
    """A relative path of something that exists, made absolute; other text and URLs stay."""
    return os.path.abspath(text) if "://" not in text and os.path.exists(text) else text


def _cause(text: str) -> str:
    """Why it failed, in a few words: the known causes, else the last thing that was said."""
    for marks, cause in _CAUSES:
        if any(mark in text for mark in marks):
            return cause
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:_LONGEST].rstrip(".") if lines else "no reason was given"

"""Fetching a wheel with the user's own pip or uv, so that mirrors, proxies and indexes apply."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys

from ltocompat.errors import Missing

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


def fetch(requirement: str, folder: str) -> None:
    """Put the wheel of ``requirement`` (``nvidia-nvjitlink==13.5.37``) into ``folder``.

    uv has no download: it leaves the files of the wheel there instead.

    Raises:
        Missing: there is neither pip nor uv, or it gave no wheel.
    """
    command = [*_tool(requirement, folder), "--only-binary", ":all:", requirement]
    # pip that is killed leaves its own temporary files: let them lie where all is removed.
    scratch = os.path.join(folder, ".scratch")
    try:
        os.makedirs(scratch, exist_ok=True)
        done = subprocess.run(  # noqa: S603 - the words are ours, and the requirement was parsed
            command,
            capture_output=True,
            check=False,
            env=os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), scratch),
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
        )
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
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", *_PIP, "--dest", folder]
    uv = shutil.which("uv")
    if uv is not None:
        target = ["--python", sys.executable, "--target", folder]
        return [uv, "pip", "install", "--quiet", "--no-deps", *target]
    pip = shutil.which("pip3") or shutil.which("pip")
    if pip is not None:
        return [pip, *_PIP, "--dest", folder]
    raise Missing(f"{requirement} can't be downloaded: there is no pip and no uv; install one")


def _cause(said: str) -> str:
    """Why it failed, in a few words: the known causes, else the last thing that was said."""
    for marks, cause in _CAUSES:
        if any(mark in said for mark in marks):
            return cause
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1][:_LONGEST].rstrip(".") if lines else "no reason was given"

"""A secret of this user's, by which what was kept by earlier runs is known to be ours.

Caches travel: a CI job restores what another job, of a stranger's branch, has stored. What is not
sealed with the secret is as good as absent. It lies beside no cache, in
``$XDG_STATE_HOME/ltocompat/seal.key``; who wants kept answers to count in another place sets
LTOCOMPAT_CACHE_KEY there to a secret of their own.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import stat
import sys
import tempfile
from collections.abc import Mapping

from msgspec import Struct

KEY_VARIABLE = "LTOCOMPAT_CACHE_KEY"
# Bytes of a seal, and of the secret.
SIZE = 32
_FILE = "seal.key"
_THE_FILE_ITSELF = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


class Seal(Struct):
    """Seals bytes with a secret, and verifies such seals."""

    _secret: bytes

    @classmethod
    def of(cls, environ: Mapping[str, str] | None = None) -> Seal | None:
        """Return the seal of this user, with a new secret if there is none.

        None if no secret can be kept that others can't read.
        """
        known = os.environ if environ is None else environ
        if given := known.get(KEY_VARIABLE):
            return cls(hashlib.sha256(os.fsencode(given)).digest())
        with contextlib.suppress(OSError):
            folder = user_folder(known, "XDG_STATE_HOME", os.path.join(".local", "state"))
            path = os.path.join(folder, _FILE)
            secret = _read(path) or _make(path)
            return None if secret is None else cls(secret)
        return None

    def seal(self, *parts: bytes) -> bytes:
        """Return the seal of these parts, in this order."""
        digest = hmac.new(self._secret, digestmod="sha256")
        for part in parts:
            digest.update(len(part).to_bytes(8, "little") + part)
        return digest.digest()

    def is_on(self, seal: bytes, *parts: bytes) -> bool:
        """Return whether this is the seal of the parts with this secret."""
        return hmac.compare_digest(seal, self.seal(*parts))


def user_folder(environ: Mapping[str, str], variable: str, default: str) -> str:
    """Return this program's folder below the folder of a variable; LOCALAPPDATA on Windows.

    Args:
        environ: environment variables.
        variable: a variable of the XDG specification.
        default: its default folder in the user's home.
    """
    base = environ.get("LOCALAPPDATA" if sys.platform == "win32" else variable, "")
    if not os.path.isabs(base):  # the XDG specification: others are to be ignored
        base = os.path.join(environ.get("HOME") or os.path.expanduser("~"), default)
    return os.path.join(base, "ltocompat")


def _read(path: str) -> bytes | None:
    """The secret; None if there is none, or one that others can read or have written."""
    try:
        file = os.open(path, os.O_RDONLY | _THE_FILE_ITSELF)
    except FileNotFoundError:
        return None
    try:
        status = os.fstat(file)
        ours = sys.platform == "win32" or (
            status.st_uid == os.getuid() and not status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
        )
        secret = os.read(file, SIZE) if ours and stat.S_ISREG(status.st_mode) else b""
        return secret if len(secret) == SIZE else None
    finally:
        os.close(file)


def _make(path: str) -> bytes | None:
    """A new secret; where another run makes one too, the last one counts from then on."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    write_private(path, secrets.token_bytes(SIZE))
    return _read(path)


def write_private(path: str, data: bytes) -> None:
    """Write a file that nobody else can read, and replace an existing one.

    Raises:
        OSError: it can't be written; no part of it is left.
    """
    fd, part = tempfile.mkstemp(dir=os.path.dirname(path))
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        os.replace(part, path)
    except OSError:
        os.unlink(part)
        raise

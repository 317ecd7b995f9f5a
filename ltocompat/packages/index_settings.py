"""The user's package index, as pip finds it: its configuration files, then its variables.

Source: pip's documentation, "Configuration" and "pip config".
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec

from msgspec import Struct

from ltocompat.model.errors import UsageError

_SETTING = re.compile(r"^(\S+?)=('.*'|\".*\")$", re.MULTILINE)
_KEYS = ("index-url", "extra-index-url", "cert", "proxy")


class IndexSettings(Struct, frozen=True):
    """The indexes of a user.

    Attributes:
        urls: their addresses, the main one first.
        cert: a file of CA certificates; None for the system's.
        proxy: address of a proxy; None: the variables ``http_proxy`` etc.
    """

    urls: tuple[str, ...]
    cert: str | None = None
    proxy: str | None = None

    @classmethod
    def of(cls, environ: Mapping[str, str] | None = None) -> IndexSettings:
        """Return the settings of this user, as pip reads them.

        Args:
            environ: the variables; None: the variables of this process.

        Raises:
            UsageError: they name no index, and no pip knows one.
        """
        known = os.environ if environ is None else environ
        values = _read(known)
        given = {key: known.get(f"PIP_{key.upper().replace('-', '_')}") for key in _KEYS}
        values |= {key: text for key, text in given.items() if text}
        main = values.get("index-url", "").strip() or _default_index()
        urls = (main, *values.get("extra-index-url", "").split())
        cert = values.get("cert") or known.get("REQUESTS_CA_BUNDLE") or None
        return cls(tuple(dict.fromkeys(urls)), cert, values.get("proxy") or None)


def _default_index() -> str:
    """The index that pip takes where no setting names one; it tells that nowhere in public."""
    try:
        from pip._internal.models.index import PyPI

        return str(PyPI.simple_url)
    except (ImportError, AttributeError) as error:
        raise UsageError(
            "no package index is configured, and no installed pip has a default index; set "
            "PIP_INDEX_URL to the address of an index"
        ) from error


def _read(environ: Mapping[str, str]) -> dict[str, str]:
    """Ask pip for the settings of its files; none if there is no pip.

    An environment may have none, as those of uv have: then the pip on the PATH answers as this
    environment's would (``--python``, since pip 22.3; older ones refuse it). A relative folder of
    the PATH may be anyone's, so that nothing there is run.
    """
    pip = shutil.which("pip", path=environ.get("PATH", "")) or ""
    other = find_spec("pip") is None and os.path.isabs(pip)
    words = [pip, "--python", sys.executable] if other else [sys.executable, "-P", "-m", "pip"]
    words += ["--no-color", "config", "list"]
    done = subprocess.run(  # noqa: S603 - the words are ours
        words, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    found = dict[str, str](_SETTING.findall(done.stdout))
    return {
        key: ast.literal_eval(found[name])
        for section in ("global", "download")
        for key in _KEYS
        if (name := f"{section}.{key}") in found
    }

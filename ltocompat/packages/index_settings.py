"""The user's package index, as pip finds it: its files of settings, then its variables.

Source: pip's documentation, "Configuration". What a later place says beats an earlier one: files of
the machine, of the user, of the environment, the file of PIP_CONFIG_FILE, PIP_* variables.
"""

from __future__ import annotations

import configparser
import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from ltocompat.files.regular import read_regular
from ltocompat.model.errors import UsageError
from ltocompat.model.limits import MIB

_MOST_BYTES = MIB
_SECTIONS = ("global", "download")
_KEYS = ("index-url", "extra-index-url", "cert", "proxy")


class IndexSettings(Struct, frozen=True):
    """The indexes of a user.

    Attributes:
        urls: their addresses, the main one first.
        cert: a file of certificates of authorities; None for those of the system.
        proxy: address of a proxy; None: what the variables ``http_proxy`` .. say.
    """

    urls: tuple[str, ...]
    cert: str | None = None
    proxy: str | None = None

    @classmethod
    def of(
        cls, environ: Mapping[str, str] | None = None, files: Sequence[str] | None = None
    ) -> IndexSettings:
        """The settings of this user, as pip reads them.

        Args:
            environ: the variables; None: those of this process.
            files: where settings are, weakest first; None: where pip looks.

        Raises:
            UsageError: they name no index, and there is no pip that knows one.
        """
        known = os.environ if environ is None else environ
        values: dict[str, str] = {}
        for path in _files(known) if files is None else files:
            values |= _read(path)
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
            "no package index is configured, and no pip here knows one; set PIP_INDEX_URL to the "
            "address of one"
        ) from error


def _files(environ: Mapping[str, str]) -> Iterator[str]:
    given = environ.get("PIP_CONFIG_FILE", "")
    if given == os.devnull:
        return
    home = environ.get("HOME") or os.path.expanduser("~")
    if sys.platform == "win32":
        yield os.path.join(environ.get("ALLUSERSPROFILE", r"C:\ProgramData"), "pip", "pip.ini")
        yield os.path.join(home, "pip", "pip.ini")
        yield os.path.join(environ.get("APPDATA", home), "pip", "pip.ini")
        yield os.path.join(sys.prefix, "pip.ini")
    else:
        for folder in reversed(environ.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":")):
            yield os.path.join(folder, "pip", "pip.conf")
        yield "/etc/pip.conf"
        if sys.platform == "darwin":
            yield os.path.join(home, "Library", "Application Support", "pip", "pip.conf")
        yield os.path.join(home, ".pip", "pip.conf")
        config = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
        yield os.path.join(config, "pip", "pip.conf")
        yield os.path.join(sys.prefix, "pip.conf")
    if given:
        yield given


def _read(path: str) -> dict[str, str]:
    """Read the settings of a file; none if it can't be read, as the other files still count."""
    parser = configparser.RawConfigParser()
    with contextlib.suppress(OSError, ValueError, configparser.Error):
        parser.read_string(read_regular(path, _MOST_BYTES).decode("utf-8"))
    return {
        key: parser.get(section, name)
        for section in _SECTIONS
        if parser.has_section(section)
        for key in _KEYS
        for name in (key, key.replace("-", "_"))
        if parser.has_option(section, name)
    }

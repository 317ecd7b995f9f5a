"""Distributions that a container image has installed, and folders that its loader searches.

Both are lists of paths: those of package managers, and ``/etc/ld.so.conf`` with its folder.

Sources: PEP 376 and 627 (RECORD); conda's ``conda-meta``; dpkg-query(1), ``info/*.list`` and the
versions in ``status``, of distroless images in ``status.d``; apk's ``lib/apk/db/installed``
(wiki.alpinelinux.org, "Apk spec"); rpm_database.py; ldconfig(8).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator

from ltocompat.files.archives.folder import MOST_RECORD
from ltocompat.files.byteview import ByteView, NamesOfTable
from ltocompat.model.limits import Budget

_DPKG = "var/lib/dpkg/status"
_LIST = re.compile(
    r"(?P<folder>.*/)?(?:(?P<pip>[^/]+)\.dist-info/RECORD|conda-meta/(?P<conda>[^/]+)\.json)"
    r"|var/lib/dpkg/(?:info/(?=.*list$)|status\.d/(?=.*md5sums$))"
    r"(?P<dpkg>[^/:]+?)(?::[^/:]+)?\.(?:list|md5sums)"
    r"|var/lib/dpkg/(?P<status>status(?:\.d/[^/]+)?)|lib/apk/db/installed"
)
_RPM = ("usr/lib/sysimage/rpm/rpmdb.sqlite", "var/lib/rpm/rpmdb.sqlite")
_CONF = re.compile(r"etc/ld\.so\.conf(?:\.d/[^/]+\.conf)?")
_SEARCHED = re.compile(r"^\s*+(/[^\s#]+)", re.MULTILINE)

# Of JSON any text counts: what is no path is no file of the image either.
_FILE = {"pip": r'^"?([^"\n]+?)"?,', "conda": r'"([^"\n]+)"', "dpkg": r"^(?:[0-9a-f]{32}  )?(.+)"}
_OF_DPKG = re.compile(r"^Package: (\S+)\n(?:(?!Package:).+\n)*?Version: (\S+)", re.MULTILINE)
_OF_APK = re.compile(r"^([PVFR]):(.+)", re.MULTILINE)
# Files without code, which are most files.
_OTHERS = re.compile(r"\.(?:pyc|pyi|h|hpp|hh|cuh|inl|txt|md|html|js|gz|mo)$|/share/", re.IGNORECASE)


def packages_listed(
    path: str, view: ByteView, budget: Budget, kept: NamesOfTable
) -> Iterator[tuple[str, str]]:
    """Yield listed files that may have code, each with its distribution, ``torch 2.4.0 (pip)``.

    Lists of dpkg have no versions; its status file gives the version of ``/libc6 (dpkg)``.

    Args:
        path: the path of the file in the image; other files than lists are not read.
        view: its bytes; damaged ones are used as far as they are readable.
        budget: the budget for reading.
        kept: the account of names, of which an eighth may be used.
    """
    for file, name in budget.timed(_files(path, view, budget)):
        if not _OTHERS.search(file) and kept.kept < kept.most // 8:
            kept.kept += len(file)
            yield posixpath.normpath(f"/{file.lstrip('/')}"), name


def folders_searched(path: str, view: ByteView, kept: NamesOfTable) -> list[str]:
    """Return the folders in a file of the loader's settings; none for any other file."""
    data = view.peek(0, MOST_RECORD).decode("utf-8", "replace") if _CONF.fullmatch(path) else ""
    return [kept.keep(posixpath.normpath(folder)) for folder in _SEARCHED.findall(data)]


def _files(path: str, view: ByteView, budget: Budget) -> Iterable[tuple[str, str]]:
    """Files, each with its distribution."""
    if path in _RPM:
        from ltocompat.files.archives.rpm_database import files_in

        return files_in(view, budget)
    listed = path.endswith(("RECORD", ".json", ".list", "lled")) or path.startswith(_DPKG)
    found = _LIST.fullmatch(path) if listed else None
    data = view.peek(0, MOST_RECORD).decode("utf-8", "replace") if found else ""
    return _listed(found, data) if found else ()


def _listed(found: re.Match[str], data: str) -> Iterator[tuple[str, str]]:
    manager, folder = found.lastgroup or "apk", found["folder"] or ""
    name = found[manager] if manager in _FILE else ""
    if manager == "pip":
        name = name.replace("-", " ").replace("_", "-")
    elif manager == "conda":
        name = " ".join(name.rsplit("-", 2)[:2])
    for file in re.finditer(_FILE.get(manager, "(?!)"), data, re.MULTILINE):
        yield f"{folder}{file[1]}", f"{name} ({manager})"
    for package, version in _OF_DPKG.findall(data) if found["status"] else ():
        yield f"{package} (dpkg)", f"{package} {version} (dpkg)"
    for key, value in () if name or found["status"] else _OF_APK.findall(data):
        if key == "R":
            yield f"{folder}/{value}", f"{name} (apk)"
        elif key == "F":
            folder = value
        else:
            name = value if key == "P" else f"{name} {value}"

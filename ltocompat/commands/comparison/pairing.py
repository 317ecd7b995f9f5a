"""Which file of the old release is which of the new one, whatever version their names carry."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable

# Names of packages end so; a place inside of one goes by what follows.
_PACKAGE = re.compile(
    r"\.(?:whl|zip|conda|tar|tgz|tbz2?|txz|tar\.(?:gz|bz2|xz|zst)|egg)$", re.IGNORECASE
)
# What two releases of one file differ by, in the order in which it is taken off.
_VERSIONS = (
    # libcusparse.so.12.5.8, libcusparse.12.dylib
    (re.compile(r"(\.so)(?:\.\d{1,9})+$"), r"\1"),
    (re.compile(r"(?:\.\d{1,9})+(\.dylib)$"), r"\1"),
    # cusparse64_12.dll, nvJitLink_120_0.dll
    (re.compile(r"(?:_\d{1,9})+(?:\.alt)?(\.dll)$", re.IGNORECASE), r"\1"),
    # core.cpython-311-x86_64-linux-gnu.so, core.abi3.so, core.cp311-win_amd64.pyd
    (re.compile(r"\.(?:cpython-\d{1,9}|cp\d{1,9}|abi3)[\w-]*(\.(?:so|pyd))$"), r"\1"),
    # auditwheel's hash: libgomp-855c301a.so
    (re.compile(r"-[0-9a-f]{8}(?=\.so|\.dll)"), ""),
    # libx-1.2.3.so, kernel_v12.4.fatbin
    (re.compile(r"[-_]v?\d{1,9}(?:\.\d{1,9})+(?=\.\w+$)"), ""),
)
_NUMBERS = re.compile(r"\d{1,9}(?:\.\d{1,9})*")


def label(names: Iterable[str]) -> str:
    """The file that a place in a package lies in, by the names that lead there, outermost first.

    Packages inside packages are no files, and members of static archives are parts of one.
    """
    return next((name for name in names if not _PACKAGE.search(name)), "")


def unversioned(path: str) -> str:
    """``nvidia/cu/lib/libcusparse.so`` of ``nvidia/cu13/lib/libcusparse.so.12``."""
    folder, name = posixpath.split(path.replace("\\", "/"))
    for pattern, instead in _VERSIONS:
        name = pattern.sub(instead, name)
    return posixpath.join(_NUMBERS.sub("", folder), name)


def pairs(old: Iterable[str], new: Iterable[str]) -> dict[str, str]:
    """For labels of old files those of the new ones, where one surely stands for the other.

    The same path comes first, then the same path without versions, then the same name without
    versions, wherever it lies. A name that several files have pairs none of them.
    """
    found: dict[str, str] = {}
    rest_old, rest_new = set(old), set(new)
    if len(rest_old) == len(rest_new) == 1:
        return {rest_old.pop(): rest_new.pop()}
    for key in (str, unversioned, lambda path: posixpath.basename(unversioned(path))):
        olds, news = _unique(rest_old, key), _unique(rest_new, key)
        for shared in olds.keys() & news.keys():
            found[olds[shared]] = news[shared]
            rest_old.discard(olds[shared])
            rest_new.discard(news[shared])
    return found


def _unique(labels: Iterable[str], key: Callable[[str], str]) -> dict[str, str]:
    """Labels by their key, without those that share one."""
    keys = {label: key(label) for label in labels}
    times = Counter(keys.values())
    return {key: label for label, key in keys.items() if times[key] == 1}

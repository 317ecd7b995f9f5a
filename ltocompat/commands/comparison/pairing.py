"""Which file of the old release is which of the new one, whatever version their names carry."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable

from ltocompat.model.file_name import without_versions

# Names of packages end so; a place inside of one goes by what follows.
_PACKAGE = re.compile(
    r"\.(?:whl|zip|conda|tar|tgz|tbz2?|txz|tar\.(?:gz|bz2|xz|zst)|egg)$", re.IGNORECASE
)
_NUMBERS = re.compile(r"\d{1,9}(?:\.\d{1,9})*")


def label(names: Iterable[str]) -> str:
    """Return the file of a place in a package, as the names that lead there, outermost first.

    Packages inside packages don't count as files; members of static archives are parts of one file.
    """
    return next((name for name in names if not _PACKAGE.search(name)), "")


def unversioned(path: str) -> str:
    """``nvidia/cu/lib/libcusparse.so`` of ``nvidia/cu13/lib/libcusparse.so.12``."""
    folder, name = posixpath.split(path.replace("\\", "/"))
    return posixpath.join(_NUMBERS.sub("", folder), without_versions(name))


def pairs(old: Iterable[str], new: Iterable[str]) -> dict[str, str]:
    """Return a map from labels of old files to labels of the new files that surely replace them.

    The same path comes first, then the same path without versions, then the same name without
    versions in any folder. Files that share a name are not paired by it.
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

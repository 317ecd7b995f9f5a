"""TOML -> a policy: ``[tool.ltocompat]`` of a pyproject.toml, or all of an ltocompat.toml.

Its keys stand in ``key_list``; ``docs/policy.md`` shows them all.
"""

from __future__ import annotations

import datetime as dt
import os
from contextlib import suppress
from pathlib import PurePath

from ltocompat.commands.policy.exceptions import WORSE_THAN_OK, read_exceptions
from ltocompat.commands.policy.key_list import TARGET_FREE, names
from ltocompat.commands.policy.keys import PolicyTable
from ltocompat.commands.policy.values import NO_POLICY, Policy
from ltocompat.model.arch import Release, SmArch
from ltocompat.model.errors import UsageError, did_you_mean
from ltocompat.model.location import folders_around
from ltocompat.model.target import DriverVersion, Gpu, Target
from ltocompat.model.trial_answer import AUTO
from ltocompat.model.verdict import Verdict
from ltocompat.model.words import bytes_of
from ltocompat.packages.promise import read_promise
from ltocompat.packages.values import normalized
from ltocompat.targets.reading import targets_of_file
from ltocompat.targets.text_file import OWN, PYPROJECT, own_tables
from ltocompat.targets.versions.releases import exact_release

_TABLES = ("targets", "promise", "audit")
_ALLOW_EMPTY = {"pass": True, "undecided": False}
# Where a job of GitHub or GitLab has its checkout, which may be another user's in a container.
_CHECKOUTS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")


def find_policy(where: str = ".") -> str | None:
    """The nearest file with a policy, in the folder ``where`` or in one around it; None for none.

    The folders end with that of the repository, which has a ``.git``.

    Raises:
        UsageError: a file on the way can't be read, or is neither this user's nor root's.
    """
    for folder in folders_around(where):
        for name in (OWN, PYPROJECT):
            path = os.path.join(folder, name)
            if os.path.isfile(path) and (name == OWN or own_tables(path).tables is not None):
                _refuse_of_others(path)
                return _shown(path, where)
        if os.path.lexists(os.path.join(folder, ".git")):
            break
    return None


def _refuse_of_others(path: str) -> None:
    """Obey no policy that somebody else has put where it is found, as git obeys no repository.

    The checkout of a CI job is what the job is about, whoever its files belong to.
    """
    if not hasattr(os, "getuid"):  # Windows, where a file's owner says less
        return
    checkouts = (os.environ.get(name) for name in _CHECKOUTS)
    if any(place and PurePath(path).is_relative_to(os.path.abspath(place)) for place in checkouts):
        return
    owner = os.stat(path).st_uid
    # Whoever became root by sudo is the same person.
    sudo = os.environ.get("SUDO_UID", "") if os.getuid() == 0 else ""
    if owner not in (0, os.getuid()) and str(owner) != sudo:
        raise UsageError(
            f"{path} has a policy that was found, and is neither yours nor root's (it is user "
            f"{owner}'s); name it if you trust it, with --config {path}"
        )


def nearest_policy() -> Policy:
    """The policy of the project around the current folder; ``NO_POLICY`` where there is none.

    Raises:
        UsageError: as ``read_policy`` says.
    """
    path = find_policy()
    return NO_POLICY if path is None else read_policy(path)


def read_policy(path: str, today: dt.date | None = None) -> Policy:
    """The policy in a file.

    Args:
        path: the file.
        today: the day that ignores are held against; None for this one.

    Raises:
        UsageError: it can't be read, has an unknown key or a value that means nothing, or an ignore
            has expired; the text names file and key.
    """
    found = own_tables(path)
    if found.tables is None:
        raise UsageError(f"{path} has no policy; write [tool.ltocompat.targets.NAME] into it")
    whole = PolicyTable(path, "", found.tables, found.title)
    whole.only(_TABLES)
    audit = PolicyTable(path, "audit", whole.table("audit"), found.header("audit"))
    audit.only(names("audit"))
    targets = _targets(audit, has_targets="targets" in found.tables)
    trial, releases = _trials(audit, targets)
    return Policy(
        source=path,
        prefix=found.prefix,
        targets=targets,
        promise=read_promise(path),
        require_gpus=_gpus(audit),
        require_archs=_archs(audit),
        least_driver=_driver(audit),
        fail_on=audit.choice("fail-on", WORSE_THAN_OK, Verdict.FAIL),
        trial_links=trial is True,
        trial_auto=trial == AUTO,
        trial_releases=releases,
        trial_load=audit.flag("trial-load"),
        exceptions=read_exceptions(audit, today or dt.datetime.now(dt.UTC).date()),
        allow_empty=audit.choice("no-device-code", _ALLOW_EMPTY, default=False),
        variants=audit.texts("variants"),
        provided_by=_provided_by(audit),
        max_bytes=_bytes(audit, "max-bytes"),
        max_member_bytes=_bytes(audit, "max-member-bytes"),
        coverage=audit.number("coverage", 1, 100),
    )


def _shown(path: str, where: str) -> str:
    """As a user of the folder would write it."""
    with suppress(ValueError):  # another drive
        return os.path.normpath(os.path.join(where, os.path.relpath(path, where)))
    return path


def _targets(audit: PolicyTable, *, has_targets: bool) -> tuple[Target, ...]:
    names = audit.texts("targets")
    if names is None and not has_targets and audit.values.keys() & TARGET_FREE:
        return ()
    every = {target.name: target for target in targets_of_file(audit.path, audit.path, None)}
    if names is None:
        return tuple(every.values())
    if not names:
        raise audit.wrong("targets", "names no target")
    for name in names:
        if name not in every:
            text = f"names {name!r}{did_you_mean(name, every)}"
            raise audit.wrong("targets", text, f"there are {', '.join(every)}")
    return tuple(every[name] for name in dict.fromkeys(names))


def _gpus(audit: PolicyTable) -> tuple[Gpu, ...]:
    # Imported here: most policies require none by name.
    from ltocompat.facts.gpus import find_gpu

    names = audit.texts("require-gpus") or ()
    return audit.parsed("require-gpus", lambda: tuple(dict.fromkeys(map(find_gpu, names))))


def _provided_by(audit: PolicyTable) -> tuple[tuple[str, tuple[str, ...]], ...]:
    table = audit.table("provided-by")
    inner = PolicyTable(audit.path, f"{audit.key}.provided-by", table, "provided-by")
    return tuple((normalized(name), inner.texts(name) or ()) for name in table)


def _archs(audit: PolicyTable) -> tuple[SmArch, ...]:
    if "require-archs" not in audit.values:
        return ()
    # Imported here: most policies require none.
    from ltocompat.targets.arch_list import arch_list

    value = audit.values["require-archs"]
    lists = [value] if isinstance(value, str) else audit.texts("require-archs")
    archs = (arch for text in lists or () for arch in arch_list(text))
    return audit.parsed("require-archs", lambda: tuple(dict.fromkeys(archs)))


def _bytes(audit: PolicyTable, key: str) -> int | None:
    value = audit.values.get(key)
    if value is None:
        return None
    # A number with a point is none, and neither is a truth value.
    text = str(value) if isinstance(value, int | str) and value is not True else ""
    return audit.parsed(key, lambda: bytes_of(text))


def _driver(audit: PolicyTable) -> DriverVersion | None:
    value = audit.values.get("least-driver")
    if value is None:
        return None
    # Imported here: most policies keep no driver.
    from ltocompat.targets.versions.drivers import least_driver

    try:
        return least_driver(value)
    except UsageError as error:
        raise audit.wrong("least-driver", f"is {value!r}, which is not a driver") from error


def _trials(
    audit: PolicyTable, targets: tuple[Target, ...]
) -> tuple[bool | str, tuple[Release, ...]]:
    key = "trial-link"
    value = audit.values.get(key)
    if value == AUTO:
        return AUTO, ()
    if value is None or isinstance(value, bool):
        return bool(value), ()
    example = 'trial-link = true, "auto" or ["13.3"]'
    if not isinstance(value, list) or not value:
        raise audit.wrong(key, f"is {value!r}", f"write {example}")
    named = {linker for t in targets if t.nvjitlink for linker in t.nvjitlink.values}
    found = []
    for spelling in value:
        try:
            release = exact_release("nvjitlink", spelling if isinstance(spelling, str) else "")
        except UsageError as error:
            text = f"names {spelling!r}, which is not a release of nvJitLink"
            raise audit.wrong(key, text, f"write {example}") from error
        if release not in named:
            have = ", ".join(map(str, sorted(named))) or "none"
            text = f"names {release}, which no target has"
            raise audit.wrong(key, text, f"the targets' nvJitLinks are: {have}")
        found.append(release)
    return True, tuple(dict.fromkeys(found))

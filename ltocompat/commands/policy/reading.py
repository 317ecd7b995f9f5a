"""TOML -> a policy: ``[tool.ltocompat]`` of a pyproject.toml, or all of an ltocompat.toml.

Its keys stand in ``key_list``; ``docs/policy.md`` shows them all.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Sequence
from pathlib import PurePath

from ltocompat.commands.policy.exceptions import read_exceptions
from ltocompat.commands.policy.key_list import TARGET_FREE, AuditTable, PromiseTable
from ltocompat.commands.policy.keys import PolicyFile
from ltocompat.commands.policy.values import NO_POLICY, Policy
from ltocompat.model.arch import ArchForm, Release, SmArch
from ltocompat.model.errors import UsageError, did_you_mean
from ltocompat.model.location import folders_around
from ltocompat.model.policy import Promise
from ltocompat.model.target import DriverVersion, Gpu, Target
from ltocompat.model.trial_answer import AUTO
from ltocompat.model.verdict import Verdict
from ltocompat.model.words import bytes_of
from ltocompat.packages.values import normalized
from ltocompat.targets.reading import targets_of_file
from ltocompat.targets.text_file import OWN, PYPROJECT, own_tables
from ltocompat.targets.versions.releases import exact_release

# Where a job of GitHub or GitLab has its checkout, which may be another user's in a container.
_CHECKOUTS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")


def find_policy(where: str = ".") -> str | None:
    """Return the nearest file with a policy, in the folder ``where`` or a parent; None for none.

    The search ends at the root of the repository, which has a ``.git``.

    Raises:
        UsageError: a file on the way can't be read, or belongs to neither this user nor root; or
            a folder has two policies, of which one would be obeyed unseen.
    """
    for folder in folders_around(where):
        paths = (os.path.join(folder, name) for name in (OWN, PYPROJECT))
        found = [p for p in paths if os.path.isfile(p) and own_tables(p).tables is not None]
        if len(found) > 1:
            names = " and [tool.ltocompat] in ".join(_shown(path, where) for path in found)
            raise UsageError(f"there are two policies, {names}; keep one, or add --config FILE")
        if found:
            _refuse_of_others(found[0])
            return _shown(found[0], where)
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
            f"{path}, the nearest policy, belongs to user {owner}, not to you or root; if you "
            f"trust it, add --config {path}"
        )


def nearest_policy() -> Policy:
    """Return the policy of the project around the current folder; ``NO_POLICY`` if there is none.

    Raises:
        UsageError: as ``read_policy`` says.
    """
    path = find_policy()
    return NO_POLICY if path is None else read_policy(path)


def read_policy(path: str, today: dt.date | None = None) -> Policy:
    """Return the policy in a file.

    Args:
        path: the file.
        today: the day for end dates; None: today.

    Raises:
        UsageError: it can't be read, has an unknown key or an invalid value, or an exception has
            expired; the text names file and key.
    """
    found = own_tables(path)
    if found.tables is None:
        hint = "add tables as ltocompat init -o new.toml writes them, each as [tool.ltocompat.NAME]"
        raise UsageError(f"{path} has no policy; {hint}")
    file = PolicyFile(path, found.prefix, found.tables)
    tables = file.read()
    audit = tables.audit
    targets = _targets(file, audit)
    return Policy(
        source=path,
        prefix=found.prefix,
        targets=targets,
        promise=None if tables.promise is None else _promise(file, tables.promise),
        require_gpus=file.parsed("audit.require-gpus", _gpus, audit.require_gpus),
        require_archs=file.parsed("audit.require-archs", listed_archs, audit.require_archs),
        least_driver=_driver(file, "audit.least-driver", audit.least_driver),
        fail_on=Verdict[audit.fail_on.upper()],
        trial_links=audit.trial_link not in (False, AUTO),
        trial_auto=audit.trial_link == AUTO,
        trial_releases=_trials(file, audit, targets),
        trial_load=audit.trial_load,
        exceptions=tuple(read_exceptions(file, audit, today or dt.datetime.now(dt.UTC).date())),
        allow_empty=audit.no_device_code == "pass",
        variants=audit.variants,
        provided_by=tuple((normalized(name), libs) for name, libs in audit.provided_by.items()),
        max_bytes=file.parsed("audit.max-bytes", _bytes, audit.max_bytes),
        max_member_bytes=file.parsed("audit.max-member-bytes", _bytes, audit.max_member_bytes),
        coverage=audit.coverage,
    )


def _shown(path: str, where: str) -> str:
    """As a user of the folder would write it, which is below the file's own."""
    return os.path.normpath(os.path.join(where, os.path.relpath(path, where)))


def _targets(file: PolicyFile, audit: AuditTable) -> tuple[Target, ...]:
    tables = file.tables or {}
    names = audit.targets
    if names is None and "targets" not in tables and tables.get("audit", {}).keys() & TARGET_FREE:
        return ()
    every = {target.name: target for target in targets_of_file(file.path, file.path, None)}
    for name in names or ():
        if name not in every:
            text = f"names {name!r}{did_you_mean(name, every)}"
            raise file.wrong("audit.targets", text, f"there are {', '.join(every)}")
    return tuple(every[name] for name in dict.fromkeys(names or every))


def _promise(file: PolicyFile, table: PromiseTable) -> Promise:
    """What a project promises of its packages."""
    return Promise(
        file.path,
        _promised(file, "sass", table.sass, ArchForm.REAL),
        _promised(file, "ptx", table.ptx, ArchForm.VIRTUAL),
        _driver(file, "promise.driver", table.driver),
        file.parsed("promise.nvjitlink", _release, table.nvjitlink),
    )


def _promised(
    file: PolicyFile, key: str, values: Sequence[str | int], form: ArchForm
) -> tuple[SmArch, ...]:
    found = []
    for value in values:
        arch = file.parsed(f"promise.{key}", lambda text: SmArch.parse(text, form), str(value))
        if arch.form is not form:
            raise file.wrong(f"promise.{key}", f"takes no {arch}")
        found.append(arch)
    return tuple(dict.fromkeys(found))


def _gpus(names: Sequence[str]) -> tuple[Gpu, ...]:
    # Imported here: most policies require none by name.
    from ltocompat.facts.gpus import find_gpu

    return tuple(dict.fromkeys(map(find_gpu, names)))


def listed_archs(value: str | Sequence[str]) -> tuple[SmArch, ...]:
    """Return the architectures of one or several lists, each once."""
    if not value and not isinstance(value, str):
        return ()
    # Imported here: most policies require none.
    from ltocompat.targets.arch_list import arch_list

    lists = [value] if isinstance(value, str) else value
    return tuple(dict.fromkeys(arch for text in lists for arch in arch_list(text)))


def _bytes(value: str | int | None) -> int | None:
    return None if value is None else bytes_of(str(value))


def _release(text: str | None) -> Release | None:
    return None if text is None else exact_release("nvjitlink", text)


def _driver(file: PolicyFile, place: str, value: str | int | None) -> DriverVersion | None:
    if value is None:
        return None
    # Imported here: most policies keep no driver.
    from ltocompat.targets.versions.drivers import least_driver

    try:
        return least_driver(value)
    except UsageError as error:
        raise file.wrong(place, f"is {value!r}, which is not a driver") from error


def _trials(
    file: PolicyFile, audit: AuditTable, targets: tuple[Target, ...]
) -> tuple[Release, ...]:
    if not isinstance(audit.trial_link, tuple):
        return ()
    place = "audit.trial-link"
    named = {linker for t in targets if t.nvjitlink for linker in t.nvjitlink.values}
    found = []
    for spelling in audit.trial_link:
        release = file.parsed(place, _release, spelling)
        if release not in named:
            have = ", ".join(map(str, sorted(named))) or "none"
            text = f"names {release}, which no target has"
            raise file.wrong(place, text, f"the targets' nvJitLinks are: {have}")
        found.append(release)
    return tuple(dict.fromkeys(found))

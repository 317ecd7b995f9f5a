"""The verbs agree, exit codes included, on generated packages and the targets that they go to.

2,000 pairs of a package and a target; what is expected is folded from verdicts on exact targets.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace
from packages_made import wheel
from small_worlds import (
    GPUS,
    KINDS,
    VERSIONS,
    Line,
    Made,
    Rows,
    exact,
    exit_code,
    expected,
    files,
    read,
    some,
    spelled,
    target,
    versions,
)
from tiers import sampled

from ltocompat.cli import run
from ltocompat.commands import audit, check, diff, init, matrix, options, require
from ltocompat.commands.audit import AuditScope
from ltocompat.commands.policy.gate import Audited
from ltocompat.commands.policy.reading import read_policy
from ltocompat.commands.policy.values import Policy
from ltocompat.facts.gpus import find_gpu
from ltocompat.model.artifact_summary import together_as_one
from ltocompat.model.diff import BREAKING
from ltocompat.model.failure import Failure, Note
from ltocompat.model.matrix import Matrix
from ltocompat.model.requirement import GpuSupport, Required, RouteFloor
from ltocompat.model.target import ANY_TARGET, Target, VersionSet
from ltocompat.model.verdict import Result, Route, Verdict
from ltocompat.report.exit_status import (
    AuditStatus,
    CheckStatus,
    ExitStatus,
    of_diff,
    of_draft,
    of_required,
)
from ltocompat.targets import parse

PACKAGES = 50
TARGETS = 40
QUICK = (4, 12, 16, 28, 36, 1025)
"""The packages of the quick tier."""
CELLS = 24
"""So many cells of each matrix of a package are held against `check`."""
FILES = files()


def random_of(*words: object) -> Random:
    return Random(" ".join(map(str, words)))  # noqa: S311 - what is drawn is no secret


def package(folder: Path, number: int) -> Path:
    """A wheel with one to three files: whole, damaged or without device code."""
    draw = random_of("package", number)
    chosen = draw.sample(FILES, draw.randrange(1, 4))
    return wheel(folder, {f"libx/{path.name}": path.read_bytes() for path in chosen})


def targets(number: int) -> list[Target]:
    """Targets of a package, as they are typed, with sets of up to two parts."""
    found: dict[str, Target] = {}
    draw = random_of("targets", number)
    while len(found) < TARGETS:
        parts: dict[str, VersionSet[Any]] = {
            key: versions("exact", some(key, draw.randrange(4)))
            for key in draw.choice([("driver",), ("driver", "nvjitlink"), ("nvjitlink",)])
        }
        for key in draw.sample(list(VERSIONS), draw.randrange(3)):
            parts[key] = versions(draw.choice(KINDS), some(key, draw.randrange(4)))
        text = spelled(target(draw.choice([GPUS[1:3], GPUS[:1], GPUS[3:], GPUS, ()]), **parts))
        (found[text],) = parse([text])
    return list(found.values())


def code_of(status: ExitStatus[Any], records: Iterable[Any]) -> int:
    for _ in status.track(records, io.StringIO()):
        pass
    return status.code


class Law:
    """What each verb says of one package.

    Args:
        path: the package.
        number: which targets it goes to.
    """

    def __init__(self, path: Path, number: int) -> None:
        self.path = path
        self.draw = random_of("law", number)
        self.targets = targets(number)
        (summary,) = read([path])
        self.made = Made(summary)
        self.unread = bool(summary.skipped_count)
        self.silent = 0 if summary.groups and not self.unread else 3
        """The exit code of a verb that finds nothing wrong."""

    def check_and_audit(self) -> None:
        """Target by target they say what the fold says, and end in the same exit code."""
        allow_empty = self.draw.random() < 0.5
        fail_on = self.draw.choice(list(Verdict)[2:])
        checked = list(check.run(options.CheckOptions((self.path,), tuple(self.targets))))
        policy = Policy(
            source="ltocompat.toml",
            targets=tuple(self.targets),
            fail_on=fail_on,
            allow_empty=allow_empty,
        )
        scope, *records = audit.run(options.AuditOptions((self.path,), policy))
        assert isinstance(scope, AuditScope)
        audited = [record for record in records if isinstance(record, Audited)]
        on_any = [found for found in checked if _target(found) == ANY_TARGET]
        assert [found.verdict for found in on_any if isinstance(found, Result)] == [
            each.checked.verdict for each in audited if each.checked.target == ANY_TARGET
        ]
        about = [
            Line(each.verdict, True, False, False) for each in on_any if isinstance(each, Result)
        ]
        assert all(each.verdict <= Verdict.JIT for each in about)
        for goal in self.targets:
            rows, lines = expected(self.made, goal)
            self.of_fleet(goal, max(rows.values(), default=None))
            results = [each for each in checked if _target(each) in (goal, ANY_TARGET)]
            assert rows == _rows(each for each in results if _target(each) == goal)
            held = [each for each in audited if each.checked.target in (goal, ANY_TARGET)]
            assert rows == _rows(each.checked for each in held if each.checked.target == goal)
            assert code_of(
                CheckStatus(fail_on=fail_on, allow_empty=allow_empty), results
            ) == exit_code(
                lines, fail_on, allow_empty=allow_empty, halves_count=fail_on < Verdict.FAIL
            )
            assert code_of(AuditStatus(), [scope, *held]) == exit_code(
                lines, fail_on, allow_empty=allow_empty, halves_count=True
            )

    def of_fleet(self, goal: Target, worst: Verdict | None) -> None:
        """A cell by deploy targets has the worst verdict there, and that of its package."""
        if self.draw.random() > 1 / TARGETS:
            return
        records = list(matrix.run(options.MatrixOptions((self.path,), targets=(goal,))))
        grids = [record for record in records if isinstance(record, Matrix)]
        found = [each for each in records if isinstance(each, Result)]
        package = max((each.verdict for each in found if each.target == ANY_TARGET), default=worst)
        cells = [cell.verdict for grid in grids for row in grid.cells for cell in row]
        assert cells == ([] if not grids or worst is None else [max(worst, package or worst)])

    def matrix(self) -> None:
        """A cell is a verdict on an exact target, by the route of its matrix."""
        records = list(matrix.run(options.MatrixOptions((self.path,))))
        assert code_of(ExitStatus(required=True), records) == self.silent
        for grid in records:
            if isinstance(grid, Matrix):
                for cell in self.draw.sample([each for row in grid.cells for each in row], CELLS):
                    self.same_cell(cell, Route.LINK if grid.what == "nvJitLink" else Route.LOAD)

    def same_cell(self, cell: Result, route: Route) -> None:
        assert cell.gpu is not None
        goal = replace(cell.target, gpus=(cell.gpu,))
        rows = {key[1]: row for key, row in exact(self.made, goal, None).items()}
        assert cell.verdict is (rows.get(route) or rows[None]).verdict

    def require(self) -> None:
        """With what it asks for, a GPU has the verdict that it tells."""
        records = list(require.run(options.RequireOptions((self.path,))))
        assert code_of(ExitStatus(of_required, required=True), records) == self.silent
        (needs,) = records
        assert isinstance(needs, Required)
        for service, floor in product_of(needs):
            linker = floor.nvjitlink or VERSIONS["nvjitlink"][-1]
            goal = target(
                [find_gpu(f"sm_{service.number}")],
                driver=versions("exact", [floor.driver]),
                nvjitlink=versions("exact", [linker]),
            )
            rows = {key[1]: row for key, row in exact(self.made, goal, None).items()}
            assert (rows.get(floor.route) or rows[None]).verdict is floor.verdict

    def init(self) -> None:
        """The policy that it writes is passed by an audit, and by a check on its targets."""
        written = f"{self.path}.toml"
        records = list(init.run(options.InitOptions((self.path,), written)))
        code = code_of(ExitStatus(of_draft), records)
        (draft,) = (record for record in records if not isinstance(record, Note))
        if isinstance(draft, Failure):  # nothing of it could be read
            assert (code, self.silent) == (3, 3)
            return
        assert code == (3 if self.unread else 0)
        audited = audit.run(options.AuditOptions((self.path,), written))
        assert code_of(AuditStatus(), audited) == 0
        policy = read_policy(written)
        lines = [each for goal in policy.targets for each in expected(self.made, goal)[1]]
        plain = exit_code(lines, Verdict.FAIL, allow_empty=policy.allow_empty, halves_count=True)
        # A linker that is at hand may settle what no rule does, and without code nothing is asked.
        assert plain == 0 or draft.ignored or policy.trial_links or not policy.targets

    def diff(self, folder: Path) -> None:
        """Nothing moves between two copies, and nothing is lost where files come in addition."""
        kinds = ("lost-arch", "lost-ptx")
        same = list(diff.run(options.DiffOptions(self.path, self.path, forbid=BREAKING)))
        assert not same[0].changes
        assert code_of(ExitStatus(of_diff), same) == self.silent
        fewer = wheel(folder, {"libx/saxpy.txt": b"no code"})
        (lost,) = diff.run(options.DiffOptions(self.path, fewer, forbid=kinds))
        images = [image for group in self.made.summary.groups for image in group.signature.images]
        code = any(image.arch is not None for image in images)
        assert code_of(ExitStatus(of_diff), [lost]) == (1 if code else 3)
        (gained,) = diff.run(options.DiffOptions(fewer, self.path, forbid=kinds))
        assert code_of(ExitStatus(of_diff), [gained]) == self.silent

    def hold(self, folder: Path) -> None:
        self.check_and_audit()
        self.matrix()
        self.require()
        self.init()
        self.diff(folder)

    def command_line(self, folder: Path) -> None:
        """What is typed ends as the fold says: of one target, of two, and of one link."""
        goals = self.draw.sample(self.targets, 2)
        fail_on = self.draw.choice(list(Verdict)[2:])
        strict = fail_on < Verdict.FAIL
        lines = [each for goal in goals for each in expected(self.made, goal)[1]]
        typed = [word for goal in goals for word in ("--deploy-target", goal.name)]
        options = ["--fail-on", str(fail_on)]
        code = exit_code(lines, fail_on, allow_empty=False, halves_count=strict)
        assert run(["check", str(self.path), *typed, *options]) == code
        policy = folder / "targets.toml"
        table = "".join(f'{name} = "{goal.name}"\n' for name, goal in zip("ab", goals, strict=True))
        policy.write_text(f"[targets]\n{table}", encoding="utf-8")
        code = exit_code(lines, fail_on, allow_empty=False, halves_count=True)
        assert run(["audit", str(self.path), "--config", str(policy), *options]) == code
        for verb in ("matrix", "require"):
            assert run([verb, str(self.path)]) == self.silent
        inputs = self.draw.sample(FILES, 2)
        link = Made(together_as_one(read(inputs, single_link=True)))
        lines = [each for goal in goals for each in expected(link, goal)[1]]
        code = exit_code(lines, fail_on, allow_empty=False, halves_count=strict)
        assert run(["check", "--together", *map(str, inputs), *typed, *options]) == code


def product_of(needs: Required) -> Iterator[tuple[GpuSupport, RouteFloor]]:
    for service in needs.services:
        for floor in service.routes:
            if floor.driver is not None:
                yield service, floor


def _target(record: object) -> Target | None:
    return record.target if isinstance(record, Result) else None


def _rows(results: Iterable[object]) -> Rows:
    return {(each.gpu, each.route): each.verdict for each in results if isinstance(each, Result)}


def holds(folder: Path, number: int) -> None:
    (folder / "fewer").mkdir()
    Law(package(folder, number), number).hold(folder / "fewer")


@pytest.mark.parametrize("number", [3, 7])
def test_the_command_line_ends_as_the_fold_says(folder: Path, number: int) -> None:
    Law(package(folder, number), number).command_line(folder)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(PACKAGES, 2 * PACKAGES, 2))
def test_every_command_line_ends_as_the_fold_says(folder: Path, number: int) -> None:
    Law(package(folder, number), number).command_line(folder)


@pytest.mark.parametrize("number", QUICK)
def test_verbs_agree_on_a_package(folder: Path, number: int) -> None:
    holds(folder, number)


@pytest.mark.slow
@pytest.mark.parametrize("number", sampled([n for n in range(PACKAGES) if n not in QUICK], 2))
def test_verbs_agree_on_every_package(folder: Path, number: int) -> None:
    holds(folder, number)

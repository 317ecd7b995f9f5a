"""The findings of a package -> rows of the dataset.

Places begin with the name of the package's file, wherever it lay when it was read: rows are the
same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from msgspec import structs

from ltocompat.commands.survey.distribution import Distribution, Measures
from ltocompat.commands.survey.tables import (
    DistributionRow,
    ErrorRow,
    FindingRow,
    ImageRow,
    NeedRow,
    Surveyed,
    VerdictRow,
    WeightRow,
    columns,
)
from ltocompat.model.arch import SmArch
from ltocompat.model.image import ImageKind
from ltocompat.model.location import Location
from ltocompat.model.projection import project
from ltocompat.model.requirement import NEXT, Required
from ltocompat.model.row import text_or_none
from ltocompat.model.verdict import Result, Verdict
from ltocompat.model.weight import Weight
from ltocompat.packages.metadata import CoreMetadata

if TYPE_CHECKING:
    from ltocompat.commands.survey.read_package import PackageAnswers


class RowMaker:
    """Makes the rows of one distribution.

    Args:
        distribution: what its source says of it.
        facts: version of ltocompat, its tables and rules.
    """

    def __init__(self, distribution: Distribution, facts: str) -> None:
        self._distribution = distribution
        self._facts = facts

    def surveyed(self, answers: PackageAnswers, measures: Measures) -> Surveyed:
        """All rows of a package that was read.

        Args:
            answers: what was found.
            measures: what its task cost.
        """
        inside = _RowsInside(answers.sha256, self._facts)
        unread = _nothing_was_read(answers)
        return Surveyed(
            distributions=(self._of_package(answers, measures),),
            images=tuple(inside.images(answers)),
            needs=tuple(inside.needs(answers)),
            verdicts=() if unread else tuple(inside.verdicts(answers)),
            findings=() if unread else tuple(inside.findings(answers)),
            weight=tuple(inside.weight(answers.weight)) if answers.weight.stored else (),
            errors=tuple(self._skipped(answers)),
        )

    def without_device_code(
        self, metadata: CoreMetadata, sha256: str | None, size: int, measures: Measures
    ) -> Surveyed:
        """The row of a package of which the list of members was enough.

        Args:
            metadata: of the package.
            sha256: of its file.
            size: bytes of its file.
            measures: what its task cost.
        """
        row = self._row(
            sha256,
            measures,
            status="no device code",
            size=size,
            requires_dist=metadata.requires_dist,
            extras=metadata.extras,
            declared=_about_gpus(metadata.classifiers),
        )
        return Surveyed(distributions=(row,))

    def failed(
        self,
        step: str,
        reason: str,
        measures: Measures,
        *,
        passing: bool,
        limit: str | None = None,
        sha256: str | None = None,
    ) -> Surveyed:
        """The rows of a package that could not be read.

        Args:
            step: which step failed, a word of ``ErrorRow.step``.
            reason: one sentence.
            measures: what its task cost.
            passing: it may be another time.
            limit: name of the limit that was hit.
            sha256: of its file, where it was found; None: what its source says.
        """
        sha256 = sha256 or self._distribution.sha256
        error = self._error(
            None, sha256=sha256, step=step, reason=reason, passing=passing, limit=limit
        )
        row = self._row(sha256, measures, status="failed")
        return Surveyed(distributions=(row,), errors=(error,))

    def again(self, kept: Surveyed, measures: Measures) -> Surveyed:
        """The kept rows of a package, with what its source says of it today."""
        found = []
        for row in kept.distributions:
            today = self._row(row.sha256, measures, status=row.status)
            source = {name: getattr(today, name) for name in _OF_SOURCE}
            found.append(structs.replace(row, **source))
        return structs.replace(kept, distributions=tuple(found))

    def _of_package(self, answers: PackageAnswers, measures: Measures) -> DistributionRow:
        package, distribution = answers.package, self._distribution
        metadata: dict[str, Any] = {}
        if package is not None:
            metadata = {
                "project": package.name or distribution.project,
                "version": package.version or distribution.version,
                "tags": package.tags,
                "platforms": package.platforms,
                "requires_dist": package.requires,
                "extras": package.extras,
                "declared": _about_gpus(package.classifiers),
            }
        groups = answers.groups
        return self._row(
            answers.sha256,
            measures,
            **metadata,
            status=_status(answers),
            size=answers.size,
            files=len({group.traits.file for group in groups}),
            modules=answers.required.modules,
            images=sum(group.images for group in groups),
            skipped=len(answers.skipped),
            sass=_archs(answers, ImageKind.SASS),
            ptx=_archs(answers, ImageKind.PTX),
            ltoir=_archs(answers, ImageKind.LTOIR),
            device_code=answers.weight.stored,
            saved=answers.weight.saved,
            worst=_worst(answers),
        )

    def _row(
        self,
        sha256: str | None,
        measures: Measures,
        **found: Any,  # noqa: ANN401 - columns of any type
    ) -> DistributionRow:
        given = structs.asdict(measures) | found
        return project(
            DistributionRow, self._distribution, sha256=sha256, facts=self._facts, **given
        )

    def _skipped(self, answers: PackageAnswers) -> Iterator[ErrorRow]:
        for skipped in answers.skipped:
            yield self._error(skipped, sha256=answers.sha256, step="read", passing=False)

    def _error(self, failed: object, **found: object) -> ErrorRow:
        """The row of what failed: what that has no attribute for is given."""
        distribution = self._distribution
        return project(
            ErrorRow,
            failed,
            facts=self._facts,
            source=distribution.source,
            filename=distribution.filename,
            project=distribution.project,
            **found,
        )


_OF_SOURCE = (
    *("source", "index", "requires_python", "upload_time", "yanked", "yanked_reason"),
    *(column.name for column in columns("distributions") if column.measured),
)
"""Columns that don't come from the file itself."""


class _RowsInside:
    """Makes the rows about what lies in one package."""

    def __init__(self, sha256: str, facts: str) -> None:
        self._common = {"sha256": sha256, "facts": facts}

    def images(self, answers: PackageAnswers) -> Iterator[ImageRow]:
        for group in answers.groups:
            yield project(ImageRow, group, **self._common)

    def verdicts(self, answers: PackageAnswers) -> Iterator[VerdictRow]:
        for result in _judged(answers):
            driver, worse = result.target.driver, Verdict.JIT
            rules = [finding.rule for finding in result.findings if finding.verdict > worse]
            yield project(
                VerdictRow,
                result,
                **self._common,
                driver=None if driver is None else driver.text,
                arch=None if result.gpu is None else str(result.gpu.arch),
                rules=tuple(dict.fromkeys(rules)),
            )

    def findings(self, answers: PackageAnswers) -> Iterator[FindingRow]:
        for result in _judged(answers):
            for finding in result.findings:
                yield project(
                    FindingRow,
                    finding,
                    **self._common,
                    target=result.target.name,
                    gpu=text_or_none(result.gpu),
                    route=text_or_none(result.route),
                )

    def needs(self, answers: PackageAnswers) -> Iterator[NeedRow]:
        if answers.required.modules:
            yield from self._floors(answers.required)
        for asked in answers.required.asked:
            yield self._need("requirement", asked, modules=asked.module_count)
        yield from self._libraries(answers)

    def _floors(self, required: Required) -> Iterator[NeedRow]:
        linker = required.nvjitlink
        if linker is not None:
            yield self._floor("nvJitLink", linker.possible, modules=required.modules)
        for service in required.services:
            arch = service.name if service.name == NEXT else f"sm_{service.number}"
            for floor in service.routes:
                common = {
                    "arch": arch,
                    "route": text_or_none(floor.route),
                    "served_by": service.how,
                    "modules": floor.coverage.served,
                }
                yield self._floor("driver", floor.driver, **common)
                if floor.nvjitlink is not None:
                    yield self._floor("nvJitLink", floor.nvjitlink, **common)

    def _floor(self, component: str, least: object, **found: object) -> NeedRow:
        return self._need("floor", None, component=component, least=text_or_none(least), **found)

    def _libraries(self, answers: PackageAnswers) -> Iterator[NeedRow]:
        met = set()
        for host in answers.hosts:
            for library in host.libraries:
                key = (library.name, library.how, library.file, library.version)
                if key not in met:
                    met.add(key)
                    yield self._need(
                        "library",
                        library,
                        component=library.name,
                        subject=library.file,
                        least=library.version,
                        example=str(host.place),
                    )

    def _need(self, what: str, value: object, **found: object) -> NeedRow:
        return project(NeedRow, value, what=what, **self._common, **found)

    def weight(self, weight: Weight) -> Iterator[WeightRow]:
        for arch in weight.archs:
            yield self._weight("images", arch)
        yield self._weight("overhead", None, stored=weight.overhead)
        for library in weight.libraries:
            yield self._weight("library", library, library=str(library.place))
        for saving in weight.savings:
            yield self._weight("saving", saving, stored=saving.saved, text=saving.what)

    def _weight(self, what: str, value: object, **found: object) -> WeightRow:
        return project(WeightRow, value, what=what, **self._common, **found)


def _judged(answers: PackageAnswers) -> Iterator[Result]:
    """The results on what there is device code for."""
    return (result for result in answers.results if not result.without_device_code)


def _about_gpus(classifiers: Iterable[str]) -> tuple[str, ...]:
    return tuple(text for text in classifiers if text.startswith("Environment :: GPU"))


def _status(answers: PackageAnswers) -> str:
    if _nothing_was_read(answers):
        return "failed"
    return "read" if answers.groups or answers.skipped else "no device code"


def _nothing_was_read(answers: PackageAnswers) -> bool:
    whole = Location(answers.filename)
    return not answers.required.modules and any(s.place == whole for s in answers.skipped)


def _archs(answers: PackageAnswers, kind: ImageKind) -> tuple[str, ...]:
    found: set[SmArch] = {
        group.traits.arch
        for group in answers.groups
        if group.traits.kind is kind and group.traits.arch is not None
    }
    return tuple(map(str, sorted(found)))


def _worst(answers: PackageAnswers) -> str | None:
    if _nothing_was_read(answers):
        return None
    verdicts = [result.verdict for result in _judged(answers)]
    return str(max(verdicts)) if verdicts else None

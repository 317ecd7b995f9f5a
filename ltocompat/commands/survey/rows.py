"""What was found in a package -> rows of the dataset.

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
)
from ltocompat.model.arch import SmArch
from ltocompat.model.image import ImageKind
from ltocompat.model.place import Place
from ltocompat.model.requirement import Required, RouteFloor, Service
from ltocompat.model.row import text_or_none
from ltocompat.model.verdict import Finding, Result, Verdict
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
        distribution = self._distribution
        sha256 = sha256 or distribution.sha256
        error = ErrorRow(
            sha256=sha256,
            facts=self._facts,
            source=distribution.source,
            filename=distribution.filename,
            project=distribution.project,
            step=step,
            reason=reason,
            passing=passing,
            place=None,
            limit=limit,
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
        *,
        status: str,
        **found: Any,  # noqa: ANN401 - columns of any type
    ) -> DistributionRow:
        distribution = self._distribution
        values: dict[str, Any] = {
            "filename": distribution.filename,
            "source": distribution.source,
            "index": distribution.index,
            "project": distribution.project,
            "version": distribution.version,
            "tags": distribution.tags,
            "platforms": distribution.platforms,
            "requires_python": distribution.requires_python,
            "requires_dist": (),
            "extras": (),
            "declared": (),
            "upload_time": distribution.upload_time,
            "yanked": distribution.yanked,
            "yanked_reason": distribution.yanked_reason,
            "size": distribution.size,
            "looked_at": measures.looked_at,
            "files": 0,
            "modules": 0,
            "images": 0,
            "skipped": 0,
            "sass": (),
            "ptx": (),
            "ltoir": (),
            "device_code": 0,
            "saved": 0,
            "worst": None,
            "bytes_fetched": measures.bytes_fetched,
            "requests": measures.requests,
            "seconds": measures.seconds,
            "cpu_seconds": measures.cpu_seconds,
            "peak_memory": measures.peak_memory,
            "surveyed": measures.ended,
        }
        return DistributionRow(sha256=sha256, facts=self._facts, status=status, **(values | found))

    def _skipped(self, answers: PackageAnswers) -> Iterator[ErrorRow]:
        for skipped in answers.skipped:
            yield ErrorRow(
                sha256=answers.sha256,
                facts=self._facts,
                source=self._distribution.source,
                filename=self._distribution.filename,
                project=self._distribution.project,
                step="read",
                reason=skipped.reason,
                passing=False,
                place=str(skipped.place),
                limit=skipped.limit,
            )


_OF_SOURCE = (
    "source",
    "index",
    "requires_python",
    "upload_time",
    "yanked",
    "yanked_reason",
    "bytes_fetched",
    "requests",
    "seconds",
    "cpu_seconds",
    "peak_memory",
    "surveyed",
)
"""Columns that don't come from the file itself."""


class _RowsInside:
    """Makes the rows about what lies in one package."""

    def __init__(self, sha256: str, facts: str) -> None:
        self._common = {"sha256": sha256, "facts": facts}

    def images(self, answers: PackageAnswers) -> Iterator[ImageRow]:
        for group in answers.groups:
            traits = group.traits
            yield ImageRow(
                **self._common,
                file=str(traits.file),
                kind=str(traits.kind),
                arch=text_or_none(traits.arch),
                made_by=tuple(map(str, traits.made_by)),
                releases=tuple(map(str, traits.releases)),
                ptx_isa=traits.ptx_isa,
                compression=str(traits.compression),
                scrambled=traits.scrambled,
                relocatable=traits.relocatable,
                debug=traits.debug,
                registered=traits.registered,
                images=group.images,
                stored=group.stored,
                size=group.size,
                example=str(group.example),
            )

    def verdicts(self, answers: PackageAnswers) -> Iterator[VerdictRow]:
        for result in answers.results:
            if result.without_device_code:
                continue
            driver = result.target.driver
            yield VerdictRow(
                **self._common,
                target=result.target.name,
                driver=None if driver is None else driver.text,
                gpu=text_or_none(result.gpu),
                arch=None if result.gpu is None else str(result.gpu.arch),
                route=text_or_none(result.route),
                verdict=str(result.verdict),
                modules_with_verdict=result.extent.modules,
                modules_judged=result.extent.judged,
                sass=result.coverage.sass,
                ptx=result.coverage.ptx,
                link=result.coverage.link,
                none=result.coverage.none,
                not_judged=result.not_judged,
                rules=tuple(
                    dict.fromkeys(
                        finding.rule for finding in result.findings if finding.verdict > Verdict.JIT
                    )
                ),
            )

    def findings(self, answers: PackageAnswers) -> Iterator[FindingRow]:
        for result in answers.results:
            if not result.without_device_code:
                yield from (self._finding(result, finding) for finding in result.findings)

    def _finding(self, result: Result, finding: Finding) -> FindingRow:
        return FindingRow(
            **self._common,
            target=result.target.name,
            gpu=text_or_none(result.gpu),
            route=text_or_none(result.route),
            rule=finding.rule,
            verdict=str(finding.verdict),
            level=str(finding.level),
            headline=finding.headline,
            message=finding.message,
            remedy=finding.remedy,
            evidence=finding.evidence,
            modules=finding.module_count,
            example=text_or_none(finding.example),
        )

    def needs(self, answers: PackageAnswers) -> Iterator[NeedRow]:
        if answers.required.modules:
            yield from self._floors(answers.required)
        for asked in answers.required.asked:
            yield self._need(
                "requirement",
                asked.component,
                constraint=asked.constraint,
                rule=asked.rule,
                subject=asked.subject,
                consequence=asked.consequence,
                evidence=asked.evidence,
                modules=asked.module_count,
                example=str(asked.example),
            )
        yield from self._libraries(answers)

    def _floors(self, required: Required) -> Iterator[NeedRow]:
        linker = required.nvjitlink
        if linker is not None:
            yield self._need(
                "floor", "nvJitLink", least=str(linker.possible), modules=required.modules
            )
        for service in required.services:
            for floor in service.routes:
                yield from self._floors_on(service, floor)

    def _floors_on(self, service: Service, floor: RouteFloor) -> Iterator[NeedRow]:
        arch = service.name if service.name == "next" else f"sm_{service.number}"
        common = {
            "arch": arch,
            "route": text_or_none(floor.route),
            "served_by": service.how,
            "modules": floor.coverage.served,
        }
        yield self._need("floor", "driver", least=text_or_none(floor.driver), **common)
        if floor.nvjitlink is not None:
            yield self._need("floor", "nvJitLink", least=str(floor.nvjitlink), **common)

    def _libraries(self, answers: PackageAnswers) -> Iterator[NeedRow]:
        met = set()
        for host in answers.hosts:
            for library in host.libraries:
                key = (library.name, library.how, library.file, library.version)
                if key not in met:
                    met.add(key)
                    yield self._need(
                        "library",
                        library.name,
                        subject=library.file,
                        least=library.version,
                        how=library.how,
                        evidence=library.evidence,
                        example=str(host.place),
                    )

    def _need(self, what: str, component: str, **found: Any) -> NeedRow:  # noqa: ANN401
        values: dict[str, Any] = dict.fromkeys(NeedRow.__struct_fields__)
        values |= {"modules": 0, **self._common}
        return NeedRow(**(values | {"what": what, "component": component} | found))

    def weight(self, weight: Weight) -> Iterator[WeightRow]:
        for arch in weight.archs:
            yield self._weight(
                "images",
                kind=str(arch.kind),
                arch=text_or_none(arch.arch),
                images=arch.images,
                stored=arch.stored,
            )
        yield self._weight("overhead", stored=weight.overhead)
        for library in weight.libraries:
            yield self._weight(
                "library",
                library=str(library.place),
                machine=library.machine,
                images=library.images,
                stored=library.stored,
                saved=library.saved,
            )
        for saving in weight.savings:
            yield self._weight(
                "saving",
                waste=str(saving.waste),
                images=saving.images,
                stored=saving.saved,
                saved=saving.saved,
                estimated=saving.estimated,
                text=saving.what,
                fix=saving.fix,
            )

    def _weight(self, what: str, **found: Any) -> WeightRow:  # noqa: ANN401
        values: dict[str, Any] = dict.fromkeys(WeightRow.__struct_fields__)
        values |= {"images": 0, "saved": 0, "estimated": False, **self._common}
        return WeightRow(**(values | {"what": what} | found))


def _about_gpus(classifiers: Iterable[str]) -> tuple[str, ...]:
    return tuple(text for text in classifiers if text.startswith("Environment :: GPU"))


def _status(answers: PackageAnswers) -> str:
    if _nothing_was_read(answers):
        return "failed"
    return "read" if answers.groups or answers.skipped else "no device code"


def _nothing_was_read(answers: PackageAnswers) -> bool:
    whole = Place(answers.filename)
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
    verdicts = [result.verdict for result in answers.results if not result.without_device_code]
    return str(max(verdicts)) if verdicts else None

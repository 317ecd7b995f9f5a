"""What was found in a package -> rows of the dataset.

Paths begin with the name of the package's file, wherever it lay when it was read: rows are the same
on every machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ltocompat.commands.survey.distribution import Distribution, Measures
from ltocompat.commands.survey.read_package import PackageAnswers
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
from ltocompat.model.verdict import Finding, Result, Verdict
from ltocompat.model.weight import Weight


class RowMaker:
    """Makes the rows of one distribution.

    Args:
        distribution: what its source says of it.
        facts: version of ltocompat, its tables and rules.
    """

    def __init__(self, distribution: Distribution, facts: str) -> None:
        self._distribution = distribution
        self._facts = facts

    def surveyed(self, answers: PackageAnswers, sha256: str, measures: Measures) -> Surveyed:
        """All rows of a package that was read.

        Args:
            answers: what was found.
            sha256: of its file.
            measures: what its task cost.
        """
        shown = _Shown(answers.path, self._distribution.filename, sha256, self._facts)
        return Surveyed(
            distributions=(self._of_package(answers, sha256, measures),),
            images=tuple(shown.images(answers)),
            needs=tuple(shown.needs(answers)),
            verdicts=tuple(shown.verdicts(answers)),
            findings=tuple(shown.findings(answers)),
            weight=tuple(shown.weight(answers.weight)) if answers.weight.stored else (),
            errors=tuple(self._skipped(answers, sha256, shown)),
        )

    def without_device_code(self, measures: Measures) -> Surveyed:
        """The row of a package of which the list of members was enough."""
        row = self._row(self._distribution.sha256, measures, status="no device code")
        return Surveyed(distributions=(row,))

    def failed(
        self, step: str, reason: str, measures: Measures, *, passing: bool, limit: str | None = None
    ) -> Surveyed:
        """The rows of a package that could not be read.

        Args:
            step: which step failed, a word of ``ErrorRow.step``.
            reason: one sentence.
            measures: what its task cost.
            passing: it may be another time.
            limit: name of the limit that was hit.
        """
        distribution = self._distribution
        error = ErrorRow(
            sha256=distribution.sha256,
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
        row = self._row(distribution.sha256, measures, status="failed")
        return Surveyed(distributions=(row,), errors=(error,))

    def _of_package(
        self, answers: PackageAnswers, sha256: str, measures: Measures
    ) -> DistributionRow:
        package = answers.package
        groups = answers.groups
        metadata: dict[str, Any] = {}
        if package is not None:
            metadata = {
                "project": package.name or self._distribution.project,
                "version": package.version or self._distribution.version,
                "platforms": package.platforms,
                "requires_dist": tuple(
                    dependency.line.partition(": ")[2] for dependency in package.requires
                ),
                "extras": package.extras,
                "declared": tuple(declared.source for declared in package.declared),
            }
        return self._row(
            sha256,
            measures,
            **metadata,
            status=_status(answers),
            files=len({group.traits.file for group in groups}),
            modules=answers.summary.modules,
            images=sum(group.images for group in groups),
            skipped=answers.summary.skipped_count,
            sass=_archs(answers, ImageKind.SASS),
            ptx=_archs(answers, ImageKind.PTX),
            ltoir=_archs(answers, ImageKind.LTOIR),
            unpacked=answers.weight.size,
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
        **found: Any,  # noqa: ANN401
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
            "requires_dist": distribution.requires_dist,
            "extras": distribution.extras,
            "declared": (),
            "upload_time": distribution.upload_time,
            "yanked": distribution.yanked,
            "yanked_reason": distribution.yanked_reason,
            "size": distribution.size if measures.size is None else measures.size,
            "looked_at": measures.looked_at,
            "files": 0,
            "modules": 0,
            "images": 0,
            "skipped": 0,
            "sass": (),
            "ptx": (),
            "ltoir": (),
            "unpacked": 0,
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

    def _skipped(self, answers: PackageAnswers, sha256: str, shown: _Shown) -> Iterator[ErrorRow]:
        for skipped in answers.summary.skipped:
            yield ErrorRow(
                sha256=sha256,
                facts=self._facts,
                source=self._distribution.source,
                filename=self._distribution.filename,
                project=self._distribution.project,
                step="read",
                reason=shown.text(skipped.reason),
                passing=False,
                place=shown.place(skipped.place),
                limit=skipped.limit,
            )


class _Shown:
    """Rows as they are shown: with the file's name for its path."""

    def __init__(self, path: str, filename: str, sha256: str, facts: str) -> None:
        self._path = path
        self._filename = filename
        self._common = {"sha256": sha256, "facts": facts}

    def place(self, place: Place) -> str:
        if place.path == self._path:
            place = place._replace(path=self._filename)
        return str(place)

    def text(self, text: str) -> str:
        folder = os.path.dirname(self._path)
        return text.replace(f"{folder}{os.sep}", "") if folder else text

    def _example(self, place: Place | None) -> str | None:
        return None if place is None else self.place(place)

    def images(self, answers: PackageAnswers) -> Iterator[ImageRow]:
        for group in answers.groups:
            traits = group.traits
            yield ImageRow(
                **self._common,
                file=self.place(traits.file),
                kind=str(traits.kind),
                arch=_text(traits.arch),
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
                example=self.place(group.example),
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
                gpu=_text(result.gpu),
                arch=None if result.gpu is None else str(result.gpu.arch),
                route=_text(result.route),
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
            gpu=_text(result.gpu),
            route=_text(result.route),
            rule=finding.rule,
            verdict=str(finding.verdict),
            level=str(finding.level),
            headline=self.text(finding.headline),
            message=self.text(finding.message),
            remedy=self.text(finding.remedy),
            evidence=self.text(finding.evidence),
            modules=finding.module_count,
            example=self._example(finding.example),
        )

    def needs(self, answers: PackageAnswers) -> Iterator[NeedRow]:
        if answers.summary.modules:
            yield from self._floors(answers.required)
        for asked in answers.required.asked:
            yield self._need(
                "requirement",
                asked.component,
                constraint=asked.constraint,
                rule=asked.rule,
                subject=asked.subject,
                consequence=self.text(asked.consequence),
                evidence=self.text(asked.evidence),
                modules=asked.module_count,
                example=self.place(asked.example),
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
            "route": _text(floor.route),
            "served_by": service.how,
            "modules": floor.coverage.served,
        }
        yield self._need("floor", "driver", least=_text(floor.driver), **common)
        if floor.nvjitlink is not None:
            yield self._need("floor", "nvJitLink", least=str(floor.nvjitlink), **common)

    def _libraries(self, answers: PackageAnswers) -> Iterator[NeedRow]:
        met = set()
        for host in answers.summary.hosts:
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
                        evidence=self.text(library.evidence),
                        example=self.place(host.place),
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
                arch=_text(arch.arch),
                images=arch.images,
                stored=arch.stored,
            )
        yield self._weight("overhead", stored=weight.overhead)
        for library in weight.libraries:
            yield self._weight(
                "library",
                library=self.place(library.place),
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
                text=self.text(saving.what),
                fix=self.text(saving.fix),
            )

    def _weight(self, what: str, **found: Any) -> WeightRow:  # noqa: ANN401
        values: dict[str, Any] = dict.fromkeys(WeightRow.__struct_fields__)
        values |= {"images": 0, "saved": 0, "estimated": False, **self._common}
        return WeightRow(**(values | {"what": what} | found))


def _status(answers: PackageAnswers) -> str:
    summary = answers.summary
    if summary.modules:
        return "read"
    if any(skipped.place == Place(answers.path) for skipped in summary.skipped):
        return "failed"  # nothing of it could be read
    return "read" if summary.skipped_count else "no device code"


def _text(value: object | None) -> str | None:
    return None if value is None else str(value)


def _archs(answers: PackageAnswers, kind: ImageKind) -> tuple[str, ...]:
    found: set[SmArch] = {
        group.traits.arch
        for group in answers.groups
        if group.traits.kind is kind and group.traits.arch is not None
    }
    return tuple(map(str, sorted(found)))


def _worst(answers: PackageAnswers) -> str | None:
    verdicts = [result.verdict for result in answers.results if not result.without_device_code]
    return str(max(verdicts)) if verdicts else None

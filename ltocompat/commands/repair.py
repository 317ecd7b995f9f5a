"""Repair wheels: change in them what findings name and no compiler is needed for."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext

from msgspec.structs import replace

from ltocompat.commands.options import (
    OnError,
    RepairOptions,
    StrPath,
    answers,
    named,
    public,
    with_failures,
)
from ltocompat.commands.package_problems import Packages, on_any_target
from ltocompat.commands.read_artifacts import ScanOptions, summaries
from ltocompat.commands.slim import licence_notes
from ltocompat.files.byteview import ByteView, FileSource
from ltocompat.files.output import created, folder_of, scratch_folder, writing
from ltocompat.model.errors import LtocompatError, UnreadableInput, UsageError, did_you_mean
from ltocompat.model.failure import Failure, Note
from ltocompat.model.image import Skipped
from ltocompat.model.limits import MIB, Budget
from ltocompat.model.location import refuse_address
from ltocompat.model.mend import Mended, Repaired
from ltocompat.model.verdict import Verdict, worst
from ltocompat.packages.values import Kind, Shipped
from ltocompat.rewrite.mends import key_of, new_problems, plan
from ltocompat.rewrite.wheel import new_wheel
from ltocompat.rewrite.wheel_edits import NO_PATCHELF, edits_between, patchelf
from ltocompat.rules.engine.judge_package import problems
from ltocompat.rules.prose import rule_ids
from ltocompat.scan.extract_bytes import images_at


@public(RepairOptions, "*wheels")
def repair(options: RepairOptions, *, on_error: OnError | None = None) -> Iterator[Repaired]:
    """Write repaired wheels, with corrected metadata, RUNPATHs and tags.

    ``repair`` calls patchelf to change RUNPATHs. It removes the folders of the build machine
    (PKG-14), and adds the folders of NVIDIA's wheels (PKG-07). It adds missing requirements and
    version bounds to Requires-Dist (PKG-01, PKG-02, PKG-04, NJL-06). It changes the wheel's tags to
    the CPU architecture of the libraries in the wheel (PKG-06). Each change is checked beforehand.
    Before the new wheel gets its final name, ``repair`` reads it again. Fixed findings must be
    gone, and no new finding may appear. A wheel without such findings is copied.

    Args:
        wheels: paths of wheels; ``repair`` changes none of these files.
        output: the folder for the new wheels. The folder is created if missing, and no file in it
            is replaced.
        dry_run: write nothing.
        only: IDs of rules; only the findings of these rules are fixed.
        beside: packages that will be installed together with the given packages.
        limits: upper limits on sizes, counts and time for reading one file.
        progress: called while files are read.
        on_error: called with the error of each path that fails; reading then goes on with the next
            path. None: raise the first error.

    Raises:
        UnreadableInput: a path can't be opened, or the wheel is damaged.
        UsageError: the file is not a wheel, or there is no folder to write into.
        Missing: patchelf is not installed.
        LtocompatError: the new wheel can't be written, or would be worse than the old wheel.
    """
    return answers(run(options), on_error)


def run(options: RepairOptions) -> Iterator[Repaired | Note | Failure]:
    """Yield the wheels; one that can't be repaired is a ``Failure`` among them.

    Raises:
        UsageError: there is no folder to write into.
    """
    if options.output is None and not options.dry_run:
        raise UsageError("name a folder for the new wheels with -o, or see changes with --dry-run")
    refuse_address(options.output or "", "output")
    for rule in sorted({*options.only} - {*rule_ids()}):
        near = did_you_mean(rule.upper(), rule_ids())
        raise UsageError(f"there is no rule {rule!r}{near}; list all: ltocompat explain --all")
    return with_failures(_repaired(path, options) for path in named(options.wheels))


def _repaired(path: str, options: RepairOptions) -> Iterator[Repaired | Note]:
    """Yield a repaired wheel; what is missing for writing it is said before it is read."""
    folder = None if options.dry_run else options.output
    name = os.path.join(folder or "", os.path.basename(path))
    if not options.only and patchelf() is None:
        yield Note(NO_PATCHELF)
    with nullcontext() if folder is None else folder_of(name, free=False):
        yield from _written(path, folder, options)


def _written(
    path: str, folder: StrPath | None, options: RepairOptions
) -> Iterator[Repaired | Note]:
    old = _Read(path, options, {})
    planned, mended = plan(old.shipped, old.problems, options.only)
    edits = edits_between(old.shipped, planned, Budget(options.limits))
    diff = tuple(edits.diff())
    yield from licence_notes(path) if diff else ()
    if options.only and edits.runpaths and patchelf() is None:
        yield Note(NO_PATCHELF)
    output = after = None
    if folder is not None:
        output = os.path.join(folder, edits.name)
        with writing(output), ExitStack() as stack:
            if not diff:
                file = stack.enter_context(created(output))
                shutil.copyfileobj(stack.enter_context(open(path, "rb")), file, MIB)
            else:
                scratch = stack.enter_context(scratch_folder())
                contents = edits.contents(scratch, Budget(options.limits))
                file = stack.enter_context(new_wheel(path, output, contents))
                new = _Read(output, options, {output: ByteView(FileSource(file.fileno()))})
                _prove(old, new, planned, mended)
                after = new.verdict
    void = edits.signatures if diff else ()
    yield Repaired(path, output, tuple(mended), diff, void, old.verdict, after)


def _prove(old: _Read, new: _Read, planned: Shipped, mended: Sequence[Mended]) -> None:
    """Hold a new wheel against what was planned.

    Raises:
        LtocompatError: it has not become that.
    """
    gone = {key_of(each) for each in mended if not each.reason}
    wrong = [each for each in new.findings if key_of(each) in gone]
    for each in (*wrong, *new_problems(old.findings, new.findings)):
        raise LtocompatError(
            f"{old.path!r} is not repaired; the new wheel would violate {each.rule}: {each.message}"
        )
    if _loaded(new.shipped) != _loaded(planned) or old.images() != new.images():
        raise LtocompatError(f"{old.path!r} is not repaired: patchelf changes other parts, too")


def _loaded(shipped: Shipped) -> tuple[object, ...]:
    """What drivers and loaders read of a package."""
    hosts = [(h.place.members, h.soname, h.needed, h.runpath, h.exports) for h in shipped.hosts]
    return dict(shipped.signatures), hosts


class _Read:
    """A wheel that was read, and the findings of ``audit`` on it.

    Args:
        path: its path.
        options: how to read it.
        sources: bytes that stand for the path.

    Raises:
        UnreadableInput: it can't be read.
        UsageError: it is not a wheel.
    """

    def __init__(self, path: str, options: RepairOptions, sources: Mapping[str, ByteView]) -> None:
        self._settings = replace(options.settings, sources=sources)
        reading = ScanOptions(self._settings, for_require=True, apart=True)
        packages = Packages((path,), options.beside, options.limits, sources)
        summary = next(answers(summaries([path], reading), on_error=None))
        shipped = packages.shipped(summary, packages.package_of(path))
        if shipped is None or shipped.package.kind is not Kind.WHEEL:
            reason = summary.skipped[0].reason if summary.skipped else "not a wheel; name a .whl"
            error = UnreadableInput if summary.skipped else UsageError
            raise error(f"{path!r} can't be repaired as a wheel: {reason}")
        self.path, self.shipped, self.problems = path, shipped, problems(shipped)
        self.findings = on_any_target(summary, self.problems).findings
        self.verdict = worst((Verdict.OK, *(finding.verdict for finding in self.findings)))

    def images(self) -> Counter[tuple[object, ...]]:
        """Return its images by file and by a digest of their stored bytes."""
        return Counter(
            (each.place.members, None)
            if isinstance(each, Skipped)
            else (each.entry.place.members, hashlib.sha256(each.payload.stored.all()).digest())
            for each in images_at(self._settings.place_of(self.path), self._settings)
        )

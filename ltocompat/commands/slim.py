"""Smaller files and packages with the same code, proved before they get their names."""

from __future__ import annotations

import functools
import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from typing import BinaryIO
from zipfile import BadZipFile, is_zipfile

from msgspec.structs import replace

from ltocompat.commands.check import resolve_targets
from ltocompat.commands.options import (
    OnError,
    SlimOptions,
    StrPath,
    answers,
    named,
    public,
    with_failures,
)
from ltocompat.commands.policy.values import NO_POLICY, Policy
from ltocompat.commands.read_artifacts import ArtifactReader, ScanOptions
from ltocompat.facts import drivers, nvjitlink_minors
from ltocompat.facts.gpus import arm_only, find_gpu, sms
from ltocompat.facts.libraries import packages_with
from ltocompat.files.archives.folder import is_environment
from ltocompat.files.byteview import ByteView, FileSource
from ltocompat.files.output import folder_of
from ltocompat.model.arch import ArchForm
from ltocompat.model.errors import LtocompatError, UsageError, restated
from ltocompat.model.failure import Failure, Note
from ltocompat.model.generic import grouped
from ltocompat.model.location import Location
from ltocompat.model.projection import project
from ltocompat.model.slimmed import CodeTally, KeptVerdict, Slimmed
from ltocompat.model.target import Target, exactly
from ltocompat.model.verdict import Route, Verdict
from ltocompat.model.words import truncate_list
from ltocompat.packages.reading import package_of
from ltocompat.rewrite.kept_images import Kept, gpus_of
from ltocompat.rewrite.library import LibraryRewriter, Packer, Packing
from ltocompat.rewrite.package import Written, is_packed, written, written_in_place
from ltocompat.rewrite.zips import opened_zip
from ltocompat.rules import floors
from ltocompat.rules.engine.engine import Engine
from ltocompat.rules.engine.implied_gpus import gpus_to_judge
from ltocompat.rules.engine.judge_artifact import ArtifactJudge
from ltocompat.rules.weight_advice import OTHER_CPUS, known_numbers
from ltocompat.scan.summarize import SummaryBuilder
from ltocompat.scan.walk import Batch, batches_of_view, files
from ltocompat.targets.arch_list import arch_list

# Beyond 19 frames need larger windows than those that NVIDIA's tools write.
# Levels of Zstandard; those of the modes give the same bytes as NVIDIA's own tools.
_LEVELS = {"size": 19, "balance": 5, **{f"{level}": level for level in range(1, 20)}}
_SOURCE = "slim"
_Verdicts = dict[tuple[str, str | None, Route | None], Verdict]


@public(SlimOptions, "*paths")
def slim(options: SlimOptions, *, on_error: OnError | None = None) -> Iterator[Slimmed]:
    """Write new files and packages that contain only device code that the GPUs to keep use.

    ``slim`` never removes code that a kept GPU uses. If no GPUs, architectures, targets or policy
    are given, ``slim`` removes only second copies and code that no GPU uses. Before a new file gets
    its final name, ``slim`` reads it again and compares it with the old file.

    Args:
        paths: libraries, objects, archives, executables, wheels, zips, conda packages, folders.
        output: the new file, or a folder for the new files. If there are several inputs, this is a
            folder.
        keep_gpus: the GPUs for which code is kept: ``h100``, ``h100+l4``.
        keep_archs: architectures whose images are kept: ``sm_90,compute_120``.
        targets: deploy targets whose GPUs are kept.
        policy: a ``Policy`` or its file. Code is kept for the policy's targets, and for what
            ``require-gpus`` and ``require-archs`` list.
        ptx: also keep PTX that future GPUs can use.
        pack: compress code again with Zstandard: ``size``, ``balance`` or a level from 1 to 19.
        to_zstd: with ``pack``, also use Zstandard for code that is uncompressed or compressed with
            LZ4. Drivers before 550.54.14 (CUDA 12.4) can't read the new code.
        max_bytes: stop as soon as the new file has at most this size. The steps are: compress code,
            remove code that no GPU uses, remove second copies, remove PTX for GPUs that also have
            SASS.
        build: the build number of new wheels.
        in_place: change the files inside the given folder. Copies of the original files are written
            to the new folder ``output``.
        limits: upper limits on sizes, counts and time for reading one file.
        progress: called while files are read.
        on_error: called with the error of each path that fails; reading then goes on with the next
            path. None: raise the first error.

    Raises:
        UnreadableInput: a path can't be read.
        UsageError: an option is invalid.
        LtocompatError: the output can't be written, or can't be made small enough.
    """
    return answers(run(options), on_error)


def run(options: SlimOptions) -> Iterator[Slimmed | Note | Failure]:
    """Yield the new files; a path without one is a ``Failure`` among them."""
    resolved = resolve_targets(options.targets) if options.targets else ()
    policy = _policy(options.policy)
    targets = (*(target.target for target in resolved), *policy.targets)
    for reason in filter(None, (target.untold for target in targets)):
        raise UsageError(f"it is unknown which code some nodes need: {reason}")
    kept = _kept(options, targets, policy)
    packing = _packing(options)
    paths = map(os.path.normpath, named(options.paths))
    yield from with_failures(_slimmed(path, options, kept, packing, targets) for path in paths)


def _slimmed(
    path: str, options: SlimOptions, kept: Kept, packing: Packing | None, targets: Sequence[Target]
) -> Iterator[Slimmed | Note]:
    text = f"{path!r} can't be rewritten"
    advice = "; make sure that the input is complete, and that TMPDIR has room for a copy"
    errors = OSError, BadZipFile  # of the input, or of temporary files
    with (
        restated(LtocompatError, text, *errors, advice=advice, brief=True),
        folder_of(_target(path, options)),
    ):
        next(files(Location(path), options.settings), None)  # an empty folder is an error
        yield from licence_notes(path)
        yield _smallest(path, options, kept, packing, targets)


def _policy(policy: Policy | StrPath | None) -> Policy:
    """The policy that says what is kept.

    Raises:
        UsageError: there is a mistake in it, or it names no GPU.
    """
    if policy is None:
        return NO_POLICY
    if not isinstance(policy, Policy):
        # Imported here: most runs have none.
        from ltocompat.commands.policy.reading import read_policy

        policy = read_policy(os.fspath(policy))
    if not policy.names_gpus:
        raise UsageError(f"{policy.source} names no GPU; write require-gpus, or give --keep-gpu")
    return policy


def _kept(options: SlimOptions, targets: Sequence[Target], policy: Policy) -> Kept:
    """What is kept.

    Raises:
        UsageError: a name means no GPU or architecture.
    """
    gpus = gpus_of(options.keep_gpus)
    gpus += [gpu for target in targets for gpu in gpus_to_judge(target)]
    gpus += policy.require_gpus
    archs = [arch for text in options.keep_archs for arch in arch_list(text)]
    archs += policy.require_archs
    real = [arch.number for arch in archs if arch.form is ArchForm.REAL]
    numbers = dict.fromkeys([*(gpu.arch.number for gpu in gpus), *real])
    return Kept(tuple(numbers), tuple(dict.fromkeys(archs)), options.ptx)


def _packing(options: SlimOptions) -> Packing | None:
    """How to pack.

    Raises:
        UsageError: there is no such level.
    """
    if options.pack is None:
        if options.to_zstd:
            raise UsageError("--to-zstd works only together with --pack; add --pack size")
        return None
    text = str(options.pack)
    level = _LEVELS.get(text)
    if level is None:
        raise UsageError(f"--pack accepts size, balance or a level from 1 to 19, not {text[:40]!r}")
    return Packing(level, options.to_zstd)


def licence_notes(path: str) -> Iterator[Note]:
    """Yield a note about a licence that forbids changes, before anything is written."""
    package = package_of(path)
    own = [name for name in map(os.path.basename, _names_in(path)) if packages_with(name)]
    if package is not None and package.name.startswith("nvidia-"):
        own = [package.name]
    if own:
        yield Note(
            f"{path} has NVIDIA's own {truncate_list(own, 3)}, whose licence forbids changing "
            "and publishing it; keep the result to yourself, or ask NVIDIA"
        )


def _names_in(path: str) -> Sequence[str]:
    """The path, or the names of the files in a folder or a zip."""
    if is_zipfile(path):
        with opened_zip(path) as archive:
            return archive.namelist()
    return (path, *glob.iglob("**", root_dir=path, recursive=True))


def _smallest(
    path: str, options: SlimOptions, kept: Kept, packing: Packing | None, targets: Sequence[Target]
) -> Slimmed:
    """Write the new file; where it may have so many bytes only, by the first way that does."""
    target = _target(path, options)
    ways: tuple[Kept, ...] = (kept,)
    if options.max_bytes is not None:
        packing = packing or Packing(_LEVELS["size"])
        only = replace(kept, dead=False, copies=False)
        ways = (only, replace(only, dead=True), kept, replace(kept, ptx=False))
    sizes: list[int] = []
    with ExitStack() as stack:
        packer = None if packing is None else stack.enter_context(closing(Packer(packing)))
        for way in dict.fromkeys(ways):
            try:
                return _slim(path, target, options, _Run(way, packer, targets, options))
            except _TooLarge as error:
                sizes += error.args
    gpus = "it keeps all its GPUs" if kept.everything else "it keeps those GPUs"
    raise LtocompatError(
        f"{path!r} needs at least {min(sizes):,} bytes if {gpus} "
        "(without --max-bytes, slim says why); "
        f"{'' if options.to_zstd else 'add --pack size --to-zstd, '}"
        "name fewer GPUs with --keep-gpu, or raise --max-bytes"
    )


class _TooLarge(Exception):
    """A new file that has too many bytes: so many."""


def _target(path: str, options: SlimOptions) -> str:
    output = os.fspath(options.output)
    bare = path.endswith(".whl") and "." not in os.path.basename(output)  # pip takes no such file
    into = len(options.paths) > 1 or bare or os.path.isdir(output) or output.endswith(os.sep)
    if not into or options.in_place:
        return os.path.normpath(output)
    return os.path.join(output, os.path.basename(os.path.abspath(path)))


def _slim(path: str, target: str, options: SlimOptions, run_: _Run) -> Slimmed:
    if options.in_place and not os.path.isdir(path):
        raise UsageError(f"--in-place works only on a folder, and {path!r} is not a folder")
    if not options.in_place and is_environment(path):
        raise UsageError(f"{path!r} is an environment, whose copy would not work; add --in-place")
    if options.max_bytes is not None and not is_packed(path):
        raise UsageError(
            "--max-bytes applies to packages that are packed; other files keep their length"
        )
    writing = (
        written_in_place(path, target, run_.rewrite)
        if options.in_place
        else written(path, target, run_.rewrite, options.build, options.settings)
    )
    with writing as found:
        answer = run_.answer(path, found)
        if options.max_bytes is not None and answer.new_size > options.max_bytes:
            raise _TooLarge(answer.new_size)
    return answer


def _newest(kept: Kept) -> Iterator[Target]:
    """The newest driver of each GPU that is kept, with the newest nvJitLink."""
    last = {row.number: row.last_branch or drivers.driver_branches()[-1] for row in sms()}
    numbers = kept.gpus or known_numbers()[:-1]
    for branch, those in grouped((last[number], number) for number in numbers).items():
        yield Target(
            name=f"driver R{branch}",
            driver=exactly(drivers.first_production(branch), _SOURCE),
            nvjitlink=exactly(nvjitlink_minors()[-1], _SOURCE),
            gpus=tuple(find_gpu(f"sm_{number}") for number in those),
        )


class _Run:
    """One package that is written anew.

    Args:
        kept: what stays.
        packer: packs it; None: it stays packed as it is.
        targets: the deploy targets.
        options: of the command.
    """

    def __init__(
        self, kept: Kept, packer: Packer | None, targets: Sequence[Target], options: SlimOptions
    ) -> None:
        self._kept, self._packer, self._options = kept, packer, options
        self._engine = Engine()
        self._targets = (*targets, *(_newest(kept) if kept.gpus or kept.everything else ()))
        self._tally = CodeTally()
        self._verdicts: list[KeptVerdict] = []
        self._machine: str | None = None  # of the library that is written just now
        # Packing takes its time, and what is asked for is not cut short.
        limits = options.limits
        if packer is not None:
            limits = replace(limits, seconds=100 * limits.seconds)
        self._settings = replace(options.settings, limits=limits, jobs=1)
        self._reader = ArtifactReader(ScanOptions(self._settings, self._targets))

    def rewrite(self, view: ByteView, place: Location, file: BinaryIO) -> bool:
        """Write a library anew and verify it; return whether anything in it changed.

        Raises:
            LtocompatError: something that must stay has changed.
        """
        progress = self._settings.progress if self._packer else None
        packing = functools.partial(progress or (lambda *_: None), f"packing {place}")
        settings = self._kept, self._packer, self._tally
        rewriter = LibraryRewriter(view, file, *settings, progress=packing, members=place.members)
        batches = batches_of_view(view, Location(place.path), self._settings)
        self._machine = rewriter.machine
        before = self._judged(place, rewriter.written(batches))
        if rewriter.changed:
            new = ByteView(FileSource(file.fileno()))
            batches = batches_of_view(new, Location(place.path), self._settings)
            self._hold(place, before, self._judged(place, rewriter.proved(new, batches)))
        return rewriter.changed

    def _judged(self, place: Location, batches: Iterable[Batch]) -> _Verdicts:
        builder = SummaryBuilder(apart=False)
        self._reader.fold(batches, builder)
        # What its libraries import stays the same, and an nvJitLink of another major lacks it.
        artifact = ArtifactJudge(replace(builder.summary(place.path), hosts=[]), self._engine)
        # A GPU that is beside Arm cores alone takes no library for another CPU.
        without_arm = self._machine in OTHER_CPUS
        found: _Verdicts = {}
        for target in self._targets:
            for result in artifact.results(target, None):
                gpu = result.gpu
                if not (without_arm and not self._kept.gpus and gpu and arm_only(gpu.arch.number)):
                    found[target.name, gpu.name if gpu else None, result.route] = result.verdict
        return found

    def _hold(self, place: Location, before: _Verdicts, after: _Verdicts) -> None:
        for (target, gpu, route), verdict in after.items():
            known = before.get((target, gpu, route), Verdict.NOT_FOR_GPU)
            if verdict > known:
                hint = "; leave out --to-zstd for older drivers" if self._options.to_zstd else ""
                raise LtocompatError(
                    f"{place} would be {verdict} on {gpu or target} instead of {known}, so it "
                    f"is not written{hint}"
                )
            # Where every GPU is kept, nobody asked for those that it never served.
            if self._kept.gpus or verdict is not Verdict.FAIL:
                self._verdicts.append(KeptVerdict(place, target, gpu, route, known, verdict))

    def answer(self, path: str, found: Written) -> Slimmed:
        """Return the answer about the package."""
        return project(
            Slimmed,
            found,
            path=path,
            output=found.path,
            code=self._tally,
            verdicts=tuple(self._verdicts),
            zstd_driver=str(floors.driver("zstd-driver")),
            in_place=self._options.in_place,
        )

"""Try links with real nvJitLinks and nvlinks: together, as they would be, or image by image."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from contextlib import nullcontext

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.commands.options import LinkOptions, StrPath, answers, public
from ltocompat.files.output import folder_of, write_named
from ltocompat.model.arch import ArchForm, SmArch
from ltocompat.model.errors import Missing, UnreadableInput, UsageError
from ltocompat.model.failure import Note
from ltocompat.model.image import ImageKind, Skipped
from ltocompat.model.link_options import Disagreement, disagreements
from ltocompat.model.location import Location, refuse_address
from ltocompat.targets.linkers import Cache, Linker, Machine, Tool, find, obtain
from ltocompat.targets.linkers.version_request import split
from ltocompat.trial.cached_linker import compiles_relocatable, lost_kernels
from ltocompat.trial.diagnosis import sharpened
from ltocompat.trial.link_inputs import (
    LinkInput,
    SingleLink,
    gather,
    gather_each,
    no_code_at,
    of_single_link,
)
from ltocompat.trial.link_pool import Pool
from ltocompat.trial.logs import explain
from ltocompat.trial.try_single_link import link_all
from ltocompat.trial.values import Answer, LinkOutcome, Request

LTO = "lto"
PLAIN = "plain"
NONE_AT_HAND = "no nvJitLink is installed; get one with: ltocompat linkers install nvjitlink=13.5"
_LEFT_OUT = (
    "its output is empty: nvlink leaves out code that is not relocatable, is for another target, "
    "or is called by no kernel"
)
_PASSED_OVER = (
    "its output is empty: linkers read only the first region of an object, and ld -r puts other "
    "code after it (BLD-14); give the linker the objects one by one"
)


class Linked(Struct, frozen=True):
    """One link that was tried.

    Attributes:
        linker: the linker.
        way: ``lto`` (with -lto) or ``plain`` (without -lto, only PTX and SASS).
        arch: the target.
        place: the image that was linked alone; None if all inputs were linked together.
        answer: the answer of the library in a process that has not linked before.
        again_seconds: time of the same link in a process that has linked before; None if not
            measured.
        reason: the message in the log, shortened to one sentence; None if the log has no message.
    """

    linker: Linker
    way: str
    arch: SmArch
    place: Location | None
    answer: Answer
    again_seconds: float | None = None
    reason: str | None = None


@public(LinkOptions, "*places")
def link(options: LinkOptions) -> Iterator[Linked | Disagreement | Skipped]:
    """Link the code in these files and places, once with each linker.

    Args:
        places: LTO-IR, PTX, relocatable cubins, fatbins, objects, archives, or places in them.
        arch: the target, e.g. ``sm_90``. With ``each``, the default is the architecture of each
            image.
        linkers: versions or paths: ``nvjitlink=12.4``, ``nvlink=13.5.37``. Default: the newest
            installed nvJitLink.
        each: link every image separately, not all images together.
        add_only: with ``each``, add each image to the linker, but don't link. This is fast and
            shows whether the linker accepts the image's LTO-IR version. nvlink has no such step.
        output: the file for the linked cubin, which is linked with LTO if possible. Only one linker
            is allowed.
        install_linkers: install missing linkers for trials.
        where: link only images that match, each as a separate input.
        limits: upper limits on sizes, counts and time for reading one file.
        progress: called as inputs are read.

    Raises:
        UnreadableInput: a path can't be opened.
        UsageError: there is nothing to link, or the options don't go together.
        Missing: a linker is missing.
    """
    return answers(run(options), None)


def run(options: LinkOptions) -> Iterator[Linked | Disagreement | Skipped | Note]:
    """Yield the links that ``link`` makes, and raise the same errors."""
    output = options.output
    target = SmArch.parse(options.arch) if options.arch else None
    wanted = [split(text) for text in options.linkers]
    if options.each and output is not None:
        raise UsageError("-o writes the result of one link; leave out --each or -o")
    if options.each and options.add_only and any(tool is Tool.NVLINK for tool, _ in wanted):
        raise UsageError("nvlink can't do --add-only; leave out this option, or name an nvJitLink")
    if target is None and not options.each:
        raise UsageError("a link needs its target; add --arch, e.g. --arch sm_90")
    if output is not None:
        if len(wanted) > 1:
            raise UsageError("-o writes the result of one linker; name only one linker")
        refuse_address(output, "output")
    with nullcontext() if output is None else folder_of(os.fspath(output)):
        yield from _links(options, _linkers(wanted, options), target)


def _links(
    options: LinkOptions, linkers: list[Linker], target: SmArch | None
) -> Iterator[Linked | Disagreement | Skipped | Note]:
    """Link the inputs of options that go together."""
    places = [Location.parse(os.fspath(place)) for place in options.places]
    if options.each or target is None:
        yield from _each(options, places, linkers, target)
        return
    # Whole files and modules, or the images that were asked for.
    read = gather if options.where is None else functools.partial(gather_each, where=options.where)
    gathered = [piece for place in places for piece in read(place, options.settings)]
    unread = [piece for piece in gathered if isinstance(piece, Skipped)]
    yield from unread
    inputs = of_single_link(piece for piece in gathered if isinstance(piece, LinkInput))
    if unread and not inputs:
        raise UnreadableInput(f"{unread[0].place}: {unread[0].reason}")
    yield from _together(inputs, linkers, target, output=options.output)


def _linkers(wanted: Sequence[tuple[Tool, str]], options: LinkOptions) -> list[Linker]:
    if not wanted:
        machine = Machine.here()
        at_hand = [*Cache.of().installed(), *find(machine)]
        if not at_hand:
            others = [f"; or add --linker nvlink={n.version}" for n in find(machine, Tool.NVLINK)]
            raise Missing("".join([NONE_AT_HAND, *others[-1:]]))
        return [max(at_hand, key=lambda linker: linker.numbers)]
    install, report = options.install_linkers, options.settings.progress
    get = functools.partial(obtain, install_missing=install, report=report)
    return [get(version, tool=tool) for tool, version in wanted]


def _together(
    inputs: list[LinkInput], linkers: list[Linker], target: SmArch, *, output: StrPath | None
) -> Iterator[Linked | Disagreement | Note]:
    yield from disagreements(
        (image.options, image.place) for input_ in inputs for image in input_.ltoir
    )
    for linker in linkers:
        with Pool(linker.path, workers=1, tool=linker.tool) as pool:
            for way in _ways(inputs, target, linker):
                linked = _timed(pool, linker, inputs, target, way, keep=output is not None)
                yield linked
                if output is not None and linked.answer.output is not None:
                    write_named(os.fspath(output), linked.answer.output)
                    size, how = len(linked.answer.output), " with -lto" if way == LTO else ""
                    yield Note(f"wrote {output}: {size:,} bytes for {target}, linked{how}")
                    output = None


def _ways(inputs: list[LinkInput], target: SmArch, linker: Linker) -> list[str]:
    """How these inputs can be linked at all: with LTO-IR, where there is some for the target."""
    read = [image.kind for input_ in inputs for image in input_.read(target, linker.release)]
    with_code = [input_ for input_ in inputs if input_.images]
    if inputs and not with_code:
        raise no_code_at(inputs[0].place)
    # Code of an object that no link is about, as it is linked already, chooses no way for others.
    with_code = [input_ for input_ in with_code if input_.modules] or with_code
    plain = [PLAIN] if with_code and all(input_.plain for input_ in with_code) else []
    if ImageKind.LTOIR in read or (not plain and any(input_.ltoir for input_ in with_code)):
        return [LTO, *plain]
    if not plain:
        raise UsageError("no input has LTO-IR, and some inputs don't have PTX or SASS either")
    return plain


def _timed(
    pool: Pool, linker: Linker, inputs: list[LinkInput], target: SmArch, way: str, *, keep: bool
) -> Linked:
    """Link twice, in a new process and then in the same."""
    ask = functools.partial(link_all, pool, SingleLink(inputs, target, linker.release, way == LTO))
    answer = ask(keep_output=keep)
    worked = answer.outcome in (LinkOutcome.LINKED, LinkOutcome.COMPILED, LinkOutcome.ACCEPTED)
    again = seconds(ask()) if worked else None
    reason = _reason(answer, linker, way, target, inputs)
    return Linked(linker, way, target, None, answer, again, reason)


def seconds(answer: Answer) -> float:
    """Return the time in the library, from Create to Complete (adding PTX compiles it).

    For nvlink, the time of its process.
    """
    spent = answer.seconds
    return sum(number or 0.0 for number in (spent.create, spent.add, spent.complete))


def _reason(
    answer: Answer, linker: Linker, way: str, target: SmArch, inputs: Sequence[LinkInput]
) -> str | None:
    """Why a link did not succeed, or should not have; None if all is well."""
    known = explain(answer.log, linker.tool.label)
    if answer.outcome is LinkOutcome.LOST:
        return lost_kernels(answer)
    empty = why_empty(linker, target, inputs) if answer.outcome is LinkOutcome.ACCEPTED else None
    if empty is not None:
        return known.sentence if known is not None else empty
    if not answer.failed and answer.outcome is not LinkOutcome.UNRESOLVED:
        return known.sentence if known is not None and known.only_printed else None
    if known is not None:
        refused = [input_ for input_ in inputs if input_.trial.name == answer.input_name] or inputs
        images = [
            image
            for input_ in refused
            for image in (input_.plain if way == PLAIN else input_.ltoir or input_.plain)
        ]
        return sharpened(known, images, linker, target).sentence
    return answer.failure


def why_empty(linker: Linker, target: SmArch, inputs: Sequence[LinkInput]) -> str | None:
    """Return why a successful link has no code in its output; None if that may be right."""
    if linker.tool is Tool.NVLINK:
        return _LEFT_OUT
    return _PASSED_OVER if SingleLink(inputs, target, linker.release).unread_ltoir() else None


def _each(
    options: LinkOptions, places: list[Location], linkers: list[Linker], target: SmArch | None
) -> Iterator[Linked | Skipped]:
    """Every image with every linker, one linker after the other."""
    settings = options.settings
    found = [piece for place in places for piece in gather_each(place, settings, options.where)]
    yield from (piece for piece in found if isinstance(piece, Skipped))
    pieces = [piece for piece in found if isinstance(piece, LinkInput)]
    if found and not pieces:
        raise UnreadableInput("no image in these paths could be read")
    if not pieces:
        raise UsageError("there is no image to try; name LTO-IR, PTX, a fatbin, object or archive")
    total = sum(len(piece.trial.data) for piece in pieces) * len(linkers)
    done = 0
    complete = not options.add_only
    for linker in linkers:
        # Without -r a fragment that has no kernel would not be compiled at all.
        relocatable = complete and compiles_relocatable(linker.path, linker.tool)
        extra = ("-r",) if relocatable else ()
        with Pool(linker.path, tool=linker.tool) as pool:
            requests = [_alone(piece, target, extra, complete=complete) for piece in pieces]
            answers = pool.run(request for _, _, request in requests)
            for piece, (way, arch, _), answer in zip(pieces, requests, answers, strict=True):
                done += len(piece.trial.data)
                if settings.progress is not None:
                    settings.progress(str(linker), done, total)
                text = _reason(answer, linker, way, arch, (piece,))
                yield Linked(linker, way, arch, piece.place, answer, reason=text)


def _alone(
    piece: LinkInput, target: SmArch | None, extra: tuple[str, ...], *, complete: bool
) -> tuple[str, SmArch, Request]:
    """The link of one image: its way, its target, and what to ask."""
    (image,) = piece.images
    arch = target or image.arch
    if arch is None:
        raise UsageError(f"{piece.place} names no architecture; add --arch, e.g. --arch sm_90")
    way = LTO if piece.ltoir else PLAIN
    lto = ("-lto", *extra) if piece.ltoir else ()
    options = (f"-arch={replace(arch, form=ArchForm.REAL)}", *lto)
    return way, arch, Request((piece.trial,), options, complete=complete, file=piece.place.path)

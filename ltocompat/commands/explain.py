"""Explain a rule by its ID, or say what causes an error that a user pasted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from msgspec.structs import replace

from ltocompat.commands.options import ExplainOptions, OnError, answers, public
from ltocompat.facts import rows
from ltocompat.facts.drivers import CudaError, errors_called
from ltocompat.model.errors import Missing, UsageError, did_you_mean
from ltocompat.model.explained import AtFault, Explained
from ltocompat.model.failure import Failure, Note
from ltocompat.model.projection import project
from ltocompat.model.words import excerpt
from ltocompat.rules import prose
from ltocompat.rules.evidence import patterns
from ltocompat.rules.fitting import fitting
from ltocompat.rules.literals import places
from ltocompat.rules.message_values import derived, filled, values_known
from ltocompat.rules.messages import Match, matches
from ltocompat.rules.prose import rule_ids, rule_prose, rules_left_out, topic_name, topic_rows
from ltocompat.rules.tried import untried

# Of a longer text, the beginning and the end are read: what failed first, and what was said last.
_LONGEST = 200_000
_LONGEST_QUOTE = 160  # characters of a text that no rule knows
_MOST_CAUSES = 3


@public(ExplainOptions, "text", "*places", without=("every",))
def explain(options: ExplainOptions, *, on_error: OnError | None = None) -> tuple[Explained, ...]:
    """Return the rules that explain a text, the most likely cause first.

    Args:
        text: a rule's ID (``ptx-01``), a topic (``forward compatibility``), or an error. An error
            is given by its number, by its name, or by its text with the lines around it.
        places: files, folders and packages. ``at_fault`` of the first cause lists the places that
            have the problem.
        here: use the driver, GPU and nvJitLink of this machine if the text doesn't name them.
        python: the interpreter whose packages are searched if no places are given.
        progress: called while files are read.
        on_error: called with the error of each file that fails; the search then goes on with the
            next file. None: raise the first error.

    Raises:
        UsageError: the text is empty, or the interpreter does not run.
        Missing: no rule has this ID or explains this text. The message quotes the line.
        UnreadableInput: a place can't be read.
    """
    found = _explained(options.text, here=options.here)
    return tuple(answers(_with_files(found, options), on_error))


def _explained(text: str, *, here: bool) -> tuple[Explained, ...]:
    """Return the rules that explain a text, and raise the errors of ``explain`` about it."""
    words = str.strip(text)
    if not words:
        raise UsageError(
            "there is nothing to explain; give the ID of a rule (LTO-01), or the text of an error"
        )
    like_id = r"(?<![\w-])[A-Z]{2,5}-[0-9A-Z]{1,9}(?![\w-])"
    like_ids = [words.upper()] if words.isalpha() else re.findall(like_id, text.upper())
    by_id = {id_: _of_rule(_ids()[id_]) for id_ in like_ids if id_ in _ids()}
    typed = re.fullmatch(r"([A-Z]{2,5})[-_]?(\d{1,2})([A-Z]?)", words.upper())
    id_ = f"{typed[1]}-{typed[2]:0>2}{typed[3]}" if typed else words.upper()  # PTX-1, ptx01
    if id_ in _ids():
        return (_of_rule(_ids()[id_]),)
    if row := topic_rows().get(topic_name(words[:_LONGEST])):
        topic = row.values()
        told = Explained(row.head, topic["title"], topic["text"].strip(), built=False)
        return (replace(told, source=topic["source"], also=tuple(topic["rules"])),)
    machine = _this_machine() if here else {}
    half = _LONGEST // 2
    short = text if len(text) <= _LONGEST else f"{text[:half]}\n{text[-half:]}"
    found = (*by_id.values(), *_causes(words, short, machine))
    if not found:
        near = did_you_mean(words.upper(), _ids()) if words.upper() in like_ids else ""
        raise Missing(_unknown(words, near))
    return tuple(replace(entry, here=_described(machine)) for entry in found) if here else found


def unexplained(error: Missing) -> Explained:
    """Return the answer about a text that no rule knows: the sentence that quotes its line."""
    return Explained("", "", re.sub("^.", lambda first: first[0].upper(), str(error)))


def _this_machine() -> dict[str, str]:
    """Return what a look at this machine tells, by the names of the values of a text."""
    from ltocompat.commands.env import env

    found = env().environment
    values = {} if found.kernel_driver is None else {"driver": str(found.kernel_driver.version)}
    gpus = {(gpu.name, str(gpu.arch.number)) for gpu in found.gpus if gpu.arch is not None}
    if len(gpus) == 1:
        values |= dict(zip(("gpu", "gpu_sm"), gpus.pop(), strict=True))
    linkers = {pick.version for pick in found.picks if pick.library == "nvJitLink" and pick.version}
    return values | ({"nvjitlink": linkers.pop()} if len(linkers) == 1 else {})


def _described(machine: Mapping[str, str]) -> str:
    """Return a machine in words: ``driver 550.163 (CUDA 12.4), H100 (sm_90)``."""
    known = filled(values_known()["machine"], derived(machine)).removesuffix(", ")
    return known or "this machine has no driver, GPU or nvJitLink"


def explain_all() -> tuple[Explained, ...]:
    """Return every rule in the order of the catalogue, then the rules that nothing checks."""
    return tuple(map(_of_rule, _ids().values()))


@cache
def _ids() -> dict[str, str]:
    """The IDs of all rules, by the same in capitals."""
    return {rule_id.upper(): rule_id for rule_id in rule_ids()}


def _of_rule(rule_id: str) -> Explained:
    if rule_id in rule_ids(built=True):
        return project(Explained, rule_prose(rule_id))
    left_out = rules_left_out()[rule_id]
    return Explained(rule_id, left_out.title, f"Not built. {left_out.statement}", built=False)


def _causes(words: str, text: str, machine: Mapping[str, str]) -> list[Explained]:
    """Causes of a text: a rule for each, then the rules with the same messages."""
    found = list(matches(text, machine))
    if not found:
        found = [
            replace(match, line=line.strip(), found=word)
            for word, error in _named(words)
            for line in [line for line in text.splitlines() if word in line][:1]
            for match in matches(text.replace(word, f"{error.name}: {error.text}"), machine)
        ]
    causes: dict[str, Explained] = {}
    for match in found:
        if not any(match.message.rule in cause.also for cause in causes.values()):
            causes.setdefault(match.message.rule, _of_match(match, text))
    also = {of: cause for cause in causes.values() for of in cause.also if of not in causes}
    for of, by in also.items():
        causes[of] = replace(_of_rule(of), matched=by.matched, score=by.score, line=by.line)
    return [*causes.values()]


def _named(text: str, *more: str) -> list[tuple[str, CudaError]]:
    """The errors that a text names, each with the word for it; a text of one word is a name."""
    bare = re.fullmatch(patterns()["bareError"], text)
    words = [bare["word"]] if bare else [*_found("rustError", text[:_LONGEST]), *more]
    return [(word, error) for word in dict.fromkeys(words) for error in errors_called(word)]


def _found(name: str, text: str) -> list[str]:
    return [*re.findall(patterns()[name], text)]


_HALF = 20  # characters of a message that are worth a score of one half


def _of_match(match: Match, text: str) -> Explained:
    return replace(
        _of_rule(match.message.rule),
        matched=match.found,
        score=round(len(match.found) / (len(match.found) + _HALF), 3),
        line=match.line,
        cause=filled(match.message.cause, match.values),
        fix=untried(fitting(match.message.fix, match) or fitting("{elsewhere}", match), text),
        check=match.told(match.message.check) or "nvidia-smi",
        values=match.values,
        also=match.message.also,
    )


def _unknown(text: str, near: str = "") -> str:
    """The sentence for a text that no rule knows: its error's meaning, or its error line."""
    start = text[:_LONGEST]
    found = _found("saidError", start)
    said = [row.name for words in found for row in rows(CudaError) if words == row.text]
    named = _named(text, *_found("namedError", start), *said, *_found("numberedError", start))[:1]
    quoted = f'"{_error_line(text)}"'
    asked = (start, *(f"{error.name}: {error.text}" for _, error in named))
    apart = ((row, words) for words in asked for row in prose.rows("apart"))
    heard = (row.values()["says"] for row, words in apart if any(places(row.line("find"), words)))
    says: dict[str, str] = next(heard, {})
    known = "".join(f" ({error.name}, {error.number}, {error.text})" for _, error in named)
    if "perhaps" in says or not (named or says):
        more = "if it is about CUDA, paste more of the log (all rules: ltocompat explain --all)"
        return f"no rule knows {quoted}{near}; {says.get('perhaps', more)}{known}"
    log = values_known()["logs"].get(known.lstrip(" (").partition("_ERROR_")[0])
    if log and not says:
        return f"{quoted}{known} doesn't say why; paste the text that {log} returns"
    why = says.get("advice", "look at the program's earlier actions")
    return f"{quoted} is not about compatibility: {why}{known}"


def _error_line(text: str) -> str:
    """The line that looks most like an error, the first of the kind; else the whole text."""
    # A line that ends in a colon says the rest in the next.
    joined = re.sub(r"(?<!exception):[ \t]*\n\s*", ": ", text[:_LONGEST])
    lines = [" ".join(line.split()) for line in joined.splitlines()]
    causes = [line for line in lines if not re.search(patterns()["followsError"], line)]
    found = (
        (line, place.start())
        for some in (causes, lines)
        for name in ("failedSurely", "failed", "failedPerhaps")
        for line in some
        for place in [*re.finditer(patterns()[name], line)][-1:]
    )
    line, inner = next(found, (" ".join(text.split()), 0))
    return excerpt(line, inner, _LONGEST_QUOTE)


def run(options: ExplainOptions) -> Iterator[Explained | Failure | Note]:
    """Yield every rule, or the rules that fit the text best; with places, also the files at fault.

    Raises:
        UsageError: both or neither are requested, or the interpreter does not run.
        Missing: no rule fits.
    """
    if options.every == bool(options.text):
        raise UsageError("name a rule, paste an error text (- reads standard input), or give --all")
    if options.every:
        return iter(explain_all())
    found = _explained(options.text, here=options.here)
    causes = [entry for entry in found if entry.cause is not None or entry.line is None]
    shared = [entry for entry in found if entry.cause is None and entry.line is not None]
    return _with_files((*causes[:_MOST_CAUSES], *shared), options)


def _with_files(
    causes: Sequence[Explained], options: ExplainOptions
) -> Iterator[Explained | Failure | Note]:
    """The causes, the first of them with the files at fault if there are files to search."""
    if not options.places and options.python is None:
        yield from causes
        return
    from ltocompat.commands.files_at_fault import files_at_fault

    first, *others = causes
    found = [*files_at_fault((first.id, *first.also), first.values, options)]
    yield from (fault for fault in found if isinstance(fault, Failure))
    faults = tuple(AtFault(*fault) for fault in found if not isinstance(fault, Failure))
    if not faults:
        needs = values_known()["needs_of_files"].get(first.id.partition("-")[0], {})
        open_ = "" if {*first.values} & {*needs.get("any", ())} else needs.get("unknown", "")
        none = f"none of these files has the problem of {first.id}"
        yield Note(f"{first.id} in these files depends on {open_}" if open_ else none)
    yield replace(first, at_fault=faults)
    yield from others

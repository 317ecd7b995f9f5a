"""Explain a rule by its ID, or find the rules behind an error text that a user pasted."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache

from ltocompat.facts.drivers import cuda_error
from ltocompat.model.errors import UsageError
from ltocompat.rules.catalogue import RULES
from ltocompat.rules.prose import LeftOut, rules_left_out
from ltocompat.rules.rule import Rule

# Of a longer text, the beginning and the end are read: what failed first, and what was said last.
_LONGEST = 200_000
_SHOWN = 80
_MOST = 3  # rules for one text


@dataclass(frozen=True, slots=True)
class Explained:
    """A rule, and what of a text it accounts for.

    Attributes:
        id: its ID, ``PTX-01``.
        title: what is wrong, in a few words.
        statement: what holds, in full sentences; of a rule that is not built: why it isn't.
        condition: when the rule speaks.
        evidence: which bytes or facts it goes by.
        verdict: what it says then.
        messages: the exact texts that users see.
        remedy: what to do.
        source: where the rule comes from.
        built: whether this tool judges by it; else condition and the rest are empty.
        matched: the message that was found in the text, None where an ID was given.
        score: 0 to 1, how much of the text speaks for the rule; 1 where its ID was given.
    """

    id: str
    title: str
    statement: str
    condition: str
    evidence: str
    verdict: str
    messages: tuple[str, ...]
    remedy: str
    source: str
    built: bool = True
    matched: str | None = None
    score: float = 1.0


def explain(text: str) -> tuple[Explained, ...]:
    """The rules that a text speaks of, best first.

    Args:
        text: the ID of a rule in any case, or an error text, with whatever stands around it.

    Raises:
        UsageError: no rule is called so, and none knows the text.
    """
    named = {entry.id.upper(): entry for entry in explain_all()}
    words = text.strip()
    if words.upper() in named:
        return (named[words.upper()],)
    if len(text) > _LONGEST:
        half = _LONGEST // 2
        text = f"{text[:half]}\n{text[-half:]}"
    by_id = [named[id_] for id_ in _ids(text) if id_ in named]
    by_text = [
        each_entry
        for each_entry in _by_text(text)
        if each_entry.id not in {other.id for other in by_id}
    ]
    if not by_id and not by_text:
        raise UsageError(_unknown(words))
    return (*by_id, *by_text)


@cache
def explain_all() -> tuple[Explained, ...]:
    """Every rule in the order of the catalogue, then those that are not built."""
    return (*map(_of_rule, RULES), *map(_of_left_out, rules_left_out()))


def _of_rule(rule: Rule) -> Explained:
    return Explained(
        rule.id,
        rule.title,
        rule.statement,
        rule.condition,
        rule.evidence,
        rule.verdict,
        rule.messages,
        rule.remedy,
        rule.source,
    )


def _of_left_out(rule: LeftOut) -> Explained:
    return Explained(
        rule.id, rule.title, f"Not built. {rule.why}", "", "", "", (), "", "", built=False
    )


def _unknown(text: str) -> str:
    if not text:
        return "there is nothing to explain; give the ID of a rule, such as LTO-01, or an error"
    short = " ".join(text.split())
    short = short if len(short) <= _SHOWN else f"{short[:_SHOWN]} ..."
    return (
        f"no rule knows {short!r}; paste the line of the log that names the error, or list every "
        "rule with: ltocompat explain --all"
    )


def _ids(text: str) -> list[str]:
    """The words of a text that have the form of a rule's ID, each once."""
    words = re.findall(r"(?<![\w-])[A-Za-z]{2,5}-[0-9A-Za-z]{2,9}(?![\w-])", text)
    return list(dict.fromkeys(word.upper() for word in words))


# What differs from one user to the next is made equal: files become ?, numbers #.
_FILE = re.compile(
    r"\S*[/\\]\S*|\S*\.(?:so|a|o|cu|ptx|cubin|dll|lib|obj|py|h|cpp)\b\S*|\.{3}|\u2026"
)
_NUMBER = re.compile(r"(?<![a-z0-9])[0-9]+(?:[._](?:[0-9]+|x+))*[af]?(?![a-z0-9])")
# nvcc ends these names with a hash, a length and the name of a file.
_REGISTRATION = re.compile(r"(__cudaregisterlinkedbinary|__fatbinwrap)_\w+")
_WORD = re.compile(r"[^\s,;:()\[\]{}<>|='\"`\u2018\u2019\u201c\u201d]+")


@cache
def _message_words(message: str) -> tuple[str, ...]:
    return tuple(_words(message))


def _words(text: str) -> list[str]:
    # Quotes part words, so that a file in quotes is found as one.
    plain = re.sub("['\"`\u2018\u2019\u201c\u201d]", " ", text.lower())
    plain = _REGISTRATION.sub(r"\1", plain)
    plain = _NUMBER.sub("#", _FILE.sub("?", plain))
    return [stripped for word in _WORD.findall(plain) if (stripped := word.strip(".!*")) != ""]


# A number such as "error 222" or "[222]" stands for the name and the text of that error.
_CODE = re.compile(
    r"(?:error|code|returned|status|result)\W{0,3}(\d{2,3})\b|\[(\d{3})\]", re.IGNORECASE
)


def _with_names(text: str) -> str:
    """The text with the names of the CUDA errors that it gives by number."""
    errors = (cuda_error(int(code or other)) for code, other in _CODE.findall(text))
    names = (f"{error.name}\n{error.text}" for error in errors if error is not None)
    return "\n".join((text, *dict.fromkeys(names)))


# A message counts when so much of it is there, with so few words in between.
_ENOUGH = 0.75
_FUZZY_FROM = 5
_GAP = 3
_LEAST = 8
_HALF = 20


def _by_text(text: str) -> list[Explained]:
    """The rules whose messages are in a text, best first.

    Of equal ones, rules of selection and of packages come last, since another rule says what
    strikes; then that rule comes first whose messages name the text earlier.
    """
    later = {rule.id for rule in RULES if rule.excludes or rule.of_package}
    words = _words(_with_names(text))
    where: dict[str, list[int]] = {}
    for position, word in enumerate(words):
        where.setdefault(word, []).append(position)
    found = []
    for rule in RULES:
        covered: set[int] = set()
        best, most = "", 0
        for message in rule.messages:
            known = _message_words(message)
            hits = _best_hit(known, words, where) or _within(words, known)
            weight = _weight(hits, words)
            covered |= hits
            if weight > most:
                best, most = message, weight
        total = _weight(covered, words)
        if most >= _LEAST:
            score = round(total / (total + _HALF), 3)
            found.append(replace(_of_rule(rule), matched=best, score=score))

    def order(entry: Explained) -> tuple[float, bool, int]:
        return (-entry.score, entry.id in later, entry.messages.index(entry.matched))

    return sorted(found, key=order)


def _within(words: list[str], message: tuple[str, ...]) -> set[int]:
    """All positions of a text that is a part of a message: users cut the ends off."""
    if sum(map(len, words)) < _HALF:
        return set()
    parts = (list(message[n : n + len(words)]) for n in range(len(message) - len(words) + 1))
    return set(range(len(words))) if words in parts else set()


def _weight(positions: set[int], words: list[str]) -> int:
    """How much words say: their characters; each word counts once, however often it is there."""
    return sum(len(word) for word in {words[position] for position in positions})


def _best_hit(message: tuple[str, ...], words: list[str], where: dict[str, list[int]]) -> set[int]:
    """The positions of a message's words at the one place where most of them are."""
    starts = sorted({start for word in message[:2] for start in where.get(word, ())})
    needed = len(message)
    if needed >= _FUZZY_FROM:
        needed = round(_ENOUGH * needed)
    best: set[int] = set()
    for start in starts:
        hits = _aligned(message, words, start)
        if len(hits) >= needed and len(hits) > len(best):
            best = hits
        if len(best) == len(message):
            break
    return best


def _aligned(message: tuple[str, ...], words: list[str], start: int) -> set[int]:
    """The positions of a message's words from a place on, in order and with small gaps."""
    hits: set[int] = set()
    position = start
    for word in message:
        near = words[position : position + _GAP]
        if word in near:
            position += near.index(word)
            hits.add(position)
            position += 1
    return hits


@dataclass(frozen=True, slots=True)
class ExplainOptions:
    """What to explain.

    Attributes:
        text: a rule's ID, or an error text.
        every: explain every rule.
    """

    text: str | None = None
    every: bool = False


def run(options: ExplainOptions) -> list[Explained]:
    """Every rule, or those that fit the text best.

    Raises:
        UsageError: neither or both of them are asked for, or no rule fits.
    """
    if options.every == (options.text is not None):
        raise UsageError("name a rule, paste an error text, or give --all: one of the three")
    return list(explain_all() if options.text is None else explain(options.text)[:_MOST])

"""Sentences that differ in one word only, said once: ``the target has 550.54.14, 580.95.05``."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Punctuation, brackets and blanks are words of their own, so that they are no part of a difference.
_WORD = re.compile(r"[\s:;,()]+|[^\s:;,()]+")
_MOST = 6  # words that stand in one place


def joined(sentences: Sequence[str]) -> str | None:
    """One sentence for all, None where they differ in more than a word.

    That word may stand in several places of a sentence, but must be the same in all of them.
    """
    told = list(dict.fromkeys(sentences))
    if len(told) == 1:
        return told[0]
    words = [_WORD.findall(sentence) for sentence in told]
    if len({len(word) for word in words}) != 1:
        return None
    places = [n for n, column in enumerate(zip(*words, strict=True)) if len(set(column)) > 1]
    variants = [{each_word[place] for place in places} for each_word in words]
    if any(len(variant) != 1 for variant in variants):
        return None
    values = list(dict.fromkeys(one[places[0]] for one in words))
    if not all(value[0].isalnum() for value in values):
        return None
    text = ", ".join(values[:_MOST]) + (" .." if len(values) > _MOST else "")
    first = words[0]
    return "".join(text if place in places else word for place, word in enumerate(first))

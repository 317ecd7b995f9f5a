"""List the words that a deploy target can be made of."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.commands.options import TargetsOptions
from ltocompat.facts.gpus import gpu_models
from ltocompat.model.errors import UsageError, did_you_mean
from ltocompat.targets.words import TargetWord, target_words


def run(options: TargetsOptions) -> Iterator[TargetWord]:
    """Yield the words, newest first within their key.

    Raises:
        UsageError: at once, if no entry has the word.
    """
    wanted = (options.word or "").strip().lower()
    words = ((word, f"{word.key} {word.value} {word.meaning}") for word in target_words())
    found = [word for word, text in words if wanted in text.lower()]
    if not found:
        near = did_you_mean(wanted, (model.name.lower() for model in gpu_models()))
        raise UsageError(
            f"{options.word!r} is not in the name of any GPU, driver or CUDA release{near}; list "
            "all with: ltocompat targets"
        )
    return iter(found)

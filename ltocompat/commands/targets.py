"""List the words that a deploy target can be made of."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ltocompat.commands.options import TargetsOptions
from ltocompat.facts.gpus import MIG, gpu_models, models_named
from ltocompat.model.errors import UsageError, did_you_mean
from ltocompat.targets.words import TargetWord, target_words


def run(options: TargetsOptions) -> Iterator[TargetWord]:
    """Yield the words, newest first within their key.

    A GPU in any spelling that a target can have stands for its architecture.

    Raises:
        UsageError: at once, if no entry has the word.
    """
    wanted = (options.word or "").strip().lower()
    words = ((word, f"{word.key} {word.value} {word.meaning}") for word in target_words())
    profile = MIG.pattern if MIG.match(wanted) else re.escape(wanted)
    found = [word for word, text in words if re.search(profile, text.lower())]
    archs = {f"sm_{model.number}" for model in models_named(wanted)}
    found = found or [word for word in target_words() if word.value in archs]
    if not found:
        near = did_you_mean(wanted, (model.name.lower() for model in gpu_models()))
        raise UsageError(
            f"{options.word!r} is not in the name of any GPU, driver or CUDA release{near}; list "
            "all with: ltocompat targets"
        )
    return iter(found)

"""Fixes that ask for nothing that the machine of a pasted text rules out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from ltocompat.facts.gpus import sms
from ltocompat.model.arch import Release
from ltocompat.rules.clients import says_of
from ltocompat.rules.literals import compiled, places
from ltocompat.rules.message_values import LAST_OF_OLD, fitting_values, needed_branch, values_known
from ltocompat.rules.messages import Match

_ANY = 99  # minors of a release
_ASIDE = re.compile(r"(?<!newer) \((?:[^()]|\([^()]*\))*\)")


def fitting(template: str, match: Match) -> str:
    """Return a fix with its values, without parts that the machine of the text rules out.

    If no part fits, sentences about the reason and the fix come first.
    """
    values = fitting_values(match.values)
    match = replace(match, values=values)
    fix = match.told(template)
    if not any(_reasons(fix, values)):
        return fix
    fit = match.told(template, lambda part: any(_reasons(part, values)))
    reasons = dict([*_reasons(_ASIDE.sub("", fix), values)][::-1])  # the first of each kind
    known, says = values_known()["asked"], says_of(values["system"])
    if not reasons or any(_asked(fit)) or re.search(known["there"]["keep_driver"][1], fit):
        return fit
    branch = str(needed_branch(reasons.get("newer_cuda", "0.0")))
    cures = {} if "keep_driver" in says else known["cures"]
    cured = {**values, **{of: to for by, (of, to) in cures.items() if by in reasons}}
    cause = replace(match, values={**values, **says, **reasons, "branch": branch})
    why = [cause.told(known["because"][of]) for of in known["because"] if of in reasons]
    rest = match.told(template, lambda part: any(_reasons(part, cured)))
    return " ".join((*why, rest)).strip()


def _reasons(text: str, values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Kinds of what rules out a part of a text, with what is asked for."""
    known, says = values_known()["asked"], says_of(values["system"])
    python = int(values.get("python", "3.99")[2:])
    wheels = [(of, it) for of, it in known["python"].items() if python < int(of[2:])]
    yield from (("needs", of) for of, it in wheels if any(places(it, text)))
    there = [row for name, row in known["there"].items() if name in says]
    yield from ((kind, "") for kind, it in there if any(places(it, text)))
    yield from _of_driver_and_gpu(text, values) if {"gpu_sm", "driver_cuda"} & values.keys() else ()


def _of_driver_and_gpu(text: str, values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    last, runs = (Release.parse(values.get(of, "99.9")) for of in ("gpu_sm_last", "driver_cuda"))
    # Minor-version compatibility: from 11 on, a driver runs any release of its major.
    runs = Release(runs.major, _ANY) if runs.major > 10 else runs
    last_build = min(last, LAST_OF_OLD) if "gpu_sm_last" in values else last
    gpu = int(values.get("gpu_sm", 0)) // 10
    alike = [row.first_toolkit for row in sms() if row.number // 10 == gpu]
    for words, least, most in _asked(text):
        if least > (last_build if re.match(r"cu\d{3}", words) else last):
            yield "code", str(least)
        elif alike and most < min(alike):
            yield "older_code", str(least)
        elif least > runs and not words.startswith("to R"):
            yield "newer_cuda", str(least)
    for hit in places(values_known()["asked"]["branch"], text):
        if hit[1] > values.get("gpu_sm_branch", hit[1]):
            yield "gpu_branch", hit[1]


def _asked(text: str) -> Iterator[tuple[str, Release, Release]]:
    """The words that ask for a CUDA release, each with the least and the newest one that it is."""
    known = values_known()["asked"]
    for hit in places("|".join(known["cuda"]), compiled(known["not"]).sub("", text)):
        major, *minor = [*filter(None, hit.groups())] or ["12"]
        least, most = (Release(int(major), int((minor or [other])[0])) for other in (0, _ANY))
        yield hit[0], least, Release(_ANY, 0) if hit[0].endswith("newer") else most

"""ENV-07: NVRTC opens the builtins of exactly its own minor."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.verdict import Verdict
from ltocompat.rules.rule import Problem, Rule
from ltocompat.targets.machine.environment import Environment

_GUESSED = "builtins beside it"  # the evidence of a version that the builtins themselves gave


def of_machine(environment: Environment) -> Iterator[Problem]:
    """One for each NVRTC that some way of loading finds, and whose builtins aren't beside it."""
    found = {pick.real for pick in environment.picks if pick.library == "nvrtc" and pick.real}
    for compiler in environment.compilers:
        release = compiler.release
        if compiler.library != "nvrtc" or compiler.path not in found or release is None:
            continue
        if compiler.evidence == _GUESSED or release in compiler.builtins:
            continue
        beside = " and ".join(map(str, compiler.builtins))
        yield Problem(
            RULE.id,
            Verdict.FAIL if compiler.builtins else Verdict.UNKNOWN,
            f"NVRTC {compiler.version} needs libnvrtc-builtins.so.{release}, and beside it "
            + (f"is {beside}" if beside else "is none")
            + ": it compiles nothing",
            f"install libnvrtc and libnvrtc-builtins {release} from one package",
            compiler.path,
        )


RULE = Rule(
    id="ENV-07",
    title="libnvrtc-builtins of another minor",
    statement="While it compiles, NVRTC opens libnvrtc-builtins.so of exactly its own minor, which "
    "has to lie beside it. Copies that mix two packages load and then fail.",
    condition="Beside an NVRTC that can be loaded lie builtins of other minors only.",
    evidence="The version of libnvrtc by its banner; the names of the files beside it.",
    verdict="fail; unknown where no builtins are beside it",
    messages=(
        "nvrtc: error: failed to open libnvrtc-builtins.so.12.4",
        "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
    ),
    remedy="Install both of one package, and copy neither alone.",
    source="CMake discourse 12723; layout of NVRTC wheels 12.0 to 13.5",
    of_machine=of_machine,
)

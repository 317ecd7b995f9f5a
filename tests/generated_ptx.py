"""PTX of functions, kernels and variables that call, define and miss each other, by hypothesis."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

FUNCTIONS = ("fa", "fb", "fc", "vprintf")
VARIABLES = ("va", "vb")
LINKAGES = ("", ".visible ", ".weak ")


class Program(NamedTuple):
    """PTX to be.

    Attributes:
        functions: of each that is defined, its linkage and whom it calls.
        kernels: of each, whom it calls.
        variables: of each that is named, its linkage, ``.extern`` included.
        unused: functions that are declared for nothing.
    """

    functions: dict[str, tuple[str, frozenset[str]]]
    kernels: dict[str, frozenset[str]]
    variables: dict[str, str]
    unused: frozenset[str]

    def text(self) -> str:
        callees = {name for _, calls in self.functions.values() for name in calls}
        callees = callees.union(self.unused, *self.kernels.values())
        lines = [".version 8.0", ".target sm_80", ".address_size 64"]
        lines += [f"{linkage}.global .b32 {name};" for name, linkage in self.variables.items()]
        lines += [f".extern .func {name};" for name in sorted(callees - self.functions.keys())]
        lines += [f"{linkage}.func {name};" for name, (linkage, _) in self.functions.items()]
        for name, (linkage, calls) in self.functions.items():
            lines.append(f"{linkage}.func {name}() {{ {_calls(calls)} ret; }} // .extern .func x;")
        for name, calls in self.kernels.items():
            lines.append(f".visible .entry {name}() {{ {_calls(calls)} ret; }}")
        return "\n".join(lines) + "\n"


def _calls(names: frozenset[str]) -> str:
    return " ".join(f"call.uni {name};" for name in sorted(names))


calls = st.frozensets(st.sampled_from(FUNCTIONS), max_size=2)
programs = st.builds(
    Program,
    st.dictionaries(
        st.sampled_from(FUNCTIONS[:-1]), st.tuples(st.sampled_from(LINKAGES), calls), max_size=2
    ),
    st.dictionaries(st.sampled_from(("ka", "kb", "kc", "kd")), calls, max_size=2),
    st.dictionaries(st.sampled_from(VARIABLES), st.sampled_from((*LINKAGES, ".extern "))),
    st.frozensets(st.sampled_from(FUNCTIONS), max_size=1),
)

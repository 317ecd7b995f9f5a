"""BLD-06: nvlink -dlto opens the libnvvm of its own toolkit."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ltocompat.model.verdict import Verdict
from ltocompat.rules.rule import Problem, Rule
from ltocompat.targets.machine.environment import Environment

_FOLDER = "nvvm/lib64"


def of_machine(environment: Environment) -> Iterator[Problem]:
    """One for each toolkit whose nvlink has no libnvvm in its place."""
    known = [compiler.path for compiler in environment.compilers if compiler.library == "nvvm"]
    for toolkit in environment.toolkits:
        inside = os.path.join(toolkit.root, "nvvm", "")
        if not toolkit.nvlink or any(path.startswith(inside) for path in known):
            continue
        yield Problem(
            RULE.id,
            Verdict.OK,
            f"the toolkit in {toolkit.root} has nvlink and no libnvvm in {_FOLDER}: device links "
            "with -dlto fail there (elfLink linker library load error)",
            f"install libnvvm in {os.path.join(toolkit.root, _FOLDER)}, or give nvlink "
            "-nvvmpath=FOLDER where FOLDER/lib64 has it",
            os.path.join(toolkit.root, _FOLDER),
        )


RULE = Rule(
    id="BLD-06",
    title="nvlink without libnvvm",
    statement="For -dlto nvlink loads nvvm/lib64/libnvvm.so of the toolkit that nvcc names with "
    "-nvvmpath. Packages of distributions and toolkits that were put together of wheels may have "
    "it elsewhere, in lib.",
    condition="A toolkit has nvlink, and no libnvvm below its folder nvvm.",
    evidence="Files of the toolkit.",
    verdict="ok, with a note: it concerns builds only",
    messages=(
        "nvlink fatal : elfLink linker library load error",
        "elfLink linker library load error",
        "nvlink fatal : -nvvmpath should be specified with -lto",
    ),
    remedy="Install libnvvm where nvlink looks for it (nvvm/lib64 of its toolkit).",
    source="measured: nvlink 13.0.88 with libnvvm in lib, and in nvvm/lib64; Cytnx pull requests "
    "875, 876",
    of_machine=of_machine,
)

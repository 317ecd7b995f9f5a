"""An ignore by kernel never hides a kernel that does not match."""

from __future__ import annotations

import datetime as dt
import re
import subprocess
import tempfile
import warnings
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from every_case import every
from fatbin_writer import KINDS, EntrySpec, entry, region
from hypothesis import example, given, settings
from hypothesis import strategies as st
from samples import FOLDER

from ltocompat.commands.audit import audit
from ltocompat.commands.policy.gate import Audited, Standing
from ltocompat.commands.policy.mangled_names import source_name
from ltocompat.commands.policy.values import Policy, PolicyException
from ltocompat.rules.prose import rules
from ltocompat.targets import parse

TARGETS = tuple(parse(["driver=525.60.13,nvjitlink=12.2,gpu=sm_90"]))
LTOIR = (FOLDER / "ltoir" / "nvcc-13.0-lto_80.ltoir").read_bytes()
MANGLED = ("_ZN4gemm11nopHardwareEv", "_Z11nopHardwarePf", "_ZN4gemm3runIfEEvPT_", "scale")
PATTERNS = {
    "*nopHardware*": re.compile(".*nopHardware.*"),
    "gemm::*": re.compile("_ZN4gemm.*"),
    "scale": re.compile("scale"),
    "?*": re.compile(".+"),
}
"""How a user writes them, and which of the mangled names they mean."""


@dataclass(frozen=True)
class MadeModule:
    """A module of PTX: the kernels of each of its images, and whether driver 525 refuses it."""

    images: tuple[tuple[str, ...], ...]
    refused: bool
    beside_ltoir: bool = False

    def region(self) -> bytes:
        version = (9, 0) if self.refused else (7, 0)
        specs = [
            EntrySpec(KINDS["ptx"], self._ptx(names, sm, version), sm, version=version)
            for sm, names in zip((70, 80), self.images, strict=False)
        ]
        if self.beside_ltoir:
            specs.append(EntrySpec(KINDS["ltoir"], LTOIR, 80))
        return region([entry(spec) for spec in specs])

    def _ptx(self, kernels: tuple[str, ...], sm: int, version: tuple[int, int]) -> bytes:
        bodies = "".join(
            f".visible .entry {name}()\n{{\nbar.sync 0;\nret;\n}}\n" for name in kernels
        )
        text = f".version {version[0]}.{version[1]}\n.target sm_{sm}\n.address_size 64\n"
        return f"{text}.visible .func f()\n{{\nret;\n}}\n{bodies}".encode()

    def may_be_ignored(self, pattern: re.Pattern[str]) -> bool:
        every = [name for names in self.images for name in names]
        return not self.beside_ltoir and bool(every) and all(map(pattern.fullmatch, every))


NAMES = st.lists(st.sampled_from(MANGLED), max_size=2, unique=True).map(tuple)
MODULES = st.builds(
    MadeModule,
    st.lists(NAMES, min_size=1, max_size=2).map(tuple),
    st.booleans(),
    st.integers(0, 9).map(lambda number: number == 0),
)


def policy(pattern: str) -> Policy:
    """Whatever is found is ignored in these kernels."""
    day = dt.date(2099, 12, 31)
    exceptions = tuple(
        PolicyException(rule=each.id, reason="x", expires=day, kernel=pattern) for each in rules()
    )
    return Policy(source="made-up", targets=TARGETS, exceptions=exceptions)


def standings(path: Path, pattern: str) -> set[Standing]:
    records = [record for record in audit(path, policy(pattern)) if isinstance(record, Audited)]
    assert records
    return {each.standing for record in records for each in record.assessed}


@settings(max_examples=60, deadline=None)
@given(st.lists(MODULES, min_size=1, max_size=4), st.sampled_from(sorted(PATTERNS)))
@example([MadeModule((("_Z11nopHardwarePf",), ("scale",)), True)], "*nopHardware*")
@example([MadeModule((("scale",),), True), MadeModule(((),), True)], "scale")
@example([MadeModule((("scale",),), True, True)], "scale")
def test_a_finding_is_ignored_just_where_all_kernels_of_its_modules_match(
    modules: list[MadeModule], pattern: str
) -> None:
    bad = [module for module in modules if module.refused]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.fatbin"
        path.write_bytes(b"".join(module.region() for module in modules))
        found = standings(path, pattern)
    left = {Standing.COUNTS, Standing.UNDECIDED} & found
    if not bad and not any(module.beside_ltoir for module in modules):
        assert not left
    elif not all(module.may_be_ignored(PATTERNS[pattern]) for module in bad):
        assert left
    elif not any(module.beside_ltoir for module in modules):
        assert not left
        assert Standing.IGNORED in found


@pytest.mark.parametrize("first_fails", [True, False])
def test_two_members_of_one_name_hide_nothing_of_each_other(
    tmp_path: Path, *, first_fails: bool
) -> None:
    path = tmp_path / "twice.zip"
    with zipfile.ZipFile(path, "w") as package, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package.writestr("a.fatbin", MadeModule((("_Z11nopHardwarePf",),), first_fails).region())
        package.writestr("a.fatbin", MadeModule((("scale",),), True).region())
    assert Standing.COUNTS in standings(path, "*nopHardware*")


@every(
    "mangled",
    [
        *MANGLED,
        "_ZL5localPf",
        "_ZN12_GLOBAL__N_16hiddenEv",
        "_ZNK4gemm3runEv",
        "_ZN4raft6linalg6detail30coalescedReductionMediumKernelILi256EfEEvPT0_",
        "_ZN7cutlass6KernelINS_4gemm6kernel4GemmIfEEEEvT_",
        "_ZSt4swapIfEvRT_S1_",
        "_ZNSt3foo3barEv",
        "_ZN3foo3BarIiE3runEv",
        "_Z5abs_fB5cxx11v",
    ],
)
def test_a_name_in_source_is_what_cxxfilt_says_up_to_its_template_arguments(mangled: str) -> None:
    """c++filt of GNU binutils is the oracle."""
    command = ["c++filt", mangled]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    text = text.replace("(anonymous namespace)", "ANONYMOUS")
    plain = re.split(r"[<(\[]", text.removeprefix("void "))[0].replace(
        "ANONYMOUS", "(anonymous namespace)"
    )
    assert (source_name(mangled) or mangled) == plain


@given(st.text(alphabet="_ZNLSt0123456789IEvaf", max_size=24))
def test_any_text_has_a_name_in_source_or_none(text: str) -> None:
    assert source_name(f"_Z{text}").count("::") <= len(text)

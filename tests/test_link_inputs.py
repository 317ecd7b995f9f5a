"""Verdicts on what a linker reads of its inputs: objects, joined objects, archives.

The expectations are what nvJitLink 12.0 to 13.5 and nvlink 13.0 to 13.5 did with such inputs
(tests/oracle/input_strata.py draws thousands of them).
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest
from fatbin_writer import KINDS, EntrySpec, entry, region
from rule_cases import spares, strikes
from samples import FOLDER

import ltocompat
from ltocompat.commands.link import LTO, PLAIN, _ways, why_empty
from ltocompat.model.arch import Release, SmArch
from ltocompat.scan.walk import ScanSettings
from ltocompat.targets.linkers import Linker
from ltocompat.trial.link_inputs import SingleLink, gather_all

AXPY, SCALE = (FOLDER / f"objects/nvcc-13.0-rdc-{name}.o" for name in ("axpy", "scale"))
_WRAPPER = """
.section {section}, "a"
.align 8
image: .incbin "{fatbin}"
.section .nvFatBinSegment, "aw"
.align 8
.globl __fatbinwrap_{name}
__fatbinwrap_{name}: .long 0x466243b1, 1
.quad image, 0
.section .note.GNU-stack, "", @progbits
"""


def joined(output: Path, *inputs: Path) -> Path:
    """Objects in one object."""
    subprocess.run(["ld", "-r", "-z", "muldefs", "-o", output, *inputs], check=True)  # noqa: S607 - that of the path
    return output


def archive(output: Path, *inputs: Path) -> Path:
    subprocess.run(["ar", "qcD", output, *inputs], check=True)  # noqa: S607 - that of the path
    return output


def wrapped(output: Path, text: str, section: str = "__nv_relfatbin", sm: int = 80) -> Path:
    """PTX in a fatbin in an object, as a build wraps what nvFatbin made."""
    payload = text.encode("ascii") + b"\0"
    return _wrapped(output, EntrySpec(KINDS["ptx"], payload, sm=sm, version=(8, 0)), section)


def _wrapped(output: Path, inside: EntrySpec, section: str = "__nv_relfatbin") -> Path:
    fatbin = output.with_suffix(".fatbin")
    fatbin.write_bytes(region([entry(inside)]))
    source = _WRAPPER.format(section=section, fatbin=fatbin, name=output.stem)
    output.with_suffix(".s").write_text(source, "ascii")
    subprocess.run(["as", output.with_suffix(".s"), "-o", output], check=True)  # noqa: S607 - that of the path
    return output


HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
HELPER = f"{HEAD}.visible .func helper()\n{{\n ret;\n}}\n"
FIRST = f"{HEAD}.visible .entry first()\n{{\n .reg .u32 %r1;\n mov.u32 %r1, %tid.x;\n ret;\n}}\n"
USER = f"{HEAD}.extern .func helper();\n.visible .entry user()\n{{\n call.uni helper;\n ret;\n}}\n"


def told(paths: Sequence[Path], target: str, *, together: bool = True) -> dict[str, str]:
    """The worst verdict of each rule, and of all as ``""``."""
    (result,) = ltocompat.check([*map(str, paths)], [target], route="link", together=together)
    found = {"": str(result.verdict)}
    for finding in sorted(result.findings, key=lambda finding: finding.verdict):
        found[finding.rule] = str(finding.verdict)
    return found


LINKERS = ("nvjitlink=12.4", "nvjitlink=13.5", "nvlink=13.5")


@pytest.mark.parametrize("linker", LINKERS)
@strikes("BLD-14")
@spares("BLD-14")
def test_linkers_read_the_first_region_of_a_joined_object(tmp_path: Path, linker: str) -> None:
    files = {
        name: wrapped(tmp_path / f"{name}.o", text)
        for name, text in (("first", FIRST), ("user", USER), ("helper", HELPER))
    }
    target = f"{linker},gpu=a100"
    apart = told([files["user"], files["helper"]], target)
    assert apart[""] == "ok"
    assert "BLD-14" not in apart
    # Its kernel lies behind the function: the link succeeds, and loses it.
    behind = joined(tmp_path / "behind.o", files["helper"], files["user"])
    assert told([behind], target)["BLD-14"] == "fail"
    # What its kernel calls lies behind it: the link is refused.
    before = told([joined(tmp_path / "before.o", files["user"], files["helper"])], target)
    assert (before["BLD-10"], before["BLD-14"]) == ("fail", "ok")
    # A function that nothing calls is no loss, and in an archive it is all the same.
    unused = joined(tmp_path / "unused.o", files["first"], files["helper"])
    assert told([unused], target)[""] == "ok"
    assert told([archive(tmp_path / "lib.a", behind)], target)["BLD-14"] == "fail"
    assert told([behind], target, together=False)["BLD-14"] == "fail"
    # A kernel that the first region has, too, is in the output.
    twice = joined(tmp_path / "twice.o", files["first"], files["first"])
    assert told([twice], target)[""] == "ok"


def test_joined_objects_of_a_compiler_lose_kernels_too(tmp_path: Path) -> None:
    target = "nvjitlink=13.5,gpu=a100"
    assert told([AXPY, SCALE], target)[""] == "ok"
    assert told([joined(tmp_path / "joined.o", AXPY, SCALE)], target)[""] == "fail"


def test_options_are_compared_of_what_a_linker_reads(tmp_path: Path) -> None:
    """nvlink 13.5 refuses the two objects, and links what ``ld -r`` makes of them."""
    code = (FOLDER / "ltoir/nvcc-13.5-lto_80.ltoir").read_bytes()
    exact, fast = (
        _wrapped(tmp_path / f"ftz{ftz}.o", EntrySpec(KINDS["ltoir"], code, options=f"-ftz={ftz}"))
        for ftz in (0, 1)
    )
    target = "nvlink=13.5,gpu=a100"
    assert told([exact, fast], target)["LTO-12"] == "fail"
    both = joined(tmp_path / "joined.o", exact, fast)
    assert "LTO-12" not in told([both], target)
    # A trial links what is behind by itself, to see what the link loses.
    (given,) = gather_all([str(both)], ScanSettings())
    aim = SmArch(80), Release(13, 5)
    assert (
        len(given.read(*aim)),
        len(given.regions(*aim)),
        len(SingleLink([given], *aim).unread_ltoir()),
    ) == (
        1,
        1,
        1,
    )


def test_an_empty_link_of_joined_objects_is_told(tmp_path: Path) -> None:
    """nvJitLink ends well on LTO-IR that only defines functions, and loses what follows it."""
    code = (FOLDER / "ltoir/nvcc-13.5-lto_80.ltoir").read_bytes()
    parts = [_wrapped(tmp_path / f"{n}.o", EntrySpec(KINDS["ltoir"], code)) for n in "ab"]
    both = joined(tmp_path / "joined.o", *parts)
    linker = Linker(Release(13, 5), "13.5.37", "libnvJitLink.so.13", "", "", machine="x86-64")
    told = [
        why_empty(linker, SmArch(80), gather_all([str(path) for path in paths], ScanSettings()))
        for paths in ([both], parts)
    ]
    assert "BLD-14" in str(told[0])
    assert told[1] is None


@strikes("BLD-15")
@spares("BLD-15")
def test_the_first_nvjitlink_takes_no_archive(tmp_path: Path) -> None:
    first = wrapped(tmp_path / "first.o", FIRST)
    library = archive(tmp_path / "lib.a", first)
    assert told([first], "nvjitlink=12.0,gpu=a100")[""] == "ok"
    assert told([library], "nvjitlink=12.0,gpu=a100")["BLD-15"] == "fail"
    assert told([library], "nvjitlink=12.1,gpu=a100")[""] == "ok"


def test_no_linker_is_asked_about_a_link_of_which_a_part_can_not_be_read() -> None:
    """No nvJitLink is at hand, which would be an error; with one it was a traceback."""
    paths = [AXPY, FOLDER / "broken/cubin-cut.cubin"]
    (result,) = ltocompat.check(
        paths, "nvjitlink=12.4,gpu=a100", route="link", together=True, trial_link=True
    )
    assert result.verdict in (ltocompat.Verdict.UNKNOWN, ltocompat.Verdict.FAIL)


def _text(path: Path, text: str) -> Path:
    path.write_text(text, "ascii")
    return path


def test_nvlink_leaves_ptx_in_a_file_of_its_own_out_before_hopper(tmp_path: Path) -> None:
    """Expected is what nvlink 13.0 to 13.5 did for 15 targets; it says nothing, and ends in 0."""
    first, helper, user = (
        _text(tmp_path / f"{number}.ptx", text) for number, text in enumerate((FIRST, HELPER, USER))
    )
    for sm, lost in (("80", True), ("89", True), ("90", False), ("120", False)):
        target = f"nvlink=13.5,gpu=sm_{sm}"
        assert told([AXPY, SCALE, first], target).get("BLD-03", "ok") == ("fail" if lost else "ok")
        assert told([user, helper], target)[""] == ("fail" if lost else "ok")
        # What nothing calls is no loss, and what only it defines is undefined then.
        assert told([AXPY, SCALE, helper], target)[""] == "ok"
        wanting = wrapped(tmp_path / "user.o", USER)
        found = told([wanting, helper], target)
        assert found.get("BLD-10", "ok") == ("fail" if lost else "ok")
    assert told([AXPY, SCALE, first], "nvjitlink=13.5,gpu=sm_80")[""] == "ok"
    # PTX for the target was left out, too: only a cubin is linked.
    (result,) = ltocompat.check([AXPY, SCALE, first], "nvlink=13.5,gpu=sm_80", together=True)
    (left_out,) = (each for each in result.findings if each.rule == "BLD-03")
    assert "ptxas -c" in left_out.remedy


def test_what_another_input_defines_too_is_not_lost_with_what_nvlink_leaves_out(
    tmp_path: Path,
) -> None:
    below = wrapped(tmp_path / "below.o", FIRST)
    above = wrapped(tmp_path / "above.o", FIRST.replace("sm_80", "sm_90"), sm=90)
    assert told([below, above], "nvlink=13.5,gpu=sm_80")["BLD-03"] == "ok"
    assert told([below, above], "nvjitlink=13.5,gpu=sm_80")["BLD-03"] == "fail"


_TAKES = {
    "nothing": ("", ".visible .func helper()", "call.uni helper;"),
    "an int": (
        ".param .b32 a",
        ".visible .func helper(.param .b32 other)",
        ".param .b32 p;\n st.param.b32 [p], 1;\n call.uni helper, (p);",
    ),
}


@pytest.mark.parametrize("declared", _TAKES)
@pytest.mark.parametrize("defined", _TAKES)
@strikes("BLD-16")
@spares("BLD-16")
def test_inputs_agree_on_what_a_function_takes(tmp_path: Path, declared: str, defined: str) -> None:
    """Measured with nvJitLink 12.0 to 13.5 and nvlink 13.0 to 13.5, as PTX and as cubins."""
    takes, _, call = _TAKES[declared]
    body = f"{{\n {call}\n ret;\n}}\n"
    user = f"{HEAD}.extern .func helper({takes});\n.visible .entry user()\n{body}"
    helper = f"{HEAD}{_TAKES[defined][1]}\n{{\n ret;\n}}\n"
    paths = [wrapped(tmp_path / "user.o", user), wrapped(tmp_path / "helper.o", helper)]
    for linker, verdict in (
        ("nvjitlink=12.5", "fail"),
        ("nvjitlink=12.6", "undocumented"),
        ("nvlink=13.5", "fail"),
    ):
        expected = "ok" if declared == defined else verdict
        assert told(paths, f"{linker},gpu=a100").get("BLD-16", "ok") == expected


def test_without_lto_a_linker_takes_what_lies_beside_ltoir(tmp_path: Path) -> None:
    """As nvJitLink 12.4 to 13.5 and nvlink 13.0 to 13.5 do with objects of nvcc."""
    ltoir = (FOLDER / "ltoir/nvcc-13.5-lto_80.ltoir").read_bytes()
    entries = [
        entry(EntrySpec(KINDS["ltoir"], ltoir, sm=80, version=(1, ltoir[5]))),
        entry(EntrySpec(KINDS["ptx"], FIRST.encode() + b"\0", sm=80, version=(8, 0))),
    ]
    both = tmp_path / "both.fatbin"
    both.write_bytes(region(entries))
    alone = FOLDER / "objects/nvcc-13.5-lto.o"
    for linker in ("nvjitlink", "nvlink"):
        target = f"{linker}=13.0,gpu=a100"
        (found,) = ltocompat.check(both, [target], route="link", together=True)
        assert ["lto=off" in each.remedy for each in found.findings if each.rule == "LTO-01"] == [
            True
        ]
        assert told([both], f"{target},lto=off")[""] == "ok"
        assert told([alone], f"{linker}=13.5,gpu=a100,lto=off")["BLD-05"] == "fail"
        assert told([alone], f"{linker}=13.5,gpu=a100,lto=on").get("BLD-05", "ok") == "ok"


@pytest.mark.parametrize(
    ("files", "gpu", "ways"),
    [
        (["ltoir"], "sm_80", [LTO]),
        (["ltoir ptx"], "sm_80", [LTO, PLAIN]),
        (["ltoir ptx"], "sm_75", [PLAIN]),  # LTO-IR for sm_80 is not taken
        (["ltoir ptx", "ptx"], "sm_75", [PLAIN]),
        (["ltoir", "ptx"], "sm_75", [LTO]),  # one of them has nothing else
        (["ptx", "ptx"], "sm_80", [PLAIN]),
    ],
)
def test_a_link_is_with_lto_where_ltoir_is_read_and_without_where_all_have_other_code(
    tmp_path: Path, files: list[str], gpu: str, ways: list[str]
) -> None:
    ltoir = (FOLDER / "ltoir/nvcc-13.5-lto_80.ltoir").read_bytes()
    ptx = FIRST.replace("sm_80", "sm_75").encode() + b"\0"
    specs = {
        "ltoir": EntrySpec(KINDS["ltoir"], ltoir, sm=80, version=(1, ltoir[5])),
        "ptx": EntrySpec(KINDS["ptx"], ptx, sm=75, version=(8, 0)),
    }
    paths = [tmp_path / f"{at}.fatbin" for at in range(len(files))]
    for path, kinds in zip(paths, files, strict=True):
        path.write_bytes(region([entry(specs[kind]) for kind in kinds.split()]))
    linker = Linker(Release(13, 5), "13.5.37", "libnvJitLink.so.13", "", "", machine="x86-64")
    inputs = gather_all(map(str, paths), ScanSettings())
    assert _ways(inputs, SmArch.parse(gpu), linker) == ways


def test_names_in_ltoir_leave_a_whole_link_open() -> None:
    loose = FOLDER / "ltoir/nvrtc-12.4-lto_80.ltoir"
    assert told([loose], "nvjitlink=12.4,gpu=a100")["BLD-10"] == "unknown"
    assert "BLD-10" not in told([loose], "nvjitlink=12.4,gpu=a100", together=False)


_BODY = ".visible .entry first()\n{\n ret;\n}\n"
_WIDE = "\n.address_size 64"
_EVERY, _NONE = frozenset({"12.0", "12.6", "12.8", "13.3", "13.4", "13.5"}), frozenset[str]()
_TEXTS = {
    "plain": (f".target sm_80{_WIDE}", _NONE, _NONE),
    "no address size": (".target sm_80", _NONE, _NONE),
    "narrow": (".target sm_80\n.address_size 32", _NONE, _EVERY),
    "no size": (".target sm_80\n.address_size 65", _EVERY, _EVERY),
    "behind a comment": (".target sm_80\n/* */ .address_size 65", _EVERY, _EVERY),
    "in a comment": (f".target sm_80\n/*\n.address_size 65\n*/{_WIDE}", _NONE, _NONE),
    "debug": (f".target sm_80, debug{_WIDE}", _EVERY, _EVERY),
    "sections": (f".target sm_80, debug{_WIDE}\n.section .debug_str {{ .b8 0 }}", _NONE, _NONE),
    "comment": (f".target sm_80{_WIDE} // \u00fc", {"12.8", "13.3"}, {"12.8", "13.3"}),
    "last": (f".target sm_80{_WIDE}\n{_BODY}// end", {"12.0"}, {"12.0"}),
    "open": (f".target sm_80{_WIDE}\n{_BODY}/* end", _EVERY, _EVERY),
    "code": (f".target sm_80{_WIDE}\n.global .u32 gr\u00fcn;", _EVERY, _EVERY),
    "file": (f'.target sm_80{_WIDE}\n.file 1 "caf\u00e9.cu"', *(_EVERY - {"12.0"},) * 2),
    "two": (f".target sm_75\n.target sm_80{_WIDE}", _NONE, _NONE),
    "late": (f".target sm_80{_WIDE}\n{_BODY}.target sm_80", _EVERY, _EVERY),
    "late size": (f".target sm_80\n{_BODY}.address_size 64", _EVERY, _EVERY),
    "zero": (f".target sm_80{_WIDE}\n\0{_BODY}", _EVERY, _EVERY),
}


@pytest.mark.parametrize("name", _TEXTS)
@strikes("PTX-12")
@spares("PTX-12")
def test_compilers_refuse_ptx_for_its_form(tmp_path: Path, name: str) -> None:
    """Expected is which nvJitLinks refuse such texts, for sm_80 and for sm_90."""
    head, *refusing = _TEXTS[name]
    path = tmp_path / "text.ptx"
    text = f".version 7.5\n{head}"
    path.write_text(text if _BODY in text else f"{text}\n{_BODY}", "utf-8")
    for sm, linkers in zip(("80", "90"), refusing, strict=True):
        for linker in _EVERY:
            found = told([path], f"nvjitlink={linker},gpu=sm_{sm}")
            assert found.get("PTX-12", "ok") == ("fail" if linker in linkers else "ok")


# What nvJitLink 12.0, 12.4 and 13.5 refuse for sm_80, sm_86 and sm_90, and what they link.
_SIZES = (
    *("0", "064", "-64", "64.0", "64 64", "64;", "64x", "6 4", "", '"64"', "4294967360"),
    *("08", "0x", "0xg", "0x41", "0b2", "64u", "1e2", "0100.0", "0U"),
)
_NUMBERS = ("0x40", "0X40", "0100", "00000100", "0b1000000", "64U", "0x40U")
_WORDS = (", foo", ",", ";", " sm_80", ",,debug", "\n\v", ",map_f64_to_f32", " // c\n, foo")
_REFUSED = (
    *(f".version 8.0\n.target sm_80\n.address_size {size}" for size in _SIZES),
    *(f".version 8.0\n.target sm_80{word}{_WIDE}" for word in _WORDS),
    *(f".version {isa}\n.target sm_80{_WIDE}" for isa in ("8.0 8.0", "8.0 foo", "9.9", "7.99")),
    f".version 8.0\n.target sm_80{_WIDE}{_WIDE}",
    f".version 8.0\n.target sm_80{_WIDE}\n.target sm_80",
    f".version 8.0\n.target sm_80{_WIDE}\n.foo",
    f".version 8.0\n.target sm_80\n.foo{_WIDE}",
    ".version 8.0\n.target sm_80\n.address_size64",
    ".version 8.0\n.target sm_80\n.ADDRESS_SIZE 64",
    f".version 8.0{_WIDE}\n.target sm_80",
    f"/*\n.version 8.0\n*/\n.version 9.9\n.target sm_80{_WIDE}",
)
_LINKED = (
    ".version 8.0 .target sm_80 .address_size 64",
    f"/**/.version 08.00\n/* */.target/* */sm_080\n,texmode_unified // c{_WIDE}// c",
    f"/*\n.version 1.0\n.target sm_90\n*/\n.version 8.0\n.target sm_80{_WIDE}/* c */",
    ".version 8.0\r\n.target sm_80\r\n.address_size\f\n64\r\n",
    f'.version 8.0\n.target sm_80{_WIDE}\n.file 1 "x .target sm_90"',
    *(f".version 8.0\n.target sm_80\n.address_size {number}" for number in _NUMBERS),
)


@pytest.mark.parametrize("head", [*_REFUSED, *_LINKED])
def test_directives_that_compilers_refuse_are_never_ok(tmp_path: Path, head: str) -> None:
    (path := tmp_path / "text.ptx").write_text(f"{head}\n{_BODY}", "ascii", newline="")
    for linker in ("12.0", "12.4", "13.5"):
        for gpu in ("sm_80", "sm_86", "sm_90"):
            target = f"nvjitlink={linker},gpu={gpu}"
            results = ltocompat.check(path, [target], route="link")
            worst = max((str(result.verdict) for result in results), default="unknown")
            assert worst in (("ok",) if head in _LINKED else ("fail", "unknown"))


@pytest.mark.parametrize(
    ("isa", "code", "gpu", "verdict"),
    [
        ("7.8", "90a", "90a", "unknown"),  # does not support .target sm_90a
        ("8.0", "90a", "90a", "ok"),
        ("8.8", "90f", "90", "unknown"),  # Unsupported .target
        ("8.7", "100f", "100", "unknown"),  # does not support .target sm_100f
        ("8.8", "100f", "100", "ok"),
    ],
)
def test_a_suffix_has_a_first_version(
    tmp_path: Path, isa: str, code: str, gpu: str, verdict: str
) -> None:
    """As nvJitLink 13.0 and 13.5 answer."""
    path = tmp_path / "text.ptx"
    path.write_text(f".version {isa}\n.target sm_{code}{_WIDE}\n{_BODY}", "ascii")
    for linker in ("13.0", "13.5"):
        assert told([path], f"nvjitlink={linker},gpu=sm_{gpu}")[""] == verdict


def test_of_several_targets_the_last_counts(tmp_path: Path) -> None:
    """nvJitLink 13.5 links the second text; one of .version 6.4 it refuses for its sm_80."""
    path = tmp_path / "text.ptx"
    path.write_text(f".version 7.5\n.target sm_75\n.target sm_80\n{_BODY}", "ascii")
    assert told([path], "nvjitlink=13.5,gpu=sm_75")[""] == "fail"
    for isa in ("7.5", "6.4"):
        path.write_text(f".version {isa}\n.target sm_80\n.target sm_75\n{_BODY}", "ascii")
        assert told([path], "nvjitlink=13.5,gpu=sm_75")["PTX-12"] == "unknown"


@pytest.mark.skipif(not shutil.which("nvlink"), reason="needs nvlink")
@pytest.mark.slow
def test_link_tells_what_nvlink_loses_without_a_word(tmp_path: Path) -> None:
    """The output of nvlink 13.0 lacks it, as readelf shows."""
    first = _text(tmp_path / "first.ptx", FIRST)
    above = wrapped(tmp_path / "above.o", FIRST.replace("sm_80", "sm_90"), sm=90)
    ltoir = FOLDER / "ltoir/nvrtc-12.4-lto_80.ltoir"
    for beside, lost in ((first, "first"), (above, "first"), (ltoir, f"of {ltoir}")):
        (linked, *_) = (
            each
            for each in ltocompat.link(AXPY, SCALE, beside, arch="sm_80", linkers=["nvlink=13.0"])
            if isinstance(each, ltocompat.Linked)
        )
        assert (str(linked.answer.outcome), linked.answer.lost) == ("lost", (lost,))
        assert lost in str(linked.reason)


@pytest.mark.skipif(not shutil.which("nvlink"), reason="needs nvlink")
@pytest.mark.slow
def test_ltoir_that_is_linked_already_makes_no_link_with_lto(tmp_path: Path) -> None:
    """nvJitLink 12.6 to 13.5 refuse -lto where nothing that they read is LTO-IR."""
    code = (FOLDER / "ltoir/nvcc-13.5-lto_80.ltoir").read_bytes()
    final = _wrapped(tmp_path / "final.o", EntrySpec(KINDS["ltoir"], code), ".nv_fatbin")
    tried = ltocompat.link(AXPY, SCALE, final, arch="sm_80", linkers=["nvlink=13.0"])
    linked = [each for each in tried if isinstance(each, ltocompat.Linked)]
    assert [(each.way, str(each.answer.outcome)) for each in linked] == [("plain", "linked")]


@pytest.mark.skipif(not shutil.which("nvlink"), reason="needs nvlink")
@pytest.mark.slow
def test_auto_asks_the_linkers_at_hand_about_what_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """nvlink 13.0 is at hand, and 13.2 is not, of which a trial that is asked for needs one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    loose = FOLDER / "ltoir/nvrtc-12.4-lto_80.ltoir"

    def verdict(linker: str, trial: bool | Literal["auto"]) -> str:
        (result,) = ltocompat.check(
            loose, [f"{linker},gpu=a100"], route="link", together=True, trial_link=trial
        )
        return str(result.verdict)

    assert verdict("nvlink=13.0", False) == "unknown"
    assert verdict("nvlink=13.0", "auto") == "undocumented"
    assert verdict("nvlink=13.2", "auto") == "unknown"
    with pytest.raises(ltocompat.Missing, match=r"nvlink 13\.2 is not installed"):
        verdict("nvlink=13.2", True)

"""Real links with real nvJitLinks, of samples whose makers are known."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import samples
import wheels
from measure_links import FOLDERS, MINORS, STORED, links, measure, merged, producers

from ltocompat.commands.inspect import inspect
from ltocompat.commands.link import link
from ltocompat.model.arch import Release
from ltocompat.model.errors import LtocompatError
from ltocompat.model.image import Module
from ltocompat.model.link_options import Disagreement
from ltocompat.trial.values import LinkOutcome

pytestmark = pytest.mark.wild

OBJECTS = samples.FOLDER / "objects"
LTOIR = samples.FOLDER / "ltoir"


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_measured_table_still_holds(folder: str) -> None:
    stored = json.loads(STORED.read_text("utf-8"))
    assert merged({}, measure(folder)) == stored["tables"][folder]


def nvjitlinks(*versions: str) -> list[str]:
    return [f"nvjitlink={version}" for version in versions]


def test_the_law_predicts_the_raw_table() -> None:
    """Links iff the producer is 12.0 or later and the linker's minor is not older."""
    stored = json.loads(STORED.read_text("utf-8"))["tables"]["ltoir/"]
    assert set(stored) == set(producers("ltoir/"))
    for producer, row in stored.items():
        assert list(row) == list(MINORS)
        for linker, outcome in row.items():
            made, links_with = Release.parse(producer), Release.parse(linker)
            expected = Release(12, 0) <= made <= links_with
            assert (outcome == "linked") == expected, (producer, linker)


def test_fatbins_of_later_writers_need_12_4() -> None:
    stored = json.loads(STORED.read_text("utf-8"))["tables"]["fatbin-ltoir/"]
    assert set(stored) == set(producers("fatbin-ltoir/"))
    for producer, row in stored.items():
        for linker, outcome in row.items():
            made, links_with = Release.parse(producer), Release.parse(linker)
            expected = Release(12, 0) <= made <= links_with and links_with >= Release(12, 4)
            assert (outcome == "linked") == expected, (producer, linker)


def test_two_translation_units_link_as_plain_code() -> None:
    units = [OBJECTS / f"nvcc-13.0-rdc-{name}.o" for name in ("axpy", "scale")]
    found = links(*units, arch="sm_90", linkers=nvjitlinks("12.4", "13.0", "13.5"))
    assert [(str(f.linker.release), str(f.answer.outcome)) for f in found] == [
        ("12.4", "refused"),
        ("13.0", "linked"),
        ("13.5", "linked"),
    ]
    assert found[0].reason == "the input is PTX ISA 9.0, and this nvJitLink reads up to 8.4"
    assert found[1].answer.kernels_in_output == 1


def test_a_missing_definition_is_named() -> None:
    (linked,) = links(OBJECTS / "nvcc-13.5-lto.o", arch="sm_90", linkers=["nvjitlink=13.5"])
    assert linked.answer.outcome is LinkOutcome.UNRESOLVED
    assert linked.answer.unresolved == ("_Z5scalef",)


def test_an_architecture_below_the_inputs_is_refused_with_a_reason() -> None:
    (linked,) = links(LTOIR / "nvrtc-12.9-lto_90a.ltoir", arch="sm_80", linkers=["nvjitlink=13.5"])
    assert linked.answer.outcome is LinkOutcome.REFUSED
    assert linked.reason == "the LTO-IR is for a newer architecture than the link's target"


def test_an_accelerated_fragment_may_serve_a_plain_target() -> None:
    (linked,) = links(LTOIR / "nvrtc-12.9-lto_90a.ltoir", arch="sm_90", linkers=["nvjitlink=13.5"])
    assert linked.answer.outcome is LinkOutcome.LINKED


def test_the_result_can_be_kept(tmp_path: Path) -> None:
    output = tmp_path / "out.cubin"
    sample = LTOIR / "nvrtc-12.4-lto_80.ltoir"
    links(sample, arch="sm_90", linkers=["nvjitlink=13.0"], output=output)
    (module, _) = inspect(output, kernels=True)
    assert isinstance(module, Module)
    (image,) = module.images
    assert (str(image.arch), image.kernels) == ("sm_90", ("saxpy",))
    with pytest.raises(LtocompatError, match="can't be written"):
        links(sample, arch="sm_90", linkers=["nvjitlink=13.0"], output=output)


def test_scrambled_fragments_are_narrowed_to_their_maker() -> None:
    """All but those of 12.0 and 12.1: linkers that old can't unpack what fatbins hold today."""
    for release, sample in producers("fatbin-ltoir/").items():
        module, _ = inspect(sample.path, trial_link=True, install_linkers=True)
        assert isinstance(module, Module)
        found = {str(r) for m in module.images[0].made_by for r in m.releases}
        if release in ("11.8", "12.0", "12.1"):
            assert release in found
        else:
            assert found == {release}


def test_real_fragments_are_accepted_from_13_3_on() -> None:
    library = wheels.member("libcuvs-cu13==26.10.0", "libcuvs/lib64/libcuvs.so")
    from ltocompat import ImageFilter, ImageKind

    where = ImageFilter(kinds=frozenset({ImageKind.LTOIR}))
    found = links(
        library,
        each=True,
        add_only=True,
        linkers=nvjitlinks("13.2", "13.3", "13.5"),
        where=where,
    )
    counted: dict[tuple[str, str], int] = {}
    for linked in found:
        key = (str(linked.linker.release), str(linked.answer.outcome))
        counted[key] = counted.get(key, 0) + 1
    assert counted == {
        ("13.2", "refused"): 1549,
        ("13.3", "accepted"): 1549,
        ("13.5", "accepted"): 1549,
    }


def test_differing_options_are_named() -> None:
    options = samples.FOLDER / "fatbin-ltoir" / "nvfatbin-13.0-options.fatbin"
    other = OBJECTS / "nvcc-13.5-lto.o"
    ask: Callable[..., object] = link
    found = list(ask(options, other, arch="sm_90", linkers=["nvjitlink=13.5"]))  # type: ignore[call-overload]
    assert any(isinstance(value, Disagreement) for value in found)

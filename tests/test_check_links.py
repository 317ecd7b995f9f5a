"""The verdict on LTO-IR of every release with every nvJitLink, against what was measured.

tests/data/ltoir_links.json has 16 compilers x 15 nvJitLinks, as bare LTO-IR and in fatbins.
"""

from __future__ import annotations

import json
from pathlib import Path

import samples
from every_case import every

from ltocompat.commands.check import check
from ltocompat.facts import ltoir, nvjitlink_minors
from ltocompat.model.arch import Release
from ltocompat.model.verdict import Result, Verdict

MEASURED = json.loads((Path(__file__).parent / "data" / "ltoir_links.json").read_text("utf-8"))
RAW, FATBIN = MEASURED["tables"]["ltoir/"], MEASURED["tables"]["fatbin-ltoir/"]
MINORS = nvjitlink_minors()
LINKED = {"linked", "compiled", "accepted"}


def targets() -> list[str]:
    return [f"driver=580.159.04,gpu=sm_90,nvjitlink={minor}" for minor in MINORS]


def sample(folder: str, release: str) -> Path:
    """The sample of a release for lto_80 that the table was measured with."""
    scrambled = folder == "fatbin-ltoir/"
    for candidate in samples.GOOD:
        named = candidate.name.startswith(folder) and "linked" not in candidate.name
        images = candidate.images
        if (
            named
            and "nvjitlink" not in candidate.name
            and len(images) == 1
            and images[0]["arch"] == "lto_80"
            and images[0].get("scrambled", False) == scrambled
            and images[0]["made_by"] == [release]
        ):
            return candidate.path
    raise AssertionError(release)


def verdicts(path: Path) -> dict[Release, Result]:
    return dict(zip(MINORS, check(path, targets=targets(), route="link"), strict=True))


def releases_of(release: str) -> tuple[Release, ...]:
    """All releases that write the same container; more cannot be known of scrambled LTO-IR."""
    wanted = Release.parse(release)
    return next(found for found in ltoir.writers("container").values() if wanted in found)


def test_the_table_has_all_compilers_and_linkers() -> None:
    assert RAW.keys() == FATBIN.keys()
    # No NVRTC of 11.7 was at hand as a compiler of links.
    assert set(map(Release.parse, RAW)) == set(ltoir.releases()) - {Release(11, 7)}
    assert all(list(row) == list(map(str, MINORS)) for row in (*RAW.values(), *FATBIN.values()))


@every("release", RAW)
def test_bare_ltoir_links_where_it_was_measured_and_is_documented_within_a_major(
    release: str,
) -> None:
    made = Release.parse(release)
    for linker, result in verdicts(sample("ltoir/", release)).items():
        if RAW[release][str(linker)] in LINKED:
            within = linker.major == made.major
            assert result.verdict is (Verdict.OK if within else Verdict.UNDOCUMENTED), linker
        else:
            assert result.verdict is Verdict.FAIL, linker


@every("release", FATBIN)
def test_scrambled_ltoir_is_unknown_exactly_where_its_set_straddles_the_linker(
    release: str,
) -> None:
    made = releases_of(release)
    for linker, result in verdicts(sample("fatbin-ltoir/", release)).items():
        linked = FATBIN[release][str(linker)] in LINKED
        older = [each_release for each_release in made if each_release <= linker]
        if linker < Release(12, 4):
            assert result.verdict is Verdict.FAIL, linker  # it can't unpack the entry
            assert not linked
        elif older and len(older) < len(made) and made[-1].major >= 12:
            assert result.verdict is Verdict.UNKNOWN, linker
        elif linked:
            within = linker.major == made[-1].major
            assert result.verdict is (Verdict.OK if within else Verdict.UNDOCUMENTED), linker
        else:
            assert result.verdict is Verdict.FAIL, linker

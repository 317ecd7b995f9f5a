"""LTO-IR in NVIDIA's own libraries of CUDA: what the toolkit pins is ``ok``, and nobody else's is.

The expectations are the pins of ``cuda-toolkit``, and who made the LTO-IR of each sample.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from libraries_made import build, needs_gcc
from packages_made import wheel
from rules import image, judged, linking, made_by
from samples import FOLDER

from ltocompat import check
from ltocompat.facts import rows
from ltocompat.facts.toolkits import ToolkitPin, toolkit_with
from ltocompat.model.arch import Release
from ltocompat.model.image import ImageKind, Producer, Role
from ltocompat.model.signature import ModuleSignature
from ltocompat.model.verdict import Verdict
from ltocompat.scan.shipped_linker import as_shipped

_OPEN = Producer(Role.COMPILER, None, None, (Release(12, 8), Release(12, 9)), "container")


def library(folder: Path, soname: str, linker: str, region: str) -> bytes:
    """A library with one region, which it links itself with an nvJitLink that it needs."""
    fatbin = FOLDER / "fatbin-ltoir" / region
    source = f'asm(".section .nv_fatbin, \\"a\\"\\n.balign 8\\n.incbin \\"{fatbin}\\"\\n.text");'
    stub = build(folder / linker)
    return build(folder / soname, needs=[stub], source=source).read_bytes()


@needs_gcc
@pytest.mark.parametrize(
    ("package", "soname", "linker", "verdict"),
    [
        ("nvidia-cusparse 12.8.2.51", "libcusparse.so.12", "13.3", Verdict.OK),  # CUDA 13.3.1
        ("nvidia-cusparse 12.8.6.49", "libcusparse.so.12", "13.3", Verdict.UNKNOWN),  # 13.4.1
        ("nvidia-cusparse 12.8.6.49", "libcusparse.so.12", "13.4", Verdict.OK),
        ("nvidia-cusparse 12.8.2.50", "libcusparse.so.12", "13.3", Verdict.UNKNOWN),  # none
        ("cusparse-of-mine 12.8.2.51", "libcusparse.so.12", "13.3", Verdict.UNKNOWN),
        ("nvidia-cusparse 12.8.2.51", "libmine.so.12", "13.3", Verdict.UNKNOWN),
    ],
)
def test_a_library_of_a_toolkit_goes_with_the_nvjitlink_of_that_toolkit(
    package: str, soname: str, linker: str, verdict: Verdict, tmp_path: Path
) -> None:
    """Scrambled LTO-IR of 13.3 shows that it is of 13.3 to 13.5; the package tells more."""
    code = library(tmp_path, soname, "libnvJitLink.so.13", "nvfatbin-13.3-of-13.3-lto_80.fatbin")
    name, _, version = package.partition(" ")
    path = wheel(tmp_path, {f"nvidia/cu13/lib/{soname}": code}, name=name, version=version)
    target = f"driver=615,gpu=a100,nvjitlink={linker}"
    (result,) = (each for each in check(path, target, floors=False) if each.gpu)
    assert result.verdict is verdict


def test_sass_of_a_region_tells_who_made_the_ltoir_beside_it() -> None:
    """And across majors, its own nvJitLink takes it, as NVIDIA ships both."""
    ltoir = image(ImageKind.LTOIR, "80", made_by=(_OPEN,))
    sass = image(ImageKind.SASS, "90", "12.8")
    module = as_shipped(ModuleSignature((ltoir, sass), registered=False), 13)
    (known, _) = module.images
    assert known.made_by[0].releases == (Release(12, 8),)
    subject = linking(*module.images, on="80", linker="13.0")
    mine = linking(ltoir, on="80", linker="13.0")
    assert judged("LTO-02", mine, Release(13, 0)) is Verdict.UNDOCUMENTED
    shipped = type(subject)(module, subject.route, subject.gpu, subject.picked)
    assert judged("LTO-02", shipped, Release(13, 0)) is Verdict.OK
    assert judged("LTO-02", shipped, Release(14, 0)) is not Verdict.OK
    other = as_shipped(ModuleSignature((ltoir, image(ImageKind.SASS, "90", "13.0")), None), 13)
    assert other.images[0].made_by == ltoir.made_by  # no SASS of a release that may have made it
    assert made_by("12.8")[0].releases == known.made_by[0].releases


def test_versions_belong_to_the_toolkit_that_pins_them_first() -> None:
    for pin in rows(ToolkitPin):
        exact = pin.specifier.removeprefix("==").removesuffix(".*")
        if pin.specifier.startswith("=="):
            toolkit = toolkit_with(pin.package, exact)
            assert toolkit is not None
            assert toolkit <= Release.parse(pin.toolkit)
    assert toolkit_with("nvidia-cusparse-cu12", "12.5.8.93") == Release(12, 8)
    assert toolkit_with("nvidia-cusparse", "12.5.8.93") is None

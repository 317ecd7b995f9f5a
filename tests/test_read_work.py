"""A package is inflated once for each question, and an image decoded at most once."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from package_writer import zip_of
from samples import FOLDER

import ltocompat
from ltocompat.commands.policy.values import NO_POLICY, Policy
from ltocompat.files import codec
from ltocompat.model.limits import WORK
from ltocompat.targets import parse

# No verdict is bad there, so that no kernels are read once more to be named.
TARGET = "driver=615,gpu=h100,nvjitlink=13.5"
METADATA = b"Metadata-Version: 2.1\nName: x\nVersion: 1.0\n\n"
QUESTIONS: dict[str, Callable[[str], Iterator[object]]] = {
    "inspect": lambda path: ltocompat.inspect(path, jobs=1),
    "check": lambda path: ltocompat.check(path, TARGET),
    "require": ltocompat.require,
    "matrix": ltocompat.matrix,
    "audit": lambda path: ltocompat.audit(path, NO_POLICY),
    "weigh": lambda path: ltocompat.weigh(path, jobs=1),
    "read": lambda path: ltocompat.read(path, jobs=1),
}
TOO_OLD = "driver=535.104,gpu=h100"
ANSWERS: dict[str, Callable[[str], Iterator[ltocompat.Result]]] = {
    "check": lambda path: ltocompat.check(path, TOO_OLD),
    "audit": lambda path: (
        record.checked
        for record in ltocompat.audit(path, Policy(source="", targets=tuple(parse([TOO_OLD]))))
        if isinstance(record, ltocompat.Audited)
    ),
}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every fatbin of the samples that works there."""
    path = tmp_path_factory.mktemp("work") / "x-1.0-py3-none-any.whl"
    fine = [
        piece
        for piece in sorted((FOLDER / "fatbin").iterdir())
        if all(r.verdict < ltocompat.Verdict.UNKNOWN for r in ltocompat.check(piece, TARGET))
    ]
    members = [(f"x/{piece.name}", piece.read_bytes()) for piece in fine]
    path.write_bytes(zip_of(*members, ("x-1.0.dist-info/METADATA", METADATA)))
    return path


@pytest.mark.parametrize("question", QUESTIONS)
def test_nothing_is_decompressed_twice(question: str, package: Path) -> None:
    with zipfile.ZipFile(package) as archive:
        inside = sum(member.file_size for member in archive.infolist())
    decoded, unpacked = WORK.decoded, WORK.unpacked
    assert list(QUESTIONS[question](str(package)))
    # Metadata is read apart, and for some verdicts twice.
    assert inside - len(METADATA) <= WORK.unpacked - unpacked <= inside + 2 * len(METADATA)
    assert 0 < WORK.decoded - decoded <= packed_size(package)


@pytest.mark.parametrize("question", ANSWERS)
def test_whose_kernels_findings_name_is_not_unpacked_again(question: str, tmp_path: Path) -> None:
    size = 4 << 20  # smaller members are not kept
    code = (FOLDER / "fatbin" / "nvfatbin-13.5-default.fatbin").read_bytes().ljust(size, b"\0")
    package = tmp_path / "x-1.0-py3-none-any.whl"
    package.write_bytes(zip_of(("x/code.fatbin", code), ("x-1.0.dist-info/METADATA", METADATA)))
    unpacked = WORK.unpacked
    findings = [finding for each in ANSWERS[question](str(package)) for finding in each.findings]
    assert any(finding.kernels for finding in findings)
    assert size <= WORK.unpacked - unpacked <= size + 3 * len(METADATA)


def packed_size(package: Path) -> int:
    """Decoded bytes of the images that have to be decoded for some question, each once."""
    modules = [r for r in ltocompat.inspect(package) if isinstance(r, ltocompat.Module)]
    images = [image for module in modules for image in module.images]
    packed = [i for i in images if i.compression is not ltocompat.Compression.NONE]
    assert len(packed) >= 10
    # Zeros up to a multiple of 8 may be packed behind an image.
    return sum(-(-(image.size or 0) // 8) * 8 for image in packed)


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_image_is_decoded_whole_a_second_time(
    question: str, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[object, int]] = []
    for name in ("_lz4", "_zstd"):
        decode: Callable[[codec.Payload], bytes] = getattr(codec, name)

        def noted(
            payload: codec.Payload, decode: Callable[[codec.Payload], bytes] = decode
        ) -> bytes:
            seen.append((payload.stored.source, payload.stored.start))
            return decode(payload)

        monkeypatch.setattr(codec, name, noted)
    assert list(QUESTIONS[question](str(package)))
    assert len(seen) >= 10
    assert len(set(seen)) == len(seen)

from __future__ import annotations

import itertools
import json
import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from report_values import (
    HOSTILE,
    LIBRARY,
    at,
    bare_file,
    hostile,
    library,
    sass,
    valid_json,
    written,
)
from samples import FOLDER
from syrupy.assertion import SnapshotAssertion

import ltocompat
from ltocompat.facts import drivers, toolkits
from ltocompat.model.arch import Release
from ltocompat.model.image import Artifact, HostBinary, Module, Producer, Record, Role, Skipped
from ltocompat.model.location import Location
from ltocompat.report import FORMATS, Failure, Options
from ltocompat.report.image_summary import GROUPS
from ltocompat.report.streams import PIPED
from ltocompat.report.verbs.inspect import REPORT

CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")
WIDTHS = pytest.mark.parametrize("width", [80, PIPED])


def table(records: Iterator[Record | Failure], **options: object) -> str:
    return written("table", REPORT, records, Options(**options))  # type: ignore[arg-type]


@WIDTHS
@pytest.mark.parametrize("by", GROUPS)
def test_a_summary(width: int, by: str, snapshot: SnapshotAssertion) -> None:
    text = at(width, lambda width: table(library(), width=width, by=by))
    assert max(map(len, text.splitlines())) <= width
    assert text == snapshot


@WIDTHS
def test_kernels_are_counted(width: int, snapshot: SnapshotAssertion) -> None:
    assert at(width, lambda width: table(library(), width=width, kernels=True)) == snapshot


@pytest.mark.parametrize("by", GROUPS)
def test_markdown(by: str, snapshot: SnapshotAssertion) -> None:
    assert written("markdown", REPORT, library(), Options(by=by)) == snapshot


def test_markdown_with_one_row_an_image(snapshot: SnapshotAssertion) -> None:
    assert written("markdown", REPORT, library(), Options(images=True)) == snapshot


def test_json(snapshot: SnapshotAssertion) -> None:
    text = written("json", REPORT, library())
    valid_json(text)
    assert text == snapshot


@pytest.mark.parametrize(
    ("images", "form"), [(False, "table"), *((True, form) for form in FORMATS)]
)
def test_hostile_names_are_shown_escaped(
    form: str,
    images: bool,
    snapshot: SnapshotAssertion,
) -> None:
    text = written(form, REPORT, hostile(), Options(width=80, images=images, kernels=True))
    assert not CONTROL.search(text)
    text.encode("utf-8")  # no half of a surrogate pair either
    assert text == snapshot


def test_markdown_keeps_hostile_names_in_code_spans_and_cells() -> None:
    text = written("markdown", REPORT, hostile(), Options(kernels=True))
    for line in text.splitlines():
        outside = re.sub("`[^`]*`", "", line)
        assert "evil" not in outside
        assert "@someone" not in outside
        assert "<b>" not in outside
        if line.startswith("|"):
            assert line.count("|") == 8


@pytest.mark.parametrize(
    "path",
    [
        "fatbin/nvfatbin-13.5-mixed-makers.fatbin",
        "fatbin/nvcc-13.2-none.fatbin",
        "objects/libsaxpy.so",
        "objects/libaxpy.a",
        "ptx/nvrtc-13.0-compute_80.ptx",
        "cubin/nvrtc-12.4-sm_80.cubin",
        "fatbin-ltoir/nvfatbin-13.3-of-13.3-lto_80.fatbin",
    ],
)
def test_the_first_line_names_the_driver_that_require_names(path: str) -> None:
    file = str(FOLDER / path)
    first_line = table(ltocompat.inspect(file)).splitlines()[1]
    (asked,) = ltocompat.require(file)
    named = re.findall(r"[0-9]+(?:\.[0-9]+)+", first_line.partition("need driver")[2])
    floors = [asked.driver_sass, asked.driver_ptx]
    assert set(named) <= {str(floor) for floor in floors}
    assert bool(named) is any(floors)
    assert ("newer than every known driver" in first_line) is asked.ptx_beyond
    highest = max((floor for floor in floors if floor), default=None)
    assert highest is None or str(highest) in named


@pytest.mark.parametrize("cuda", [*drivers.earlier_drivers(), "6.5"])
def test_the_first_line_names_the_least_driver_of_releases_before_the_tables(
    cuda: str, tmp_path: Path
) -> None:
    """NVIDIA's list begins with CUDA 7.0; before that, nothing is known."""
    isa = toolkits.cuda_ptx(Release.parse(cuda))
    maker = f"// Cuda compilation tools, release {cuda}, V{cuda}.1"
    body = ".address_size 64\n.visible .entry k() { membar.gl; ret; }"
    file = tmp_path / "k.ptx"
    file.write_text(f"{maker}\n.version {isa}\n.target sm_30\n{body}\n")
    line = table(ltocompat.inspect(file)).splitlines()[1]
    assert f"made by CUDA {cuda}" in line
    known = drivers.earlier_drivers().get(cuda)
    assert line.partition(" driver >= ")[2].split() == ([str(known)] if known else [])


def test_the_first_line_asks_no_driver_for_code_without_kernels() -> None:
    """As cuda-cccl 1.2.1 has it: 52 images for sm_75, and none of them has a kernel."""
    file = str(FOLDER / "cubin" / "nvcc-13.0-sm_80-without-kernels.cubin")
    line = table(ltocompat.inspect(file, kernels=True)).splitlines()[1]
    assert line == "made by CUDA 13.0 · SASS for sm_80 · no kernels"
    assert (
        table(ltocompat.inspect(file)).splitlines()[1].endswith("kernels need driver >= 580.65.06")
    )


def test_files_of_a_folder_are_told_in_brief_unless_more_is_asked_for() -> None:
    folder = str(FOLDER / "objects")
    named = frozenset({folder})
    text = table(ltocompat.inspect(folder), named=named)
    assert "made by CUDA" in text
    assert "stored as" not in text
    assert text.endswith("-v shows what each file of a folder holds\n")
    more: list[dict[str, object]] = [{"why": True}, {"by": "arch"}, {"kernels": True}]
    for options in more:
        assert "stored as" in table(ltocompat.inspect(folder), named=named, **options)


def test_quiet_is_two_lines_an_artifact() -> None:
    file = str(FOLDER / "objects" / "libaxpy.a")
    lines = table(ltocompat.inspect(file), quiet=True).splitlines()
    assert [line.partition(" ")[0] for line in lines] == [file, "made"]


@pytest.mark.parametrize("images", [False, True])
def test_files_without_device_code_are_counted_unless_they_were_named(
    images: bool,
) -> None:
    records = [*library(), bare_file("d/a"), bare_file("d/b"), bare_file("named")]
    text = table(iter(records), images=images, named=frozenset({"named", "d"}))
    assert "d/a" not in text
    assert "named (100 B): no device code\n" in text
    assert text.endswith("\n2 files without device code\n")


def test_files_that_a_filter_emptied_are_not_said_to_hold_no_device_code() -> None:
    text = table(iter([Artifact("d/a", 9, 1, 1, 0)]))
    assert text == "1 file with device code that the filters exclude\n"
    value = valid_json(written("json", REPORT, [Artifact("d/a", 9, 1, 1, 0)]))
    assert value["artifacts"] == []
    assert value["summary"]["files_without_match"] == 1
    assert value["summary"]["files_without_device_code"] == 0


def test_skipped_places_are_bounded_in_the_table_and_complete_in_json() -> None:
    records: list[Record] = [Skipped(LIBRARY.at(n), f"reason {n}") for n in range(50)]
    records.append(Artifact("lib/libx.so", 9, 0, 0, 50))
    text = table(iter(records))
    assert "reason 19\n" in text
    assert "reason 20\n" not in text
    assert text.endswith("  and 30 more; --format json lists all\n")
    value = valid_json(written("json", REPORT, records))
    assert [each_value["reason"] for each_value in value["artifacts"][0]["skipped"]][
        -1
    ] == "reason 49"


def test_more_skipped_places_than_the_limit_are_counted() -> None:
    records: list[Record] = [Skipped(LIBRARY.at(n), "x") for n in range(10_005)]
    records.append(Artifact("lib/libx.so", 9, 0, 0, 10_005))
    artifact = json.loads(written("json", REPORT, records))["artifacts"][0]
    assert (len(artifact["skipped"]), artifact["skipped_left_out"]) == (10_000, 5)


def test_host_files_in_an_archive_are_listed_with_what_their_linker_needs() -> None:
    archive = Location("libx.a")
    module = Module(archive.member("b.o").at(64), None, None, ())
    records: list[Record] = [
        HostBinary(place=archive.member("a.o"), format="ELF", machine="x86-64", type="object"),
        HostBinary(
            place=archive.member("b.o"),
            format="ELF",
            machine="x86-64",
            type="object",
            undefined_registrations=("__fatbinwrap_b",),
        ),
        module,
        Artifact("libx.a", 9, 1, 0, 0),
    ]
    artifact = valid_json(written("json", REPORT, records))["artifacts"][0]
    assert artifact["host"] is None
    needed = {each["place"]: each["undefined_registrations"] for each in artifact["members"]}
    assert needed == {"libx.a::a.o": [], "libx.a::b.o": ["__fatbinwrap_b"]}
    assert table(iter(records)) == (
        "libx.a (9 B; 2 host files; ELF object, x86-64): 1 module, 0 images\n"
        "host needs:\n"
        "  the objects that were device-linked: 1 undefined symbol, __fatbinwrap_b\n"
    )


@pytest.mark.parametrize("images", [False, True])
@pytest.mark.parametrize("end", [[], [Failure("internal", "oops")]])
def test_an_artifact_that_breaks_off_says_so(
    images: bool,
    end: list[Failure],
) -> None:
    records = [*list(library())[:3], *end]
    text = table(iter(records), images=images)
    assert "lib/libx.so (not read to its end; ELF shared library, x86-64): 2 modules" in text
    artifact = valid_json(written("json", REPORT, records))["artifacts"][0]
    assert (artifact["size"], artifact["complete"]) == (None, False)


def many(images: int, distinct: int) -> Iterator[Record]:
    for number in range(images):
        place = LIBRARY.at(number * 64, 0)
        maker = Producer(Role.COMPILER, "ptxas", f"13.0.{number % distinct}", (), f"note {number}")
        yield Module(place, None, None, (sass(place, f"sm_{number % 9000}", made_by=(maker,)),))
        yield Skipped(place, f"reason {number}")
    yield Artifact("lib/libx.so", 9, images, images, images)


@pytest.mark.slow
@pytest.mark.parametrize(("distinct", "by"), [(50_000, "kind"), (3, "arch")])
def test_ten_thousand_more_images_take_no_more_memory(distinct: int, by: str) -> None:
    def records() -> Iterator[Record]:
        yield from itertools.islice(whole, 2 * 20_000)
        tracemalloc.start()
        yield from whole

    whole = many(30_000, distinct)
    text = table(records(), by=by)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "30,000 images" in text
    assert peak < 3 << 20  # held, they take 7 MB


@pytest.mark.parametrize("form", ["json", "table"])
def test_listing_a_thousand_images_holds_none_of_them(form: str) -> None:
    from ltocompat.report import writer

    class Nowhere:
        def write(self, text: str, /) -> None:
            pass

    # Held, they take more than 700 kB, beside the rules' code of 64 signatures.
    warm = (record for record in many(1_000, 3) if not isinstance(record, Skipped))
    writer(form)(REPORT, warm, Nowhere(), Options(images=True))  # imports, and what is kept anyway
    records = (record for record in many(1_000, 3) if not isinstance(record, Skipped))
    tracemalloc.start()
    writer(form)(REPORT, records, Nowhere(), Options(images=True))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 << 19


def test_the_hostile_name_is_as_hostile_as_it_says() -> None:
    assert CONTROL.search(HOSTILE)

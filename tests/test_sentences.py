"""Sentences as users read them: in every format, of every rule, on every target."""

from __future__ import annotations

import html
import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from every_case import every
from generated_artifacts import stored_images
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from report_values import written
from samples import FOLDER
from test_rules_constraints import FLOORS
from user_texts import (
    Texts,
    docstring_texts,
    error_texts,
    help_texts,
    schema_texts,
    stub_texts,
)
from verdict_values import H100, ONE, finding, result

import ltocompat
from ltocompat.facts import nvjitlink_minors
from ltocompat.model.arch import Release
from ltocompat.model.signature import ImageSignature, ModuleSignature
from ltocompat.model.target import Target
from ltocompat.model.verdict import Finding, Result, Route, Verdict
from ltocompat.report import FINDING_FORMATS, Options
from ltocompat.report.grouped_findings import headline_of
from ltocompat.report.verbs.check import REPORT
from ltocompat.rules.catalogue import requirements_of
from ltocompat.rules.constraints import (
    COMPAT_GPU,
    COMPAT_NEWER,
    COMPAT_PAIR,
    FixedVerdict,
    unknown_version,
)
from ltocompat.rules.engine.engine import Engine
from ltocompat.rules.engine.evaluate import evaluate, values_of
from ltocompat.rules.engine.fold_versions import combinations
from ltocompat.rules.prose import rules
from ltocompat.rules.rule import CompatUse, Component, Constraint, Requirement, Subject
from ltocompat.targets import parse

GPUS = "gpu=h100+b300+t4+rtx4090"
# A version, a part of one, a range and a set, for each key and for the pairs that are judged.
WORDS = [
    *(f"driver={version}" for version in ("470.57.02", "550", "535+580", ">=525", "650")),
    *(f"compat={package}" for package in ("12.4", "12", "12.2+12.8", "99.1")),
    *(
        f"driver={version},compat={package}"
        for version in ("535.54.03", "550", "535+580", ">=525")
        for package in ("12.4", "12", "12.2+12.8")
    ),
    "driver=580.65.06,system=windows,compat=12.4",
    "driver=580.65.06,system=wsl2,compat=12.4",
    *(f"nvjitlink={version}" for version in ("12", "12.4", ">=12.4,<13", "13.9")),
    *(f"driver=580,nvlink={version}" for version in ("12", "13.0")),
    *(f"nvrtc={version}" for version in ("12", "11.2")),
]
REPRESENTED = re.compile(r"\b[A-Z]\w*\(\w+=|<[A-Z]\w*\.\w+: |object at 0x")
# Two dots stand behind a blank where names are left out, and before a word in a path.
TWO_STOPS = re.compile(r"[^.\s/]\.\.(?![.\w/])|[^.]\.;")

# Words that made readers stop, with what to write instead.
CLUMSY = {
    r"\bin place of\b": "instead of",
    r"\bthat (?:is|are) here\b": "installed",
    r"\blet no\b": "make sure that no",
    r"\b(?:ok|jit|undocumented|unknown|fail) where\b": "if",
    r"\bnull where\b": "null if",
    r"\bcut off\b": "truncated",
    r"\ba \w+ of (?:its|their|your) own\b": "its own, or a separate",
    r"\blacks?\b(?!-)": "has no",
    r"\bis told\b": "gets, knows or is reported",
    r"\bnone of it\b": "the noun",
    r"\bthat which\b": "the noun",
    r"\bit is not known\b": "it is unknown",
    r"(?:^|[.;:)] )Else\b": "otherwise",
    r"\b[Aa]nother (?:(?!is |was )\w+ ){1,3}than\b": "a different",
    r"\b(?:than|equals?|is|are|not) (?:that|those) of\b": "the noun",
    r"\bthe CUDA of nvidia-smi\b": "nvidia-smi's CUDA version",
    r"[(,] ?(?:XYZ|XY|X\.YZ?|N|NNN|PACKAGE|VERSION|FILE): ": "stands for",
}
# Words that begin with a small letter don't begin a sentence, as far as readers see.
SENTENCE = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`\[{])")
# Alternatives that readers had to take apart: each is a sentence.
CHAINED = re.compile(r"; (?:or|else|if|until|then|otherwise)\b")
# Commands that a fix has in one spelling, so that each ecosystem types them as its own, and those
# for which clients.toml has a sentence: rows of apt's own messages may have apt's.
SPELLED = {
    r"\bpip3 (?:un)?install\b|\bpython3? -m pip\b|(?<!\S)[!%]pip\b": "pip install",
    r"\bapt-get install\b|(?<!sudo )\bapt install\b": "sudo apt install",
    r"\b(?:micro)?mamba install\b": "conda install",
    r"\bsetenv [A-Z]|\$env:": "export NAME=VALUE",
    r"\bpoetry run pip\b|\bpixi (?:add|run)\b|\bRUN (?:pip|apt)": "pip install, sudo apt install",
    r"\binstall (?:--only-upgrade )?nvidia-container-toolkit\b": "{container_toolkit}",
    r"\bubuntu-drivers\b|\bakmod-nvidia\b": "{update_driver}",
    r"\b(?:apt|dnf) install (?:libcudnn|cudnn9)": "{get_headers}",
    r"HOST_COMPILER=\{host|\bNVCC_CCBIN=\{host": "{give_host}",
    r"\bcuda-toolkit=\{torch\b": "{with_torch}",
}
REPOSITORY = Path(__file__).parent.parent
CATALOGUE = REPOSITORY / "ltocompat" / "rules" / "catalogue"
# What matches texts of other programs, or quotes them.
QUOTED = {"name", "pattern", "find", "beside", "unless", "source", "messages", "when", "called"}


@cache
def targets() -> tuple[Target, ...]:
    found: list[Target] = []
    for words in WORDS:
        try:
            found += parse([f"{words},{GPUS}"])
        except ltocompat.UsageError:
            continue
    return tuple(found)


def wrong(text: str) -> list[str]:
    return [match[0] for rule in (REPRESENTED, TWO_STOPS) for match in rule.finditer(text)]


def texts_of(value: object) -> list[str]:
    """All texts in JSON."""
    if isinstance(value, dict):
        return [text for inner in value.values() for text in texts_of(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in texts_of(inner)]
    return [value] if isinstance(value, str) else []


def sentences_in(form: str, text: str) -> list[str]:
    if form in {"json", "sarif", "gitlab"}:
        return texts_of(json.loads(text))
    if form == "jsonl":
        return [each for line in text.splitlines() for each in texts_of(json.loads(line))]
    return html.unescape(text).splitlines()


def own_texts(value: object) -> Iterator[str]:
    """Yield our own texts in a table, without patterns and quotations."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in QUOTED:
                yield from own_texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from own_texts(inner)
    elif isinstance(value, str):
        yield " ".join(value.split())


def pages() -> Iterator[Path]:
    yield REPOSITORY / "README.md"
    for folder in ("docs", "docs/guides", "docs/reference"):
        yield from sorted((REPOSITORY / folder).glob("*.md"))


# A heading, an item, a row or a quotation begins a paragraph, and a cell of a row is one.
PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*#|>]|\d+\.) )|\s\|\s")
STOPPED = re.compile(r"(?<=[.!?])\s+|(?<=[.!?:]\*\*)\s+|(?<=:)\s+(?=[A-Z`\[{])")


def prose_sentences(text: str) -> Iterator[str]:
    """Yield the sentences; code, a list of code, and the text of a link count as a word."""
    text = re.sub(r"``[^`]*``|`[^`]*`|\[[^]]*\]\([^)]*\)", "Code", text)
    text = re.sub(r"Code(?:,\s+Code)+", "Code", text)
    for paragraph in PARAGRAPH.split(text):
        yield from STOPPED.split(" ".join(paragraph.split()))


def page_sentences(page: Path) -> Iterator[str]:
    """Yield a page's sentences, without its blocks of code."""
    text = page.read_text()
    return prose_sentences(
        re.sub(r"```.*?```|^    .*$", "\n\n", text, flags=re.DOTALL | re.MULTILINE)
    )


def is_long(sentence: str) -> bool:
    return len(re.findall(r"\S*\w\S*", sentence)) > 22


def test_pages_have_short_sentences() -> None:
    """Readers went back in longer ones: a list or a second sentence has the rest."""
    listed = [*pages(), *sorted((REPOSITORY / ".github").glob("*.md"))]
    found = [sentence for page in listed for sentence in page_sentences(page)]
    assert len(found) > 1800
    assert list(filter(is_long, found)) == []


@pytest.mark.parametrize(
    ("texts", "least"),
    [
        (docstring_texts, 1800),
        (stub_texts, 3),
        (schema_texts, 750),
        (help_texts, 370),
        (error_texts, 440),
    ],
)
def test_python_help_and_json_have_short_sentences(texts: Callable[[], Texts], least: int) -> None:
    found = [(where, sentence) for where, text in texts() for sentence in prose_sentences(text)]
    assert len(found) > least
    assert sorted({row for row in found if is_long(row[1])}) == []


def clumsy(text: str) -> list[str]:
    return [
        f"{text[max(0, found.start() - 40) : found.end() + 20]}: write {better}"
        for pattern, better in CLUMSY.items()
        for found in re.finditer(pattern, text)
    ]


def test_no_text_of_the_catalogue_has_a_clumsy_phrase() -> None:
    files = sorted(CATALOGUE.rglob("*.toml"))
    assert len(files) > 20
    texts = [text for file in files for text in own_texts(tomllib.loads(file.read_text()))]
    assert not [found for text in texts for found in clumsy(text)]


def test_no_sentence_of_a_rule_or_topic_is_long() -> None:
    """Readers took longer sentences apart: a condition with several cases has a sentence each."""
    files = sorted((CATALOGUE / "prose").glob("*.toml"))
    texts = [text for file in files for text in own_texts(tomllib.loads(file.read_text()))]
    found = [sentence for text in texts for sentence in SENTENCE.split(text)]
    assert len(found) > 1500
    assert [sentence for sentence in found if len(sentence.split()) > 22] == []


def advice(value: object, key: str = "") -> Iterator[str]:
    """Yield the texts that tell a reader what to do."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from advice(inner, "says" if key == "says" else name)
    elif isinstance(value, list):
        for inner in value:
            yield from advice(inner, key)
    elif isinstance(value, str) and key in {"fix", "remedy", "says"}:
        yield " ".join(value.split())


def test_no_advice_chains_its_alternatives_by_semicolons() -> None:
    texts = [
        t for file in CATALOGUE.rglob("*.toml") for t in advice(tomllib.loads(file.read_text()))
    ]
    assert len(texts) > 800
    aside = re.compile(r"\([^()]*\)")
    found = [text for text in texts if CHAINED.search(aside.sub("", aside.sub("", text)))]
    assert not found


def test_fixes_have_each_command_as_the_sentences_of_clients_have_it() -> None:
    table = tomllib.loads((CATALOGUE / "messages.toml").read_text())["message"]
    rows = [row for row in table if not row["name"].startswith("apt-")]
    assert len(rows) > 500
    found = [
        f"{row['name']}: {match[0]}: write {better}"
        for row in rows
        for pattern, better in SPELLED.items()
        for match in re.finditer(pattern, row["fix"])
    ]
    assert found == []


def test_no_aside_of_an_advice_lists_four_cases() -> None:
    """Readers take a list in parentheses apart twice: its parts are sentences."""
    texts = [
        t for file in CATALOGUE.rglob("*.toml") for t in advice(tomllib.loads(file.read_text()))
    ]
    asides = [aside for text in texts for aside in re.findall(r"\([^()]*\)", text)]
    assert len(asides) > 800
    assert not [aside for aside in asides if aside.count("; ") > 2]


def test_no_page_has_a_clumsy_phrase() -> None:
    code = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
    texts = [code.sub("", page.read_text()) for page in pages()]
    assert not [found for text in texts for found in clumsy(" ".join(text.split()))]


def test_most_targets_can_be_asked() -> None:
    assert len(targets()) > 25


@every("form", FINDING_FORMATS)
def test_no_format_doubles_the_stop_of_what_a_rule_says(form: str) -> None:
    """Prose ends with a stop, a sentence of a finding with none, and users write either."""
    findings: list[Finding] = []
    for rule in rules():
        made = finding(
            Verdict.FAIL,
            f"{rule.title} of CUDA 12.",
            rule=rule.id,
            remedy=rule.remedy.removesuffix("."),
        )
        findings += [made, replace(made, message=rule.title, remedy=rule.remedy)]
    record = result(Verdict.FAIL, ONE, H100, findings=tuple(findings))
    lines = sentences_in(form, written(form, REPORT, [ONE, record], Options(why=True, notes=True)))
    assert not [(line[:300], wrong(line)) for line in lines if wrong(line)]


@cache
def checked() -> tuple[Result, ...]:
    names = [
        "fatbin/nvfatbin-13.5-mixed-makers.fatbin",
        "fatbin/nvcc-13.5-tile.fatbin",
        "fatbin/nvcc-13.2-none.fatbin",
        "objects/libsaxpy.so",
        "objects/nvcc-13.5-rdc-axpy.o",
    ]
    # As long wherever the repository lies: formats cut long texts.
    paths = [os.path.relpath(FOLDER / name) for name in names]
    records = ltocompat.check(paths, targets())
    return tuple(record for record in records if isinstance(record, Result))


@pytest.mark.parametrize("form", FINDING_FORMATS)
def test_every_format_writes_words_on_every_target(form: str) -> None:
    text = written(form, REPORT, [*targets(), *checked()], Options(why=True, notes=True))
    lines = sentences_in(form, text)
    assert not [(line[:300], wrong(line)) for line in lines if wrong(line)]


def assert_is_sentence(found: Finding, subject: str) -> None:
    headline = headline_of(found)
    for text in (found.message, headline, found.remedy):
        assert not wrong(text), text
        assert not text.endswith((":", ",", ";", ".")), text
    assert headline.removesuffix(":") != subject
    assert len(headline.split()) > 2


EVERY: list[Constraint] = [
    *(constraint for constraint, _ in FLOORS),
    COMPAT_GPU,
    COMPAT_NEWER,
    COMPAT_PAIR,
    *(FixedVerdict(Verdict.UNKNOWN, component) for component in Component),
    *map(unknown_version, Component),
]
linkers = st.sampled_from(nvjitlink_minors())


def exact(number: int) -> Target:
    """A target with one version of each part."""
    found = [each for target in targets() for row in combinations(target) for each in row]
    return found[number % len(found)]


@given(
    st.sampled_from(EVERY),
    st.integers(0, 999),
    st.integers(0, 3),
    linkers,
    st.sampled_from(["short", "it fails " + "again and again, " * 20 + "and ends (error 222)"]),
)
def test_no_constraint_speaks_in_code(
    constraint: Constraint, number: int, gpu: int, linker: Release, consequence: str
) -> None:
    target = exact(number)
    subject = "a subject of some words"
    requirement = Requirement(
        constraint, subject, consequence, "mend it", "its bytes", rule="PTX-01"
    )
    ruling = evaluate(requirement, values_of(target, target.gpus[gpu], linker))
    if ruling.message:
        assert_is_sentence(Engine().finding_of(ruling), subject)


@given(stored_images(), st.integers(0, 999), st.integers(0, 3), linkers)
def test_no_requirement_of_an_image_speaks_in_code(
    drawn: ImageSignature, number: int, gpu: int, linker: Release
) -> None:
    target = exact(number)
    where = target.gpus[gpu]
    signature = ModuleSignature((drawn,), registered=None)
    for route in Route:
        subject = Subject(signature, route, where, (drawn,))
        for requirement in requirements_of(subject):
            ruling = evaluate(requirement, values_of(target, where, linker))
            if ruling.message:
                assert_is_sentence(Engine().finding_of(ruling), requirement.subject)


def test_what_an_open_version_leaves_open_begins_with_what_is_needed() -> None:
    ltoir = FOLDER / "ltoir" / "nvrtc-12.4-lto_80.ltoir"
    (result,) = ltocompat.check(ltoir, "nvjitlink=12.1|12.6,gpu=h100")
    (found,) = [each for each in result.findings if each.rule == "LTO-01"]
    assert found.message.startswith("LTO-IR made by 12.4 needs nvJitLink >= 12.4; the target's ")


def test_a_pair_of_compat_and_driver_reads_as_words() -> None:
    cubin = FOLDER / "cubin" / "nvrtc-12.4-sm_90.cubin"
    (found,) = ltocompat.check(cubin, "driver=525.60.13|550.54.14,compat=12.4,gpu=h100")
    (shadows,) = [each for each in found.findings if each.rule == "CMP-03"]
    assert shadows.verdict is Verdict.UNKNOWN
    assert shadows.message.endswith(
        "; the target's driver 525.60.13|550.54.14 can be 525.60.13 or 550.54.14, and 550.54.14 "
        "would fail: give the full version"
    )
    assert str(CompatUse(Release(12, 4), None, H100, "linux")) == (
        "cuda-compat 12.4 over an unknown driver"
    )

"""Rules see of other images, and of linkers, no more than the values that stand for them."""

from __future__ import annotations

from generated_artifacts import MODULES
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ltocompat.facts import nvjitlink_minors
from ltocompat.facts.gpus import find_gpu, sms
from ltocompat.model.arch import Release
from ltocompat.model.artifact_summary import ModuleGroup
from ltocompat.model.verdict import Route
from ltocompat.rules.catalogue import requirements_of
from ltocompat.rules.link_selection import pick_for_linker, pick_for_linkers_alike
from ltocompat.rules.linker_traits import traits_of
from ltocompat.rules.rule import Subject, beside_picked
from ltocompat.rules.selection import pick_for_driver

NUMBERS = st.sampled_from([row.number for row in sms()])
LINKERS = st.sampled_from(nvjitlink_minors())


@given(MODULES, NUMBERS, LINKERS)
@settings(max_examples=300)
def test_a_module_sees_all_that_matters_of_a_linker(
    group: ModuleGroup, number: int, linker: Release
) -> None:
    gpu, whole = find_gpu(f"sm_{number}"), group.signature
    traits = traits_of(linker)
    seen = traits.seen_by(whole)
    linked = pick_for_linkers_alike(whole, gpu.arch, traits)
    assert pick_for_linkers_alike(whole, gpu.arch, seen) == linked
    subject = Subject(whole, Route.LINK, gpu, linked.images, linked.missed, traits)
    assert requirements_of(replace(subject, linker=seen)) == requirements_of(subject)


@given(MODULES, NUMBERS, LINKERS)
@settings(max_examples=300)
def test_what_is_not_picked_changes_no_requirement(
    group: ModuleGroup, number: int, linker: Release
) -> None:
    gpu, whole = find_gpu(f"sm_{number}"), group.signature
    loaded, linked = pick_for_driver(whole, number), pick_for_linker(whole, gpu.arch, linker)
    for subject in (
        Subject(whole, Route.LOAD, gpu, loaded.images, loaded.missed),
        Subject(whole, Route.LINK, gpu, linked.images, None, traits_of(linker)),
    ):
        seen = replace(subject, signature=beside_picked(whole, subject.picked))
        assert requirements_of(seen) == requirements_of(subject)

"""The rules of the catalogue, one a file; a tuple lists them."""

from __future__ import annotations

import functools

from ltocompat.requirements import (
    bytes_unread,
    compat_not_newer_than_driver,
    compat_off_linux,
    compat_on_unsupported_gpu,
    compat_pair_not_provided,
    compressed_needs_linker,
    concatenated_needs_driver,
    driver_below_major_floor,
    gpu_dropped_by_driver,
    gpu_newer_than_driver,
    image_contradicts_itself,
    linked_code_on_older_driver,
    lto_option_missing,
    lto_option_without_ltoir,
    ltoir_above_target,
    ltoir_before_nvjitlink,
    ltoir_loaded_directly,
    ltoir_newer_than_linker,
    ltoir_of_another_major,
    ltoir_options_differ,
    ltoir_with_debug,
    no_ptx_for_future_gpus,
    nothing_for_gpu,
    partial_lto,
    ptx_above_gpu,
    ptx_for_a_family,
    ptx_for_one_gpu,
    ptx_newer_than_driver,
    ptx_newer_than_linker,
    ptx_only,
    relocatable_sass_loaded,
    sass_across_tegra,
    sass_for_a_family,
    sass_for_one_gpu,
    sass_newer_than_driver_minor,
    sass_newer_than_linker,
    sass_of_13_below_580,
    sass_of_another_gpu,
    sm_101_is_sm_110,
    suffix_entry_for_another_target,
    suffix_ltoir_for_another_target,
    target_unknown_to_linker,
    trial_disagrees,
    trial_refused,
    zstd_needs_driver,
)
from ltocompat.requirements.left_out import LEFT_OUT
from ltocompat.requirements.rule import Requirement, Rule, Subject

__all__ = ["LEFT_OUT", "RULES", "requirements_of", "rule"]

RULES: tuple[Rule, ...] = (
    driver_below_major_floor.RULE,
    sass_newer_than_driver_minor.RULE,
    gpu_newer_than_driver.RULE,
    gpu_dropped_by_driver.RULE,
    ptx_newer_than_driver.RULE,
    ptx_newer_than_linker.RULE,
    ptx_above_gpu.RULE,
    ptx_for_one_gpu.RULE,
    ptx_for_a_family.RULE,
    ptx_only.RULE,
    no_ptx_for_future_gpus.RULE,
    sass_of_another_gpu.RULE,
    sass_across_tegra.RULE,
    sass_for_one_gpu.RULE,
    sass_for_a_family.RULE,
    sm_101_is_sm_110.RULE,
    nothing_for_gpu.RULE,
    sass_of_13_below_580.RULE,
    relocatable_sass_loaded.RULE,
    ltoir_newer_than_linker.RULE,
    ltoir_of_another_major.RULE,
    ltoir_above_target.RULE,
    suffix_ltoir_for_another_target.RULE,
    ltoir_loaded_directly.RULE,
    lto_option_missing.RULE,
    lto_option_without_ltoir.RULE,
    partial_lto.RULE,
    ltoir_before_nvjitlink.RULE,
    linked_code_on_older_driver.RULE,
    ltoir_with_debug.RULE,
    ltoir_options_differ.RULE,
    suffix_entry_for_another_target.RULE,
    target_unknown_to_linker.RULE,
    zstd_needs_driver.RULE,
    compressed_needs_linker.RULE,
    concatenated_needs_driver.RULE,
    compat_pair_not_provided.RULE,
    compat_on_unsupported_gpu.RULE,
    compat_not_newer_than_driver.RULE,
    compat_off_linux.RULE,
    sass_newer_than_linker.RULE,
    image_contradicts_itself.RULE,
    bytes_unread.RULE,
    trial_refused.RULE,
    trial_disagrees.RULE,
)
"""All rules, in the order of the catalogue."""


@functools.cache
def rule(rule_id: str) -> Rule:
    """The rule of this ID."""
    return next(one for one in RULES if one.id == rule_id)


@functools.lru_cache(maxsize=4096)  # the same for every target that has the GPU
def requirements_of(subject: Subject) -> tuple[Requirement, ...]:
    """What all rules find in a module on its way, each once."""
    found = (one for rule_ in RULES for one in rule_.requirements(subject))
    return tuple(dict.fromkeys(found))

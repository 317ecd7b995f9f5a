"""The wheel holds a library, so its tag names this platform."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Hook(BuildHookInterface):  # type: ignore[type-arg]
    """Give the wheel the tag of this platform."""

    def initialize(self, _version: str, build_data: dict[str, Any]) -> None:
        """See ``BuildHookInterface``."""
        build_data |= {"infer_tag": True, "pure_python": False}

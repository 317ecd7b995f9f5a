"""A base of context managers that close something."""

from __future__ import annotations

from typing import Self


class Closing:
    """A context manager that always closes itself at the end."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End what is still running or open."""
        raise NotImplementedError

"""Replaces attributes and puts them back exactly: an attribute that was inherited is deleted again, not copied."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

_INHERITED = object()


class Patches:
    """A set of replaced attributes, restored together in reverse order."""

    def __init__(self) -> None:
        self._undo: list[tuple[Any, str, Any, Any]] = []

    def __bool__(self) -> bool:
        return bool(self._undo)

    def replace(self, owner: Any, name: str, replacement: Any) -> None:
        self._undo.append((owner, name, vars(owner).get(name, _INHERITED), replacement))
        setattr(owner, name, replacement)

    @contextlib.contextmanager
    def suspended(self) -> Iterator[None]:
        """The attributes as they were, for the length of the context."""
        replaced = [(owner, name, ours) for owner, name, _, ours in self._undo]
        self.restore()
        try:
            yield
        finally:
            for owner, name, ours in replaced:
                self.replace(owner, name, ours)

    def restore(self) -> None:
        """Undo every replacement that nobody else has replaced since."""
        while self._undo:
            owner, name, before, ours = self._undo.pop()
            if vars(owner).get(name) is not ours:
                continue
            if before is _INHERITED:
                delattr(owner, name)
            else:
                setattr(owner, name, before)

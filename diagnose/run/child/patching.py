"""Replaces attributes and puts them back exactly: an attribute that was
inherited is deleted again, not copied.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from .places import OWN_FOLDER, library_path

_INHERITED = object()
_NAMES_IN_USE: dict[
    str, str
] = {}  # kept for ever: torch's profiler reads them long after the replacement is gone


class Patches:
    """A set of replaced attributes, restored together in reverse order."""

    def __init__(self) -> None:
        self._undo: list[tuple[Any, str, Any, Any]] = []

    def __bool__(self) -> bool:
        return bool(self._undo)

    def replace(self, owner: Any, name: str, replacement: Any) -> None:
        _name_after(replacement, getattr(owner, name))
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


def _name_after(replacement: Any, original: Any) -> None:
    """Let a profiler and a traceback show what the replacement stands for."""
    if isinstance(replacement, FunctionType):
        name = sys.intern(callee_name(original))
        replacement.__code__ = replacement.__code__.replace(co_name=_NAMES_IN_USE.setdefault(name, name))


def callee_name(function: Any) -> str:
    """As in detail.calls.json: `torch/serialization.py: save`, or torch's text for a C function."""
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None)
    if code is None:
        owner = getattr(function, "__objclass__", None)
        return (
            f"<built-in method {function.__name__} of {owner.__name__.removesuffix('Base')} object>"
            if owner
            else repr(function)
        )
    return (
        code.co_name
        if code.co_filename.startswith(OWN_FOLDER)
        else f"{library_path(code.co_filename)}: {code.co_name}"
    )

"""The module that `python -m` would run, looked up without running any code of its packages."""

from __future__ import annotations

import contextlib
import pkgutil
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from diagnose.errors import UsageError

# a module, or the folders of a package; a package with __init__.py is both
_Found = tuple[ModuleSpec | None, list[str]]


def folder_of_module(name: str, cwd: str) -> Path:
    """The folder that holds the module's code, as it is found from `cwd`.

    Raises UsageError if `python -m` could not run it.
    """
    spec, folders = _found(name, cwd)
    if folders:
        spec, _ = _found_in(f"{name}.__main__", folders)
        if spec is None:
            saw = ", ".join(folders)
            raise UsageError(
                f"{name} is a package without __main__.py.",
                saw=saw,
                do="Name the module in it that is to run.",
            )
    return (
        Path(spec.origin).resolve().parent
        if spec is not None and spec.has_location and spec.origin
        else Path(cwd)
    )


def _found(name: str, cwd: str) -> _Found:
    """The working directory comes first, unless Python is told to leave it out."""
    folders = sys.path if getattr(sys.flags, "safe_path", False) else list(dict.fromkeys([cwd, *sys.path]))
    spec = None
    parts = name.split(".")
    for depth, part in enumerate(parts, 1):
        qualified = ".".join(parts[:depth])
        spec, folders = _found_in(qualified, folders) if part else (None, [])
        if spec is None and not folders:
            saw = f"{qualified!r} not found from {cwd}"
            raise UsageError(
                f"There is no module {name}.", saw=saw, do="Check the name and the working directory."
            )
    return spec, folders


def _found_in(name: str, folders: Sequence[str]) -> _Found:
    """As Python's own `PathFinder` does it, which for a namespace package needs its parent imported.

    Then those for editable installs.
    """
    portions: list[str] = []
    for folder in folders:
        finder = pkgutil.get_importer(folder)
        spec = finder.find_spec(name) if finder is not None else None
        if spec is not None and spec.loader is not None:
            return spec, list(spec.submodule_search_locations or [])
        portions += list(spec.submodule_search_locations or []) if spec is not None else []
    return (None, portions) if portions else _found_elsewhere(name, folders)


def _found_elsewhere(name: str, folders: Sequence[str]) -> _Found:
    """By the finders that installed packages have added to Python."""
    for finder in sys.meta_path:
        with contextlib.suppress(Exception):
            spec = None if finder is PathFinder else finder.find_spec(name, folders if "." in name else None)
            if spec is not None:
                return spec, list(spec.submodule_search_locations or [])
    return None, []

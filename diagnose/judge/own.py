"""The user's own rules: a folder named by ``--rules``, else by
``[tool.diagnose] rules`` in pyproject.toml.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from diagnose.errors import DiagnoseError, UsageError

PROJECT = "pyproject.toml"
_named: Path | None = None


def use_rules(folder: Path | None) -> None:
    """From now on the rules of this folder count as well in this process; of None: those of the project.

    Raises UsageError if there is no such folder.
    """
    global _named
    if folder is not None and not folder.is_dir():
        raise UsageError(f"there is no folder {folder}", do="--rules names a folder of rules, two files each")
    _named = folder


def own_folders() -> tuple[Path, ...]:
    """The folder of the user's own rules, if there is one.

    Raises DiagnoseError for a pyproject.toml that cannot be read or names no folder.
    """
    folder = _named or _of_project(Path.cwd())
    return () if folder is None else (folder,)


def _of_project(start: Path) -> Path | None:
    """What the nearest pyproject.toml from here upwards says, relative to where it lies."""
    project = next(
        (parent / PROJECT for parent in (start, *start.parents) if (parent / PROJECT).is_file()), None
    )
    if project is None:
        return None
    try:
        named = tomllib.loads(project.read_text(encoding="utf-8"))["tool"]["diagnose"]["rules"]
    except (OSError, ValueError, KeyError, TypeError):  # damage is for the tools to tell that own the file
        return None
    folder = project.parent / str(named)
    if not folder.is_dir():
        raise DiagnoseError(
            f"{project} names a folder of rules that is not there", saw=f"rules = {str(named)!r}"
        )
    return folder

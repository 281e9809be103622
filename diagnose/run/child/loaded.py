"""Which shared libraries and source files the process has; no torch."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection

from .places import LIBRARY_FOLDERS, OWN_FOLDER


def is_loaded(library: str) -> bool:
    """Whether it has one of that name."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            return re.search(rf"/lib{library}[-._]", maps.read()) is not None
    except OSError:
        return False


def imported_from(folders: Collection[str]) -> list[str]:
    """The files of imported modules that lie below one of the folders, links followed. Libraries installed
    there, as in a virtual environment, and ourselves do not count.
    """
    if not folders:
        return []
    below = tuple(os.path.realpath(folder) + os.sep for folder in folders)
    named = {str(getattr(module, "__file__", None) or "") for module in list(sys.modules.values())}
    files = {os.path.realpath(file) for file in named if file}
    return sorted(
        file
        for file in files
        if file.startswith(below)
        and not file.startswith(OWN_FOLDER)
        and not any(library in file for library in LIBRARY_FOLDERS)
    )

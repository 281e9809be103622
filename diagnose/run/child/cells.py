"""Code that a person typed into a notebook or a prompt: it is in no file, so
its text is kept with the recording.
"""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Iterable
from typing import Any

# ipykernel's (which may exist on disk while it debugs), IPython's and, from Python
# 3.13 on, the interactive interpreter's
_CELL = re.compile(r"/ipykernel_\d+/[^/]+\.py$|^<(?:ipython|python)-input-(?P<number>\d+)")


def is_cell(filename: str) -> bool:
    """Whether code of this file name is a cell."""
    return _CELL.search(filename) is not None or filename in _execution_counts()


def cell_sources(files: Iterable[str]) -> dict[str, dict[str, str]]:
    """Of each cell its title (`cell 3`) and its text as it was run, as far as that is still known."""
    counts = _execution_counts()
    sources: dict[str, dict[str, str]] = {}
    unnumbered = 0
    for file in files:
        number = counts.get(file) or _number_in(file)
        unnumbered += number is None
        title = f"unnumbered cell {unnumbered}" if number is None else f"cell {number}"
        sources[file] = {"title": title, "text": "".join(linecache.getlines(file))}
    return sources


def _execution_counts() -> dict[str, int]:
    """IPython's own table from a cell's file name to the number in its brackets; empty elsewhere."""
    try:
        shell: Any = sys.modules["IPython"].get_ipython()
        return dict(shell.compile._filename_map)
    except (KeyError, AttributeError, TypeError):
        return {}


def _number_in(file: str) -> str | None:
    found = _CELL.search(file)
    return found["number"] if found else None

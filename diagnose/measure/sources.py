"""The user's files and the cells of a notebook: how their names are shown, and the text of a line."""

from __future__ import annotations

import ast
import linecache
import os
from functools import lru_cache
from pathlib import Path

from diagnose.measure.recording import Recording


@lru_cache(maxsize=64)
def _loops_in(text: str) -> tuple[tuple[int, int], ...]:
    """Kept, for each finding asks."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    return tuple(
        (node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.For | ast.AsyncFor | ast.While)
    )


class Sources:
    """Paths are shown relative to the script's working directory where they lie below
    it, cells by their titles (`cell 3`).
    """

    def __init__(self, recording: Recording) -> None:
        self._cwd = str(recording.run.get("cwd", ""))
        self._cells: dict[str, dict[str, str]] = recording.facts.get("sources") or {}
        folder = recording.source if recording.source.is_dir() else recording.source.parent
        # A run folder that was moved together with its script still finds it: beside the folder or above it.
        self._roots = [Path(self._cwd), folder, folder.parent, folder.parent.parent]

    def shown(self, file: str) -> str:
        if file in self._cells:
            return self._cells[file]["title"]
        if self._cwd and file.startswith(self._cwd.rstrip(os.sep) + os.sep):
            return os.path.relpath(file, self._cwd)
        return file

    def path(self, file: str) -> Path | None:
        """Where the file is now; None if it is not at hand, or a cell."""
        if file in self._cells:
            return None
        return next((path for root in self._roots if (path := root / self.shown(file)).is_file()), None)

    def lines(self, file: str) -> list[str]:
        """The text of all lines; empty if the file is not at hand."""
        if file in self._cells:
            return self._cells[file]["text"].splitlines()
        path = self.path(file)
        return linecache.getlines(str(path)) if path else []

    def loops(self, file: str) -> list[tuple[int, int]]:
        """First and last line of each `for` and `while`; none if the file is not at hand, or not Python."""
        return list(_loops_in("\n".join(line.rstrip("\n") for line in self.lines(file))))

    def line(self, file: str, number: int) -> str:
        """The line's text without indentation; empty if the file is not at hand."""
        if file in self._cells:
            lines = self._cells[file]["text"].splitlines()
            return lines[number - 1].strip() if 0 < number <= len(lines) else ""
        path = self.path(file)
        return linecache.getline(str(path), number).strip() if path else ""

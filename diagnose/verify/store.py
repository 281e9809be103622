"""The runs of a verification on disk, a line each as it ends, so that an interruption loses one run at most."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

from diagnose.verify.timing import Trial


class Store:
    """`key` names a comparison: what is run, with which fixes, for how many steps. Runs of another key are kept and not used."""

    def __init__(self, folder: Path, *, fresh: bool = False) -> None:
        """Raises OSError if the folder cannot be made."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._path = folder / "runs.jsonl"
        if fresh:
            self._path.unlink(missing_ok=True)
        self._runs: dict[str, list[Trial]] = defaultdict(list)
        for line in self._path.read_text(encoding="utf-8").splitlines() if self._path.exists() else []:
            try:
                run = json.loads(line)
                self._runs[run["key"]].append(run)
            except (ValueError, KeyError, TypeError):  # cut off when the machine went down
                continue

    def runs(self, key: str) -> list[Trial]:
        """In the order they were made."""
        return self._runs[key]

    def add(self, key: str, trial: Trial) -> None:
        """Raises OSError."""
        run: dict[str, Any] = {"key": key, **trial}
        self._runs[key].append(run)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(run) + "\n")
            file.flush()
            os.fsync(file.fileno())

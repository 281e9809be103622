"""The runs of a verification on disk, a line each as it ends, so that an
interruption loses one run at most.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from diagnose.errors import DiagnoseError
from diagnose.verify.timing import Trial

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """For as long as it lasts no other verification runs in the folder: they would take each other's runs
    away. Raises DiagnoseError if one does, OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        if not _locked(lock):
            raise DiagnoseError(
                f"{folder.parent} is being verified already.", do="wait for that to end, or end it"
            )
        yield


def _locked(file: TextIO) -> bool:
    """Also where the file's system has no locks."""
    with contextlib.suppress(OSError):
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


class Store:
    """`key` names a comparison: what is run, with which fixes, for how many steps;
    `place` a run in it (`A0`, `B0`, `A1` …).
    """

    def __init__(self, folder: Path, *, fresh: bool = False) -> None:
        """Raises OSError if the folder cannot be made."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.added = 0  # runs of this verification
        self._path = folder / "runs.jsonl"
        if fresh:
            self._path.unlink(missing_ok=True)
        self._runs: dict[str, dict[str, Trial]] = defaultdict(dict)
        written = self._path.read_text(encoding="utf-8") if self._path.exists() else ""
        # a line was cut off when the machine went down
        self._lead = "\n" if written and not written.endswith("\n") else ""
        for line in written.splitlines():
            try:
                run = json.loads(line)
                self._runs[run["key"]][run["place"]] = run
            except (ValueError, KeyError, TypeError):
                continue

    def runs(self, key: str) -> Mapping[str, Trial]:
        """By their place in the comparison; of several in one place the last."""
        return self._runs[key]

    def add(self, key: str, place: str, trial: Trial) -> None:
        """Raises OSError."""
        self.added += 1
        self.note(key, place, trial)

    def note(self, key: str, place: str, told: dict[str, Any]) -> None:
        """Something else that later verifications are to know, kept like a run. Raises OSError."""
        run: dict[str, Any] = {"key": key, "place": place, **told}
        self._runs[key][place] = run
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{self._lead}{json.dumps(run)}\n")
            file.flush()
            os.fsync(file.fileno())
        self._lead = ""

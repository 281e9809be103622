"""The runs below a log folder.

A log folder may be large, slow or on the other side of a network: it is walked in a thread of its
own, four folders deep, links to folders included, as TensorBoard does, and up to a number of entries.
Who asks gets what is known by then.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from diagnose.document.model import Document
from diagnose.document.queries import step_ms
from diagnose.document.stored import REPORT, NotOurs
from diagnose.document.text import clean, ms
from diagnose.errors import DiagnoseError
from diagnose.report.tab.folder import PICTURE, document_in, in_one_line, started_at, trace_in

DEEPEST = 4  # folders below the log folder: logs/project/diagnosis/<time> is one more than people have
MOST_ENTRIES = 200_000
MOST_RUNS = 1_000
LATEST = 2.0**33  # the year 2242, seconds since 1970; a file may claim any time
FRESH_S = 2.0  # so long no second walk is begun
_SIGNS = {REPORT, "report.md"}  # what makes a folder one of ours; report.json alone is anybody's

_TOLD = ("target", "headline", "badge", "step", "device", "problem")  # of a row; empty where it is not known

Row = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """A folder with a report: `key` names it in requests, `row` says in the list what it is."""

    key: str
    folder: Path
    stamp: tuple[int, ...]
    row: Row


@dataclass(frozen=True)
class Listing:
    runs: dict[str, Run] = field(default_factory=dict)
    searching: bool = False
    cut: bool = False  # whether the walk ended at one of its bounds


class Runs:
    """What is known of the runs below a log folder."""

    def __init__(self, logdir: str) -> None:
        self._logdir = Path(logdir).expanduser() if logdir else None
        self._lock = threading.Lock()
        self._listing = Listing()
        self._rested = threading.Event()
        self._rested.set()
        self._walked_at = -FRESH_S

    def known(self) -> Listing:
        """What is known without looking."""
        return self._listing

    def look(self, patience_s: float) -> Listing:
        """What is known after looking again for at most so long; the search goes on by itself."""
        with self._lock:
            if self._logdir and self._rested.is_set() and time.monotonic() - self._walked_at >= FRESH_S:
                self._rested.clear()
                threading.Thread(target=self._walk, name="diagnose-runs", daemon=True).start()
        searching = not self._rested.wait(patience_s)
        return replace(self._listing, searching=searching)

    def _walk(self) -> None:
        try:
            self._listing = self._looked()
        finally:
            self._walked_at = time.monotonic()
            self._rested.set()

    def _looked(self) -> Listing:
        """All runs there are now. Until that is known, what is found is added to what was known."""
        assert self._logdir is not None
        before, found = self._listing.runs, {}
        walk = _Walk(self._logdir)
        for name, folder in walk.folders():
            # text that any request can carry, whatever bytes a name is of
            key = quote(os.fsencode(name), safe="/ ")
            run = _run(key, name, folder, before.get(key))
            if run is not None:
                found[key] = run
                self._listing = Listing({**before, **found})
            if len(found) >= MOST_RUNS:
                return Listing(found, cut=True)
        return Listing(found, cut=walk.cut)


class _Walk:
    def __init__(self, logdir: Path) -> None:
        self._logdir = logdir
        self._left = MOST_ENTRIES
        self._seen: set[tuple[int, int]] = set()

    @property
    def cut(self) -> bool:
        return self._left <= 0

    def folders(self) -> Iterator[tuple[str, Path]]:
        """The folders with a report and how they are called, the nearest first.

        What cannot be read is passed over.
        """
        top = self._logdir.resolve()
        if (
            top.name == "tb" and (top.parent / REPORT).exists()
        ):  # TensorBoard was started on the folder we write for it
            yield top.parent.name, top.parent
        waiting = deque([(self._logdir, 0)])
        while waiting and not self.cut:
            folder, depth = waiting.popleft()
            names, below = self._inside(folder)
            if names >= _SIGNS:
                yield os.path.relpath(folder, self._logdir) if depth else top.name, folder
            elif depth < DEEPEST:
                # names are times: newest first
                waiting.extend((folder / name, depth + 1) for name in sorted(below, reverse=True))

    def _inside(self, folder: Path) -> tuple[set[str], list[str]]:
        """The names in a folder, and those of the folders among them; nothing
        of one that was seen by another way.
        """
        names, below = set(), []
        try:
            status = folder.stat()
            if (status.st_dev, status.st_ino) in self._seen:
                return set(), []
            self._seen.add((status.st_dev, status.st_ino))
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._left -= 1
                    if self.cut:
                        break
                    names.add(entry.name)
                    if _is_folder(entry):
                        below.append(entry.name)
        except OSError:
            pass
        return names, below


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return not entry.name.startswith(".") and entry.is_dir()
    except OSError:  # a link in a circle, or to where we may not look
        return False


def _run(key: str, name: str, folder: Path, before: Run | None) -> Run | None:
    """The run in a folder, read only if it changed; None if the report is not ours or gone."""
    try:
        status = (folder / REPORT).stat()
    except OSError:
        return None
    # written after the report
    holds = {"trace": trace_in(folder) is not None, "picture": (folder / PICTURE).is_file()}
    stamp = (status.st_mtime_ns, status.st_size, *holds.values())
    if before is not None and before.stamp == stamp and before.folder == folder:
        return before
    when = min(max(started_at(folder) or status.st_mtime, 0.0), LATEST)
    row: Row = {
        "run": key,
        "name": clean(name, 200),
        "when": when,
        "written": status.st_mtime,
        **holds,
        **dict.fromkeys(_TOLD, ""),
    }
    try:
        row |= _summary(document_in(folder))
    except NotOurs:
        return None
    except DiagnoseError as error:
        row["problem"] = in_one_line(error)
    return Run(key, folder, stamp, row)


def _summary(document: Document) -> Row:
    run = document.run
    return {
        "target": clean(run.target, 100),
        "headline": clean(document.headline, 400),
        "badge": clean(document.badge, 40),
        "step": ms(step_ms(document)),
        "device": clean(run.device, 20),
    }

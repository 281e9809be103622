"""The scripts beside it, recorded and plain, and what came of it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from diagnose.run.settings import RunOutcome

SCRIPTS = Path(__file__).parent / "scripts"


@dataclass(frozen=True)
class Recorded:
    """One run: how it ended, what the script printed, and what is in its folder."""

    outcome: RunOutcome
    folder: Path
    stdout: str
    stderr: str

    def json(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    @property
    def steps(self) -> Any:
        return self.json("rank0/steps.json")

    @property
    def facts(self) -> Any:
        return self.json("rank0/facts.json")

    def steps_in(self, phase: str) -> int:
        """Whole steps of one phase; 0 if it was not reached."""
        counts = {found["name"]: len(found["tick_ns"]) - 1 for found in self.steps["phases"]}
        return counts.get(phase, 0) // self.steps["ticks_per_step"]


def processes_of(folder: Path) -> set[int]:
    """Processes of the runs below `folder`, by the mark in their environment."""
    found = set()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            environment = process.environ()
            mine = "DIAGNOSE_RUN" in environment and str(folder) in environment["DIAGNOSE_PLAN"]
            if mine and process.status() != psutil.STATUS_ZOMBIE:
                found.add(process.pid)
    return found


@contextlib.contextmanager
def captured_descriptors(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Everything written to stdout and stderr, by any process, goes to two files in `folder`."""
    files = folder / "stdout", folder / "stderr"
    before = [os.dup(number) for number in (1, 2)]
    for number, file in zip((1, 2), files, strict=True):
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(descriptor, number)
        os.close(descriptor)
    try:
        yield files
    finally:
        for number, descriptor in zip((1, 2), before, strict=True):
            os.dup2(descriptor, number)
            os.close(descriptor)


def run_plain(name: str, *args: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """The same script without us."""
    environment = {**os.environ, "KINETO_LOG_LEVEL": "99"}
    command = [sys.executable, str(SCRIPTS / f"{name}.py"), *args]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, **options)


def without_times(stderr: str) -> str:
    """torch's own log lines begin with time and process id."""
    return re.sub(r"^W\d+ [\d:.]+ \d+ ", "", stderr, flags=re.MULTILINE)

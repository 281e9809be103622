"""The newest runs below ./diagnosis: what a command is about that was given no run."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from diagnose.commands.outputs import RUNS, say
from diagnose.errors import UsageError


def newest_run(options: argparse.Namespace, missing: str, usage: str) -> Path:
    """The newest run; says which. Raises UsageError if there is none."""
    runs = newest_runs()
    if not runs:
        raise UsageError(
            f"{missing} is missing, and there is no run below ./{RUNS}",
            do=f"{usage}; `python -m diagnose YOUR_SCRIPT.py` records a run",
        )
    say(f"the newest run is {runs[0]}", options)
    return runs[0]


def newest_runs() -> list[Path]:
    """Newest first, without those that are still recorded."""
    started = {}
    for path in RUNS.glob("*/run.json"):
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            if record.get("ended") != "running":
                started[path.parent] = (str(record.get("started_at", "")), path.stat().st_mtime_ns)
        except (OSError, ValueError, AttributeError):
            continue  # no run.json of ours
    return sorted(started, key=started.__getitem__, reverse=True)

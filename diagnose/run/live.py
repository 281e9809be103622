"""A run that goes on, seen from outside: what it is at, and the wish for a recording."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import psutil

from diagnose.errors import UsageError
from diagnose.run.child.shared_state import SharedState


@dataclass(frozen=True)
class LiveRun:
    """``stage``: what it is at, in words; ``watching``: how it goes, empty before it is watched."""

    folder: Path
    target: str
    stage: str
    watching: str
    pids: tuple[int, ...]


def look_at(folder: Path) -> LiveRun | None:
    """None where nothing is recorded there any more. Raises UsageError if the folder holds no run."""
    try:
        record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        target, ended = str(record["target"]), record["ended"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{folder} is no run folder", do="name a folder that `diagnose` writes") from error
    if ended != "running" or not (folder / SharedState.FILE).is_file():
        return None
    page = SharedState(str(folder))
    recorded = [slot.pid for slot in page.slots()]
    pids = tuple(pid for pid in recorded if pid > 0 and psutil.pid_exists(pid))
    if recorded and not pids:
        return None
    return LiveRun(folder, target, page.stage.text, page.live, pids)


def ask_for_snap(run: LiveRun) -> None:
    """The run is recorded again at its next step. Raises UsageError where it is not watched."""
    if not run.watching:
        raise UsageError(
            f"{run.folder} is not watched now", saw=run.stage or "no step yet", do="start it with --watch"
        )
    SharedState(str(run.folder)).ask_for_snap()


def folder_of(pid: int) -> Path:
    """The run folder that a process, or one below it, records into. Raises UsageError."""
    try:
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            plan = one.environ().get("DIAGNOSE_PLAN")
            if plan:
                return Path(json.loads(plan)["folder"])
    except (psutil.Error, OSError, ValueError, KeyError, TypeError):
        pass
    raise UsageError(f"process {pid} is not recorded by diagnose", do="name the run's folder")

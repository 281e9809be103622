"""All processes of one run, and their end."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import psutil

MARKER = "DIAGNOSE_RUN"


def processes_of(run_id: str, root_pid: int | None = None) -> list[psutil.Process]:
    """What carries the run's mark in its environment, and the child with all its descendants.

    `root_pid`: the child's, until it has been waited for: then the number may be another process's.
    """
    found: dict[int, psutil.Process] = {}
    if root_pid is not None:
        with contextlib.suppress(psutil.Error):
            root = psutil.Process(root_pid)
            found[root_pid] = root
            for process in root.children(recursive=True):
                found[process.pid] = process
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(MARKER) == run_id:
                found[process.pid] = process
    return [process for process in found.values() if _alive(process)]


def end_all(processes: Iterable[psutil.Process], grace_s: float) -> None:
    """SIGTERM, and after `grace_s` seconds SIGKILL."""
    processes = list(processes)
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.terminate()
    _, alive = psutil.wait_procs(processes, timeout=grace_s)
    for process in alive:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(alive, timeout=grace_s)


def _alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False

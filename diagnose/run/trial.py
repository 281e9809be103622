"""One run of a comparison: a fresh process, the script as it is or with fixes injected, timed without a profiler."""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from diagnose.run.intervention_environment import environment_of
from diagnose.run.launch import Run, command, tidy
from diagnose.run.settings import Target

Spec = dict[str, Any]  # of an intervention: its name, arguments and sites


@dataclass(frozen=True)
class Job:
    """A script as it is to be run: what, where, by which Python, in which environment."""

    target: Target
    script_folder: str
    cwd: str
    python: str
    device: str = "auto"


@dataclass(frozen=True)
class TrialSettings:
    """`steps` of the whole trial, the first `untimed_steps` of which are not compared; a step is `ticks_per_step` ticks of the clock."""

    steps: int
    untimed_steps: int
    ticks_per_step: int
    seed_batches: bool = False
    timeout_s: float | None = None


def run_trial(job: Job, interventions: Sequence[Spec], settings: TrialSettings, folder: Path) -> dict[str, Any]:
    """Run it once, in `folder`, and return what trial.json says (docs/architecture.md) with its end, `gpu_state`, `others_busy_share`.

    Where the script ended before its first step, `tick_ns` is empty. What it printed is in `folder`/printed.txt.
    """
    folder = folder.resolve()  # the script runs in another folder, and may change it
    folder.mkdir(parents=True, exist_ok=True)
    trial = {key: value for key, value in asdict(settings).items() if key != "timeout_s"} | {"interventions": list(interventions)}
    plan = {"folder": str(folder), "script_folder": job.script_folder, "cwd": job.cwd, "trial": trial}
    run = Run(
        command(job.target, job.python),
        plan,
        _environment(job, interventions),
        timeout_s=settings.timeout_s,
        watches_gpu=job.device != "cpu",
        prints_to=folder / "printed.txt",
    )
    usage = Usage()
    outcome = run.to_its_end()
    tidy(folder)
    return _left_in(folder) | asdict(outcome) | {"gpu_state": run.gpu_state, "others_busy_share": usage.others_share()}


class Usage:
    """How busy other processes kept the machine, from here on."""

    def __init__(self) -> None:
        self._began, self._busy_s, self._own_s = time.monotonic(), _busy_s(), _own_s()

    def others_share(self) -> float:
        """Of the machine's processor time, 0–1. Our own run is what its processes used that have ended by now."""
        wall_s = max(time.monotonic() - self._began, 1e-3)
        others_s = (_busy_s() - self._busy_s) - (_own_s() - self._own_s)
        return min(1.0, max(0.0, others_s / (wall_s * (os.cpu_count() or 1))))


def _busy_s() -> float:
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0))


def _own_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _environment(job: Job, interventions: Sequence[Spec]) -> dict[str, str]:
    """Names in sets and dictionaries hash alike in all runs; the fixes' own variables come on top."""
    environment: dict[str, str | None] = {"PYTHONHASHSEED": "0", **os.environ}
    if job.device == "cpu":
        environment["CUDA_VISIBLE_DEVICES"] = ""
    environment |= environment_of(list(interventions), os.environ)
    return {name: value for name, value in environment.items() if value is not None}


def _left_in(folder: Path) -> dict[str, Any]:
    try:
        left: dict[str, Any] = json.loads((folder / "trial.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        left = {
            "tick_ns": [],
            "device_ms": None,
            "batch_hashes": [],
            "batch_size": None,
            "losses": None,
            "outputs": None,
            "interventions": [],
        }
    return left

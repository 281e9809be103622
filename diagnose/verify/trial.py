"""One run of a comparison: a fresh process (or job of several), the script as it is or with fixes
injected, timed without a profiler.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil

from diagnose.fixes.all import Spec, environment_of, for_child
from diagnose.run.job.results import left_in
from diagnose.run.job.torchrun import (
    LostRank,
    lost_rank,
    printed_by_ranks,
    started_by_torchrun,
    without_launcher,
)
from diagnose.run.launch import Run, command, tidy
from diagnose.run.settings import RunOutcome, Target


@dataclass(frozen=True)
class Job:
    """A script as it is to be run: what, where, by which Python, in which environment.

    `ranks`: how many of it torchrun is to start; 0: it is started without torchrun (and may
    start ranks itself). `environment`: of the recorded run, over ours (where it is not given torchrun
    chooses the number of threads). `foreign_folders`: other checkouts of the same code; the run tells of
    modules that it imports from there.
    """

    target: Target
    script_folder: str
    cwd: str
    python: str
    device: str = "auto"
    ranks: int = 0
    environment: Mapping[str, str] = field(default_factory=dict)
    foreign_folders: tuple[str, ...] = ()


@dataclass(frozen=True)
class TrialSettings:
    """`steps` of the whole trial, the first `untimed_steps` of which are not compared; a step is
    `ticks_per_step` ticks of the clock. `most_s`: the trial ends once its steps took so long, if there are
    `at_least` of them. `looks_at_memory`: rank<k>/memory.json tells of two more steps.
    """

    steps: int
    untimed_steps: int
    ticks_per_step: int
    seed_batches: bool = False
    timeout_s: float | None = None
    most_s: float | None = None
    at_least: int = 0
    looks_at_memory: bool = False


def run_trial(job: Job, fixes: Sequence[Spec], settings: TrialSettings, folder: Path) -> dict[str, Any]:
    """Run it once, in `folder`, and return what trial.json says (docs/architecture.md) with its
    end, `gpu_state`, `others_busy_share`.

    Where the script ended before its first step, `tick_ns` is empty. What it printed is in
    `folder`/printed.txt. `lost_rank`: of the ranks that torchrun started the one that failed first; how
    it ended is then how the run ended.
    """
    folder = folder.resolve()  # the script runs in another folder, and may change it
    folder.mkdir(parents=True, exist_ok=True)
    trial = {key: value for key, value in asdict(settings).items() if key != "timeout_s"}
    trial |= {"interventions": [for_child(fix) for fix in fixes], "by_torchrun": job.ranks > 0}
    trial |= {"foreign_folders": list(job.foreign_folders)}
    plan = {"folder": str(folder), "script_folder": job.script_folder, "cwd": job.cwd, "trial": trial}
    logs, printed = folder / "torchrun", folder / "printed.txt"
    target = started_by_torchrun(job.target, job.ranks, logs) if job.ranks else job.target
    run = Run(
        command(target, job.python),
        plan,
        _environment(job, fixes),
        timeout_s=settings.timeout_s,
        watches_gpu=job.device != "cpu",
        prints_to=printed,
        keeps_parts=False,
    )
    usage = Usage()
    outcome = run.to_its_end()
    lost = _lost_rank(outcome, printed, logs) if job.ranks else None
    tidy(folder)
    return left_in(folder) | {
        **asdict(lost.outcome(outcome.wall_s) if lost else outcome),
        "lost_rank": lost.rank if lost else None,
        "gpu_state": run.gpu_state,
        "others_busy_share": usage.others_share(),
    }


def _lost_rank(outcome: RunOutcome, printed: Path, logs: Path) -> LostRank | None:
    """The rank that failed first, None if none did.

    Puts what the ranks printed, if anything, in the place of what torchrun did.
    """
    said = printed.read_text(encoding="utf-8", errors="replace")
    lost = lost_rank(said) if outcome.ended == "crashed" else None
    printed.write_text(printed_by_ranks(logs, lost.rank if lost else None) or said, encoding="utf-8")
    return lost


class Usage:
    """How busy other processes kept the machine, from here on."""

    def __init__(self) -> None:
        self._began, self._busy_s, self._own_s = time.monotonic(), _busy_s(), _own_s()

    def others_share(self) -> float:
        """Of the machine's processor time, 0–1.

        Our own run is what its processes used that have ended by now.
        """
        wall_s = max(time.monotonic() - self._began, 1e-3)
        others_s = (_busy_s() - self._busy_s) - (_own_s() - self._own_s)
        return min(1.0, max(0.0, others_s / (wall_s * (os.cpu_count() or 1))))


def _busy_s() -> float:
    times = psutil.cpu_times()
    return float(
        sum(times)
        - times.idle
        - getattr(times, "iowait", 0.0)
        - getattr(times, "guest", 0.0)
        - getattr(times, "guest_nice", 0.0)
    )


def _own_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _environment(job: Job, fixes: Sequence[Spec]) -> dict[str, str]:
    """Names in sets and dictionaries hash alike in all runs; the fixes' own variables come on top."""
    own = {**(without_launcher(os.environ) if job.ranks else os.environ), **job.environment}
    environment: dict[str, str | None] = {"PYTHONHASHSEED": "0", **own}
    if job.device == "cpu":
        environment["CUDA_VISIBLE_DEVICES"] = ""
    environment |= environment_of(fixes, own)
    return {name: value for name, value in environment.items() if value is not None}

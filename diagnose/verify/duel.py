"""The script as it is against the script with a fix: fresh processes, in the order A B B A, until the verdict is clear or time is up."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from diagnose.run.trial import Job, Spec, TrialSettings, run_trial
from diagnose.verify.statistics import LOOKS, Comparison, comparison, is_clear
from diagnose.verify.store import Store
from diagnose.verify.timing import Trial, mean_steps_ms, samples_ratio, step_ms

ORDER = "ABBA"
FEWEST_PAIRS = 2  # of which a comparison can be made at all

Progress = Callable[[str], None]
Runner = Callable[[Job, Sequence[Spec], TrialSettings, Path], Trial]


class Interrupted(Exception):
    """Ctrl-C: what has been run is kept."""


class RunFailed(Exception):
    """A run that ended badly, or before there was anything to compare."""

    def __init__(self, trial: Trial) -> None:
        super().__init__(ending(trial))
        self.trial = trial


@dataclass(frozen=True)
class Arm:
    """What is run: a script, and the fixes injected into it."""

    job: Job
    specs: tuple[Spec, ...] = ()

    def description(self) -> object:
        script = Path(self.job.cwd, self.job.target.script)
        source = hashlib.sha256(script.read_bytes()).hexdigest() if script.is_file() else ""
        job = self.job
        return [job.target.script, list(job.target.args), job.cwd, job.python, job.device, source, list(self.specs)]


@dataclass(frozen=True)
class Outcome:
    """A comparison, with the runs it rests on; `first`, `last`: the steps compared; None where there were too few runs."""

    comparison: Comparison | None
    before: list[Trial]
    after: list[Trial]
    first: int = 0
    last: int = 0


class Bench:
    """Runs trials one after the other and keeps each; `run` makes one, as `run_trial` does."""

    def __init__(self, store: Store, settings: TrialSettings, progress: Progress, run: Runner = run_trial) -> None:
        self.settings = settings
        self._store, self._progress, self._run_trial = store, progress, run

    def with_settings(self, settings: TrialSettings) -> Bench:
        return Bench(self._store, settings, self._progress, self._run_trial)

    def key(self, *parts: object) -> str:
        settings = {name: value for name, value in vars(self.settings).items() if name != "timeout_s"}
        return hashlib.sha256(json.dumps([settings, parts], sort_keys=True, default=str).encode()).hexdigest()[:16]

    def once(self, arm: Arm, label: str, what_for: str = "check") -> Trial:
        """One run, from the store if it is there. Raises RunFailed, Interrupted."""
        key = self.key(what_for, arm.description())
        return self._store.runs(key)[0] if self._store.runs(key) else self._run(arm, key, label)

    def duel(self, before: Arm, after: Arm, precision: float, deadline: float, label: str) -> Outcome:
        """Goes on where an earlier duel of the same arms stopped. Raises RunFailed, Interrupted."""
        key = self.key("duel", before.description(), after.description())
        runs = self._store.runs(key)
        while not self._is_over(runs, precision, deadline):
            arm = before if ORDER[len(runs) % 4] == "A" else after
            self._run(arm, key, f"{label}: run {len(runs) + 1}, {'as it is' if arm is before else 'with the fix'}")
        return self.outcome(runs)

    def outcome(self, runs: Sequence[Trial]) -> Outcome:
        pairs = len(runs) // 2
        arms = {arm: [run for number, run in enumerate(runs[: 2 * pairs]) if ORDER[number % 4] == arm] for arm in "AB"}
        if pairs < FEWEST_PAIRS:
            return Outcome(None, arms["A"], arms["B"])
        series = [[step_ms(run, self.settings.ticks_per_step) for run in arms[arm]] for arm in "AB"]
        before, after, first, last = mean_steps_ms(series[0], series[1], self.settings.untimed_steps - 1)
        ratio = samples_ratio(arms["A"][0], arms["B"][0])
        return Outcome(comparison(before, [ms * ratio for ms in after]), arms["A"], arms["B"], first, last)

    def _is_over(self, runs: Sequence[Trial], precision: float, deadline: float) -> bool:
        pairs, half_done = divmod(len(runs), 2)
        if not half_done and pairs in LOOKS:
            compared = self.outcome(runs).comparison
            if pairs == LOOKS[-1] or (compared is not None and is_clear(compared, precision)):
                return True
        usual_s = max((run["wall_s"] for run in runs[-4:]), default=0.0)
        return time.monotonic() + usual_s > deadline

    def _run(self, arm: Arm, key: str, label: str) -> Trial:
        self._progress(label)
        folder = self._store.folder / "trial"
        shutil.rmtree(folder, ignore_errors=True)
        trial = self._run_trial(arm.job, arm.specs, self.settings, folder)
        if trial["ended"] == "interrupted":
            raise Interrupted
        if trial["ended"] in ("crashed", "killed", "timeout") or len(step_ms(trial, self.settings.ticks_per_step)) < 2:
            raise RunFailed(trial | {"printed": _last_lines(folder / "printed.txt")})
        shutil.rmtree(folder, ignore_errors=True)
        self._store.add(key, trial)
        return trial


def ending(trial: Trial) -> str:
    """How a run that cannot be used ended, and the last line it printed."""
    how = {
        "crashed": f"it ended with exit code {trial['exit_code']}",
        "killed": f"it was killed by {trial['signal']}",
        "timeout": "it took too long and was stopped",
    }.get(trial["ended"], "it ended before its third step")
    lines = trial.get("printed", "").strip().splitlines()
    return f"{how}: {lines[-1].strip()}" if lines else how


def _last_lines(file: Path, characters: int = 4000) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")[-characters:]
    except OSError:
        return ""

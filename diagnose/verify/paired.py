"""The script as it is against the script with a fix: fresh processes, in the order A B B A, until
the verdict is clear or time is up.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from diagnose import __version__
from diagnose.fixes.all import Spec
from diagnose.run.child.steps.step_clock import StepClock
from diagnose.run.settings import FEWEST_STEPS
from diagnose.verify.deadline import Deadline, OutOfTime
from diagnose.verify.statistics import LOOKS, Comparison, at_a_look, comparison, is_clear
from diagnose.verify.store import Store
from diagnose.verify.timing import (
    Trial,
    lasting_ratio,
    mean_steps_ms,
    samples_ratio,
    step_ms,
    untimed_steps,
    work_ms,
)
from diagnose.verify.trial import Job, TrialSettings, run_trial

ORDER = ("AB", "BA")  # of the runs in a pair, in turns
FEWEST_PAIRS = 2  # of which a comparison can be made at all
NOT_THE_USERS = {"site-packages", "dist-packages", "node_modules", "__pycache__"}
MOST_FOLDERS = 2000
_FAILED = "failed"  # the place of a run with the fix that failed where the script as it is did not
_RANK_PREFIX = re.compile(r"^\[rank\d+\]: ")  # torch's own, before the lines of a traceback
# torch's words for it, and where Python makes the workers' locks
_OUT_OF_SHARED_MEMORY = re.compile(
    r"out of shared memory|unable to (open|allocate|write to) .*shm|Bus error"
    r"|SemLock\((.|\n)*No space left on device"
)

Progress = Callable[[str], None]
Runner = Callable[[Job, Sequence[Spec], TrialSettings, Path], Trial]


class Interrupted(Exception):
    """Ctrl-C: what has been run is kept."""


class RunFailed(Exception):
    """A run that ended badly, or before there was anything to compare: in words. ``good_runs``: of the same
    arm, before it.
    """

    def __init__(self, trial: Trial, good_runs: int = 0) -> None:
        super().__init__(f"once in {good_runs + 1} runs {ending(trial)}" if good_runs else ending(trial))
        self.trial = trial


class NotComparable(Exception):
    """The runs of two arms tell nothing about the fix: why, in words."""


@dataclass(frozen=True)
class Arm:
    """What is run: a script, and the fixes injected into it."""

    job: Job
    specs: tuple[Spec, ...] = ()

    @property
    def fixes(self) -> tuple[str, ...]:
        return tuple(spec["name"] for spec in self.specs)

    @property
    def changes_batch_size(self) -> bool:
        return any("batch_size" in spec["arguments"] for spec in self.specs)

    def description(self) -> object:
        """All that a run depends on, as far as it can be told: also the state of the user's own files."""
        job = self.job
        return [asdict(job), list(self.specs), _source_state(job.script_folder), _source_state(job.cwd)]


@dataclass(frozen=True)
class Outcome:
    """A comparison, with the runs it rests on; `first`, `last`: the steps compared; `failure`: that ended
    it, of a run without the fix; `work`: the same for processor time, None where it is not known.
    """

    comparison: Comparison
    before: list[Trial]
    after: list[Trial]
    first: int
    last: int
    failure: str = ""
    work: Comparison | None = None


class TrialRunner:
    """Runs trials one after the other and keeps each; `run` makes one, as `run_trial` does.

    `shortest_s`: what the first run takes at least.
    """

    def __init__(
        self,
        store: Store,
        settings: TrialSettings,
        progress: Progress,
        run: Runner = run_trial,
        shortest_s: float = 0.0,
    ) -> None:
        self.settings = settings
        self._store, self._progress, self._run_trial = store, progress, run
        self._shortest_s = shortest_s
        self._latest_s: dict[tuple[str, ...], float] = {}  # that a run took, by its fixes
        self._untimed: dict[str, int] = {}  # steps, by the arm

    def with_settings(self, settings: TrialSettings) -> TrialRunner:
        runner = copy.copy(self)
        runner.settings = settings
        return runner

    def once(self, arm: Arm, label: str, deadline: Deadline, what_for: str = "check") -> Trial:
        """One run, from the store if it is there. Raises RunFailed, OutOfTime, Interrupted; NotComparable if
        it is with fixes and has too few steps.
        """
        key = self._key(what_for, arm.description())
        trial = next(iter(self._store.runs(key).values()), None)
        if trial is None:
            trial = self._run(arm, key, "", label, deadline)
        self._learn_from(arm, trial)
        if arm.specs:
            check_length(trial, self.settings)
        return trial

    def agreed(self, arm: Arm, plan: Callable[[TrialSettings], TrialSettings]) -> TrialSettings:
        """The settings that a first verification of the arm planned, which later ones keep: only so can they
        go on with its runs.
        """
        key, planned = self._key("settings", arm.description()), plan(self.settings)
        names = ("steps", "untimed_steps")
        if told := self._store.runs(key).get("settings"):
            return replace(planned, **{name: told[name] for name in names})
        self._store.note(key, "settings", {name: getattr(planned, name) for name in names})
        return planned

    def compare_arms(
        self,
        before: Arm,
        after: Arm,
        precision: float,
        deadline: Deadline,
        label: str,
        names: tuple[str, str] = ("as it is", "with the fix"),
        enough: Callable[[Comparison, float], bool] = is_clear,
    ) -> Outcome | None:
        """Goes on where an earlier one of the same arms stopped; None if there was no time for two pairs.
        ``names``: of the arms, for people; ``enough``: whether a comparison answers what is asked, to within
        ± ``precision``. Both arms run longer if the batches that the workers of either have ready outlast
        the untimed steps.

        Raises RunFailed if the script fails with the fix and not without it, now and then or always (it is
        not tried again); NotComparable, Interrupted.
        """
        runner = self._long_enough(before, after)
        arms = {"A": before, "B": after}
        key = runner._key("duel", before.description(), after.description())
        pairs, failure = _whole_pairs(runner._store.runs(key)), ""
        if failed_run := runner._store.runs(key).get(_FAILED):
            raise RunFailed(failed_run, len(pairs))
        for stored in pairs:
            runner._check(stored)
            runner._learn_from(before, stored[0])
            runner._learn_from(after, stored[1])
        while not runner._is_clear(pairs, after, precision, enough):
            pair: dict[str, Trial] = {}
            try:
                runner._need_time(deadline, before, after)
                for name in ORDER[len(pairs) % 2]:
                    words = f"{label}: pair {len(pairs) + 1}, {names[name == 'B']}"
                    pair[name] = runner._run(arms[name], key, f"{name}{len(pairs)}", words, deadline)
            except OutOfTime:
                break
            except RunFailed as failed:
                if "A" in pair or (
                    name == "B" and runner._succeeds(before, key, len(pairs), label, deadline)
                ):
                    runner._store.note(key, _FAILED, failed.trial)
                    raise RunFailed(failed.trial, len(pairs)) from failed
                failure = f"the script failed without it as well: {failed}"
                if len(pairs) < FEWEST_PAIRS:
                    raise NotComparable(failure) from failed
                break
            pairs.append((pair["A"], pair["B"]))
            runner._check(pairs[-1])
        outcome = runner._outcome(pairs, after)
        return replace(outcome, failure=failure) if outcome else None

    def _long_enough(self, before: Arm, after: Arm) -> TrialRunner:
        """For both to use up what the workers of either may have ready, before steps are timed."""
        untimed = max(map(self._untimed_in, (before, after)))
        more = max(0, untimed - self.settings.untimed_steps)
        steps, untimed = self.settings.steps + more, self.settings.untimed_steps + more
        return self.with_settings(replace(self.settings, steps=steps, untimed_steps=untimed))

    def _untimed_in(self, arm: Arm) -> int:
        """Of one that never ran, such as all fixes together, the most of those that did."""
        return self._untimed.get(repr(arm), max(self._untimed.values(), default=0))

    def _check(self, pair: tuple[Trial, Trial]) -> None:
        for run in pair:
            check_length(run, self.settings)
        check_clocks(*pair)

    def _succeeds(self, before: Arm, key: str, number: int, label: str, deadline: Deadline) -> bool:
        """Whether the script still runs as it is, now that it failed with the fix. Where no time is left to
        see that, the fix is to blame.
        """
        try:
            self._run(before, key, f"A{number}", f"{label}: does it fail as it is?", deadline)
        except OutOfTime:
            return True
        except RunFailed:
            return False
        return True

    def _key(self, *parts: object) -> str:
        limits = ("timeout_s", "most_s", "at_least")
        settings = {name: value for name, value in vars(self.settings).items() if name not in limits}
        return hashlib.sha256(
            json.dumps([__version__, settings, parts], sort_keys=True, default=str).encode()
        ).hexdigest()[:16]

    def _outcome(self, pairs: Sequence[tuple[Trial, Trial]], arm: Arm) -> Outcome | None:
        if len(pairs) < FEWEST_PAIRS:
            return None
        pairs = pairs[: at_a_look(len(pairs))]
        before, after = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        series = [[step_ms(run, self.settings.ticks_per_step) for run in runs] for runs in (before, after)]
        before_ms, after_ms, first, last = mean_steps_ms(
            series[0], series[1], self.settings.untimed_steps - 1
        )
        before_ms, after_ms = (
            [
                ms * lasting_ratio(run, self.settings.ticks_per_step, first, last)
                for ms, run in zip(means, runs, strict=True)
            ]
            for means, runs in ((before_ms, before), (after_ms, after))
        )
        ratio = samples_ratio(before[0], after[0]) if arm.changes_batch_size else 1.0
        return Outcome(
            comparison(before_ms, [ms * ratio for ms in after_ms]),
            before,
            after,
            first,
            last,
            work=self._work(before, after, first, last, ratio),
        )

    def _work(
        self, before: Sequence[Trial], after: Sequence[Trial], first: int, last: int, ratio: float
    ) -> Comparison | None:
        """Of the processor time; None with a GPU, for which a host that only waits looks busy: the times
        compared are the device's own there.
        """
        if any(run["device_ms"] for run in (*before, *after)):
            return None
        a_ms, b_ms = (
            [work_ms(run, self.settings.ticks_per_step, first, last) for run in runs]
            for runs in (before, after)
        )
        known_a, known_b = ([ms for ms in arm if ms is not None] for arm in (a_ms, b_ms))
        if len(known_a) < len(before) or len(known_b) < len(after):
            return None
        return comparison(known_a, [ms * ratio for ms in known_b])

    def _is_clear(
        self,
        pairs: Sequence[tuple[Trial, Trial]],
        arm: Arm,
        precision: float,
        enough: Callable[[Comparison, float], bool],
    ) -> bool:
        """Whether more pairs would tell no more, or there are as many as are ever made."""
        if len(pairs) not in LOOKS:
            return False
        outcome = self._outcome(pairs, arm)
        return len(pairs) == LOOKS[-1] or (outcome is not None and enough(outcome.comparison, precision))

    def _need_time(self, deadline: Deadline, *arms: Arm) -> None:
        """For a run of each; raises OutOfTime. It is judged by the latest run with the same
        fixes, or of the script as it is: one slow run is not to keep the rest of the time from being used.
        """
        known_s = self._latest_s
        usual_s = known_s.get((), self._shortest_s)
        if not deadline.allows(sum(known_s.get(arm.fixes, usual_s) for arm in arms)):
            raise OutOfTime

    def _learn_from(self, arm: Arm, trial: Trial) -> None:
        self._latest_s[arm.fixes] = trial["wall_s"]
        self._untimed[repr(arm)] = untimed_steps(trial, 0)

    def _run(self, arm: Arm, key: str, place: str, label: str, deadline: Deadline) -> Trial:
        self._need_time(deadline, arm)
        self._progress(label)
        folder = self._store.folder / "trial"
        shutil.rmtree(folder, ignore_errors=True)
        settings = replace(self.settings, timeout_s=deadline.limited(self.settings.timeout_s))
        trial = self._run_trial(arm.job, arm.specs, settings, folder)
        if trial["ended"] == "interrupted":
            raise Interrupted
        if trial["ended"] == "timeout" and settings.timeout_s != self.settings.timeout_s:
            raise OutOfTime
        if (
            trial["ended"] in ("crashed", "killed", "timeout")
            or len(step_ms(trial, self.settings.ticks_per_step)) < 2
        ):
            raise RunFailed(trial | {"printed": _last_lines(folder / "printed.txt")})
        shutil.rmtree(folder, ignore_errors=True)
        self._learn_from(arm, trial)
        self._store.add(key, place, trial)
        return trial


def _whole_pairs(runs: Mapping[str, Trial]) -> list[tuple[Trial, Trial]]:
    """Those of which both runs were made, up to the first that is missing one."""
    pairs: list[tuple[Trial, Trial]] = []
    while (number := len(pairs)) < len(runs) and f"A{number}" in runs and f"B{number}" in runs:
        pairs.append((runs[f"A{number}"], runs[f"B{number}"]))
    return pairs


@functools.cache
def _source_state(folder: str) -> list[list[object]]:
    """Sizes and times of the Python files below the folder, but for libraries and what is
    hidden; of the first few thousand folders.
    """
    state: list[list[object]] = []
    for number, (parent, folders, files) in enumerate(os.walk(folder)):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and name not in NOT_THE_USERS
        )
        for name in sorted(files):
            if name.endswith(".py"):
                with contextlib.suppress(OSError):
                    known = os.stat(os.path.join(parent, name))
                    state.append([os.path.join(parent, name), known.st_size, known.st_mtime_ns])
        if number >= MOST_FOLDERS:
            break
    return state


def check_length(trial: Trial, settings: TrialSettings) -> None:
    """Raises NotComparable where a script came to its end before so many steps were timed as a comparison can
    rest on: as with a larger batch, of which there are fewer.
    """
    steps = len(step_ms(trial, settings.ticks_per_step)) + 1
    if steps < untimed_steps(trial, settings.untimed_steps) + FEWEST_STEPS:
        ahead = trial.get("fetched_ahead", 0)
        why = f": workers may have {ahead} batches ready" if ahead >= settings.untimed_steps else ""
        raise NotComparable(f"the script ends after {steps} steps, too few to compare runs{why}")


def check_clocks(before: Trial, after: Trial) -> None:
    """Raises NotComparable where a step of one run is something else than a step of the other."""
    mine, theirs = StepClock(before["clock"]), StepClock(after["clock"])
    if mine != theirs:
        raise NotComparable(f"its steps end with {theirs.event}, those before with {mine.event}")


def ending(trial: Trial) -> str:
    """How a run that cannot be used ended, and the last line it printed; of a job,
    the rank whose failure was the first.
    """
    rank = trial.get("lost_rank")
    who = "it" if rank is None else f"rank {rank}"
    how = {
        "crashed": f"{who} ended with exit code {trial['exit_code']}",
        "killed": f"{who} was killed by {trial['signal']}",
        "timeout": "it took too long and was stopped",
    }.get(trial["ended"], "it ended before three steps were seen")
    how = " ".join([how, *(f"({note})" for note in trial.get("notes", ()))])
    printed = trial.get("printed", "").strip()
    if _OUT_OF_SHARED_MEMORY.search(printed):
        return f"{how}: /dev/shm is full, which hands batches over from workers (Docker: `--shm-size=2g`)"
    lines = printed.splitlines()
    return f"{how}: {_RANK_PREFIX.sub('', lines[-1].strip())}" if lines else how


def _last_lines(file: Path, characters: int = 4000) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")[-characters:]
    except OSError:
        return ""

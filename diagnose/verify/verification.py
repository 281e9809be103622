"""Try the fixes of a recorded run on its own script: which take hold, what
each gains, what they gain together.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from diagnose import __version__
from diagnose.document.measurements import predicted_shares
from diagnose.document.model import Comparison, Curve, Document, FixResult, Results, Tool, Verification
from diagnose.document.stored import part
from diagnose.errors import DiagnoseError
from diagnose.fixes.all import tolerance_of, variables_of
from diagnose.verify import results, statistics, tuning, warnings
from diagnose.verify.candidates import Candidate
from diagnose.verify.deadline import Deadline, OutOfTime
from diagnose.verify.fix_results import (
    is_unclear,
    memory_peaks,
    not_beside_others,
    not_measured,
    why_not_held,
    without_verdict,
)
from diagnose.verify.lengths import fitted, probe, settings_for, shortest_run_s, within
from diagnose.verify.paired import (
    Arm,
    Interrupted,
    NotComparable,
    RunFailed,
    Runner,
    TrialRunner,
    check_clocks,
    ending,
)
from diagnose.verify.store import Store
from diagnose.verify.timing import Trial, lasting_ratio, samples_ratio, steady_from, step_ms, untimed_steps
from diagnose.verify.trial import Job, run_trial

TUNING_SHARE = 0.3  # of a fix's time, for the search of its number
# that a fix is to have time for, if there is any: does it hold, and the pairs of the first look
FEWEST_RUNS = 1 + 2 * statistics.LOOKS[0]
NOT_BEGUN = "the budget ended before it was tried"
NOT_FINISHED = "the budget ended before two pairs of runs were made"


@dataclass(frozen=True)
class VerifyOptions:
    """`precision`: half the width of the interval asked for, a share; `steps`: timed in each run, by default
    as many as take two seconds take. `search`: what is faster and changes no result stays in place while the
    next fix is tried, instead of each being tried by itself.
    """

    precision: float = 0.02
    steps: int | None = None
    fresh: bool = False
    search: bool = False


@dataclass(frozen=True)
class VerifyProgress:
    """The run that begins: what it is for, its number from 1, the fix it is of from 1 among those to try (0:
    the script itself, or all fixes together), and how much of the time is left at most.
    """

    label: str
    run: int
    fix: int
    fixes: int
    left_s: float
    budget_s: float


class Verifier:
    """Leads through the trials of one script; `save` is called with the proof whenever it has grown."""

    def __init__(
        self,
        job: Job,
        document: Document,
        folder: Path,
        wanted: VerifyOptions,
        deadline: Deadline,
        progress: Callable[[VerifyProgress], None],
        save: Callable[[Verification], None],
        previous: Sequence[FixResult] = (),
        run: Runner = run_trial,
    ) -> None:
        self._wanted, self._progress, self._save = wanted, progress, save
        self._deadline, self._budget_s = deadline, deadline.left_s
        self._as_it_is = Arm(job)
        self._store = Store(folder, fresh=wanted.fresh)
        self._began = time.monotonic()
        settings = settings_for(document, wanted.steps)
        shortest_s = shortest_run_s(document, settings)
        self._runner = TrialRunner(self._store, settings, self._tell, run, shortest_s)
        self._all_runs: dict[str, list[tuple[str, Trial]]] = {}  # by what was compared
        self._to_measure: list[tuple[FixResult, Candidate]] = []  # those that took hold
        self._other_data: set[tuple[str, str]] = set()  # rule and title of fixes that need `_seeded`
        self._kept: list[Candidate] = []  # of a search: what the next ones are tried beside
        self._run = self._fix = self._fixes = 0
        self.proof = Verification(tool=Tool(name="diagnose", version=__version__), tried=list(previous))
        self.proof.searched = wanted.search

    def prove(self, candidates: Sequence[Candidate]) -> Verification:
        """Raises DiagnoseError if the script as it is cannot be run or is too short to compare anything."""
        possible = [candidate for candidate in candidates if not candidate.why_not]
        self._fixes = len(possible)
        try:
            with contextlib.suppress(OutOfTime):
                self._look_at_script_itself()
            for candidate in candidates:
                self._add(self._result(candidate))
            self._fix = 0
            self._go_on()
            self._try_together(possible)
        except (Interrupted, KeyboardInterrupt):  # during a run, between two
            self.proof.interrupted = True
        self._finish()
        return self.proof

    # the script itself

    def _look_at_script_itself(self) -> None:
        """Two runs that nothing is measured with: they warm the machine's caches, and
        tell whether the script repeats itself.
        """
        try:
            probing = self._runner.with_settings(probe(self._runner.settings, self._deadline.left_s))
            first = probing.once(self._as_it_is, "the script as it is", self._deadline, "first")
            settings = self._runner.agreed(
                self._as_it_is,
                lambda settings: within(
                    fitted(settings, first), first, self._deadline.left_s, self._fixes, FEWEST_RUNS
                ),
            )
            self._runner = self._runner.with_settings(settings)
            again = self._runner.once(self._as_it_is, "the script as it is, once more", self._deadline)
            self._runner = self._runner.with_settings(fitted(self._runner.settings, again))
        except RunFailed as failed:
            raise _script_failed(failed) from failed
        self._reference = again
        alike = results.results(first, first, again).agreement
        self.proof.same_losses = None if alike == "unknown" else alike == "same"
        self._first = first
        self.proof.step_ms = self._steady_ms(again)
        self._spread = abs(self._steady_ms(first) / self.proof.step_ms - 1)

    # one fix

    def _result(self, candidate: Candidate) -> FixResult:
        if candidate.why_not:
            return not_measured(candidate, "not_tried", candidate.why_not)
        if self.proof.step_ms is None:  # there was not even time for the script itself
            return not_measured(candidate, "no_time", NOT_BEGUN)
        jobs_left = self._fixes - self._fix + (self._fixes > 1)
        self._fix += 1
        return self._try(
            candidate, self._deadline.part(1 / jobs_left, FEWEST_RUNS * self._reference["wall_s"])
        )

    def _try(self, candidate: Candidate, deadline: Deadline) -> FixResult:
        tried = not_measured(candidate, "no_time", NOT_BEGUN)
        try:
            check = self._checked(candidate, deadline)
            tried.why = NOT_FINISHED
            check_clocks(self._reference, check)
            if not check["interventions"][-1]["held"]:
                tried.state, tried.why = "not_held", why_not_held(check)
                return tried
            if candidate.tuned is not None and (share := self._share_for_tuning(deadline)) > 0:
                candidate = self._with_best_number(candidate, tried, deadline.part(share))
                if candidate.arguments != tried.arguments:
                    tried.arguments, tried.predicted_with = candidate.arguments, tried.arguments
            self._to_measure.append((tried, candidate))
            self._measure_beside(tried, candidate, deadline)
        except (NotComparable, RunFailed) as reason:
            without_verdict(tried, reason)
        except OutOfTime:
            tried.state = "no_time"
        return tried

    def _measure_beside(self, tried: FixResult, candidate: Candidate, deadline: Deadline) -> None:
        """Beside what a search has kept so far; there it is kept as well if it is faster."""
        self._measure(tried, [candidate], self._kept, deadline, candidate.title)
        if self._wanted.search and tried.verdict == "faster":
            self._kept.append(candidate)

    def _share_for_tuning(self, deadline: Deadline) -> float:
        """Of a fix's time, once the pairs of the first look have theirs; 0 or less where nothing is left."""
        pairs_s = 2 * statistics.LOOKS[0] * self._reference["wall_s"]
        if math.isinf(deadline.left_s):
            return TUNING_SHARE
        return min(TUNING_SHARE, 1 - pairs_s / deadline.left_s) if deadline.left_s else 0.0

    def _go_on(self) -> None:
        """What time is left goes to the fixes that are not clear yet, in equal parts, as long as it is of any
        use.
        """
        made = -1
        while made < self._store.added:
            made = self._store.added
            unclear = [one for one in self._to_measure if is_unclear(one[0])]
            for number, (tried, candidate) in enumerate(unclear):
                jobs_left = len(unclear) - number + (self._fixes > 1)
                self._measure_on(tried, candidate, self._deadline.part(1 / jobs_left))

    def _measure_on(self, tried: FixResult, candidate: Candidate, deadline: Deadline) -> None:
        try:
            self._measure_beside(tried, candidate, deadline)
        except (NotComparable, RunFailed) as reason:
            without_verdict(tried, reason)
        self._finish()

    def _checked(self, candidate: Candidate, deadline: Deadline) -> Trial:
        """A run with the fix, which tells whether it takes hold, and whether the data are the same."""
        check = self._runner.once(
            self._arm(*self._kept, candidate), f"{candidate.title}: does it take hold?", deadline
        )
        if results.data_differ(self._reference, check):
            self._other_data.add((candidate.rule, candidate.title))
        return check

    def _seeded(self, arm: Arm, title: str, deadline: Deadline) -> tuple[Trial, Trial, Trial]:
        """Two runs of the script as it is and one with the fixes, each batch's random numbers seeded by its
        indices: for the results only, for seeding takes time in the process that fetches.
        """
        runner = self._runner.with_settings(replace(self._runner.settings, seed_batches=True))
        itself = self._as_it_is
        try:
            reference = runner.once(itself, "the script as it is, with its batches seeded", deadline)
            first = reference  # seeded it repeats itself as well if it does without
            if self.proof.same_losses is not True:
                first = runner.once(itself, "the script as it is, seeded, once more", deadline, "first")
        except RunFailed as failed:
            raise NotComparable(f"the script failed without it as well: {failed}") from failed
        self.proof.seeded_batches = True
        return reference, first, runner.once(arm, f"{title}: the same data?", deadline)

    def _arm(self, *fixes: Candidate) -> Arm:
        return Arm(self._as_it_is.job, tuple(fix.spec for fix in fixes))

    def _measure(
        self,
        tried: FixResult,
        fixes: Sequence[Candidate],
        beside: Sequence[Candidate],
        deadline: Deadline,
        label: str,
    ) -> None:
        """What ``fixes`` gain where those ``beside`` are made already; a result of more pairs stays."""
        together = [*beside, *fixes]
        before, arm = self._arm(*beside), self._arm(*together)
        seeded = None
        if self._other_data & {(fix.rule, fix.title) for fix in together}:
            try:
                seeded = self._seeded(arm, label, deadline)
            except OutOfTime:
                return
        outcome = self._runner.compare_arms(before, arm, self._wanted.precision, deadline, label)
        known = tried.change.pairs + tried.change.outliers if tried.change else 0
        if outcome is None or len(outcome.before) < known:
            return
        tried.environment = variables_of(arm.specs, {**os.environ, **arm.job.environment})
        tried.beside = [fix.rule or fix.title for fix in beside]
        self._all_runs[label] = [("before", run) for run in outcome.before] + [
            ("after", run) for run in outcome.after
        ]
        tried.state, tried.why = "measured", outcome.failure or not_beside_others(together, outcome.after[0])
        tried.verdict = statistics.verdict_on(
            outcome.comparison, self._wanted.precision, predicted_shares(tried), outcome.work
        )
        tried.change = part(outcome.comparison, Comparison)
        tried.work = part(outcome.work, Comparison) if outcome.work else None
        # `step_ms` leaves out the first step, and counts from 0
        tried.step_from, tried.step_to = outcome.first + 2, outcome.last + 1
        tolerance = tolerance_of(fix.intervention for fix in together)
        runs = seeded or (self._reference, self._first, outcome.after[0])
        compared = results.results(*runs, tolerance)
        tried.results = part(compared, Results)
        tried.memory = memory_peaks(outcome)
        tried.batch_sizes = (
            (outcome.before[0]["batch_size"], outcome.after[0]["batch_size"])
            if arm.changes_batch_size
            else None
        )
        if compared.agreement in ("differ", "other_data"):
            tried.verdict = "changes_result"

    def _with_best_number(self, candidate: Candidate, tried: FixResult, deadline: Deadline) -> Candidate:
        argument = candidate.tuned
        assert argument is not None and argument.largest is not None
        measured: dict[int, list[float]] = {}
        peaks: dict[int, float] = {}

        def measured_ms(number: int) -> float | None:
            arm = self._arm(*self._kept, candidate.with_number(number))
            label = f"{candidate.title}: {argument.name}={number}"
            try:
                run = self._runner.once(arm, label, deadline, f"tuning {len(measured.get(number, []))}")
            except (OutOfTime, NotComparable, RunFailed):  # a failed one is out of memory, most likely
                return None
            ratio = samples_ratio(self._reference, run) if arm.changes_batch_size else 1.0
            measured.setdefault(number, []).append(self._steady_ms(run) * ratio)
            if peak := run.get("peak_allocated_bytes") or run.get("peak_resident_bytes"):
                peaks[number] = max(peak, peaks.get(number, 0.0))
            return measured[number][-1]

        start, largest = candidate.arguments[argument.name], argument.largest()
        curve = tuning.search(argument.name, start, largest, measured_ms, self._spread)
        if curve is None:
            return candidate
        # once more the other way round: a machine that becomes slower meanwhile favours no number
        for number in reversed(list(measured)) if len(measured) > 1 else ():
            if measured_ms(number) is None:
                break
        curve = tuning.curve_of(argument.name, measured, self._spread)
        tried.curve = Curve(
            argument=curve.argument,
            ms={str(number): value for number, value in curve.ms.items()},
            best=curve.best,
            knee=curve.knee,
            peak_bytes={str(number): peak for number, peak in peaks.items()},
        )
        return candidate.with_number(curve.knee)

    def _steady_ms(self, run: Trial) -> float:
        """Of one run by itself."""
        series = step_ms(run, self._runner.settings.ticks_per_step)
        untimed = max(untimed_steps(run, self._runner.settings.untimed_steps) - 1, steady_from(series))
        first = min(untimed, len(series) - 1)
        lasting = lasting_ratio(run, self._runner.settings.ticks_per_step, first, len(series))
        return float(series[first:].mean()) * lasting

    # all together

    def _try_together(self, candidates: Sequence[Candidate]) -> None:
        known = {(tried.rule, tried.title): tried for tried in self.proof.tried}
        found = [(candidate, known[candidate.rule, candidate.title]) for candidate in candidates]
        faster = [
            replace(one, arguments=tried.arguments) for one, tried in found if tried.verdict == "faster"
        ]
        faster = self._kept if self._wanted.search else faster
        if len(faster) < 2 or self.proof.step_ms is None:
            return
        names = ", ".join(one.rule or one.title for one in faster)
        together = FixResult(
            rule=names,
            title="All that are faster, together",
            intervention="",
            arguments={},
            safety=_least_safe(faster),
            state="no_time",
            why=NOT_FINISHED,
        )
        try:
            self._measure(together, faster, (), self._deadline, together.title)
        except (NotComparable, RunFailed) as reason:
            without_verdict(together, reason)
        self.proof.together = together

    # keeping

    def _tell(self, label: str) -> None:
        self._run += 1
        left_s = self._deadline.left_s
        self._progress(VerifyProgress(label, self._run, self._fix, self._fixes, left_s, self._budget_s))

    def _add(self, tried: FixResult) -> None:
        """In the place of what an earlier verification found of the same fix, unless there was no time."""
        same = [one for one in self.proof.tried if (one.rule, one.title) == (tried.rule, tried.title)]
        others = [one for one in self.proof.tried if one not in same]
        was_tried = [one for one in same if one.state not in ("no_time", "not_tried")]
        kept = was_tried if tried.state == "no_time" else []
        self.proof.tried = [*others, *(kept or [tried])]
        self._finish()

    def _finish(self) -> None:
        changes = [tried.change for tried in self.proof.tried if tried.change]
        noises = [change.noise for change in changes if change.pairs + change.outliers >= statistics.LOOKS[0]]
        self.proof.noise = float(np.median(noises)) if noises else None
        self.proof.warnings = warnings.warnings_of([run for runs in self._all_runs.values() for run in runs])
        self.proof.runs = self._store.added
        self.proof.wall_s = time.monotonic() - self._began
        self._save(self.proof)


def _script_failed(failed: RunFailed) -> DiagnoseError:
    return DiagnoseError(
        f"The script could not be run again: {ending(failed.trial)}.",
        do="nothing was changed in it; does it need files or ports that are in use?",
    )


def _least_safe(accepted: Collection[Candidate]) -> str:
    return "numerics" if any(one.safety != "exact" for one in accepted) else "exact"

"""What counts as a change from one run to another, and what may be noise.

One run each tells less than it seems. What disturbs a step disturbs its neighbours too, so a thousand steps
of one run are not a thousand observations, and the next run of the same script may differ by as much as the
steps of this one do. A change therefore counts only beyond the root of the sum of squares of

- what a single step of each run differs by from the usual one (not divided by √n, for that reason),
- half of what other processes used of the machine during each run: that much may
  have been taken from it (`LOAD_PART`),
- `FLOOR_SHARE` of the longer step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from diagnose.compare.model import Basis, Change, Verdict
from diagnose.document.model import Document, Kernel, LedgerRow, Operator
from diagnose.document.queries import metric
from diagnose.measure.periods import period_of, spread
from diagnose.measure.typical import ordinary
from diagnose.verify.statistics import SD_PER_MAD

# Of the longer step. Five runs each of two steady bundled scripts (input-wait/sick, logger/healthy) differed
# by 4 and 7 % from the fastest to the slowest; the rules call savings below a twentieth of the step noise as
# well. It goes for parts of a step too: how a step divides is known no better than that.
FLOOR_SHARE = 0.05
# Of the share of the processor time that others used: four runs of bundled scripts beside processes
# that used 20 to 50 % of a machine with 2 cores took 0, 15, 25 and 32 % longer than the same scripts
# alone, on average half of what was used.
LOAD_PART = 0.5
# of the longer step: noise that would hide a change of high severity (`diagnose.predict.plan.HIGH_SHARE`)
TOO_NOISY_SHARE = 0.2
FEWEST_STEPS = 3  # of two a spread says next to nothing
# what is assumed then: any step may be a slow one (half as long again, see
# `slow_steps` in measure/areas/steps.py)
UNKNOWN_SPREAD = 0.5


class RowTime(NamedTuple):
    """A row of the ledger with what it takes of the step compared, and how far a step's is from that."""

    row: LedgerRow
    ms: float
    spread_ms: float


@dataclass(frozen=True)
class Run:
    """One side of the comparison."""

    document: Document
    basis: Basis

    @cached_property
    def steps_ms(self) -> np.ndarray:
        steps = self.document.steps
        return np.array(steps.plain_series_ms if self.basis == "plain" else steps.timeline_series_ms, float)

    @cached_property
    def step_ms(self) -> float:
        """The typical step, as the report of the run has it, where both tell of the same kind of steps."""
        steps = self.document.steps
        if steps.typical_ms and (self.basis == "plain") == bool(steps.plain_series_ms):
            return steps.typical_ms
        return float(self.steps_ms[ordinary(self.steps_ms)].mean()) if len(self.steps_ms) else math.nan

    @cached_property
    def spread_ms(self) -> float:
        """How far a step usually is from the median one at its place of the period, if steps come in
        periods: a robust standard deviation.
        """
        place = np.arange(len(self.steps_ms)) % period_of(self.steps_ms)
        spread_ms = SD_PER_MAD * spread(self.steps_ms, place)
        return (
            spread_ms if len(self.steps_ms) >= FEWEST_STEPS else max(spread_ms, UNKNOWN_SPREAD * self.step_ms)
        )

    @cached_property
    def average_ms(self) -> float:
        return float(np.mean(self.steps_ms))

    @cached_property
    def average_error_ms(self) -> float:
        """The standard error of the mean, slow steps included."""
        count = len(self.steps_ms)
        return (
            float(np.std(self.steps_ms, ddof=1)) / math.sqrt(count)
            if count >= FEWEST_STEPS
            else UNKNOWN_SPREAD * self.step_ms
        )

    @cached_property
    def others_share(self) -> float:
        """What other processes used of the machine's processor time; 0 where it is not known."""
        value = metric(self.document, "others_busy_share")
        return float(value) if isinstance(value, (int, float)) else 0.0

    @cached_property
    def rows(self) -> dict[str, RowTime]:
        """The ledger by its rows, in ms of the step compared here."""
        return {
            row.row: RowTime(row, row.share * self.step_ms, self._row_spread_ms(row))
            for row in self.document.ledger
        }

    def _row_spread_ms(self, row: LedgerRow) -> float:
        """How far a row of a single step usually is from the mean one; the document
        has the standard error of that mean.
        """
        if row.noise_ms is None or not row.ms_per_step > 0:
            return UNKNOWN_SPREAD * row.share * self.step_ms
        steps = math.sqrt(self.document.steps.complete)
        return row.noise_ms / row.ms_per_step * row.share * self.step_ms * steps

    def by_name_ms(self, rows: Iterable[Operator | Kernel]) -> dict[str, float]:
        """What those of each name take of the step compared here."""
        times = dict[str, float]()
        for row in rows:
            times[row.name] = times.get(row.name, 0.0) + row.share * self.step_ms
        return times


@dataclass(frozen=True)
class Runs:
    """Both sides, and what counts as a change from one to the other."""

    a: Run
    b: Run

    def change(self, a_ms: float, b_ms: float, *noise_ms: float) -> Change:
        """From ``a_ms`` to ``b_ms``, given what either may differ by for other reasons
        than the machine's load and the floor.
        """
        load_ms = LOAD_PART * self.a.others_share * a_ms, LOAD_PART * self.b.others_share * b_ms
        least_ms = math.hypot(*noise_ms, *load_ms, FLOOR_SHARE * max(self.a.step_ms, self.b.step_ms))
        change_ms = b_ms - a_ms
        return Change(
            a_ms=a_ms,
            b_ms=b_ms,
            change_ms=change_ms,
            change_share=change_ms / a_ms if a_ms > 0 else None,
            noise_ms=least_ms,
            beyond_noise=abs(change_ms) > least_ms,
        )

    def change_of_finding(self, a_ms: float, b_ms: float) -> Change:
        """The same for a part whose own spread is not known: in proportion to the step's."""
        return self.change(
            a_ms, b_ms, a_ms * self.a.spread_ms / self.a.step_ms, b_ms * self.b.spread_ms / self.b.step_ms
        )

    def change_of_little(self, a_ms: float, b_ms: float) -> Change:
        """The same for what too few steps tell."""
        return self.change(a_ms, b_ms, UNKNOWN_SPREAD * a_ms, UNKNOWN_SPREAD * b_ms)

    @cached_property
    def step(self) -> Change:
        return self.change(self.a.step_ms, self.b.step_ms, self.a.spread_ms, self.b.spread_ms)

    @cached_property
    def average(self) -> Change:
        """Twice the standard errors are within chance (95 %)."""
        errors_ms = 2 * self.a.average_error_ms, 2 * self.b.average_error_ms
        return self.change(
            self.a.average_ms, self.b.average_ms, self.a.spread_ms, self.b.spread_ms, *errors_ms
        )

    @property
    def noise_share(self) -> float:
        """Noise of the longer step."""
        return self.step.noise_ms / max(self.a.step_ms, self.b.step_ms)

    @property
    def verdict(self) -> Verdict:
        """By the typical step; where that stays, by the average one.

        The same numbers are no change, however noisy they are.
        """
        for change in (self.step, self.average):
            if change.beyond_noise:
                return "faster" if change.change_ms < 0 else "slower"
        is_same = self.step.change_ms == 0 == self.average.change_ms
        return "too_noisy" if not is_same and self.noise_share > TOO_NOISY_SHARE else "no_change"

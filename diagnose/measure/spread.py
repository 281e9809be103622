"""How far the step and the rows of the ledger can be told, from how much they differ from step to step."""

from __future__ import annotations

import numpy as np
import pandas as pd

from diagnose.measure.measured import Measured
from diagnose.trace.intervals import intersect, total

FEWEST_STEPS = 3  # of two a spread says next to nothing
FEWEST_TO_EXPLAIN = 6  # any few steps stand in the order of something
EXPLAINED = 0.5  # of the variance at least: of eight steps chance explains that much in one case of thirty


def row_noise_ms(measured: Measured, row: str) -> float | None:
    """The standard error of a row of the ledger, ms of the plain step; None of fewer
    than `FEWEST_STEPS` complete steps.

    A row is the mean of the complete steps, scaled to the plain step; this is s ÷ √n of the same
    steps, scaled alike. Not of their median deviation: that is 0 for a row which few steps have, and
    a step that strays moves the row as well.
    """
    view = measured.timeline
    if view is None or view.step_count < FEWEST_STEPS:
        return None
    there = view.ledger.rows[row]
    recorded_ns = np.array([total(intersect(there, step[None])) for step in view.windows], float)
    error_ms = float(np.std(recorded_ns, ddof=1)) / np.sqrt(len(recorded_ns)) / 1e6
    recorded_ms = view.ms_per_step(there)
    return float(error_ms * measured.row_ms(row) / recorded_ms) if recorded_ms > 0 else 0.0


def batch_share(measured: Measured) -> float:
    """Of the variance of the steps in the timeline, what they hold explains: how many elements the model was
    given, or how many operators ran. A long step with a large batch is no noise; 0 where neither tells.
    """
    view = measured.timeline
    if view is None:
        return 0.0
    return max(
        explained_share(view.complete_ns, held)
        for held in (measured.recording.input_elements("timeline"), view.operators_in_complete_steps)
    )


def explained_share(lengths: np.ndarray, held: np.ndarray) -> float:
    """Spearman's rank correlation, squared and adjusted for the number of steps; 0 below `EXPLAINED`, where
    more makes steps shorter, and of few steps. One step that strays counts as one of them.
    """
    count = len(lengths)
    if count < FEWEST_TO_EXPLAIN or len(held) != count or not np.ptp(held) or not np.ptp(lengths):
        return 0.0
    correlation = float(np.corrcoef(pd.Series(lengths).rank(), pd.Series(held).rank())[0, 1])
    explained = 1 - (1 - correlation**2) * (count - 1) / (count - 2)
    return explained if correlation > 0 and explained >= EXPLAINED else 0.0

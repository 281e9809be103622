"""How far the rows of the ledger can be told, from how much they differ from step to step."""

from __future__ import annotations

import numpy as np

from diagnose.measure.measured import Measured
from diagnose.trace.intervals import intersect, total

FEWEST_STEPS = 3  # of two a spread says next to nothing


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

"""Ranks made from few real ones are a job as it could have been: collectives are meetings, and a
planted rank costs what it is said to.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.rank_set import simulated, template, write_set
from diagnose.measure.measured import Measured
from diagnose.measure.recording import load_recording
from diagnose.ranks.job import job_of
from diagnose.ranks.summary import summary_of
from tests.fleet.rank_files import write_ranks

RANKS, LATE, LATE_US = 10, 9, 3_000


def test_the_planted_rank_is_found_and_costs_what_the_job_takes_longer(tmp_path: Path) -> None:
    real = write_ranks(tmp_path / "real", 2, late=1)
    times = write_set(real, tmp_path / "made", RANKS, LATE, LATE_US)
    job = job_of(
        summary_of(Measured(load_recording(path)), source=path.name)
        for path in sorted((tmp_path / "made").iterdir())
    )
    without = simulated([template(path) for path in real], RANKS, LATE, 0)
    assert (len(job.ranks), job.late_rank, job.cause, job.pattern) == (
        RANKS,
        LATE,
        "input_wait",
        "persistent",
    )
    assert job.state(LATE).held_up_ms == pytest.approx(times.step_ms - without.step_ms, abs=0.01)
    # the next rank is a copy of the same real one
    assert times.step_ms - without.step_ms == pytest.approx(LATE_US / 1000, rel=0.1)
    # of a host with another clock; times are rounded to us
    assert job.state(RANKS - 2).offset_error_ms == pytest.approx(0, abs=0.002)

"""What a step of several ranks hangs on.

Times as `tests.ranks.jobs` lays them out, or worked out by hand (ns).
"""

import numpy as np
import pytest

from diagnose.measure.job import PathPart
from diagnose.ranks.critical_path import Leg, OneStep, critical_path, passages, path_parts
from diagnose.ranks.job import job_of
from tests.ranks.jobs import summary

MS = 1e6


def two_ranks() -> OneStep:
    """Rank 0 comes to the first collective at 40 ms, rank 1 at 70; both leave at 80, come to the
    second at 95 and 90 and leave at 100.
    """
    return OneStep(
        arrival_ns=np.array([[40, 95], [70, 90]]) * MS,
        end_ns=np.array([[80, 100], [80, 100]]) * MS,
        begin_ns=np.zeros(2),
        kinds=["all_gather", "all_reduce"],
        spent_ns={
            "input_wait": np.array([[5, 0], [36, 0]]) * MS,
            "compute": np.array([[35, 15], [34, 10]]) * MS,
        },
    )


def test_the_path_goes_by_whoever_comes_last():
    legs = critical_path(two_ranks())
    assert legs == [
        Leg(1, 0, 0, 70 * MS, True),
        Leg(1, 0, 70 * MS, 80 * MS, False),
        Leg(0, 1, 80 * MS, 95 * MS, True),
        Leg(0, 1, 95 * MS, 100 * MS, False),
    ]
    assert path_parts(legs, two_ranks(), [4, 7]) == (
        PathPart(7, "input_wait", 36),
        PathPart(7, "compute", 34),
        PathPart(4, "compute", 15),
        PathPart(None, "all_gather", 10),
        PathPart(None, "all_reduce", 5),
    )


def test_passages_are_work_waiting_and_collectives_of_each_rank():
    found = passages(critical_path(two_ranks()), two_ranks(), [4, 7])
    told = [(one.rank, one.what, one.name, one.start_ms, one.ms, one.on_path) for one in found]
    assert told == [
        (4, "work", "compute", 0, 40, False),
        (4, "wait", "all_gather", 40, 30, False),
        (4, "collective", "all_gather", 70, 10, False),
        (4, "work", "compute", 80, 15, True),
        (4, "collective", "all_reduce", 95, 5, True),
        (7, "work", "input_wait", 0, 70, True),
        (7, "collective", "all_gather", 70, 10, True),
        (7, "work", "compute", 80, 10, False),
        (7, "wait", "all_reduce", 90, 5, False),
        (7, "collective", "all_reduce", 95, 5, False),
    ]


def test_collectives_that_overlap_are_counted_once():
    """The second begins at 75, before the first ends at 80: of it only 80 to 95 is left."""
    step = OneStep(np.array([[40.0, 75]]), np.array([[80.0, 95]]), np.zeros(1), ["a", "b"], {})
    legs = critical_path(step)
    assert [(leg.meeting, leg.begin_ns, leg.end_ns, leg.is_way) for leg in legs] == [
        (0, 0, 40, True),
        (0, 40, 75, False),
        (1, 75, 95, False),
    ]


def test_a_rank_without_part_is_passed_over():
    step = OneStep(
        np.array([[10.0, np.nan], [15, 30], [np.nan, 12]]),
        np.array([[20.0, np.nan], [20, 40], [np.nan, 40]]),
        np.zeros(3),
        ["a", "b"],
        {},
    )
    legs = critical_path(step)
    assert [(leg.rank, leg.begin_ns, leg.end_ns) for leg in legs] == [
        (1, 0, 15),
        (1, 15, 20),
        (1, 20, 30),
        (1, 30, 40),
    ]


def test_of_a_job_whose_rank_2_is_late_the_path_is_that_rank_s():
    """From all-reduce to all-reduce:

    20 ms after the all-reduce of the step before, then 35 of waiting for input, 35 of computing, 10.
    """
    step = job_of(summary(rank, late_ms=30 if rank == 2 else 0) for rank in range(4)).step
    assert step is not None
    assert step.ms == pytest.approx(100)
    assert {part.rank for part in step.path} == {2, None}
    assert sum(part.ms for part in step.path) == pytest.approx(100)
    (collective,) = (part for part in step.path if part.rank is None)
    assert (collective.name, collective.ms) == ("all_reduce", pytest.approx(10))
    assert {part.name: part.ms for part in step.path if part.rank == 2}["input_wait"] == pytest.approx(35)


def test_the_gain_of_a_job_is_that_of_the_replay():
    job = job_of(summary(rank, late_ms=30 if rank == 2 else 12 if rank == 1 else 0) for rank in range(4))
    assert (job.late_rank, job.cause, job.cause_ms) == (2, "input_wait", pytest.approx(30))
    assert job.gain_ms == pytest.approx(18)  # then rank 1 comes last, 12 ms late

"""Who holds the others up: times as `tests.ranks.jobs` lays them out (100 ms steps, everybody
comes at 40 ms, all leave at 80 ms).
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from diagnose.errors import DiagnoseError
from diagnose.ranks.arrivals import covered, median_of_others
from diagnose.ranks.job import job_of
from tests.ranks.jobs import summary


def test_the_rank_that_always_comes_30_ms_late_is_named_with_what_it_does_instead():
    job = job_of(summary(rank, late_ms=30 if rank == 2 else 0) for rank in range(4))
    assert (job.late_rank, job.pattern, job.representative) == (2, "persistent", 2)
    assert job.held_up_ms == pytest.approx(30)
    assert (job.cause, job.cause_ms) == ("input_wait", pytest.approx(30))
    assert {row: ms for row, ms in job.causes_ms.items() if ms} == {"input_wait": pytest.approx(30)}
    late, other = job.state(2), job.state(0)
    assert (late.lateness_ms, late.held_up_ms, late.last_share) == (pytest.approx(30), pytest.approx(30), 1)
    assert (other.lateness_ms, other.held_up_ms, other.last_share) == (0, 0, 0)
    assert late.lateness_series_ms == pytest.approx([30, 30, 30])  # the first of four steps does not count
    assert late.rows_ms["input_wait"] == pytest.approx(35)
    assert other.rows_ms["input_wait"] == pytest.approx(5)


def test_a_collective_s_own_time_counts_from_the_last_arrival_on():
    job = job_of(summary(rank, late_ms=30 if rank == 2 else 0) for rank in range(4))
    (one,) = job.collectives
    assert (one.kind, one.count_per_step, one.bytes_per_step) == ("all_reduce", 1, 2**20)
    assert one.ms_per_step == pytest.approx(10)  # 70 to 80 ms
    assert one.waiting_ms_per_step == pytest.approx(22.5)  # three ranks wait 30 ms
    assert one.exposed_ms_per_step == pytest.approx(32.5)  # no kernel runs beside it
    assert one.bus_gb_per_s == pytest.approx(2**20 * 2 * 3 / 4 / 0.010 / 1e9)


def test_a_clock_that_is_5_ms_ahead_makes_no_rank_late_and_is_told():
    job = job_of(summary(rank, clock_ms=5 if rank == 1 else 0) for rank in range(4))
    assert (job.late_rank, job.pattern, job.held_up_ms) == (None, "none", pytest.approx(0, abs=1e-3))
    assert [state.offset_ms for state in job.ranks] == pytest.approx([0, 5, 0, 0], abs=1e-3)
    assert [state.offset_error_ms for state in job.ranks] == pytest.approx([0] * 4, abs=1e-3)
    assert job.representative == 0


def test_lateness_is_found_under_a_clock_that_is_ahead():
    job = job_of(
        summary(rank, late_ms=30 if rank == 2 else 0, clock_ms=-700 if rank == 2 else 0) for rank in range(4)
    )
    assert (job.late_rank, job.held_up_ms) == (2, pytest.approx(30))


def test_of_two_ranks_one_is_late_by_the_whole_difference():
    job = job_of(summary(rank, late_ms=30 * rank, world_size=2) for rank in range(2))
    assert (job.late_rank, job.state(1).lateness_ms, job.held_up_ms) == (
        1,
        pytest.approx(30),
        pytest.approx(30),
    )


def test_ranks_that_take_turns_at_being_late_rotate():
    late = {0: {1: 30}, 1: {2: 30}, 2: {3: 30}, 3: {}}
    job = job_of(summary(rank, late_ms=late[rank]) for rank in range(4))
    assert (job.late_rank, job.pattern, job.representative) == (None, "rotating", 0)
    assert [state.last_share for state in job.ranks] == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])
    assert job.held_up_ms == pytest.approx(30)


def test_a_rank_that_is_late_in_most_steps_by_chance_is_not_called_late():
    """Of two ranks one comes last in five of seven steps; by 8 ms on
    average, with a standard error of 4 ms.
    """
    late = [{2: 5, 7: 5}, {1: 30, 3: 20, 4: 5, 5: 5, 6: 5}]
    job = job_of(summary(rank, late_ms=late[rank], steps=range(8), world_size=2) for rank in range(2))
    assert [state.last_share for state in job.ranks] == pytest.approx([2 / 7, 5 / 7])
    assert (job.late_rank, job.pattern) == (None, "unknown")


def test_less_than_a_hundredth_of_the_step_is_not_late():
    job = job_of(summary(rank, late_ms=0.9 if rank == 2 else 0) for rank in range(4))
    assert (job.late_rank, job.pattern) == (None, "none")


def test_one_step_names_the_late_rank_but_does_not_say_that_it_always_is():
    job = job_of(summary(rank, late_ms=30 if rank == 2 else 0, steps=range(2)) for rank in range(4))
    assert (job.late_rank, job.pattern, job.step_count) == (2, "unknown", 1)


def test_the_first_collective_of_a_single_step_does_not_count_as_nobody_knows_when_its_ranks_began():
    job = job_of(summary(rank, late_ms=30 if rank == 2 else 0, steps=range(1)) for rank in range(4))
    assert (job.matched, job.step_count, job.late_rank, job.pattern) == (1, 0, None, "unknown")
    assert np.isnan(job.held_up_ms)


def test_missing_and_duplicate_ranks_are_reported():
    job = job_of([summary(0), summary(3), summary(1), summary(3, late_ms=30)])
    assert [state.rank for state in job.ranks] == [0, 1, 3]
    assert (job.world_size, job.missing, job.duplicates) == (4, (2,), (3,))
    assert job.state(3).lateness_ms == pytest.approx(0)  # the first recording is used
    assert job.notes == (
        "There are several recordings of one rank: the first is used. Left out: rank 3 (rank3.json).",
    )


def test_recordings_that_began_at_different_steps_are_compared_in_the_steps_they_share():
    windows = {0: range(6), 1: range(2, 8), 2: range(1, 7), 3: range(6)}
    job = job_of(summary(rank, late_ms=30 if rank == 1 else 0, steps=windows[rank]) for rank in range(4))
    # steps 2 to 5 of all; 0 and 1 are not on all
    assert (job.matched, job.unmatched, job.step_count) == (4, 2, 3)
    assert (job.late_rank, job.state(1).offset_ms) == (1, pytest.approx(0, abs=1e-3))


def test_a_rank_that_recorded_other_steps_is_left_out_and_the_rest_compared():
    job = job_of(
        summary(rank, late_ms=30 if rank == 2 else 0, steps=range(50, 54) if rank == 1 else range(4))
        for rank in range(4)
    )
    assert (job.late_rank, job.state(2).lateness_ms) == (2, pytest.approx(30))
    assert np.isnan(job.state(1).lateness_ms)
    assert np.isnan(job.state(1).offset_ms)
    assert job.state(1).step_ms == pytest.approx(100)
    assert job.notes == (
        "Not compared, because its recording holds other steps or other collectives than the other ranks': "
        "rank 1 (rank1.json).",
    )


def test_traces_that_do_not_tell_their_rank_get_those_left_over_by_name():
    job = job_of([summary(2), *(_untold(name) for name in ("b.json", "a.json"))])
    assert [(state.rank, state.source) for state in job.ranks] == [
        (0, "a.json"),
        (1, "b.json"),
        (2, "rank2.json"),
    ]
    assert "0 (a.json), 1 (b.json)" in job.notes[0]


def _untold(name):
    return replace(summary(0), rank=-1, source=name)


def test_a_lone_rank_is_a_job_of_which_the_others_are_missing():
    job = job_of([summary(1, late_ms=30)])
    assert (job.missing, job.matched, job.late_rank, job.pattern, job.representative) == (
        (0, 2, 3),
        0,
        None,
        "unknown",
        1,
    )


def test_no_rank_at_all_is_an_error():
    with pytest.raises(DiagnoseError, match="no rank"):
        job_of([])


def test_what_comes_before_a_collective_that_is_not_compared_counts_for_the_next():
    """A broadcast after the loader: the 30 ms lie before it, and all wait for them in the all-reduce."""
    job = job_of(_with_broadcast(summary(rank, late_ms=30 if rank == 2 else 0)) for rank in range(4))
    assert (job.late_rank, job.cause, job.cause_ms) == (2, "input_wait", pytest.approx(30))


def _with_broadcast(one):
    before = one.collectives.assign(
        kind="broadcast",
        arrival_ns=one.collectives["arrival_ns"] - 2,
        end_ns=one.collectives["arrival_ns"] - 1,
    )
    both = (
        pd.concat([before, one.collectives.assign(input_wait=0)])
        .sort_values("arrival_ns")
        .reset_index(drop=True)
    )
    return replace(one, collectives=both)


def test_without_all_ranks_nobody_knows_how_many_share_the_bus():
    (one,) = job_of([summary(0), summary(1)]).collectives
    assert (one.bytes_per_step, one.bus_gb_per_s) == (2**20, None)


def test_waiting_for_two_collectives_at_once_counts_once():
    """Each all-reduce with another beside it, as gloo does: the second comes 1 ms after the first
    and is waited for at the same time.
    """
    job = job_of(_doubled(summary(rank, late_ms=30 * rank, world_size=2)) for rank in range(2))
    assert job.matched == 8
    # from 40 ms, when rank 0 comes to the first, to 71 ms, when rank 1 comes to the second
    assert job.held_up_ms == pytest.approx(31)
    assert job.state(1).lateness_ms == job.state(1).held_up_ms == pytest.approx(31)
    (one,) = job.collectives
    assert (one.ms_per_step, one.waiting_ms_per_step) == (pytest.approx(10), pytest.approx(31 / 2))
    assert job.cause_ms == pytest.approx(30)


def _doubled(one):
    beside = one.collectives.assign(
        arrival_ns=one.collectives["arrival_ns"] + 1_000_000, input_wait=0, compute=0, python=0
    )
    both = pd.concat([one.collectives, beside]).sort_values(["step", "arrival_ns"]).reset_index(drop=True)
    return replace(one, collectives=both)


def test_what_intervals_cover_anew():
    begin, end = np.array([[10, 0, 5, 30]]), np.array([[20, 8, 12, 25]])
    assert covered(begin, end).tolist() == [[8, 8, 4, 0]]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 5], [5, 1]),
        ([1, 5, 3], [4, 2, 3]),
        ([1, 9, 3, 4], [4, 3, 4, 3]),
        ([2, 2, 2, 7, 1], [2, 2, 2, 2, 2]),
        ([3], [3]),
    ],
)
def test_the_median_of_the_others(values, expected):
    assert median_of_others(np.array(values)[:, None])[:, 0].tolist() == expected


def test_a_late_rank_among_many_that_each_come_last_a_little_is_still_called_late():
    """In each step all wait 8 ms for rank 2 at the first collective, then three times 1 ms
    for each of the others: 9 ms together.
    """
    job = job_of(
        meeting_often(
            rank, [8] + [0] * 9 if rank == 2 else [0] + [float(rank == turn) for turn in (0, 1, 3) * 3]
        )
        for rank in range(4)
    )
    assert [state.held_up_ms for state in job.ranks] == pytest.approx([3, 3, 8, 3], abs=0.001)
    assert (job.late_rank, job.pattern) == (2, "persistent")


def meeting_often(rank, late_ms):
    """Steps of 100 ms with a collective every 10 ms that takes 9 ms; ``late_ms``: how
    late the rank comes to each of them.
    """
    one = summary(rank, steps=range(5))
    begin = one.steps["start_ns"].to_numpy()
    each = one.collectives.iloc[:1]
    rows = [
        each.assign(
            step=number,
            arrival_ns=int(begin[number] + (10 * at + late) * 1e6),
            end_ns=int(begin[number] + (10 * at + 9) * 1e6),
        )
        for number in range(5)
        for at, late in enumerate(late_ms)
    ]
    return replace(one, collectives=pd.concat(rows, ignore_index=True))


def test_whether_the_last_rank_has_the_longest_batch():
    """Ranks 0, 1 and 2 come last in turn, in steps 1, 2 and 3; in the first two
    of these their input is the largest.
    """
    late = {0: {1: 30}, 1: {2: 30}, 2: {3: 30}, 3: {}}
    inputs = {0: [5, 9, 5, 5], 1: [5, 5, 9, 5], 2: [5, 5, 5, 5], 3: [5, 5, 5, 5]}
    ranks = [with_inputs(summary(rank, late_ms=late[rank]), inputs[rank]) for rank in range(4)]
    assert job_of(ranks).longest_last_share == pytest.approx(2 / 3)
    assert job_of([*ranks[:3], with_inputs(ranks[3], [-1] * 4)]).longest_last_share is None
    assert job_of(summary(rank) for rank in range(4)).longest_last_share is None  # nobody is late


def with_inputs(one, elements):
    return replace(one, steps=one.steps.assign(input_elements=elements))

"""Two or three ranks that meet, with times worked out by hand (ns)."""

import numpy as np
import pytest

from diagnose.ranks.collective_replay import CollectiveReplay

NONE = np.nan


def test_without_a_change_the_recording_comes_out_again():
    arrival = np.array([[40.0, 140], [70, 150]])
    end = np.array([[80.0, 160], [80, 161]])
    assert CollectiveReplay(arrival, end, np.zeros(2)).end_ns() == 161


def test_a_late_rank_gains_until_the_other_one_comes_last():
    """Rank 1 comes 30 later; the collective takes 10 from then on.

    20 less: all gain 20. 50 less: rank 0 comes last, all gain 30.
    """
    meet = CollectiveReplay(np.array([[40.0], [70]]), np.array([[80.0], [80]]), np.zeros(2))
    assert meet.gain_ns(np.array([[0.0], [20]])) == 20
    assert meet.gain_ns(np.array([[0.0], [50]])) == 30
    assert meet.gain_ns(np.array([[40.0], [0]])) == 0  # who waits anyway gains nothing


def test_the_gain_is_counted_collective_by_collective():
    """Rank 1 is late by 30 to the first and by 5 to the second:

    20 less on each way gains 20 and 5, not 40 nor 35.
    """
    # the first ends at 80, so their ways to the second take 40 and 45
    arrival = np.array([[40.0, 120], [70, 125]])
    end = np.array([[80.0, 130], [80, 130]])
    assert CollectiveReplay(arrival, end, np.zeros(2)).gain_ns(np.array([[0.0, 0], [20, 20]])) == 25


def test_a_way_takes_no_less_than_nothing_and_one_hidden_behind_a_collective_stays_there():
    """The second arrival lies 10 before the first collective's end: it goes with that
    end, whatever is taken off its way.
    """
    arrival, end = np.array([[40.0, 70], [70, 75]]), np.array([[80.0, 95], [80, 95]])
    meet = CollectiveReplay(arrival, end, np.zeros(2))
    assert meet.end_ns() == 95
    assert meet.gain_ns(np.array([[0.0, 0], [30, 50]])) == 30
    alone = CollectiveReplay(np.array([[40.0]]), np.array([[50.0]]), np.zeros(1))
    assert alone.gain_ns(np.array([[1000.0]])) == 40


def test_ranks_that_take_no_part_are_not_waited_for():
    """Ranks 0 and 1 meet, then 1 and 2; rank 0 is over at 20.

    If rank 1 came 5 earlier to the second, all were over 5 earlier.
    """
    arrival = np.array([[10.0, NONE], [15, 30], [NONE, 12]])
    end = np.array([[20.0, NONE], [20, 40], [NONE, 40]])
    meet = CollectiveReplay(arrival, end, np.zeros(3))
    assert meet.end_ns() == 40
    assert meet.gain_ns(np.array([[0.0, 0], [0, 5], [0, 0]])) == 5
    assert meet.gain_ns(np.array([[0.0, 0], [15, 0], [0, 0]])) == 5  # then rank 0 comes last to the first


@pytest.mark.parametrize("seed", range(5))
def test_any_recording_comes_out_again(seed):
    rng = np.random.default_rng(seed)
    arrival, ready = np.empty((4, 30)), np.zeros(4)
    end = np.empty_like(arrival)
    for meeting in range(30):
        arrival[:, meeting] = ready + rng.uniform(0, 10, 4)
        end[:, meeting] = ready = arrival[:, meeting].max() + rng.uniform(1, 2) + rng.uniform(0, 0.1, 4)
    assert CollectiveReplay(arrival, end, np.zeros(4)).end_ns() == pytest.approx(end.max())

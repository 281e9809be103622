"""One number a run, worked out by hand."""

import numpy as np
import pytest

from diagnose.verify.timing import mean_steps_ms, steady_from, step_ms


def trial(*ends_ms: float, device: bool = False) -> dict:
    return {"tick_ns": [int(end * 1e6) for end in ends_ms], "device_ms": list(ends_ms) if device else None}


def test_a_step_goes_from_end_to_end() -> None:
    assert step_ms(trial(5, 7, 10), 1).tolist() == [2, 3]


def test_a_step_of_two_ticks_ends_with_the_second() -> None:
    # from the second tick (7) to the fourth (16); the fifth ends none
    assert step_ms(trial(5, 7, 10, 16, 18), 2).tolist() == [9]


def test_the_gpus_clock_goes_before_the_hosts() -> None:
    both = trial(0, 1, 2) | {"device_ms": [0.0, 4.0, 9.0]}
    assert step_ms(both, 1).tolist() == [4, 5]


@pytest.mark.parametrize(
    ("series", "first"),
    [
        ([2.0] * 10, 0),
        ([9.0, 5.0] + [2.0] * 8, 2),
        ([9.0] * 5 + [2.0] * 5, 5),  # half of it: more is never cut off
        ([3.0, 2.0], 0),  # too few to tell
        ([9.0] * 10 + [2.0] * 90, 10),  # from 50 steps on in batches of five
        ([2.0] * 52, 0),
    ],
)
def test_the_warm_up_ends_where_what_is_left_is_known_best(series: list[float], first: int) -> None:
    assert steady_from(np.array(series)) == first


def test_both_arms_are_compared_over_the_same_steps() -> None:
    before = [np.array([2.0] * 10), np.array([4.0] * 12)]
    after = [np.array([50.0, 50.0, 50.0] + [1.0] * 7), np.array([60.0, 50.0, 50.0] + [3.0] * 7)]
    means_before, means_after, first, last = mean_steps_ms(before, after, untimed=1)
    assert (first, last) == (3, 10)
    assert (means_before, means_after) == ([2, 4], [1, 3])


def test_one_disturbed_run_does_not_move_the_cut() -> None:
    quiet = [np.array([2.0] * 10)] * 2
    disturbed = np.array([9.0, 9.0, 9.0] + [2.0] * 7)
    assert mean_steps_ms([*quiet, disturbed], [*quiet, quiet[0]], untimed=1)[2] == 1

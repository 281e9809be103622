"""One number a run, worked out by hand."""

import numpy as np
import pytest

from diagnose.verify.timing import lasting_ratio, mean_steps_ms, steady_from, step_ms


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


@pytest.mark.parametrize(
    ("supply", "ratio"),
    [
        # (tick, batches taken, batches ready): of 20 taken 10 were ready before, and 10 fetched meanwhile
        ([(10, 10, 30), (20, 20, 25), (30, 30, 20)], 2.0),
        ([(10, 20, 30), (20, 40, 25), (30, 60, 20)], 4 / 3),  # two for each step: of 40
        ([(10, 10, 8), (20, 20, 8), (30, 30, 6)], 1.0),  # as workers happen to end them
        ([(10, 10, 0), (20, 20, 5), (30, 30, 8)], 1.0),  # workers are faster than the script
        ([(4, 4, 40), (30, 30, 0)], 1.0),  # of the steps compared there is one count
        ([(10, 90, 30), (30, 10, 0)], 1.0),  # of another epoch
        ([], 1.0),
    ],
)
def test_a_step_that_lives_on_what_was_ready_takes_longer_in_the_long_run(
    supply: list[tuple[int, int, int]], ratio: float
) -> None:
    # of steps 11 to 30: `step_ms` counts from the second as 0
    assert lasting_ratio({"supply": supply}, 1, first=9, last=29) == pytest.approx(ratio)

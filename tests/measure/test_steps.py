"""Which line makes a slow step slow, on two steps worked out by hand."""

from __future__ import annotations

import math

import pytest

from diagnose.judge.timelines import measured_case
from diagnose.measure.measured import FACT_SELECTORS
from diagnose.measure.metrics import Measured
from diagnose.measure.missing import Missing

TWO_STEPS = """
main  0     2000  step  ProfilerStep#1
main  1100  800   op    aten::mm
main  2000  1000  step  ProfilerStep#2
main  2100  800   op    aten::mm
"""


@pytest.mark.parametrize(
    ("calls", "line"),
    [
        ("0  900  41  <built-in function sorted>", 41),  # all that the first step takes beyond the second
        ("0  450  41  <built-in function sorted>", -1),  # less than half of it
        # the second step has it too
        ("0  900  41  <built-in function sorted>\n2000  700  41  <built-in function sorted>", -1),
    ],
)
def test_the_line_of_a_slow_step(calls: str, line: int) -> None:
    # the first does not count
    one = measured_case({"timeline": TWO_STEPS, "calls": calls, "plain_ms": [10] * 10 + [30]})
    places = FACT_SELECTORS["slow_steps"].places(one)
    assert [(place.line, place.ms_per_step) for place in places] == [(line, 2.0)]  # type: ignore[union-attr]


def test_the_distance_of_slow_steps() -> None:
    assert (
        measured_case({"timeline": TWO_STEPS, "plain_ms": [10, 10, 30, 10, 10, 30, 10, 10, 30]}).metric(
            "slow_step_distance"
        )
        == 3
    )


@pytest.mark.parametrize(
    ("metric", "why"), [("disturbed", "other processes kept"), ("waits_in_vain", "threads often had no core")]
)
def test_it_is_told_whose_fault_it_is_that_steps_are_slow_at_random(
    monkeypatch: pytest.MonkeyPatch, metric: str, why: str
) -> None:
    as_is = Measured.metric
    monkeypatch.setattr(Measured, "metric", lambda one, name: name == metric or as_is(one, name))
    slow = FACT_SELECTORS["slow_steps"].places(measured_case({"timeline": TWO_STEPS, "plain_ms": [10] * 9}))
    assert isinstance(slow, Missing) and slow.reason.startswith(why)


def test_slow_steps_in_a_row_are_one_occasion() -> None:
    # the first does not count
    one = measured_case({"timeline": TWO_STEPS, "plain_ms": [10, 10, 30, 20, 10, 10, 10, 30, 20, 10, 10]})
    assert one.metric("slow_steps_count_per_step") == pytest.approx(2 / 10)
    assert one.metric("slow_step_distance") == 5
    assert one.metric("slow_step_ms") == 30
    assert one.metric("slow_steps_ms") == pytest.approx((20 + 10 + 20 + 10) / 10)


VARY = {"forward": {"shape_count": 9}}


def of_batches(elements: list[int]) -> Measured:
    """Eight recorded steps of 1 to 8 ms."""
    starts = [sum(range(1, number)) * 1000 for number in range(1, 9)]
    steps = "\n".join(
        f"main {start} {number * 1000} step ProfilerStep#{number}\nmain {start + 100} 800 op aten::mm"
        for number, start in enumerate(starts, 1)
    )
    plain_ms = [12.0, 20, 6, 8, 10, 4, 14, 16, 18]
    phases = [
        {"name": "plain", "first_tick": 0, "tick_ns": ticks(plain_ms)},
        {"name": "timeline", "first_tick": 9, "input_elements": elements},
    ]
    return measured_case({"timeline": steps, "clock": {"phases": phases}, "facts": VARY})


def test_what_batches_hold_is_no_noise() -> None:
    # 4 to 20 ms: the median distance from 12 is 4
    noise_ms = 2 * 1.2533 * 1.4826 * 4 / math.sqrt(9)
    assert of_batches([5] * 8).metric("noise_ms") == pytest.approx(noise_ms)
    # ranks 1 to 8 with the last two in each other's place: 1 - 6 (1 + 1) ÷ 8 (64 - 1) = 0.9762
    explained = 1 - (1 - (1 - 12 / 504) ** 2) * 7 / 6
    found = of_batches([10, 20, 30, 40, 50, 60, 80, 70]).metric("noise_ms")
    assert found == pytest.approx(noise_ms * math.sqrt(1 - explained))
    # larger batches in shorter steps explain nothing, nor does one large batch of a long step
    assert of_batches([8, 7, 6, 5, 4, 3, 2, 1]).metric("noise_ms") == pytest.approx(noise_ms)
    assert of_batches([1, 1, 1, 1, 1, 1, 1, 90]).metric("noise_ms") == pytest.approx(noise_ms)


EPOCHS = {"num_workers": 0, "dataset_length": 60, "batches_per_epoch": 6, "iterator_start_ms": [1, 1, 1]}


def of_epochs(plain_ms: list[float], first_tick: int = 2, **loader: object) -> Measured:
    """The plain phase begins with the end of the third batch, so its third step
    fetches the sixth: the epoch's last.
    """
    clock = {
        "per_step": {"fetch": 1.0},
        "phases": [{"name": "plain", "first_tick": first_tick, "tick_ns": ticks(plain_ms)}],
    }
    facts = {"loaders": [EPOCHS | loader]}
    return measured_case({"timeline": TWO_STEPS, "clock": clock, "plain_ms": plain_ms, "facts": facts})


def ticks(steps_ms: list[float]) -> list[int]:
    return [0, *(round(sum(steps_ms[: i + 1]) * 1e6) for i in range(len(steps_ms)))]


def test_slow_steps_at_an_epochs_end_are_the_epochs() -> None:
    # Batches 4 to 16; 7 and 13 begin an epoch. 30 and 10 ms beyond the median at the first
    # end, 50 at the second: 45 on average.
    plain_ms = [10.0, 10, 10, 40, 20, 10, 10, 10, 10, 60, 10, 10, 10]
    one = of_epochs(plain_ms)
    assert one.metric("epoch_step_count") == 6
    assert (one.metric("epoch_ends_seen"), one.metric("epoch_end_ms")) == (2, 45)
    assert one.metric("epoch_ends_ms") == pytest.approx(45 / 6)
    assert one.metric("epoch_ends_run_share") == pytest.approx(45 / (6 * 10 + 45))
    assert one.metric("slow_steps_ms") == 0
    elsewhere = of_epochs([10.0, 10, 10, 10, 10, 40, 10, 10, 10, 10, 10, 10, 10])
    assert (elsewhere.metric("epoch_ends_ms"), elsewhere.metric("slow_steps_ms")) == (
        0,
        pytest.approx(30 / 12),
    )


def test_what_follows_an_end_that_is_not_counted_is_not_counted_either() -> None:
    """Batches 7 to 14: the step of the seventh, after which the first plain one is left out, and of the 13th
    begin an epoch. The step of the eighth catches up by 20 ms; the second end takes 40.
    """
    one = of_epochs([70.0, 30, 10, 10, 10, 10, 50, 10], first_tick=5)
    assert (one.metric("epoch_ends_seen"), one.metric("epoch_end_ms")) == (1, 40)


def test_what_the_workers_start_costs_is_not_the_epoch_ends() -> None:
    # 30 ms beyond the median at each end, of which the workers' start, 20 ms of the time to the
    # first batch, has a rule of its own.
    one = of_epochs(
        [10.0, 10, 10, 40, 10, 10, 10, 10, 10, 40, 10], num_workers=2, iterator_start_ms=[90, 20, 20]
    )
    assert one.metric("epoch_starts_ms") == pytest.approx(20 / 6)
    assert one.metric("epoch_ends_ms") == pytest.approx((30 - 20) / 6)


@pytest.mark.parametrize(
    "loader", [{"iterator_start_ms": [1]}, {"batches_per_epoch": None}, {"batches_per_epoch": 3}]
)
def test_without_a_second_epoch_of_known_length_no_step_is_at_its_end(loader: dict[str, object]) -> None:
    one = of_epochs([10.0, 10, 10, 40, 10, 10, 10, 10, 10, 40, 10], **loader)
    assert isinstance(one.metric("epoch_ends_ms"), Missing)
    assert one.metric("slow_steps_ms") == pytest.approx(6)

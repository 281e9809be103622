"""What is left of recorded times without the profiler, on steps worked out by hand: costs are a
microsecond an event, and 4 a frame.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.overhead import Slowed, fitted_us
from diagnose.judge.timelines import measured_case, trace_from_text
from diagnose.measure import metrics  # noqa: F401  registers the metrics that a Measured asks for
from diagnose.measure.distortion import EventCosts, PlainTime, RecordedEvents, detail_time, timeline_time
from diagnose.measure.selection import Selection
from diagnose.trace.own_time import OwnTime

COSTS = EventCosts(frame=4.0, other=1.0, first_frame=0.0, first_other=0.0)
# 1000 µs: 400 with a hundred operators, 600 of Python in which nothing is recorded but the step's own two.
MANY_OPERATORS = """
main  0    1000  step  ProfilerStep#1
main  600  4     op    aten::add  {"repeat": 100, "every": 4}
"""
EVERYTHING = np.array([[0, 1_000_000]], np.int64)


def recorded(text: str, costs: EventCosts = COSTS) -> RecordedEvents:
    return RecordedEvents(Selection(trace_from_text(text)), costs)


def plain(
    text: str, plain_step_us: float, detail: str | None = None, known_us: dict[str, float] | None = None
) -> PlainTime:
    known_ms = {row: us / 1e3 for row, us in (known_us or {}).items()}
    return timeline_time(recorded(text), recorded(detail) if detail else None, plain_step_us / 1e3, known_ms)


def rows_us(time: PlainTime) -> dict[str, float]:
    return {row: 1e3 * ms for row, ms in time.rows_ms.items() if ms}


def us(time: PlainTime, start: int, end: int) -> float:
    return 1e3 * time.ms(np.array([[1000 * start, 1000 * end]], np.int64))


def test_events_cost_and_silence_does_not() -> None:
    # 100 µs too long: all of it is the operators', and next to nothing that of
    # the one event in the 600 µs of Python.
    assert rows_us(plain(MANY_OPERATORS, 900)) == pytest.approx({"python": 600, "operators": 300}, abs=1)


def test_a_sleep_takes_what_it_takes() -> None:
    time = plain(MANY_OPERATORS, 900)
    assert us(time, 100, 500) == pytest.approx(400, abs=1)
    assert us(time, 800, 1000) == pytest.approx(150, abs=1)


def test_the_rows_add_up_to_the_plain_step_whatever_it_takes() -> None:
    for plain_us in (1, 50, 300, 700, 900, 999, 1000, 1500):
        time = plain(MANY_OPERATORS, plain_us)
        assert sum(rows_us(time).values()) == pytest.approx(plain_us)
        assert 1e3 * time.ms(EVERYTHING) == pytest.approx(plain_us)


def test_a_plain_step_as_long_as_the_recorded_one_has_nothing_taken_off() -> None:
    assert rows_us(plain(MANY_OPERATORS, 1000)) == pytest.approx({"python": 600, "operators": 400})
    assert rows_us(plain(MANY_OPERATORS, 2000)) == pytest.approx({"python": 1200, "operators": 800})


def test_what_events_cannot_explain_is_taken_from_all_in_proportion() -> None:
    # 500 µs too long: the operators cost at most twice 100 µs, which leaves 600 and
    # 200 of 800; 500 of that are the step.
    assert rows_us(plain(MANY_OPERATORS, 500)) == pytest.approx({"python": 375, "operators": 125}, abs=2)


def test_events_never_cost_most_of_their_time() -> None:
    crowded = "main 0 1000 step ProfilerStep#1\n" + 'main 600 1 op aten::add {"repeat": 400, "every": 1}'
    # Twice a microsecond each would be 800; 0.6 of the 400 µs are.
    assert rows_us(plain(crowded, 760)) == pytest.approx({"python": 600, "operators": 160}, abs=2)


def test_the_first_event_of_a_name_costs_more() -> None:
    two_names = """
    main  0    1000  step  ProfilerStep#1
    main  10   190   op    aten::mm
    main  200  200   mark  forward@5
    main  400  200   mark  forward@6
    """
    first = EventCosts(frame=0.0, other=0.0, first_frame=0.0, first_other=50.0)
    costs = recorded(two_names, first).row_costs_ms
    assert costs["operators"] == pytest.approx(0.05)
    assert costs["forward"] == pytest.approx(0.05)


def test_frames_have_a_cost_of_their_own() -> None:
    frames = MANY_OPERATORS + 'main 100 1 python train.py(5): main {"repeat": 10, "every": 2}\n'
    assert recorded(frames).row_costs_ms["python"] == pytest.approx(0.04, abs=0.002)


def test_a_row_that_the_slower_recording_has_shorter_was_disturbed() -> None:
    timeline = (
        "main 0 1000 step ProfilerStep#1\nmain 0 600 mark backward@5\nmain 600 200 mark "
        "optimizer@6\nmain 610 9 op aten::add"
    )
    detail = (
        "main 0 900 step ProfilerStep#1\nmain 0 300 mark backward@5\nmain 300 210 mark optimizer@6\nmain "
        "310 9 op aten::add"
    )
    # Backward took 300 µs longer than in the detail phase: that is the excess.
    assert rows_us(plain(timeline, 700, detail)) == pytest.approx(
        {"backward": 300, "optimizer": 200, "python": 200}, abs=6
    )


def test_a_recording_shorter_than_the_plain_step_tells_nothing_about_disturbance() -> None:
    timeline = "main 0 1000 step ProfilerStep#1\nmain 0 500 mark backward@5\nmain 9 9 op aten::add"
    detail = "main 0 500 step ProfilerStep#1\nmain 0 20 mark backward@5\nmain 9 9 op aten::add"
    assert rows_us(plain(timeline, 800, detail)) == pytest.approx({"backward": 400, "python": 400}, abs=5)


def test_a_row_measured_in_plain_steps_stays_as_measured() -> None:
    loading = "main 0 1000 step ProfilerStep#1\nmain 0 600 mark next@5\nmain 600 400 op aten::mm"
    time = plain(loading, 500, known_us={"input_wait": 150})
    assert rows_us(time) == pytest.approx({"input_wait": 150, "operators": 350})
    assert us(time, 0, 200) == pytest.approx(50, abs=1)


def test_a_measured_row_longer_than_the_step_is_not_believed() -> None:
    loading = "main 0 1000 step ProfilerStep#1\nmain 0 600 mark next@5\nmain 600 400 op aten::mm"
    assert rows_us(plain(loading, 500, known_us={"input_wait": 600})) == pytest.approx(
        {"input_wait": 300, "operators": 200}, abs=2
    )


def test_events_beside_a_busy_gpu_cost_nothing() -> None:
    gpu = """
    main  0    1000  step     ProfilerStep#1
    main  1    5     runtime  cudaLaunchKernel  {"correlation": 1}
    gpu   100  500   kernel   gemm  {"correlation": 1}
    main  110  4     op       aten::add  {"repeat": 100, "every": 4}
    main  600  4     op       aten::add  {"repeat": 100, "every": 4}
    """
    time = plain(gpu, 900)
    assert 1e3 * time.rows_ms["compute"] == pytest.approx(500, abs=2)
    assert 1e3 * time.rows_ms["launch_bound"] == pytest.approx(300, abs=8)
    assert sum(rows_us(time).values()) == pytest.approx(900)


def test_a_call_of_the_detail_phase_takes_no_more_than_the_timeline_says() -> None:
    # 600 µs of Python on the timeline; 900 in the detail phase, where 50 frames of 4 µs begin in its first
    # 200.
    detail = (
        MANY_OPERATORS.replace("0    1000", "-300 1300")
        + 'main -300 4 python train.py(5): f {"repeat": 50, "every": 4}\n'
    )
    time = detail_time(recorded(detail), {"python": 0.6, "operators": 0.4})
    assert 1e3 * time.ms(np.array([[0, 2_000_000]], np.int64)) == pytest.approx(1000, abs=1)
    quiet_us, busy_us = us(time, 400, 700), us(time, 0, 200)
    assert quiet_us == pytest.approx(300, abs=20)  # recorded 300
    assert busy_us < 100  # recorded 200


def test_without_a_plain_phase_times_are_as_recorded() -> None:
    measured = measured_case({"timeline": MANY_OPERATORS})
    assert measured.timeline_ms(EVERYTHING) == 1.0
    assert measured.row_ms("operators") == 0.4
    assert measured.plain_ms(0.25, of_input_wait=False) == 0.25


def test_a_selectors_time_and_the_row_it_stands_for_agree() -> None:
    loading = "main 0 1000 step ProfilerStep#1\nmain 0 600 mark next@5\nmain 600 400 op aten::mm"
    measured = measured_case({"timeline": loading, "plain_ms": [0.5] * 4})
    assert measured.metric("input_wait_ms") == pytest.approx(measured.row_ms("input_wait"))
    assert sum(map(measured.row_ms, ("input_wait", "operators", "python"))) == pytest.approx(0.5)


def slept(text: str, start: int, end: int) -> RecordedEvents:
    """The timeline, of which the thread slept from one moment to another (µs)."""
    trace, moments = trace_from_text(text), np.array([0, start, end, 1000], float) * 1e3
    own_time = OwnTime(moments, moments, np.array([0, 0, end - start, end - start], float) * 1e3)
    return RecordedEvents(Selection(replace(trace, own_time=own_time)), COSTS)


def test_sleep_is_not_slowed_whatever_nothing_explains() -> None:
    # 600 µs of Python, 500 of them asleep; 400 of operators. The events explain 200 of 450 µs too many; the
    # rest comes off work alone: of 100 + 200 µs 50 are left.
    time = timeline_time(slept(MANY_OPERATORS, 50, 550), None, 0.55, {})
    assert rows_us(time) == pytest.approx({"python": 500 + 100 / 6, "operators": 200 / 6}, abs=2)
    assert us(time, 50, 550) == pytest.approx(500, abs=1)
    assert us(time, 560, 590) == pytest.approx(30 / 6, abs=1)


def test_sleep_longer_than_the_plain_step_is_not_believed() -> None:
    time = timeline_time(slept(MANY_OPERATORS, 0, 600), None, 0.5, {})
    assert rows_us(time) == pytest.approx({"python": 375, "operators": 125}, abs=2)


def test_a_mark_costs_time_before_it_begins() -> None:
    reads = (
        "main 0 1000 step ProfilerStep#1\nmain 900 9 op aten::add\n"
        + 'main 100 2 mark item@5 {"repeat": 50, "every": 10}\n'
    )
    costs = recorded(
        reads, EventCosts(frame=0.0, other=0.0, first_frame=0.0, first_other=0.0, mark=5.0)
    ).row_costs_ms
    assert costs == pytest.approx(
        {"python": 0.25, "host_reads": 0.0}
        | {row: 0.0 for row in costs if row not in ("python", "host_reads")}
    )


def test_an_empty_ledger_costs_nothing() -> None:
    assert (
        plain("main 0 1000 step ProfilerStep#1\nmain 0 1000 op aten::mm", 800).ms(np.empty((0, 2), np.int64))
        == 0
    )


def test_fitted_costs_pass_over_a_disturbed_step() -> None:
    # 2 µs an event of the one kind, 30 of the other; the fourth step took 90 ms longer for another reason.
    counts = [(1000, 0), (0, 100), (500, 200), (800, 50), (100, 100)]
    steps = [
        Slowed("", 2 * one + 30 * other + 90_000 * (one == 800), {"one": one, "other": other})
        for one, other in counts
    ]
    assert fitted_us(steps, ["one", "other"]) == pytest.approx({"one": 2, "other": 30}, rel=0.05)
    assert fitted_us(steps, ["other"], known_us={"one": 2}) == pytest.approx({"other": 30}, rel=0.05)


# ---- a GPU

# Ten kernels of 60 µs, 100 µs apart: each is launched 5 µs before it starts, while the GPU waits for it.
SLOW_HOST = """
main  0    1000  step     ProfilerStep#1
main  0    1000  op       aten::mul
main  35   5     runtime  cudaLaunchKernel  {"correlation": 1, "repeat": 10, "every": 100}
gpu   40   60    kernel   mul               {"correlation": 1, "repeat": 10, "every": 100}
"""


@pytest.mark.parametrize(
    ("plain_us", "rows"),
    [
        (800, {"compute": 600, "launch_bound": 200}),  # 200 µs too long: the GPU waits as much less
        (1000, {"compute": 600, "launch_bound": 400}),
        # plain steps are slower for a reason that no recording shows
        (2000, {"compute": 1200, "launch_bound": 800}),
        # 1.2 µs from one kernel to the next: no host can shorten that
        (612, {"compute": 600, "unattributed": 12}),
        (600, {"compute": 600}),
        (500, {"compute": 500}),
    ],
)
def test_the_profiler_slows_the_host_and_not_the_gpu(plain_us: float, rows: dict[str, float]) -> None:
    assert rows_us(plain(SLOW_HOST, plain_us)) == pytest.approx(rows)


def test_nothing_is_launch_bound_where_the_host_runs_ahead_in_plain_steps() -> None:
    time = timeline_time(recorded(SLOW_HOST), None, 0.7, {}, host_ahead=True)
    assert rows_us(time) == pytest.approx({"compute": 600, "unattributed": 100})

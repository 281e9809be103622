"""Delays left out, typical steps, parts of a step: on samples worked out by hand.

Times in the texts are ms.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from diagnose.judge.timelines import ZERO_NS, trace_from_text
from diagnose.measure.calls import call_table
from diagnose.measure.measured import Measured
from diagnose.measure.metrics import METRICS
from diagnose.measure.missing import Missing
from diagnose.measure.own_time import fetches_in_own_time, in_own_time
from diagnose.measure.parts import part_times
from diagnose.measure.processor import RECORD, Samples, Stretches, samples_within, step_stretches
from diagnose.measure.recording import FETCH_RECORD, Recording
from diagnose.measure.typical import typical
from diagnose.trace.schema import Trace

MS = 1_000_000
T, E, F, B, S, N = 0, 5, 1, 2, 3, 4  # a tick, the end of what we do at it, the parts (S: the optimizer's)


def table(*samples: tuple[float, ...]) -> pd.DataFrame:
    """Rows of border, time, time run, delay, delay of the pool (-1 unknown), all since the
    beginning, ms; a sample takes no time.
    """
    rows = [
        (border, *(round(ms * MS) if ms >= 0 else -1 for ms in (time, time, time, ran, delay, pool)), -1)
        for border, time, ran, delay, pool in samples
    ]
    return pd.DataFrame(np.array(rows, RECORD))


def within(samples: pd.DataFrame) -> Samples:
    found = samples_within(samples, 0, 10**12)
    assert found is not None
    return found


def stretches(*samples: tuple[float, ...]) -> Stretches:
    return within(table(*samples)).stretches


def in_ms(column: np.ndarray) -> list[float]:
    return (column / MS).round(6).tolist()


def steps_of(wall: list[float], lost: list[float]) -> Stretches:
    wall_ns, lost_ns = np.array(wall) * MS, np.array(lost) * MS
    return Stretches(wall_ns, wall_ns - lost_ns, np.zeros(len(wall)))


# ---- stretches


def test_a_delay_does_not_count_and_sleep_does() -> None:
    # 10 ms of which it ran 3 and had no core for 2: it slept 5, and without others would have taken 8.
    found = stretches((T, 0, 0, 0, -1), (T, 10, 3, 2, -1))
    assert in_ms(found.undelayed_ns) == [8]
    assert in_ms(found.slept_ns) == [5]
    assert found.lost_share.tolist() == pytest.approx([0.2])


def test_what_it_ran_while_others_were_delayed_counts_in_proportion() -> None:
    # It ran all 10 ms, but the other thread had no core for 8 of them: they ran together for
    # 2. It would have slept all the same.
    found = stretches((T, 0, 0, 0, 0), (T, 10, 10, 0, 8), (T, 20, 10, 0, 16))
    assert in_ms(found.undelayed_ns) == pytest.approx([2, 10])


def test_a_delay_in_the_middle_of_a_sample_is_in_no_stretch() -> None:
    # The second sample lost 4 ms before it asked for the delay, and 3 after; between the
    # samples it sleeps 1 ms, then loses 2 more.
    samples = table((T, 0, 0, 0, -1), (T, 10, 9, 4, -1), (T, 27, 17, 9, -1))
    samples.loc[1, ["middle_ns", "end_ns"]] = [14 * MS, 17 * MS]
    found = within(samples).stretches
    assert in_ms(found.wall_ns) == [10, 10]
    assert in_ms(found.undelayed_ns) == pytest.approx([10, 8], abs=0.05)
    assert in_ms(found.slept_ns) == pytest.approx([1, 0], abs=0.05)


def test_what_we_do_at_a_tick_takes_no_time() -> None:
    found = step_stretches(
        table((T, 0, 0, 0, -1), (E, 1, 1, 0, -1), (T, 10, 10, 0, -1), (E, 13, 10, 3, -1), (T, 20, 17, 3, -1)),
        {"tick_ns": [0, 10 * MS, 20 * MS]},
        1,
    )
    assert found is not None
    assert in_ms(found.wall_ns) == [9, 7]
    assert in_ms(found.undelayed_ns) == [9, 7]


def test_without_the_kernels_file_never_losing_a_core_is_no_delay() -> None:
    samples = table((T, 0, 0, -1, -1), (T, 10, 10, -1, -1), (T, 30, 20, -1, -1)).assign(switches=[3, 3, 5])
    found = within(samples).stretches
    assert found.undelayed_ns[0] == 10 * MS
    assert np.isnan(found.undelayed_ns[1])
    assert in_ms(found.lengths_ns) == [10, 20]


def test_two_ticks_a_step_are_added_up() -> None:
    samples = table(*((T, at, at, 0, -1) for at in (0, 1, 3, 4, 7)))
    phase = {"tick_ns": [at * MS for at in (0, 1, 3, 4, 7)]}
    found = step_stretches(samples, phase, 2)
    assert found is not None
    assert in_ms(found.undelayed_ns) == [3, 4]
    assert step_stretches(samples, None, 1) is None


def test_steps_between_two_samples_share_what_they_tell() -> None:
    # Steps of 2, 3 and 5 ms with a sample at both ends: it ran 4 of the 10 ms,
    # had no core for 3, and slept for 3.
    phase = {"tick_ns": [0, 2 * MS, 5 * MS, 10 * MS]}
    found = step_stretches(table((T, 0, 0, 0, -1), (T, 10, 4, 3, -1)), phase, 1)
    assert found is not None
    assert in_ms(found.wall_ns) == [2, 3, 5]
    assert in_ms(found.undelayed_ns) == [2, 3, 2]  # the delay is the longest step's
    assert in_ms(found.slept_ns) == pytest.approx([0.6, 0.9, 1.5])


def test_steps_behind_the_last_sample_are_unknown() -> None:
    phase = {"tick_ns": [0, 2 * MS, 5 * MS, 10 * MS]}
    found = step_stretches(table((T, 0, 0, 0, -1), (T, 5, 5, 0, -1)), phase, 1)
    assert found is not None
    assert in_ms(found.undelayed_ns[:2]) == [2, 3]
    assert np.isnan(found.undelayed_ns[2])
    assert in_ms(found.lengths_ns) == [2, 3, 5]
    one_sample = step_stretches(table((T, 0, 0, 0, -1)), phase, 1)
    assert one_sample is not None
    assert np.isnan(one_sample.undelayed_ns).all()


def test_delayed_steps_stand_for_none_as_long_as_others_do() -> None:
    found = typical(steps_of([10, 10, 30, 10, 50], [0, 0.1, 19, 0, 35]))
    assert found.chosen.tolist() == [True, True, False, True, False]
    assert (found.mean_ns, found.delayed) == (pytest.approx(29.9 / 3 * MS), False)


def test_where_all_steps_are_delayed_the_least_delayed_stand_for_all_without_their_delays() -> None:
    found = typical(steps_of([20, 40, 15, 12, 80, 90, 30, 25], [10, 29, 5, 2, 68, 81, 19, 14]))
    assert found.chosen.tolist() == [True, False, True, True, False, False, False, True]  # half of them
    assert found.delayed
    assert found.mean_ns == pytest.approx(10.25 * MS)  # of 20, 15, 12 and 25 with 10, 5, 2 and 14 lost


def test_a_step_far_longer_than_the_others_or_a_stub_is_none() -> None:
    found = typical(steps_of([10, 11, 10, 40, 9, 2, 10], [0] * 7))
    assert found.chosen.tolist() == [True, True, True, False, True, False, True]
    assert found.mean_ns == 10 * MS


def test_what_every_second_step_does_is_no_exception() -> None:
    assert typical(steps_of([10, 18] * 5, [0] * 10)).mean_ns == 14 * MS


def test_steps_that_vary_by_nature_all_count() -> None:
    assert typical(steps_of([10, 11, 10, 40, 9], [0] * 5), vary=True).mean_ns == 16 * MS


def test_the_first_step_follows_what_ended_the_phase_before() -> None:
    assert typical(steps_of([12, 10, 10, 10], [0] * 4)).mean_ns == 10 * MS
    # too few to leave one out
    assert typical(steps_of([12, 10, 10], [0] * 3)).mean_ns == pytest.approx(32 / 3 * MS)


# ---- parts


def step(begin: float, *, delayed: float = 0.0, slept: float = 0.0) -> list[tuple[float, ...]]:
    """A step of 10 ms less our own:

    1 for the next batch, 2 forward, 3 backward, 1 the optimizer, the rest 3; forward is delayed.
    """
    at, ran, lost = begin, begin, 0.0
    found = []
    for border, more in ((N, 0.5), (-N, 1), (F, 0.5), (-F, 2), (B, 0.5), (-B, 3), (S, 0.5), (-S, 1), (T, 1)):
        at, ran = at + more, ran + more
        if border == -F:
            at, lost = at + delayed, lost + delayed
        if border == T:
            at += slept
        found.append((border, at, ran, lost))
    return found


def steps(*options: dict[str, float]) -> pd.DataFrame:
    at = ran = lost = 0.0
    rows: list[tuple[float, ...]] = [(T, 0.0, 0.0, 0.0, -1)]
    for one in options:
        rows += [
            (border, at + when, ran + worked, lost + waited, -1)
            for border, when, worked, waited in step(0.0, **one)
        ]
        at, ran, lost = rows[-1][1], rows[-1][2], rows[-1][3]
    return table(*rows)


def test_the_parts_of_a_step() -> None:
    parts = part_times(within(steps({}, {}, {}, {})), 1)
    assert parts is not None
    assert parts.ms == pytest.approx(
        {"input_wait": 1, "backward": 3, "forward": 2, "optimizer": 1, "rest": 3}
    )
    assert parts.slept_ms == pytest.approx(dict.fromkeys(parts.ms, 0))


def test_a_delayed_part_does_not_count_and_the_others_of_its_step_do() -> None:
    parts = part_times(within(steps({}, {"delayed": 8}, {"delayed": 8}, {}, {})), 1)
    assert parts is not None
    assert parts.ms == pytest.approx(
        {"input_wait": 1, "backward": 3, "forward": 2, "optimizer": 1, "rest": 3}
    )


def test_parts_fitted_to_a_step_keep_their_sleep() -> None:
    parts = part_times(within(steps(*[{"slept": 5.0}] * 4)), 1)
    assert parts is not None
    assert parts.slept_ms["rest"] == pytest.approx(5)
    fitted = parts.fitted(10.0)  # 10 ms of work in 5
    assert fitted == pytest.approx(
        {"input_wait": 0.5, "backward": 1.5, "forward": 1, "optimizer": 0.5, "rest": 6.5}
    )
    assert sum(parts.fitted(3.0).values()) == pytest.approx(3)  # shorter than the sleep: in proportion


def test_a_part_inside_another_belongs_to_the_one_the_ledger_peels_off_first() -> None:
    # A closure: forward and backward run inside the optimizer's step.
    rows = [(S, 1), (F, 2), (-F, 4), (B, 5), (-B, 8), (-S, 9), (T, 10)]
    samples = [(T, 0, 0, 0, -1)] + [
        (border, 10 * n + at, 10 * n + at, 0, -1) for n in range(4) for border, at in rows
    ]
    parts = part_times(within(table(*samples)), 1)
    assert parts is not None
    assert parts.ms == pytest.approx(
        {"input_wait": 0, "backward": 3, "forward": 2, "optimizer": 3, "rest": 2}
    )


# ---- a recording

# Two steps of 10 ms, each a forward of 4 (a sleep follows); on a busy machine the
# first forward had no core for 6 ms more.
TIMELINE = """
main  0      5      op    aten::empty
main  10     10000  mark  forward@5
main  1000   9000   op    aten::mm
main  16000  4000   mark  forward@5
main  17000  2000   op    aten::mm
"""


def delayed_trace() -> tuple[Trace, pd.DataFrame, dict[str, object]]:
    trace = trace_from_text(TIMELINE)
    steps_table = pd.DataFrame(
        {
            "number": [1, 2],
            "start_ns": [10_000, 16 * MS],
            "end_ns": [16 * MS, 26 * MS],
            "complete": [True, True],
        }
    )
    trace = replace(trace, steps=steps_table, step_source="mark")
    samples = table(
        (T, 0.01, 0, 0, -1),
        (F, 0.01, 0, 0, -1),
        (-F, 10.01, 4, 6, -1),
        (T, 16, 4, 6, -1),
        (-F, 20, 8, 6, -1),
        (T, 26, 8, 6, -1),
    )
    return trace, samples, {"name": "timeline", "first_tick": 0, "tick_ns": [10_000, 16 * MS, 26 * MS]}


def test_a_trace_in_its_threads_own_time_has_no_delays() -> None:
    trace, samples, phase = delayed_trace()
    own = in_own_time(trace, samples, phase, alone=True)
    assert own.own_time is not None
    took = (own.steps["end_ns"] - own.steps["start_ns"]).tolist()
    assert took == pytest.approx([9.99 * MS, 10 * MS])
    forwards = own.host[own.host["name"] == "forward"]
    assert forwards["dur_ns"].tolist() == pytest.approx([4 * MS, 4 * MS], abs=10)
    operators = own.host[own.host["name"] == "aten::mm"]
    # 9 of the 10 ms, and all
    assert operators["dur_ns"].tolist() == pytest.approx([3.6 * MS, 2 * MS], abs=0.01 * MS)
    # Each step sleeps for about 6 ms after its forward.
    assert own.own_time.slept_in(own.complete_steps) == pytest.approx(11.99 * MS, abs=0.02 * MS)
    moments = trace.host["start_ns"].to_numpy()
    assert own.own_time.recorded(own.own_time.own(moments)).tolist() == pytest.approx(moments.tolist(), abs=5)


def test_calls_move_with_their_trace() -> None:
    trace, samples, phase = delayed_trace()
    own = in_own_time(trace, samples, phase, alone=True)
    zero, one = [0], [1]
    columns = {
        "files": ["/a.py"],
        "functions": ["f"],
        "callees": ["g"],
        "file": zero,
        "function": zero,
        "tid": zero,
        "line": one,
        "callee": zero,
    }
    calls = {**columns, "start_ns": [ZERO_NS + 10_000], "dur_ns": [10 * MS]}
    assert call_table(calls, own)["dur_ns"].tolist() == pytest.approx([4 * MS], abs=10)


def test_a_batch_takes_what_it_takes_without_delays_and_that_of_a_worker_what_it_took() -> None:
    # 10 ms, of which 6 without a core; the fetch is 5 of them.
    fetches = pd.DataFrame(
        np.array(
            [(2 * MS, 5 * MS, 2 * MS, 3 * MS, 1, 0), (2 * MS, 5 * MS, 2 * MS, 3 * MS, 2, 1)], FETCH_RECORD
        )
    )
    found = fetches_in_own_time(fetches, table((T, 0, 0, 0, -1), (T, 10, 4, 6, -1)))
    assert found["dur_ns"].tolist() == [2 * MS, 5 * MS]
    assert found["delay_ns"].tolist() == [0, 3 * MS]  # none is left in what takes its own time
    assert fetches_in_own_time(fetches, table()).equals(fetches)


@pytest.mark.parametrize("alone", [True, False])
def test_times_stay_as_recorded_where_nothing_was_delayed_or_others_are_waited_for(alone: bool) -> None:
    trace, samples, phase = delayed_trace()
    quiet = samples.assign(delay_ns=0) if alone else samples
    own = in_own_time(trace, quiet, phase, alone=alone)
    assert own.host["start_ns"].tolist() == trace.host["start_ns"].tolist()
    assert own.own_time is not None
    assert in_own_time(trace, samples.iloc[:0], phase, alone=True).own_time is None


@pytest.mark.parametrize(
    ("threads", "lost_ms", "disturbed"), [(2, 3, True), (2, 1, False), (1, 3, False)], ids=str
)
def test_delays_of_an_operators_threads_are_waited_for_and_cannot_be_left_out(
    threads: int, lost_ms: int, disturbed: bool
) -> None:
    """Each step of 10 loses so many, and its parts were timed: with 3 of 10 the other thread lost as much."""
    ends = [0, 10, 20, 30, 40]
    samples = table(*((T, at, at - lost_ms * step, lost_ms * step, -1) for step, at in enumerate(ends)))
    measured = recording(samples, ends, **BUSY | {"thread_count": threads}, plain_usage=TAKEN)
    measured.__dict__["parts"] = object()
    assert measured.metric("disturbed") is disturbed


@pytest.mark.parametrize("threads", [1, 2])
def test_steps_whose_threads_waited_for_each_other_are_not_called_slow(threads: int) -> None:
    """Every third step takes 60 ms instead of 10 and lost 20 of them. One thread did more in it; of two one may
    have waited for the other, which had no core.
    """
    lost = [20 if number % 3 == 0 else 0 for number in range(1, 22)]
    ends = np.cumsum([0, *(60 if each else 10 for each in lost)]).tolist()
    gone = np.cumsum([0, *lost]).tolist()
    samples = table(*((T, at, at - away, away, -1) for at, away in zip(ends, gone, strict=True)))
    measured = recording(samples, ends, **BUSY | {"thread_count": threads})
    assert measured.number("delayed_share") == pytest.approx(7 * 20 / (7 * 60 + 14 * 10))
    slow_ms = measured.metric("slow_steps_ms")
    assert isinstance(slow_ms, Missing) if threads > 1 else slow_ms == pytest.approx(30 * 7 / 20)


# ---- the metrics


def recording(plain: pd.DataFrame, tick_ms: list[float], **facts: object) -> Measured:
    phases = [{"name": "plain", "first_tick": 0, "tick_ns": [round(ms * MS) for ms in tick_ms]}]
    trace = trace_from_text("main 0 10000 step ProfilerStep#1\nmain 0 9000 op aten::mm")
    return Measured(
        Recording(Path("case"), timeline=trace, clock={"phases": phases}, facts=facts, processor=plain)
    )


def test_the_step_is_the_mean_of_typical_steps_without_delays() -> None:
    # 10, 10, 12 without delays, one of 30 that lost 20, one of 40 in which the script did more.
    ends = [0, 10, 20, 32, 62, 102]
    samples = table(
        *((T, at, at - lost, lost, -1) for at, lost in zip(ends, [0, 0, 0, 0, 20, 20], strict=True))
    )
    measured = recording(samples, ends)
    assert measured.number("plain_step_ms") == pytest.approx(32 / 3)
    assert measured.number("untypical_ms") == pytest.approx((10 + 10 + 12 + 10 + 40) / 5 - 32 / 3)
    assert measured.number("delayed_share") == pytest.approx(20 / 102)
    assert METRICS["plain_step_ms"].unit == "ms"


BUSY = {"cpu_core_count": 2, "machine_core_count": 2, "thread_count": 2}
TAKEN = {"cpu_cores_used": 1.0, "machine_busy_share": 1.0, "involuntary_switches_per_step": 30.0}


def test_a_busy_machine_disturbs_only_what_cannot_be_left_out() -> None:
    ends = [0, 10, 20, 30, 40]
    samples = table(*((T, at, at, 0, -1) for at in ends))
    facts = BUSY | {"plain_usage": TAKEN}
    assert recording(samples, ends, **facts).metric("crowded") is True
    assert recording(samples, ends, **facts).metric("disturbed") is False
    assert recording(samples.iloc[:0], ends, **facts).metric("disturbed") is True  # nobody knows the delays
    workers = {"loaders": [{"num_workers": 2, "dataset_length": 9}]}
    # the workers were delayed as well
    assert recording(samples, ends, **facts, **workers).metric("disturbed") is True
    assert (
        recording(samples, ends, **BUSY, plain_usage=TAKEN | {"machine_busy_share": 0.6}).metric("disturbed")
        is False
    )


def test_of_steps_that_are_all_delayed_a_little_the_long_ones_do_not_stand_for_all() -> None:
    """Each is delayed by 2 ms: 2.9 % of 70 ms, and 1 % of the 200 ms that every tenth takes. Of 40 steps the
    four long ones alone are below 2 %.
    """
    wall = [200.0 if number % 10 == 9 else 70.0 for number in range(40)]
    found = typical(steps_of(wall, [2.0] * 40))
    assert found.mean_ns == pytest.approx(68 * MS)
    assert not found.delayed  # nor by much


@pytest.mark.parametrize(
    "lost",
    [
        [0.3, 0.3],  # 3 % of the short ones and 1.5 of the long ones
        [0.1, 0.8],  # 1 % and 4
    ],
)
def test_of_steps_that_alternate_both_kinds_stand_for_all_however_much_delay_each_has(
    lost: list[float],
) -> None:
    steps = typical(steps_of([10.0, 20.0] * 20, lost * 20))
    assert steps.period == 2 and steps.chosen.all()
    assert steps.mean_ns / MS == pytest.approx((10 - lost[0] + 20 - lost[1]) / 2)

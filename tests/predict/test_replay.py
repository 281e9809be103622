"""What edits save in a replay, worked out by hand.

Timelines in µs; `test_graph.repeated` makes steps of them.
"""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from diagnose.judge.timelines import trace_from_text
from diagnose.measure.view import Intervals
from diagnose.predict.replay import Edit, Line, Replay
from diagnose.trace.schema import Trace

from .test_graph import GPU_BOUND, HOST_BOUND, ITEM, WHOLE, repeated, replay_of

STEPS = 3


def us(replay: Replay, *edits: Edit) -> float:
    return replay.step_ns(edits) / 1000


def each(begin_us: float, end_us: float, every_us: float) -> Intervals:
    """A part of every step, and of the one before them, ns."""
    return np.array([[begin_us + at * every_us, end_us + at * every_us] for at in range(STEPS + 1)]) * 1000


def calls(trace: Trace, name: str) -> np.ndarray:
    """Host rows."""
    return np.flatnonzero(trace.host["name"] == name)


def kernels(trace: Trace, name: str = "") -> np.ndarray:
    """Device rows; of all kernels without a name."""
    return np.flatnonzero(trace.device["name"] == name) if name else np.arange(len(trace.device))


# ---- the host's work and the GPU's


def test_savings_do_not_add_up() -> None:
    # 30 + 30 + 21 on the host, the launches in the middle; the GPU needs 20 + 1 + 23 + 1 = 45 of the 81.
    text = """
    main 30 5  runtime cudaLaunchKernel =1
    gpu  36 20 kernel  a                =1
    main 40 5  runtime cudaLaunchKernel =2
    gpu  57 23 kernel  b                =2
    """
    trace = trace_from_text(repeated(text, 81, before=1))
    replay, lane = replay_of(trace), trace.training_thread
    first, last = Edit(host=each(0, 30, 81), lane=lane), Edit(host=each(60, 81, 81), lane=lane)
    assert us(replay) == pytest.approx(81)
    assert us(replay, first) == pytest.approx(81 - 30)
    assert us(replay, last) == pytest.approx(81 - 21)
    assert us(replay, first, last) == pytest.approx(81 - 36)  # 30 are left for the host, 45 for the GPU
    assert us(replay, Edit(host=WHOLE, lane=lane)) == pytest.approx(45)


def test_a_faster_host_gains_nothing_behind_a_backlog() -> None:
    # The host needs 50, the GPU 100 (98 and a gap of 2).
    trace = trace_from_text(repeated(GPU_BOUND, 50, gpu_every=100, before=1))
    replay = replay_of(trace)
    assert us(replay) == pytest.approx(100)
    assert us(replay, Edit(host=each(20, 45, 50), lane=trace.training_thread)) == pytest.approx(100)
    assert us(replay, Edit(host=WHOLE, lane=trace.training_thread)) == pytest.approx(100)


def test_a_faster_gpu_gains_nothing_in_a_host_bound_step() -> None:
    trace = trace_from_text(repeated(HOST_BOUND, 100))
    assert us(replay_of(trace), Edit(events=kernels(trace), event_ratio=0.1)) == pytest.approx(100)


def test_a_faster_gpu_gains_all_of_it_until_the_host_is_the_limit() -> None:
    # 98 and a gap of 2: with 0.7 of it 68.6 + 2; with 0.3 of it the host's 50 are more.
    trace = trace_from_text(repeated(GPU_BOUND, 50, gpu_every=100, before=1))
    replay = replay_of(trace)
    assert us(replay, Edit(events=kernels(trace), event_ratio=0.7)) == pytest.approx(70.6)
    assert us(replay, Edit(events=kernels(trace), event_ratio=0.3)) == pytest.approx(50)


def test_events_can_have_a_ratio_each() -> None:
    # a twice as fast, b as it is: 10 + 1 + 23 + 1 without any host work.
    text = """
    main 30 5  runtime cudaLaunchKernel =1
    gpu  36 20 kernel  a                =1
    main 40 5  runtime cudaLaunchKernel =2
    gpu  57 23 kernel  b                =2
    """
    trace = trace_from_text(repeated(text, 81, before=1))
    ratios = np.where(trace.device["name"] == "a", 0.5, 1.0)
    host = Edit(host=WHOLE, lane=trace.training_thread)
    assert us(replay_of(trace), host, Edit(events=kernels(trace), event_ratio=ratios)) == pytest.approx(35)
    # Of several edits of an event the one that leaves least counts.
    twice = Edit(events=kernels(trace, "a"), event_ratio=0.25)
    assert us(
        replay_of(trace), host, Edit(events=kernels(trace), event_ratio=ratios), twice
    ) == pytest.approx(30)


def test_overlapping_spans_of_several_edits_count_once() -> None:
    # 0-30 to a half, 20-50 to a fifth, where both hold the fifth: 10 + 6 of these 50, and the other 50.
    trace = trace_from_text(repeated("main 5 10 op aten::mm", 100))
    lane = trace.training_thread
    edits = [
        Edit(host=each(0, 30, 100), lane=lane, host_ratio=0.5),
        Edit(host=each(20, 50, 100), lane=lane, host_ratio=0.2),
    ]
    assert us(replay_of(trace), *edits) == pytest.approx(66)
    assert us(replay_of(trace), *reversed(edits)) == pytest.approx(66)


@pytest.mark.parametrize(
    ("ratios", "left_us"),
    [
        ([0.4], 40),
        ([0.4, 0.9], 30),  # 60 and 10 of other work
        ([0.4, 0.9, 0.9], 20),
        ([0.3, 0.3], 4.5),  # no more than all: half of 0.3 · 0.3
    ],
)
def test_work_of_different_lines_adds_up(ratios: list[float], left_us: float) -> None:
    trace = trace_from_text(repeated("main 0 100 op aten::mm", 100))
    edits = [
        Edit(WHOLE, trace.training_thread, ratio, frozenset({("a.py", number)}), in_proportion=True)
        for number, ratio in enumerate(ratios)
    ]
    assert us(replay_of(trace), *edits) == pytest.approx(left_us)
    same = [replace(edit, lines=edits[0].lines) for edit in edits]
    assert us(replay_of(trace), *same) == pytest.approx(100 * min(ratios))


def test_of_work_that_may_be_the_same_the_smaller_ratio_holds() -> None:
    """Edits to 80 % and 50 % of the whole step of 100 leave 30 of different work, of the same 50."""
    trace = trace_from_text(repeated("main 5 10 op aten::mm", 100))
    first, second, inner = ("train.py", 10), ("train.py", 20), ("model.py", 3)

    def both(one: set[Line], other: set[Line], inside: set[Line], *, is_known: bool = False) -> float:
        lane = trace.training_thread
        edits = [
            Edit(WHOLE, lane, 0.8, frozenset(one), frozenset(inside), in_proportion=True),
            Edit(WHOLE, lane, 0.5, frozenset(other), in_proportion=not is_known),
        ]
        found = us(replay_of(trace), *edits)
        assert us(replay_of(trace), *reversed(edits)) == pytest.approx(found)
        return found

    for is_known in (False, True):  # by the recording itself
        assert both({first}, {second}, {inner}, is_known=is_known) == pytest.approx(30)
        assert both({first}, {first, second}, set(), is_known=is_known) == pytest.approx(50)
        assert both({first}, {inner}, {inner}, is_known=is_known) == pytest.approx(50)
        assert both(set(), {first}, set(), is_known=is_known) == pytest.approx(50)
        assert both({first}, set(), set(), is_known=is_known) == pytest.approx(50)


def test_what_quickens_all_work_saves_its_part_of_what_other_fixes_leave() -> None:
    """Of 100, a line's fix leaves 50 and another's 30 less; memory that is kept leaves 80 % of anything, and
    another layout 75 %: of the same lines, too.
    """
    trace = trace_from_text(repeated("main 5 10 op aten::mm", 100))
    lane, line, other = trace.training_thread, ("train.py", 10), ("train.py", 20)
    kept = Edit(WHOLE, lane, 0.8, frozenset({line}), in_proportion=True, of_what_is_left=True)
    laid_out = replace(kept, host_ratio=0.75)
    fix = Edit(WHOLE, lane, 0.5, frozenset({line}), in_proportion=True)
    second = replace(fix, host_ratio=0.7, lines=frozenset({other}))
    for edits, left_us in (
        ([kept], 80),
        ([kept, laid_out], 60),
        ([kept, fix], 40),
        ([kept, laid_out, fix], 30),
        ([kept, fix, second], 16),  # (1 - 0.5 - 0.3) · 0.8
    ):
        assert us(replay_of(trace), *edits) == pytest.approx(left_us)
        assert us(replay_of(trace), *reversed(edits)) == pytest.approx(left_us)


def test_events_are_quickened_beside_what_another_fix_leaves_of_them() -> None:
    trace = trace_from_text(repeated(GPU_BOUND, 50, gpu_every=100, before=1))
    quick = Edit(events=kernels(trace), event_ratio=0.5, of_what_is_left=True)
    fix = Edit(events=kernels(trace), event_ratio=0.5)
    alone, both = us(replay_of(trace), Edit(events=kernels(trace), event_ratio=0.25)), [quick, fix]
    assert us(replay_of(trace), *both) == pytest.approx(alone)
    assert us(replay_of(trace), *reversed(both)) == pytest.approx(alone)


def test_work_of_another_thread_is_not_touched() -> None:
    trace = trace_from_text(repeated(HOST_BOUND, 100))
    assert us(replay_of(trace), Edit(host=WHOLE, lane=trace.training_thread + 1)) == pytest.approx(100)


def test_a_step_of_nothing_takes_no_time() -> None:
    trace = trace_from_text(repeated("main 5 10 op aten::mm", 100))
    assert us(replay_of(trace), Edit(host=WHOLE, lane=trace.training_thread)) == 0


# ---- waits

# The host launches 30 + 1 + 29 of GPU work, waits for it twice, with 5 of work
# between the waits, and goes on for 20.
TWO_SYNCS = """
main 0  5  runtime cudaLaunchKernel      =1
gpu  6  30 kernel  a                     =1
main 5  5  runtime cudaLaunchKernel      =2
gpu  37 29 kernel  b                     =2
main 10 60 runtime cudaStreamSynchronize
main 75 5  runtime cudaDeviceSynchronize
"""


def test_without_the_first_of_two_waits_the_second_waits() -> None:
    # Without the first wait (its call still takes 5) the second begins at 20 and returns 5 after b's end, at
    # 71; then 20 as before. What is saved is 4 of the 5 between the waits, now hidden, and the second's own
    # 5. Without the second one alone nothing is: it had nothing to wait for. Without both the host's 10 + 5 +
    # 5 + 5 + 20 = 45 are less than the GPU's 30 + 1 + 29 + 1 = 61.
    trace = trace_from_text(repeated(TWO_SYNCS, 100, before=1))
    replay = replay_of(trace)
    first, second = (
        Edit(unblocked=calls(trace, "cudaStreamSynchronize")),
        Edit(unblocked=calls(trace, "cudaDeviceSynchronize")),
    )
    assert us(replay) == pytest.approx(100)
    assert us(replay, first) == pytest.approx(91)
    assert us(replay, second) == pytest.approx(100)
    assert us(replay, first, second) == pytest.approx(61)


def test_two_waits_that_follow_each_other_at_once_save_next_to_nothing_alone() -> None:
    # The second one, of 1, begins where the first ends, 4 after b's end at 66. Without the first it returns 1
    # after that end: at 67 instead of 71.
    text = TWO_SYNCS.replace("main 75 5 ", "main 70 1 ")
    trace = trace_from_text(repeated(text, 100, before=1))
    replay = replay_of(trace)
    first = Edit(unblocked=calls(trace, "cudaStreamSynchronize"))
    assert us(replay, first) == pytest.approx(96)


def test_a_wait_taken_away_overlaps_the_host_with_the_gpu() -> None:
    # Host 20 + 3, wait until 75 and 25 more; the GPU needs 50 + 2 + 2 for the kernel and the copy.
    # Without the wait the host's 53, with the call's own 5, are less than the GPU's 50 + 2 + 2 and
    # the usual gap of 2 to the next kernel.
    trace = trace_from_text(repeated(ITEM, 100, before=1))
    replay = replay_of(trace)
    assert us(replay) == pytest.approx(100)
    assert us(replay, Edit(unblocked=calls(trace, "cudaStreamSynchronize"))) == pytest.approx(56)
    # If the host's 25 behind the wait took 15 only, the wait would still be there.
    assert us(replay, Edit(host=each(75, 85, 100), lane=trace.training_thread)) == pytest.approx(90)


def test_removing_a_span_with_a_wait_removes_the_wait() -> None:
    # The span 15-80 holds a copy's launch, the wait (until 75) and 5 more. The removed host work alone leaves
    # the wait for the copy: 16, 50 + 2 + 2, return after 5, and the last 20. With the wait and the copy's 2
    # gone the GPU has 50 and two gaps of 2 left, the host 35.
    trace = trace_from_text(repeated(ITEM, 100, before=1))
    replay, lane = replay_of(trace), trace.training_thread
    work = Edit(host=each(15, 80, 100), lane=lane)
    copy = Edit(
        events=np.flatnonzero(trace.device["kind"] == "memcpy"),
        unblocked=calls(trace, "cudaStreamSynchronize"),
    )
    assert us(replay, work) == pytest.approx(16 + 50 + 2 + 2 + 5 + 20)
    assert us(replay, work, copy) == pytest.approx(52)


def test_a_copy_that_blocks_waits_no_longer_when_unblocked() -> None:
    # The copy's call waits from 20 to 180 for 16 + 150 + 2 + 8 = 176. Without: host 20
    # + 5 + 20 = 45, GPU 150 + 2 + 8 + 2.
    text = """
    main 10  5   runtime cudaLaunchKernel =1
    gpu  16  150 kernel  a                =1
    main 20  160 runtime cudaMemcpyAsync  =2
    gpu  168 8   memcpy  Memcpy DtoH (Device -> Pageable) =2
    """
    trace = trace_from_text(repeated(text, 200, before=1))
    replay = replay_of(trace)
    assert us(replay) == pytest.approx(200)
    assert us(replay, Edit(unblocked=calls(trace, "cudaMemcpyAsync"))) == pytest.approx(162)


def test_a_full_launch_queue_is_not_host_work() -> None:
    # 950 launches ahead a launch call waits for a place: a kernel of 59 follows the other after 1, and a call
    # returns 6 after the end of the one 950 launches before. Its own work is 5, and 2 lie between two calls.
    # With kernels twice as fast the step of 1,000 takes half.
    text = """
    main 0     58 runtime cudaLaunchKernel {"correlation": 1, "repeat": 4000, "every": 60}
    gpu  56993 59 kernel  a                {"correlation": 1, "repeat": 4000, "every": 60}
    main 60000 60000 step ProfilerStep#1   {"repeat": 3, "every": 60000}
    main 0 60000 annotation train          {"repeat": 4, "every": 60000}
    """
    trace = trace_from_text(text)
    replay = replay_of(trace)
    assert us(replay) == pytest.approx(60_000, rel=1e-3)
    assert replay.error() < 0.01
    assert us(replay, Edit(events=kernels(trace), event_ratio=0.5)) == pytest.approx(
        1000 * (29.5 + 1), rel=1e-3
    )
    # Less host work gains nothing, and neither does a launch that does not wait: the GPU is the limit.
    assert us(replay, Edit(host=WHOLE, lane=trace.training_thread)) == pytest.approx(60_000, rel=1e-3)
    assert us(replay, Edit(unblocked=calls(trace, "cudaLaunchKernel"))) == pytest.approx(60_000, rel=1e-3)


def test_a_wait_for_work_from_two_rounds_back_counts_as_host_work() -> None:
    # A limit of the model: with one recorded step of 500 launches, what its launches wait for was launched
    # two steps earlier. The wait is then taken for work of the host: several steps go into one graph where
    # they fit. The step as recorded is right all the same.
    text = """
    main 0     58 runtime cudaLaunchKernel {"correlation": 1, "repeat": 2000, "every": 60}
    gpu  56993 59 kernel  a                {"correlation": 1, "repeat": 2000, "every": 60}
    main 60000 30000 step ProfilerStep#1
    main 0 60000 annotation train          {"repeat": 2, "every": 60000}
    """
    trace = trace_from_text(text)
    replay = replay_of(trace)
    assert us(replay) == pytest.approx(30000, rel=1e-2)
    assert us(replay, Edit(events=kernels(trace), event_ratio=0.5)) > 20000


@pytest.mark.parametrize("late_us", [10, 79])
def test_the_slowest_lane_makes_the_steady_step(late_us: int) -> None:
    # The host needs 80 a step, one stream 100 from the step's begin on, another one ``late_us`` from
    # its end on: the steady step is 100.
    text = f"""
    main 0  80        step    ProfilerStep#1
    main 0  80        op      train
    main 0  5         runtime cudaLaunchKernel {{"correlation": 1}}
    gpu  6  100       kernel  a                {{"correlation": 1}}
    main 70 5         runtime cudaLaunchKernel {{"correlation": 2}}
    gpu  76 {late_us} kernel  b                {{"correlation": 2, "stream": 20}}
    """
    assert us(replay_of(trace_from_text(text))) == pytest.approx(100, abs=2)


def test_an_event_of_no_time_comes_as_late_as_it_did() -> None:
    # The memset of 0 starts 30 after its launch call's end; the kernel behind it ends at 96.
    text = """
    main 10 5  runtime cudaMemsetAsync       =1
    gpu  45 0  memset  Memset (Device)       =1
    main 16 4  runtime cudaLaunchKernel      =2
    gpu  46 50 kernel  a                     =2
    main 30 68 runtime cudaDeviceSynchronize
    """
    trace = trace_from_text(repeated(text, 100, before=1))
    replay = replay_of(trace)
    assert replay.error() == pytest.approx(0, abs=1e-6)
    assert us(replay) == pytest.approx(100)


# ---- the profiler's own work


def test_the_profilers_own_time_is_no_part_of_a_step() -> None:
    # 20 of each 100 are the profiler's, and 30 of the rest are as fast again without it: 80 -
    # 15. The recording itself has all 100.
    trace = trace_from_text(repeated(HOST_BOUND, 100))
    paces = [(each(70, 90, 100), 0.0), (each(20, 50, 100), 0.5)]
    replay = replay_of(trace, paces)
    assert us(replay) == pytest.approx(65)
    assert replay.error() == pytest.approx(0, abs=1e-9)
    # An edit of what the profiler stretched saves what it takes without it: 20-40 to a fifth is 10 to 2.
    assert us(
        replay, Edit(host=each(20, 40, 100), lane=trace.training_thread, host_ratio=0.2)
    ) == pytest.approx(57)
    # Removing the profiler's own time as well saves nothing more.
    assert us(replay, Edit(host=each(70, 90, 100), lane=trace.training_thread)) == pytest.approx(65)


# ---- random timelines

KINDS = ("work", "launch", "sync", "backward")


def random_timeline(seed: int) -> str:
    """Three steps as they would be recorded: launches, waits and work at random, some of it on a second
    thread in backward, on one or two streams that know nothing of each other.

    A launch call takes 5, an event starts 6 after it or 1 after the one before it; a wait
    returns 3 after the end it waits for.
    """
    rng = random.Random(seed)
    streams, slow = rng.randint(1, 2), rng.choice([1, 1, 5])  # the GPU's work in relation to the host's
    weights = [4, 5, rng.choice([0, 1]), rng.choice([0, 1])]
    plan = [
        (kind, rng.randint(1, 60), rng.randrange(streams))
        for kind in rng.choices(KINDS, weights, k=rng.randint(3, 25))
    ]
    free, now = [0] * streams, 0
    lines: list[str] = []

    def launch(lane: str, at: int, dur: int, stream: int) -> None:
        args = f'{{"correlation": {len(lines) + 1}, "stream": {stream}}}'
        start = max(at + 6, free[stream] + 1 if free[stream] else 0)
        free[stream] = start + dur
        lines.extend([f"{lane} {at} 5 runtime cudaLaunchKernel {args}", f"gpu {start} {dur} kernel k {args}"])

    for step in range(4):
        begin, now = now, now + 1
        for kind, dur, stream in plan:
            if kind == "work":
                lines.append(f"main {now} {dur} op aten::add")
            elif kind == "launch":
                launch("main", now, dur * slow // 2 + 1, stream)
                dur = 5
            elif kind == "sync":
                dur = max(now + 2, max(free) + 3 if max(free) > now else 0) - now
                lines.append(f"main {now} {dur} runtime cudaDeviceSynchronize")
            else:  # handed over after 3, done after 10 more and the work, back after 4
                lines.append(f"auto {now + 3} {dur + 10} op autograd::engine::evaluate_function: MmBackward0")
                launch("auto", now + 6, dur * slow // 2 + 1, stream)
                dur += 17
            now += dur
        now += 10
        lines.append(f"main {begin} 1 op aten::mm")
        if step:
            lines.append(f"main {begin} {now - begin} step ProfilerStep#{step}")
    return "\n".join(lines)


def random_edit(rng: random.Random, trace: Trace, begin_ns: int, end_ns: int) -> Edit:
    borders = np.sort([rng.randint(begin_ns, end_ns) for _ in range(2 * rng.randint(1, 4))]).reshape(-1, 2)
    rows = np.array(sorted(rng.sample(range(len(trace.device)), rng.randint(0, len(trace.device)))), np.int64)
    waits = [row for row in calls(trace, "cudaDeviceSynchronize").tolist() if rng.random() < 0.3]
    return Edit(
        host=rng.choice([borders, WHOLE]),
        lane=trace.training_thread,
        host_ratio=rng.choice([0.0, rng.random()]),
        events=rows,
        event_ratio=rng.choice([0.0, rng.random()]),
        unblocked=np.array(waits, np.int64),
    )


@pytest.mark.parametrize("seed", range(50))
def test_nothing_that_takes_less_makes_a_step_longer(seed: int) -> None:
    rng = random.Random(seed)
    trace = trace_from_text(random_timeline(seed))
    replay = replay_of(trace)
    begin_ns, end_ns = int(trace.complete_steps[0, 0]), int(trace.complete_steps[-1, 1])
    assert replay.error() == pytest.approx(0, abs=1e-9)
    whole_us = us(replay)
    for _ in range(5):
        edit = random_edit(rng, trace, begin_ns, end_ns)
        assert 0 <= us(replay, edit) <= whole_us + 0.01
        ratios = [
            us(replay, Edit(host=edit.host, lane=edit.lane, host_ratio=ratio))
            for ratio in (0.0, 0.3, 0.6, 1.0)
        ]
        assert (np.diff(ratios) >= -0.01).all()
        assert ratios[-1] == pytest.approx(whole_us)

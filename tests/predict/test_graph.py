"""Recorded steps as a graph: replayed as it is, it gives the recording back.

Timelines in µs; the comments work the values out by hand.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest

from diagnose.judge.timelines import trace_from_text
from diagnose.measure.selection import Selection
from diagnose.predict.device_lanes import USUAL_GAP_NS, device_lanes
from diagnose.predict.graph import NEVER, SLOTS
from diagnose.predict.recorded import host_windows, recorded_graph
from diagnose.predict.replay import Edit, Pace, Replay
from diagnose.trace.schema import Trace


def replay_of(trace: Trace, paces: Sequence[Pace] = ()) -> Replay:
    """All complete steps, from the begin of the first to the end of the last."""
    view = Selection(trace)
    lanes = device_lanes(view)
    windows = host_windows(view, lanes)
    graph = recorded_graph(view, lanes, int(windows[0, 0]), int(windows[-1, 1]), len(windows))
    return Replay(graph, view.device["dur_ns"].to_numpy(), paces)


def repeated(step: str, every: int, gpu_every: int = 0, before: int = 0) -> str:
    """A timeline of three steps after ``before`` like ones that are no recorded steps; lanes gpu… repeat
    after ``gpu_every``. "=1" is correlation 1.
    """
    lines = [line.strip() for line in step.strip().splitlines()]
    steps = f'main {before * every} {every} step ProfilerStep#1 {{"repeat": 3, "every": {every}}}'
    work = [
        _repeated(line, (line.startswith("gpu") and gpu_every) or every, before + 3)
        for line in [f"main 0 {every} annotation train", "main 0 1 op aten::mm", *lines]
    ]
    return "\n".join([steps, *work])


def _repeated(line: str, every: int, times: int) -> str:
    line, _, given = line.partition(" {")
    args = {**json.loads("{" + given if given else "{}"), "repeat": times, "every": every}
    line, _, correlation = line.partition(" =")
    if correlation:
        args["correlation"] = int(correlation) * 10_000
    return f"{line} {json.dumps(args)}"


def thread(trace: Trace, lane: str) -> int:
    """The number of the thread that a timeline calls by this word."""
    name = f"thread {100 + sum(map(ord, lane))}"
    return next(number for number, known in trace.threads.items() if known == name)


WHOLE = np.array([[0, 10**12]])
# The host takes 100 of a step, the GPU 50: a launch call takes 5, a kernel starts 6 after the call's begin.
HOST_BOUND = """
main 10 5  runtime cudaLaunchKernel =1
gpu  16 30 kernel  a                =1
main 50 5  runtime cudaLaunchKernel =2
gpu  56 20 kernel  b                =2
"""
# The host needs 50 a step, the GPU 98 and a gap of 2: with every step it falls 50 behind.
GPU_BOUND = """
main 10 5  runtime cudaLaunchKernel =1
gpu  16 98 kernel  a                =1
"""
# b on a second stream is launched at 20 and waits for a: 16 + 40, and 2 later. c, back on the first
# one, waits for b: 58 + 30, and 2 later.
TWO_STREAMS = """
main 10 5  runtime cudaLaunchKernel      =1
gpu  16 40 kernel  a                     =1
main 20 5  runtime cudaLaunchKernel      =2
gpu2 58 30 kernel  b                     =2 {"stream": 20}
main 30 5  runtime cudaLaunchKernel      =3
gpu  90 10 kernel  c                     =3
main 40 65 runtime cudaStreamSynchronize
"""
# The training thread hands over at 15, after its launch, and goes on at 92;
# the other thread works from 40 to 85.
BACKWARD = """
auto     40 45  op         autograd::engine::evaluate_function: MmBackward0
auto     50 5   runtime    cudaLaunchKernel =2
main     10 5   runtime    cudaLaunchKernel =1
gpu      16 20  kernel     a                =1
gpu      56 30  kernel     b                =2
main     92 4   runtime    cudaLaunchKernel =3
gpu      98 10  kernel     c                =3
"""
# The call waits for its own copy, which waits for the kernel: 16 + 150 = 166, the
# copy until 176, the return 4 later.
BLOCKING_COPY = """
main 10  5   runtime cudaLaunchKernel =1
gpu  16  150 kernel  a                =1
main 20  160 runtime cudaMemcpyAsync  =2
gpu  168 8   memcpy  Memcpy DtoH (Device -> Pageable) =2
"""
ITEM = """
main 10 5  runtime cudaLaunchKernel      =1
gpu  16 50 kernel  a                     =1
main 20 3  runtime cudaMemcpyAsync       =2
gpu  68 2  memcpy  Memcpy DtoH (Device -> Pageable) =2
main 23 52 runtime cudaStreamSynchronize
"""
# The wait ends with the longer of two streams.
DEVICE_SYNC = """
main 10 5  runtime cudaLaunchKernel      =1
gpu  16 70 kernel  a                     =1
main 20 5  runtime cudaLaunchKernel      =2
gpu2 26 30 kernel  b                     =2 {"stream": 20}
main 30 60 runtime cudaDeviceSynchronize
"""
UNMARKED = "\n".join(
    _repeated(line, 100, 20) for line in ["main 0 95 op train", *HOST_BOUND.strip().splitlines()]
)
STEPS = {
    "host-bound": (repeated(HOST_BOUND, 100), 100),
    "host-bound, begun": (repeated(HOST_BOUND, 100, before=1), 100),
    "GPU-bound": (repeated(GPU_BOUND, 50, gpu_every=100), 100),
    "GPU-bound, begun": (repeated(GPU_BOUND, 50, gpu_every=100, before=1), 100),
    "CPU only": (repeated("main 10 30 op aten::mm", 100), 100),
    "two streams": (repeated(TWO_STREAMS, 120), 120),
    "two streams, begun": (repeated(TWO_STREAMS, 120, before=1), 120),
    "backward": (repeated(BACKWARD, 120), 120),
    "blocking copy": (repeated(BLOCKING_COPY, 200), 200),
    "item": (repeated(ITEM, 100), 100),
    "device sync": (repeated(DEVICE_SYNC, 100), 100),
}


@pytest.mark.parametrize(("timeline", "step_us"), STEPS.values(), ids=STEPS)
def test_steps_replayed_as_they_are_take_as_long_as_recorded(timeline: str, step_us: float) -> None:
    replay = replay_of(trace_from_text(timeline))
    # the gap before a stream's first event is a guess: 1.5 for 2
    assert replay.step_ns() / 1000 == pytest.approx(step_us, rel=0.002)
    assert replay.error() == pytest.approx(0, abs=1e-9)


def test_a_second_thread_with_backward_is_waited_for() -> None:
    # 25 until the other thread begins, 45 there, 7 back: with these 45 twice as fast the step is 22.5
    # shorter.
    trace = trace_from_text(repeated(BACKWARD, 120))
    replay = replay_of(trace)
    backward = Selection(trace).host_intervals(np.flatnonzero(trace.host["backward"]))
    halved = Edit(host=backward, lane=thread(trace, "auto"), host_ratio=0.5)
    assert replay.step_ns([halved]) / 1000 == pytest.approx(120 - 22.5)


def test_a_second_thread_is_waited_for_also_where_the_training_thread_does_a_gradient_meanwhile() -> None:
    # As above: the gradient of a CPU tensor, from 60 to 70, is done while the training thread waits.
    meanwhile = "main 60 10 op autograd::engine::evaluate_function: torch::autograd::AccumulateGrad\n"
    trace = trace_from_text(repeated(BACKWARD + meanwhile, 120))
    lane = thread(trace, "auto")
    backward = Selection(trace).host_intervals(
        np.flatnonzero(trace.host["backward"] & (trace.host["tid"] == lane))
    )
    halved = Edit(host=backward, lane=lane, host_ratio=0.5)
    assert replay_of(trace).step_ns([halved]) / 1000 == pytest.approx(120 - 22.5)


def test_a_second_thread_may_end_just_when_the_training_thread_goes_on() -> None:
    # Times in whole µs often are the same; so they are where a step's border cuts backward.
    replay = replay_of(trace_from_text(repeated(BACKWARD.replace("40 45", "40 52"), 120)))
    assert replay.step_ns() / 1000 == pytest.approx(120)
    assert replay.error() == pytest.approx(0, abs=1e-9)


def test_what_was_launched_behind_the_steps_holds_up_nothing_in_them() -> None:
    # b waits in its queue for something unrecorded, and just before it starts an event of another
    # stream ends, launched behind the step.
    text = """
    main 0   5   runtime cudaLaunchKernel {"correlation": 1}
    gpu  6   20  kernel  a                {"correlation": 1, "stream": 20}
    main 10  5   runtime cudaLaunchKernel {"correlation": 5}
    gpu  16  20  kernel  e                {"correlation": 5, "stream": 7}
    main 50  100 step    ProfilerStep#1
    main 50  100 op      train
    main 60  5   runtime cudaLaunchKernel {"correlation": 2}
    gpu  300 20  kernel  b                {"correlation": 2, "stream": 7}
    main 70  5   runtime cudaLaunchKernel {"correlation": 4}
    gpu  76  20  kernel  d                {"correlation": 4, "stream": 20}
    main 200 5   runtime cudaLaunchKernel {"correlation": 3}
    gpu  206 92  kernel  c                {"correlation": 3, "stream": 20}
    """
    assert replay_of(trace_from_text(text)).step_ns() / 1000 == pytest.approx(100)


def test_a_thread_that_nobody_waits_for_is_not_joined() -> None:
    # Another thread launches work from 5 to 95 of each step: no backward, so the training thread
    # alone makes the step; half of it is 50.
    text = """
    main  10 5  runtime cudaLaunchKernel =1
    gpu   16 20 kernel  a                =1
    other 5  90 op      aten::add
    other 50 5  runtime cudaLaunchKernel =2
    gpu   56 20 kernel  b                =2
    """
    trace = trace_from_text(repeated(text, 100, before=1))
    replay = replay_of(trace)
    assert replay.error() == pytest.approx(0, abs=1e-9)
    assert replay.step_ns(
        [Edit(host=WHOLE, lane=trace.training_thread, host_ratio=0.5)]
    ) / 1000 == pytest.approx(50, abs=0.01)


@pytest.mark.parametrize(
    "correlations",
    [("=1", "=1", "=1"), ("=1", "", "")],  # all of them that of the graph's launch, or only the first
    ids=["linked", "unlinked"],
)
def test_kernels_of_a_graph_come_with_its_launch(correlations: tuple[str, str, str]) -> None:
    # One launch for three kernels, 1 apart. Without any host work before the launch and after it only the
    # GPU's 3 × 10 + gaps are left: 1 between them and as usual 1 to the next step's.
    one, two, three = correlations
    text = f"""
    main 40 5  runtime cudaGraphLaunch {one}
    gpu  46 10 kernel  a               {one}
    gpu  57 10 kernel  b               {two}
    gpu  68 10 kernel  c               {three}
    """
    trace = trace_from_text(repeated(text, 100, before=1))
    lanes = device_lanes(Selection(trace))
    replay = replay_of(trace)
    assert trace.host["name"][lanes.launch].tolist() == ["cudaGraphLaunch"] * 12
    assert lanes.launched_ns.tolist() == sorted([40_000, 140_000, 240_000, 340_000] * 3)
    assert replay.step_ns() / 1000 == pytest.approx(100)
    assert replay.step_ns([Edit(host=WHOLE, lane=trace.training_thread)]) / 1000 == pytest.approx(
        33, abs=0.01
    )
    # The launch 30 earlier and later kernels with it: the step is 30 shorter.
    sooner = Edit(
        host=np.array([[at, at + 30_000] for at in (100_000, 200_000, 300_000)]), lane=trace.training_thread
    )
    assert replay.step_ns([sooner]) / 1000 == pytest.approx(70)


def test_a_kernel_without_a_recorded_launch_and_none_before_it_happens_when_it_did() -> None:
    # Nothing says who launched a; it counts as launched before the recording and is no part of the steps.
    text = """
    main 0  100 step    ProfilerStep#1
    main 0  100 op      aten::mm
    gpu  16 30  kernel  a
    main 50 5   runtime cudaLaunchKernel {"correlation": 2}
    gpu  56 20  kernel  b                {"correlation": 2}
    """
    replay = replay_of(trace_from_text(text))
    assert replay.error() == pytest.approx(0, abs=1e-9)
    assert replay.step_ns() / 1000 == pytest.approx(100)


@pytest.mark.parametrize("start_us", [60, 250])
def test_work_from_before_the_recording_holds_the_first_event_up_once(start_us: int) -> None:
    # The GPU is busy until 60 (250: behind the step's end) with what was not recorded; a, launched at 10,
    # takes 20 then. A steady step is 100.
    text = f"""
    main 0          100 step    ProfilerStep#1
    main 0          100 op      aten::mm
    main 10         5   runtime cudaLaunchKernel {{"correlation": 1}}
    gpu  {start_us} 20  kernel  a                {{"correlation": 1}}
    """
    replay = replay_of(trace_from_text(text))
    assert replay.error() == pytest.approx(0, abs=1e-9)
    assert replay.step_ns() / 1000 == pytest.approx(100)


def test_a_backlog_at_the_border_is_worked_off_as_recorded() -> None:
    # Each step has 98 of GPU work for 50 on the host; when the recording begins with the
    # third, two kernels are still to come.
    text = repeated(GPU_BOUND, 50, gpu_every=100, before=2)
    replay = replay_of(trace_from_text(text))
    graph = replay.graph
    # The last kernel of the round before ends at 16 + 100 + 98 = 214 and frees the
    # stream for the one that ends at 314.
    assert sorted(graph.before_ns[graph.before_ns > NEVER].tolist()) == [100_000, 214_000]
    assert graph.recorded_ns.max() == 514_000
    assert replay.error() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("dur_us", [1, 20])
def test_a_kernel_that_seems_to_run_before_its_launch_is_the_skew_of_two_clocks(dur_us: int) -> None:
    # a starts 3 before its launch call: with 1 it ends before that as well, and only its stream says when it
    # runs.
    text = f"""
    main 10 5        runtime cudaLaunchKernel =1
    gpu  7  {dur_us} kernel  a                =1
    main 50 5        runtime cudaLaunchKernel =2
    gpu  56 20       kernel  b                =2
    """
    replay = replay_of(trace_from_text(repeated(text, 100, before=1)))
    assert replay.step_ns() / 1000 == pytest.approx(100)
    assert replay.error() < 0.03


@pytest.mark.parametrize("returns_us", [66, 64])
def test_a_wait_that_seems_to_return_before_its_event_ends_is_the_skew_of_two_clocks(returns_us: int) -> None:
    # The kernel ends at 66.
    text = f"""
    main 10 5                 runtime cudaLaunchKernel =1
    gpu  16 50                kernel  a                =1
    main 20 {returns_us - 20} runtime cudaStreamSynchronize
    """
    replay = replay_of(trace_from_text(repeated(text, 100, before=1)))
    assert replay.step_ns() / 1000 == pytest.approx(100, abs=3)
    assert replay.error() < 0.03


def test_a_wait_for_many_streams_keeps_the_latest() -> None:
    # Six streams, of which the device's synchronisation waits for all: a node has room for three
    # edges, the call's own and the latest two.
    kernels = "\n".join(
        f"main {10 * n} 5 runtime cudaLaunchKernel ={n}\ngpu{n} {6 + 10 * n} {10 * n} kernel k ={n} "
        f'{{"stream": {n}}}'
        for n in range(1, 7)
    )
    replay = replay_of(trace_from_text(repeated(f"{kernels}\nmain 65 66 runtime cudaDeviceSynchronize", 200)))
    edges = replay.graph.edges
    assert np.bincount(edges.target).max() == SLOTS
    assert replay.error() == pytest.approx(0, abs=1e-9)
    assert replay.step_ns() / 1000 == pytest.approx(200)


def test_edges_are_sorted_and_sources_come_first() -> None:
    edges = replay_of(trace_from_text(repeated(TWO_STREAMS, 120, before=1))).graph.edges
    assert (np.diff(edges.target) >= 0).all()
    assert (edges.carried | (edges.source < edges.target)).all()
    assert len(edges.at(edges.carried)) == 3  # the host's, and each stream's


def test_borders_on_kernels_become_those_of_their_launches() -> None:
    # Nothing marks the steps, so they begin with a kernel that comes again and again; on the host
    # they begin with its launch, 6 earlier.
    trace = trace_from_text(UNMARKED)
    view = Selection(trace)
    windows = host_windows(view, device_lanes(view))
    assert trace.step_source == "repetition"
    assert (view.windows - windows).tolist() == [[6_000, 6_000]] * view.step_count
    assert replay_of(trace).step_ns() / 1000 == pytest.approx(100)


def test_what_did_not_hold_an_event_up_takes_as_long_as_usually() -> None:
    # Nothing in a host-bound recording shows what lies between two queued events: without the host's work the
    # GPU's 50 and the usual two gaps are left.
    trace = trace_from_text(repeated(HOST_BOUND, 100))
    assert replay_of(trace).step_ns([Edit(host=WHOLE, lane=trace.training_thread)]) / 1000 == pytest.approx(
        50 + 2 * USUAL_GAP_NS / 1000, abs=0.01
    )

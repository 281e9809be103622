"""Steps on the clock of a GPU, worked out by hand (µs)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from diagnose.judge.timelines import measured_case, trace_from_text
from diagnose.measure.device_steps import device_windows, done_ns, host_ahead
from diagnose.measure.ledger import step_ledger
from diagnose.measure.metrics import Measured
from diagnose.measure.selection import Selection
from diagnose.pipeline import Analysis
from diagnose.report.sentences import measurement
from diagnose.report.timeline.drawn import recorded_step

from ..trace.build import event, kernel, launch, read

# The host launches two kernels in 100 µs; they take 204 on the GPU.
AHEAD = """
main  0    100  step     ProfilerStep#1
main  100  100  step     ProfilerStep#2
main  0    90   op       aten::mm          {"repeat": 2, "every": 100}
main  10   5    runtime  cudaLaunchKernel  {"correlation": 1}
main  50   5    runtime  cudaLaunchKernel  {"correlation": 2}
main  110  5    runtime  cudaLaunchKernel  {"correlation": 3}
main  150  5    runtime  cudaLaunchKernel  {"correlation": 4}
gpu   20   100  kernel   gemm              {"correlation": 1}
gpu   122  100  kernel   gemm              {"correlation": 2}
gpu   224  100  kernel   gemm              {"correlation": 3}
gpu   326  100  kernel   gemm              {"correlation": 4}
"""
# The host takes 210 µs, the GPU is through 5 and 2 µs before.
BESIDE = """
main  0    210  step     ProfilerStep#1
main  210  210  step     ProfilerStep#2
main  0    200  op       aten::mm          {"repeat": 2, "every": 210}
main  10   5    runtime  cudaLaunchKernel  {"correlation": 1}
main  50   5    runtime  cudaLaunchKernel  {"correlation": 2}
main  220  5    runtime  cudaLaunchKernel  {"correlation": 3}
main  260  5    runtime  cudaLaunchKernel  {"correlation": 4}
gpu   20   100  kernel   gemm              {"correlation": 1}
gpu   122  83   kernel   gemm              {"correlation": 2}
gpu   230  100  kernel   gemm              {"correlation": 3}
gpu   332  86   kernel   gemm              {"correlation": 4}
"""


def plain(host_us: list[int], device_us: list[int] | None) -> dict[str, Any]:
    on_device = {} if device_us is None else {"device_tick_ns": {"cuda:0": [1000 * us for us in device_us]}}
    return {"name": "plain", "first_tick": 0, "tick_ns": [5_000 + 1000 * us for us in host_us], **on_device}


def measured(timeline: str, host_us: list[int], device_us: list[int] | None) -> Measured:
    return measured_case({"timeline": timeline, "clock": {"phases": [plain(host_us, device_us)]}})


def test_windows_reach_until_the_gpu_is_through_where_the_host_runs_ahead() -> None:
    # The last kernel launched before 100 ends at 222, the last before 200 at 426.
    view = Selection(trace_from_text(AHEAD))
    assert (view.windows / 1000).tolist() == [[0, 222], [222, 426]]
    assert (view.host_windows / 1000).tolist() == [[0, 100], [100, 200]]
    assert view.device_in_steps.all()
    assert len(view.named(view.kind == "runtime")) == 4


def test_a_step_that_launches_nothing_while_the_gpu_is_behind_takes_no_time_there() -> None:
    view = Selection(
        trace_from_text(f"{AHEAD}main  200  50  step  ProfilerStep#3\nmain  205  40  op  aten::mm\n")
    )
    assert (view.windows / 1000).tolist() == [[0, 222], [222, 426], [426, 426]]
    # of those that take any
    assert view.least_share(view.device_intervals(np.arange(4))) == pytest.approx(200 / 222)


def test_windows_stay_on_the_host_that_does_not_run_ahead() -> None:
    assert (device_windows(trace_from_text(BESIDE)) / 1000).tolist() == [[0, 210], [210, 420]]


def test_what_was_queued_is_nobody_s_launch() -> None:
    # 20 µs to the first kernel; the three gaps of 2 µs are the GPU's own: the kernels behind them
    # were launched 70 µs before and more.
    ledger = step_ledger(Selection(trace_from_text(AHEAD)))
    assert {row: ledger.ns(row) / 1000 for row in ledger.rows if ledger.ns(row)} == {
        "compute": 400,
        "launch_bound": 20,
        "unattributed": 6,
    }


def test_a_plain_step_is_over_when_host_and_gpu_are() -> None:
    assert done_ns(
        {"tick_ns": [10, 20, 30], "device_tick_ns": {"cuda:0": [0, 4, 25], "cuda:1": [0, 3, 21]}}
    ).tolist() == [0, 10, 25]
    assert done_ns({"tick_ns": [10, 20, 30]}).tolist() == [0, 10, 20]
    # not of the same ticks
    assert done_ns({"tick_ns": [10, 20, 30], "device_tick_ns": {"cuda:0": [0, 40]}}).tolist() == [0, 10, 20]
    # nor of all of them
    assert done_ns({"tick_ns": [10, 20], "device_tick_ns": {"cuda:0": [0, None]}}).tolist() == [0, 10]
    assert done_ns({"tick_ns": []}).tolist() == []


def test_the_step_is_the_gpu_s_where_the_host_runs_ahead() -> None:
    # 70 µs on the host, 204 on the GPU, the first 210; the recorded kernels take 200 of
    # it, and nothing waits for the host.
    one = measured(AHEAD, [0, 70, 140, 210, 280], [0, 210, 414, 618, 822])
    document = Analysis(one).document
    assert one.metric("plain_step_ms") == pytest.approx(0.204)
    assert document.steps.plain_series_ms == pytest.approx([0.210, 0.204, 0.204, 0.204])
    rows = {row.row: row.ms_per_step for row in document.ledger if row.ms_per_step}
    assert rows == pytest.approx({"compute": 0.2, "unattributed": 0.004})


@pytest.mark.parametrize(
    ("timeline", "device_us", "told"),
    [
        (BESIDE, [0, 305, 605, 905, 1205], True),
        # the GPU is the limit, and its kernels take as long as ever
        (AHEAD, [0, 405, 810, 1215, 1620], False),
    ],
)
def test_plain_steps_after_a_profiler_session_are_told(
    timeline: str, device_us: list[int], *, told: bool
) -> None:
    phase = plain([0, 300, 600, 900, 1200], device_us)
    documents = [
        Analysis(measured_case({"timeline": timeline, "clock": {"phases": [phase | more]}})).document
        for more in ({}, {"after_session": True})
    ]
    assert [document.steps.after_session for document in documents] == [False, told]
    said = [
        [sentence for sentence in measurement(document) if "profiler had recorded this process" in sentence]
        for document in documents
    ]
    assert [len(sentences) for sentences in said] == [0, int(told)]


def test_without_the_gpu_s_times_the_step_is_the_host_s() -> None:
    assert measured(AHEAD, [0, 70, 140, 210, 280], None).metric("plain_step_ms") == pytest.approx(0.07)


def test_the_step_is_the_host_s_where_the_gpu_waits_for_it() -> None:
    # The GPU is through 5 µs after each tick: the first step has that more, and is none of the typical ones.
    one = measured(BESIDE, [0, 300, 600, 900, 1200], [0, 305, 605, 905, 1205])
    assert one.metric("plain_step_ms") == pytest.approx(0.3)
    assert not one.host_ahead


@pytest.mark.parametrize(
    ("device_us", "launches", "ahead"),
    [
        ([0, 100, 200, 300], 10, False),
        ([0, 105, 210, 315], 10, True),  # 5 µs more behind at each tick
        ([0, 150, 250, 350], 10, False),  # as far behind as at first: 50 of 350 µs, or 4 of the 30 launches
        ([0, 150, 250, 350], 3000, True),  # or 1,286 of 9,000: the queue is full
    ],
)
def test_when_the_host_runs_ahead(device_us: list[int], launches: int, ahead: bool) -> None:
    assert host_ahead(plain([0, 100, 200, 300], device_us), launches) is ahead


def test_nobody_knows_whether_the_host_runs_ahead_without_the_gpu_s_times() -> None:
    assert not host_ahead(plain([0, 100, 200], None), 3000)


# ---- the recorded step, drawn


def test_a_step_of_a_host_that_runs_ahead_is_drawn_from_its_beginning() -> None:
    step = recorded_step(measured_case({"timeline": AHEAD}))
    assert step is not None
    # The second step takes 204 µs, the first 222: on the GPU from 222 on, on the host from 100 on.
    assert (step.length_ns, step.is_ahead) == (204_000, True)
    assert (step.device.start_ns / 1000).tolist() == [2, 104]
    assert (np.unique(step.host.start_ns) / 1000).tolist() == [0, 10, 50]


# ---- what torch records beside the work


GAP = """
main  0    1000  step      ProfilerStep#1
main  0    990   op        aten::mm
main  10   5     runtime   cudaLaunchKernel  {"correlation": 1}
main  510  5     runtime   cudaLaunchKernel  {"correlation": 2}
main  500  20    overhead  Activity Buffer Request
gpu   20   480   kernel    gemm  {"correlation": 1}
gpu   520  480   kernel    gemm  {"correlation": 2}
"""


def test_a_full_queue_is_not_the_profiler_s_work() -> None:
    assert step_ledger(Selection(trace_from_text(GAP))).ns("profiler") == 20_000
    full = step_ledger(
        Selection(trace_from_text(GAP.replace("Activity Buffer Request", "Command Buffer Full")))
    )
    assert (full.ns("profiler"), full.ns("launch_bound")) == (0, 40_000)


def test_records_of_synchronisation_change_nothing() -> None:
    work = [
        event("ProfilerStep#1", 0, 100, cat="user_annotation"),
        event("aten::mm", 5, 20),
        launch(10, 5, 1),
        event("cudaStreamSynchronize", 30, 60, cat="cuda_runtime", correlation=2),
        kernel("gemm", 20, 65, 1),
    ]
    syncs = [event("Stream Sync", 30, 60, cat="cuda_sync", pid=0, tid=7, stream=7, correlation=2)]
    ledgers = [step_ledger(Selection(read(*events))) for events in (work, work + syncs)]
    assert len(read(*work, *syncs).waits) == 1
    without, with_syncs = ({row: there.tolist() for row, there in one.rows.items()} for one in ledgers)
    assert without == with_syncs


def three_steps(gpu_us: int) -> dict[str, str]:
    """Steps of 100 µs that launch a kernel of the given length each; the GPU runs one behind the other."""
    marks = [f"main {100 * at} 100 step ProfilerStep#{at}" for at in range(3)]
    work = [
        f"""
        main {100 * at} 10 op aten::mm
        main {100 * at + 1} 1 runtime cudaLaunchKernel {{"correlation": {at + 1}}}
        gpu {5 + max(100, gpu_us) * at} {gpu_us} kernel gemm {{"correlation": {at + 1}}}"""
        for at in range(3)
    ]
    return {"timeline": "\n".join([*marks, *work])}


@pytest.mark.parametrize(("gpu_us", "told"), [(100, False), (102, False), (500, True)])
def test_a_host_that_runs_ahead_is_told_with_both_times_and_the_step_is_the_gpus(
    gpu_us: int, *, told: bool
) -> None:
    document = Analysis(measured_case(three_steps(gpu_us))).document
    notes = [note.text for note in document.notes if note.code == "host-ahead"]
    assert len(notes) == told
    if told:  # 0.1 ms on the host; the GPU is through at 505, 1005 and 1505 µs
        assert "hands a step over in 0.100 ms, and the GPU takes 0.502 ms" in notes[0]
        assert sum(row.ms_per_step for row in document.ledger) == pytest.approx(0.5, rel=0.02)

"""Which calls wait for the GPU, and for which of its events. Timelines in µs."""

from __future__ import annotations

import numpy as np
import pytest

from diagnose.judge.timelines import trace_from_text
from diagnose.measure.selection import Selection
from diagnose.predict.device_lanes import device_lanes
from diagnose.predict.waits import FULL_QUEUE, Wait, waits_of
from diagnose.trace.schema import Trace

from ..trace.build import event, kernel, launch, read

# a runs on stream 7 until 216, b on stream 20 until 136, c after a until 227.
TWO_STREAMS = """
main 10 5   runtime cudaLaunchKernel {"correlation": 1}
gpu  16 200 kernel  a                {"correlation": 1}
main 20 5   runtime cudaLaunchKernel {"correlation": 2}
gpu  36 100 kernel  b                {"correlation": 2, "stream": 20}
main 30 5   runtime cudaLaunchKernel {"correlation": 3}
gpu  217 10 kernel  c                {"correlation": 3}
"""


def waits(trace: Trace, begin_us: float = 0, end_us: float = 10**6) -> list[Wait]:
    view = Selection(trace)
    return waits_of(view, device_lanes(view), int(begin_us * 1000), int(end_us * 1000))


def targets(trace: Trace) -> list[list[str]]:
    """The names of what each call waits for."""
    return [trace.device["name"].iloc[list(wait.events)].tolist() for wait in waits(trace)]


def from_text(*lines: str) -> Trace:
    return trace_from_text(
        "\n".join([TWO_STREAMS, *lines, "main 0 1000 step ProfilerStep#1", "main 0 1000 annotation train"])
    )


@pytest.mark.parametrize(
    ("call", "names"),
    [
        ("main 40 99  runtime cudaStreamSynchronize", ["b"]),  # returns 3 after b's end
        ("main 40 190 runtime cudaStreamSynchronize", ["c"]),
        ("main 40 190 runtime cudaDeviceSynchronize", ["c", "b"]),
        ("main 40 190 runtime cudaMemcpyAsync", ["c"]),  # this long it waits, and its copy is not recorded
        # it need not wait, but returned just when the GPU was drained
        ("main 40 190 runtime cudaFree", ["c", "b"]),
        ("main 40 150 runtime cudaMalloc", None),  # returned while the GPU was busy
        ("main 40 400 runtime cudaMalloc", None),  # and long after
        ("main 40 49  runtime cudaFree", None),
        ("main 40 190 annotation cudaStreamSynchronize", None),  # no runtime call
        ("other 40 190 runtime cudaStreamSynchronize", None),  # of a thread that launches nothing
    ],
)
def test_a_call_waits_for_what_ended_just_before_it_returned(call: str, names: list[str] | None) -> None:
    assert targets(from_text(call)) == ([names] if names else [])


def test_a_wait_for_an_event_ends_before_the_streams_last_work() -> None:
    # It returns at 219, 3 after a's end; c, launched before the call as well,
    # runs on. b ended 83 before the return.
    assert targets(from_text("main 40 179 runtime cudaEventSynchronize")) == [["a"]]


def test_only_calls_that_begin_in_the_span_count() -> None:
    trace = from_text("main 40 190 runtime cudaStreamSynchronize", "main 300 5 runtime cudaStreamSynchronize")
    assert len(waits(trace)) == 2
    assert [wait.begin_ns for wait in waits(trace, 0, 300)] == [40_000]
    assert [wait.begin_ns for wait in waits(trace, 41, 301)] == [300_000]


@pytest.mark.parametrize(
    ("call", "own_us", "return_us"),
    [
        ("main 40 190 runtime cudaDeviceSynchronize", 5, 3),  # c ends at 227
        ("main 40 400 runtime cudaDeviceSynchronize", 5, 100),  # it waited for something else as well
        # nothing to wait for: it took all this by itself
        ("main 300 30 runtime cudaDeviceSynchronize", 30, 5),
        ("main 300 2  runtime cudaDeviceSynchronize", 2, 2),
        ("main 225 3  runtime cudaDeviceSynchronize", 3, 1),
    ],
)
def test_what_a_call_takes_itself_and_to_return(call: str, own_us: float, return_us: float) -> None:
    (wait,) = waits(from_text(call))
    assert (wait.own_ns, wait.return_ns) == (own_us * 1000, return_us * 1000)


def test_a_wait_that_found_nothing_left_to_do_still_depends_on_the_work_launched_last() -> None:
    assert targets(from_text("main 300 5 runtime cudaStreamSynchronize")) == [["c"]]


@pytest.mark.parametrize(
    ("call_us", "names"),
    [
        (200, [["copy"]]),  # the copy ends at 236
        # pageable memory is staged: the call returns at 220, before the copy's end, and waited for no event
        # that is recorded
        (180, []),
    ],
)
def test_a_copy_that_blocks_waits_for_itself(call_us: int, names: list[list[str]]) -> None:
    trace = from_text(
        f'main 40 {call_us} runtime cudaMemcpyAsync {{"correlation": 4}}',
        'gpu  228 8 memcpy copy {"correlation": 4}',
    )
    assert targets(trace) == names


@pytest.mark.parametrize(
    ("ahead", "beside", "found"),
    [
        (FULL_QUEUE + 20, "python train.py(5): main", True),
        (FULL_QUEUE - 20, "python train.py(5): main", False),
        (FULL_QUEUE - 20, "overhead Command Buffer Full", True),  # the profiler says so
    ],
)
def test_a_launch_that_takes_long_waits_for_a_place_in_the_queue(
    ahead: int, beside: str, found: bool
) -> None:
    # Launches of 2 each come first; the GPU begins when they are all made and needs 60 for each. Then a
    # launch takes 56, until the third kernel's end and 3 more.
    begin = 2 * ahead
    text = f"""
    main 0              2  runtime cudaLaunchKernel {{"correlation": 1, "repeat": {ahead}, "every": 2}}
    gpu  {begin - 127}  60 kernel  a                {{"correlation": 1, "repeat": {ahead + 1}, "every": 60}}
    main {begin}        56 runtime cudaLaunchKernel {{"correlation": {ahead + 1}}}
    main {begin + 1}    50 {beside}
    main 0 {begin + 100} step ProfilerStep#1
    main 0 {begin + 100} annotation train
    """
    called = waits(trace_from_text(text))
    assert [(wait.events, wait.own_ns, wait.return_ns) for wait in called] == (
        [((2,), 5000, 3000)] if found else []
    )


def test_what_the_profiler_recorded_of_a_wait_counts() -> None:
    # Both streams end before the return, a's later; but the call is said to wait for stream 20.
    def read_with(*recorded: dict) -> Trace:
        return read(
            event("ProfilerStep#1", 0, 1000, cat="user_annotation"),
            event("aten::mm", 0, 1000),
            launch(10, 5, 1),
            kernel("a", 16, 100, 1),
            launch(20, 5, 2),
            kernel("b", 36, 70, 2, stream=20),
            launch(40, 79, 3, name="cudaStreamSynchronize"),
            *recorded,
        )

    stream_sync = {
        "ph": "X",
        "cat": "cuda_sync",
        "name": "Stream Sync",
        "pid": 0,
        "tid": 20,
        "ts": 40,
        "dur": 79,
    }
    assert targets(read_with()) == [["a"]]
    assert targets(read_with({**stream_sync, "args": {"correlation": 3, "stream": 20, "device": 0}})) == [
        ["b"]
    ]


def test_nothing_waits_without_a_gpu() -> None:
    assert (
        waits(
            trace_from_text(
                "main 0 100 step ProfilerStep#1\nmain 0 100 op aten::mm\nmain 10 60 runtime "
                "cudaDeviceSynchronize"
            )
        )
        == []
    )


def test_events_are_rows_of_the_device_table() -> None:
    trace = from_text("main 40 190 runtime cudaDeviceSynchronize")
    (wait,) = waits(trace)
    assert trace.host["name"].iloc[wait.row] == "cudaDeviceSynchronize"
    assert np.array(wait.events).max() < len(trace.device)

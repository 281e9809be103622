"""Steps from ranges that a program or a framework marks again and again. All traces are made up."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.trace.schema import Trace
from tests.trace.build import event, kernel, launch, read


def ranges(*spans: tuple[str, float, float], ops: int = 4) -> list[dict[str, Any]]:
    """Annotations (name, start, duration in µs), each with so many operators of different names."""
    return [
        each
        for at, (name, ts, dur) in enumerate(spans)
        for each in (
            event(name, ts, dur, "user_annotation"),
            *(event(f"aten::op{at}_{i}", ts + 1 + i, 0.5) for i in range(ops)),
        )
    ]


def windows(trace: Trace) -> list[tuple[int, int, bool]]:
    """Start and end in µs, complete."""
    steps = trace.steps
    return [
        (int(start) // 1000, int(end) // 1000, bool(complete))
        for start, end, complete in zip(steps["start_ns"], steps["end_ns"], steps["complete"], strict=True)
    ]


def test_a_step_runs_from_one_range_to_the_next_and_the_last_to_its_own_end() -> None:
    trace = read(
        event("aten::first", 0),
        *ranges(("iteration 1", 10, 20), ("iteration 2", 40, 20), ("iteration 3", 70, 20)),
    )
    assert trace.step_source == "annotation"
    assert windows(trace) == [(10, 40, True), (40, 70, True), (70, 90, True)]
    assert "The 3 ranges `iteration 1` or alike" in trace.notes[0]


@pytest.mark.parametrize(
    "spans",
    [
        [("work", 10, 20), ("work", 40, 20)],  # twice is no repetition
        [("work", 10, 5), ("work", 40, 5), ("work", 85, 5)],  # 15 of 80 µs
        [("layer 1", 10, 20), ("layer 2", 40, 20), ("layer 3", 70, 20)],  # parts of a model
        [
            ("nccl:all_reduce", 10, 20),
            ("nccl:all_reduce", 40, 20),
            ("nccl:all_reduce", 70, 20),
        ],  # torch's own
        [("work", 10, 40), ("work", 20, 10), ("work", 60, 30)],  # one in another
        [("all", 5, 90), ("work", 10, 20), ("work", 40, 20), ("work", 70, 20)],  # within one call
    ],
)
def test_what_is_not_sure_to_be_steps_is_refused(spans: list[tuple[str, float, float]]) -> None:
    assert read(*ranges(*spans)).step_source == "whole trace"


def test_a_range_around_the_whole_loop_does_not_hide_iterations() -> None:
    loop = ranges(
        ("epoch 1", 5, 90), ("iteration 1", 10, 20), ("iteration 2", 40, 20), ("iteration 3", 70, 20)
    )
    assert windows(read(event("aten::first", 0), *loop)) == [(10, 40, True), (40, 70, True), (70, 90, True)]


def test_numbered_sections_that_do_different_work_are_no_steps() -> None:
    sections = [
        *ranges(("part 1", 10, 20), ops=1),
        *ranges(("part 2", 40, 20), ops=16),
        *ranges(("part 3", 70, 20), ops=4),
    ]
    # 1, 16 and 4 operators: only one of three has 2 to 8
    assert read(*sections).step_source == "whole trace"


def test_numbered_ranges_of_a_profiler_without_operators_are_compared_by_their_calls() -> None:
    def spans(*calls: int) -> list[dict[str, Any]]:
        return [part for i, count in enumerate(calls) for part in (
            event(f"step {i}", 10 + 20 * i, 18, "user_annotation"),
            *(launch(11 + 20 * i + j, 0.5, 10 * i + j) for j in range(count)),
            *(kernel(f"k{i * i * j}", 12 + 20 * i + j, 0.5, 10 * i + j) for j in range(count)),
        )]  # fmt: skip

    assert read(*spans(4, 5, 4, 4)).step_source == "annotation"
    assert read(*spans(9, 1, 0, 8, 1)).step_source == "whole trace"  # median 1: two of five have 1 or 2


def test_profiler_steps_come_first() -> None:
    marked = ranges(("iteration 1", 10, 20), ("iteration 2", 40, 20), ("iteration 3", 70, 20))
    assert read(event("ProfilerStep#1", 5, 95, "user_annotation"), *marked).step_source == "ProfilerStep"


SGLANG = [
    ("step[EXTEND bs=2 toks=512]", 10, 40),
    ("step[DECODE bs=2]", 50, 20),
    ("step[DECODE bs=2]", 70, 20),
    ("step[EXTEND bs=1 toks=64]", 90, 10),
    ("step[DECODE bs=3]", 100, 20),
]
VLLM = [
    ("execute_context_2(512)_generation_0(0)", 10, 40),
    ("execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_2(sq2sk9sqsq2sqsk9)", 50, 20),
    ("execute_context_0(0)_generation_2(2)", 70, 20),
    ("execute_context_1(64)_generation_0(0)", 90, 10),
    ("execute_context_0(0)_generation_3(3)", 100, 20),
]
OLDER_VLLM = [
    ("execute_new_2_cached_0", 10, 40),
    ("execute_new_0_cached_2", 50, 20),
    ("execute_new_0_cached_2", 70, 20),
    ("execute_new_1_cached_0", 90, 10),
    ("execute_new_0_cached_3", 100, 20),
]


@pytest.mark.parametrize("spans", [SGLANG, VLLM, OLDER_VLLM])
def test_of_a_server_s_steps_the_kind_that_takes_most_time_is_judged(
    spans: list[tuple[str, float, float]],
) -> None:
    trace = read(event("aten::first", 0), *ranges(*spans))
    # decode takes 3 × 20 µs, prefill 40 + 10
    assert windows(trace) == [
        (10, 50, False), (50, 70, True), (70, 90, True), (90, 100, False), (100, 120, True),
    ]  # fmt: skip
    assert trace.notes[1] == (
        "They are of 2 kinds. Judged are the 3 decode steps, which take most time (0.02 ms each). "
        "Beside them: 2 prefill (0.025 ms each, 45% of the time)."
    )


def test_a_step_with_both_is_a_kind_of_its_own() -> None:
    spans = [(f"execute_context_{new}({new})_generation_{old}({old})", 10 + 20 * i, 20)
             for i, (new, old) in enumerate([(1, 0), (1, 2), (0, 3), (0, 3)])]  # fmt: skip
    assert "1 mixed" in read(*ranges(*spans)).notes[1]


# ---- the whole recording


def test_a_wait_at_the_start_for_what_was_launched_before_is_left_out() -> None:
    trace = read(
        event("aten::copy_", 0, 61),
        launch(1, 59, 1, "hipMemcpyWithStream"),
        kernel("Memcpy DtoH", 58, 1, 1, cat="gpu_memcpy"),
        event("aten::mm", 70, 5),
        launch(71, 2, 2),
        kernel("gemm", 74, 26, 2),
    )
    # the copy's 1 µs is less than a tenth of the call's 59
    assert windows(trace) == [(60, 100, True)]
    assert "waited in `hipMemcpyWithStream`" in trace.notes[-1]


def test_a_wait_for_recorded_work_stays() -> None:
    trace = read(
        event("aten::mm", 0, 5), launch(1, 2, 1), kernel("gemm", 4, 50, 1), launch(6, 50, 9, "cudaStreamSynchronize"),
        event("aten::mm", 70, 5), launch(71, 2, 2), kernel("gemm", 74, 26, 2),
    )  # fmt: skip
    assert windows(trace) == [(0, 100, True)]


def test_a_few_events_far_from_all_others_are_left_out() -> None:
    ops = [event(f"aten::op{i * i}", 3_600_000_000 + 10 * i, 5) for i in range(200)]
    trace = read(event("aten::zeros", 0, 5), *ops)
    assert windows(trace) == [(3_600_000_000, 3_600_001_995, True)]
    assert trace.notes[-1] == ("Left out: 1 event, 3,600.0 s away from all others. Their times may be wrong.")
    assert windows(read(event("aten::zeros", 0, 5), *ops[:50]))[0][0] == 0  # 1 of 51 is not few
    python = event("train.py(1): load", 0, 3_600_000_000, "python_function")
    assert windows(read(python, event("aten::zeros", 0, 5), *ops))[0][0] == 0

"""Notes on what a recording evidently leaves out or shows askew."""

from __future__ import annotations

from tests.trace.build import Json, event, kernel, launch, read


def test_launches_without_any_gpu_event_are_told() -> None:
    ops = [event("aten::mm", 0, 50), event("cudaGetDevice", 2, 1, "cuda_runtime")]
    assert read(*ops).doubts == ()
    (note,) = read(*ops, launch(5, 1, 1), launch(7, 1, 2), launch(9, 1, 3, "hipMemcpyWithStream")).doubts
    assert note.code == "gpu-unrecorded"
    assert note.text.startswith("GPU activity was not recorded: the trace holds 3 calls")
    assert read(*ops, launch(5, 1, 1), launch(7, 1, 2), kernel("gemm", 8, 1, 1)).doubts == ()


def steps(gpu_us: float) -> list[Json]:
    """Three steps of 100 µs that launch a kernel of the given length each; the GPU runs one behind the
    other.
    """
    marks = [event(f"ProfilerStep#{i}", 100 * i, 100, "user_annotation") for i in range(3)]
    ops = [event("aten::mm", 100 * i, 10) for i in range(3)]
    work = [
        each
        for i in range(3)
        for each in (launch(100 * i + 1, 1, i), kernel("gemm", 5 + max(100, gpu_us) * i, gpu_us, i))
    ]
    return [*marks, *ops, *work]


def test_a_host_that_runs_ahead_is_told_with_both_times() -> None:
    assert read(*steps(100)).doubts == ()
    (note,) = read(*steps(500)).doubts
    assert "after 0.1 ms, and the GPU takes 0.5 ms" in note.text and note.code == "host-ahead"
    assert (
        "a step really takes about 0.5 ms" in note.text and "of the 0.1 ms alone, 20 % of a step" in note.text
    )


def test_one_step_alone_says_nothing_about_running_ahead() -> None:
    assert (
        read(
            event("ProfilerStep#1", 0, 100, "user_annotation"),
            event("aten::mm", 0, 9),
            launch(1, 1, 1),
            kernel("k", 5, 900, 1),
        ).doubts
        == ()
    )

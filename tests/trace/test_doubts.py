"""Notes on what a recording evidently leaves out or shows askew."""

from __future__ import annotations

from typing import Any

from tests.trace.build import Json, event, kernel, launch, read


def test_launches_without_any_gpu_event_are_told() -> None:
    ops = [event("aten::mm", 0, 50), event("cudaGetDevice", 2, 1, "cuda_runtime")]
    assert read(*ops).doubts == ()
    (note,) = read(*ops, launch(5, 1, 1), launch(7, 1, 2), launch(9, 1, 3, "hipMemcpyWithStream")).doubts
    assert note.code == "gpu-unrecorded"
    assert note.text.startswith("GPU activity was not recorded: the trace holds 3 calls")
    assert read(*ops, launch(5, 1, 1), launch(7, 1, 2), kernel("gemm", 8, 1, 1)).doubts == ()


def test_a_job_that_talks_by_nccl_has_a_gpu() -> None:
    ops = [event("aten::mm", 0, 50)]
    (note,) = read(*ops, distributedInfo={"backend": "nccl", "rank": 0}).doubts
    assert note.code == "gpu-unrecorded" and "NCCL" in note.text
    assert read(*ops, distributedInfo={"backend": "gloo", "rank": 0}).doubts == ()


def test_operators_that_only_a_gpu_runs_tell_of_one() -> None:
    """Not that an operator asks on the CPU whether cuDNN could do its work."""
    (note,) = read(event("aten::cudnn_convolution", 0, 50)).doubts
    assert note.code == "gpu-unrecorded"
    (note,) = read(event("nccl:all_reduce", 0, 50, "user_annotation"), event("aten::mm", 0, 50)).doubts
    assert note.code == "gpu-unrecorded"
    assert read(event("aten::lstm", 0, 50), event("aten::cudnn_is_acceptable", 2, 1)).doubts == ()


def marked(number: int, at: float, **of: Any) -> list[Json]:
    """A step of 100 µs with an operator."""
    return [
        event(f"ProfilerStep#{number}", at, 100, "user_annotation", **of),
        event("aten::mm", at + 10, 80, **of),
    ]


def test_operators_of_two_processes_are_told() -> None:
    """Ranks whose files were merged."""
    (note,) = read(*marked(1, 0), *marked(1, 5, pid=2)).doubts
    assert note.code == "merged"
    assert note.text == (
        "The file holds the work of 2 processes. Times of one may be laid to another. Analyse each recording "
        "alone; give those of several ranks as a folder."
    )
    assert read(*marked(1, 0), event("cudaFree", 5, 1, "cuda_runtime", pid=2)).doubts == ()


def test_step_numbers_that_come_twice_are_told() -> None:
    """Two recordings of processes with the same number: one after the other, or at the same time."""
    for later_us in (30, 1000):
        (note,) = read(*marked(1, 0), *marked(2, 100), *marked(1, later_us)).doubts
        assert note.code == "merged" and "step numbers come twice" in note.text
    # threads of a process that mark the same step; a range written twice; a range inside its like
    assert read(*marked(1, 0), *marked(1, 5, tid=2)).doubts == ()
    assert read(*marked(1, 0), *marked(1, 0)).doubts == ()
    inner = event("ProfilerStep#1", 5, 90, "user_annotation")
    assert read(*marked(1, 0), inner).doubts == ()


def test_of_two_ranks_in_one_file_no_gpu_work_is_called_lost() -> None:
    """They number their launches alike, so that the work of both goes to the first."""
    events = []
    for rank in range(2):
        for number in range(4):
            ts = 1000 * number + 30 * rank
            events += [
                event(f"ProfilerStep#{number}", ts, 1000, "user_annotation", pid=100 + rank),
                event("aten::mm", ts + 10, 50, pid=100 + rank),
                event("cudaLaunchKernel", ts + 20, 5, "cuda_runtime", pid=100 + rank, correlation=number),
                kernel(f"gemm{rank}", ts + 100, 300, number),
            ]
    trace = read(*events)
    assert [note.code for note in trace.doubts] == ["merged"]
    assert trace.steps["complete"].all()

"""Notes on what a recording evidently leaves out or shows askew."""

from __future__ import annotations

from tests.trace.build import event, kernel, launch, read


def test_launches_without_any_gpu_event_are_told() -> None:
    ops = [event("aten::mm", 0, 50), event("cudaGetDevice", 2, 1, "cuda_runtime")]
    assert read(*ops).doubts == ()
    (note,) = read(*ops, launch(5, 1, 1), launch(7, 1, 2), launch(9, 1, 3, "hipMemcpyWithStream")).doubts
    assert note.code == "gpu-unrecorded"
    assert note.text.startswith("GPU activity was not recorded: the trace holds 3 calls")
    assert read(*ops, launch(5, 1, 1), launch(7, 1, 2), kernel("gemm", 8, 1, 1)).doubts == ()

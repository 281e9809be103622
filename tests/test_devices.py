"""The device's name comes from the recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from diagnose.compare.comparison import compare
from diagnose.measure.metrics import Measured
from diagnose.measure.recording import Recording
from diagnose.pipeline import Analysis

from .trace.build import event, kernel, read


def document(runtime: str, launch: str, **top: Any) -> dict[str, Any]:
    """Of a trace with one step and one kernel, whose launch has that category and name."""
    trace = read(
        event("ProfilerStep#1", 0, 100, cat="user_annotation"),
        event("aten::mm", 5, 20),
        event(launch, 10, 5, cat=runtime, correlation=1),
        kernel("gemm_kernel", 20, 60, 1),
        **top,
    )
    return Analysis(Measured(Recording(Path("trace.json"), timeline=trace))).document


def xpu() -> dict[str, Any]:
    return document(
        "xpu_runtime",
        "urEnqueueKernelLaunch",
        deviceProperties=[{"id": 0, "name": "Intel(R) Data Center GPU Max 1550"}],
    )


@pytest.mark.parametrize(
    ("runtime", "launch", "device"),
    [
        ("xpu_runtime", "urEnqueueKernelLaunch", "xpu"),
        ("xpu_driver", "zeCommandListAppendLaunchKernel", "xpu"),
        ("privateuse1_runtime", "launchKernel", "privateuse1"),
        ("cuda_runtime", "cudaLaunchKernel", "cuda"),
        ("hip_runtime", "hipLaunchKernel", "cuda"),  # torch's own word for AMD's
    ],
)
def test_the_device_s_name(runtime: str, launch: str, device: str) -> None:
    assert document(runtime, launch).run.device == device


def test_an_intel_gpu_by_name() -> None:
    assert xpu().run.environment["gpu"] == "Intel(R) Data Center GPU Max 1550"
    assert {row.row for row in xpu().ledger} >= {"compute"}


def test_runs_on_different_devices_are_not_compared_row_by_row() -> None:
    told = compare(xpu(), document("cuda_runtime", "cudaLaunchKernel"))
    assert "A ran on xpu, B on cuda: their steps divide in different ways" in str(told)

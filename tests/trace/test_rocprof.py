"""Recordings of rocprofv3: made up by hand here, with its names."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from diagnose.commands import main as cli
from diagnose.errors import TraceUnreadable, UsageError
from diagnose.pipeline import report
from diagnose.trace.reader import read_trace

CPU, GPU, PID = 11, 22, 4242
START = 317_095_767_000_000  # since the machine started
LAUNCH, MARK, COPY, DISPATCH = range(4)


def record(kind: int, operation: int, start: int, end: int, correlation: int, **more: Any) -> dict[str, Any]:
    times = {"start_timestamp": START + start, "end_timestamp": START + end}
    known = {"kind": kind, "operation": operation, "correlation_id": {"internal": correlation, "external": 0}}
    return {"size": 64, "thread_id": PID} | times | known | more


def dispatch(start: int, end: int, correlation: int, kernel: int = 7, **more: Any) -> dict[str, Any]:
    info = {"agent_id": {"handle": GPU}, "queue_id": {"handle": 3}, "kernel_id": kernel}
    return record(DISPATCH, 0, start, end, correlation, dispatch_info=info) | more


def process(**records: Any) -> dict[str, Any]:
    """A range of torch's from 1 to 5 µs calls at 2 µs, and a kernel runs from 10 to 30 µs; then a copy."""
    return {
        "metadata": {"pid": PID, "init_time": START},
        "agents": [
            {"id": {"handle": CPU}, "type": 1, "name": "EPYC"},
            {"id": {"handle": GPU}, "type": 2, "name": "gfx942", "product_name": "MI300X", "cu_count": 304},
        ],
        "strings": {
            "buffer_records": [
                {"kind": "HIP_RUNTIME_API", "operations": ["hipLaunchKernel", "hipMemcpyAsync"]},
                {"kind": "MARKER_CORE_API", "operations": ["roctxRangePushA"]},
                {"kind": "MEMORY_COPY", "operations": [None, "MEMORY_COPY_HOST_TO_DEVICE"]},
                {"kind": "KERNEL_DISPATCH", "operations": ["DISPATCH"]},
            ],
            "marker_api": [{"key": 90, "value": "aten::mm, seq = 7, op_id = 12, sizes = [[2, 2]]"}],
        },
        "kernel_symbols": [{"kernel_id": 7, "formatted_kernel_name": "void gemm<float>(float*)"}],
        "buffer_records": {
            "marker_api": [record(MARK, 0, 1000, 5000, 90)],
            "hip_api": [record(LAUNCH, 0, 2000, 4000, 1), record(LAUNCH, 1, 6000, 9000, 2)],
            "kernel_dispatch": [dispatch(10_000, 30_000, 1)],
            "memory_copy": [
                record(
                    COPY,
                    1,
                    30_000,
                    40_000,
                    2,
                    src_agent_id={"handle": CPU},
                    dst_agent_id={"handle": GPU},
                    bytes=4000,
                )
            ],
        }
        | records,
    }


def written(folder: Path, *processes: Any) -> Path:
    path = folder / "4242_results.json"
    path.write_text(json.dumps({"rocprofiler-sdk-tool": list(processes)}))
    return path


def test_kernels_copies_calls_and_ranges_are_those_of_a_trace(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, process()))
    assert list(zip(trace.host["name"], trace.host["kind"], strict=True)) == [
        ("aten::mm", "op"),
        ("hipLaunchKernel", "runtime"),
        ("hipMemcpyAsync", "runtime"),
    ]
    assert list(trace.device["name"]) == ["void gemm<float>(float*)", "Memcpy HtoD (Unknown -> Device)"]
    assert list(trace.device["dur_ns"]) == [20_000, 10_000]
    assert list(trace.device["stream"]) == [3, 0]
    assert trace.info["deviceProperties"] == [{"id": 0, "name": "MI300X", "numSms": 304}]


def test_a_kernel_belongs_to_the_operator_whose_call_it_came_from(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, process()))
    kernel, copy = (trace.device.iloc[number] for number in range(2))
    assert trace.host["name"].iloc[kernel["launch"]] == "hipLaunchKernel"
    assert trace.host["name"].iloc[kernel["op"]] == "aten::mm"
    assert trace.host["name"].iloc[copy["launch"]] == "hipMemcpyAsync"


def test_a_packed_file_and_one_of_a_single_process_are_the_same(tmp_path: Path) -> None:
    path = tmp_path / "run.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"rocprofiler-sdk-tool": process()}).encode()))
    assert len(read_trace(path).device) == 2


def test_of_several_processes_the_one_with_most_work_is_told_of(tmp_path: Path) -> None:
    other = process(kernel_dispatch=[dispatch(0, 5000, 1)])
    trace = read_trace(written(tmp_path, other, process()))
    assert list(trace.device["dur_ns"]) == [20_000, 10_000]
    assert "1 more are left out" in " ".join(trace.notes)


def test_the_whole_report_is_made_of_it(tmp_path: Path) -> None:
    """Ten steps of 100 µs, marked as torch marks an optimizer's: a kernel of 60 in each."""
    marks = [record(MARK, 0, 100_000 * n + 80_000, 100_000 * n + 90_000, 100 + n) for n in range(10)]
    kernels = [dispatch(100_000 * n + 10_000, 100_000 * n + 70_000, 10 + n) for n in range(10)]
    calls = [record(LAUNCH, 0, 100_000 * n, 100_000 * n + 5_000, 10 + n) for n in range(10)]
    found = process(marker_api=marks, kernel_dispatch=kernels, hip_api=calls)
    found["strings"]["marker_api"] = [{"key": 100 + n, "value": "Optimizer.step#SGD.step"} for n in range(10)]
    document = report(written(tmp_path, found), tmp_path / "out")
    assert document.steps.complete >= 8
    compute = next(row for row in document.ledger if row.row == "compute")
    assert compute.ms_per_step == pytest.approx(0.06)
    assert "rocprofv3" in " ".join(note.text for note in document.notes)


@pytest.mark.parametrize(
    "content",
    [
        b'{"rocprofiler-sdk-tool": [',
        b'{"rocprofiler-sdk-tool": 3}',
        b'{"rocprofiler-sdk-tool": []}',
        b'{"rocprofiler-sdk-tool": [{"buffer_records": {"kernel_dispatch": [{"start_timestamp": "x"}]}}]}',
        b'{"rocprofiler-sdk-tool": ' + b"[" * 100_000,
        b'{"rocprofiler-sdk-tool": [{"agents": [{"id": {"handle": 1e400}}]}]}',
    ],
    ids=range(6),
)
def test_what_is_cut_or_holds_other_things_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(content)
    with pytest.raises(TraceUnreadable):
        read_trace(path)


def test_numbers_that_name_nothing_are_no_error(tmp_path: Path) -> None:
    kernels = [dispatch(0, 10, 1, kernel=99), dispatch(20, 10, 2), dispatch(30, 40, -5, kind=10**9)]
    found = process(kernel_dispatch=kernels, hip_api=[record(77, 88, 0, 5, 2**62)])
    trace = read_trace(written(tmp_path, found))
    assert list(trace.device["name"])[:2] == ["kernel", "void gemm<float>(float*)"]
    assert "unknown" in list(trace.host["name"])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("kernels.csv", b'"Kind","Agent_Id","Queue_Id"\n'),
        ("calls.csv", b'"Domain","Function","Process_Id"\n'),
        ("counters.csv", b'"Correlation_Id","Dispatch_Id","Agent_Id"\n'),
        ("run.otf2", b"\0\1\2"),
        ("run.pftrace", b"\0\1\2"),
    ],
)
def test_its_other_formats_are_refused_with_the_one_to_choose(
    name: str, content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert cli.main([str(path)]) == UsageError.exit_code
    assert "--output-format json" in capsys.readouterr().err

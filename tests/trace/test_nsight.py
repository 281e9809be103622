"""Exports of Nsight Systems: made up by hand here, with its tables and columns."""

from __future__ import annotations

import contextlib
import gzip
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from diagnose.errors import TraceUnreadable
from diagnose.pipeline import report
from diagnose.trace.reader import read_trace
from diagnose.trace.schema import Trace

PROCESS = 77 << 24
THREAD = PROCESS | 4242
OTHER = 78 << 24
TEXTS = {
    1: "cudaLaunchKernel_v7000",
    2: "cudaMemcpyAsync_v3020",
    3: "void gemm<float>(float*)",
    4: "aten::mm, seq = 7, op_id = 12, sizes = [[2, 2], [2, 2]]",
    5: "cuLaunchKernelEx",
}
GPU = "start, end, globalPid, deviceId, streamId, correlationId"
Rows = Sequence[tuple[Any, ...]]


def table(database: sqlite3.Connection, name: str, columns: str, rows: Rows) -> None:
    database.execute(f"create table {name} ({columns})")
    marks = ", ".join("?" * len(columns.split(",")))
    database.executemany(f"insert into {name} values ({marks})", rows)


def export(folder: Path, *more: tuple[str, str, Rows]) -> Path:
    """An operator from 1 to 5 µs calls at 2 µs, and a kernel runs from 10 to 30 µs; then a copy of 4 kB."""
    path = folder / "run.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as database:
        table(database, "StringIds", "id, value", list(TEXTS.items()))
        table(
            database,
            "NVTX_EVENTS",
            "start, end, eventType, globalTid, text, textId",
            [
                (1000, 5000, 59, THREAD, None, 4),
                (0, 50_000, 59, THREAD, "epoch", None),
                (0, None, 59, THREAD, "never ended", None),
                (0, 9, 34, THREAD, "a mark", None),
                (0, 9, 59, OTHER | 1, "of another process", None),
            ],
        )
        table(
            database,
            "CUPTI_ACTIVITY_KIND_RUNTIME",
            "start, end, globalTid, correlationId, nameId",
            [(2000, 4000, THREAD, 1, 1), (6000, 9000, THREAD, 2, 2), (2000, 3000, OTHER | 1, 1, 5)],
        )
        table(
            database,
            "CUPTI_ACTIVITY_KIND_KERNEL",
            f"{GPU}, demangledName, shortName",
            [(10_000, 30_000, PROCESS, 0, 7, 1, 3, 3), (10_000, 11_000, OTHER, 1, 7, 1, 3, 3)],
        )
        table(
            database,
            "CUPTI_ACTIVITY_KIND_MEMCPY",
            f"{GPU}, bytes, copyKind, srcKind, dstKind",
            [(30_000, 40_000, PROCESS, 0, 7, 2, 4000, 1, 0, 2)],
        )
        table(
            database,
            "TARGET_INFO_GPU",
            "id, name, totalMemory, smCount, computeMajor, computeMinor",
            [(0, "NVIDIA A100-SXM4-40GB", 42_297_524_224, 108, 8, 0)],
        )
        for name, columns, rows in more:
            table(database, name, columns, rows)
        database.commit()
    return path


def rows_of(trace: Trace) -> list[tuple[Any, ...]]:
    columns = ["kind", "name", "start_ns", "dur_ns", "correlation", "sequence"]
    return list(trace.host[columns].itertuples(index=False, name=None))


def test_operators_ranges_calls_and_work_of_the_gpu(tmp_path: Path) -> None:
    trace = read_trace(export(tmp_path))
    assert rows_of(trace) == [
        ("annotation", "epoch", 0, 50_000, -1, -1),
        ("op", "aten::mm", 1000, 4000, -1, 7),
        ("runtime", "cudaLaunchKernel", 2000, 2000, 1, -1),
        ("runtime", "cudaMemcpyAsync", 6000, 3000, 2, -1),
    ]
    kernel, copy = trace.device.to_dict("records")
    assert (kernel["name"], kernel["start_ns"], kernel["dur_ns"]) == (
        "void gemm<float>(float*)",
        10_000,
        20_000,
    )
    assert trace.host["name"].iloc[kernel["op"]] == "aten::mm"
    assert (copy["direction"], copy["host_memory"], copy["bytes"]) == ("HtoD", "pageable", 4000)
    assert trace.host["name"].iloc[copy["launch"]] == "cudaMemcpyAsync"
    assert trace.info["deviceProperties"][0]["name"] == "NVIDIA A100-SXM4-40GB"


def test_a_graph_that_was_recorded_as_a_whole_is_work_of_the_gpu(tmp_path: Path) -> None:
    graph = ("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", f"{GPU}, graphId", [(50_000, 90_000, OTHER, 0, 7, 1, 3)])
    trace = read_trace(export(tmp_path, graph))  # of the other process, which has most work by that
    assert trace.device[["kind", "name", "dur_ns"]].to_numpy().tolist() == [
        ["kernel", "void gemm<float>(float*)", 1000],
        ["kernel", "CUDA graph 3", 40_000],
    ]
    assert any("--cuda-graph-trace=node" in note for note in trace.notes)


def test_packed_or_not_the_other_process_is_told_of(tmp_path: Path) -> None:
    packed = tmp_path / "run.sqlite.gz"
    packed.write_bytes(gzip.compress(export(tmp_path).read_bytes()))
    recorded, left_out = read_trace(packed).notes[:2]
    assert recorded.startswith("Recorded with Nsight Systems")
    assert left_out.startswith("The export holds 2 processes with work on GPUs.")


def test_numbers_that_are_none_are_left_out(tmp_path: Path) -> None:
    hostile = [
        ("x", None, PROCESS, 0, 7, 1, 1),
        (1, 2, PROCESS, "a", b"b", None, 2**62),
        (9, 1, PROCESS, 0, 0, 0, 0),
    ]
    trace = read_trace(export(tmp_path, ("CUPTI_ACTIVITY_KIND_MEMSET", f"{GPU}, bytes", hostile)))
    assert list(trace.device["kind"]) == ["memset", "kernel", "memcpy"]


def test_a_number_without_end_is_none(tmp_path: Path) -> None:
    text = f"aten::mm, seq = {'9' * 5000}, op_id = 1"
    path = export(tmp_path)
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("insert into NVTX_EVENTS values (6000, 7000, 59, ?, ?, null)", (THREAD, text))
        database.commit()
    assert len(read_trace(path).host) == 5


def test_views_are_no_tables(tmp_path: Path) -> None:
    path = export(tmp_path)
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("drop table CUPTI_ACTIVITY_KIND_KERNEL")
        database.execute("create view CUPTI_ACTIVITY_KIND_KERNEL as select * from CUPTI_ACTIVITY_KIND_MEMCPY")
        database.commit()
    assert list(read_trace(path).device["kind"]) == ["memcpy"]


@pytest.mark.parametrize("kept", [0.2, 0.5, 0.9])
def test_a_cut_export_is_refused_in_words(tmp_path: Path, kept: float) -> None:
    path = export(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content))])
    with pytest.raises(TraceUnreadable, match="no whole database") as refusal:
        read_trace(path)
    assert "nsys export" in refusal.value.do


def test_another_database_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    with contextlib.closing(sqlite3.connect(path)) as database:
        table(database, "users", "name", [("a",)])
        database.commit()
    with pytest.raises(TraceUnreadable, match="no export of Nsight Systems"):
        read_trace(path)


def test_an_export_without_a_gpu_has_its_ranges(tmp_path: Path) -> None:
    path = export(tmp_path)
    with contextlib.closing(sqlite3.connect(path)) as database:
        for name in ("KERNEL", "MEMCPY", "RUNTIME"):
            database.execute(f"drop table CUPTI_ACTIVITY_KIND_{name}")
        database.commit()
    trace = read_trace(path)
    assert {"epoch", "aten::mm", "of another process"} == set(trace.host["name"])


def test_a_report_of_it_keeps_no_trace_that_nobody_else_could_open(tmp_path: Path) -> None:
    out = tmp_path / "report"
    out.mkdir()
    document = report(export(tmp_path), out)
    assert document.headline
    written = {path.name for path in out.rglob("*") if path.is_file()}
    assert {"report.html", "report.md", "report.json"} <= written
    assert not [name for name in written if "trace.json" in name]
    assert "Recorded with Nsight Systems" in (out / "report.md").read_text()

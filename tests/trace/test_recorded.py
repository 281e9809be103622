"""Every trace at hand that others recorded: read to tables or refused in words, and in agreement with an independent reading.

The traces are not part of the project. They are looked for in ``../shared/traces``; without them these tests are skipped.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from diagnose.errors import TraceUnreadable
from diagnose.trace.intervals import as_intervals, clip, total
from diagnose.trace.reader import read_trace
from diagnose.trace.schema import DEVICE, HOST, STEPS, Trace

FOLDER = Path(__file__).parents[2].parent / "shared" / "traces"
FILES = sorted(FOLDER.glob("*.gz"))
if not FILES:
    pytest.skip(f"no recorded traces in {FOLDER}", allow_module_level=True)
READINGS = {row["id"]: row for row in csv.DictReader((FOLDER / "READINGS.csv").read_text().splitlines())}

REFUSED = {
    "neg-aiter-rocprof": "rocprof",
    "neg-ascend-traceview": "Ascend",
    "neg-hidet": "begin and end events",
    "neg-lightning-legacy": "old torch.autograd.profiler",
    "neg-recsys-nsysconv": "Nsight Systems",
}

# What the reading says otherwise, and who is right.
EXPLAINED = {
    ("neg-hta-mtia", "events"): "the reading counts no MTIA events; ours counts packets and copies of the control processor as device work",
    ("neg-hta-mtia-inf", "events"): "the same",
    ("neg-hta-mtia-inf", "window"): "the same: device work ends after the last host event",
    (
        "tl-gemm01",
        "linked",
    ): "no correlation in this ROCm build; the reading has no link, ours links by External id (equal to the flow's id)",
    ("tl-gemm04", "linked"): "the same",
}


def identity(path: Path) -> str:
    return path.name.split(".")[0]


@pytest.mark.parametrize("path", FILES, ids=identity)
def test_read_or_refused_in_words(path: Path) -> None:
    refusal = "Nsight Systems export" if ".sqlite" in path.name else REFUSED.get(identity(path))
    if refusal:
        with pytest.raises(TraceUnreadable, match=refusal):
            read_trace(path)
        return
    trace = read_trace(path)
    assert trace.notes == ()
    check_tables(trace)
    check_reading(identity(path), trace)


def check_tables(trace: Trace) -> None:
    for table, columns in ((trace.host, HOST), (trace.device, DEVICE), (trace.steps, STEPS)):
        assert {name: str(dtype) for name, dtype in table.dtypes.items()} == {name: column.dtype for name, column in columns.items()}
    for table in (trace.host, trace.device):
        start, dur = table["start_ns"].to_numpy(), table["dur_ns"].to_numpy()
        assert (start >= 0).all() and (dur >= 0).all()
        assert (np.lexsort((-dur, start)) == np.arange(len(start))).all(), "sorted by start, longer first"
    check_parents(trace)
    check_links(trace)
    assert len(trace.steps) > 0
    assert (trace.steps["start_ns"].to_numpy()[1:] >= trace.steps["end_ns"].to_numpy()[:-1]).all(), "steps do not overlap"
    assert set(trace.host["tid"].unique()) <= set(trace.threads)
    assert trace.training_thread in trace.threads or len(trace.host) == 0


def check_parents(trace: Trace) -> None:
    host, row = trace.host, np.flatnonzero(trace.host["parent"] >= 0)
    parent = host["parent"].to_numpy()[row]
    start, end = host["start_ns"].to_numpy(), (host["start_ns"] + host["dur_ns"]).to_numpy()
    assert (parent < row).all()
    assert (start[parent] <= start[row]).all() and (end[parent] >= end[row]).all()
    assert (host["tid"].to_numpy()[parent] == host["tid"].to_numpy()[row]).all()
    assert set(host["kind"].iloc[parent].unique()) <= {"op", "annotation", "mark"}


def check_links(trace: Trace) -> None:
    device = trace.device
    linked = device[device["launch"] >= 0]
    launches = trace.host.iloc[linked["launch"]]
    assert (launches["correlation"].to_numpy() == linked["correlation"].to_numpy()).all()
    assert set(launches["kind"].unique()) <= {"runtime"}
    assert set(trace.host["kind"].iloc[device["op"][device["op"] >= 0]].unique()) <= {"op"}


def close(ours: float, theirs: str, absolute: float = 0.002) -> bool:
    return theirs == "" or abs(ours - float(theirs)) <= max(0.005 * abs(float(theirs)), absolute)


def check_reading(name: str, trace: Trace) -> None:
    reading, device, steps = READINGS[name], trace.device, trace.steps
    low, high = int(steps["start_ns"].min()), int(steps["end_ns"].max())
    busy = [total(clip(as_intervals(part["start_ns"], part["dur_ns"]), low, high)) for _, part in device.groupby("device")]
    communication = device[device["communication"]]
    talking = total(clip(as_intervals(communication["start_ns"], communication["dur_ns"]), low, high))
    marked = trace.step_source == "ProfilerStep"
    checks = {
        "events": int((device["kind"] == "kernel").sum()) == int(reading["n_kernel"]) and len(device) == int(reading["n_device_events"]),
        "steps": (len(steps) if marked else 0) == int(reading["n_steps"]),
        "step mean": not marked or close(float((steps["end_ns"] - steps["start_ns"]).mean()) / 1e6, reading["step_mean_ms"]),
        "window": close((high - low) / 1e3, reading["window_us"], absolute=1.0),
        "busy": not busy or close(float(np.mean(busy)) / max(high - low, 1), reading["gpu_busy"]),
        "communication": close(talking / max(high - low, 1), reading["comm_frac"]),
        "linked": not len(device) or close(float((device["launch"] >= 0).mean()), reading["linked_launch_share"]),
    }
    disagrees = {what for what, agrees in checks.items() if not agrees}
    assert disagrees == {what for explained, what in EXPLAINED if explained == name}


def test_bench_h2d_by_hand() -> None:
    """Three copies of a benchmark: pinned; pageable; pageable with non_blocking, which still comes from pageable memory."""
    kinds = [read_trace(FOLDER / f"bench-h2d-{number}.json.gz").device["host_memory"].unique().tolist() for number in (1, 2, 3)]
    assert kinds == [["pinned"], ["pageable"], ["pageable"]]

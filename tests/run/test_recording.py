"""What the files say: lines, marks, clocks, facts."""

from __future__ import annotations

import gzip
import json
import re
import struct
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

from diagnose.run.child.loading import fetch
from diagnose.run.child.places import Places
from diagnose.run.child.processor import ThreadDelay
from diagnose.run.child.shared_state import SharedState
from diagnose.run.child.steps.tick_times import TickTimes

from .running import SCRIPTS, Recorded

Run = Callable[..., Recorded]
LINES = SCRIPTS / "lines.py"


def line_of(comment: str) -> int:
    return next(
        number
        for number, line in enumerate(LINES.read_text().splitlines(), 1)
        if line.endswith(f"# {comment}")
    )


def events(run: Recorded, phase: str) -> tuple[list[dict[str, Any]], int]:
    with gzip.open(
        run.folder / "rank0" / f"{phase}.pt.trace.json.gz", "rt", encoding="utf-8", errors="replace"
    ) as file:
        trace = json.load(file)
    return trace["traceEvents"], trace["baseTimeNanoseconds"]


@pytest.fixture
def recorded_lines(run_script: Run) -> Recorded:
    return run_script("lines")


def test_marks_and_calls_carry_exact_lines(recorded_lines: Recorded) -> None:
    run = recorded_lines
    timeline, _ = events(run, "timeline")
    marks = Counter(event["name"] for event in timeline if event["name"].startswith("diagnose::"))
    ticks = sorted(name for name in marks if "::tick|" in name)
    assert len(ticks) == 5  # four steps have five borders
    for kind, comment, function in [
        ("item", "item", "read"),
        ("bool", "bool", "main"),
        ("format", "format", "main"),
        ("repr", "repr", "main"),
        ("cpu", "cpu", "main"),
        ("numpy", "cpu", "main"),
        ("float", "float", "main"),
        ("int", "float", "main"),
        ("forward", "forward", "main"),
        ("backward", "backward", "main"),
        ("optimizer", "optimizer", "main"),
    ]:
        assert marks[f"diagnose::{kind}|{LINES}|{line_of(comment)}|{function}"] == 4, kind
    assert sum(marks.values()) == 5 + 4 * 11  # nothing nested is marked twice

    detail, base = events(run, "detail")
    spans = {(round(event["ts"] * 1000) + base, event["tid"]) for event in detail if event.get("ph") == "X"}
    calls = run.json("rank0/detail.calls.json")
    assert not calls["truncated"]
    starts = list(zip(calls["start_ns"], calls["tid"], strict=True))
    assert all(any((start + slack, tid) in spans for slack in (-1, 0, 1)) for start, tid in starts)
    places = Counter(
        (calls["functions"][function], line)
        for function, line in zip(calls["function"], calls["line"], strict=True)
    )
    assert calls["files"] == [str(LINES)]
    for function, comment in [("forward", "inner"), ("main", "zero"), ("main", "read"), ("read", "item")]:
        assert places[function, line_of(comment)] >= 1, comment
    assert places["forward", line_of("tanh")] == 2
    assert places["forward", line_of("operators")] >= 4  # two operators, twice


@pytest.mark.long
def test_a_tick_comes_after_the_mark_of_the_call_that_ticks(run_script: Run) -> None:
    for script, kind in (("conv", "forward"), ("by_hand", "backward"), ("gan", "optimizer")):
        run = run_script(script)
        assert (run.outcome.ended, run.stderr) == ("stopped", "")
        timeline, _ = events(run, "timeline")
        spans = [
            (event["ts"], event["ts"] + event["dur"])
            for event in timeline
            if event["name"].startswith(f"diagnose::{kind}|")
        ]
        ticks = [event["ts"] for event in timeline if event["name"].startswith("diagnose::tick|")]
        assert spans
        assert not any(start <= tick <= end for start, end in spans for tick in ticks)


def test_every_tick_of_a_phase_is_on_its_trace(recorded_lines: Recorded) -> None:
    for name in ("timeline", "detail"):
        phase = next(phase for phase in recorded_lines.steps["phases"] if phase["name"] == name)
        trace, _ = events(recorded_lines, name)
        numbers = sorted(
            int(match[1])
            for event in trace
            if (match := re.fullmatch(r"diagnose::tick\|(\d+)", event["name"]))
        )
        assert numbers == list(range(phase["first_tick"], phase["first_tick"] + len(phase["tick_ns"])))


def test_batches_that_the_training_process_fetches_are_written_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "_WAITS_NS", 1 << 62)
    log = fetch.FetchLog(Places(str(tmp_path), str(tmp_path)), str(tmp_path), SharedState(str(tmp_path)))

    def recorded(batches: int) -> int:
        list(DataLoader(torch.ones(batches, 1)))
        return len((tmp_path / "rank0" / "loading.bin").read_bytes()) // 40

    log.install()
    try:
        assert recorded(4) == 1  # the others wait
        log.write()
        log.write()
        assert recorded(2) == 4
        log.close()  # as in a forked child, where they are the parent's to write
        log.write()
        assert recorded(1) == 4
    finally:
        log.remove()
    assert recorded(3) == 5  # what waited was written, and nothing is since


def test_a_core_lost_while_the_delay_is_read_is_part_of_the_fetch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost_ns = 5_000_000
    log = fetch.FetchLog(Places(str(tmp_path), str(tmp_path)), str(tmp_path), SharedState(str(tmp_path)))
    told = iter((0, lost_ns))

    def loses_the_core(_: ThreadDelay) -> int:
        delay_ns = next(told)
        time.sleep(lost_ns / 1e9)
        return delay_ns

    monkeypatch.setattr(ThreadDelay, "ns", loses_the_core)
    log.install()
    try:
        list(DataLoader(torch.ones(1, 1)))
    finally:
        log.remove()
    packed = (tmp_path / "rank0" / "loading.bin").read_bytes()
    _, duration_ns, worked_ns, delay_ns, *_ = struct.unpack("<QQQqII", packed)
    assert delay_ns == lost_ns
    assert worked_ns + delay_ns <= duration_ns


def test_ticks_with_nothing_to_decide_are_only_written_down(tmp_path: Path) -> None:
    times = TickTimes(str(tmp_path), lambda border, now_ns: None)
    assert not times.passes(90)  # the phase has not begun
    times.add(90)
    times.begin("plain", 1, 100)
    times.sleep(100, until_tick=3)
    assert times.passes(110)
    assert times.passes(199)
    assert not times.passes(199)  # the phase has its steps
    assert (times.count, times.ns, times.own_profiler_share) == (3, [100, 110, 199], 0.0)
    times.sleep(100, until_tick=20)
    assert not times.passes(100 + 5_000_000)  # it is time to look around
    assert times.passes(100 + 4_999_999)
    times.wake()
    assert not times.passes(210)
    assert times.count == 4


def test_key_averages_are_per_step(recorded_lines: Recorded) -> None:
    averages = recorded_lines.json("rank0/key_averages.json")
    assert averages["note"] == ""
    rows = {row["name"]: row for row in averages["rows"]}
    assert rows["Optimizer.step#SGD.step"]["calls"] == 1
    assert rows["aten::tanh"]["calls"] == 2
    assert rows["aten::tanh"]["self_device_ms"] is None
    assert not any(name.startswith("diagnose::") for name in rows)


def test_facts_of_an_inference_without_no_grad(run_script: Run) -> None:
    facts = run_script("conv").facts
    assert facts["forward"]["count"] == facts["forward"]["grad_count"] > 0
    assert facts["forward"]["training_count"] == facts["forward"]["backward_count"] == 0
    assert facts["forward"]["saved_bytes"] > 0
    (model,) = facts["models"]
    assert model["conv_bias_before_norm"] == [{"conv": "conv", "norm": "norm"}]
    assert (model["class"], model["convolution_count"], model["training"], model["dtypes"]) == (
        "Net",
        2,
        False,
        ["float32"],
    )
    assert facts["optimizers"] == facts["loaders"] == []
    assert facts["mark_overhead_ns"] > 0
    assert facts["device"] == "cpu"


def test_facts_of_a_training_loop(run_script: Run) -> None:
    facts = run_script("plain", stacks=False).facts
    (optimizer,), (loader,) = facts["optimizers"], facts["loaders"]
    assert (optimizer["class"], optimizer["tensor_count"], optimizer["line"], optimizer["function"]) == (
        "Adam",
        4,
        17,
        "main",
    )
    assert (loader["num_workers"], loader["batch_size"], loader["line"], loader["dataset_length"]) == (
        0,
        8,
        15,
        256,
    )
    assert facts["forward"]["backward_count"] == facts["forward"]["count"]
    assert facts["own_profiler_share"] == 0


@pytest.mark.parametrize(
    ("version", "recorded"), [("2.7.1+cu126", False), pytest.param("2.8.0", True, marks=pytest.mark.long)]
)
def test_a_torch_whose_stacks_crash_scripts_records_none(
    run_script: Run, version: str, *, recorded: bool
) -> None:
    """pytorch#151625: before 2.8 objects are freed twice when a recording with stacks ends."""
    run = run_script("older_torch", version)
    assert ("detail" in {phase["name"] for phase in run.steps["phases"]}) is recorded
    assert any("pytorch#151625" in note for note in run.steps["notes"]) is not recorded

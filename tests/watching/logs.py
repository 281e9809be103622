"""Watched runs made up by hand."""

from __future__ import annotations

from typing import Any

from diagnose.watched.log import Change, Line, SlowStep, WatchLog, Window

TRAIN = Line("/job/train.py", 10, "<module>", "")
LOSS = Line("/job/train.py", 11, "<module>", "torch/_tensor.py: backward")
LOAD = Line("/job/data.py", 5, "__getitem__", "/job/data.py: read")
READ = Line("/job/data.py", 9, "read", "")
SAVE = Line("/job/train.py", 20, "<module>", "torch/serialization.py: save")
STACKS = [[LOSS], [TRAIN, LOAD], [TRAIN, LOAD, READ], [SAVE]]


def window(first: int, step_ms: float = 10.0, steps: int = 100, **values: Any) -> Window:
    told: dict[str, Any] = {
        "first": first,
        "steps": steps,
        "at_s": first / 100,
        "s": steps * step_ms / 1000,
        "least_ms": step_ms,
        "median_ms": step_ms,
        "p90_ms": step_ms,
        "most_ms": step_ms,
        "input_ms": 0.0,
        "gc_ms": 0.0,
        "run_ms": step_ms,
        "delay_ms": 0.0,
        "cores": 1.0,
        "others_cores": 0.0,
        "threads": 2,
        "rss_bytes": 10**9,
        "heap_bytes": None,
        "allocated_bytes": None,
        "lost_ms": 0.0,
        "slow_count": 0,
        "lines": [(0, 10)],
        "slow": [],
    }
    return Window(**(told | values))


def change(first: int, before_ms: float, after_ms: float, of: str = "typical", **values: Any) -> Change:
    told: dict[str, Any] = {
        "of": of,
        "first": first,
        "at_s": first / 100,
        "before_ms": before_ms,
        "after_ms": after_ms,
        "noticed": first + 1000,
        "noticed_at_s": first / 100 + 10,
    }
    return Change(**(told | values))


def log(windows: list[Window], *changes: Change, rank: int = 0) -> WatchLog:
    return WatchLog(rank, windows=windows, stacks=STACKS, changes=list(changes))


def slow(step: int, ms: float, stack: int = 3, **values: float) -> SlowStep:
    told = {"at_s": step / 100, "input_ms": 0.0, "gc_ms": 0.0} | values
    return SlowStep(step, told["at_s"], ms, told["input_ms"], told["gc_ms"], stack)

"""The file of windows: whole lines, bounded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from diagnose.run.child.watching import windows
from diagnose.run.child.watching.windows import FILE, WatchFile, merged, step_times
from diagnose.watched.log import read_log


def window(first: int = 0, **values: Any) -> dict[str, Any]:
    """Of ten steps of 100 ms."""
    return {
        "first": first,
        "steps": 10,
        "at_s": first / 10,
        "s": 1.0,
        "least_ms": 90.0,
        "median_ms": 100.0,
        "p90_ms": 110.0,
        "most_ms": 120.0,
        "input_ms": 10.0,
        "gc_ms": 0.0,
        "run_ms": 80.0,
        "delay_ms": 1.0,
        "cores": 1.0,
        "others_cores": 0.0,
        "threads": 2,
        "rss_bytes": 1000,
        "heap_bytes": None,
        "allocated_bytes": None,
        "lost_ms": 0.0,
        "slow_count": 0,
        "lines": [[0, 20]],
        "slow": [],
        "samples": 80,
    } | values


def test_times_of_steps() -> None:
    assert step_times([5.0, 1.0, 2.0, 3.0]) == {
        "least_ms": 1.0,
        "median_ms": 2.5,
        "p90_ms": 5.0,
        "most_ms": 5.0,
    }


def test_two_windows_become_one() -> None:
    earlier = window(lines=[[0, 5], [1, 3]], slow=[[4, 0.4, 300.0, 0.0, 0.0, 1]], slow_count=1, lost_ms=200.0)
    later = window(
        10, steps=30, s=3.0, median_ms=200.0, run_ms=None, rss_bytes=2000, most_ms=500.0, lines=[[1, 9]]
    )
    both = merged(earlier, later)
    assert (both["first"], both["steps"], both["at_s"], both["s"]) == (0, 40, 0.0, 4.0)
    assert both["median_ms"] == pytest.approx((10 * 100 + 30 * 200) / 40)
    assert both["run_ms"] is None  # one of them does not know it
    assert (both["most_ms"], both["rss_bytes"], both["lost_ms"]) == (500.0, 2000, 200.0)
    assert both["lines"] == [[1, 12], [0, 5]]
    assert both["slow"] == [[4, 0.4, 300.0, 0.0, 0.0, 1]]


def test_the_file_stays_bounded_and_loses_no_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "WINDOWS_AT_MOST", 50)
    file = WatchFile(str(tmp_path))
    file.add("watch", {"schema": 1, "first_step": 0})
    file.add("stack", [["/train.py", 3, "main", ""]])
    for number in range(500):
        file.add("window", window(10 * number))
        if number == 200:
            file.add("snap", {"number": 1, "first": 2010, "reason": "asked for"})
    file.close()
    log = read_log(tmp_path, 0)
    assert log is not None
    assert len(log.windows) <= 51
    assert file.length_s == 2.0**18  # 51 windows become 26, and then 25 more each time: 18 times in 500
    assert log.steps == 5000
    assert [at.first for at in log.windows] == sorted(at.first for at in log.windows)
    assert len(log.snaps) == len(log.stacks) == 1
    assert sum(count for _, count in log.windows[0].lines) == 2 * log.windows[0].steps


def test_a_full_disk_ends_the_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = WatchFile(str(tmp_path))

    def full(descriptor: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(windows.os, "write", full)
    file.add("window", window())
    file.add("window", window(10))
    assert (tmp_path / FILE).read_bytes() == b""


def test_a_cut_last_line_is_no_damage(tmp_path: Path) -> None:
    text = json.dumps({"window": window()}) + "\n" + json.dumps({"window": window(10)})[:100]
    (tmp_path / FILE).write_text(text)
    log = read_log(tmp_path, 0)
    assert log is not None
    assert (len(log.windows), log.damaged) == (1, 0)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"window": {}}',
        '{"window": ' + json.dumps(window(steps=0)) + "}",
        '{"window": ' + json.dumps(window(s=-1.0)) + "}",
        '{"window": ' + json.dumps(window(lines="x")) + "}",
        '{"watch": {"schema": 2, "first_step": 0}}',
        '{"snap": {"number": 0, "first": 1, "reason": "../.."}}',
        "\x00" * 40,
        "9" * 5000,
    ],
)
def test_what_is_damaged_ends_the_reading(tmp_path: Path, text: str) -> None:
    whole = json.dumps({"window": window()})
    (tmp_path / FILE).write_text(f"{whole}\n{text}\n{whole}\n")
    log = read_log(tmp_path, 0)
    assert log is not None
    assert (len(log.windows), log.damaged) == (1, 2)


def test_nothing_watched_is_no_log(tmp_path: Path) -> None:
    assert read_log(tmp_path, 0) is None
    (tmp_path / FILE).write_text('{"watch": {"schema": 1, "first_step": 0}}\n')
    assert read_log(tmp_path, 0) is None

"""nvidia-smi of every kind, as a script on PATH."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from diagnose.run.gpu_state import GpuState

from .running import Recorded

Run = Callable[..., Recorded]
Seen = Callable[..., Any]

# temperature, clock, highest clock, power, its limit, utilization, memory used, of, MIG, throttle reasons
ROWS = """\
31, 345, 1980, 70.1, 700.0, 0, 4, 143771, Disabled, 0x0000000000000001
62, 1755, 1980, 690.5, 700.0, 98, 20480, 143771, Disabled, 0x0000000000000004
64, 1740, 1980, 699.5, 700.0, 96, 20480, 143771, Disabled, 0x0000000000000024
63, 1980, 1980, [N/A], 700.0, 0, 20480, 143771, Disabled, 0x0000000000000000
60, 1725, 1980, 650.0, 700.0, 90, 20480, 143771, Disabled, 0x0000000000000000
33, 345, 1980, 71.0, 700.0, 0, 4, 143771, Disabled, 0x0000000000000001
"""
EXPECTED = {
    "temperature_c_max": 64.0,
    "sm_clock_mhz_median": 1747.5,  # of the four samples from the first to the last with work
    "sm_clock_mhz_max_supported": 1980.0,
    "power_w_max": 699.5,
    "power_limit_w": 700.0,
    "throttle_reasons": ["sw_power_cap", "sw_thermal_slowdown"],
    "utilization_median": 0.93,
    "memory_used_bytes_max": 20480 << 20,
    "memory_total_bytes": 143771 << 20,
    "other_process_count": 1,
    "mig": False,
}


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Seen:
    """`seen(script)` is what is made of an nvidia-smi with that text."""

    def run(script: str, *, rows: int = 6) -> Any:
        fake_nvidia_smi(tmp_path, monkeypatch, script)
        state = GpuState(lambda: {11})
        state.start()
        deadline = time.monotonic() + (10 if rows else 0.5)
        while (
            state._thread.is_alive() and time.monotonic() < deadline and (len(state._rows) < rows or not rows)
        ):
            time.sleep(0.01)
        return state.stop()

    return run


def fake_nvidia_smi(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    file = folder / "bin" / "nvidia-smi"
    file.parent.mkdir()
    file.write_text(f"#!/bin/sh\n{script}")
    file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{file.parent}{os.pathsep}{os.environ['PATH']}")


def printing(rows: str, before: str = "", pids: str = "11 222") -> str:
    return f"""\
case "$*" in
*query-compute-apps*) printf '%s\\n' {pids}; exit;;
{before}
esac
cat <<END
{rows}END
exec sleep 600
"""


def test_what_a_busy_gpu_tells(seen: Seen) -> None:
    assert seen(printing(ROWS)) == EXPECTED


def test_an_older_driver_has_another_name_for_throttling(seen: Seen) -> None:
    assert (
        seen(printing(ROWS, "*clocks_event_reasons*) echo Field is not a valid field to query.; exit 2;;"))
        == EXPECTED
    )


def test_processes_of_a_container_cannot_be_told_apart(seen: Seen) -> None:
    assert seen(printing(ROWS, pids="4711 4712"))["other_process_count"] is None


def test_a_gpu_that_tells_little(seen: Seen) -> None:
    state = seen(printing("[N/A], [N/A], [N/A], [N/A], [N/A], [N/A], [N/A], [N/A], Enabled, [N/A]\n"), rows=1)
    assert state.pop("mig") is True
    assert set(state.values()) == {None}


@pytest.mark.parametrize(
    "script",
    [
        "exec sleep 600\n",
        "trap '' TERM INT; exec sleep 600\n",
        "echo NVIDIA-SMI has failed; exit 9\n",
        "exit 1\n",
    ],
    ids=["hangs", "ignores signals", "has no driver", "fails"],
)
def test_an_nvidia_smi_that_does_not_work(seen: Seen, script: str) -> None:
    began = time.monotonic()
    assert seen(script, rows=0) is None
    assert time.monotonic() - began < 3


def test_a_run_that_has_ended_before_nvidia_smi_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_nvidia_smi(tmp_path, monkeypatch, "exec sleep 600\n")
    state = GpuState(set)
    assert state.stop() is None
    began = time.monotonic()
    state._read_until_its_end(["temperature.gpu"])
    assert time.monotonic() - began < 3


def test_there_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    state = GpuState(set)
    state.start()
    assert state.stop() is None


@pytest.mark.long
def test_run_json_has_it(run_script: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_nvidia_smi(tmp_path, monkeypatch, printing(ROWS))
    for device, expected in (("auto", EXPECTED["power_w_max"]), ("cpu", None)):
        run = run_script("ending", "normally", "3", device=device, timeout_s=100)
        state = json.loads((run.folder / "run.json").read_text())["gpu_state"]
        assert (state and state["power_w_max"]) == expected


def test_clocks_of_a_watched_run_are_kept_with_their_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_nvidia_smi(tmp_path, monkeypatch, printing(ROWS))
    state = GpuState(lambda: {11}, tmp_path)
    before = time.time()
    state.start()
    deadline = time.monotonic() + 10
    while len(state._rows) < 6 and time.monotonic() < deadline:
        time.sleep(0.01)
    state.stop()
    kept = [json.loads(line) for line in (tmp_path / "gpu.jsonl").read_text().splitlines()]
    assert [clock for _, clock, _ in kept] == [345, 1755, 1740, 1980, 1725, 345]
    assert kept[2][2] == ["sw_power_cap", "sw_thermal_slowdown"]
    assert all(before - 1 <= at <= time.time() + 1 for at, _, _ in kept)

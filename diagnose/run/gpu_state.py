"""The state of the GPU while the script runs, as nvidia-smi tells it about once a
second: heat, clocks, power, others on it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_EVERY_MS = 1000
_OTHERS_EVERY = 10  # samples
_PATIENCE_S = 5.0
_ACTIVE_SHARE = 0.1  # of the samples that a throttle reason must be active in
_FIELDS = (
    "temperature.gpu",
    "clocks.sm",
    "clocks.max.sm",
    "power.draw",
    "power.limit",
    "utilization.gpu",
    "memory.used",
    "memory.total",
    "mig.mode.current",
)
# its name from driver 535 on, and before
_REASON_FIELDS = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")
_REASONS = {  # bits of NVML's nvmlClocksEventReasons; idling is none
    0x2: "applications_clocks_setting",
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
}
_MEBI = 1 << 20
_ROWS_AT_MOST = 8192  # from then on every second of them goes
CLOCKS_FILE = "gpu.jsonl"  # of a run that is watched
_CLOCKS_AT_MOST = 100_000


class GpuState:
    """Samples the first GPU that the script sees, in a thread, from `start` to `stop`."""

    def __init__(self, own_pids: Callable[[], set[int]], keep_in: Path | None = None) -> None:
        """`own_pids`: the processes of the run, while it lasts. `keep_in`: a folder where each sample's clock
        is kept, with the time: a line [seconds since 1970, MHz, throttle reasons].
        """
        self._own_pids, self._keep_in = own_pids, keep_in
        self._kept = 0
        self._rows: list[list[str]] = []
        self._others: list[int] = []
        self._process: subprocess.Popen[str] | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def start(self) -> None:
        if shutil.which("nvidia-smi"):
            self._thread.start()

    def stop(self) -> dict[str, Any] | None:
        """What was seen, as in run.json; None if nothing was."""
        self._stopped.set()
        if self._process is not None:
            self._process.kill()
        if self._thread.ident is not None:
            self._thread.join(_PATIENCE_S)
        return _summary(list(self._rows), self._others) if self._rows else None

    def _sample(self) -> None:
        for reasons in _REASON_FIELDS:
            if self._rows or self._stopped.is_set():
                return
            with contextlib.suppress(OSError, ValueError):
                self._read_until_its_end([*_FIELDS, reasons])

    def _read_until_its_end(self, fields: Sequence[str]) -> None:
        command = [
            "nvidia-smi",
            f"--query-gpu={','.join(fields)}",
            "--format=csv,noheader,nounits",
            "-lms",
            str(_EVERY_MS),
            *_device(),
        ]
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            errors="replace",
        ) as self._process:
            if self._stopped.is_set():
                self._process.kill()
            assert self._process.stdout is not None
            for line in self._process.stdout:
                row = [field.strip() for field in line.split(",")]
                if len(row) != len(fields):  # a message
                    continue
                self._rows.append(row)
                if len(self._rows) > _ROWS_AT_MOST:
                    del self._rows[::2]
                self._keep(row)
                if len(self._rows) % _OTHERS_EVERY == 2:  # not the first: the script has to reach its GPU
                    self._count_others()

    def _keep(self, row: Sequence[str]) -> None:
        clock = _number(row[1])
        if self._keep_in is None or clock is None or self._kept >= _CLOCKS_AT_MOST:
            return
        self._kept += 1
        told = [round(time.time(), 1), clock, _throttle_reasons([row[-1]]) or []]
        with contextlib.suppress(OSError), (self._keep_in / CLOCKS_FILE).open("a", encoding="utf-8") as file:
            file.write(json.dumps(told) + "\n")

    def _count_others(self) -> None:
        """Processes on the GPU that are not the run's.

        In a container the numbers mean nothing if ours are not among them.
        """
        command = ["nvidia-smi", "--query-compute-apps=pid", "--format=csv,noheader", *_device()]
        with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):
            answer = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_PATIENCE_S,
                check=True,
            )
            pids = {int(line) for line in answer.stdout.split()}
            own = self._own_pids()
            if not pids or pids & own:
                self._others.append(len(pids - own))


def _device() -> list[str]:
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0].strip()
    return ["-i", visible if visible.isdecimal() or visible.startswith("GPU-") else "0"]


def _summary(rows: Sequence[Sequence[str]], others: Sequence[int]) -> dict[str, Any]:
    """Of the time from the first to the last sample with work on the GPU; of all samples if none had any."""
    at_work = [number for number, row in enumerate(rows) if (_number(row[5]) or 0) > 0]
    rows = rows[at_work[0] : at_work[-1] + 1] if at_work else rows
    columns = [
        [number for value in column if (number := _number(value)) is not None]
        for column in zip(*rows, strict=True)
    ]
    temperature, clock, clock_limit, power, power_limit, utilization, used, total, _, _ = columns
    used_most, capacity = max(used, default=None), max(total, default=None)
    return {
        "temperature_c_max": max(temperature, default=None),
        "sm_clock_mhz_median": statistics.median(clock) if clock else None,
        "sm_clock_mhz_max_supported": max(clock_limit, default=None),
        "power_w_max": max(power, default=None),
        "power_limit_w": max(power_limit, default=None),
        "throttle_reasons": _throttle_reasons([row[-1] for row in rows]),
        "utilization_median": statistics.median(utilization) / 100 if utilization else None,
        "memory_used_bytes_max": None if used_most is None else int(used_most * _MEBI),
        "memory_total_bytes": None if capacity is None else int(capacity * _MEBI),
        "other_process_count": max(others, default=None),
        "mig": rows[0][8] == "Enabled",
    }


def _throttle_reasons(masks: Sequence[str]) -> list[str] | None:
    active = [int(mask, 16) for mask in masks if mask.startswith("0x")]
    if not active:
        return None
    return [
        name
        for bit, name in _REASONS.items()
        if sum(bool(mask & bit) for mask in active) >= _ACTIVE_SHARE * len(active)
    ]


def _number(text: str) -> float | None:
    """None for `[N/A]` and the like."""
    try:
        return float(text)
    except ValueError:
        return None
